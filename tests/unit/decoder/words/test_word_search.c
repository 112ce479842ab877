/* The search for words as an object: streaming, memory, determinism, recombination, wrong arguments. test_word_exact
 * compares its results with the definition. */
#include <linnet/search.h>

#include "allocators.h"
#include "word_cases.h"

enum { FRAMES = 120, SHORT = 7, BEAM = 12 };

static const int silence = CASE_SILENCE;

struct scene {
  struct word_case words;
  struct bigram bigram;
  struct linnet_language_model model;
  float rows[FRAMES * CASE_SYMBOLS];
  struct linnet_word_search_settings settings;
};

static void make_scene(struct scene *scene, struct linnet_context *context, uint64_t seed) {
  struct test_random r = {seed};
  scene->words.probable = false;
  make_word_case(&scene->words, context, &r, 3);
  fill_bigram(&r, &scene->bigram);
  scene->model = word_bigram(&scene->bigram);
  fill_posteriors(&r, scene->rows, FRAMES, CASE_SYMBOLS, seed % 2 ? 8 : 3);
  linnet_word_search_settings_default(&scene->settings);
  scene->settings.beam = BEAM;
  scene->settings.model = seed % 3 ? &scene->model : NULL;
  scene->settings.silences = &silence;
  scene->settings.num_silences = seed % 5 != 0;
  scene->settings.unknown_penalty = seed % 4 == 0 ? 2 : INFINITY;
  scene->settings.recombine = seed % 7 != 0;
  scene->settings.score_threshold = seed % 6 == 0 ? 9 : INFINITY;
  scene->settings.top_symbols = seed % 8 == 0 ? 2 : 0;
}

static struct linnet_word_search *open_search(struct linnet_context *context, const struct scene *scene) {
  struct linnet_word_search *search;
  REQUIRE(linnet_word_search_create(context, scene->words.lexicon, CASE_SYMBOLS, &scene->settings, &search) ==
              LINNET_OK,
          "%s", linnet_context_error(context));
  return search;
}

/* --- streaming ---------------------------------------------------------------------------------------------------- */

static void compare_hypotheses(struct linnet_word_search *a, struct linnet_word_search *b, uint64_t seed) {
  size_t count = linnet_word_search_num_hypotheses(a);
  CHECK(count == linnet_word_search_num_hypotheses(b) && count > 0, "seed %llu: counts", (unsigned long long)seed);
  for (size_t i = 0; i < count; i++) {
    struct linnet_word_hypothesis x, y;
    REQUIRE(linnet_word_search_hypothesis(a, i, &x) == LINNET_OK &&
                linnet_word_search_hypothesis(b, i, &y) == LINNET_OK,
            "seed %llu", (unsigned long long)seed);
    CHECK(x.score == y.score && x.acoustic == y.acoustic && x.language == y.language && x.complete == y.complete &&
              x.num_words == y.num_words && x.num_segments == y.num_segments,
          "seed %llu: hypothesis %zu: %.17g and %.17g", (unsigned long long)seed, i, x.score, y.score);
    for (size_t w = 0; w < x.num_words && w < y.num_words; w++)
      CHECK(x.words[w].token == y.words[w].token && x.words[w].start == y.words[w].start &&
                x.words[w].end == y.words[w].end && x.words[w].confidence == y.words[w].confidence,
            "seed %llu: word %zu of hypothesis %zu", (unsigned long long)seed, w, i);
  }
}

/* Words that were called stable, and are in the result. */
static void check_stable(struct linnet_word_search *search, const unsigned *stable, size_t count, uint64_t seed) {
  struct linnet_word_hypothesis h;
  for (size_t i = 0; i < linnet_word_search_num_hypotheses(search); i++) {
    REQUIRE(linnet_word_search_hypothesis(search, i, &h) == LINNET_OK, "seed %llu", (unsigned long long)seed);
    bool same = h.num_words >= count;
    for (size_t w = 0; same && w < count; w++)
      same = h.words[w].token == stable[w];
    CHECK(same, "seed %llu: stable words changed", (unsigned long long)seed);
  }
}

