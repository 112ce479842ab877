/* Log-softmax over rows: the C reference. */
#ifndef LINNET_LOG_SOFTMAX_H
#define LINNET_LOG_SOFTMAX_H

#include "backend/backend.h"

void linnet_log_softmax_reference(size_t rows, size_t width, const real *x, real *y);

#endif
