/* Log-softmax over rows: the C reference. */
#ifndef LINNET_LOG_SOFTMAX_H
#define LINNET_LOG_SOFTMAX_H

#include <stdbool.h>

#include "ops/pack.h"

/* The logarithm of the sum of the exponentials of a row. */
double linnet_log_sum(size_t width, const real *x);

/* The log-softmax of a row in double. False if there is none: an element is NaN or +infinity, or all are -infinity. */
bool linnet_log_distribution(size_t width, const real *x, double *log_p);

/* Rows of `width`; y may be x. */
void linnet_log_softmax_reference(size_t rows, size_t width, const real *x, real *y);

#endif
