/* Forward and backward over a shard: the parts that all kinds of network share. Arrays are in the memory of the device.
 * Shapes: T rows, width D of the activations between layers. */
#ifndef LINNET_PASS_H
#define LINNET_PASS_H

#include "base/arena.h"
#include "model/training/network.h"

struct linnet_pass {
  struct linnet_context *context;
  const struct linnet_network *network;
  const struct linnet_shard *shard;
  const real *weights;
  real *gradients; /* in backward */
  size_t frames, width;
  void *layers;              /* the data of the kind of network; host memory directly behind the pass */
  void *work;                /* for ops */
  void *running;             /* (T, D): in backward, the gradient of the activations between layers */
  void *wide;                /* scratch (T, widest row inside a layer) */
  void *narrow, *narrow2;    /* scratch (T, D) */
  void *rounded, *dlogits;   /* the weights and the gradient of the logits in the type of activations, if that is
                                not real */
  size_t intermediate;       /* layers before the intermediate output; 0: there is none */
  real *intermediate_logits; /* (T, outputs) its logits, then their gradient; NULL: there is none in this pass */
};

/* y (T, out) = activation(x (T, in) W^T + b). */
void linnet_linear_forward(const struct linnet_pass *pass, const struct linnet_linear *l, const void *x,
                           enum linnet_activation activation, void *y);
/* The last linear layer of a network: to logits (T, out). */
void linnet_linear_logits(const struct linnet_pass *pass, const struct linnet_linear *l, const void *x, real *logits);
/* Computes dx (T, in) (unless NULL) from dy (T, out), and adds the gradients of W and b. `add`: adds to dx instead of
 * overwriting it. */
void linnet_linear_backward(const struct linnet_pass *pass, const struct linnet_linear *l, const void *x,
                            const void *dy, void *dx, bool add);

/* The arguments from which a dropout of the shard draws its mask. */
struct linnet_dropout linnet_pass_mask(const struct linnet_pass *pass, uint32_t site);

/* y = residual + dropout(x) at a site; residual may be NULL, y may be x. */
void linnet_pass_dropout(const struct linnet_pass *pass, uint32_t site, size_t width, const void *x,
                         const void *residual, void *y);

/* In backward: the gradients from parameter `first` on are complete. */
static inline void linnet_pass_passed(const struct linnet_pass *pass, size_t first) {
  if (pass->shard->passed)
    pass->shard->passed(pass->shard->passed_user, first);
}

static inline real *linnet_take_reals(struct linnet_arena *arena, size_t rows, size_t width) {
  size_t count;
  return linnet_arena_take(arena, linnet_mul_size(rows, width, &count) ? count : SIZE_MAX, sizeof(real));
}

/* (T, width). */
static inline void *linnet_take_activations(const struct linnet_pass *pass, struct linnet_arena *arena, size_t width) {
  size_t count;
  return linnet_arena_take(arena, linnet_mul_size(pass->frames, width, &count) ? count : SIZE_MAX,
                           pass->network->device->activation_bytes);
}

/* --- kinds of network --------------------------------------------------------------------------------------------- */

/* The kinds of network, by enum linnet_encoder_kind. A new kind needs a file with such a structure, an entry in
 * network.c, and the same for inference (encoder.h). */

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
