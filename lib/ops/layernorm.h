/* Layer normalisation (Ba, Kiros, Hinton 2016): the C reference. */
#ifndef LINNET_LAYERNORM_H
#define LINNET_LAYERNORM_H

#include "ops/dropout.h"

/* Added to the variance. */
#define LINNET_LAYERNORM_EPSILON 1e-5

/* y = (x - mean) * rstd * gain + bias, per row. Tensors that layers pass on are `void *`: `real` on the CPU; a device
 * may store them with fewer bits. */
struct linnet_layernorm {
  size_t rows, width;
  const void *x;           /* (rows, width) */
  const real *gain, *bias; /* (width); bias: forward alone */
  void *y;                 /* (rows, width): forward writes it; may be x */
  real *mean, *rstd;       /* (rows): forward writes them, NULL: it does not; backward reads them */
  /* Backward alone: dx = residual + what comes back from dy; the gradients of gain and bias are added. */
  const void *dy, *residual; /* (rows, width); residual may be NULL: 0 */
  void *dx;                  /* (rows, width); may be dy or residual */
  real *dgain_add, *dbias_add;
};

/* The end of a sublayer and the norm behind it, in one op on devices.
 * Forward: sum = residual + dropout(x), then norm.y from the sum. residual may be NULL; norm.y may be x, or else sum
 * may be x. Backward: that of the norm, whose dx is the gradient of the sum; then dx = dropout(norm.dx). */
struct linnet_residual_norm {
  const struct linnet_dropout *mask;
  const void *x, *residual;     /* forward */
  void *sum;                    /* forward */
  void *dx;                     /* backward */
  struct linnet_layernorm norm; /* norm.x is the sum: forward sets it by itself */
};

void linnet_layernorm_forward_reference(const struct linnet_layernorm *n);
void linnet_layernorm_backward_reference(const struct linnet_layernorm *n);

#endif
