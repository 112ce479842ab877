/* SpecAugment (Park et al. 2019): applies masks to features. The host draws the masks, for example in
 * frontend/augment/augment.c. */
#ifndef LINNET_SPEC_AUGMENT_H
#define LINNET_SPEC_AUGMENT_H

#include <linnet/feature_mask.h>

#include "ops/pack.h"

/* Masks on the features of a packed batch (SpecAugment), T rows of `stack` frames with `channels` each. The masks of a
 * sequence count frames from its first row, do not go beyond it, and may overlap. */
struct linnet_masks {
  size_t count; /* masks per sequence; 0: none */
  size_t stack, channels;
  const struct linnet_feature_mask *masks; /* (sequences, count) */
};

/* x (frames, channels) = fill (channels) where the mask covers it; fill NULL: 0. */
void linnet_mask_features(const struct linnet_feature_mask *mask, size_t channels, const real *fill, real *x);

/* x (T, stack * channels) = 0 where one of its sequence's masks covers it. */
void linnet_spec_augment_reference(const struct linnet_pack *p, const struct linnet_masks *m, real *x);

#endif
