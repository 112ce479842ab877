/* What the blocks of a layer share. A layer is two or three sublayers, each a residual connection with a norm around a
 * block: attention, convolution, feed-forward. A block is a row of functions; it keeps what its backward needs in the
 * pass's arena. Shapes: T rows, width D. */
#ifndef LINNET_BLOCK_H
#define LINNET_BLOCK_H

#include "base/arena.h"
#include "model/network.h"

struct linnet_pass {
  const struct linnet_network *network;
  const struct linnet_shard *shard;
  const real *weights;
  real *gradients; /* in backward */
  size_t frames, width;
  struct linnet_sublayer *sublayers;
  size_t num_sublayers;
  real *input;               /* (T, D): the first sublayer's input */
  real *final, *mean, *rstd; /* final norm (pre-norm): output (T, D) and statistics */
  real *work;                /* for ops */
  real *running;             /* (T, D): in backward, the gradient of the current sublayer's output */
  real *wide;                /* scratch of blocks (T, widest row inside a block) */
  real *narrow, *narrow2;    /* scratch (T, D): the gradient of a block's output, and free inside blocks */
};

struct linnet_attention_saved {
  real *qkv;   /* (T, 3 D), or (T, 2 D) where queries are keys */
  void *kept;  /* what the op saves */
  real *heads; /* (T, D) */
};

struct linnet_conv_saved {
  real *pointwise; /* (T, 2 D): before the gate */
  real *gated;     /* (T, D) */
  real *depthwise; /* (T, D): before norm2 */
  real *mean, *rstd;
  real *normed; /* (T, D): after norm2 */
  real *silu;   /* (T, D) */
};

struct linnet_feed_forward_saved {
  real *hidden; /* (T, F): before the activation; NULL for ReLU, whose slope shows in `active` */
  real *active; /* (T, F): after activation and dropout */
};

struct linnet_block {
  /* Takes the block's arrays from the arena. */
  void (*plan)(struct linnet_pass *pass, struct linnet_sublayer *s, struct linnet_arena *arena);
  /* y (T, D) from x (T, D). */
  void (*forward)(struct linnet_pass *pass, struct linnet_sublayer *s, const real *x, real *y);
  /* dx (T, D) from dy (T, D); adds parameter gradients. dy may be overwritten. */
  void (*backward)(struct linnet_pass *pass, struct linnet_sublayer *s, const real *x, real *dy, real *dx);
};

extern const struct linnet_block linnet_attention_block, linnet_convolution_block, linnet_feed_forward_block;

struct linnet_sublayer {
  const struct linnet_block *block;
  const struct linnet_layer_offsets *offsets;
  size_t layer;
  size_t gain, bias; /* of its norm */
  bool pre;          /* x + block(norm(x)), else norm(x + block(x)) */
  uint32_t site;
  real *normed; /* (T, D): pre: the norm's output; post: the norm's input x + block(x) */
  real *mean, *rstd;
  real *out; /* (T, D) */
  union {
    struct linnet_attention_saved attention;
    struct linnet_conv_saved conv;
    struct linnet_feed_forward_saved feed_forward;
  } saved;
};

/* y (T, out) = activation(x (T, in) W^T + b), with W (out, in) and b (out) at the given offsets; ldx, ldy in elements.
 */
struct linnet_linear {
  size_t in, out, weight, bias;
};
void linnet_linear_forward(const struct linnet_pass *pass, const struct linnet_linear *l, const real *x,
                           enum linnet_activation activation, real *y);
/* dx (T, in) (or NULL) from dy (T, out), and the gradients of W and b. */
void linnet_linear_backward(const struct linnet_pass *pass, const struct linnet_linear *l, const real *x,
                            const real *dy, real *dx);

/* y = residual + dropout(x) at a site; residual may be NULL, y may be x. */
void linnet_pass_dropout(const struct linnet_pass *pass, uint32_t site, size_t width, const real *x,
                         const real *residual, real *y);

static inline real *linnet_take_reals(struct linnet_arena *arena, size_t rows, size_t width) {
  size_t count;
  return linnet_arena_take(arena, linnet_mul_size(rows, width, &count) ? count : SIZE_MAX, sizeof(real));
}

#endif
