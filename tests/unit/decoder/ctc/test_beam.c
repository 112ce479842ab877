/* The prefix beam search as an object: chunks, partial results, bad input, memory. */
#include "allocators.h"
#include "beam_cases.h"
#include <linnet/greedy.h>

enum { FRAMES = 400, SYMBOLS = 7 };

static struct linnet_beam *create_with(struct linnet_context *context, int symbols, size_t width,
                                       const struct linnet_language_model *model) {
  struct linnet_beam_settings settings;
  struct linnet_beam *beam;
  linnet_beam_settings_default(&settings);
  settings.beam = width;
  if (model)
    use_bigram(&settings, model);
  REQUIRE(linnet_beam_create(context, symbols, &settings, &beam) == LINNET_OK, "%s", linnet_context_error(context));
  return beam;
}

static struct linnet_beam *create(struct linnet_context *context, int symbols, size_t width) {
  return create_with(context, symbols, width, NULL);
}

static struct linnet_hypothesis hypothesis(struct linnet_beam *beam, size_t index) {
  struct linnet_hypothesis h;
  REQUIRE(linnet_beam_hypothesis(beam, index, &h) == LINNET_OK, "hypothesis %zu", index);
  return h;
}

static void accept_in_chunks(struct linnet_beam *beam, const float *rows, size_t frames, size_t symbols, size_t longest,
                             struct test_random *r) {
  for (size_t at = 0; at < frames;) {
    size_t chunk = test_below(r, longest + 1);
    if (chunk > frames - at)
      chunk = frames - at;
    CHECK(linnet_beam_accept(beam, chunk > 0 ? rows + at * symbols : NULL, chunk) == LINNET_OK, "chunk");
    at += chunk;
  }
}

/* --- streaming ---------------------------------------------------------------------------------------------------- */

static void check_same(struct linnet_beam *a, struct linnet_beam *b, uint64_t seed) {
  REQUIRE(linnet_beam_num_hypotheses(a) == linnet_beam_num_hypotheses(b), "seed %llu: %zu hypotheses and %zu",
          (unsigned long long)seed, linnet_beam_num_hypotheses(a), linnet_beam_num_hypotheses(b));
  for (size_t i = 0; i < linnet_beam_num_hypotheses(a); i++) {
    struct linnet_hypothesis x = hypothesis(a, i), y = hypothesis(b, i);
    bool same =
        x.num_segments == y.num_segments && x.score == y.score && x.acoustic == y.acoustic && x.language == y.language;
    for (size_t j = 0; j < x.num_segments && same; j++)
      same = x.segments[j].symbol == y.segments[j].symbol && x.segments[j].start == y.segments[j].start &&
             x.segments[j].end == y.segments[j].end && x.segments[j].confidence == y.segments[j].confidence;
    CHECK(same, "seed %llu: hypothesis %zu differs", (unsigned long long)seed, i);
  }
}

static void test_chunks(struct linnet_context *context) {
  static float rows[FRAMES * SYMBOLS];
  for (uint64_t seed = 0; seed < 40; seed++) {
    struct test_random r = {seed};
    struct linnet_beam *whole = create(context, SYMBOLS, 20), *cut = create(context, SYMBOLS, 20);
    for (int round = 0; round < 2; round++) { /* the second after a reset */
      size_t frames = test_below(&r, FRAMES + 1);
      fill_posteriors(&r, rows, frames, SYMBOLS, 5);
      CHECK(linnet_beam_accept(whole, rows, frames) == LINNET_OK && linnet_beam_finish(whole) == LINNET_OK, "whole");
      accept_in_chunks(cut, rows, frames, SYMBOLS, 13, &r);
      CHECK(linnet_beam_finish(cut) == LINNET_OK && linnet_beam_finish(cut) == LINNET_OK, "finish twice");
      check_same(whole, cut, seed);
      linnet_beam_reset(whole);
      linnet_beam_reset(cut);
    }
    linnet_beam_destroy(whole);
    linnet_beam_destroy(cut);
  }
}

