/* Adam (Kingma, Ba 2014) and RAdam (Liu et al. 2019): the terms of a step, and the C reference of the update. */
#ifndef LINNET_OPTIMIZER_H
#define LINNET_OPTIMIZER_H

#include "ops/pack.h"

/* The terms of one Adam or RAdam update. */
struct linnet_update {
  double gradient_scale; /* gradients are multiplied by this first (clipping, averaging) */
  double beta1, beta2;
  double step;    /* learning rate with bias correction and rectification: p -= step * m / ... */
  double rescale; /* ... (sqrt(v) * rescale + epsilon) */
  double epsilon;
  bool adaptive; /* false: the step is step * m, without the second moment (RAdam's first steps) */
};

/* The arrays of an update, each (n). */
struct linnet_update_arrays {
  size_t n;
  real *parameters;
  const real *gradients;
  real *m, *v; /* the moments */
};

enum linnet_optimizer { LINNET_ADAM, LINNET_RADAM };

/* Fills *u for optimiser step `step` (1, 2, ...), with beta 0.9 and 0.999, epsilon 1e-8, and gradient_scale 1. As in
 * PyTorch, Adam adds epsilon to the root of the bias-corrected second moment, and RAdam to the root of the uncorrected
 * one. */
void linnet_update_terms(enum linnet_optimizer kind, double learning_rate, uint64_t step, struct linnet_update *u);

/* m, v (n) are the moments. */
void linnet_update_reference(const struct linnet_update *u, size_t n, real *parameters, const real *gradients, real *m,
                             real *v);

#endif
