/* The parameters of a network: which tensors a configuration has, what they are called in the model file, and where
 * each lies in one flat buffer of `real`. Weights, gradients and optimiser moments all use the same layout:
 *
 *   | input.weight | pad | input.bias | pad | layers.0.attention.query.weight | key.weight | value.weight | pad | ...
 *
 * Tensors start at multiples of LINNET_PARAMETER_ALIGN elements, except that the query, key and value weights of a
 * layer follow each other without a gap, one (3D, D) matrix, and so do their biases, one vector (3D). Padding is zero
 * and stays zero: an optimiser may run over the whole buffer. Linear weights are (outputs, inputs), as in PyTorch. */
#ifndef LINNET_PARAMETERS_H
#define LINNET_PARAMETERS_H

#include "backend/backend.h"
#include "model/config.h"

enum { LINNET_PARAMETER_ALIGN = 16 };

struct linnet_parameter {
  char name[96];     /* in the model file, such as "layers.0.attention.query.weight" */
  size_t offset;     /* in the buffer, in elements */
  size_t rows, cols; /* cols 0: a vector of `rows`; else a row-major matrix (rows, cols) */
  size_t count;      /* elements */
  size_t fan_in;     /* initial values are uniform in +-1/sqrt(fan_in); 0: all are `initial` */
  double initial;
  bool fixed; /* drawn from the normal distribution and not trained: no gradient is ever added */
};

/* Offsets of one layer's tensors in the buffer. D width, F feed-forward width, K kernel. The conv_... fields are 0
 * without a convolution module. */
struct linnet_layer_offsets {
  size_t qkv, qkv_bias;                           /* (3D, D), (3D): query, then key if there is one, then value */
  size_t attention_output, attention_output_bias; /* (D, D), (D) */
  size_t directions;                              /* (features, C): of a random feature map; else 0 */
  size_t norm1_gain, norm1_bias;                  /* (D): of the attention block */
  size_t conv_norm1_gain, conv_norm1_bias;        /* (D) */
  size_t conv_pointwise1, conv_pointwise1_bias;   /* (2D, D), (2D): before the gate */
  size_t conv_depthwise, conv_depthwise_bias;     /* (K, D), (D) */
  size_t conv_norm2_gain, conv_norm2_bias;        /* (D) */
  size_t conv_pointwise2, conv_pointwise2_bias;   /* (D, D), (D) */
  size_t linear1, linear1_bias;                   /* (F, D), (F) */
  size_t linear2, linear2_bias;                   /* (D, F), (D) */
  size_t norm2_gain, norm2_bias;                  /* (D): of the feed-forward block */
};

struct linnet_parameters {
  struct linnet_context *context;
  struct linnet_parameter *list; /* (count), in the order of the buffer */
  size_t count;
  size_t size;    /* elements of the buffer, padding included; a multiple of LINNET_PARAMETER_ALIGN */
  size_t trained; /* elements without padding and fixed tensors: the number of parameters */

  size_t num_layers;
  size_t input, input_bias;              /* (D, input_dim * stack), (D); 0 in a Bi-LSTM */
  struct linnet_layer_offsets *layers;   /* (num_layers) of a transformer; zeros in a Bi-LSTM */
  struct linnet_lstm_offsets (*lstm)[2]; /* (num_layers) of a Bi-LSTM: forward, reverse; zeros in a transformer */
  size_t norm_gain, norm_bias;           /* (D), before the output; 0 unless the network is pre-norm */
  size_t output, output_bias;            /* (V, D), (V); D is twice the width in a Bi-LSTM */
};

/* Makes the table of `config`, which is validated first and need not outlive the call. On failure *parameters is
 * NULL. The table is immutable from here on and may be read from any thread. */
enum linnet_status linnet_parameters_create(struct linnet_context *context, const struct linnet_config *config,
                                            struct linnet_parameters **parameters);

/* NULL is allowed. */
void linnet_parameters_destroy(struct linnet_parameters *parameters);

/* The tensor of that name, NULL if there is none. */
const struct linnet_parameter *linnet_parameters_find(const struct linnet_parameters *parameters, const char *name);

/* Fills buffer (size) with PyTorch's initial values: linear and convolution weights and biases uniform in
 * +-1/sqrt(fan_in), gains 1, biases of norms 0, padding 0; fixed tensors are normal. A value depends on (seed, index of
 * its tensor in the list, its position in the tensor) alone. */
void linnet_parameters_initialise(const struct linnet_parameters *parameters, uint64_t seed, real *buffer);

#endif
