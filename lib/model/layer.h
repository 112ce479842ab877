/* The ops of a layer, derived from its configuration: attention with its feature map, and convolution. */
#ifndef LINNET_LAYER_H
#define LINNET_LAYER_H

#include "model/config.h"
#include "model/parameters.h"
#include "ops/attention.h"
#include "ops/depthwise_conv.h"

/* The arguments of the attention op, with the leading dimensions of training. Queries, keys and values are side by side
 * in rows of linnet_attention_columns; outputs are dense. Mapped queries and keys are side by side in rows of
 * linnet_mapped_columns. */
struct linnet_attention linnet_layer_attention(const struct linnet_config *config, size_t layer);

/* Output columns of the linear layers before attention: 3 D, or 2 D (queries, values) if the queries are also the
 * keys. */
size_t linnet_attention_columns(const struct linnet_config *config, size_t layer);

/* Columns of the layer's mapped queries and keys, 2 heads * F; 0 if attention takes queries and keys without a separate
 * feature map. */
size_t linnet_mapped_columns(const struct linnet_config *config, size_t layer);

/* The feature map of a sublayer with mapped columns, between the matrices of training. `weights` are those of the
 * network. */
struct linnet_feature_map_terms linnet_sublayer_feature_map(const struct linnet_config *config,
                                                            const struct linnet_sublayer *s, const real *weights);

static inline const struct linnet_attention_traits *linnet_layer_traits(const struct linnet_config *config,
                                                                        size_t layer) {
  return &linnet_attention_traits[config->attention[layer]];
}

/* Sites of dropout and of random draws. The input has site 0. Sublayer i of layer l has site 1 + 8 l + 2 i for its
 * output, and the next one for its inside (also for the hashing of LSH attention). */
enum { LINNET_SITES_PER_LAYER = 8 };

static inline uint32_t linnet_layer_site(size_t layer) {
  return 1 + LINNET_SITES_PER_LAYER * (uint32_t)layer;
}

/* --- convolution -------------------------------------------------------------------------------------------------- */

static inline struct linnet_conv linnet_layer_convolution(const struct linnet_config *config, size_t layer) {
  const size_t kernel = config->convolution;
  return (struct linnet_conv){config->width, kernel, kernel - 1 - linnet_layer_lookahead(config, layer)};
}

#endif
