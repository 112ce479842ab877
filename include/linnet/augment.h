/* Augmentation of training data: SpecAugment, and changes of speed, room, noise, level, frequency band and of the
 * silence around an utterance. Every random choice depends only on (seed, epoch, utterance): not on threads, and a
 * resumed training repeats it.
 *
 * Threads: plain functions on the caller's arrays. Functions without a context fail with LINNET_ERROR_ARGUMENT on NULL
 * pointers and on settings out of range, and then change nothing.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_AUGMENT_H
#define LINNET_AUGMENT_H

#include <stdint.h>

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The key of the random choices. `utterance` is below 2^48. */
struct linnet_augment_key {
  uint64_t seed, epoch, utterance;
};

/* SpecAugment (Park et al. 2019): masks bands of channels and spans of frames; before that, it can warp time. The width
 * of a mask is uniform from 0 to its maximum, then its offset is uniform over all possible ones. */
struct linnet_specaugment_settings {
  size_t size;                /* set by ..._default */
  size_t num_frequency_masks; /* 2; 0 to 1000 */
  size_t max_frequency;       /* channels of a mask; 8 */
  size_t num_time_masks;      /* 4; 0 to 1000 */
  size_t max_time;            /* frames of a mask; 40 */
  double max_time_part;       /* maximum length of a time mask, as a part of the utterance; 0.1; 0 to 1 */
  size_t max_warp; /* maximum number of frames by which a point of the utterance moves; the frames before and after are
                      stretched or compressed evenly; 0: off */
  int fill_mean;   /* 1: the value of masks is the mean of the channel over the utterance; 0 (default): it is 0, the
                      mean after CMVN */
};

LINNET_API void linnet_specaugment_settings_default(struct linnet_specaugment_settings *settings, size_t size);
#define linnet_specaugment_settings_default(settings) linnet_specaugment_settings_default(settings, sizeof *(settings))

/* Changes features (frames, dim), row-major, in place; dim is at most 512. */
LINNET_API enum linnet_status linnet_specaugment(const struct linnet_specaugment_settings *settings,
                                                 struct linnet_augment_key key, float *features, size_t frames,
                                                 size_t dim);

struct linnet_feature_mask; /* feature_mask.h */

/* The masks alone, for a linnet_corpus whose masks the trainer applies: their number for each utterance (0 if settings
 * are out of range), and the masks that linnet_specaugment would draw. Some may be empty. The trainer sets masked
 * features to 0 and does not warp time. */
LINNET_API size_t linnet_specaugment_num_masks(const struct linnet_specaugment_settings *settings);
LINNET_API enum linnet_status linnet_specaugment_masks(const struct linnet_specaugment_settings *settings,
                                                       struct linnet_augment_key key, size_t frames, size_t dim,
                                                       struct linnet_feature_mask *masks);

/* Draws one of `count` choices with equal probability, for example a speed. 0 if `count` is 0. */
LINNET_API size_t linnet_augment_choose(struct linnet_augment_key key, size_t count);

/* Changes speed and pitch together, like a tape that runs `speed` times as fast (such as 0.9 or 1.1). The result has
 * about n / speed samples; release it with linnet_audio_release. `speed` is 0.25 to 4. */
LINNET_API enum linnet_status linnet_augment_speed(struct linnet_context *context, const float *samples, size_t n,
                                                   double speed, float **result, size_t *count);

/* A noise recording: samples on the int16 scale. */
struct linnet_noise_clip {
  const int16_t *samples;
  size_t num_samples;
};

struct linnet_noise_settings {
  size_t size;              /* set by ..._default */
  double probability;       /* that an utterance gets noise; 0.5 */
  double snr_low, snr_high; /* dB, uniform between them; 5, 20; -100 to 100 */
};

LINNET_API void linnet_noise_settings_default(struct linnet_noise_settings *settings, size_t size);
#define linnet_noise_settings_default(settings) linnet_noise_settings_default(settings, sizeof *(settings))

/* Adds one clip, from a random offset on and repeated as needed, at a random signal-to-noise ratio over the whole
 * utterance. If the utterance or the noise is digital silence, it changes nothing. */
LINNET_API enum linnet_status linnet_augment_noise(const struct linnet_noise_settings *settings,
                                                   struct linnet_augment_key key, const struct linnet_noise_clip *clips,
                                                   size_t num_clips, float *samples, size_t count);

/* The index of the clip that linnet_augment_noise adds; LINNET_NOT_FOUND: none, also if settings are out of range. With
 * this clip alone, it gives the same samples as with all. So a program need not have all clips in memory. */
LINNET_API size_t linnet_noise_choose(const struct linnet_noise_settings *settings, struct linnet_augment_key key,
                                      size_t num_clips);

struct linnet_level_settings {
  size_t size;                /* set by ..._default */
  double probability;         /* that an utterance is changed; 0.5 */
  double gain_low, gain_high; /* dB, uniform between them; -30, 20; -100 to 100 */
};

