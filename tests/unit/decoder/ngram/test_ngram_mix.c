/* Mixtures of n-gram models: every n-gram of both has the mean of their probabilities, and the rest adds up to 1. */
#include "allocators.h"
#include "ngram_checks.h"

enum { LETTERS = 9 };

/* Estimates a model of random sentences over the letters from `first` on. */
static struct linnet_ngram *estimate(struct linnet_context *context, unsigned order, char first, unsigned letters,
                                     uint64_t seed) {
  struct linnet_ngram_estimator *estimator = NULL;
  struct linnet_ngram *ngram = NULL;
  struct linnet_ngram_estimator_settings settings;
  struct test_random random = {seed};
  char names[LETTERS][2];
  linnet_ngram_estimator_settings_default(&settings);
  settings.order = order;
  settings.discount_fallback = 1;
  REQUIRE(linnet_ngram_estimator_create(context, &settings, &estimator) == LINNET_OK, "%s",
          linnet_context_error(context));
  for (unsigned i = 0; i < letters; i++)
    snprintf(names[i], 2, "%c", first + (int)i);
  for (int s = 0; s < 200; s++) {
    const char *sentence[8];
    size_t count = 1 + test_below(&random, 8), word = test_below(&random, letters);
    for (size_t i = 0; i < count; i++) {
      word = test_below(&random, 3) > 0 ? (word * 2 + 1) % letters : test_below(&random, letters);
      sentence[i] = names[word];
    }
    REQUIRE(linnet_ngram_estimator_add(estimator, sentence, count) == LINNET_OK, "%s", linnet_context_error(context));
  }
  REQUIRE(linnet_ngram_estimator_finish(estimator, &ngram) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_ngram_estimator_destroy(estimator);
  return ngram;
}

static struct linnet_ngram *mix(struct linnet_context *context, const struct linnet_ngram *a,
                                const struct linnet_ngram *b, double weight) {
  struct linnet_ngram *mixed;
  REQUIRE(linnet_ngram_mix(context, a, b, weight, &mixed) == LINNET_OK, "%s", linnet_context_error(context));
  return mixed;
}

/* P(last of words (count) of `whole` | those before it) in a model of the same names; those up to a word that it does
 * not have are forgotten. */
static double probability(const struct linnet_ngram *m, const struct linnet_ngram *whole, const uint32_t *words,
                          unsigned count) {
  uint32_t own[NGRAM_MAX_ORDER];
  unsigned begin = 0;
  for (unsigned i = 0; i < count; i++) {
    own[i] = linnet_ngram_index(m, linnet_ngram_word(whole, words[i]));
    if (own[i] == LINNET_NGRAM_NO_WORD)
      begin = i + 1;
  }
  return begin == count ? 0 : exp(ngram_score_by_definition(m, own + begin, count - 1 - begin, own[count - 1]));
}

/* The children of a node that stands for words (count). Returns the number of all n-grams below it. */
static size_t check_children(const struct linnet_ngram *mixed, const struct linnet_ngram *const from[2], double weight,
                             uint32_t node, uint32_t *words, unsigned count) {
  const struct ngram_range children = linnet_ngram_children(mixed, node);
  size_t all = 0;
  for (uint32_t child = children.begin; child < children.end; child++) {
    words[count] = linnet_ngram_last_word(mixed, child);
    const double expected = (1 - weight) * probability(from[0], mixed, words, count + 1) +
                            weight * probability(from[1], mixed, words, count + 1);
    CHECK(fabs(exp(linnet_ngram_probability(mixed, child)) - expected) < 1e-5, "node %u: %.7f, expected %.7f", child,
          exp(linnet_ngram_probability(mixed, child)), expected);
    all += 1 + (child < mixed->inner ? check_children(mixed, from, weight, child, words, count + 1) : 0);
  }
  return all;
}

/* Whether `mixed` has all n-grams of a model, below a node of each. */
static void check_has(const struct linnet_ngram *m, uint32_t node, const struct linnet_ngram *mixed, uint32_t whole) {
  const struct ngram_range children = linnet_ngram_children(m, node);
  for (uint32_t child = children.begin; child < children.end; child++) {
    const uint32_t word = linnet_ngram_index(mixed, linnet_ngram_word(m, linnet_ngram_last_word(m, child)));
    const uint32_t found = word == LINNET_NGRAM_NO_WORD ? 0 : linnet_ngram_child(mixed, whole, word);
    CHECK(found != 0, "an n-gram of %u words is missing", linnet_ngram_level(m, child));
    if (found != 0 && child < m->inner)
      check_has(m, child, mixed, found);
  }
}

static void check_mixture(struct linnet_context *context, const struct linnet_ngram *a, const struct linnet_ngram *b,
                          double weight, const char *what) {
  const struct linnet_ngram *const from[2] = {a, b};
  struct linnet_ngram *mixed = mix(context, a, b, weight);
  uint32_t words[NGRAM_MAX_ORDER];
  ngram_check_sums(mixed, what);
  ngram_check_states(mixed, what);
  CHECK(check_children(mixed, from, weight, 0, words, 0) == mixed->total - 1, "%s: the tree", what);
  check_has(a, 0, mixed, 0);
  check_has(b, 0, mixed, 0);
  printf("%s: %u n-grams of %u and %u\n", what, mixed->total, a->total, b->total);
  linnet_ngram_destroy(mixed);
}

static void test_mixtures(struct linnet_context *context) {
  struct linnet_ngram *wide = estimate(context, 4, 'a', 6, 7), *narrow = estimate(context, 2, 'd', 6, 8),
                      *apart = estimate(context, 3, 'x', 2, 9), *same = estimate(context, 4, 'a', 6, 10);
  check_mixture(context, wide, narrow, 0.3, "some words in common");
  check_mixture(context, narrow, wide, 0.7, "the longer one second");
  check_mixture(context, wide, apart, 0.5, "no words in common");
  check_mixture(context, wide, same, 0.999, "the same words");
  struct linnet_ngram *itself = mix(context, wide, wide, 0.25), *quantized = NULL;
  ngram_check_same(wide, itself);
  REQUIRE(linnet_ngram_quantize(context, wide, &quantized) == LINNET_OK, "%s", linnet_context_error(context));
  struct linnet_ngram *rough = mix(context, quantized, narrow, 0.5), *exact = mix(context, wide, narrow, 0.5);
  CHECK(!rough->shape.quantized && rough->total == exact->total, "a mixture with a quantized model");
  for (uint32_t node = 1; node < exact->total; node++)
    CHECK(fabs(linnet_ngram_probability(rough, node) - linnet_ngram_probability(exact, node)) < 0.05, "node %u", node);
  struct linnet_ngram *all[] = {wide, narrow, apart, same, itself, quantized, rough, exact};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    linnet_ngram_destroy(all[i]);
}

/* The rounded numbers of a file may add up to more than 1. */
static void test_rounding(struct linnet_context *context) {
  static const char *const texts[] = {"\\data\\\nngram 1=4\nngram 2=1\n\n\\1-grams:\n-99\t<s>\t0\n-0.4771213\t</s>\n"
                                      "-0.4771213\ta\t0\n-0.4771213\tb\n\n\\2-grams:\n0\ta b\n\n\\end\\\n",
                                      "\\data\\\nngram 1=4\nngram 2=1\n\n\\1-grams:\n-99\t<s>\t0\n-0.4771213\t</s>\n"
                                      "-0.4771213\ta\t0.4771215\n-0.4771213\tb\n\n\\2-grams:\n-99\ta a\n\n\\end\\\n"};
  struct linnet_ngram *from[2];
  for (size_t i = 0; i < 2; i++)
    REQUIRE(linnet_ngram_load_memory(context, texts[i], strlen(texts[i]), "ARPA", &from[i]) == LINNET_OK, "%s",
            linnet_context_error(context));
  struct linnet_ngram *mixed = mix(context, from[0], from[1], 0.5);
  for (uint32_t node = 1; node < mixed->base[3]; node++)
    CHECK(linnet_ngram_probability(mixed, node) <= 0, "node %u: %g", node, linnet_ngram_probability(mixed, node));
  linnet_ngram_destroy(mixed);
  for (size_t i = 0; i < 2; i++)
    linnet_ngram_destroy(from[i]);
}

static void test_refusals(struct linnet_context *context) {
  static const double bad[] = {0, 1, -0.5, 2, NAN};
  struct linnet_ngram *ngram = estimate(context, 2, 'a', 3, 1), *mixed;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(linnet_ngram_mix(context, ngram, ngram, bad[i], &mixed) == LINNET_ERROR_ARGUMENT && !mixed &&
              strstr(linnet_context_error(context), "above 0 and below 1"),
          "weight %g: %s", bad[i], linnet_context_error(context));
  linnet_ngram_destroy(ngram);
}

static enum linnet_status scenario(struct linnet_context *context) {
  static const char first[] =
      "\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-99\t<s>\t-0.1\n-0.5\t</s>\n-0.4\ta\t-0.2\n"
      "-0.7\tb\n\n\\2-grams:\n-0.3\t<s> a\n-0.4\ta b\n\n\\end\\\n",
                    second[] = "\\data\\\nngram 1=2\n\n\\1-grams:\n-0.5\tb\n-0.4\tc\n\n\\end\\\n";
  struct linnet_ngram *a = NULL, *b = NULL, *mixed = NULL;
  enum linnet_status status = linnet_ngram_load_memory(context, first, sizeof first - 1, "FIRST", &a);
  if (status == LINNET_OK)
    status = linnet_ngram_load_memory(context, second, sizeof second - 1, "SECOND", &b);
  if (status == LINNET_OK)
    status = linnet_ngram_mix(context, a, b, 0.5, &mixed);
  linnet_ngram_destroy(mixed);
  linnet_ngram_destroy(b);
  linnet_ngram_destroy(a);
  return status;
}

int main(void) {
  struct linnet_context *context = test_context();
  test_mixtures(context);
  test_rounding(context);
  test_refusals(context);
  linnet_context_destroy(context);
  torture("mixing", scenario);
  return test_result();
}