/* A stable prefix never changes, and all hypotheses begin with it. */
static void test_stable(struct linnet_context *context) {
  float row[SYMBOLS];
  int stable[FRAMES];
  size_t known = 0, maximum = 0;
  struct test_random r = {1};
  struct linnet_beam *beam = create(context, SYMBOLS, 10);
  for (size_t t = 0; t < FRAMES; t++) {
    fill_posteriors(&r, row, 1, SYMBOLS, 20);
    CHECK(linnet_beam_accept(beam, row, 1) == LINNET_OK, "accept");
    size_t now = linnet_beam_num_stable_symbols(beam);
    CHECK(now >= known, "frame %zu: %zu stable symbols after %zu", t, now, known);
    for (size_t i = 0; i < linnet_beam_num_hypotheses(beam); i++) {
      struct linnet_hypothesis h = hypothesis(beam, i);
      REQUIRE(h.num_segments >= now, "frame %zu: hypothesis %zu has %zu symbols, %zu are stable", t, i, h.num_segments,
              now);
      for (size_t j = 0; j < now; j++) {
        if (j >= known)
          stable[j] = h.segments[j].symbol, known = j + 1;
        CHECK(h.segments[j].symbol == stable[j], "frame %zu: symbol %zu of hypothesis %zu changed", t, j, i);
      }
      maximum = h.num_segments > maximum ? h.num_segments : maximum;
    }
  }
  CHECK(known > maximum / 2, "%zu of %zu symbols were stable", known, maximum);
  linnet_beam_destroy(beam);
}

/* --- relations ---------------------------------------------------------------------------------------------------- */

/* If the best posterior of each frame is above one half, the best symbols of the frames are the best hypothesis. */
static void test_greedy(struct linnet_context *context) {
  static float rows[FRAMES * SYMBOLS];
  for (uint64_t seed = 0; seed < 50; seed++) {
    struct test_random r = {seed};
    size_t frames = 1 + test_below(&r, FRAMES);
    fill_posteriors(&r, rows, frames, SYMBOLS, 0.1);
    for (size_t t = 0; t < frames; t++)
      rows[t * SYMBOLS + (test_below(&r, 2) ? 0 : test_below(&r, SYMBOLS))] = 6;
    struct linnet_beam *beam = create(context, SYMBOLS, 1);
    struct linnet_greedy *greedy;
    REQUIRE(linnet_greedy_create(context, SYMBOLS, &greedy) == LINNET_OK, "create");
    CHECK(linnet_greedy_accept(greedy, rows, frames) == LINNET_OK, "greedy");
    CHECK(linnet_beam_accept(beam, rows, frames) == LINNET_OK, "beam");
    size_t count;
    const struct linnet_segment *segments = linnet_greedy_segments(greedy, &count);
    struct linnet_hypothesis h = hypothesis(beam, 0);
    CHECK(h.num_segments == count, "seed %llu: %zu symbols, %zu greedily", (unsigned long long)seed, h.num_segments,
          count);
    for (size_t i = 0; i < count && i < h.num_segments; i++)
      CHECK(h.segments[i].symbol == segments[i].symbol && h.segments[i].start == segments[i].start &&
                h.segments[i].end == segments[i].end,
            "seed %llu: segment %zu", (unsigned long long)seed, i);
    linnet_greedy_destroy(greedy);
    linnet_beam_destroy(beam);
  }
}

/* Pruning only removes: no hypothesis has a higher score than without pruning. */
static void test_pruning(struct linnet_context *context) {
  enum { SHORT = 7, FEW = 3 };
  for (uint64_t seed = 0; seed < 200; seed++) {
    struct test_random r = {seed};
    float rows[SHORT * FEW];
    struct linnet_beam_settings settings;
    struct linnet_beam *pruned, *all = create(context, FEW, 1000);
    fill_posteriors(&r, rows, SHORT, FEW, 3);
    linnet_beam_settings_default(&settings);
    settings.beam = 1 + test_below(&r, 20);
    settings.top_symbols = 1 + test_below(&r, 2);
    settings.score_threshold = (float)test_below(&r, 10);
    REQUIRE(linnet_beam_create(context, FEW, &settings, &pruned) == LINNET_OK, "create");
    CHECK(linnet_beam_accept(all, rows, SHORT) == LINNET_OK, "accept");
    CHECK(linnet_beam_accept(pruned, rows, SHORT) == LINNET_OK, "accept");
    struct linnet_hypothesis best = hypothesis(pruned, 0);
    CHECK(best.score <= hypothesis(all, 0).score + 1e-12, "seed %llu: pruning found more", (unsigned long long)seed);
    CHECK(linnet_beam_num_hypotheses(pruned) <= settings.beam, "seed %llu: too many", (unsigned long long)seed);
    linnet_beam_destroy(pruned);
    linnet_beam_destroy(all);
  }
}

