/* A rectangle of an utterance's features: what augmentation draws and training hides.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_FEATURE_MASK_H
#define LINNET_FEATURE_MASK_H

#include <stddef.h>

/* Hidden in training (SpecAugment). Without frames or channels: none. */
struct linnet_feature_mask {
  size_t first_frame, num_frames;
  size_t first_channel, num_channels;
};

#endif
