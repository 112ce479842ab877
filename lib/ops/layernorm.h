/* Layer normalisation (Ba, Kiros, Hinton 2016): the C reference. */
#ifndef LINNET_LAYERNORM_H
#define LINNET_LAYERNORM_H

#include "backend/backend.h"

/* Added to the variance. */
#define LINNET_LAYERNORM_EPSILON 1e-5

void linnet_layernorm_forward_reference(size_t rows, size_t width, const real *x, const real *gain, const real *bias,
                                        real *y, real *mean, real *rstd);
void linnet_layernorm_backward_reference(size_t rows, size_t width, const real *x, const real *gain, const real *mean,
                                         const real *rstd, const real *dy, const real *residual, real *dx,
                                         real *dgain_add, real *dbias_add);

#endif
