/* Label priors: a search with them finds what it finds without them in posteriors that were divided before, with the
 * same scores and times, in chunks and in streams that share; confidences are of the posteriors as they were. Files of
 * priors, and what is wrong with them. */
#include <linnet/search.h>

#include "allocators.h"
#include "unit/decoder/ctc/beam_cases.h"

enum { FRAMES = 60, SYMBOLS = 5, TEXT_BYTES = 16384 };

#define FILE_NAME TEST_BINARY_DIR "/priors.txt"
static const char *const names[SYMBOLS] = {"<blk>", "A", "B", "C", "SIL"};
static const float values[SYMBOLS] = {0.625f, 0.25f, 0.0625f, 0.0625f, 1e-9f};
static const char lines[] = "<blk> 0.625\nA 2.5e-1\r\n\nB 0.0625\nC\t.0625\nSIL 1e-9\n";
static const char lexicon[] = "AB A B\nBA B A\nC C\nCA C A\nA A\nBC B C\n", grammar[] = "AB C\nBC A\nC BA\nA C A\n";
static const char *const silences[] = {"SIL"};

static float rows[FRAMES * SYMBOLS], divided[FRAMES * SYMBOLS];

/* What the search shall do itself. */
static void divide(float scale) {
  for (size_t i = 0; i < FRAMES * SYMBOLS; i++)
    divided[i] = rows[i] - (float)((double)scale * log(fmax((double)values[i % SYMBOLS], 1e-8)));
}

/* --- searches ----------------------------------------------------------------------------------------------------- */

struct variant {
  enum linnet_search_kind kind;
  bool closed; /* with the grammar */
  size_t alternatives;
  float scale;
};

static struct linnet_search *open_search(struct linnet_context *context, const struct variant *v,
                                         struct linnet_source priors) {
  struct linnet_search_settings settings;
  struct linnet_search *search = NULL;
  linnet_search_settings_default(&settings);
  settings.kind = v->kind;
  settings.num_alternatives = v->alternatives;
  settings.beam = 8;
  if (v->kind == LINNET_SEARCH_WORDS) {
    settings.lexicon = (struct linnet_source){"lexicon", lexicon, sizeof lexicon - 1};
    settings.silences = silences;
    settings.num_silences = 1;
    settings.lattice = 1;
  }
  if (v->closed)
    settings.grammar = (struct linnet_source){"grammar", grammar, sizeof grammar - 1};
  settings.priors = priors;
  settings.prior_scale = v->scale;
  REQUIRE(linnet_search_create(context, names, SYMBOLS, &settings, &search) == LINNET_OK, "%s",
          linnet_context_error(context));
  return search;
}

/* Words, phones, scores and times, without confidences. */
static void describe(const struct linnet_result *result, char text[TEXT_BYTES]) {
  size_t n = (size_t)snprintf(text, TEXT_BYTES, "%d %zu", result->is_final, result->num_stable);
  for (size_t a = 0; a < result->num_alternatives && n < TEXT_BYTES; a++) {
    const struct linnet_alternative *x = &result->alternatives[a];
    n += (size_t)snprintf(text + n, TEXT_BYTES - n, "\n%a %a %a", x->score, x->acoustic, x->language);
    for (size_t i = 0; i < x->num_words + x->num_phones && n < TEXT_BYTES; i++) {
      const struct linnet_span *span = i < x->num_words ? &x->words[i] : &x->phones[i - x->num_words];
      n += (size_t)snprintf(text + n, TEXT_BYTES - n, " %s %g %g", span->text, span->start, span->end);
    }
  }
  REQUIRE(n < TEXT_BYTES, "%zu bytes of a result", n);
}

static size_t symbol_of(const char *name) {
  size_t symbol = 1;
  while (symbol < SYMBOLS - 1 && strcmp(names[symbol], name) != 0)
    symbol++;
  return symbol;
}

/* The mean posterior over the frames of each phone, before any division. A frame is a second here, and boundaries move
 * by less. */
static void check_confidences(const struct linnet_result *result) {
  const struct linnet_alternative *best = &result->alternatives[0];
  for (size_t i = 0; i < best->num_phones; i++) {
    const struct linnet_span *phone = &best->phones[i];
    const size_t start = (size_t)lround(phone->start), end = (size_t)lround(phone->end);
    double sum = 0;
    for (size_t t = start; t < end; t++)
      sum += exp((double)rows[t * SYMBOLS + symbol_of(phone->text)]);
    CHECK(fabs(sum / (double)(end - start) - (double)phone->confidence) < 1e-6, "%s: confidence %g, expected %g",
          phone->text, (double)phone->confidence, sum / (double)(end - start));
  }
}

