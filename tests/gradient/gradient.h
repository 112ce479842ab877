/* Central differences. The engine is compiled with `real` = double here. */
#ifndef LINNET_TEST_GRADIENT_H
#define LINNET_TEST_GRADIENT_H

#include "base/real.h"
#include "test.h"

_Static_assert(sizeof(real) == sizeof(double), "the gradient checks need double");

/* Largest accepted relative error of a derivative. Elements smaller than a tenth of their tensor's root mean square
 * are measured against that tenth: a difference of losses has no more digits. */
#define GRADIENT_BOUND 1e-6

static inline real *gradient_reals(size_t n) {
  real *x = malloc((n + 1) * sizeof *x);
  if (!x)
    exit(1);
  for (size_t i = 0; i <= n; i++)
    x[i] = NAN;
  return x;
}

/* n values in [-1, 1). */
static inline real *gradient_random(struct test_random *r, size_t n) {
  real *x = gradient_reals(n);
  for (size_t i = 0; i < n; i++)
    x[i] = test_uniform(r);
  return x;
}

/* Values in +-[0.1, 1.1): steps never cross 0, where relu and elu + 1 have no (second) derivative. */
static inline real *gradient_random_off_zero(struct test_random *r, size_t n) {
  real *x = gradient_random(r, n);
  for (size_t i = 0; i < n; i++)
    x[i] += x[i] < 0 ? -0.1 : 0.1;
  return x;
}

static inline double gradient_dot(size_t n, const real *x, const real *y) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

static inline double gradient_rms(size_t n, const real *x) {
  return n ? sqrt(gradient_dot(n, x, x) / (double)n) : 0;
}

/* The derivative at 0 of a function of one number, from four points: the error is O(step^4). */
typedef double (*gradient_fn)(void *user, double moved);

static inline double gradient_difference(gradient_fn f, void *user, double step) {
  double near = f(user, step) - f(user, -step), far = f(user, 2 * step) - f(user, -2 * step);
  return (8 * near - far) / (12 * step);
}

/* |a - b| relative to the maximum of |a|, |b| and `min_scale`. NaN gives infinity. */
static inline double gradient_error(double a, double b, double min_scale) {
  double error = fabs(a - b) / fmax(fmax(fabs(a), fabs(b)), min_scale);
  return isnan(error) ? INFINITY : error;
}

#endif
