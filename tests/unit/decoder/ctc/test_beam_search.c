/* Prefix beam search with small beams, compared with the textbook: prefixes as strings, probabilities as logarithms,
 * every candidate made and all sorted (Hannun et al. 2014, algorithm 1). */
#include "beam_cases.h"
#include "decoder/ctc/beam_parts.h"

enum { MAX_FRAMES = 120, MAX_SYMBOLS = BIGRAM_SYMBOLS, MAX_PREFIXES = 4000 };

struct prefix {
  int label[MAX_FRAMES];
  size_t count;
  double blank, symbol; /* log P of alignments that end in the blank, and in the last symbol */
  double score;
};

struct textbook {
  const struct linnet_beam_settings *settings;
  const struct bigram *bigram;
  size_t symbols, count, made;
  struct prefix now[MAX_PREFIXES], next[MAX_PREFIXES];
};

static double log_add(double a, double b) {
  double high = fmax(a, b), low = fmin(a, b);
  return low == -INFINITY ? high : high + log1p(exp(low - high));
}

static struct prefix *find(struct prefix *list, size_t count, const int *label, size_t length) {
  for (size_t i = 0; i < count; i++)
    if (list[i].count == length && memcmp(list[i].label, label, length * sizeof *label) == 0)
      return &list[i];
  return NULL;
}

static struct prefix *find_or_make(struct textbook *t, const int *label, size_t length) {
  struct prefix *found = find(t->next, t->made, label, length);
  if (found)
    return found;
  REQUIRE(t->made < MAX_PREFIXES, "too many prefixes");
  found = &t->next[t->made++];
  *found = (struct prefix){.count = length, .blank = -INFINITY, .symbol = -INFINITY};
  memcpy(found->label, label, length * sizeof *label);
  return found;
}

/* Whether the frame may make a new prefix with the symbol. */
static bool appends(const struct textbook *t, const float *row, size_t symbol) {
  size_t above = 0;
  float largest = row[0];
  for (size_t v = 1; v < t->symbols; v++) {
    above += row[v] > row[symbol];
    largest = row[v] > largest ? row[v] : largest;
  }
  return (t->settings->top_symbols == 0 || above < t->settings->top_symbols) &&
         row[symbol] >= largest - t->settings->symbol_threshold;
}

static void extend(struct textbook *t, const struct prefix *from, const float *row, size_t symbol) {
  int label[MAX_FRAMES];
  memcpy(label, from->label, from->count * sizeof *label);
  label[from->count] = (int)symbol;
  bool repeats = from->count > 0 && from->label[from->count - 1] == (int)symbol;
  if (!appends(t, row, symbol) && !find(t->now, t->count, label, from->count + 1))
    return;
  struct prefix *to = find_or_make(t, label, from->count + 1);
  double source = repeats ? from->blank : log_add(from->blank, from->symbol);
  to->symbol = log_add(to->symbol, source + (double)row[symbol]);
}

static double score_of(const struct textbook *t, const struct prefix *p) {
  double language = t->bigram ? bigram_language(t->bigram, p->label, p->count, false) : 0;
  return log_add(p->blank, p->symbol) + (t->bigram ? (double)t->settings->model_weight * language : 0) +
         (double)t->settings->insertion_bonus * (double)p->count;
}

static int by_score(const void *a, const void *b) {
  double x = ((const struct prefix *)a)->score, y = ((const struct prefix *)b)->score;
  return (x < y) - (x > y);
}

static void textbook_frame(struct textbook *t, const float *row) {
  t->made = 0;
  for (size_t i = 0; i < t->count; i++) {
    const struct prefix *p = &t->now[i];
    struct prefix *same = find_or_make(t, p->label, p->count);
    same->blank = log_add(same->blank, log_add(p->blank, p->symbol) + (double)row[0]);
    if (p->count > 0)
      same->symbol = log_add(same->symbol, p->symbol + (double)row[p->label[p->count - 1]]);
    for (size_t symbol = 1; symbol < t->symbols; symbol++)
      extend(t, p, row, symbol);
  }
  for (size_t i = 0; i < t->made; i++)
    t->next[i].score = score_of(t, &t->next[i]);
  qsort(t->next, t->made, sizeof *t->next, by_score);
  t->count = 0;
  while (t->count < t->made && t->count < t->settings->beam && t->next[t->count].score > -INFINITY &&
         t->next[t->count].score >= t->next[0].score - (double)t->settings->score_threshold)
    t->count++;
  memcpy(t->now, t->next, t->count * sizeof *t->now);
}