/* Searches in `from` by chunks. With the priors, confidences are of `rows`. The first result is a partial one. */
static void search_in(struct linnet_context *context, const struct linnet_search *search, const float *from,
                      size_t chunk, char partial[TEXT_BYTES], char final[TEXT_BYTES]) {
  struct linnet_search_stream *stream = NULL;
  const struct linnet_result *result = NULL;
  REQUIRE(linnet_search_stream_create(context, search, &stream) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t t = 0; t < FRAMES; t += chunk) {
    CHECK(linnet_search_stream_accept(stream, from + t * SYMBOLS, chunk) == LINNET_OK, "accept");
    REQUIRE(linnet_search_stream_result(stream, 1, &result) == LINNET_OK, "%s", linnet_context_error(context));
    if (t + chunk == FRAMES / 2)
      describe(result, partial);
  }
  CHECK(linnet_search_stream_finish(stream) == LINNET_OK, "finish");
  REQUIRE(linnet_search_stream_result(stream, 1, &result) == LINNET_OK, "%s", linnet_context_error(context));
  describe(result, final);
  if (from == rows)
    check_confidences(result);
  linnet_search_stream_destroy(stream);
}

static void save_priors(void) {
  FILE *file = fopen(FILE_NAME, "wb");
  REQUIRE(file && fwrite(lines, 1, sizeof lines - 1, file) == sizeof lines - 1 && fclose(file) == 0, FILE_NAME);
}

/* Counts the cases in which the priors change the result. */
static size_t compare(struct linnet_context *context, const struct variant *v) {
  static char expected[2][TEXT_BYTES], got[2][TEXT_BYTES];
  const struct linnet_source sources[] = {{FILE_NAME, NULL, 0}, {NULL, lines, sizeof lines - 1}};
  struct linnet_search *without = open_search(context, v, (struct linnet_source){.path = NULL});
  for (size_t i = 0; i < 2; i++) {
    struct linnet_search *search = open_search(context, v, sources[i]);
    search_in(context, without, v->kind == LINNET_SEARCH_GREEDY ? rows : divided, FRAMES / 2, expected[0], expected[1]);
    search_in(context, search, rows, i == 0 ? 1 : 6, got[0], got[1]);
    CHECK(strcmp(expected[0], got[0]) == 0, "kind %d: partial:\n%s\nexpected:\n%s", (int)v->kind, got[0], expected[0]);
    CHECK(strcmp(expected[1], got[1]) == 0, "kind %d:\n%s\nexpected:\n%s", (int)v->kind, got[1], expected[1]);
    linnet_search_destroy(search);
  }
  search_in(context, without, rows, FRAMES / 2, got[0], got[1]);
  linnet_search_destroy(without);
  return strcmp(expected[1], got[1]) != 0;
}

static void test_searches(struct linnet_context *context) {
  static const struct variant variants[] = {
      {LINNET_SEARCH_SYMBOLS, false, 1, 0.5f}, {LINNET_SEARCH_SYMBOLS, false, 4, 1.25f},
      {LINNET_SEARCH_WORDS, false, 3, 0.5f},   {LINNET_SEARCH_WORDS, true, 1, 2},
      {LINNET_SEARCH_GREEDY, false, 1, 0.5f},  {LINNET_SEARCH_WORDS, false, 1, 0}};
  const size_t count = sizeof variants / sizeof *variants, seeds = 10;
  save_priors();
  for (size_t i = 0; i < count; i++) {
    size_t changed = 0;
    for (uint64_t seed = 0; seed < seeds; seed++) {
      struct test_random r = {seed + 100 * i};
      fill_posteriors(&r, rows, FRAMES, SYMBOLS, seed % 2 ? 8 : 3);
      divide(variants[i].scale);
      changed += compare(context, &variants[i]);
    }
    const bool has_effect = variants[i].kind != LINNET_SEARCH_GREEDY && variants[i].scale > 0;
    CHECK(changed == (has_effect ? seeds : 0), "variant %zu: priors change %zu of %zu results", i, changed, seeds);
  }
}