/* Random chunks, with looks at the partial result between them. */
static void stream(struct linnet_word_search *search, const struct scene *scene, uint64_t seed) {
  struct test_random r = {seed + 77};
  unsigned stable[FRAMES];
  size_t stable_count = 0;
  for (size_t t = 0, step; t < FRAMES; t += step) {
    step = test_below(&r, 12);
    step = t + step > FRAMES ? FRAMES - t : step;
    REQUIRE(linnet_word_search_accept(search, scene->rows + t * CASE_SYMBOLS, step) == LINNET_OK, "accept");
    struct linnet_word_hypothesis h;
    size_t now = linnet_word_search_num_stable_words(search);
    REQUIRE(linnet_word_search_hypothesis(search, 0, &h) == LINNET_OK, "seed %llu", (unsigned long long)seed);
    CHECK(now >= stable_count && now <= h.num_words, "seed %llu: %zu stable words after %zu, of %zu",
          (unsigned long long)seed, now, stable_count, h.num_words);
    check_stable(search, stable, stable_count, seed);
    REQUIRE(linnet_word_search_hypothesis(search, 0, &h) == LINNET_OK, "seed %llu", (unsigned long long)seed);
    for (stable_count = 0; stable_count < now; stable_count++)
      stable[stable_count] = h.words[stable_count].token;
  }
  REQUIRE(linnet_word_search_finish(search) == LINNET_OK, "finish");
  check_stable(search, stable, stable_count, seed);
}

