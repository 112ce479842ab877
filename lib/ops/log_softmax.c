/* Reference of log-softmax. */
#include "ops/log_softmax.h"

#include <math.h>

double linnet_log_sum(size_t width, const real *x) {
  double largest = -INFINITY, sum = 0;
  for (size_t c = 0; c < width; c++)
    largest = x[c] > largest ? x[c] : largest;
  for (size_t c = 0; c < width; c++)
    sum += exp(x[c] - largest);
  return largest + log(sum);
}

bool linnet_log_distribution(size_t width, const real *x, double *log_p) {
  for (size_t c = 0; c < width; c++)
    if (isnan(x[c]) || x[c] == INFINITY)
      return false;
  const double sum = linnet_log_sum(width, x);
  for (size_t c = 0; c < width; c++)
    log_p[c] = x[c] - sum;
  return !isnan(sum);
}

void linnet_log_softmax_reference(size_t rows, size_t width, const real *x, real *y) {
  for (size_t t = 0; t < rows; t++, x += width, y += width) {
    real largest = x[0], sum = 0;
    for (size_t c = 1; c < width; c++)
      largest = x[c] > largest ? x[c] : largest;
    for (size_t c = 0; c < width; c++)
      sum += real_exp(x[c] - largest);
    real shift = largest + real_log(sum);
    for (size_t c = 0; c < width; c++)
      y[c] = x[c] - shift;
  }
}
