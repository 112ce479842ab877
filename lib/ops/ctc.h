/* Connectionist temporal classification (Graves et al. 2006): the C reference. */
#ifndef LINNET_CTC_H
#define LINNET_CTC_H

#include "ops/pack.h"

/* The arguments of CTC on one sequence. */
struct linnet_ctc {
  size_t frames, symbols, labels;
  const real *logits; /* (frames, symbols), not normalised */
  const int *label;   /* (labels), 1 .. symbols-1 */
  real scale;         /* the gradient is multiplied by this */
  real *gradient;     /* (frames, symbols) with respect to the logits; may be `logits`; NULL: loss only */
};

size_t linnet_ctc_work_bytes(size_t frames, size_t symbols, size_t labels);

/* Returns the negative log likelihood, or +infinity if the labels are infeasible (the gradient is then zero). */
double linnet_ctc_reference(const struct linnet_ctc *c, void *work);

/* The minimum number of frames that can carry the labels: one per label, plus one per pair of equal neighbours for the
 * blank between them. */
size_t linnet_ctc_min_frames(const int *label, size_t labels);

#endif