static void test_streaming(struct linnet_context *context, uint64_t seed) {
  static struct scene scene;
  make_scene(&scene, context, seed);
  struct linnet_word_search *whole = open_search(context, &scene), *pieces, *first = open_search(context, &scene);
  REQUIRE(linnet_word_search_share(context, first, &pieces) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_word_search_destroy(first);
  CHECK(linnet_word_search_accept(whole, scene.rows, FRAMES) == LINNET_OK, "accept");
  CHECK(linnet_word_search_finish(whole) == LINNET_OK && linnet_word_search_finish(whole) == LINNET_OK, "finish");
  stream(pieces, &scene, seed);
  compare_hypotheses(whole, pieces, seed);
  linnet_word_search_reset(pieces); /* once more, with memory that was used */
  stream(pieces, &scene, seed + 1);
  compare_hypotheses(whole, pieces, seed);
  linnet_word_search_destroy(whole);
  linnet_word_search_destroy(pieces);
  release_word_case(&scene.words);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void test_warm(void) {
  static struct scene scene;
  struct failing_allocator allocator;
  struct linnet_context *context = failing_context(&allocator);
  make_scene(&scene, context, 4);
  struct linnet_word_search *search = open_search(context, &scene);
  size_t calls = 0, bytes = 0;
  for (int round = 0; round < 3; round++) {
    calls = allocator.calls;
    bytes = linnet_word_search_memory_bytes(search);
    for (size_t repeat = 0; repeat < 20; repeat++)
      CHECK(linnet_word_search_accept(search, scene.rows, FRAMES) == LINNET_OK, "accept");
    CHECK(linnet_word_search_finish(search) == LINNET_OK && linnet_word_search_num_hypotheses(search) > 0, "finish");
    linnet_word_search_reset(search);
  }
  CHECK(allocator.calls == calls, "a warm search allocates %zu times", allocator.calls - calls);
  CHECK(linnet_word_search_memory_bytes(search) == bytes, "a warm search grows");
  linnet_word_search_destroy(search);
  release_word_case(&scene.words);
  linnet_context_destroy(context);
}

static enum linnet_status scenario(struct linnet_context *context) {
  static const char text[] = "W0 A\nW0 B A\nW1 A\nW2 B C\n", phrases[] = "W0 W1 3\nW2\n";
  static const char *const names[] = {"A", "B", "C", "SIL"};
  struct test_random r = {5};
  float rows[20 * CASE_SYMBOLS];
  struct linnet_symbols *symbols = NULL;
  struct linnet_lexicon *lexicon = NULL;
  struct linnet_hotwords *hotwords = NULL;
  struct linnet_word_search *search = NULL, *shared = NULL;
  struct linnet_word_search_settings settings;
  struct linnet_word_hypothesis h;
  fill_posteriors(&r, rows, 20, CASE_SYMBOLS, 5);
  linnet_word_search_settings_default(&settings);
  settings.beam = 3;
  settings.silences = &silence;
  settings.num_silences = 1;
  settings.unknown_penalty = 1;
  enum linnet_status status = linnet_symbols_create(context, names, CASE_SYMBOLS - 1, &symbols);
  if (status == LINNET_OK)
    status = linnet_lexicon_load_memory(context, text, strlen(text), "text", NULL, symbols, &lexicon);
  if (status == LINNET_OK)
    status = linnet_hotwords_load_memory(context, phrases, strlen(phrases), "phrases", lexicon, &hotwords);
  settings.hotwords = hotwords;
  if (status == LINNET_OK)
    status = linnet_word_search_create(context, lexicon, CASE_SYMBOLS, &settings, &search);
  if (status == LINNET_OK)
    status = linnet_word_search_share(context, search, &shared);
  if (status == LINNET_OK)
    status = linnet_word_search_accept(shared, rows, 20);
  if (status == LINNET_OK)
    status = linnet_word_search_accept(search, rows, 20);
  if (status == LINNET_OK)
    status = linnet_word_search_finish(search);
  if (status == LINNET_OK)
    status = linnet_word_search_hypothesis(search, 0, &h);
  linnet_word_search_destroy(search);
  linnet_word_search_destroy(shared);
  linnet_hotwords_destroy(hotwords);
  linnet_lexicon_destroy(lexicon);
  linnet_symbols_destroy(symbols);
  return status;
}

/* --- recombination ------------------------------------------------------------------------------------------------ */

/* Words that only the language model distinguishes: with recombination the search needs fewer states to find the best.
 */
static void test_recombination(struct linnet_context *context) {
  size_t same = 0, seeds = 200;
  double lost = 0;
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    static struct scene scene;
    struct linnet_word_hypothesis with, without;
    make_scene(&scene, context, seed);
    scene.settings.model = &scene.model;
    scene.settings.top_symbols = 0;
    scene.settings.score_threshold = INFINITY;
    scene.settings.unknown_penalty = INFINITY;
    scene.settings.recombine = 1;
    scene.settings.beam = 40;
    struct linnet_word_search *a = open_search(context, &scene);
    scene.settings.recombine = 0;
    scene.settings.beam = 20000;
    struct linnet_word_search *b = open_search(context, &scene);
    CHECK(linnet_word_search_accept(a, scene.rows, SHORT) == LINNET_OK && linnet_word_search_finish(a) == LINNET_OK,
          "a");
    CHECK(linnet_word_search_accept(b, scene.rows, SHORT) == LINNET_OK && linnet_word_search_finish(b) == LINNET_OK,
          "b");
    REQUIRE(linnet_word_search_hypothesis(a, 0, &with) == LINNET_OK &&
                linnet_word_search_hypothesis(b, 0, &without) == LINNET_OK,
            "no hypothesis");
    bool equal = with.num_words == without.num_words;
    for (size_t i = 0; equal && i < with.num_words; i++)
      equal = with.words[i].token == without.words[i].token;
    same += equal;
    if (without.complete)
      lost = fmax(lost, without.score - with.score);
    CHECK(!without.complete || with.score <= without.score + 1e-6, "seed %llu: %g above %g", (unsigned long long)seed,
          with.score, without.score);
    linnet_word_search_destroy(a);
    linnet_word_search_destroy(b);
    release_word_case(&scene.words);
  }
  printf("recombination: %zu of %zu best hypotheses are those of all states; at most %.3g lost\n", same, seeds, lost);
  CHECK(same * 10 >= seeds * 9, "recombination: %zu of %zu are the same", same, seeds);
}

static double best_score(struct linnet_context *context, struct scene *scene, int recombine) {
  struct linnet_word_hypothesis h;
  scene->settings.recombine = recombine;
  struct linnet_word_search *search = open_search(context, scene);
  CHECK(linnet_word_search_accept(search, scene->rows, FRAMES) == LINNET_OK, "accept");
  CHECK(linnet_word_search_finish(search) == LINNET_OK, "finish");
  REQUIRE(linnet_word_search_hypothesis(search, 0, &h) == LINNET_OK, "no hypothesis");
  linnet_word_search_destroy(search);
  return h.score;
}

/* In a small beam, recombination leaves space for better hypotheses. */
static void test_recombination_in_small_beam(struct linnet_context *context) {
  size_t better = 0, worse = 0;
  for (uint64_t seed = 1; seed < 60; seed++) {
    static struct scene scene;
    make_scene(&scene, context, seed);
    scene.settings.model = &scene.model;
    double with = best_score(context, &scene, 1), without = best_score(context, &scene, 0);
    better += with > without + 1e-9;
    worse += with < without - 1e-9;
    release_word_case(&scene.words);
  }
  printf("recombination: in a small beam %zu better, %zu worse\n", better, worse);
  CHECK(better > 2 * worse, "recombination: %zu better, %zu worse", better, worse);
}

/* --- hand-made ---------------------------------------------------------------------------------------------------- */

/* Posteriors of the symbols in turn, with a blank between them. */
static size_t say(float *rows, const int *labels, size_t count) {
  size_t frames = 2 * count + 1;
  for (size_t t = 0; t < frames; t++)
    for (size_t v = 0; v < CASE_SYMBOLS; v++)
      rows[t * CASE_SYMBOLS + v] = (int)v == (t % 2 ? labels[t / 2] : 0) ? -0.05f : -5;
  return frames;
}

struct expectation {
  const char *what;
  double word_bonus;
  float unknown_penalty;
  size_t silences;
  const char *hotwords, *words;
};

/* A B C: as one word, as two, with homophones, unknown; the text of the best hypothesis. */
static void test_by_hand(struct linnet_context *context) {
  static const char text[] = "ONE A B C\nAB A B\nABE A B\nC C\nA SIL\nINFINITY C\n";
  static const int labels[] = {1, 2, 3};
  static const struct expectation expectations[] = {
      {"one word", -1, INFINITY, 0, NULL, "ONE"},
      {"two words", 2, INFINITY, 0, NULL, "AB C"},
      {"hotword", 2, INFINITY, 0, "ABE 1", "ABE C"},
      {"phrase", 2, INFINITY, 0, "abe c 3\nAB A 2", "ABE C"},
      {"unknown words", 2, 0.1f, 0, NULL, "<unk> <unk> C"},
      {"no weight", 2, INFINITY, 0, "ABE INFINITY", "ABE INFINITY"},
  };
  struct linnet_symbols *symbols = case_symbols(context);
  struct linnet_lexicon *lexicon;
  float rows[16 * CASE_SYMBOLS];
  size_t frames = say(rows, labels, 3);
  REQUIRE(linnet_lexicon_load_memory(context, text, strlen(text), "text", NULL, symbols, &lexicon) == LINNET_OK, "%s",
          linnet_context_error(context));
  for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
    const struct expectation *e = &expectations[i];
    struct linnet_word_search_settings settings;
    struct linnet_hotwords *hotwords = NULL;
    struct linnet_word_search *search;
    struct linnet_word_hypothesis h;
    char found[64] = "";
    linnet_word_search_settings_default(&settings);
    settings.word_bonus = (float)e->word_bonus;
    settings.unknown_penalty = e->unknown_penalty;
    if (e->hotwords)
      REQUIRE(linnet_hotwords_load_memory(context, e->hotwords, strlen(e->hotwords), "hotwords", lexicon, &hotwords) ==
                  LINNET_OK,
              "%s", linnet_context_error(context));
    settings.hotwords = hotwords;
    REQUIRE(linnet_word_search_create(context, lexicon, CASE_SYMBOLS, &settings, &search) == LINNET_OK, "%s",
            linnet_context_error(context));
    CHECK(linnet_word_search_accept(search, rows, frames) == LINNET_OK, "accept");
    CHECK(linnet_word_search_finish(search) == LINNET_OK, "finish");
    REQUIRE(linnet_word_search_hypothesis(search, 0, &h) == LINNET_OK, "no hypothesis");
    for (size_t w = 0; w < h.num_words; w++)
      snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", w > 0 ? " " : "",
               linnet_word_search_text(search, h.words[w].token));
    CHECK(strcmp(found, e->words) == 0, "%s: '%s', expected '%s'", e->what, found, e->words);
    linnet_word_search_destroy(search);
    linnet_hotwords_destroy(hotwords);
  }
  linnet_lexicon_destroy(lexicon);
  linnet_symbols_destroy(symbols);
}

