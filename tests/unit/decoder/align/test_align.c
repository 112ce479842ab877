/* Forced alignment: compared with the best of all paths on tiny cases; checkpoints compared with full back-pointers;
 * in a band, with jumps, for an hour within its memory; refused input. */
#include <linnet/align.h>

#include "allocators.h"
#include "decoder/align/alignment.h"

enum { MAX_FRAMES = 6, MAX_SYMBOLS = 4, MAX_WORDS = 3, MAX_VARIANTS = 3, MAX_LABELS = 2 };

/* --- random texts ------------------------------------------------------------------------------------------------- */

struct text {
  int labels[MAX_WORDS][MAX_VARIANTS][MAX_LABELS];
  struct linnet_pronunciation variants[MAX_WORDS][MAX_VARIANTS];
  struct linnet_align_word words[MAX_WORDS];
  size_t count;
};

static void make_text(struct test_random *r, int symbols, struct text *text) {
  text->count = test_below(r, MAX_WORDS + 1);
  for (size_t w = 0; w < text->count; w++) {
    text->words[w] = (struct linnet_align_word){text->variants[w], 1 + test_below(r, MAX_VARIANTS)};
    for (size_t v = 0; v < text->words[w].num_variants; v++) {
      text->variants[w][v] = (struct linnet_pronunciation){text->labels[w][v], 1 + test_below(r, MAX_LABELS)};
      for (size_t i = 0; i < MAX_LABELS; i++)
        text->labels[w][v][i] = 1 + (int)test_below(r, (size_t)symbols - 1);
    }
  }
}

static void fill_posteriors(struct test_random *r, float *rows, size_t n) {
  for (size_t i = 0; i < n; i++)
    rows[i] = test_below(r, 12) == 0 ? -INFINITY : (float)(3 * test_uniform(r) - 3);
}

/* --- all paths ---------------------------------------------------------------------------------------------------- */

/* Merges repeats, drops blanks. */
static size_t collapse(const int *path, size_t frames, int *labels) {
  size_t count = 0;
  for (size_t t = 0; t < frames; t++)
    if (path[t] != 0 && (t == 0 || path[t] != path[t - 1]))
      labels[count++] = path[t];
  return count;
}

/* Whether labels[0 .. count) can be read as words[w ..]. */
static bool reads_as(const struct text *text, size_t w, const int *labels, size_t count) {
  if (w == text->count)
    return count == 0;
  for (size_t v = 0; v < text->words[w].num_variants; v++) {
    const struct linnet_pronunciation *p = &text->variants[w][v];
    if (p->num_labels <= count && memcmp(p->labels, labels, p->num_labels * sizeof *labels) == 0 &&
        reads_as(text, w + 1, labels + p->num_labels, count - p->num_labels))
      return true;
  }
  return false;
}

static double best_of_all(const struct text *text, const float *rows, size_t frames, int symbols) {
  double best = -INFINITY;
  size_t paths = 1;
  for (size_t t = 0; t < frames; t++)
    paths *= (size_t)symbols;
  for (size_t code = 0; code < paths; code++) {
    int path[MAX_FRAMES], labels[MAX_FRAMES];
    double score = 0;
    size_t rest = code;
    for (size_t t = 0; t < frames; t++, rest /= (size_t)symbols) {
      path[t] = (int)(rest % (size_t)symbols);
      score += (double)rows[t * (size_t)symbols + (size_t)path[t]];
    }
    if (score > best && reads_as(text, 0, labels, collapse(path, frames, labels)))
      best = score;
  }
  return best;
}

