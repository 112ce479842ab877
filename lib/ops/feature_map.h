/* Feature maps of linear attention: phi(q) . phi(k) stands for a similarity of q and k. C is the width of a head. */
#ifndef LINNET_FEATURE_MAP_H
#define LINNET_FEATURE_MAP_H

#include "backend/backend.h"

/* Width of phi(x) for x of `width`; `features` is the number of random directions (Fourier, positive). */
static inline size_t linnet_feature_map_size(enum linnet_feature_map map, size_t width, size_t features) {
  switch (map) {
  case LINNET_MAP_POLYNOMIAL:
    return width * (width + 1) / 2;
  case LINNET_MAP_FOURIER:
    return 2 * features;
  case LINNET_MAP_POSITIVE:
    return features;
  default:
    return width;
  }
}

#endif
