/* What the files of inference share: the encoder's memory, and the first steps of a block of rows. See encoder.c. */
#ifndef LINNET_MODEL_ENCODER_H
#define LINNET_MODEL_ENCODER_H

#include <linnet/encoder.h>

#include "backend/device.h"
#include "base/base.h"
#include "model/format/model.h"
#include "model/inference/linear_layers.h"
#include "model/layer.h"

enum {
  BLOCK_ROWS = 96,   /* at most; a multiple of the products' row tiles */
  MAX_GROUPS = 64,   /* states summed per layer */
  OUTPUT_BLOCKS = 32 /* blocks of posteriors per call of the sink */
};

/* One thread's scratch; R rows. */
struct scratch {
  real *normed, *narrow, *narrow2;  /* (R, narrow) */
  real *wide;                       /* (R, wide) */
  real *phi;                        /* (R, phi): queries or keys of layers with a separate feature map */
  real *work;                       /* for ops */
  struct linnet_prefetch *prefetch; /* what is read after the running linear layers, or NULL */
};

/* The sizes that a kind of network needs, in elements. */
struct linnet_encoder_sizes {
  size_t rows, narrow, wide, phi; /* of the scratch: R, and the columns of its rows */
  size_t work;
  size_t minimum_rows; /* of a block */
};

struct linnet_encoder;
struct rows;

/* A kind of network in inference, by enum linnet_encoder_kind. A new kind is a file with such a structure, and an entry
 * in encoder.c. */
struct linnet_encoder_ops {
  struct linnet_encoder_sizes (*sizes)(const struct linnet_encoder *e);
  /* Reserves memory for the utterance, except x. */
  enum linnet_status (*plan)(struct linnet_encoder *e);
  /* Runs all layers, from the features to x; the result is discarded if the call was cancelled. */
  void (*run)(struct linnet_encoder *e);
  /* Rows (r.count, D) for the last linear layer: in x, or in the scratch. */
  const real *(*output)(const struct linnet_encoder *e, const struct scratch *s, struct rows r);
};

extern const struct linnet_encoder_ops linnet_transformer_encoder, linnet_blstm_encoder;

/* Memory that grows with the longest utterance. */
struct linnet_buffer {
  void *data;
  size_t bytes;
};

/* Memory for the kinds of attention that need the whole utterance at once; they run head by head. */
struct whole {
  struct linnet_buffer qkv;         /* (T, 3 D), or (T, 2 D) where queries are keys */
  struct linnet_buffer phi;         /* (T, 2 heads F): mapped queries, then keys */
  struct linnet_buffer heads;       /* (T, D): their output */
  struct linnet_buffer saved, work; /* (threads, bytes of a head) */
  size_t saved_bytes, work_bytes;
};

struct linnet_device_encoder;

struct linnet_encoder {
  struct linnet_context *context;
  const struct linnet_model *model;
  struct linnet_device_encoder *on_device; /* runs the whole network; NULL: the CPU runs it, with the members below */
  const struct linnet_ops *ops;
  const struct linnet_encoder_ops *kind;
  size_t width;            /* D of x: that of the configuration, or twice that for two directions */
  struct scratch *scratch; /* (threads) */
  real *scratch_memory;
  real *padded;               /* (stack, input_dim): the last, incomplete stack of frames */
  real *log_p;                /* (OUTPUT_BLOCKS * BLOCK_ROWS, outputs) */
  struct linnet_buffer x;     /* (T, D) */
  struct linnet_buffer y;     /* (T, D), Bi-LSTM: the output of the running layer */
  struct linnet_buffer edges; /* (blocks, kernel - 1, D): the rows of each block that its neighbours' convolution reads:
                                 first rows for the block before it, then last rows for the next one */
  struct linnet_buffer states; /* (groups, state size), or those of two directions */
  struct whole whole;

