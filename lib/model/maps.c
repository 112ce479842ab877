#include "model/maps.h"

#include "base/base.h"
#include "model/attention.h"

/* Describes one map and packs its weights if there is a place for them. Returns the elements that the place takes. */
static size_t describe(const struct linnet_ops *ops, const real *weights, size_t weight, size_t bias, size_t in,
                       size_t out, real *packed, struct linnet_map *map) {
  *map = (struct linnet_map){.in = in, .out = out, .weight = weights + weight, .bias = weights + bias};
  if (!ops->pack_b)
    return 0;
  size_t size = (ops->pack_b_size(in, out) + 15) / 16 * 16;
  if (size > 2 * in * out)
    return 0; /* a narrow map would be mostly padding: a small file could ask for 30 times its size */
  if (packed) {
    ops->pack_b(true, in, out, map->weight, in, packed);
    map->packed = packed;
  }
  return size;
}

/* Describes all maps; packed NULL only counts. Returns the elements that the packed weights take. */
static size_t describe_all(const struct linnet_ops *ops, const struct linnet_config *config,
                           const struct linnet_parameters *p, const real *w, struct linnet_maps *maps) {
  size_t width = config->width, hidden = config->feed_forward, used = 0;
#define MAP(field, weight, bias, in, out)                                                                              \
  used += describe(ops, w, weight, bias, in, out, maps->packed ? maps->packed + used : NULL, &(field))
  MAP(maps->input, p->input, p->input_bias, config->input_dim * config->stack, width);
  for (size_t l = 0; l < config->layers; l++) {
    const struct linnet_layer_offsets *o = &p->layers[l];
    struct linnet_layer_maps *m = &maps->layers[l];
    MAP(m->query, o->qkv, o->qkv_bias, width, width);
    MAP(m->key_value, o->qkv + width * width, o->qkv_bias + width, width, linnet_attention_columns(config, l) - width);
    MAP(m->attention_output, o->attention_output, o->attention_output_bias, width, width);
    if (config->convolution > 0) {
      MAP(m->pointwise1, o->conv_pointwise1, o->conv_pointwise1_bias, width, 2 * width);
      MAP(m->pointwise2, o->conv_pointwise2, o->conv_pointwise2_bias, width, width);
    }
    MAP(m->linear1, o->linear1, o->linear1_bias, width, hidden);
    MAP(m->linear2, o->linear2, o->linear2_bias, hidden, width);
  }
  MAP(maps->output, p->output, p->output_bias, width, config->outputs);
#undef MAP
  return used;
}

enum linnet_status linnet_maps_create(struct linnet_context *context, const struct linnet_config *config,
                                      const struct linnet_parameters *parameters, const real *weights,
                                      struct linnet_maps **result) {
  const struct linnet_ops *ops = linnet_context_ops(context);
  struct linnet_maps *maps = linnet_calloc(context, 1, sizeof *maps);
  *result = maps;
  if (!maps)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the network's maps");
  maps->context = context;
  maps->layers = linnet_calloc(context, config->layers, sizeof *maps->layers);
  size_t size = maps->layers ? describe_all(ops, config, parameters, weights, maps) : 0;
  maps->packed_size = size;
  if (size > 0)
    maps->packed = linnet_alloc(context, size, sizeof(real));
  if (!maps->layers || (size > 0 && !maps->packed)) {
    linnet_maps_destroy(maps);
    *result = NULL;
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %zu bytes of laid-out weights",
                       size * sizeof(real));
  }
  describe_all(ops, config, parameters, weights, maps);
  return LINNET_OK;
}

void linnet_maps_destroy(struct linnet_maps *maps) {
  if (!maps)
    return;
  linnet_free(maps->context, maps->packed);
  linnet_free(maps->context, maps->layers);
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