/* The score of the path of the alignment, if its labels are the text. */
static double score_of(const struct linnet_alignment *alignment, const struct text *text, const float *rows,
                       size_t frames, int symbols) {
  size_t count, words;
  const struct linnet_aligned_phone *phones = linnet_alignment_phones(alignment, &count);
  const struct linnet_aligned_word *word = linnet_alignment_words(alignment, &words);
  int path[MAX_FRAMES] = {0}, labels[MAX_FRAMES];
  double score = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t t = phones[i].start; t < phones[i].end; t++)
      path[t] = phones[i].symbol;
  for (size_t t = 0; t < frames; t++)
    score += (double)rows[t * (size_t)symbols + (size_t)path[t]];
  bool good = words == text->count && reads_as(text, 0, labels, collapse(path, frames, labels));
  for (size_t w = 0; good && w < words; w++)
    good = word[w].word == w && word[w].num_phones == text->variants[w][word[w].variant].num_labels &&
           word[w].start == phones[word[w].phone].start &&
           word[w].end == phones[word[w].phone + word[w].num_phones - 1].end &&
           phones[word[w].phone].symbol == text->variants[w][word[w].variant].labels[0];
  return good ? score : NAN;
}

static void test_all_paths(void) {
  struct linnet_context *context = test_context();
  size_t aligned = 0;
  for (uint64_t seed = 0; seed < 3000 / TEST_SHARE; seed++) {
    struct test_random r = {seed};
    int symbols = 2 + (int)test_below(&r, MAX_SYMBOLS - 1);
    size_t frames = test_below(&r, MAX_FRAMES + 1);
    float rows[MAX_FRAMES * MAX_SYMBOLS];
    struct text text;
    make_text(&r, symbols, &text);
    fill_posteriors(&r, rows, frames * (size_t)symbols);
    double best = best_of_all(&text, rows, frames, symbols);
    struct linnet_alignment *alignment;
    enum linnet_status status =
        linnet_alignment_create(context, rows, frames, symbols, text.words, text.count, NULL, &alignment);
    CHECK((status == LINNET_OK) == (best > -INFINITY), "seed %llu: status %d, best %g", (unsigned long long)seed,
          (int)status, best);
    if (status != LINNET_OK) {
      CHECK(status == LINNET_ERROR_LIMIT || status == LINNET_ERROR_NUMERIC, "status %d", (int)status);
      CHECK(*linnet_context_error(context), "no sentence");
      continue;
    }
    aligned++;
    CHECK(fabs(linnet_alignment_score(alignment) - best) <= 1e-9, "seed %llu: score %.12g, best of all paths %.12g",
          (unsigned long long)seed, linnet_alignment_score(alignment), best);
    double score = score_of(alignment, &text, rows, frames, symbols);
    CHECK(fabs(score - best) <= 1e-9, "seed %llu: what was returned scores %.12g, best %.12g", (unsigned long long)seed,
          score, best);
    linnet_alignment_destroy(alignment);
  }
  CHECK(aligned > 1000 / TEST_SHARE, "only %zu could be aligned", aligned);
  linnet_context_destroy(context);
}

/* --- long inputs -------------------------------------------------------------------------------------------------- */

/* Posteriors that give labels[i] at frame positions[i] a probability of about 0.9, and otherwise the blank. With `r`,
 * one frame in 50 is random. */
static void synthesise(struct test_random *r, const int *labels, const size_t *positions, size_t count, size_t frames,
                       size_t symbols, float *rows) {
  size_t next = 0;
  for (size_t t = 0; t < frames; t++) {
    int heard = next < count && positions[next] == t ? labels[next++] : 0;
    if (r && test_below(r, 50) == 0)
      heard = (int)test_below(r, symbols);
    for (size_t k = 0; k < symbols; k++)
      rows[t * symbols + k] = logf(0.1f / (float)symbols);
    rows[t * symbols + (size_t)heard] = logf(0.9f);
  }
}

/* Every third frame or so a label. */
static size_t make_speech(struct test_random *r, size_t frames, size_t symbols, int *labels, size_t *positions) {
  size_t count = 0;
  for (size_t t = 2; t + 2 < frames; t += 2 + test_below(r, 3)) {
    labels[count] = 1 + (int)test_below(r, symbols - 1);
    positions[count++] = t;
  }
  return count;
}