  /* of the running utterance */
  const float *features;
  size_t in_frames, frames, block_rows, blocks, groups;
  size_t layer, first_output; /* first_output: the first block of posteriors for the sink */
  struct {
    size_t first, end; /* sublayers */
    double from, to;   /* of the layer's work */
  } stage;             /* transformer: see transformer_encoder.c */
  struct {
    double from, to;
    size_t units, done; /* done: atomic */
  } loop;               /* see linnet_encoder_loop */
};

/* Whether the running call was cancelled. */
static inline bool linnet_encoder_stopped(const struct linnet_encoder *e) {
  return linnet_poll_stopped(e->context);
}

/* Runs `tasks` tasks that consist of `units` units in all, such as blocks of rows. For progress reports, they take the
 * running layer from the share `from` to the share `to` of its work. A task calls linnet_encoder_unit before each unit.
 * If it returns false, the call was cancelled, and the task must return. */
void linnet_encoder_loop(struct linnet_encoder *e, double from, double to, size_t units, size_t tasks,
                         linnet_task_fn body);
bool linnet_encoder_unit(struct linnet_encoder *e, unsigned worker);

/* Rows of a block of the running utterance. */
struct rows {
  size_t first, count;
};

static inline struct rows block_rows(const struct linnet_encoder *e, size_t block) {
  size_t first = block * e->block_rows, left = e->frames - first;
  return (struct rows){first, left < e->block_rows ? left : e->block_rows};
}

/* Rows of neighbouring blocks that a convolution reads on both sides together. */
static inline size_t num_edges(const struct linnet_encoder *e) {
  return e->model->config.convolution > 0 ? e->model->config.convolution - 1 : 0;
}

/* Bytes of a row of D. */
static inline size_t row_bytes(const struct linnet_encoder *e) {
  return e->width * sizeof(real);
}

static inline const real *weight(const struct linnet_encoder *e, size_t offset) {
  return e->model->weights + offset;
}

static inline void norm(const struct linnet_encoder *e, const struct linnet_norm *at, size_t rows, const real *x,
                        real *y) {
  const struct linnet_layernorm n = {.rows = rows,
                                     .width = e->model->config.width,
                                     .x = x,
                                     .gain = weight(e, at->gain),
                                     .bias = weight(e, at->bias),
                                     .y = y};
  e->ops->layernorm_forward(&n);
}

static inline void apply(const struct linnet_encoder *e, const struct scratch *s, const struct linnet_packed_linear *l,
                         size_t rows, const real *x, enum linnet_activation activation, real *y) {
  const struct linnet_linear_rows r = {rows, x, y, s->work, s->prefetch};
  linnet_packed_linear_apply(e->ops, l, activation, &r);
}

/* Sublayer i of a transformer, and its linear layers. */
static inline const struct linnet_sublayer *sublayer(const struct linnet_encoder *e, size_t i) {
  return &e->model->parameters->sublayers[i];
}

static inline const struct linnet_packed_sublayer *packed(const struct linnet_encoder *e, size_t i) {
  return &e->model->linear_layers->sublayers[i];
}

/* The input of the block of sublayer i for rows x: their norm in the scratch, or x itself. */
static inline const real *block_input(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows,
                                      const real *x) {
  if (!sublayer(e, i)->pre)
    return x;
  norm(e, &sublayer(e, i)->norm, rows, x, s->normed);
  return s->normed;
}

static inline real *row(const struct linnet_encoder *e, size_t t) {
  return (real *)e->x.data + t * e->width;
}

/* Makes a buffer at least count * bytes large; its contents become undefined. */
enum linnet_status linnet_buffer_reserve(struct linnet_context *context, struct linnet_buffer *buffer, size_t count,
                                         size_t bytes);
enum linnet_status linnet_encoder_reserve(struct linnet_encoder *e, struct linnet_buffer *buffer, size_t count,
                                          size_t bytes);

