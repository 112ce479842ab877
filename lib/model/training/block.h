/* The blocks in training. A sublayer (model/parameters.h) is a residual connection with a norm around a block; a block
 * is a structure of functions. It saves what its backward needs in the pass's arena. Of the pass's scratch, `narrow`
 * contains the gradient of a block's output; blocks may use `wide` and `narrow2`. Shapes: T rows, width D. */
#ifndef LINNET_BLOCK_H
#define LINNET_BLOCK_H

#include "model/training/pass.h"

struct linnet_attention_saved {
  void *qkv;   /* (T, 3 D), or (T, 2 D) where queries are keys */
  void *phi;   /* (T, linnet_mapped_columns): mapped queries, then keys; NULL if attention takes qkv */
  void *op;    /* saved by the op for backward */
  void *heads; /* (T, D) */
};

struct linnet_conv_saved {
  void *pointwise; /* (T, 2 D): before the gate */
  void *gated;     /* (T, D) */
  void *depthwise; /* (T, D): before norm2 */
  real *mean, *rstd;
  void *normed; /* (T, D): after norm2 */
  void *silu;   /* (T, D) */
};

struct linnet_feed_forward_saved {
  void *hidden; /* (T, F): before the activation; NULL for ReLU, whose slope follows from `active` */
  void *active; /* (T, F): after activation and dropout */
};

struct linnet_sublayer_pass;

struct linnet_block {
  /* Takes the block's arrays from the arena. */
  void (*plan)(struct linnet_pass *pass, struct linnet_sublayer_pass *s, struct linnet_arena *arena);
  /* y (T, D) from x (T, D). */
  void (*forward)(struct linnet_pass *pass, struct linnet_sublayer_pass *s, const void *x, void *y);
  /* Computes dx (T, D) from dy (T, D); if the sublayer is not `pre`, adds it to dx instead. Adds the gradients of the
   * parameters. It may overwrite dy. */
  void (*backward)(struct linnet_pass *pass, struct linnet_sublayer_pass *s, const void *x, void *dy, void *dx);
};

extern const struct linnet_block linnet_attention_block, linnet_convolution_block, linnet_feed_forward_block;

/* A sublayer in a pass. */
struct linnet_sublayer_pass {
  const struct linnet_sublayer *sublayer;
  const struct linnet_block *block;
  void *normed; /* (T, D): pre: the norm's output; post: the norm's input x + block(x) */
  real *mean, *rstd;
  void *out; /* (T, D) */
  union {
    struct linnet_attention_saved attention;
    struct linnet_conv_saved conv;
    struct linnet_feed_forward_saved feed_forward;
  } saved;
};

#endif
