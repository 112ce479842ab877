/* Augmentation of training data: SpecAugment, changes of speed, mixing with noise, other levels and bands, silence
 * around the utterance. Every choice depends on (seed, epoch, utterance) alone, so that it does not depend on threads
 * and a resumed training repeats it.
 *
 * Threads: plain functions on the caller's arrays. Those without a context fail with LINNET_ERROR_ARGUMENT on NULL
 * pointers and settings out of range, and then change nothing.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_AUGMENT_H
#define LINNET_AUGMENT_H

#include <stdint.h>

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which draw this is. `utterance` is below 2^48. */
struct linnet_augment_key {
  uint64_t seed, epoch, utterance;
};

/* SpecAugment (Park et al. 2019): bands of channels and stretches of time are masked, and optionally time is warped
 * before. Widths are drawn evenly from 0 to their maximum, then places from all that there are. */
struct linnet_specaugment_settings {
  size_t size;                /* set by ..._default */
  size_t num_frequency_masks; /* 2; 0 to 1000 */
  size_t max_frequency;       /* channels of a mask; 8 */
  size_t num_time_masks;      /* 4; 0 to 1000 */
  size_t max_time;            /* frames of a mask; 40 */
  double max_time_part;       /* no mask in time is longer than this part of the utterance; 0.1; 0 to 1 */
  size_t max_warp; /* frames by which a point of the utterance is moved at most, the rest following evenly; 0: off */
  int fill_mean;   /* masks take the channel's mean over the utterance; 0 (default): 0, the mean after CMVN */
};

LINNET_API void linnet_specaugment_settings_default(struct linnet_specaugment_settings *settings, size_t size);
#define linnet_specaugment_settings_default(settings) linnet_specaugment_settings_default(settings, sizeof *(settings))

/* features (frames, dim), row-major, changed in place; dim at most 512. */
LINNET_API enum linnet_status linnet_specaugment(const struct linnet_specaugment_settings *settings,
                                                 struct linnet_augment_key key, float *features, size_t frames,
                                                 size_t dim);

struct linnet_feature_mask; /* train.h */

/* The masks alone, for a linnet_corpus whose masks the trainer applies: how many each utterance has (0 if settings are
 * out of range), and those that linnet_specaugment would draw; some may be empty. The trainer fills with 0 and does not
 * warp. */
LINNET_API size_t linnet_specaugment_num_masks(const struct linnet_specaugment_settings *settings);
LINNET_API enum linnet_status linnet_specaugment_masks(const struct linnet_specaugment_settings *settings,
                                                       struct linnet_augment_key key, size_t frames, size_t dim,
                                                       struct linnet_feature_mask *masks);

/* One of `count` choices, drawn evenly: which speed, for one. 0 if there are none. */
LINNET_API size_t linnet_augment_choose(struct linnet_augment_key key, size_t count);

/* Changes speed and pitch together, as a tape that runs `speed` times as fast (0.9, 1.1): about n / speed samples.
 * Release them with linnet_audio_release. `speed` is 0.25 to 4. */
LINNET_API enum linnet_status linnet_augment_speed(struct linnet_context *context, const float *samples, size_t n,
                                                   double speed, float **result, size_t *count);

/* A clip of noise: samples on the int16 scale. */
struct linnet_noise_clip {
  const int16_t *samples;
  size_t num_samples;
};

struct linnet_noise_settings {
  size_t size;              /* set by ..._default */
  double probability;       /* of an utterance being mixed with noise; 0.5 */
  double snr_low, snr_high; /* dB, drawn evenly; 5, 20; -100 to 100 */
};

LINNET_API void linnet_noise_settings_default(struct linnet_noise_settings *settings, size_t size);
#define linnet_noise_settings_default(settings) linnet_noise_settings_default(settings, sizeof *(settings))

/* Adds a stretch of one clip, from a drawn place on and repeated as needed, at a drawn signal-to-noise ratio over the
 * whole utterance. Silence, of either side, is left as it is. */
LINNET_API enum linnet_status linnet_augment_noise(const struct linnet_noise_settings *settings,
                                                   struct linnet_augment_key key, const struct linnet_noise_clip *clips,
                                                   size_t num_clips, float *samples, size_t count);

struct linnet_level_settings {
  size_t size;                /* set by ..._default */
  double probability;         /* of an utterance being changed; 0.5 */
  double gain_low, gain_high; /* dB, drawn evenly; -30, 20; -100 to 100 */
};

LINNET_API void linnet_level_settings_default(struct linnet_level_settings *settings, size_t size);
#define linnet_level_settings_default(settings) linnet_level_settings_default(settings, sizeof *(settings))

/* Makes samples louder or softer, then rounds and clips them to 16 bits as a recorder does. */
LINNET_API enum linnet_status linnet_augment_level(const struct linnet_level_settings *settings,
                                                   struct linnet_augment_key key, float *samples, size_t count);

struct linnet_band_settings {
  size_t size;               /* set by ..._default */
  double probability;        /* of an utterance being filtered; 0.5 */
  double max_low;            /* Hz; the lower edge is drawn evenly from 0 to this; 300 */
  double min_high, max_high; /* Hz; the upper edge, drawn evenly; 3400, 7500 */
};

LINNET_API void linnet_band_settings_default(struct linnet_band_settings *settings, size_t size);
#define linnet_band_settings_default(settings) linnet_band_settings_default(settings, sizeof *(settings))

/* Leaves a band of frequencies, as telephones and lossy codecs do: a linear-phase band-pass filter of 127 samples
 * (windowed sinc, Blackman window), then rounds to 16 bits. An edge above half the sample rate (Hz) is no edge. */
LINNET_API enum linnet_status linnet_augment_band(const struct linnet_band_settings *settings,
                                                  struct linnet_augment_key key, double sample_rate, float *samples,
                                                  size_t count);

struct linnet_padding_settings {
  size_t size;                  /* set by ..._default */
  double probability;           /* of an utterance being padded; 0.5 */
  double max_seconds;           /* at each end; 6; 0 to 600. Drawn lengths are max_seconds * u^2, u even in 0 to 1 */
  double level_low, level_high; /* dB of the noise relative to the utterance, drawn evenly; -60, -25; -100 to 100 */
};

LINNET_API void linnet_padding_settings_default(struct linnet_padding_settings *settings, size_t size);
#define linnet_padding_settings_default(settings) linnet_padding_settings_default(settings, sizeof *(settings))

/* LINNET_ERROR_ARGUMENT for settings out of range. */
LINNET_API enum linnet_status linnet_padding_check(const struct linnet_padding_settings *settings);

/* The maximum number of samples that padding adds; 0 if settings are out of range. */
LINNET_API size_t linnet_padding_max(const struct linnet_padding_settings *settings, double sample_rate);

/* Puts digital silence (every third time, and where there are no clips) or a stretch of a clip before and after the
 * utterance. `samples` holds `*count` and has memory for linnet_padding_max more; *count grows. */
LINNET_API enum linnet_status linnet_augment_padding(const struct linnet_padding_settings *settings,
                                                     struct linnet_augment_key key, double sample_rate,
                                                     const struct linnet_noise_clip *clips, size_t num_clips,
                                                     float *samples, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