struct speech {
  size_t frames, symbols, count;
  int *labels;
  size_t *positions;
  float *rows;
  struct linnet_pronunciation *variants;
  struct linnet_align_word *words;
};

static struct speech speak(uint64_t seed, size_t frames, size_t symbols) {
  struct test_random r = {seed};
  struct speech s = {.frames = frames, .symbols = symbols};
  s.labels = malloc(frames * sizeof *s.labels);
  s.positions = malloc(frames * sizeof *s.positions);
  s.rows = malloc(frames * symbols * sizeof *s.rows);
  s.variants = malloc(frames * sizeof *s.variants);
  s.words = malloc(frames * sizeof *s.words);
  REQUIRE(s.labels && s.positions && s.rows && s.variants && s.words, "out of memory");
  s.count = make_speech(&r, frames, symbols, s.labels, s.positions);
  for (size_t i = 0; i < s.count; i++) {
    s.variants[i] = (struct linnet_pronunciation){&s.labels[i], 1};
    s.words[i] = (struct linnet_align_word){&s.variants[i], 1};
  }
  synthesise(&r, s.labels, s.positions, s.count, frames, symbols, s.rows);
  return s;
}

static void forget(struct speech *s) {
  free(s->labels);
  free(s->positions);
  free(s->rows);
  free(s->variants);
  free(s->words);
}

/* Blocks of any size, and a band that is wide enough, give the same path as full back-pointers. */
static void test_blocks_and_bands(void) {
  struct linnet_context *context = test_context();
  struct speech s = speak(7, 1500, 12);
  struct linnet_align_graph graph;
  REQUIRE(linnet_align_graph_build(context, s.words, s.count, &graph) == LINNET_OK, "graph");
  uint32_t *full = malloc(s.frames * sizeof *full), *other = malloc(s.frames * sizeof *other);
  struct linnet_align_problem problem = {.context = context,
                                         .graph = &graph,
                                         .log_posteriors = s.rows,
                                         .frames = s.frames,
                                         .symbols = s.symbols,
                                         .jump_cost = 20,
                                         .frame_cost = 1};
  for (int jumps = 0; jumps < 2; jumps++) {
    static const size_t blocks[] = {1, 2, 7, 38, 750, 1499, 1500, 5000}, bands[] = {64, 200, 700};
    struct linnet_align_path reference = {.state = full}, path = {.state = other};
    problem.jumps = jumps;
    problem.band = SIZE_MAX;
    problem.block = s.frames;
    REQUIRE(linnet_align_viterbi(&problem, &reference) == LINNET_OK, "viterbi");
    CHECK(!reference.near_edge, "an edge without a band");
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
      for (size_t j = 0; j <= sizeof bands / sizeof *bands; j++) {
        problem.block = blocks[i];
        problem.band = j > 0 ? bands[j - 1] : SIZE_MAX;
        memset(other, 0, s.frames * sizeof *other);
        REQUIRE(linnet_align_viterbi(&problem, &path) == LINNET_OK, "viterbi");
        CHECK(path.score == reference.score, "block %zu, band %zu, jumps %d: score %.17g, expected %.17g", blocks[i],
              problem.band, jumps, path.score, reference.score);
        CHECK(memcmp(full, other, s.frames * sizeof *full) == 0, "block %zu, band %zu, jumps %d: another path",
              blocks[i], problem.band, jumps);
      }
  }
  free(full);
  free(other);
  linnet_align_graph_clear(&graph);
  forget(&s);
  linnet_context_destroy(context);
}

/* The best state is wrong for a long time: the text has its first half twice, the audio only once, so a narrow band
 * starts at the wrong copy. The band must grow until the result is exact. */