/* --- ties --------------------------------------------------------------------------------------------------------- */

/* All equal: the lower symbols win, and of prefixes that were there before and new ones the former. */
static void test_ties(struct linnet_context *context) {
  const float rows[2][4] = {{0, 0, 0, 0}, {0, -INFINITY, -INFINITY, 0}};
  struct linnet_beam *beam = create(context, 4, 3);
  CHECK(linnet_beam_accept(beam, rows[0], 1) == LINNET_OK, "accept");
  CHECK(hypothesis(beam, 0).num_segments == 0, "the empty prefix");
  CHECK(hypothesis(beam, 1).segments[0].symbol == 1 && hypothesis(beam, 2).segments[0].symbol == 2, "low symbols");
  CHECK(linnet_beam_accept(beam, rows[1], 1) == LINNET_OK, "accept");
  CHECK(hypothesis(beam, 0).num_segments == 0 && same_labels(&(struct linnet_hypothesis){0}, NULL, 0),
        "the empty prefix");
  CHECK(same_labels((struct linnet_hypothesis[]){hypothesis(beam, 1)}, (int[]){1}, 1), "an old prefix first");
  CHECK(same_labels((struct linnet_hypothesis[]){hypothesis(beam, 2)}, (int[]){2}, 1), "an old prefix first");
  linnet_beam_destroy(beam);
}

/* --- bad input ---------------------------------------------------------------------------------------------------- */

static void test_empty(struct linnet_context *context) {
  struct linnet_beam *beam = create(context, 3, 5);
  CHECK(linnet_beam_accept(beam, NULL, 0) == LINNET_OK && linnet_beam_finish(beam) == LINNET_OK, "no frames");
  struct linnet_hypothesis h = hypothesis(beam, 0);
  CHECK(linnet_beam_num_hypotheses(beam) == 1 && h.num_segments == 0 && h.score == 0 &&
            linnet_beam_num_stable_symbols(beam) == 0,
        "score %g", h.score);
  float row[3] = {0, 0, 0};
  CHECK(linnet_beam_accept(beam, row, 1) == LINNET_ERROR_STATE, "frames after the end");
  linnet_beam_destroy(beam);
}

static void test_not_finite(struct linnet_context *context) {
  const float rows[6][3] = {
      {NAN, -1, -2},      {NAN, NAN, NAN},         {-INFINITY, -INFINITY, -INFINITY}, {INFINITY, -INFINITY, -1},
      {-5, 1e30f, 1e30f}, {-1e30f, -1e30f, -3e38f}};
  struct linnet_beam *beam = create(context, 3, 50);
  CHECK(linnet_beam_accept(beam, rows[0], 1) == LINNET_OK, "NaN");
  struct linnet_hypothesis h = hypothesis(beam, 0);
  CHECK(linnet_beam_num_hypotheses(beam) == 2 && h.num_segments == 1 && h.segments[0].symbol == 1 &&
            beam_error(h.score, -1) < 1e-12,
        "NaN is impossible: %zu hypotheses, score %g", linnet_beam_num_hypotheses(beam), h.score);
  CHECK(linnet_beam_accept(beam, rows[1], 2) == LINNET_OK, "rows without a value");
  h = hypothesis(beam, 0);
  CHECK(linnet_beam_num_hypotheses(beam) == 2 && h.num_segments == 1 && beam_error(h.score, -1) < 1e-12,
        "they are blanks: score %g", h.score);
  CHECK(linnet_beam_accept(beam, rows[3], 1) == LINNET_OK, "infinity");
  h = hypothesis(beam, 0);
  CHECK(h.num_segments == 2 && h.segments[1].symbol == 2 && beam_error(h.score, -2) < 1e-12, "only 2 was possible: %g",
        h.score);
  CHECK(linnet_beam_accept(beam, rows[4], 2) == LINNET_OK, "huge values");
  for (size_t i = 0; i < linnet_beam_num_hypotheses(beam); i++)
    CHECK(isfinite(hypothesis(beam, i).score), "score %g", hypothesis(beam, i).score);
  linnet_beam_destroy(beam);
}