/* The score of A B C as unknown words, whose bonus outweighs their penalty. */
static double score_unknown(struct linnet_context *context, const struct linnet_lexicon *lexicon, float threshold) {
  static const int labels[] = {1, 2, 3};
  struct linnet_word_search *search = NULL;
  struct linnet_word_search_settings settings;
  struct linnet_word_hypothesis h;
  float rows[16 * CASE_SYMBOLS];
  const size_t frames = say(rows, labels, 3);
  linnet_word_search_settings_default(&settings);
  settings.score_threshold = threshold;
  settings.unknown_penalty = 4;
  settings.unknown_bonus = 6;
  REQUIRE(linnet_word_search_create(context, lexicon, CASE_SYMBOLS, &settings, &search) == LINNET_OK &&
              linnet_word_search_accept(search, rows, frames) == LINNET_OK &&
              linnet_word_search_finish(search) == LINNET_OK &&
              linnet_word_search_hypothesis(search, 0, &h) == LINNET_OK,
          "%s", linnet_context_error(context));
  CHECK(h.num_words == 3 && strcmp(linnet_word_search_text(search, h.words[0].token), LINNET_UNKNOWN_WORD) == 0,
        "%zu words, the first is '%s'", h.num_words, linnet_word_search_text(search, h.words[0].token));
  linnet_word_search_destroy(search);
  return h.score;
}