static void test_widening(void) {
  struct linnet_context *context = test_context();
  struct speech s = speak(8, 900, 6);
  struct linnet_align_settings narrow, all;
  linnet_align_settings_default(&narrow);
  all = narrow;
  all.band = SIZE_MAX;
  narrow.band = 16;
  /* Labels 100 ... 139 are not in the audio. */
  for (size_t t = s.positions[100]; t < s.positions[140]; t++)
    for (size_t k = 0; k < s.symbols; k++)
      s.rows[t * s.symbols + k] = k == 0 ? -0.1f : -6;
  struct linnet_alignment *a, *b;
  REQUIRE(linnet_alignment_create(context, s.rows, s.frames, (int)s.symbols, s.words, s.count, &all, &a) == LINNET_OK,
          "%s", linnet_context_error(context));
  REQUIRE(linnet_alignment_create(context, s.rows, s.frames, (int)s.symbols, s.words, s.count, &narrow, &b) ==
              LINNET_OK,
          "%s", linnet_context_error(context));
  CHECK(linnet_alignment_score(a) == linnet_alignment_score(b), "score %.12g in a band, %.12g without",
        linnet_alignment_score(b), linnet_alignment_score(a));
  linnet_alignment_destroy(a);
  linnet_alignment_destroy(b);
  forget(&s);
  linnet_context_destroy(context);
}

/* A band of few states is widened, too: it must give the score of no band. */
static void test_narrow_bands(void) {
  enum { FRAMES = 60, LABELS = 15, KINDS = 6 };
  static const size_t bands[] = {1, 2, 3, 5, 7};
  struct linnet_context *context = test_context();
  struct test_random r = {10};
  float rows[FRAMES * KINDS];
  int labels[LABELS];
  struct linnet_align_settings settings;
  linnet_align_settings_default(&settings);
  for (size_t i = 0; i < FRAMES * KINDS; i++)
    rows[i] = -3 + 3 * (float)test_uniform(&r);
  for (size_t i = 0; i < LABELS; i++)
    labels[i] = 1 + (int)test_below(&r, KINDS - 1);
  double best = -INFINITY;
  for (size_t i = 0; i <= sizeof bands / sizeof *bands; i++) {
    struct linnet_alignment *alignment;
    settings.band = i > 0 ? bands[i - 1] : SIZE_MAX;
    REQUIRE(linnet_alignment_create_labels(context, rows, FRAMES, KINDS, labels, LABELS, &settings, &alignment) ==
                LINNET_OK,
            "band %zu: %s", settings.band, linnet_context_error(context));
    double score = linnet_alignment_score(alignment);
    best = i > 0 ? best : score;
    CHECK(score == best, "band %zu: score %.12g, %.12g without a band", settings.band, score, best);
    linnet_alignment_destroy(alignment);
  }
  linnet_context_destroy(context);
}

/* An hour at 30 ms with 40 000 labels: every label where it was put, within the documented memory. */
static void test_hour(void) {
  struct usage usage;
  struct linnet_context *context = counting_context(&usage);
  struct speech s = speak(9, 120000 / TEST_SHARE, 40);
  struct linnet_alignment *alignment;
  size_t before = usage.bytes, count, wrong = 0;
  usage.peak = usage.bytes;
  REQUIRE(linnet_alignment_create_labels(context, s.rows, s.frames, (int)s.symbols, s.labels, s.count, NULL,
                                         &alignment) == LINNET_OK,
          "%s", linnet_context_error(context));
  const struct linnet_aligned_phone *phones = linnet_alignment_phones(alignment, &count);
  CHECK(count == s.count, "%zu labels, expected %zu", count, s.count);
  for (size_t i = 0; i < count; i++)
    wrong += phones[i].start > s.positions[i] || phones[i].end <= s.positions[i];
  CHECK(wrong <= count / 50, "%zu of %zu labels are not where they were put", wrong, count);
  CHECK(usage.peak - before < 32u << 20, "%.1f MB", (double)(usage.peak - before) / 1e6);
  printf("an hour, %zu labels: %.1f MB, %zu misplaced\n", count, (double)(usage.peak - before) / 1e6, wrong);
  linnet_alignment_destroy(alignment);
  CHECK(usage.bytes == before, "%zu bytes left", usage.bytes - before);
  forget(&s);
  linnet_context_destroy(context);
}