/* Any bits give a result, with segments within the frames. */
static void test_garbage(struct linnet_context *context) {
  enum { ROWS = 50, FEW = 5 };
  for (uint64_t seed = 0; seed < 300; seed++) {
    struct test_random r = {seed};
    uint32_t bits[ROWS * FEW];
    float rows[ROWS * FEW];
    for (size_t i = 0; i < ROWS * FEW; i++)
      bits[i] = (uint32_t)test_next(&r);
    memcpy(rows, bits, sizeof rows);
    struct linnet_beam *beam = create(context, FEW, 1 + test_below(&r, 10));
    CHECK(linnet_beam_accept(beam, rows, ROWS) == LINNET_OK && linnet_beam_finish(beam) == LINNET_OK, "accept");
    CHECK(linnet_beam_num_hypotheses(beam) >= 1, "seed %llu: no hypothesis", (unsigned long long)seed);
    for (size_t i = 0; i < linnet_beam_num_hypotheses(beam); i++) {
      struct linnet_hypothesis h = hypothesis(beam, i);
      CHECK(!isnan(h.score), "seed %llu: no score", (unsigned long long)seed);
      check_segments(&h, NULL, ROWS, FEW, seed);
    }
    linnet_beam_destroy(beam);
  }
}

/* If the model forbids all symbols that the frame allows, the frame counts as a blank. */
static void test_dead_end(struct linnet_context *context) {
  struct bigram bigram;
  for (size_t i = 0; i < BIGRAM_SYMBOLS * BIGRAM_SYMBOLS; i++)
    bigram.score[i / BIGRAM_SYMBOLS][i % BIGRAM_SYMBOLS] = i % BIGRAM_SYMBOLS == 1 ? -INFINITY : NAN;
  bigram.score[0][2] = 1; /* above 0: counts as 0 */
  struct linnet_language_model model = bigram_model(&bigram);
  struct linnet_beam_settings settings;
  struct linnet_beam *beam;
  const float rows[2][3] = {{-INFINITY, 0, -1}, {-INFINITY, 0, -INFINITY}};
  linnet_beam_settings_default(&settings);
  use_bigram(&settings, &model);
  settings.insertion_bonus = 0;
  REQUIRE(linnet_beam_create(context, 3, &settings, &beam) == LINNET_OK, "create");
  CHECK(linnet_beam_accept(beam, rows[0], 2) == LINNET_OK && linnet_beam_finish(beam) == LINNET_OK, "accept");
  struct linnet_hypothesis h = hypothesis(beam, 0);
  CHECK(linnet_beam_num_hypotheses(beam) == 1 && same_labels(&h, (int[]){2}, 1) && beam_error(h.acoustic, -1) < 1e-9,
        "%zu symbols, acoustic score %g", h.num_segments, h.acoustic);
  CHECK(h.score == -INFINITY, "the model cannot end there: score %g", h.score);
  linnet_beam_destroy(beam);
}

