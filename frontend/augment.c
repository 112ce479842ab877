#include <linnet/augment.h>

#include <math.h>
#include <string.h>

#include "base/philox.h"

/* What a number is drawn for; the low word of the counter, next to the utterance. */
enum draw { DRAW_CHOICE = 0, DRAW_NOISE = 1, DRAW_MASKS = 16 };

/* Four words for draw `purpose`: counter = (epoch, utterance, purpose). */
static struct linnet_philox draw(struct linnet_augment_key key, uint32_t purpose) {
  return linnet_philox(key.seed ^ 0x5A6D656E74ull, key.epoch, key.utterance << 16 | purpose);
}

/* Evenly in 0 ... n-1. */
static size_t below(uint32_t word, size_t n) { return (size_t)((double)n * linnet_philox_uniform(word)); }

size_t linnet_augment_choose(struct linnet_augment_key key, size_t count) {
  return below(draw(key, DRAW_CHOICE).word[0], count);
}

/* --- SpecAugment -------------------------------------------------------------------------------------------------- */

void linnet_specaugment_settings_default(struct linnet_specaugment_settings *settings) {
  *settings = (struct linnet_specaugment_settings){.size = sizeof *settings,
                                                   .frequency_masks = 2,
                                                   .max_frequency = 8,
                                                   .time_masks = 4,
                                                   .max_time = 40,
                                                   .max_time_part = 0.1};
}

struct mask {
  size_t start, length;
};

/* A mask of 0 to `longest` of `total` places, anywhere. */
static struct mask draw_mask(struct linnet_philox random, size_t longest, size_t total) {
  size_t length = below(random.word[0], (longest < total ? longest : total) + 1);
  return (struct mask){below(random.word[1], total - length + 1), length};
}

static void mask_channels(struct mask mask, float *features, size_t frames, size_t dim) {
  for (size_t t = 0; t < frames; t++)
    memset(features + t * dim + mask.start, 0, mask.length * sizeof *features);
}

void linnet_specaugment(const struct linnet_specaugment_settings *settings, struct linnet_augment_key key,
                        float *features, size_t frames, int dim) {
  size_t width = (size_t)dim, longest = (size_t)((double)frames * settings->max_time_part);
  uint32_t purpose = DRAW_MASKS;
  if (longest > (size_t)settings->max_time)
    longest = (size_t)settings->max_time;
  for (int i = 0; i < settings->frequency_masks; i++)
    mask_channels(draw_mask(draw(key, purpose++), (size_t)settings->max_frequency, width), features, frames, width);
  for (int i = 0; i < settings->time_masks; i++) {
    struct mask mask = draw_mask(draw(key, purpose++), longest, frames);
    memset(features + mask.start * width, 0, mask.length * width * sizeof *features);
  }
}

/* --- noise -------------------------------------------------------------------------------------------------------- */

void linnet_noise_settings_default(struct linnet_noise_settings *settings) {
  *settings = (struct linnet_noise_settings){
      .size = sizeof *settings, .probability = 0.5, .snr_low = 5, .snr_high = 20};
}

static double energy(const float *samples, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += (double)samples[i] * samples[i];
  return sum;
}

static double noise_energy(const struct linnet_noise_clip *clip, size_t start, size_t count) {
  double sum = 0;
  for (size_t i = 0, j = start; i < count; i++, j = j + 1 < clip->count ? j + 1 : 0)
    sum += (double)clip->samples[j] * clip->samples[j];
  return sum;
}

void linnet_augment_noise(const struct linnet_noise_settings *settings, struct linnet_augment_key key,
                          const struct linnet_noise_clip *clips, size_t num_clips, float *samples, size_t count) {
  struct linnet_philox random = draw(key, DRAW_NOISE);
  if (num_clips == 0 || linnet_philox_uniform(random.word[0]) >= settings->probability)
    return;
  const struct linnet_noise_clip *clip = &clips[below(random.word[1], num_clips)];
  if (clip->count == 0)
    return;
  size_t start = below(random.word[2], clip->count);
  double snr = settings->snr_low + (settings->snr_high - settings->snr_low) * linnet_philox_uniform(random.word[3]);
  double signal = energy(samples, count), noise = noise_energy(clip, start, count);
  if (signal <= 0 || noise <= 0)
    return;
  float gain = (float)sqrt(signal / noise * pow(10, -snr / 10));
  for (size_t i = 0, j = start; i < count; i++, j = j + 1 < clip->count ? j + 1 : 0)
    samples[i] += gain * clip->samples[j];
}
