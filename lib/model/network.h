/* The encoder as training and validation see it: forward over a packed batch with everything kept, and backward.
 * Recognition runs the same layers in blocks of rows (encoder.c).
 *
 * All functions run on one thread; shards of a batch run on different threads with different memory. */
#ifndef LINNET_NETWORK_H
#define LINNET_NETWORK_H

#include "backend/backend.h"
#include "base/base.h"
#include "model/config.h"
#include "model/parameters.h"

struct linnet_network {
  const struct linnet_ops *ops;
  const struct linnet_config *config;
  const struct linnet_parameters *parameters;
};

/* Part of a batch that one thread works on. */
struct linnet_shard {
  struct linnet_pack pack; /* in output frames; T rows in all */
  const real *features;    /* (T, stack * input_dim), see linnet_stack_frames */
  double dropout;          /* rate; 0 in validation */
  uint64_t seed;           /* of the dropout masks ... */
  uint32_t step;
  uint64_t first_row; /* ... and where the shard begins in the whole batch */
};

static inline size_t linnet_shard_frames(const struct linnet_shard *shard) {
  return shard->pack.offsets[shard->pack.sequences];
}

/* Rows of a shard with which the network runs well; batches are cut into shards of about so many. */
size_t linnet_network_shard_rows(const struct linnet_network *network);

/* Output frames of an utterance, and its stacked features: row t of out (frames', stack * dim) is rows stack * t ...
 * of features (frames, dim), the last row repeated where they end. */
size_t linnet_stacked_frames(const struct linnet_config *config, size_t frames);
void linnet_stack_frames(const struct linnet_config *config, const float *features, size_t frames, real *out);

/* Bytes of memory that a pass over `frames` output frames in `sequences` sequences needs; SIZE_MAX: overflow. */
size_t linnet_network_bytes(const struct linnet_network *network, size_t frames, size_t sequences);

struct linnet_pass;

/* Forward: writes logits (T, outputs). `memory` is aligned to 64 bytes and holds linnet_network_bytes; the pass lives
 * in it and is needed for backward. */
struct linnet_pass *linnet_network_forward(const struct linnet_network *network, const real *weights,
                                           const struct linnet_shard *shard, void *memory, size_t bytes, real *logits);

/* Backward: from dlogits (T, outputs) adds the gradients of all parameters to gradients_add (same layout). */
void linnet_network_backward(struct linnet_pass *pass, const real *dlogits, real *gradients_add);

#endif
