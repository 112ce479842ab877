#include "model/attention.h"

size_t linnet_attention_columns(const struct linnet_config *config, size_t layer) {
  return (linnet_layer_traits(config, layer)->shared_key ? 2 : 3) * config->width;
}

struct linnet_attention linnet_layer_attention(const struct linnet_config *config, size_t layer) {
  size_t columns = linnet_attention_columns(config, layer);
  return (struct linnet_attention){.heads = config->heads,
                                   .key_width = config->width / config->heads,
                                   .width = config->width / config->heads,
                                   .key_ld = columns,
                                   .value_ld = columns,
                                   .out_ld = config->width,
                                   .map = LINNET_MAP_ELU,
                                   .form = config->causal_chunk > 0 ? LINNET_CAUSAL_CHUNKED : LINNET_CAUSAL_STATE,
                                   .chunk = config->causal_chunk,
                                   .lsh = {.rounds = config->lsh_rounds,
                                           .buckets = config->lsh_buckets,
                                           .chunk = config->lsh_chunk,
                                           .site = linnet_layer_site(layer) + 1}};
}
