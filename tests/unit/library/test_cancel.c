/* Calls that are cancelled, at each of their polls: the encoder with every kind of network and attention, on one thread
 * and on several; beam search, search for words, alignment. */
#include "cancelling.h"

#include <linnet/align.h>
#include <linnet/beam.h>
#include <linnet/encoder.h>

#include "random_model.h"
#include "unit/decoder/words/word_cases.h"

/* --- the encoder -------------------------------------------------------------------------------------------------- */

enum { FRAMES = 700, OUTPUTS = 7 };

struct encoding {
  struct linnet_encoder *encoder;
  const float *features;
};

static enum linnet_status encode(void *object, void *out) {
  const struct encoding *e = object;
  return linnet_encoder_compute(e->encoder, e->features, FRAMES, out);
}

static const char *const networks[] = {
    "{\"norm\": \"post\"}",
    "{\"norm\": \"pre\", \"convolution\": 5}",
    "{\"feature_map\": \"polynomial\"}",
    "{\"encoder\": \"blstm\"}",
    "{\"attention\": \"softmax\"}",
    "{\"attention\": [\"causal-softmax\", \"linear\"]}",
    "{\"attention\": \"lsh\", \"lsh_rounds\": 1, \"lsh_buckets\": 4, \"lsh_chunk\": 32}",
    "{\"attention\": \"causal-lsh\", \"lsh_rounds\": 2, \"lsh_buckets\": 4, \"lsh_chunk\": 64}",
    "{\"attention\": \"causal-linear\"}",
};

static float *make_features(void) {
  struct test_random random = {3};
  float *features = malloc(FRAMES * 8 * sizeof *features);
  test_fill(&random, features, (size_t)FRAMES * 8);
  return features;
}

static void test_encoder(const char *text) {
  struct cancelling c;
  struct linnet_context *context = cancelling_context(&c, 1);
  struct linnet_config config = small_config(context, text);
  struct linnet_model *model = random_model(context, &config, 3, 1, LINNET_CMVN_NONE);
  float *features = make_features();
  struct encoding e = {.features = features};
  REQUIRE(linnet_encoder_create(context, model, &e.encoder) == LINNET_OK, "%s", linnet_context_error(context));
  check_cancelling(text, &c, context, encode, &e, (size_t)FRAMES * OUTPUTS * sizeof(float));
  linnet_encoder_destroy(e.encoder);
  linnet_model_destroy(model);
  linnet_context_destroy(context);
  CHECK(c.allocator.live == 0, "%zu blocks are left", c.allocator.live);
  free(features);
}

