/* The linear layers of a network for inference on the CPU: weights are packed once for the kernels in use. The layers
 * own all weights that they read. */
#ifndef LINNET_LINEAR_LAYERS_H
#define LINNET_LINEAR_LAYERS_H

#include "backend/backend.h"
#include "model/parameters.h"

/* y (rows, out) = activation(x (rows, in) W^T + b). */
struct linnet_packed_linear {
  size_t in, out;
  const real *bias;   /* (out) */
  const real *packed; /* weights in the layout of ops->pack_b, or NULL */
  const real *weight; /* (out, in); NULL if they are packed */
};

/* Those of a sublayer (model/parameters.h). */
struct linnet_packed_sublayer {
  struct linnet_packed_linear first; /* all outputs of its `first`, or the first `parts` of them: queries */
  struct linnet_packed_linear rest;  /* the others: keys if there are any, then values */
  struct linnet_packed_linear last;
};

/* One direction of an LSTM layer. */
struct linnet_packed_direction {
  struct linnet_packed_linear input; /* (4H, inputs) */
  const real *recurrent;             /* (4H, H) in the layout of ops->lstm_pack */
  const real *bias;                  /* (4H), of the recurrent product */
};

struct linnet_linear_layers {
  struct linnet_context *context;
  struct linnet_packed_linear input, output;
  struct linnet_packed_sublayer *sublayers;        /* (num_sublayers) of a transformer */
  struct linnet_packed_direction (*directions)[2]; /* (layers) of a Bi-LSTM: forward, reverse */
  real *packed;                                    /* (packed_size): all weights and biases, one block */
  size_t packed_size;
};

/* Where weights come from: `read` copies elements offset ... offset + count - 1 of the buffer of `parameters`. */
struct linnet_weight_source {
  void (*read)(const void *user, size_t offset, size_t count, real *values);
  const void *user;
};

/* Packs all linear layers. `parameters` is a whole table. */
enum linnet_status linnet_linear_layers_create(struct linnet_context *context, const struct linnet_config *config,
                                               const struct linnet_parameters *parameters,
                                               const struct linnet_weight_source *source,
                                               struct linnet_linear_layers **layers);

/* NULL is allowed. */
void linnet_linear_layers_destroy(struct linnet_linear_layers *layers);

/* Rows of x (rows, in) and y (rows, out). */
struct linnet_linear_rows {
  size_t rows;
  const real *x;
  real *y;
  real *work;                       /* of ops->gemm */
  struct linnet_prefetch *prefetch; /* or NULL */
};

void linnet_packed_linear_apply(const struct linnet_ops *ops, const struct linnet_packed_linear *l,
                                enum linnet_activation activation, const struct linnet_linear_rows *r);

#endif
