/* The convolution of a layer, derived from its configuration. */
#ifndef LINNET_MODEL_CONVOLUTION_H
#define LINNET_MODEL_CONVOLUTION_H

#include "model/config.h"
#include "ops/depthwise_conv.h"

static inline struct linnet_conv linnet_layer_convolution(const struct linnet_config *config, size_t layer) {
  const size_t kernel = config->convolution;
  return (struct linnet_conv){config->width, kernel, kernel - 1 - linnet_layer_lookahead(config, layer)};
}

#endif