static void check_against_textbook(struct linnet_beam *beam, const struct textbook *t, const float *rows, size_t frames,
                                   uint64_t seed) {
  size_t count = linnet_beam_num_hypotheses(beam);
  CHECK(count == t->count, "seed %llu: %zu hypotheses, expected %zu", (unsigned long long)seed, count, t->count);
  for (size_t i = 0; i < count && i < t->count; i++) {
    struct linnet_hypothesis h;
    REQUIRE(linnet_beam_hypothesis(beam, i, &h) == LINNET_OK, "no hypothesis");
    CHECK(same_labels(&h, t->now[i].label, t->now[i].count), "seed %llu: another hypothesis at %zu",
          (unsigned long long)seed, i);
    check_segments(&h, rows, frames, t->symbols, seed);
    double error = beam_error(h.score, t->now[i].score),
           acoustic = beam_error(h.acoustic, log_add(t->now[i].blank, t->now[i].symbol));
    CHECK(error < 1e-6 && acoustic < 1e-11, "seed %llu: score of %zu wrong by %g, acoustic score by %g",
          (unsigned long long)seed, i, error, acoustic);
  }
}

static void vary_settings(struct test_random *r, struct linnet_beam_settings *settings) {
  linnet_beam_settings_default(settings);
  settings->beam = 1 + test_below(r, test_below(r, 4) == 0 ? 60 : 12);
  if (test_below(r, 3) == 0)
    settings->top_symbols = 1 + test_below(r, 4);
  if (test_below(r, 3) == 0)
    settings->symbol_threshold = (float)test_below(r, 5);
  if (test_below(r, 3) == 0)
    settings->score_threshold = 1 + (float)test_below(r, 5);
}

static void test_textbook(struct linnet_context *context) {
  static float rows[MAX_FRAMES * MAX_SYMBOLS];
  static struct textbook t;
  for (uint64_t seed = 0; seed < 300; seed++) {
    struct test_random r = {seed};
    struct linnet_beam_settings settings;
    struct bigram bigram;
    fill_bigram(&r, &bigram);
    struct linnet_language_model model = bigram_model(&bigram);
    vary_settings(&r, &settings);
    t.bigram = seed % 2 ? &bigram : NULL;
    if (t.bigram)
      use_bigram(&settings, &model);
    t.settings = &settings;
    t.symbols = 2 + test_below(&r, MAX_SYMBOLS - 1);
    t.count = 1;
    t.now[0] = (struct prefix){.blank = 0, .symbol = -INFINITY};
    size_t frames = test_below(&r, MAX_FRAMES);
    fill_posteriors(&r, rows, frames, t.symbols, 1 + (double)(seed % 7));
    struct linnet_beam *beam;
    REQUIRE(linnet_beam_create(context, (int)t.symbols, &settings, &beam) == LINNET_OK, "create");
    for (size_t i = 0; i < frames; i++) {
      textbook_frame(&t, rows + i * t.symbols);
      CHECK(linnet_beam_accept(beam, rows + i * t.symbols, 1) == LINNET_OK, "accept");
      if (i % 8 == 0)
        check_against_textbook(beam, &t, rows, i + 1, seed);
    }
    check_against_textbook(beam, &t, rows, frames, seed);
    linnet_beam_destroy(beam);
  }
}

static int candidate_order(const void *a, const void *b) {
  return linnet_candidate_before(a, b) ? -1 : linnet_candidate_before(b, a);
}

/* Few different scores, so that ties are common. */
static void test_rank(void) {
  enum { MAX_CANDIDATES = 300 };
  struct linnet_candidate a[MAX_CANDIDATES], b[MAX_CANDIDATES];
  for (uint64_t seed = 0; seed < 2000; seed++) {
    struct test_random r = {seed};
    size_t count = test_below(&r, MAX_CANDIDATES + 1), keep = test_below(&r, MAX_CANDIDATES + 1),
           range = 1 + test_below(&r, 400);
    for (uint32_t i = 0; i < count; i++)
      a[i] = b[i] = (struct linnet_candidate){(double)test_below(&r, range), (uint32_t)test_below(&r, 3), i};
    qsort(b, count, sizeof *b, candidate_order);
    size_t kept = linnet_candidates_rank(a, count, keep);
    CHECK(kept == (count < keep ? count : keep), "seed %llu: %zu kept", (unsigned long long)seed, kept);
    for (size_t i = 0; i < kept; i++)
      CHECK(a[i].parent == b[i].parent, "seed %llu: place %zu of %zu", (unsigned long long)seed, i, count);
  }
}

static void test_exp(void) {
  enum { COUNT = 70001 };
  static double x[COUNT], y[COUNT];
  double worst = 0;
  for (size_t i = 0; i < COUNT; i++)
    x[i] = -0.01 * (double)i;
  x[COUNT - 1] = -INFINITY;
  linnet_exp_array(x, y, COUNT);
  for (size_t i = 0; i < COUNT; i++)
    worst = fmax(worst, x[i] > -700 ? fabs(y[i] / exp(x[i]) - 1) : y[i] == 0 ? 0 : INFINITY);
  CHECK(worst < 1e-15, "error %g", worst);
}

int main(void) {
  struct linnet_context *context = test_context();
  test_textbook(context);
  test_rank();
  test_exp();
  linnet_context_destroy(context);
  return test_result();
}
