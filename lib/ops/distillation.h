/* Distillation from a fixed teacher network (Hinton et al. 2015): the C reference. */
#ifndef LINNET_DISTILLATION_H
#define LINNET_DISTILLATION_H

#include "ops/pack.h"

/* The arguments for one sequence. The gradient must not overlap the logits. */
struct linnet_distillation {
  size_t frames, symbols;
  const real *teacher, *student; /* (frames, symbols): logits, not normalised */
  real scale;                    /* the gradient is multiplied by this */
  real *gradient_add;            /* (frames, symbols), with respect to the student's logits */
};

/* Returns the sum over frames of KL(teacher || student), not scaled. NaN if logits hold NaN or +infinity, or a row
 * holds only -infinity; +infinity if a symbol is impossible (-infinity) for the student only. */
double linnet_distillation_reference(const struct linnet_distillation *d);

#endif
