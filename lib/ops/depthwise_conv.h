/* Depthwise convolution over time on packed sequences: the C reference. */
#ifndef LINNET_DEPTHWISE_CONV_H
#define LINNET_DEPTHWISE_CONV_H

#include "ops/pack.h"

/* A convolution over time, for each channel separately, with zeros outside the sequence; `kernel` is odd: y[t][c] =
 * bias[c] + sum_j w[j][c] x[t + j - kernel/2][c]. */
struct linnet_conv {
  size_t channels, kernel;
};

/* x, y (T, channels); w (kernel, channels). */
void linnet_conv_forward_reference(const struct linnet_conv *c, const struct linnet_pack *p, const real *x,
                                   const real *w, const real *bias, real *y);
void linnet_conv_backward_reference(const struct linnet_conv *c, const struct linnet_pack *p, const real *x,
                                    const real *w, const real *dy, real *dx, real *dw_add, real *dbias_add);

#endif
