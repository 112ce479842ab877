/* The arguments of a layer's attention, from its configuration. */
#include "model/layer.h"

#include "ops/feature_map.h"
#include "ops/linear_attention.h"

size_t linnet_attention_columns(const struct linnet_config *config, size_t layer) {
  return (linnet_layer_traits(config, layer)->shared_key ? 2 : 3) * config->width;
}

/* F, the features of a head. */
static size_t map_size(const struct linnet_config *config) {
  return linnet_feature_map_size(config->feature_map, config->width / config->heads, config->features);
}

size_t linnet_mapped_columns(const struct linnet_config *config, size_t layer) {
  bool apart = linnet_layer_traits(config, layer)->mapped && config->feature_map != LINNET_MAP_ELU;
  return apart ? 2 * config->heads * map_size(config) : 0;
}

struct linnet_feature_map_terms linnet_sublayer_feature_map(const struct linnet_config *config,
                                                            const struct linnet_sublayer *s, const real *weights) {
  return (struct linnet_feature_map_terms){
      .map = config->feature_map,
      .heads = config->heads,
      .width = config->width / config->heads,
      .features = config->features,
      .directions = linnet_feature_map_random(config->feature_map) ? weights + s->directions : NULL,
      .x_ld = linnet_attention_columns(config, s->layer),
      .phi_ld = linnet_mapped_columns(config, s->layer)};
}

struct linnet_attention linnet_layer_attention(const struct linnet_config *config, size_t layer) {
  size_t columns = linnet_attention_columns(config, layer), mapped = linnet_mapped_columns(config, layer);
  struct linnet_attention a = {.kind = config->attention[layer],
                               .heads = config->heads,
                               .key_width = config->width / config->heads,
                               .width = config->width / config->heads,
                               .key_ld = columns,
                               .value_ld = columns,
                               .out_ld = config->width,
                               .map = LINNET_MAP_ELU,
                               .form =
                                   config->causal_chunk > 0 ? LINNET_CAUSAL_LINEAR_CHUNKED : LINNET_CAUSAL_LINEAR_STATE,
                               .chunk = config->causal_chunk,
                               .lsh = {.rounds = config->lsh_rounds,
                                       .buckets = config->lsh_buckets,
                                       .chunk = config->lsh_chunk,
                                       .site = linnet_layer_site(layer) + 1}};
  if (mapped > 0) {
    a.key_width = map_size(config);
    a.key_ld = mapped;
    a.map = LINNET_MAP_IDENTITY;
    a.min_normaliser = config->feature_map == LINNET_MAP_FOURIER ? LINNET_FOURIER_MIN_NORMALISER : 0;
  }
  return a;
}
