/* Cross entropy of frames against known symbols, among the symbols without blank: the C reference. */
#ifndef LINNET_FRAME_TARGETS_H
#define LINNET_FRAME_TARGETS_H

#include "ops/pack.h"

/* The arguments for one sequence. The gradient must not overlap the logits. */
struct linnet_frame_targets {
  size_t frames, symbols;
  const int *targets; /* (frames): 1 ... symbols - 1; 0: unknown, the frame has no loss */
  const real *logits; /* (frames, symbols), not normalised; symbol 0 is blank */
  real scale;         /* the gradient is multiplied by this */
  real *gradient_add; /* (frames, symbols), with respect to the logits */
};

/* Returns the sum over frames with a target of -log P(target | not blank), not scaled. NaN if logits of these frames
 * hold NaN or +infinity, or those of all symbols are -infinity; +infinity if that of a target is. */
double linnet_frame_targets_reference(const struct linnet_frame_targets *f);

#endif
