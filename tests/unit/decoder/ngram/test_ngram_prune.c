/* Pruning of n-gram models: probabilities still add up to 1, and the n-grams of the smallest loss go. */
#include "allocators.h"
#include "ngram_checks.h"

enum { WORDS = 6, SENTENCES = 400 };

static const char *const NAMES[WORDS] = {"a", "b", "c", "d", "e", "f"};

/* Words that depend on the one before, so that contexts matter. */
static struct linnet_ngram *estimate(struct linnet_context *context) {
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
    }
    REQUIRE(linnet_ngram_estimator_add(estimator, sentence, count) == LINNET_OK, "%s", linnet_context_error(context));
  }
  REQUIRE(linnet_ngram_estimator_finish(estimator, &ngram) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_ngram_estimator_destroy(estimator);
  return ngram;
}

static double *histories_of(const struct linnet_ngram *m) {
  double *histories = calloc(m->inner, sizeof *histories);
  REQUIRE(histories, "no memory");
  linnet_ngram_predict_histories(m, histories);
  return histories;
}

/* Thresholds from dropping nothing to dropping everything. */
static void test_thresholds(struct linnet_context *context) {
  struct linnet_ngram *exact = estimate(context);
  uint32_t before = exact->total;
  double *histories = histories_of(exact);
  ngram_check_sums(exact, "exact");
  static const double thresholds[] = {-INFINITY, 1e-5, 1e-4, 1e-3, 1};
  for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++) {
    struct linnet_ngram *pruned;
    char what[32];
    snprintf(what, sizeof what, "threshold %g", thresholds[i]);
    REQUIRE(linnet_ngram_prune_histories(context, exact, histories, thresholds[i], &pruned) == LINNET_OK, "%s",
            linnet_context_error(context));
    ngram_check_sums(pruned, what);
    ngram_check_states(pruned, what);
    if (i == 0)
      ngram_check_same(exact, pruned);
    CHECK(pruned->total <= before, "%s: %u n-grams, %u with less", what, pruned->total, before);
    CHECK(thresholds[i] < 1 || pruned->total == 1 + pruned->shape.counts[0], "%s: %u n-grams", what, pruned->total);
    printf("%s: %u n-grams\n", what, pruned->total);
    before = pruned->total;
    linnet_ngram_destroy(pruned);
  }
  free(histories);
  linnet_ngram_destroy(exact);
}