/* y (rows, D) = embeddings of indices (rows, input_dim), of a network that reads tokens. */
static inline void linnet_encoder_embed(const struct linnet_encoder *e, size_t rows, const float *indices, real *y) {
  const struct linnet_embedding embedding = linnet_config_embedding(&e->model->config);
  linnet_embedding_forward(&embedding, rows, indices, weight(e, e->model->parameters->tables), y);
}

/* LINNET_ERROR_ARGUMENT if the network reads tokens and a frame is not indices of its tables. */
enum linnet_status linnet_encoder_check_frames(struct linnet_context *context, const struct linnet_config *config,
                                               const float *frames, size_t num_frames);

/* y (r.count, out) = the linear layer of stacked features. */
void linnet_encoder_input(const struct linnet_encoder *e, const struct scratch *s, const struct linnet_packed_linear *l,
                          struct rows r, real *y);

/* Scratch of `threads` for `rows` rows; it is freed with the encoder. */
enum linnet_status linnet_encoder_create_scratch(struct linnet_encoder *e, unsigned threads, size_t rows);

/* Computes outputs (rows, V), in general log-posteriors, from rows h (rows, D) of the kind's `output`. */
void linnet_encoder_posteriors(const struct linnet_encoder *e, const struct scratch *s, size_t rows, const real *h,
                               real *log_p);

/* --- device_encoder.c: on the device of the context. Destroy accepts an encoder that was created only in part. */

enum linnet_status linnet_device_encoder_create(struct linnet_context *context, const struct linnet_model *model,
                                                struct linnet_device_encoder **encoder);
void linnet_device_encoder_destroy(struct linnet_device_encoder *encoder); /* NULL is allowed */
enum linnet_status linnet_device_encoder_run(struct linnet_device_encoder *encoder, const float *features,
                                             size_t frames, linnet_posterior_fn sink, void *user);

/* --- the transformer's blocks */

/* A kind of block in inference, by enum linnet_block_kind: changes rows of x to x + block(x), normed. */
struct linnet_block_rows {
  bool neighbours; /* rows depend on others: all must pass the sublayer before this one begins */
  bool edges;      /* ... on rows at the edges of the neighbouring blocks, which are then saved */
  /* `plan` reserves memory for the utterance; `prepare` runs before the rows. NULL: nothing to do. */
  enum linnet_status (*plan)(struct linnet_encoder *e, size_t i);
  void (*prepare)(struct linnet_encoder *e, size_t i);
  /* The rows of a block. */
  void (*run)(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t block);
};

extern const struct linnet_block_rows linnet_attention_rows, linnet_convolution_rows, linnet_feed_forward_rows;

/* linnet_encoder_loop with shares of the running stage's work. */
void linnet_encoder_stage_loop(struct linnet_encoder *e, double from, double to, size_t units, size_t tasks,
                               linnet_task_fn body);

/* The end of sublayer i on rows x (rows, D): x += y, and post-norm's norm. */
void linnet_encoder_residual(const struct linnet_encoder *e, size_t i, size_t rows, const real *y, real *x);

/* For sublayer i, convolution. The first computes what the convolution reads of rows x (rows, D): gated (rows, D),
 * which may be x. The second computes the end of the sublayer from the convolution's output y (rows, D), which it
 * overwrites. */
void linnet_encoder_gate(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows, const real *x,
                         real *gated);
void linnet_encoder_add_convolution(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows,
                                    real *y, real *x);

/* Sublayer i, feed-forward, on rows x. */
void linnet_encoder_feed_forward(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows,
                                 real *x);

/* For sublayer i, attention. The first computes queries, keys and values of rows x (rows, D) side by side, in rows of
 * linnet_attention_columns; with a separate feature map also mapped queries and keys, in rows of linnet_mapped_columns.
 * The second computes the end of the sublayer from heads (rows, D). */
void linnet_encoder_project(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows,
                            const real *x, real *qkv, real *phi);
void linnet_encoder_add_heads(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows,
                              const real *heads, real *x);

#endif