/* A search for words that shares the tree of another has its priors, too, also when that one is gone. */
static void test_share(struct linnet_context *context) {
  struct test_random r = {5};
  struct linnet_word_search_settings settings;
  struct linnet_word_search *first, *search[2];
  struct linnet_word_hypothesis h[2];
  struct linnet_symbols *symbols;
  struct linnet_lexicon *words;
  float priors[SYMBOLS];
  REQUIRE(linnet_symbols_create(context, names + 1, SYMBOLS - 1, &symbols) == LINNET_OK &&
              linnet_lexicon_load_memory(context, lexicon, sizeof lexicon - 1, "lexicon", NULL, symbols, &words) ==
                  LINNET_OK,
          "%s", linnet_context_error(context));
  linnet_word_search_settings_default(&settings);
  CHECK(settings.prior_scale == 0.5f && !settings.priors, "the defaults");
  fill_posteriors(&r, rows, FRAMES, SYMBOLS, 4);
  divide(settings.prior_scale);
  REQUIRE(linnet_word_search_create(context, words, SYMBOLS, &settings, &search[0]) == LINNET_OK, "create");
  memcpy(priors, values, sizeof priors);
  settings.priors = priors;
  REQUIRE(linnet_word_search_create(context, words, SYMBOLS, &settings, &first) == LINNET_OK, "create");
  memset(priors, 0, sizeof priors);
  REQUIRE(linnet_word_search_share(context, first, &search[1]) == LINNET_OK, "share");
  CHECK(linnet_word_search_memory_bytes(search[1]) > linnet_word_search_memory_bytes(search[0]), "memory");
  linnet_word_search_destroy(first);
  for (size_t i = 0; i < 2; i++)
    REQUIRE(linnet_word_search_accept(search[i], i ? rows : divided, FRAMES) == LINNET_OK &&
                linnet_word_search_finish(search[i]) == LINNET_OK &&
                linnet_word_search_hypothesis(search[i], 0, &h[i]) == LINNET_OK,
            "%s", linnet_context_error(context));
  CHECK(h[0].score == h[1].score && h[0].num_words == h[1].num_words && h[0].num_words > 0, "%.17g, expected %.17g",
        h[1].score, h[0].score);
  linnet_word_search_destroy(search[0]);
  linnet_word_search_destroy(search[1]);
  linnet_lexicon_destroy(words);
  linnet_symbols_destroy(symbols);
}

/* --- files and arguments ------------------------------------------------------------------------------------------ */

/* The blank needs no name. */
static void test_unnamed_blank(struct linnet_context *context) {
  const char *unnamed[SYMBOLS] = {NULL, "A", "B", "C", "SIL"};
  const struct linnet_source source = {"memory", lines, sizeof lines - 1};
  struct linnet_search_settings settings;
  struct linnet_search *search = NULL;
  float priors[SYMBOLS];
  linnet_search_settings_default(&settings);
  settings.kind = LINNET_SEARCH_SYMBOLS;
  settings.priors = source;
  CHECK(linnet_search_create(context, unnamed, SYMBOLS, &settings, &search) == LINNET_OK, "%s",
        linnet_context_error(context));
  linnet_search_destroy(search);
  unnamed[2] = NULL;
  CHECK(linnet_priors_load(context, &source, unnamed, SYMBOLS, priors) == LINNET_ERROR_ARGUMENT,
        "a symbol without name");
}

