/* Matrix products: the C reference. */
#ifndef LINNET_GEMM_H
#define LINNET_GEMM_H

#include "backend/backend.h"

void linnet_gemm_reference(const struct linnet_gemm *g, real *work);

#endif