LINNET_API void linnet_level_settings_default(struct linnet_level_settings *settings, size_t size);
#define linnet_level_settings_default(settings) linnet_level_settings_default(settings, sizeof *(settings))

/* Makes samples louder or softer, then rounds and clips them to 16 bits as a recorder does. */
LINNET_API enum linnet_status linnet_augment_level(const struct linnet_level_settings *settings,
                                                   struct linnet_augment_key key, float *samples, size_t count);

struct linnet_band_settings {
  size_t size;               /* set by ..._default */
  double probability;        /* that an utterance is filtered; 0.5 */
  double max_low;            /* Hz; the lower edge is uniform from 0 to this; 300 */
  double min_high, max_high; /* Hz; the upper edge is uniform between them; 3400, 7500 */
};

LINNET_API void linnet_band_settings_default(struct linnet_band_settings *settings, size_t size);
#define linnet_band_settings_default(settings) linnet_band_settings_default(settings, sizeof *(settings))

/* Keeps only a band of frequencies, like telephones and lossy codecs: applies a linear-phase band-pass filter of 127
 * samples (windowed sinc, Blackman window), then rounds to 16 bits. An edge above half the sample rate (Hz) has no
 * effect. */
LINNET_API enum linnet_status linnet_augment_band(const struct linnet_band_settings *settings,
                                                  struct linnet_augment_key key, double sample_rate, float *samples,
                                                  size_t count);

struct linnet_room_settings {
  size_t size;                /* set by ..._default */
  double probability;         /* that an utterance is reverberated; 0.5 */
  double time_low, time_high; /* reverberation time (decay by 60 dB) in seconds, uniform between them; 0.1, 0.5; 0.05 to
                                 2 */
};

LINNET_API void linnet_room_settings_default(struct linnet_room_settings *settings, size_t size);
#define linnet_room_settings_default(settings) linnet_room_settings_default(settings, sizeof *(settings))

/* LINNET_ERROR_ARGUMENT for settings out of range. */
LINNET_API enum linnet_status linnet_room_check(const struct linnet_room_settings *settings);

/* Reverberates: convolves the samples with the response of a random room with random positions of speaker and
 * microphone, by the image method (Allen and Berkley 1979). The direct sound keeps its time, so labels with times stay
 * right; echoes after the last sample are dropped. Sample rate in Hz, 1000 to 192000. LINNET_ERROR_UNSUPPORTED in a
 * build without FFTW. */
LINNET_API enum linnet_status linnet_augment_room(struct linnet_context *context,
                                                  const struct linnet_room_settings *settings,
                                                  struct linnet_augment_key key, double sample_rate, float *samples,
                                                  size_t count);

struct linnet_padding_settings {
  size_t size;                  /* set by ..._default */
  double probability;           /* that an utterance is padded; 0.5 */
  double max_seconds;           /* at each end; 6; 0 to 600. A length is max_seconds * u^2, u uniform in 0 to 1 */
  double level_low, level_high; /* dB of the noise relative to the utterance, uniform between them; -60, -25; -100 to
                                   100 */
};

LINNET_API void linnet_padding_settings_default(struct linnet_padding_settings *settings, size_t size);
#define linnet_padding_settings_default(settings) linnet_padding_settings_default(settings, sizeof *(settings))

/* LINNET_ERROR_ARGUMENT for settings out of range. */
LINNET_API enum linnet_status linnet_padding_check(const struct linnet_padding_settings *settings);

/* The maximum number of samples that padding adds; 0 if settings are out of range. */
LINNET_API size_t linnet_padding_max(const struct linnet_padding_settings *settings, double sample_rate);

/* The number of samples that linnet_augment_padding adds before the utterance with this key; 0 if settings are out of
 * range. Padding moves times in the utterance by this much. */
LINNET_API size_t linnet_padding_before(const struct linnet_padding_settings *settings, struct linnet_augment_key key,
                                        double sample_rate);

/* Adds digital silence (in a third of the cases, and if there are no clips) or a part of a clip before and after
 * the utterance. `samples` holds *count samples and has memory for linnet_padding_max more. The function
 * increases *count. */
LINNET_API enum linnet_status linnet_augment_padding(const struct linnet_padding_settings *settings,
                                                     struct linnet_augment_key key, double sample_rate,
                                                     const struct linnet_noise_clip *clips, size_t num_clips,
                                                     float *samples, size_t *count);

/* The index of the clip that linnet_augment_padding takes a part of, as linnet_noise_choose for linnet_augment_noise.
 */
LINNET_API size_t linnet_padding_choose(const struct linnet_padding_settings *settings, struct linnet_augment_key key,
                                        double sample_rate, size_t num_clips);

#ifdef __cplusplus
}
#endif
#endif
