/* Connectionist temporal classification (Graves et al. 2006): the C reference. */
#ifndef LINNET_CTC_H
#define LINNET_CTC_H

#include "ops/pack.h"

/* CTC on one sequence; see ops/ctc.h. */
struct linnet_ctc {
  size_t frames, symbols, labels;
  const real *logits; /* (frames, symbols), not normalised */
  const int *label;   /* (labels), 1 .. symbols-1 */
  real scale;         /* the gradient is multiplied by this */
  real *gradient;     /* (frames, symbols) with respect to the logits; may be `logits`; NULL: loss only */
};

size_t linnet_ctc_work_bytes(size_t frames, size_t symbols, size_t labels);

/* The negative log likelihood, +infinity if infeasible (then the gradient is zero). */
double linnet_ctc_reference(const struct linnet_ctc *c, void *work);

/* The fewest frames that can carry the labels: their number plus one blank between equal neighbours. */
size_t linnet_ctc_min_frames(const int *label, size_t labels);

#endif
