/* The kinds of network, by enum linnet_encoder_kind. A new kind needs a file with such a structure, an entry in
 * network.c, and the same for inference (encoder.h). */
#ifndef LINNET_NETWORK_KIND_H
#define LINNET_NETWORK_KIND_H

#include "model/training/pass.h"

struct linnet_network_kind {
  size_t shard_rows;   /* target number of rows of a shard */
  size_t layers_bytes; /* of pass->layers */
  /* Takes all memory of a pass on the device from the arena. */
  void (*plan)(struct linnet_pass *pass, struct linnet_arena *arena);
  /* logits (T, outputs) from the shard's features. */
  void (*forward)(struct linnet_pass *pass, real *logits);
  /* Adds the gradients of all parameters, from dlogits (T, outputs). */
  void (*backward)(struct linnet_pass *pass, const void *dlogits);
};

extern const struct linnet_network_kind linnet_transformer_network, linnet_blstm_network;

#endif
