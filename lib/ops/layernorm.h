/* Layer normalisation (Ba, Kiros, Hinton 2016): the C reference. */
#ifndef LINNET_LAYERNORM_H
#define LINNET_LAYERNORM_H

#include "ops/dropout.h"

/* Added to the variance. */
#define LINNET_LAYERNORM_EPSILON 1e-5

/* y = (x - mean) * rstd * gain + bias, per row. Tensors that layers pass on are `void *`: `real` on the CPU, while a
 * device may store them with fewer bits. */
struct linnet_layernorm {
  size_t rows, width;
  const void *x;           /* (rows, width) */
  const real *gain, *bias; /* (width); bias: forward only */
  void *y;                 /* (rows, width): forward writes it; may be x */
  real *mean, *rstd;       /* (rows): forward writes them unless NULL; backward reads them */
  /* Backward only: dx = residual + the gradient from dy; adds to the gradients of gain and bias. */
  const void *dy, *residual; /* (rows, width); residual may be NULL: 0 */
  void *dx;                  /* (rows, width); may be dy or residual */
  real *dgain_add, *dbias_add;
};

/* The end of a sublayer and the layer norm after it, as one op on devices.
 *
 * Forward: sum = residual + dropout(x), then norm.y = layer norm of the sum. residual may be NULL. Either norm.y or sum
 * may be x, but not both. Backward: that of the norm, where norm.dx is the gradient of the sum; then dx =
 * dropout(norm.dx). */
struct linnet_residual_norm {
  const struct linnet_dropout *mask;
  const void *x, *residual;     /* forward */
  void *sum;                    /* forward */
  void *dx;                     /* backward */
  struct linnet_layernorm norm; /* norm.x is the sum: forward sets it itself */
};

void linnet_layernorm_forward_reference(const struct linnet_layernorm *n);
void linnet_layernorm_backward_reference(const struct linnet_layernorm *n);

#endif
