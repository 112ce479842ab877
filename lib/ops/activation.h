/* Element-wise activations and the gated linear unit: the C reference. */
#ifndef LINNET_ACTIVATION_H
#define LINNET_ACTIVATION_H

#include "ops/pack.h"

enum linnet_activation { LINNET_IDENTITY, LINNET_RELU, LINNET_GELU, LINNET_SILU };

/* n elements. backward: dx = scale * dy * f'(x), where dx may be dy. For LINNET_RELU, y in place of x gives the same
 * result. */
void linnet_activation_forward_reference(enum linnet_activation f, size_t n, const real *x, real *y);
void linnet_activation_backward_reference(enum linnet_activation f, size_t n, real scale, const real *x, const real *dy,
                                          real *dx);
/* Gated linear unit: x (rows, 2 * width), y = x[:, :width] * sigmoid(x[:, width:]) (rows, width). */
void linnet_glu_forward_reference(size_t rows, size_t width, const real *x, real *y);
void linnet_glu_backward_reference(size_t rows, size_t width, const real *x, const real *dy, real *dx);

#endif
