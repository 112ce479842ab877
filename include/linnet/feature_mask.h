/* A rectangle of an utterance's features, which augmentation draws and training sets to 0.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_FEATURE_MASK_H
#define LINNET_FEATURE_MASK_H

#include <stddef.h>

/* A mask of SpecAugment. If it has no frames or no channels, it is empty. */
struct linnet_feature_mask {
  size_t first_frame, num_frames;
  size_t first_channel, num_channels;
};

#endif
