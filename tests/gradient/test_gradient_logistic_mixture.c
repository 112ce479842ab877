/* The mixture of logistics in double: its gradient with respect to the outputs against central differences, and that
 * the probabilities of all values of a row sum to 1. */
#include "gradient.h"
#include "ops/logistic_mixture.h"

#define BOUND 1e-7

struct mixture_case {
  const char *name;
  size_t rows, components, levels;
  double spread, log_scale; /* means are in +-spread; logarithms of scales around log_scale */
};

static const struct mixture_case cases[] = {
    {"one component", 6, 1, 256, 1, -2}, {"pixels", 40, 10, 256, 1, -3}, {"narrow, far away", 20, 4, 256, 3, -5.5},
    {"wide", 20, 3, 256, 1, 2},          {"two levels", 12, 3, 2, 1, 0}, {"three levels", 12, 2, 3, 1, -1}};

static double loss_of(const struct mixture_case *c, size_t rows, const real *outputs, const int *values) {
  const struct linnet_logistic_mixture m = {rows, c->components, c->levels, outputs, values, 1, NULL};
  return linnet_logistic_mixture_reference(&m);
}

/* An output that moves, in its row. */
struct moving {
  const struct mixture_case *c;
  const real *row;
  const int *value;
  real *output;
};

static double loss_moved(void *user, double by) {
  struct moving *m = user;
  const real before = *m->output;
  *m->output += by;
  const double loss = loss_of(m->c, 1, m->row, m->value);
  *m->output = before;
  return loss;
}

static real *random_outputs(const struct mixture_case *c, struct test_random *r) {
  const size_t n = c->components;
  real *outputs = gradient_random(r, c->rows * 3 * n);
  for (size_t i = 0; i < c->rows * 3 * n; i++) {
    const size_t kind = i / n % 3;
    outputs[i] = kind == 0 ? 2 * outputs[i] : kind == 1 ? c->spread * outputs[i] : c->log_scale + outputs[i];
  }
  return outputs;
}

static void check_gradient(const struct mixture_case *c, uint64_t seed) {
  struct test_random r = {seed};
  const size_t width = 3 * c->components, n = c->rows * width;
  real *outputs = random_outputs(c, &r), *gradient = gradient_reals(n);
  int *values = malloc(c->rows * sizeof *values);
  for (size_t t = 0; t < c->rows; t++) /* both ends, then others */
    values[t] = t == 0 ? 0 : t == 1 ? (int)c->levels - 1 : (int)test_below(&r, c->levels);
  const struct linnet_logistic_mixture m = {c->rows, c->components, c->levels, outputs, values, 0.5, gradient};
  const double loss = linnet_logistic_mixture_reference(&m), rms = gradient_rms(n, gradient);
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    struct moving moving = {c, outputs + i / width * width, values + i / width, outputs + i};
    worst = fmax(worst, gradient_error(gradient_difference(loss_moved, &moving, 1e-4) / 2, gradient[i], rms / 10));
  }
  printf("%-18s seed %llu: loss %.4f, error %.1e, bound %.0e\n", c->name, (unsigned long long)seed, loss, worst, BOUND);
  CHECK(isfinite(loss) && rms > 0 && worst <= BOUND, "%s: error %.3e, bound %.0e", c->name, worst, BOUND);
  CHECK(loss == loss_of(c, c->rows, outputs, values), "%s: the loss depends on the gradient", c->name);
  free(outputs), free(gradient), free(values);
}

static void check_sum(const struct mixture_case *c, uint64_t seed) {
  struct test_random r = {seed};
  real *outputs = random_outputs(c, &r);
  double sum = 0;
  for (int v = 0; v < (int)c->levels; v++)
    sum += exp(-loss_of(c, 1, outputs, &v));
  CHECK(fabs(sum - 1) < 1e-12, "%s: the probabilities sum to %.15f", c->name, sum);
  free(outputs);
}

/* Scales below the minimum: as at the minimum, without a gradient. A value far from all means has a finite loss. */
static void check_limits(void) {
  const struct mixture_case c = {.components = 1, .levels = 256};
  real low[3] = {0, -1, -9}, minimum[3] = {0, -1, -7}, gradient[3];
  const int values[] = {1, 200, 255};
  for (size_t i = 0; i < 3; i++) {
    const struct linnet_logistic_mixture m = {1, 1, 256, low, values + i, 1, gradient};
    const double loss = linnet_logistic_mixture_reference(&m);
    CHECK(isfinite(loss) && loss == loss_of(&c, 1, minimum, values + i), "value %d: loss %g", values[i], loss);
    CHECK(gradient[0] == 0 && isfinite(gradient[1]) && gradient[2] == 0, "value %d: gradient", values[i]);
  }
}

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_gradient(&cases[i], 3 + i);
    check_sum(&cases[i], 30 + i);
  }
  check_limits();
  return test_result();
}
