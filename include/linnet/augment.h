/* Augmentation of training data: SpecAugment, mixing with noise, drawing a speed. Every choice depends on (seed, epoch,
 * utterance) alone, so that it does not depend on threads and a resumed training repeats it.
 *
 * Threads: plain functions on the caller's arrays. */
#ifndef LINNET_AUGMENT_H
#define LINNET_AUGMENT_H

#include <stdint.h>

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which draw this is. */
struct linnet_augment_key {
  uint64_t seed, epoch, utterance;
};

/* SpecAugment (Park et al. 2019), without time warping: bands of channels and stretches of time become 0, the mean of
 * normalised features. */
struct linnet_specaugment_settings {
  size_t size;          /* set by ..._default */
  int frequency_masks;  /* 2 */
  int max_frequency;    /* channels; each mask has 0 to this many, drawn evenly; 8 */
  int time_masks;       /* 4 */
  int max_time;         /* frames, the same; 40 */
  double max_time_part; /* no mask is longer than this part of the utterance; 0.1 */
};

LINNET_API void linnet_specaugment_settings_default(struct linnet_specaugment_settings *settings);

/* features (frames, dim), row-major, changed in place. */
LINNET_API void linnet_specaugment(const struct linnet_specaugment_settings *settings, struct linnet_augment_key key,
                                   float *features, size_t frames, int dim);

/* One of `count` (at least 1) choices, drawn evenly: which speed, for one. */
LINNET_API size_t linnet_augment_choose(struct linnet_augment_key key, size_t count);

/* A clip of noise: samples on the int16 scale. */
struct linnet_noise_clip {
  const int16_t *samples;
  size_t count;
};

struct linnet_noise_settings {
  size_t size;               /* set by ..._default */
  double probability;        /* of an utterance being mixed with noise; 0.5 */
  double snr_low, snr_high;  /* dB, drawn evenly; 5, 20 */
};

LINNET_API void linnet_noise_settings_default(struct linnet_noise_settings *settings);

/* Adds a stretch of one clip, from a drawn place on and repeated as needed, at a drawn signal-to-noise ratio over the
 * whole utterance. Silence, of either side, is left as it is. */
LINNET_API void linnet_augment_noise(const struct linnet_noise_settings *settings, struct linnet_augment_key key,
                                     const struct linnet_noise_clip *clips, size_t num_clips, float *samples,
                                     size_t count);

#ifdef __cplusplus
}
#endif
#endif