/* --- jumps -------------------------------------------------------------------------------------------------------- */

enum { SYMBOLS = 20, SAID = 60, SPACING = 3 };

/* Makes audio of text[order[0]], text[order[1]] ...; -1 is a symbol that is not in the text. */
static size_t say(const int *text, const int *order, size_t count, float *rows) {
  int labels[2 * SAID];
  size_t positions[2 * SAID];
  for (size_t i = 0; i < count; i++) {
    labels[i] = order[i] < 0 ? SYMBOLS - 1 : text[order[i]];
    positions[i] = 1 + SPACING * i;
  }
  synthesise(NULL, labels, positions, count, SPACING * count + 3, SYMBOLS, rows);
  return SPACING * count + 3;
}

static void check_jump(const char *name, const int *order, size_t count, enum linnet_jump_kind kind, size_t word,
                       size_t words) {
  static float rows[(SPACING * 2 * SAID + 3) * SYMBOLS];
  int text[SAID];
  struct linnet_context *context = test_context();
  struct linnet_align_settings settings;
  struct linnet_alignment *alignment;
  struct test_random r = {5};
  for (size_t i = 0; i < SAID; i++)
    text[i] = 1 + (int)test_below(&r, SYMBOLS - 2);
  size_t frames = say(text, order, count, rows), jumps, aligned;
  linnet_align_settings_default(&settings);
  settings.jumps = 1;
  REQUIRE(linnet_alignment_create_labels(context, rows, frames, SYMBOLS, text, SAID, &settings, &alignment) ==
              LINNET_OK,
          "%s: %s", name, linnet_context_error(context));
  const struct linnet_align_jump *jump = linnet_alignment_jumps(alignment, &jumps);
  CHECK(jumps == 1, "%s: %zu jumps", name, jumps);
  if (jumps == 1)
    CHECK(jump->kind == kind && jump->word == word && jump->num_words == words && jump->end > jump->start,
          "%s: kind %d, words %zu + %zu, frames %zu to %zu; expected kind %d, words %zu + %zu", name, (int)jump->kind,
          jump->word, jump->num_words, jump->start, jump->end, (int)kind, word, words);
  const struct linnet_aligned_word *found = linnet_alignment_words(alignment, &aligned);
  size_t next = 0;
  for (size_t i = 0; i < count; i++) {
    if (order[i] < 0)
      continue;
    CHECK(next < aligned && found[next].word == (size_t)order[i], "%s: word %zu is missing", name, i);
    if (next < aligned)
      CHECK(found[next].start <= 1 + SPACING * i && found[next].end > 1 + SPACING * i, "%s: word %zu at %zu to %zu",
            name, i, found[next].start, found[next].end);
    next++;
  }
  CHECK(next == aligned, "%s: %zu words, expected %zu", name, aligned, next);
  linnet_alignment_destroy(alignment);
  linnet_context_destroy(context);
}

static void test_jumps(void) {
  int skipped[SAID], repeated[2 * SAID], inserted[2 * SAID];
  size_t n = 0;
  for (int i = 0; i < SAID; i++)
    if (i < 20 || i >= 40)
      skipped[n++] = i;
  check_jump("skip", skipped, n, LINNET_JUMP_SKIPPED, 20, 20);
  for (int i = 0; i < SAID + 15; i++)
    repeated[i] = i < 40 ? i : i - 15;
  check_jump("repeat", repeated, SAID + 15, LINNET_JUMP_REPEATED, 25, 15);
  for (int i = 0; i < SAID + 20; i++)
    inserted[i] = i < 30 ? i : i < 50 ? -1 : i - 20;
  check_jump("insertion", inserted, SAID + 20, LINNET_JUMP_INSERTED, 30, 0);
  check_jump("beginning left out", skipped + 20, 20, LINNET_JUMP_SKIPPED, 0, 40);
  check_jump("end left out", skipped, 20, LINNET_JUMP_SKIPPED, 20, 40);
}