/* Probabilities of the model below the range of a double are not impossible, also many in a row. */
static void test_improbable(struct linnet_context *context) {
  enum { COUNT = 8, WIDTH = 3 };
  struct bigram bigram;
  for (size_t i = 0; i < BIGRAM_SYMBOLS * BIGRAM_SYMBOLS; i++)
    bigram.score[i / BIGRAM_SYMBOLS][i % BIGRAM_SYMBOLS] = -1000;
  struct linnet_language_model model = bigram_model(&bigram);
  struct linnet_beam_settings settings;
  struct linnet_beam *beam;
  float rows[COUNT][WIDTH];
  int labels[COUNT];
  for (size_t t = 0; t < COUNT; t++)
    for (int v = 0; v < WIDTH; v++) {
      labels[t] = 1 + (int)(t % 2);
      rows[t][v] = v == labels[t] ? 0 : -INFINITY;
    }
  linnet_beam_settings_default(&settings);
  use_bigram(&settings, &model);
  settings.insertion_bonus = 0;
  settings.model_weight = 1;
  REQUIRE(linnet_beam_create(context, WIDTH, &settings, &beam) == LINNET_OK, "create");
  CHECK(linnet_beam_accept(beam, rows[0], COUNT) == LINNET_OK && linnet_beam_finish(beam) == LINNET_OK, "accept");
  struct linnet_hypothesis h = hypothesis(beam, 0);
  CHECK(same_labels(&h, labels, COUNT) && beam_error(h.acoustic, 0) < 1e-9 && h.language == -1000 * (COUNT + 1) &&
            beam_error(h.score, h.language) < 1e-9,
        "%zu symbols, score %g, acoustic score %g", h.num_segments, h.score, h.acoustic);
  linnet_beam_destroy(beam);
}

