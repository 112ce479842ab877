/* The linear maps of a network as recognition applies them: weights laid out once for the kernels that run. */
#ifndef LINNET_MAPS_H
#define LINNET_MAPS_H

#include "backend/backend.h"
#include "model/parameters.h"

/* y (rows, out) = activation(x (rows, in) W^T + b). */
struct linnet_map {
  size_t in, out;
  const real *weight, *bias; /* (out, in), (out); of the model */
  const real *packed;        /* weight as ops->pack_b lays it out, or NULL */
};

struct linnet_layer_maps {
  struct linnet_map query, key_value; /* key_value: (2 D, D), or (D, D) where queries are keys */
  struct linnet_map attention_output;
  struct linnet_map pointwise1, pointwise2; /* of the convolution module, if there is one */
  struct linnet_map linear1, linear2;
};

/* One direction of an LSTM layer. */
struct linnet_direction_maps {
  struct linnet_map input; /* (4H, inputs) */
  const real *recurrent;   /* (4H, H) as ops->lstm_pack lays it out */
  const real *bias;        /* (4H), of the recurrent product */
};

struct linnet_maps {
  struct linnet_context *context;
  struct linnet_map input, output;
  struct linnet_layer_maps *layers;              /* (layers) of a transformer */
  struct linnet_direction_maps (*directions)[2]; /* (layers) of a Bi-LSTM: forward, reverse */
  real *packed;                                  /* (packed_size): all packed weights, one block */
  size_t packed_size;
};

/* Lays out all maps of `weights`, which must outlive the result. */
enum linnet_status linnet_maps_create(struct linnet_context *context, const struct linnet_config *config,
                                      const struct linnet_parameters *parameters, const real *weights,
                                      struct linnet_maps **maps);

/* NULL is allowed. */
void linnet_maps_destroy(struct linnet_maps *maps);

/* Applies a map; x and y have leading dimensions ldx and ldy. */
void linnet_map_apply(const struct linnet_ops *ops, const struct linnet_map *map, size_t rows, const real *x,
                      size_t ldx, enum linnet_activation activation, real *y, size_t ldy, real *work);

#endif