/* The number of polls by threads differs between runs; the results do not. */
static void test_threads(const char *text) {
  struct cancelling c;
  struct linnet_context *context = cancelling_context(&c, 3);
  struct linnet_config config = small_config(context, text);
  struct linnet_model *model = random_model(context, &config, 3, 1, LINNET_CMVN_NONE);
  const size_t bytes = (size_t)FRAMES * OUTPUTS * sizeof(float);
  float *features = make_features(), *expected = malloc(bytes), *got = malloc(bytes);
  struct encoding e = {.features = features};
  REQUIRE(linnet_encoder_create(context, model, &e.encoder) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(encode(&e, expected) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t k = 0; k < 12; k++) {
    cancelling_begin(&c, k);
    CHECK(encode(&e, got) == LINNET_ERROR_CANCELLED, "%s: not cancelled at poll %zu", text, k);
    cancelling_begin(&c, SIZE_MAX);
    CHECK(encode(&e, got) == LINNET_OK && memcmp(got, expected, bytes) == 0, "%s: differs after poll %zu", text, k);
  }
  CHECK(!c.backwards && c.stage == LINNET_STAGE_POSTERIORS, "%s: progress ends in stage %d", text, (int)c.stage);
  linnet_encoder_destroy(e.encoder);
  linnet_model_destroy(model);
  linnet_context_destroy(context);
  free(features);
  free(expected);
  free(got);
}

/* --- searches ----------------------------------------------------------------------------------------------------- */

enum { ROWS = 40, BEAM = 6 };

struct searching {
  struct linnet_beam *beam;
  struct linnet_word_search *words;
  float rows[ROWS * CASE_SYMBOLS];
};

static enum linnet_status search_symbols(void *object, void *out) {
  struct searching *s = object;
  struct linnet_hypothesis best;
  linnet_beam_reset(s->beam);
  LINNET_TRY(linnet_beam_accept(s->beam, s->rows, ROWS));
  LINNET_TRY(linnet_beam_finish(s->beam));
  LINNET_TRY(linnet_beam_hypothesis(s->beam, 0, &best));
  memcpy(out, &best.score, sizeof best.score);
  return LINNET_OK;
}

static enum linnet_status search_words(void *object, void *out) {
  struct searching *s = object;
  struct linnet_word_hypothesis best;
  linnet_word_search_reset(s->words);
  LINNET_TRY(linnet_word_search_accept(s->words, s->rows, ROWS));
  LINNET_TRY(linnet_word_search_finish(s->words));
  LINNET_TRY(linnet_word_search_hypothesis(s->words, 0, &best));
  memcpy(out, &best.score, sizeof best.score);
  return LINNET_OK;
}

static void test_searches(void) {
  struct cancelling c;
  struct linnet_context *context = cancelling_context(&c, 1);
  struct test_random r = {11};
  struct searching s;
  struct word_case words = {.probable = false};
  struct linnet_beam_settings beam;
  struct linnet_word_search_settings settings;
  make_word_case(&words, context, &r, 3);
  fill_posteriors(&r, s.rows, ROWS, CASE_SYMBOLS, 3);
  linnet_beam_settings_default(&beam);
  linnet_word_search_settings_default(&settings);
  beam.beam = settings.beam = BEAM;
  REQUIRE(linnet_beam_create(context, CASE_SYMBOLS, &beam, &s.beam) == LINNET_OK &&
              linnet_word_search_create(context, words.lexicon, CASE_SYMBOLS, &settings, &s.words) == LINNET_OK,
          "%s", linnet_context_error(context));
  check_cancelling("beam search", &c, context, search_symbols, &s, sizeof(double));
  check_cancelling("search for words", &c, context, search_words, &s, sizeof(double));
  linnet_word_search_destroy(s.words);
  linnet_beam_destroy(s.beam);
  release_word_case(&words);
  linnet_context_destroy(context);
  CHECK(c.allocator.live == 0, "%zu blocks are left", c.allocator.live);
}

/* --- alignment ---------------------------------------------------------------------------------------------------- */

struct aligning {
  struct linnet_context *context;
  float rows[ROWS * CASE_SYMBOLS];
  struct linnet_align_settings settings;
};

static enum linnet_status align(void *object, void *out) {
  static const int labels[] = {1, 3, 2, 4, 1, 2};
  const struct aligning *a = object;
  struct linnet_alignment *alignment;
  size_t count;
  LINNET_TRY(linnet_alignment_create_labels(a->context, a->rows, ROWS, CASE_SYMBOLS, labels,
                                            sizeof labels / sizeof *labels, &a->settings, &alignment));
  const struct linnet_aligned_phone *phones = linnet_alignment_phones(alignment, &count);
  size_t ends[] = {phones[0].end, phones[count - 1].end};
  memcpy(out, ends, sizeof ends);
  linnet_alignment_destroy(alignment);
  return LINNET_OK;
}

static void test_alignment(int jumps) {
  struct cancelling c;
  struct aligning a = {.context = cancelling_context(&c, 1)};
  struct test_random r = {5};
  fill_posteriors(&r, a.rows, ROWS, CASE_SYMBOLS, 3);
  linnet_align_settings_default(&a.settings);
  a.settings.jumps = jumps;
  check_cancelling("alignment", &c, a.context, align, &a, 2 * sizeof(size_t));
  linnet_context_destroy(a.context);
  CHECK(c.allocator.live == 0, "%zu blocks are left", c.allocator.live);
}

int main(void) {
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
    test_encoder(networks[i]);
    test_threads(networks[i]);
  }
  test_searches();
  test_alignment(0);
  test_alignment(1);
  return test_result();
}
