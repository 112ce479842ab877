/* Loss and error rate over a corpus, without dropout and without gradients. */
#ifndef LINNET_EVALUATE_H
#define LINNET_EVALUATE_H

#include "train/batches.h"
#include "train/gradient.h"

struct linnet_evaluation {
  double loss;              /* summed over feasible utterances */
  size_t labels;            /* theirs */
  size_t errors, reference; /* tokens, if the corpus counts them */
};

/* Runs all utterances with nominal[u] > 0, a batch per thread at a time; sums are in the corpus's order. */
enum linnet_status linnet_evaluate(struct linnet_context *context, const struct linnet_network *network,
                                   struct linnet_worker *workers, const real *weights,
                                   const struct linnet_corpus *corpus, const size_t *nominal, size_t batch_frames,
                                   struct linnet_evaluation *result);

#endif