/* Prunes the model in a text with a threshold that removes what can be removed. */
static struct linnet_ngram *prune_text(struct linnet_context *context, const char *arpa) {
  struct linnet_ngram *ngram = NULL, *pruned = NULL;
  REQUIRE(linnet_ngram_load_memory(context, arpa, strlen(arpa), "FILE", &ngram) == LINNET_OK, "%s",
          linnet_context_error(context));
  REQUIRE(linnet_ngram_prune(context, ngram, 0.99, &pruned) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_ngram_destroy(ngram);
  return pruned;
}

/* Words that a model forbids after a context, and words that only the context allows, do not change. */
static void test_impossible(struct linnet_context *context) {
  static const char arpa[] =
      "\\data\\\nngram 1=5\nngram 2=3\n\n\\1-grams:\n-99\t<s>\t-0.1\n-0.5\t</s>\n"
      "-0.4\ta\t-0.2\n-0.7\tb\n-inf\tc\n\n\\2-grams:\n-inf\ta b\n-0.9\ta c\n-0.4\ta a\n\n\\end\\\n";
  struct linnet_ngram *pruned = prune_text(context, arpa);
  uint32_t a = linnet_ngram_find(pruned, "a"), state = 0, again;
  linnet_ngram_score(pruned, &state, a);
  again = state;
  CHECK(linnet_ngram_score(pruned, &again, linnet_ngram_find(pruned, "b")) == -INFINITY, "b became possible");
  again = state;
  CHECK(linnet_ngram_score(pruned, &again, linnet_ngram_find(pruned, "c")) > -3, "c became impossible");
  CHECK(linnet_ngram_num_ngrams(pruned, 2) == 2, "%zu bigrams", linnet_ngram_num_ngrams(pruned, 2));
  linnet_ngram_destroy(pruned);
}

/* A context whose back-off weight is log 0 says its own words alone. It keeps them, whatever the threshold. */
static void test_no_backoff(struct linnet_context *context) {
  static const char arpa[] =
      "\\data\\\nngram 1=5\nngram 2=4\n\n\\1-grams:\n-99\t<s>\t0\n-0.6\t</s>\n-0.6\ta\t-inf\n-0.6\tb\t0\n-0.6\tc\t0\n"
      "\n\\2-grams:\n-0.30103\ta b\n-0.30103\ta c\n-0.1\tb a\n-0.2\t<s> a\n\n\\end\\\n";
  struct linnet_ngram *pruned = prune_text(context, arpa);
  uint32_t state = 0, again;
  linnet_ngram_score(pruned, &state, linnet_ngram_find(pruned, "a"));
  for (const char *word = "bc"; *word; word++) {
    again = state;
    const char name[] = {*word, '\0'};
    double score = linnet_ngram_score(pruned, &again, linnet_ngram_find(pruned, name));
    CHECK(fabs(score - log(0.5)) < 1e-5, "log P(%s | a) is %g", name, score);
  }
  again = state;
  CHECK(linnet_ngram_score(pruned, &again, linnet_ngram_find(pruned, "a")) == -INFINITY, "a became possible");
  linnet_ngram_destroy(pruned);
}

static void test_refusals(struct linnet_context *context) {
  static const double bad[] = {0, -1, 1, NAN, INFINITY};
  struct linnet_ngram *ngram = estimate(context), *quantized = NULL, *pruned = NULL;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(linnet_ngram_prune(context, ngram, bad[i], &pruned) == LINNET_ERROR_ARGUMENT && !pruned &&
              strstr(linnet_context_error(context), "above 0 and below 1"),
          "threshold %g: %s", bad[i], linnet_context_error(context));
  REQUIRE(linnet_ngram_quantize(context, ngram, &quantized) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_ngram_prune(context, quantized, 1e-3, &pruned) == LINNET_ERROR_ARGUMENT && !pruned &&
            strstr(linnet_context_error(context), "then quantize"),
        "quantized: %s", linnet_context_error(context));
  linnet_ngram_destroy(quantized);
  linnet_ngram_destroy(ngram);
  struct linnet_ngram_estimator_settings settings;
  struct linnet_ngram_estimator *estimator = NULL;
  linnet_ngram_estimator_settings_default(&settings);
  settings.prune = NAN;
  CHECK(linnet_ngram_estimator_create(context, &settings, &estimator) == LINNET_ERROR_ARGUMENT && !estimator,
        "an estimator's threshold");
}

/* A model that is pruned during its estimation, and then again by its own histories. */
static enum linnet_status scenario(struct linnet_context *context) {
  static const char *const sentences[] = {"a", "b", "a", "c", "b", "a", "b", "d"};
  struct linnet_ngram_estimator_settings settings;
  struct linnet_ngram_estimator *estimator = NULL;
  struct linnet_ngram *ngram = NULL, *pruned = NULL;
  linnet_ngram_estimator_settings_default(&settings);
  settings.discount_fallback = 1;
  settings.prune = 1e-6;
  enum linnet_status status = linnet_ngram_estimator_create(context, &settings, &estimator);
  for (size_t i = 0; i < 4 && status == LINNET_OK; i++)
    status = linnet_ngram_estimator_add(estimator, sentences + i, 5);
  if (status == LINNET_OK)
    status = linnet_ngram_estimator_finish(estimator, &ngram);
  if (status == LINNET_OK)
    status = linnet_ngram_prune(context, ngram, 1e-2, &pruned);
  linnet_ngram_destroy(pruned);
  linnet_ngram_destroy(ngram);
  linnet_ngram_estimator_destroy(estimator);
  return status;
}

int main(void) {
  struct linnet_context *context = test_context();
  test_thresholds(context);
  test_impossible(context);
  test_no_backoff(context);
  test_refusals(context);
  linnet_context_destroy(context);
  torture("pruning", scenario);
  return test_result();
}