/* Unknown words are followed by others as soon as their bonus lifts them above the threshold. */
static void test_unknown_bonus(struct linnet_context *context) {
  static const char text[] = "ONE A B C\n";
  struct linnet_symbols *symbols = case_symbols(context);
  struct linnet_lexicon *lexicon = NULL;
  REQUIRE(linnet_lexicon_load_memory(context, text, sizeof text - 1, "text", NULL, symbols, &lexicon) == LINNET_OK,
          "%s", linnet_context_error(context));
  const double score = score_unknown(context, lexicon, 8), all = score_unknown(context, lexicon, INFINITY);
  CHECK(all - score < 0.01, "the score is %.9g, without a threshold %.9g", score, all);
  linnet_lexicon_destroy(lexicon);
  linnet_symbols_destroy(symbols);
}

/* --- partial results ---------------------------------------------------------------------------------------------- */

static struct linnet_search *open_partial(struct linnet_context *context, float word_bonus) {
  static const char *const names[CASE_SYMBOLS] = {"<blk>", "A", "B", "C", "SIL"};
  static const char text[] = "LONG A B C\nX A\nZ B\n";
  struct linnet_search *search = NULL;
  struct linnet_search_settings settings;
  linnet_search_settings_default(&settings);
  settings.kind = LINNET_SEARCH_WORDS;
  settings.num_alternatives = 3;
  settings.word_bonus = word_bonus;
  settings.score_threshold = 8;
  settings.lexicon = (struct linnet_source){"lexicon", text, sizeof text - 1};
  REQUIRE(linnet_search_create(context, names, CASE_SYMBOLS, &settings, &search) == LINNET_OK, "%s",
          linnet_context_error(context));
  return search;
}

static void check_words(struct linnet_search_stream *stream, bool best, const char *words) {
  const struct linnet_result *result;
  char found[64] = "";
  REQUIRE(linnet_search_stream_result(stream, 1, &result) == LINNET_OK, "no result");
  const struct linnet_alternative *a = result->alternatives;
  for (size_t w = 0; w < a->num_words; w++)
    snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", w > 0 ? " " : "", a->words[w].text);
  CHECK(strcmp(found, words) == 0, "'%s', expected '%s'", found, words);
  CHECK((result->num_alternatives < 2 || a[0].score >= a[1].score) == best, "'%s': order of the alternatives", words);
  for (size_t i = 2; i < result->num_alternatives; i++)
    CHECK(a[i - 1].score >= a[i].score, "'%s': order of the others", words);
}

