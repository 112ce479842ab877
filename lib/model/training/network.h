/* The network in training and validation: forward over a packed batch, which saves what backward needs, and backward,
 * on a device. Inference on the CPU runs the same layers in blocks of rows (encoder.c).
 *
 * A pass is used from one thread; shards of a batch run on different threads, each in its own pass. */
#ifndef LINNET_NETWORK_H
#define LINNET_NETWORK_H

#include "backend/device.h"
#include "base/base.h"
#include "model/config.h"
#include "model/parameters.h"

struct linnet_network {
  struct linnet_device *device;
  const struct linnet_config *config;
  const struct linnet_parameters *parameters;
};

/* A batch on the device, or the part of it that one thread works on. */
struct linnet_shard {
  struct linnet_pack pack;        /* in output frames; T rows in all */
  void *features;                 /* (T, stack * input_dim) activations, see linnet_stack_frames; with embedding tables,
                                     (T, input_dim) valid indices as reals */
  bool forward_only;              /* no backward will follow */
  size_t views;                   /* sequences of an utterance, for messages; 0 counts as 1 */
  const struct linnet_poll *poll; /* forward calls it before each layer; NULL: forward cannot be cancelled */
  double dropout;                 /* rate; 0 in validation */
  uint64_t seed;                  /* of the dropout masks ... */
  uint32_t step;
  uint64_t first_row; /* ... and where the shard begins in the whole batch */
  /* backward calls it after each layer: the gradients from parameter `first` on are complete. NULL: nobody asks. */
  void (*passed)(void *user, size_t first);
  void *passed_user;
};

static inline size_t linnet_shard_frames(const struct linnet_shard *shard) {
  return shard->pack.offsets[shard->pack.sequences];
}

/* An efficient number of rows for a shard; batches are divided into shards of about this size. */
size_t linnet_network_shard_rows(const struct linnet_network *network);

/* Output frames of an utterance, and its stacked features: row t of out (frames', stack * dim) is rows stack * t ... of
 * features (frames, dim), the last row is repeated if rows are missing. */
size_t linnet_stacked_frames(const struct linnet_config *config, size_t frames);
void linnet_stack_frames(const struct linnet_config *config, const float *features, size_t frames, real *out);

struct linnet_pass;

/* Creates a pass, which can process any number of shards one after the other. LINNET_ERROR_UNSUPPORTED if the network
 * has embedding tables and the device is not the host. */
enum linnet_status linnet_pass_create(struct linnet_context *context, const struct linnet_network *network,
                                      struct linnet_pass **pass);
/* NULL is allowed. */
void linnet_pass_destroy(struct linnet_pass *pass);

/* Bytes of device memory that a shard of this pack needs. A device other than the host must already have the pack from
 * a batch. SIZE_MAX: overflow. */
size_t linnet_pass_bytes(struct linnet_pass *pass, const struct linnet_pack *pack, bool forward_only);

/* Forward: writes logits (T, outputs). `memory` has linnet_pass_bytes and is aligned to 64 bytes. Memory, shard and
 * weights must remain valid until backward. */
void linnet_pass_forward(struct linnet_pass *pass, const real *weights, const struct linnet_shard *shard, void *memory,
                         size_t bytes, real *logits);

/* Later passes also run the output layer on the activations after the first `layer` layers, at least 1 and fewer than
 * the network has; 0: after the last layer only, as after creation. Transformers on the host; without effect on shards
 * that are forward_only. */
void linnet_pass_set_intermediate(struct linnet_pass *pass, size_t layer);

/* After forward: the logits (T, outputs) of that intermediate output. The caller replaces them by their gradient before
 * backward. */
real *linnet_pass_intermediate(const struct linnet_pass *pass);

/* Backward: from dlogits (T, outputs) adds the gradients of all parameters to gradients_add (same layout). */
void linnet_pass_backward(struct linnet_pass *pass, const real *dlogits, real *gradients_add);

#endif
