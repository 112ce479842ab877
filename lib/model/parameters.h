/* The parameters of a network: which tensors a configuration has, what they are called in the model file, and where
 * each lies in one flat buffer of `real`. Weights, gradients and optimiser moments all use the same layout:
 *
 *   | input.weight | pad | input.bias | pad | layers.0.attention.query.weight | key.weight | value.weight | pad | ...
 *
 * Tensors start at multiples of LINNET_PARAMETER_ALIGN elements, except that the query, key and value weights of a
 * layer follow each other without a gap, one (3D, D) matrix, and so do their biases, one vector (3D), and embedding
 * tables. Padding is zero
 * and stays zero: an optimiser may run over the whole buffer. Linear weights are (outputs, inputs), as in PyTorch. */
#ifndef LINNET_PARAMETERS_H
#define LINNET_PARAMETERS_H

#include "model/config.h"
#include "ops/lstm.h"

enum { LINNET_PARAMETER_ALIGN = 16 };

struct linnet_parameter {
  char name[96];     /* in the model file, such as "layers.0.attention.query.weight" */
  size_t offset;     /* in the buffer, in elements */
  size_t rows, cols; /* cols 0: a vector of `rows`; else a row-major matrix (rows, cols) */
  size_t count;      /* elements */
  size_t fan_in;     /* initial values are uniform in +-1/sqrt(fan_in); 0: all are `initial`; 1 for embeddings */
  double initial;
  bool fixed; /* drawn from the normal distribution and never trained */
};

/* A linear layer y = x W^T + b: the offsets of W (out, in) and b (out) in the buffer. */
struct linnet_linear {
  size_t in, out, weight, bias;
};

/* A norm: the offsets of gain and bias in the buffer. */
struct linnet_norm {
  size_t gain, bias;
};

/* The block of a sublayer, which adds a residual connection and a norm to it. A new block needs a kind here, its
 * tensors in parameters.c, and one structure of functions in training (training/block.h) and one in inference
 * (inference/encoder.h). */
enum linnet_block_kind {
  LINNET_BLOCK_ATTENTION,
  LINNET_BLOCK_CONVOLUTION,
  LINNET_BLOCK_FEED_FORWARD,
  LINNET_BLOCK_KINDS
};

/* One sublayer of a transformer. Training, inference and recurrence walk the list of them. D width, F feed-forward
 * width, K kernel:
 *
 *   kind           first                                            last
 *   attention      (3D, D): query, key if there is one, then value  (D, D)
 *   convolution    (2D, D): before the gate                         (D, D)
 *   feed-forward   (F, D)                                           (D, F) */
struct linnet_sublayer {
  enum linnet_block_kind kind;
  size_t layer;
  bool pre;                         /* true: x + block(norm(x)); false: norm(x + block(x)) */
  uint32_t site;                    /* site of dropout and random draws; the next site belongs to the block */
  struct linnet_norm norm;          /* (D) */
  struct linnet_linear first, last; /* the block's linear layers: the first reads x, the output of the last is added to
                                       x */
  size_t parts;                     /* outputs of `first` that inference computes separately: D for attention whose
                                       queries read one state of all keys and values; otherwise 0 */

  size_t directions;                 /* attention: offset of (features, C) of a random feature map; otherwise 0 */
  size_t depthwise, depthwise_bias;  /* convolution: (K, D), (D) */
  struct linnet_norm depthwise_norm; /* of the convolution's output */
};

struct linnet_parameters {
  struct linnet_context *context;
  struct linnet_parameter *list; /* (count), in the order of the buffer */
  size_t count;
  size_t size;    /* elements of the buffer, padding included; a multiple of LINNET_PARAMETER_ALIGN */
  size_t trained; /* elements without padding and fixed tensors: the number of trained parameters */

  size_t num_layers;
  struct linnet_linear input;            /* (D, input_dim * stack); zeros in a Bi-LSTM, and with embedding tables */
  size_t tables;                         /* offset of the embedding tables, without gaps between them */
  struct linnet_sublayer *sublayers;     /* (num_sublayers) of a transformer, in their order */
  size_t num_sublayers;                  /* the same number in each layer; 0 in a Bi-LSTM */
  struct linnet_lstm_offsets (*lstm)[2]; /* (num_layers) of a Bi-LSTM: forward, reverse; zeros in a transformer */
  struct linnet_norm norm;               /* (D), before the output; zeros unless the network is pre-norm */
  struct linnet_linear output;           /* (V, D); D is twice the width in a Bi-LSTM */
};

/* Creates the table of `config`, which it first validates and which need not outlive the call. On failure *parameters
 * is NULL. The table is immutable and may be read from any thread. */
enum linnet_status linnet_parameters_create(struct linnet_context *context, const struct linnet_config *config,
                                            struct linnet_parameters **parameters);

/* The same table without the matrices of linear layers and of the recurrence of an LSTM, whose offsets are 0: that of a
 * model that keeps them elsewhere (inference/linear_layers.h). `trained` counts them. */
enum linnet_status linnet_parameters_create_without_matrices(struct linnet_context *context,
                                                             const struct linnet_config *config,
                                                             struct linnet_parameters **parameters);

/* The linear layer from the inputs of a direction of layer `layer` of a Bi-LSTM to its gates. */
struct linnet_linear linnet_lstm_input(const struct linnet_config *config, const struct linnet_parameters *parameters,
                                       size_t layer, size_t direction);

/* NULL is allowed. */
void linnet_parameters_destroy(struct linnet_parameters *parameters);

/* The tensor of that name, NULL if there is none. */
const struct linnet_parameter *linnet_parameters_find(const struct linnet_parameters *parameters, const char *name);

/* Fills buffer (size) with initial values: linear and convolution weights and biases uniform in +-1/sqrt(fan_in), as in
 * PyTorch, embeddings uniform in +-1, gains 1, biases of norms 0, padding 0; fixed tensors are normal. A value depends
 * only on (seed, index of its tensor in the list, its index in the tensor). */
void linnet_parameters_initialise(const struct linnet_parameters *parameters, uint64_t seed, real *buffer);

#endif