/* --- goodness of pronunciation ------------------------------------------------------------------------------------ */

/* P(q) by all strings of {blank, q} that collapse to q. */
static double probability_of(const struct linnet_gop_window *w, int q) {
  double sum = 0;
  for (unsigned code = 0; code < 1u << w->frames; code++) {
    int path[MAX_FRAMES], labels[MAX_FRAMES];
    double p = 1;
    for (size_t t = 0; t < w->frames; t++) {
      path[t] = code >> t & 1 ? q : 0;
      p *= exp((double)w->log_posteriors[t * w->symbols + (size_t)path[t]]);
    }
    bool merged = (q == w->before && path[0] == q) || (q == w->after && path[w->frames - 1] == q);
    sum += !merged && collapse(path, w->frames, labels) == 1 ? p : 0;
  }
  return sum;
}

static void test_gop(void) {
  for (uint64_t seed = 0; seed < 500; seed++) {
    struct test_random r = {seed};
    float rows[MAX_FRAMES * MAX_SYMBOLS];
    struct linnet_gop_window w = {.log_posteriors = rows, .symbols = MAX_SYMBOLS};
    w.frames = 1 + test_below(&r, MAX_FRAMES);
    w.symbol = 1 + (int)test_below(&r, MAX_SYMBOLS - 1);
    w.before = (int)test_below(&r, MAX_SYMBOLS);
    w.after = (int)test_below(&r, MAX_SYMBOLS);
    fill_posteriors(&r, rows, w.frames * w.symbols);
    double silence = 1, own = probability_of(&w, w.symbol);
    for (size_t t = 0; t < w.frames; t++)
      silence *= exp((double)rows[t * w.symbols]);
    double total = silence;
    for (int q = 1; q < MAX_SYMBOLS; q++)
      total += probability_of(&w, q);
    double expected = own > 0 ? log(own / total) : -INFINITY, got = linnet_gop(&w);
    CHECK(got == expected || fabs(got - expected) <= 1e-9 * fmax(1, fabs(expected)),
          "seed %llu: GOP %.12g, expected %.12g", (unsigned long long)seed, got, expected);
  }
}

/* Aligns A A: the first is in frame 1 and the second in frame 3 of 5. */
static struct linnet_alignment *align_twice(struct linnet_context *context, const struct linnet_calibrations *own,
                                            float rows[5][3]) {
  static const int labels[] = {1, 1};
  struct linnet_align_settings settings;
  struct linnet_alignment *alignment = NULL;
  for (size_t t = 0; t < 5; t++)
    for (size_t k = 0; k < 3; k++)
      rows[t][k] = logf(k == t % 2 ? 0.7f : k == 1 ? 0.2f : 0.1f);
  linnet_align_settings_default(&settings);
  settings.calibrations = own;
  REQUIRE(linnet_alignment_create_labels(context, rows[0], 5, 3, labels, 2, &settings, &alignment) == LINNET_OK, "%s",
          linnet_context_error(context));
  return alignment;
}

/* The GOP of a phone is that of the frames up to its neighbours, which a blank must keep apart from an equal one. */
static void test_gop_of_neighbours(void) {
  struct linnet_context *context = test_context();
  float rows[5][3];
  size_t count;
  struct linnet_alignment *alignment = align_twice(context, NULL, rows);
  const struct linnet_aligned_phone *phones = linnet_alignment_phones(alignment, &count);
  REQUIRE(count == 2 && phones[0].end == 2 && phones[1].start == 3, "%zu phones", count);
  const struct linnet_gop_window windows[] = {
      {.log_posteriors = rows[0], .frames = 3, .symbols = 3, .symbol = 1, .after = 1},
      {.log_posteriors = rows[2], .frames = 3, .symbols = 3, .symbol = 1, .before = 1}};
  for (size_t i = 0; i < 2; i++)
    CHECK(fabs((double)phones[i].gop - linnet_gop(&windows[i])) < 1e-6, "phone %zu: GOP %g, expected %g", i,
          (double)phones[i].gop, linnet_gop(&windows[i]));
  linnet_alignment_destroy(alignment);
  linnet_context_destroy(context);
}