static void test_arguments(struct linnet_context *context) {
  struct linnet_beam *beam;
  struct linnet_beam_settings good, bad;
  struct linnet_hypothesis h;
  struct linnet_language_model model = {.size = sizeof model, .state_bytes = 65};
  linnet_beam_settings_default(&good);
  CHECK(linnet_beam_create(NULL, 3, NULL, &beam) == LINNET_ERROR_ARGUMENT && !beam, "no context");
  CHECK(linnet_beam_create(context, 0, NULL, &beam) == LINNET_ERROR_ARGUMENT && !beam, "no symbols");
  CHECK(linnet_beam_create(context, 3, NULL, NULL) == LINNET_ERROR_ARGUMENT, "no result");
#define REFUSED(change)                                                                                                \
  do {                                                                                                                 \
    bad = good;                                                                                                        \
    bad.change;                                                                                                        \
    CHECK(linnet_beam_create(context, 3, &bad, &beam) == LINNET_ERROR_ARGUMENT && !beam, #change);                     \
    CHECK(*linnet_context_error(context), "no sentence");                                                              \
  } while (0)
  REFUSED(beam = 0);
  REFUSED(beam = LINNET_BEAM_MAX + 1);
  REFUSED(size = 3);
  REFUSED(symbol_threshold = -1);
  REFUSED(score_threshold = NAN);
  REFUSED(model_weight = NAN);
  REFUSED(insertion_bonus = INFINITY);
  REFUSED(model = &model);
  model = (struct linnet_language_model){
      .size = sizeof model, .state_bytes = 65, .begin = bigram_begin, .score = bigram_score, .finish = bigram_finish};
  REFUSED(model = &model);
#undef REFUSED
  REQUIRE(linnet_beam_create(context, 3, NULL, &beam) == LINNET_OK, "create");
  CHECK(linnet_beam_accept(beam, NULL, 1) == LINNET_ERROR_ARGUMENT, "no rows");
  CHECK(linnet_beam_accept(NULL, NULL, 0) == LINNET_ERROR_ARGUMENT, "no beam");
  CHECK(linnet_beam_finish(NULL) == LINNET_ERROR_ARGUMENT, "no beam");
  CHECK(linnet_beam_hypothesis(beam, 1, &h) == LINNET_ERROR_ARGUMENT, "too many");
  CHECK(linnet_beam_hypothesis(beam, 0, NULL) == LINNET_ERROR_ARGUMENT, "NULL result");
  linnet_beam_destroy(beam);
  linnet_beam_destroy(NULL);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void check_warm(const struct linnet_language_model *model) {
  static float rows[FRAMES * SYMBOLS];
  struct failing_allocator allocator;
  struct linnet_context *context = failing_context(&allocator);
  struct test_random r = {1};
  struct linnet_beam *beam = create_with(context, SYMBOLS, 30, model);
  fill_posteriors(&r, rows, FRAMES, SYMBOLS, 4);
  size_t before = 0;
  for (int round = 0; round < 10; round++) {
    linnet_beam_reset(beam);
    accept_in_chunks(beam, rows, FRAMES, SYMBOLS, 50, &r);
    hypothesis(beam, 0);
    if (round == 0)
      before = allocator.calls;
  }
  CHECK(allocator.calls == before, "%zu allocations by a warm search", allocator.calls - before);
  linnet_beam_destroy(beam);
  linnet_context_destroy(context);
}

/* After the first utterance, a search allocates nothing, with and without a language model. */
static void test_warm(void) {
  struct test_random r = {2};
  struct bigram bigram;
  fill_bigram(&r, &bigram);
  struct linnet_language_model model = bigram_model(&bigram);
  check_warm(NULL);
  check_warm(&model);
}

/* An hour at 100 frames a second, with a symbol about once a second: the transcript needs a few tens of bytes per
 * symbol, and the memory of the beam does not grow. */
static void test_hour(void) {
  enum { HOUR = 360000, BLOCK = 1000, WIDTH = 50 };
  static float rows[BLOCK * SYMBOLS];
  struct failing_allocator allocator;
  struct linnet_context *context = failing_context(&allocator);
  struct test_random r = {1};
  struct linnet_beam *beam = create(context, SYMBOLS, WIDTH);
  size_t minute = 0;
  for (size_t t = 0; t < HOUR; t += BLOCK) {
    fill_posteriors(&r, rows, BLOCK, SYMBOLS, 2);
    for (size_t i = 0; i < BLOCK; i++)
      rows[i * SYMBOLS] += i % 100 < 90 ? 12 : 0;
    REQUIRE(linnet_beam_accept(beam, rows, BLOCK) == LINNET_OK, "accept");
    if (t == 5 * BLOCK)
      minute = linnet_beam_memory_bytes(beam);
  }
  struct linnet_hypothesis best = hypothesis(beam, 0);
  size_t memory = linnet_beam_memory_bytes(beam) - best.num_segments * sizeof *best.segments;
  CHECK(memory < minute + 250 * best.num_segments, "%zu bytes after a minute, %zu after an hour of %zu symbols", minute,
        memory, best.num_segments);
  printf("beam %d: %zu bytes after a minute, %zu after an hour of %zu symbols, %zu allocations\n", WIDTH, minute,
         linnet_beam_memory_bytes(beam), best.num_segments, allocator.calls);
  linnet_beam_destroy(beam);
  CHECK(isfinite(best.score), "score %g", best.score);
  linnet_context_destroy(context);
}

static enum linnet_status scenario(struct linnet_context *context) {
  static float rows[FRAMES * SYMBOLS];
  struct test_random r = {1};
  struct bigram bigram;
  struct linnet_beam_settings settings;
  struct linnet_hypothesis h;
  struct linnet_beam *beam;
  fill_posteriors(&r, rows, FRAMES, SYMBOLS, 4);
  fill_bigram(&r, &bigram);
  struct linnet_language_model model = bigram_model(&bigram);
  linnet_beam_settings_default(&settings);
  settings.beam = 4;
  use_bigram(&settings, &model);
  enum linnet_status status = linnet_beam_create(context, SYMBOLS, &settings, &beam);
  if (status == LINNET_OK)
    status = linnet_beam_accept(beam, rows, FRAMES);
  if (status == LINNET_OK)
    status = linnet_beam_hypothesis(beam, 0, &h);
  linnet_beam_destroy(beam);
  return status;
}

int main(void) {
  struct linnet_context *context = test_context();
  test_chunks(context);
  test_stable(context);
  test_greedy(context);
  test_pruning(context);
  test_ties(context);
  test_empty(context);
  test_not_finite(context);
  test_garbage(context);
  test_dead_end(context);
  test_improbable(context);
  test_arguments(context);
  linnet_context_destroy(context);
  test_warm();
  test_hour();
  torture("beam", scenario);
  return test_result();
}
