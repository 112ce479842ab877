/* Sums over vectors: the C reference. */
#ifndef LINNET_VECTOR_H
#define LINNET_VECTOR_H

#include "ops/pack.h"

double linnet_sum_of_squares_reference(size_t n, const real *x);
/* y += x */
void linnet_add_reference(size_t n, const real *x, real *y_add);
/* average += weight * (x - average) */
void linnet_average_reference(size_t n, double weight, const real *x, real *average_add);
/* sums += sum of rows */
void linnet_column_sum_reference(size_t rows, size_t width, const real *x, real *sums_add);

#endif