/* The confidences of words have the calibration of words, and those of phones that of phones. */
static void test_calibrations(void) {
  static const struct linnet_calibrations own = {{1, 0}, {2, 1}};
  struct linnet_context *context = test_context();
  float rows[5][3];
  size_t count, num_words;
  struct linnet_alignment *alignment = align_twice(context, &own, rows);
  const struct linnet_aligned_phone *phones = linnet_alignment_phones(alignment, &count);
  const struct linnet_aligned_word *words = linnet_alignment_words(alignment, &num_words);
  REQUIRE(count == 2 && num_words == 2, "%zu phones, %zu words", count, num_words);
  const double calibrated = 1 / (1 + exp(-(2 * log(0.7 / 0.3) + 1)));
  for (size_t i = 0; i < 2; i++)
    CHECK(fabs((double)phones[i].confidence - 0.7) < 1e-6 && fabs((double)words[i].confidence - calibrated) < 1e-6,
          "phone %zu: %g, word: %g, expected 0.7 and %g", i, (double)phones[i].confidence, (double)words[i].confidence,
          calibrated);
  linnet_alignment_destroy(alignment);
  linnet_context_destroy(context);
}

/* A word that is not in the audio is doubtful, the others are not. */
static void test_doubt(void) {
  struct linnet_context *context = test_context();
  struct speech s = speak(12, 60, 30);
  struct linnet_alignment *alignment;
  size_t count, odd = s.count / 2;
  for (size_t k = 0; k < s.symbols; k++)
    s.rows[s.positions[odd] * s.symbols + k] = k == 0 ? logf(0.999f) : logf(1e-5f);
  struct linnet_align_settings settings;
  linnet_align_settings_default(&settings);
  settings.doubt = -4;
  REQUIRE(linnet_alignment_create_labels(context, s.rows, s.frames, (int)s.symbols, s.labels, s.count, &settings,
                                         &alignment) == LINNET_OK,
          "%s", linnet_context_error(context));
  const struct linnet_aligned_word *words = linnet_alignment_words(alignment, &count);
  for (size_t i = 0; i < count; i++)
    CHECK(!words[i].doubtful == (i != odd), "word %zu: GOP %g", i, (double)words[i].gop);
  linnet_alignment_destroy(alignment);
  forget(&s);
  linnet_context_destroy(context);
}

/* --- texts that cannot be aligned --------------------------------------------------------------------------------- */

static enum linnet_status align(struct linnet_context *context, const float *rows, size_t frames, const int *labels,
                                size_t count, bool jumps, struct linnet_alignment **alignment) {
  struct linnet_align_settings settings;
  linnet_align_settings_default(&settings);
  settings.jumps = jumps;
  return linnet_alignment_create_labels(context, rows, frames, 3, labels, count, &settings, alignment);
}

