/* Pruning of n-gram models: probabilities still add up to 1, and the n-grams of the smallest loss go. */
#include "decoder/ngram/ngram_model.h"
#include "test.h"

enum { WORDS = 6, SENTENCES = 400 };

static const char *const NAMES[WORDS] = {"a", "b", "c", "d", "e", "f"};

/* Words that depend on the one before, so that contexts matter. */
static struct linnet_ngram *estimate(struct linnet_context *context, uint32_t *words) {
  struct linnet_ngram_estimator *estimator = NULL;
  struct linnet_ngram *ngram = NULL;
  struct linnet_ngram_estimator_settings settings;
  linnet_ngram_estimator_settings_default(&settings);
  settings.order = 4;
  settings.discount_fallback = 1;
  REQUIRE(linnet_ngram_estimator_create(context, &settings, &estimator) == LINNET_OK, "%s",
          linnet_context_error(context));
  struct test_random random = {7};
  for (int s = 0; s < SENTENCES; s++) {
    const char *sentence[8];
    size_t count = 1 + test_below(&random, 8), word = test_below(&random, WORDS);
    for (size_t i = 0; i < count; i++) {
      word = test_below(&random, 3) > 0 ? (word * 2 + 1) % WORDS : test_below(&random, WORDS);
      sentence[i] = NAMES[word];
      ++*words;
    }
    REQUIRE(linnet_ngram_estimator_add(estimator, sentence, count) == LINNET_OK, "%s", linnet_context_error(context));
  }
  REQUIRE(linnet_ngram_estimator_finish(estimator, &ngram) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_ngram_estimator_destroy(estimator);
  return ngram;
}

/* As if contexts occurred as often as the model says. */
static uint32_t *fill_counts(const struct linnet_ngram *m, uint32_t words) {
  uint32_t *counts = calloc(m->total, sizeof *counts);
  REQUIRE(counts, "no memory");
  counts[0] = words;
  for (uint32_t parent = 0; parent < m->inner; parent++)
    for (uint32_t node = m->first[parent]; node < m->first[parent + 1]; node++)
      counts[node] = (uint32_t)(counts[parent] * exp(linnet_ngram_probability(m, node)) + 1);
  return counts;
}

/* The probabilities of all words but <s> add up to 1 in every state. */
static void check_sums(const struct linnet_ngram *m, const char *what) {
  for (uint32_t context = 0; context < m->inner; context++) {
    uint32_t from = context == 0 ? 0 : linnet_ngram_next(m, context);
    double sum = 0;
    for (uint32_t word = 0; word < m->shape.counts[0]; word++) {
      uint32_t state = from;
      sum += word == m->start ? 0 : exp(linnet_ngram_score(m, &state, word));
    }
    CHECK(fabs(sum - 1) < 1e-4, "%s: context %u: sum %.7f", what, context, sum);
  }
}

static void check_same(const struct linnet_ngram *a, const struct linnet_ngram *b) {
  CHECK(a->total == b->total, "%u n-grams, %u without pruning", b->total, a->total);
  for (uint32_t node = 1; node < a->total && a->total == b->total; node++)
    CHECK(a->words[node] == b->words[node] &&
              fabs(linnet_ngram_probability(a, node) - linnet_ngram_probability(b, node)) < 1e-6 &&
              (node >= a->inner || fabs(linnet_ngram_backoff(a, node) - linnet_ngram_backoff(b, node)) < 1e-4),
          "node %u", node);
}

int main(void) {
  struct linnet_context *context = test_context();
  uint32_t words = 0;
  struct linnet_ngram *exact = estimate(context, &words);
  uint32_t *counts = fill_counts(exact, words), before = exact->total;
  check_sums(exact, "exact");
  static const double thresholds[] = {0, 1e-5, 1e-4, 1e-3, 1};
  for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++) {
    struct linnet_ngram *pruned;
    char what[32];
    snprintf(what, sizeof what, "threshold %g", thresholds[i]);
    REQUIRE(linnet_ngram_prune(exact, counts, thresholds[i] > 0 ? thresholds[i] : -INFINITY, &pruned) == LINNET_OK,
            "%s", linnet_context_error(context));
    check_sums(pruned, what);
    if (thresholds[i] == 0)
      check_same(exact, pruned);
    CHECK(pruned->total <= before, "%s: %u n-grams, %u with less", what, pruned->total, before);
    CHECK(thresholds[i] < 1 || pruned->total == 1 + pruned->shape.counts[0], "%s: %u n-grams", what, pruned->total);
    printf("%s: %u n-grams\n", what, pruned->total);
    before = pruned->total;
    linnet_ngram_destroy(pruned);
  }
  free(counts);
  linnet_ngram_destroy(exact);
  linnet_context_destroy(context);
  return test_result();
}
