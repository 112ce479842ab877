/* Prefix beam search with a beam for all prefixes, compared with the definition: the sum, and the best, over all
 * paths of a few frames (Graves et al. 2006, eq. 3), with and without a language model. */
#include "beam_cases.h"

enum { MAX_FRAMES = 6, MAX_SYMBOLS = 4, SEQUENCES = 4096 };

/* A label sequence by its number in base MAX_SYMBOLS, most significant first, with no zeros: 0 is the empty one. */
struct sequence {
  double sum, best; /* probabilities: of all its paths, of the best one */
  int label[MAX_FRAMES];
  size_t count;
  double language, score;
};

struct problem {
  uint64_t seed;
  size_t frames, symbols;
  float rows[MAX_FRAMES * MAX_SYMBOLS];
  struct sequence all[SEQUENCES];
  const struct bigram *bigram;
  struct linnet_beam_settings settings;
};

static size_t number_of(const int *label, size_t count) {
  size_t number = 0;
  for (size_t i = 0; i < count; i++)
    number = number * MAX_SYMBOLS + (size_t)label[i];
  return number;
}

static void add_path(struct problem *p, const int *path) {
  struct sequence s = {.count = 0};
  double probability = 1;
  int previous = 0;
  for (size_t t = 0; t < p->frames; t++) {
    probability *= exp((double)p->rows[t * p->symbols + (size_t)path[t]]);
    if (path[t] != 0 && path[t] != previous)
      s.label[s.count++] = path[t];
    previous = path[t];
  }
  struct sequence *to = &p->all[number_of(s.label, s.count)];
  s.sum = to->sum + probability;
  s.best = fmax(to->best, probability);
  *to = s;
}

static void add_all_paths(struct problem *p) {
  int path[MAX_FRAMES] = {0};
  for (size_t t = 0; t < p->frames || p->frames == 0;) {
    add_path(p, path);
    for (t = 0; t < p->frames && ++path[t] == (int)p->symbols; t++)
      path[t] = 0;
    if (t == p->frames)
      return;
  }
}

static void score_sequences(struct problem *p) {
  for (size_t i = 0; i < SEQUENCES; i++) {
    struct sequence *s = &p->all[i];
    s->language = p->bigram ? bigram_language(p->bigram, s->label, s->count, true) : 0;
    s->score = log(s->sum) + (double)p->settings.insertion_bonus * (double)s->count;
    if (p->bigram)
      s->score += (double)p->settings.model_weight * s->language;
  }
}

/* The sequences that the search can find: possible ones of which the model forbids no prefix. */
static size_t count_possible(const struct problem *p) {
  size_t count = 0;
  for (size_t i = 0; i < SEQUENCES; i++) {
    const struct sequence *s = &p->all[i];
    bool possible = !p->bigram || bigram_language(p->bigram, s->label, s->count, false) > -INFINITY;
    count += s->sum > 0 && possible;
  }
  return count;
}

static void check_alignment(const struct problem *p, const struct linnet_hypothesis *h, const struct sequence *s) {
  check_segments(h, p->rows, p->frames, p->symbols, p->seed);
  double probability = path_probability(h->segments, h->num_segments, p->rows, p->frames, p->symbols);
  CHECK(beam_error(log(probability), log(s->best)) < 1e-9, "seed %llu: alignment of log %.9g, the best has %.9g",
        (unsigned long long)p->seed, log(probability), log(s->best));
}

static void check_hypothesis(const struct problem *p, const struct linnet_hypothesis *h) {
  int label[MAX_FRAMES];
  REQUIRE(h->num_segments <= p->frames, "seed %llu: %zu symbols", (unsigned long long)p->seed, h->num_segments);
  for (size_t i = 0; i < h->num_segments; i++)
    label[i] = h->segments[i].symbol;
  const struct sequence *s = &p->all[number_of(label, h->num_segments)];
  CHECK(beam_error(h->acoustic, log(s->sum)) < 1e-12, "seed %llu: acoustic %.15g, expected %.15g",
        (unsigned long long)p->seed, h->acoustic, log(s->sum));
  CHECK(beam_error(h->score, s->score) < 1e-6 && beam_error(h->language, s->language) < 1e-6,
        "seed %llu: score %.15g and language %.15g, expected %.15g and %.15g", (unsigned long long)p->seed, h->score,
        h->language, s->score, s->language);
  check_alignment(p, h, s);
}

static void check_problem(struct linnet_context *context, struct problem *p) {
  struct linnet_beam *beam;
  double last = INFINITY;
  REQUIRE(linnet_beam_create(context, (int)p->symbols, &p->settings, &beam) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_beam_accept(beam, p->rows, p->frames) == LINNET_OK && linnet_beam_finish(beam) == LINNET_OK, "search");
  size_t count = linnet_beam_num_hypotheses(beam), expected = count_possible(p);
  CHECK(count == expected, "seed %llu: %zu hypotheses, expected %zu", (unsigned long long)p->seed, count, expected);
  for (size_t i = 0; i < count; i++) {
    struct linnet_hypothesis h;
    REQUIRE(linnet_beam_hypothesis(beam, i, &h) == LINNET_OK, "%s", linnet_context_error(context));
    check_hypothesis(p, &h);
    CHECK(h.score <= last, "seed %llu: hypothesis %zu of score %g after %g", (unsigned long long)p->seed, i, h.score,
          last);
    last = h.score;
  }
  linnet_beam_destroy(beam);
}

static void make_problem(struct problem *p, uint64_t seed, const struct bigram *bigram,
                         const struct linnet_language_model *model) {
  struct test_random r = {seed};
  *p = (struct problem){.seed = seed, .frames = test_below(&r, MAX_FRAMES + 1), .bigram = bigram};
  p->symbols = 1 + test_below(&r, MAX_SYMBOLS);
  fill_posteriors(&r, p->rows, p->frames, p->symbols, seed % 3 == 0 ? 12 : 2);
  for (size_t i = 0; i < p->frames * p->symbols && seed % 5 == 0; i++)
    if (i % p->symbols != 0 && test_below(&r, 6) == 0) /* the blank stays possible: no row without any */
      p->rows[i] = -INFINITY;
  linnet_beam_settings_default(&p->settings);
  p->settings.beam = SEQUENCES;
  if (bigram)
    use_bigram(&p->settings, model);
  add_all_paths(p);
  score_sequences(p);
}

int main(void) {
  static struct problem problem;
  struct linnet_context *context = test_context();
  for (uint64_t seed = 0; seed < 300; seed++) {
    struct test_random r = {seed + 1000};
    struct bigram bigram;
    fill_bigram(&r, &bigram);
    struct linnet_language_model model = bigram_model(&bigram);
    make_problem(&problem, seed, seed % 2 ? &bigram : NULL, &model);
    check_problem(context, &problem);
  }
  linnet_context_destroy(context);
  return test_result();
}
