/* Packs the weights of linear layers for the kernels of this machine, and applies them. */
#include "model/inference/maps.h"

#include "base/base.h"
#include "model/attention.h"

/* Goes through all maps, twice: without a place for packed weights it only counts. */
struct packer {
  const struct linnet_ops *ops;
  const real *weights;
  real *place; /* of all packed weights, or NULL */
  size_t used; /* elements of it */
};

/* Takes `size` elements; NULL when counting. */
static real *take(struct packer *p, size_t size) {
  real *piece = p->place ? p->place + p->used : NULL;
  p->used += (size + 15) / 16 * 16;
  return piece;
}

static void pack_map(struct packer *p, size_t weight, size_t bias, size_t in, size_t out, struct linnet_map *map) {
  *map = (struct linnet_map){.in = in, .out = out, .weight = p->weights + weight, .bias = p->weights + bias};
  size_t size = p->ops->pack_b ? p->ops->pack_b_size(in, out) : 0;
  if (size == 0 || size > 2 * in * out)
    return; /* a narrow map would be mostly padding: a small file could ask for 30 times its size */
  real *packed = take(p, size);
  if (packed)
    p->ops->pack_b(true, in, out, map->weight, in, packed);
  map->packed = packed;
}

static void pack_transformer(struct packer *p, const struct linnet_config *config,
                             const struct linnet_parameters *parameters, struct linnet_maps *maps) {
  size_t width = config->width, hidden = config->feed_forward;
  pack_map(p, parameters->input, parameters->input_bias, config->input_dim * config->stack, width, &maps->input);
  for (size_t l = 0; l < config->layers; l++) {
    const struct linnet_layer_offsets *o = &parameters->layers[l];
    struct linnet_layer_maps *m = &maps->layers[l];
    pack_map(p, o->qkv, o->qkv_bias, width, width, &m->query);
    pack_map(p, o->qkv + width * width, o->qkv_bias + width, width, linnet_attention_columns(config, l) - width,
             &m->key_value);
    pack_map(p, o->attention_output, o->attention_output_bias, width, width, &m->attention_output);
    if (config->convolution > 0) {
      pack_map(p, o->conv_pointwise1, o->conv_pointwise1_bias, width, 2 * width, &m->pointwise1);
      pack_map(p, o->conv_pointwise2, o->conv_pointwise2_bias, width, width, &m->pointwise2);
    }
    pack_map(p, o->linear1, o->linear1_bias, width, hidden, &m->linear1);
    pack_map(p, o->linear2, o->linear2_bias, hidden, width, &m->linear2);
  }
  pack_map(p, parameters->output, parameters->output_bias, width, config->outputs, &maps->output);
}

static void pack_direction(struct packer *p, const struct linnet_lstm_offsets *o, size_t inputs, size_t width,
                           struct linnet_direction_maps *m) {
  pack_map(p, o->weight_ih, o->bias_ih, inputs, 4 * width, &m->input);
  real *recurrent = take(p, p->ops->lstm_pack_size(width, LINNET_LSTM_FORWARD));
  if (recurrent)
    p->ops->lstm_pack(width, LINNET_LSTM_FORWARD, p->weights + o->weight_hh, recurrent);
  m->recurrent = recurrent;
  m->bias = p->weights + o->bias_hh;
}

static void pack_blstm(struct packer *p, const struct linnet_config *config, const struct linnet_parameters *parameters,
                       struct linnet_maps *maps) {
  size_t width = config->width;
  for (size_t l = 0; l < config->layers; l++)
    for (size_t d = 0; d < 2; d++)
      pack_direction(p, &parameters->lstm[l][d], l > 0 ? 2 * width : config->input_dim * config->stack, width,
                     &maps->directions[l][d]);
  pack_map(p, parameters->output, parameters->output_bias, 2 * width, config->outputs, &maps->output);
}

static void (*const pack_all[])(struct packer *p, const struct linnet_config *config,
                                const struct linnet_parameters *parameters, struct linnet_maps *maps) = {
    [LINNET_ENCODER_TRANSFORMER] = pack_transformer, [LINNET_ENCODER_BLSTM] = pack_blstm};

enum linnet_status linnet_maps_create(struct linnet_context *context, const struct linnet_config *config,
                                      const struct linnet_parameters *parameters, const real *weights,
                                      struct linnet_maps **result) {
  struct packer packer = {.ops = linnet_context_ops(context), .weights = weights};
  struct linnet_maps *maps = linnet_calloc(context, 1, sizeof *maps);
  *result = maps;
  if (!maps)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the network's maps");
  maps->context = context;
  maps->layers = linnet_calloc(context, config->layers, sizeof *maps->layers);
  maps->directions = linnet_calloc(context, config->layers, sizeof *maps->directions);
  bool good = maps->layers && maps->directions;
  if (good) {
    pack_all[config->encoder](&packer, config, parameters, maps);
    maps->packed_size = packer.used;
    maps->packed = linnet_alloc(context, packer.used, sizeof(real));
  }
  if (!good || !maps->packed) {
    linnet_maps_destroy(maps);
    *result = NULL;
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %zu bytes of laid-out weights",
                       packer.used * sizeof(real));
  }
  packer.place = maps->packed, packer.used = 0;
  pack_all[config->encoder](&packer, config, parameters, maps);
  return LINNET_OK;
}

void linnet_maps_destroy(struct linnet_maps *maps) {
  if (!maps)
    return;
  linnet_free(maps->context, maps->packed);
  linnet_free(maps->context, maps->layers);
  linnet_free(maps->context, maps->directions);
  linnet_free(maps->context, maps);
}

void linnet_map_apply(const struct linnet_ops *ops, const struct linnet_map *map, size_t rows, const real *x,
                      size_t ldx, enum linnet_activation activation, real *y, size_t ldy, real *work) {
  struct linnet_gemm g = {.transpose_b = true,
                          .m = rows,
                          .n = map->out,
                          .k = map->in,
                          .a = x,
                          .lda = ldx,
                          .b = map->packed ? NULL : map->weight,
                          .ldb = map->in,
                          .packed = map->packed,
                          .c = y,
                          .ldc = ldy,
                          .bias = map->bias,
                          .activation = activation};
  ops->gemm(&g, work);
}
