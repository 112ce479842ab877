/* Element-wise activations and the gated linear unit: the C reference. */
#ifndef LINNET_ACTIVATION_H
#define LINNET_ACTIVATION_H

#include "backend/backend.h"

void linnet_activation_forward_reference(enum linnet_activation f, size_t n, const real *x, real *y);
void linnet_activation_backward_reference(enum linnet_activation f, size_t n, real scale, const real *x, const real *dy,
                                          real *dx);
void linnet_glu_forward_reference(size_t rows, size_t width, const real *x, real *y);
void linnet_glu_backward_reference(size_t rows, size_t width, const real *x, const real *dy, real *dx);

#endif
