/* Depthwise convolution over time on packed sequences: the C reference. */
#ifndef LINNET_DEPTHWISE_CONV_H
#define LINNET_DEPTHWISE_CONV_H

#include "ops/pack.h"

/* A convolution over time, for each channel separately, with zeros outside the sequence:
 * y[t][c] = bias[c] + sum_j w[j][c] x[t + j - left][c]. `left`, below `kernel`, is the number of frames before t that
 * y[t] depends on; the other kernel - 1 - left come after t. */
struct linnet_conv {
  size_t channels, kernel, left;
};

/* Backward: dx from dy, and the gradients of weights and bias. Activations are reals on the CPU. */
struct linnet_conv_gradients {
  const void *x, *dy; /* (T, channels) */
  const real *w;      /* (kernel, channels) */
  void *dx;           /* (T, channels) */
  real *dw_add;       /* (kernel, channels) */
  real *dbias_add;    /* (channels) */
};

/* x, y (T, channels); w (kernel, channels). */
void linnet_conv_forward_reference(const struct linnet_conv *c, const struct linnet_pack *p, const real *x,
                                   const real *w, const real *bias, real *y);
void linnet_conv_backward_reference(const struct linnet_conv *c, const struct linnet_pack *p,
                                    const struct linnet_conv_gradients *g);

/* The convolution where no tap reads outside: y[t][c] = bias[c] + sum_j w[j][c] x[t + j][c] of x (rows + kernel - 1,
 * channels) and y (rows, channels); `left` means nothing. */
void linnet_conv_window_reference(const struct linnet_conv *c, size_t rows, const real *x, const real *w,
                                  const real *bias, real *y);

#endif
