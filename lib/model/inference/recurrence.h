/* What the files of the recurrence share. A stream (struct linnet_recurrence) is the state of one utterance; a batch
 * has the workspace and runs passes over the network. See recurrence_pass.c. */
#ifndef LINNET_MODEL_RECURRENCE_H
#define LINNET_MODEL_RECURRENCE_H

#include <linnet/recurrence.h>

#include "model/inference/encoder.h"

enum {
  LINNET_POSITION_GROUP = 64,  /* rows of positions computed at once: an efficient number for linnet_add_positions */
  LINNET_STREAM_ROWS = 32,     /* rows of a pass over one stream */
  LINNET_MAX_BATCH_ROWS = 4096 /* rows of a pass over several streams */
};

/* The state of a sublayer, which stands for all earlier frames. */
struct sublayer_state {
  real *data;
  size_t capacity; /* elements */
  size_t frames;   /* rows that it has got; for a convolution, also those of zeros behind the end */
};

struct linnet_recurrence {
  struct linnet_recurrence_batch *batch;
  bool owns_batch;
  struct sublayer_state *states; /* (num_sublayers) */
  size_t entered;                /* number of stacked frames that have entered the network */
  size_t flushed;                /* number of rows of zeros that convolutions got behind the end */
  size_t frame;                  /* number of output frames so far */
  size_t stacked;                /* number of input frames in `input` */
  real *input;                   /* (stack, input_dim) */
  real *positions;               /* (LINNET_POSITION_GROUP, D), or NULL */
  size_t position_group;         /* whose positions these are; SIZE_MAX: of none */
  bool finished;
  bool listed; /* by the running call */
};

/* The rows of one stream in a pass. They lie behind those of the span before. */
struct span {
  struct linnet_recurrence_input *input;
  struct linnet_recurrence *recurrence;
  size_t rows;  /* at the sublayer that the pass has reached */
  size_t flush; /* rows of zeros that convolutions may still get */
};

struct linnet_recurrence_batch {
  struct linnet_encoder rows; /* for the functions of layers on rows; its scratch has max_rows rows */
  size_t max_rows;            /* R, of a pass */
  struct span *spans;         /* (R) */
  size_t num_spans;
  size_t entered;                       /* rows of `stacked`, of all spans */
  struct linnet_prefetch prefetch;      /* the states that are read next */
  struct linnet_memory_block *upcoming; /* (R): those of the spans */
  real *memory;                         /* of all of these: */
  real *stacked;                        /* (R, stack * input_dim): what enters the network */
  real *x, *next;                       /* (R, D) */
  real *qkv;                            /* (R, 3 D), or less; (R, D): what a convolution reads */
  real *phi;                            /* mapped queries and keys, with a separate feature map */
  real *line;                           /* (kernel - 1 + R, D): rows before, then those of a span */
  real *log_p;                          /* (R, V) */
};

static inline const struct linnet_config *config_of(const struct linnet_recurrence_batch *b) {
  return &b->rows.model->config;
}

static inline size_t num_sublayers(const struct linnet_recurrence_batch *b) {
  return b->rows.model->parameters->num_sublayers;
}

static inline const struct linnet_attention_ops *attention_ops(const struct linnet_recurrence_batch *b, size_t layer) {
  return b->rows.ops->attention[config_of(b)->attention[layer]];
}

/* --- recurrence.c */

/* LINNET_ERROR_UNSUPPORTED if the model is not causal. */
enum linnet_status linnet_recurrence_check_model(struct linnet_context *context, const struct linnet_model *model);

/* --- recurrence_state.c */

/* Elements of a sublayer's current state. */
size_t linnet_recurrence_used_size(const struct linnet_recurrence *r, size_t sublayer);

/* Elements that each frame adds to the states of all sublayers together. */
size_t linnet_recurrence_growth(const struct linnet_recurrence *r);

/* Enlarges the states for `rows` more rows that enter the network; new elements are zero. */
enum linnet_status linnet_recurrence_reserve(struct linnet_recurrence *r, size_t rows);

/* Sets the frames of all sublayers, and the number of output frames, from `entered` and `flushed`. */
void linnet_recurrence_count_frames(struct linnet_recurrence *r);

/* --- recurrence_pass.c */

/* Begins a pass without spans. */
void linnet_recurrence_begin_pass(struct linnet_recurrence_batch *b);

/* Adds a stream with at most `limit` rows: frames of the input behind the first *taken, which it increases, and at its
 * end rows of zeros. Returns the number of rows; if it is less than the limit, nothing is left of the input. */
size_t linnet_recurrence_add_span(struct linnet_recurrence_batch *b, struct linnet_recurrence_input *input,
                                  size_t limit, size_t *taken);

/* Runs the network on all spans. Adds their posteriors to the results of the inputs. */
void linnet_recurrence_run_pass(struct linnet_recurrence_batch *b);

#endif