/* No lattice before the end, and none on top of another; no times without the time of a row. */
static void test_stream_refusals(struct linnet_context *context) {
  static const int labels[] = {1, 2, 3};
  struct linnet_search *search = open_partial(context, 0);
  struct linnet_search_stream *stream = NULL;
  struct linnet_lattice *lattice = NULL;
  const struct linnet_result *result;
  float rows[16 * CASE_SYMBOLS];
  const size_t frames = say(rows, labels, 3);
  REQUIRE(linnet_search_stream_create(context, search, &stream) == LINNET_OK &&
              linnet_lattice_create(context, &lattice) == LINNET_OK,
          "%s", linnet_context_error(context));
  CHECK(linnet_search_stream_accept(stream, rows, frames) == LINNET_OK, "accept");
  CHECK(linnet_search_stream_lattice(stream, lattice) == LINNET_ERROR_STATE &&
            strstr(linnet_context_error(context), "linnet_search_stream_finish"),
        "a lattice before the end: %s", linnet_context_error(context));
  const double bad[] = {-0.01, NAN, INFINITY};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(linnet_search_stream_result(stream, bad[i], &result) == LINNET_ERROR_ARGUMENT, "rows of %g s", bad[i]);
  CHECK(linnet_search_stream_finish(stream) == LINNET_OK, "finish");
  CHECK(linnet_search_stream_lattice(stream, lattice) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_search_stream_lattice(stream, lattice) == LINNET_ERROR_STATE &&
            strstr(linnet_context_error(context), "not empty"),
        "a second time: %s", linnet_context_error(context));
  linnet_lattice_destroy(lattice);
  linnet_search_stream_destroy(stream);
  linnet_search_destroy(search);
}

/* After A B the best hypothesis is inside of LONG. X Z is shown instead if its score, lower by two bonuses, is near. */
static void test_partial(struct linnet_context *context, float word_bonus, const char *words, bool best) {
  static const int labels[] = {1, 2, 3};
  struct linnet_search *search = open_partial(context, word_bonus);
  struct linnet_search_stream *stream = NULL;
  float rows[16 * CASE_SYMBOLS];
  const size_t frames = say(rows, labels, 3);
  REQUIRE(linnet_search_stream_create(context, search, &stream) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_search_stream_accept(stream, rows, 5) == LINNET_OK, "accept");
  check_words(stream, best, words);
  CHECK(linnet_search_stream_accept(stream, rows + 5 * CASE_SYMBOLS, frames - 5) == LINNET_OK, "accept");
  CHECK(linnet_search_stream_finish(stream) == LINNET_OK, "finish");
  check_words(stream, true, "LONG");
  linnet_search_stream_destroy(stream);
  linnet_search_destroy(search);
}

/* Within two words of different lookaheads, the score of the words so far sums over both with their lookaheads. */
static void test_lookaheads_of_incomplete_words(struct linnet_context *context) {
  static const char text[] = "X A B\nY C B\n";
  const float lookahead[] = {0, (float)log(0.01), (float)log(0.5), -INFINITY};
  float row[CASE_SYMBOLS] = {-INFINITY, (float)log(0.6), -INFINITY, (float)log(0.4), -INFINITY};
  struct linnet_symbols *symbols = case_symbols(context);
  struct linnet_lexicon *lexicon;
  struct linnet_word_search_settings settings;
  struct linnet_word_search *search;
  struct linnet_word_hypothesis h;
  REQUIRE(linnet_lexicon_load_memory(context, text, strlen(text), "text", NULL, symbols, &lexicon) == LINNET_OK, "%s",
          linnet_context_error(context));
  linnet_word_search_settings_default(&settings);
  settings.lookahead = lookahead;
  REQUIRE(linnet_word_search_create(context, lexicon, CASE_SYMBOLS, &settings, &search) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_word_search_accept(search, row, 1) == LINNET_OK, "accept");
  REQUIRE(linnet_word_search_hypothesis(search, 0, &h) == LINNET_OK, "no hypothesis");
  CHECK(!h.complete && h.num_words == 0 && fabs(h.acoustic) < 1e-6, "acoustic score %g", h.acoustic);
  CHECK(fabs(h.score - log(0.6 * 0.01 + 0.4 * 0.5)) < 1e-6, "score %g", h.score);
  linnet_word_search_destroy(search);
  linnet_lexicon_destroy(lexicon);
  linnet_symbols_destroy(symbols);
}

