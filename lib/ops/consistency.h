/* Consistency of two views of a sequence (CR-CTC, Yao et al. 2024): the C reference. */
#ifndef LINNET_CONSISTENCY_H
#define LINNET_CONSISTENCY_H

#include "ops/pack.h"

/* The arguments for one pair of views, which have equally many frames. The gradients must not overlap the logits. */
struct linnet_consistency {
  size_t frames, symbols;
  const real *a, *b;                     /* (frames, symbols): logits of the views, not normalised */
  real scale;                            /* gradients are multiplied by this */
  real *gradient_a_add, *gradient_b_add; /* (frames, symbols), with respect to the logits */
};

/* Returns the sum over frames of (KL(b || a) + KL(a || b)) / 2, not scaled. NaN if logits hold NaN or +infinity, or a
 * row holds only -infinity; +infinity if a symbol is impossible (-infinity) in one view only. */
double linnet_consistency_reference(const struct linnet_consistency *c);

#endif
