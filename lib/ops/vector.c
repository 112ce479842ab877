/* Reference of sums over vectors and columns. */
#include "ops/vector.h"

double linnet_sum_of_squares_reference(size_t n, const real *x) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += (double)x[i] * x[i];
  return sum;
}

void linnet_add_reference(size_t n, const real *x, real *y_add) {
  for (size_t i = 0; i < n; i++)
    y_add[i] += x[i];
}

void linnet_average_reference(size_t n, double weight, const real *x, real *average_add) {
  real w = (real)weight;
  for (size_t i = 0; i < n; i++)
    average_add[i] += w * (x[i] - average_add[i]);
}

void linnet_column_sum_reference(size_t rows, size_t width, const real *x, real *sums_add) {
  for (size_t t = 0; t < rows; t++, x += width)
    for (size_t c = 0; c < width; c++)
      sums_add[c] += x[c];
}