static void test_limits(void) {
  struct linnet_context *context = test_context();
  struct linnet_alignment *a = NULL;
  const float rows[3 * 3] = {-1, -1, -1, -1, -2, -1, -1, -1, NAN};
  const int twice[] = {1, 1}, bad[] = {3}, blank[] = {0}, other[] = {2};
  size_t n;
  CHECK(align(context, NULL, 0, NULL, 0, false, &a) == LINNET_OK && linnet_alignment_score(a) == 0, "nothing");
  linnet_alignment_destroy(a);
  CHECK(align(context, rows, 3, NULL, 0, false, &a) == LINNET_OK && linnet_alignment_score(a) == -3, "no text");
  CHECK(linnet_alignment_words(a, &n) == NULL && n == 0, "words without text");
  linnet_alignment_destroy(a);
  CHECK(align(context, rows, 1, twice, 1, false, &a) == LINNET_OK, "one frame");
  linnet_alignment_destroy(a);
  CHECK(align(context, rows, 3, twice, 2, false, &a) == LINNET_OK && linnet_alignment_score(a) == -3, "exactly");
  linnet_alignment_destroy(a);
  for (int jumps = 0; jumps < 2; jumps++)
    CHECK(align(context, NULL, 0, twice, 1, jumps, &a) == LINNET_ERROR_LIMIT && !a, "no audio");
  CHECK(align(context, rows, 2, twice, 2, false, &a) == LINNET_ERROR_LIMIT, "too long");
  CHECK(strstr(linnet_context_error(context), "at least 3 frames and the audio has 2"), "%s",
        linnet_context_error(context));
  CHECK(align(context, rows, 2, twice, 2, true, &a) == LINNET_OK, "too long with jumps");
  linnet_alignment_destroy(a);
  CHECK(align(context, rows + 6, 1, other, 1, false, &a) == LINNET_ERROR_NUMERIC, "NaN");
  CHECK(align(context, rows, 3, bad, 1, false, &a) == LINNET_ERROR_ARGUMENT, "label 3");
  CHECK(align(context, rows, 3, blank, 1, false, &a) == LINNET_ERROR_ARGUMENT, "the blank");
  CHECK(align(NULL, rows, 3, twice, 1, false, &a) == LINNET_ERROR_ARGUMENT, "no context");
  CHECK(align(context, NULL, 3, twice, 1, false, &a) == LINNET_ERROR_ARGUMENT, "no rows");
  CHECK(align(context, rows, 3, NULL, 1, false, &a) == LINNET_ERROR_ARGUMENT, "no labels");
  const struct linnet_pronunciation empty = {twice, 0};
  const struct linnet_align_word none = {&empty, 0}, hollow = {&empty, 1}, many = {&empty, 65};
  CHECK(linnet_alignment_create(context, rows, 3, 3, &none, 1, NULL, &a) == LINNET_ERROR_ARGUMENT, "no variants");
  CHECK(linnet_alignment_create(context, rows, 3, 3, &hollow, 1, NULL, &a) == LINNET_ERROR_ARGUMENT, "empty");
  CHECK(linnet_alignment_create(context, rows, 3, 3, &many, 1, NULL, &a) == LINNET_ERROR_ARGUMENT, "65 variants");
  struct linnet_align_settings settings;
  linnet_align_settings_default(&settings);
  settings.jump_cost = NAN;
  CHECK(linnet_alignment_create(context, rows, 3, 3, NULL, 0, &settings, &a) == LINNET_ERROR_ARGUMENT, "NaN cost");
  linnet_alignment_destroy(NULL);
  linnet_context_destroy(context);
}

static enum linnet_status scenario(struct linnet_context *context) {
  const int labels[] = {1, 2, 2, 1};
  float rows[40][3];
  for (size_t t = 0; t < 40; t++)
    for (size_t k = 0; k < 3; k++)
      rows[t][k] = t % 3 == k ? -0.1f : -3;
  struct linnet_alignment *alignment;
  enum linnet_status status = align(context, rows[0], 40, labels, 4, true, &alignment);
  linnet_alignment_destroy(alignment);
  return status;
}

int main(void) {
  test_all_paths();
  test_blocks_and_bands();
  test_widening();
  test_narrow_bands();
  test_hour();
  test_jumps();
  test_gop();
  test_gop_of_neighbours();
  test_calibrations();
  test_doubt();
  test_limits();
  torture("alignment", scenario);
  return test_result();
}