static void test_load(struct linnet_context *context) {
  static const struct {
    const char *text, *message;
  } cases[] = {{"<blk> 0.5\nA 0.25\n", "memory: 2 priors of 5 symbols"},
               {"<blk> 0.5\nB 0.25\n", "memory:2: 'B' where the symbol 'A' is expected"},
               {"<blk> 1\nA 1\nB 1\nC 1\nSIL 1\nD 1\n", "memory:6: more priors than the 5 symbols"},
               {"<blk>\n", "memory:1: not 'SYMBOL PROBABILITY'"},
               {"<blk> 0,5\n", "memory:1: not 'SYMBOL PROBABILITY'"},
               {"<blk> 1 2\n", "memory:1: not 'SYMBOL PROBABILITY'"},
               {"<blk> 1\n\nA -1\n", "memory:3: not 'SYMBOL PROBABILITY'"},
               {"<blk> nan\n", "memory:1: not 'SYMBOL PROBABILITY'"},
               {"<blk> 1e39\n", "memory:1: not 'SYMBOL PROBABILITY'"},
               {"", "memory: 0 priors of 5 symbols"}};
  float priors[SYMBOLS];
  struct linnet_source source = {.data = lines, .bytes = sizeof lines - 1};
  REQUIRE(linnet_priors_load(context, &source, names, SYMBOLS, priors) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(memcmp(priors, values, sizeof priors) == 0, "other values");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    source = (struct linnet_source){.data = cases[i].text, .bytes = strlen(cases[i].text)};
    CHECK(linnet_priors_load(context, &source, names, SYMBOLS, priors) == LINNET_ERROR_FORMAT &&
              strstr(linnet_context_error(context), cases[i].message),
          "'%s': '%s', expected '%s'", cases[i].text, linnet_context_error(context), cases[i].message);
  }
  source = (struct linnet_source){.path = "/nonexistent/priors"};
  CHECK(linnet_priors_load(context, &source, names, SYMBOLS, priors) == LINNET_ERROR_IO, "a missing file");
}

static void refuse(struct linnet_context *context, const char *text, float scale, const char *message) {
  struct linnet_search_settings settings;
  struct linnet_search *search = NULL;
  linnet_search_settings_default(&settings);
  settings.kind = LINNET_SEARCH_SYMBOLS;
  settings.priors = (struct linnet_source){"some.txt", text, strlen(text)};
  settings.prior_scale = scale;
  CHECK(linnet_search_create(context, names, SYMBOLS, &settings, &search) != LINNET_OK && !search &&
            strstr(linnet_context_error(context), message),
        "'%s', %g: '%s', expected '%s'", text, (double)scale, linnet_context_error(context), message);
}

static void test_refused(struct linnet_context *context) {
  refuse(context, "<blk> 0\n", 0.5f, "priors: some.txt: 1 priors of 5 symbols");
  refuse(context, "<blk> .5\nA .5\nB 0\nC 0\nSIL 0\n", 0.5f,
         "priors: some.txt: the prior of symbol 2 is 0, must be above 0");
  refuse(context, "<blk> .5\nA .5\nB 1\nC 1\nSIL 1\n", 0.5f, "priors: some.txt: the sum of the priors is 4, must be 1");
  refuse(context, lines, -0.5f, "prior_scale is -0.5; it must be 0 to 2");
  refuse(context, lines, 2.5f, "prior_scale is 2.5; it must be 0 to 2");
  refuse(context, lines, NAN, "prior_scale");
  float bad[SYMBOLS] = {1, 0, 0, 0, NAN};
  struct linnet_beam_settings settings;
  struct linnet_beam *beam;
  linnet_beam_settings_default(&settings);
  CHECK(settings.prior_scale == 0.5f && !settings.priors, "the defaults");
  settings.priors = bad;
  CHECK(linnet_beam_create(context, SYMBOLS, &settings, &beam) == LINNET_ERROR_ARGUMENT && !beam, "priors of 0");
  settings.priors = NULL;
  settings.prior_scale = 3;
  CHECK(linnet_beam_create(context, SYMBOLS, &settings, &beam) == LINNET_ERROR_ARGUMENT && !beam, "scale 3");
}

static enum linnet_status scenario(struct linnet_context *context) {
  struct linnet_search_settings settings;
  struct linnet_search *search = NULL;
  struct linnet_search_stream *stream = NULL;
  linnet_search_settings_default(&settings);
  settings.kind = LINNET_SEARCH_WORDS;
  settings.beam = 3;
  settings.lexicon = (struct linnet_source){"lexicon", lexicon, sizeof lexicon - 1};
  settings.priors = (struct linnet_source){"priors", lines, sizeof lines - 1};
  enum linnet_status status = linnet_search_create(context, names, SYMBOLS, &settings, &search);
  if (status == LINNET_OK)
    status = linnet_search_stream_create(context, search, &stream);
  if (status == LINNET_OK)
    status = linnet_search_stream_accept(stream, rows, 5);
  linnet_search_stream_destroy(stream);
  linnet_search_destroy(search);
  return status;
}

int main(void) {
  struct linnet_context *context = test_context();
  test_searches(context);
  test_share(context);
  test_load(context);
  test_unnamed_blank(context);
  test_refused(context);
  linnet_context_destroy(context);
  torture("priors", scenario);
  return test_result();
}
