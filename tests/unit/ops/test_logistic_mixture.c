/* Samples of the mixture of logistics have the probabilities that its loss says; the ends of the random words give
 * values in range; the gradient may replace the outputs. Embeddings: sums of rows, and which indices are refused. */
#include "base/philox.h"
#include "ops/embedding.h"
#include "ops/logistic_mixture.h"
#include "test.h"

enum { LEVELS = 16, COMPONENTS = 3, DRAWS = 40000 };

static const float outputs[3 * COMPONENTS] = {0.5F,  -1,    0.2F, /* weights */ -0.75F, 0.1F, 1.2F, /* means */
                                              -2.5F, -3.5F, -1 /* logarithms of scales */};

static double probability(int value) {
  const struct linnet_logistic_mixture m = {1, COMPONENTS, LEVELS, outputs, &value, 1, NULL};
  return exp(-linnet_logistic_mixture_reference(&m));
}

/* The chi-square statistic of counts has 15 degrees of freedom; it exceeds 45 with probability 1e-4. */
static void check_samples(void) {
  size_t counts[LEVELS] = {0};
  double statistic = 0;
  for (size_t i = 0; i < DRAWS; i++) {
    const struct linnet_philox random = linnet_philox(7, 0, i);
    const int value = linnet_logistic_mixture_sample(COMPONENTS, LEVELS, outputs, random.word[0], random.word[1]);
    REQUIRE(value >= 0 && value < LEVELS, "sample %d", value);
    counts[value]++;
  }
  for (int v = 0; v < LEVELS; v++) {
    const double expected = DRAWS * probability(v);
    statistic += ((double)counts[v] - expected) * ((double)counts[v] - expected) / expected;
  }
  printf("seed 7: chi-square %.1f, bound 45\n", statistic);
  CHECK(statistic < 45, "chi-square %.1f of %d samples", statistic, DRAWS);
}

static void check_ends(void) {
  const float wide[3] = {0, 0, 20}, narrow[3] = {0, -0.2F, -30};
  CHECK(linnet_logistic_mixture_sample(1, 256, wide, 0, 0) == 0, "lowest draw");
  CHECK(linnet_logistic_mixture_sample(1, 256, wide, UINT32_MAX, UINT32_MAX) == 255, "highest draw");
  CHECK(linnet_logistic_mixture_sample(1, 256, narrow, 0, UINT32_MAX / 2) == 102, "a narrow scale");
  CHECK(linnet_logistic_mixture_sample(COMPONENTS, LEVELS, outputs, 0, UINT32_MAX / 2) == 2, "the first component");
  CHECK(linnet_logistic_mixture_sample(COMPONENTS, LEVELS, outputs, UINT32_MAX, UINT32_MAX / 2) == LEVELS - 1,
        "the last component");
}

/* However wide, loss and gradient are numbers. */
static void check_wide(void) {
  static const float scales[] = {49, 51, 750, 1e30F};
  const int value = 5;
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    const float row[3] = {0, 0.5F, scales[i]};
    float gradient[3];
    const struct linnet_logistic_mixture m = {1, 1, LEVELS, row, &value, 1, gradient};
    const double loss = linnet_logistic_mixture_reference(&m);
    CHECK(isfinite(loss) && isfinite(gradient[1]) && gradient[2] == (i > 0 ? 0.0F : 1.0F), "scale %g: %g, %g, %g",
          (double)scales[i], loss, (double)gradient[1], (double)gradient[2]);
  }
}

static void check_in_place(void) {
  float row[3 * COMPONENTS], gradient[3 * COMPONENTS];
  const int value = 5;
  memcpy(row, outputs, sizeof row);
  struct linnet_logistic_mixture m = {1, COMPONENTS, LEVELS, outputs, &value, 1, gradient};
  linnet_logistic_mixture_reference(&m);
  m.outputs = m.gradient = row;
  linnet_logistic_mixture_reference(&m);
  CHECK(memcmp(row, gradient, sizeof row) == 0, "in place");
}

static void check_embedding(void) {
  const struct linnet_embedding e = {2, 3, {2, 3}};
  const float tables[5 * 3] = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60, 70, 80, 90}, indices[4] = {1, 0, 0, 2};
  const float expected[6] = {14, 25, 36, 71, 82, 93};
  float y[6];
  size_t bad = 99;
  linnet_embedding_forward(&e, 2, indices, tables, y);
  CHECK(memcmp(y, expected, sizeof y) == 0, "sums of rows");
  CHECK(linnet_embedding_rows(&e) == 5 && linnet_embedding_check(&e, 2, indices, &bad) && bad == 99, "good indices");
  const float wrong[] = {2, -1, 0.5F, NAN, INFINITY, 1e30F};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const float row[4] = {0, 1, wrong[i], 0};
    CHECK(!linnet_embedding_check(&e, 2, row, &bad) && bad == 2, "index %g", (double)wrong[i]);
  }
}

int main(void) {
  check_samples();
  check_ends();
  check_wide();
  check_in_place();
  check_embedding();
  return test_result();
}
