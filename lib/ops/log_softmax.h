/* Log-softmax over rows: the C reference. */
#ifndef LINNET_LOG_SOFTMAX_H
#define LINNET_LOG_SOFTMAX_H

#include "ops/pack.h"

/* Rows of `width`; y may be x. */
void linnet_log_softmax_reference(size_t rows, size_t width, const real *x, real *y);

#endif
