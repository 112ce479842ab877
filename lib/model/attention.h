/* A layer's attention as its configuration describes it. */
#ifndef LINNET_MODEL_ATTENTION_H
#define LINNET_MODEL_ATTENTION_H

#include "model/config.h"
#include "model/parameters.h"
#include "ops/attention.h"

/* The op's terms, with the leading dimensions of training: queries, keys and values side by side in rows of
 * linnet_attention_columns, outputs dense; mapped queries and keys side by side in rows of linnet_mapped_columns. */
struct linnet_attention linnet_layer_attention(const struct linnet_config *config, size_t layer);

/* Columns of the layer's maps into attention: 3 D, or 2 D (queries, values) if queries are keys. */
size_t linnet_attention_columns(const struct linnet_config *config, size_t layer);

/* Columns of the layer's mapped queries and keys, 2 heads * F; 0 if attention takes them as they are. */
size_t linnet_mapped_columns(const struct linnet_config *config, size_t layer);

/* The feature map of a sublayer with mapped columns, from and to the matrices of training; `weights` of the network. */
struct linnet_feature_map_terms linnet_sublayer_feature_map(const struct linnet_config *config,
                                                            const struct linnet_sublayer *s, const real *weights);

static inline const struct linnet_attention_traits *linnet_layer_traits(const struct linnet_config *config,
                                                                        size_t layer) {
  return &linnet_attention_traits[config->attention[layer]];
}

/* Dropout sites and random draws: the input has site 0, sublayer i of layer l the sites 1 + 8 l + 2 i (output) and the
 * next (inside; the hashing of LSH attention). */
enum { LINNET_SITES_PER_LAYER = 8 };

static inline uint32_t linnet_layer_site(size_t layer) {
  return 1 + LINNET_SITES_PER_LAYER * (uint32_t)layer;
}

#endif