/* --- homophones --------------------------------------------------------------------------------------------------- */

/* The number of words in rows in which AH and BE take turns, with a phrase of hotwords or NULL. */
static size_t count_words(struct linnet_context *context, const char *phrase) {
  enum { LABELS = 24 };
  static const char text[] = "AH A\nBE B\nSEA C\nBACA B A C A\nBABC B A B C\nCABA C A B A\nBBB B B B\n";
  static float rows[(2 * LABELS + 1) * CASE_SYMBOLS];
  struct linnet_symbols *symbols = case_symbols(context);
  struct linnet_word_search_settings settings;
  struct linnet_lexicon *lexicon;
  struct linnet_hotwords *hotwords = NULL;
  struct linnet_word_search *search;
  struct linnet_word_hypothesis h;
  int labels[LABELS];
  for (int i = 0; i < LABELS; i++)
    labels[i] = 1 + i % 2;
  const size_t frames = say(rows, labels, LABELS);
  for (size_t t = 0; t < frames; t++)
    rows[t * CASE_SYMBOLS + 3] = -300; /* nobody says C */
  REQUIRE(linnet_lexicon_load_memory(context, text, strlen(text), "text", NULL, symbols, &lexicon) == LINNET_OK &&
              (!phrase ||
               linnet_hotwords_load_memory(context, phrase, strlen(phrase), "phrase", lexicon, &hotwords) == LINNET_OK),
          "%s", linnet_context_error(context));
  linnet_word_search_settings_default(&settings);
  settings.score_threshold = 8;
  settings.hotwords = hotwords;
  REQUIRE(linnet_word_search_create(context, lexicon, CASE_SYMBOLS, &settings, &search) == LINNET_OK &&
              linnet_word_search_accept(search, rows, frames) == LINNET_OK &&
              linnet_word_search_finish(search) == LINNET_OK &&
              linnet_word_search_hypothesis(search, 0, &h) == LINNET_OK,
          "%s", linnet_context_error(context));
  const size_t words = h.num_words;
  linnet_word_search_destroy(search);
  linnet_hotwords_destroy(hotwords);
  linnet_lexicon_destroy(lexicon);
  linnet_symbols_destroy(symbols);
  return words;
}

/* A phrase that begins often and is never completed does not prune what is said, however large its weight. */
static void test_broken_phrases(struct linnet_context *context) {
  static const char *const phrases[] = {"AH SEA 20", "AH SEA 100", "AH BE SEA 100",
                                        "AH BE SEA 50\nBE SEA 40\nBE AH SEA 60"};
  const size_t plain = count_words(context, NULL);
  for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
    const size_t words = count_words(context, phrases[i]);
    CHECK(words == plain, "%s: %zu words, %zu without it", phrases[i], words, plain);
  }
}

/* Each of many homophones can be followed: the model allows one of them alone before the next word. */
static void test_many_homophones(struct linnet_context *context) {
  enum { HOMOPHONES = 40 };
  static char text[HOMOPHONES * 16];
  static const int labels[] = {1, 2};
  struct linnet_symbols *symbols = case_symbols(context);
  float rows[16 * CASE_SYMBOLS];
  const size_t frames = say(rows, labels, 2);
  size_t at = 0;
  for (int i = 0; i < HOMOPHONES; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "W%d A\n", i);
  snprintf(text + at, sizeof text - at, "NEXT B\n");
  for (int i = 0; i < HOMOPHONES; i++) {
    struct linnet_word_search_settings settings;
    struct linnet_lexicon *lexicon;
    struct linnet_hotwords *hotwords;
    struct linnet_word_search *search;
    struct linnet_word_hypothesis h;
    char phrase[32];
    snprintf(phrase, sizeof phrase, "W%d NEXT 5\n", i);
    REQUIRE(linnet_lexicon_load_memory(context, text, strlen(text), "text", NULL, symbols, &lexicon) == LINNET_OK &&
                linnet_hotwords_load_memory(context, phrase, strlen(phrase), "phrase", lexicon, &hotwords) == LINNET_OK,
            "%s", linnet_context_error(context));
    linnet_word_search_settings_default(&settings);
    settings.hotwords = hotwords;
    REQUIRE(linnet_word_search_create(context, lexicon, CASE_SYMBOLS, &settings, &search) == LINNET_OK, "%s",
            linnet_context_error(context));
    CHECK(linnet_word_search_accept(search, rows, frames) == LINNET_OK &&
              linnet_word_search_finish(search) == LINNET_OK,
          "accept");
    REQUIRE(linnet_word_search_hypothesis(search, 0, &h) == LINNET_OK, "no hypothesis");
    CHECK(h.num_words == 2 && h.words[0].token == (unsigned)i + 1 && h.words[1].token == HOMOPHONES + 1,
          "homophone %d: %zu words, the first is %u", i, h.num_words, h.num_words > 0 ? h.words[0].token : 0);
    linnet_word_search_destroy(search);
    linnet_hotwords_destroy(hotwords);
    linnet_lexicon_destroy(lexicon);
  }
  linnet_symbols_destroy(symbols);
}

