/* The order of an epoch: utterances shuffled by counter and packed by frames. */
#ifndef LINNET_BATCHES_H
#define LINNET_BATCHES_H

#include "base/base.h"

/* Batch b is order[starts[b]] ... order[starts[b + 1] - 1]. */
struct linnet_batches {
  size_t *order;  /* (utterances) */
  size_t *starts; /* (batches + 1) */
  size_t utterances, batches;
};

/* Room for `utterances`. */
enum linnet_status linnet_batches_create(struct linnet_context *context, size_t utterances,
                                         struct linnet_batches *batches);
void linnet_batches_destroy(struct linnet_context *context, struct linnet_batches *batches);

/* Packs all utterances with frames[u] > 0, in an order that depends on (seed, epoch), so that no batch exceeds
 * batch_frames unless one utterance does. epoch 0 keeps the order of the corpus. */
void linnet_batches_fill(struct linnet_batches *batches, const size_t *frames, size_t utterances, size_t batch_frames,
                         uint64_t seed, uint64_t epoch);

#endif
