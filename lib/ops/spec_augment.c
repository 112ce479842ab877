/* Reference of SpecAugment's masks. */
#include "ops/spec_augment.h"

#include <string.h>

void linnet_mask_features(const struct linnet_feature_mask *mask, size_t channels, const real *fill, real *x) {
  for (size_t t = mask->first_frame; t < mask->first_frame + mask->num_frames; t++) {
    real *covered = x + t * channels + mask->first_channel;
    if (fill)
      memcpy(covered, fill + mask->first_channel, mask->num_channels * sizeof *covered);
    else
      memset(covered, 0, mask->num_channels * sizeof *covered);
  }
}

void linnet_spec_augment_reference(const struct linnet_pack *p, const struct linnet_masks *m, real *x) {
  for (size_t s = 0; s < p->sequences; s++)
    for (size_t i = 0; i < m->count; i++)
      linnet_mask_features(&m->masks[s * m->count + i], m->channels, NULL, x + p->offsets[s] * m->stack * m->channels);
}