/* --- wrong arguments ---------------------------------------------------------------------------------------------- */

static void refuse(struct linnet_context *context, const struct scene *scene, int symbols,
                   const struct linnet_word_search_settings *settings, const char *what) {
  struct linnet_word_search *search = NULL;
  CHECK(linnet_word_search_create(context, scene->words.lexicon, symbols, settings, &search) == LINNET_ERROR_ARGUMENT &&
            !search && *linnet_context_error(context),
        "%s is accepted", what);
}

static void test_arguments(struct linnet_context *context) {
  static struct scene scene;
  const int wrong = CASE_SYMBOLS;
  struct linnet_word_search_settings s;
  struct linnet_word_hypothesis h;
  make_scene(&scene, context, 1);
  linnet_word_search_settings_default(&s);
  refuse(context, &scene, 0, &s, "no symbols");
  refuse(context, &scene, 1, &s, "a lexicon of other symbols");
  s.beam = 0;
  refuse(context, &scene, CASE_SYMBOLS, &s, "beam 0");
  linnet_word_search_settings_default(&s);
  s.unknown_penalty = -1;
  refuse(context, &scene, CASE_SYMBOLS, &s, "a negative penalty");
  linnet_word_search_settings_default(&s);
  s.score_threshold = NAN;
  refuse(context, &scene, CASE_SYMBOLS, &s, "a threshold of NaN");
  linnet_word_search_settings_default(&s);
  s.silences = &wrong;
  s.num_silences = 1;
  refuse(context, &scene, CASE_SYMBOLS, &s, "a silence that is no symbol");
  s.size = 3;
  refuse(context, &scene, CASE_SYMBOLS, &s, "settings of another size");
  struct linnet_word_search *search = open_search(context, &scene);
  CHECK(linnet_word_search_hypothesis(search, 0, &h) == LINNET_OK && h.num_words == 0, "no frames");
  CHECK(linnet_word_search_finish(search) == LINNET_OK && linnet_word_search_num_hypotheses(search) == 1, "no frames");
  CHECK(linnet_word_search_accept(search, scene.rows, 1) == LINNET_ERROR_STATE, "frames after the end");
  CHECK(linnet_word_search_hypothesis(search, 1, &h) == LINNET_ERROR_ARGUMENT, "hypothesis 1 of 1");
  linnet_word_search_destroy(search);
  release_word_case(&scene.words);
}

int main(void) {
  struct linnet_context *context = test_context();
  for (uint64_t seed = 0; seed < 120; seed++)
    test_streaming(context, seed);
  test_recombination(context);
  test_recombination_in_small_beam(context);
  test_by_hand(context);
  test_unknown_bonus(context);
  test_stream_refusals(context);
  test_partial(context, -2, "X Z", false);
  test_partial(context, -3, "", true);
  test_lookaheads_of_incomplete_words(context);
  test_many_homophones(context);
  test_broken_phrases(context);
  test_arguments(context);
  linnet_context_destroy(context);
  test_warm();
  torture("word search", scenario);
  return test_result();
}
