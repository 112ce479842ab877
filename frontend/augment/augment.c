/* SpecAugment, changes of speed, and added noise (linnet/augment.h). */
#include <linnet/augment.h>

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/settings.h"
#include "frontend/audio/resample.h"
#include "frontend/augment/augment_draw.h"
#include "ops/spec_augment.h"

enum { MAX_DIM = 512, MAX_MASKS = 1000, MAX_SPAN = 1000000000 };

size_t linnet_augment_choose(struct linnet_augment_key key, size_t count) {
  return linnet_draw_below(linnet_draw(key, LINNET_DRAW_CHOICE).word[0], count);
}

/* --- SpecAugment -------------------------------------------------------------------------------------------------- */

void(linnet_specaugment_settings_default)(struct linnet_specaugment_settings *settings, size_t size) {
  const struct linnet_specaugment_settings defaults = {.size = sizeof(struct linnet_specaugment_settings),
                                                       .num_frequency_masks = 2,
                                                       .max_frequency = 8,
                                                       .num_time_masks = 4,
                                                       .max_time = 40,
                                                       .max_time_part = 0.1,
                                                       .max_warp = 0,
                                                       .fill_mean = 0};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* The settings in full; false if they are NULL or out of range. */
static bool read_settings(const struct linnet_specaugment_settings *given, struct linnet_specaugment_settings *s) {
  return given && LINNET_READ_SETTINGS(NULL, specaugment, given, s) == LINNET_OK &&
         s->num_frequency_masks <= MAX_MASKS && s->num_time_masks <= MAX_MASKS &&
         linnet_inside(s->max_time_part, 0, 1) && s->max_frequency <= MAX_SPAN && s->max_time <= MAX_SPAN &&
         s->max_warp <= MAX_SPAN;
}

size_t linnet_specaugment_num_masks(const struct linnet_specaugment_settings *settings) {
  struct linnet_specaugment_settings own;
  return read_settings(settings, &own) ? own.num_frequency_masks + own.num_time_masks : 0;
}

/* Draws a span of 0 to `longest` elements, at a random offset in `total`. */
static void draw_span(struct linnet_philox random, size_t longest, size_t total, size_t *first, size_t *length) {
  *length = linnet_draw_below(random.word[0], (longest < total ? longest : total) + 1);
  *first = linnet_draw_below(random.word[1], total - *length + 1);
}

static size_t longest_time(const struct linnet_specaugment_settings *settings, size_t frames) {
  size_t longest = (size_t)((double)frames * settings->max_time_part);
  return longest < settings->max_time ? longest : settings->max_time;
}

/* Mask i: those of channels come first. */
static struct linnet_feature_mask draw_mask(const struct linnet_specaugment_settings *settings,
                                            struct linnet_augment_key key, size_t i, size_t frames, size_t dim) {
  struct linnet_feature_mask mask = {.num_frames = frames, .num_channels = dim};
  struct linnet_philox random = linnet_draw(key, LINNET_DRAW_MASKS + (uint32_t)i);
  if (i < settings->num_frequency_masks)
    draw_span(random, settings->max_frequency, dim, &mask.first_channel, &mask.num_channels);
  else
    draw_span(random, longest_time(settings, frames), frames, &mask.first_frame, &mask.num_frames);
  return mask;
}

enum linnet_status linnet_specaugment_masks(const struct linnet_specaugment_settings *settings,
                                            struct linnet_augment_key key, size_t frames, size_t dim,
                                            struct linnet_feature_mask *masks) {
  struct linnet_specaugment_settings own;
  if (!read_settings(settings, &own) || dim < 1 || dim > MAX_DIM || !masks)
    return LINNET_ERROR_ARGUMENT;
  settings = &own;
  for (size_t i = 0; i < linnet_specaugment_num_masks(settings); i++)
    masks[i] = draw_mask(settings, key, i, frames, dim);
  return LINNET_OK;
}

/* Sets frame t to the frame that was at time `from`, interpolated between two existing frames. */
static void take_frame(float *features, size_t dim, size_t t, double from, size_t last) {
  size_t low = (size_t)from, high = low < last ? low + 1 : last;
  float share = (float)(from - (double)low);
  for (size_t c = 0; c < dim; c++)
    features[t * dim + c] = (1 - share) * features[low * dim + c] + share * features[high * dim + c];
}

/* Moves frame `from` to `to` and stretches the frames on both sides; the first and the last frame do not move. All
 * frames move in the same direction. The loop runs in the opposite direction, so it overwrites no frame that is still
 * needed. */
static void warp(float *features, size_t frames, size_t dim, size_t from, size_t to) {
  size_t last = frames - 1;
  for (size_t i = 1; i < last; i++) {
    size_t t = to > from ? last - i : i;
    double position = t <= to ? (double)t * (double)from / (double)to
                              : (double)last - (double)(last - t) * (double)(last - from) / (double)(last - to);
    take_frame(features, dim, t, position, last);
  }
}

/* The point that moves lies at least max_warp frames, or a third of the utterance, from either end. */
static void draw_warp(const struct linnet_specaugment_settings *settings, struct linnet_augment_key key,
                      float *features, size_t frames, size_t dim) {
  size_t max_warp = settings->max_warp < frames / 3 ? settings->max_warp : frames / 3;
  if (max_warp == 0)
    return;
  struct linnet_philox random = linnet_draw(key, LINNET_DRAW_WARP);
  size_t from = max_warp + linnet_draw_below(random.word[0], frames - 2 * max_warp),
         to = from - max_warp + linnet_draw_below(random.word[1], 2 * max_warp + 1);
  if (from == 0 || to == 0 || from >= frames - 1 || to >= frames - 1 || from == to)
    return;
  warp(features, frames, dim, from, to);
}

/* The value that masks are filled with. */
static void fill_of(const struct linnet_specaugment_settings *settings, const float *features, size_t frames,
                    size_t dim, float *fill) {
  double sum[MAX_DIM] = {0};
  for (size_t t = 0; t < frames && settings->fill_mean; t++)
    for (size_t c = 0; c < dim; c++)
      sum[c] += features[t * dim + c];
  for (size_t c = 0; c < dim; c++)
    fill[c] = frames > 0 ? (float)(sum[c] / (double)frames) : 0;
}

enum linnet_status linnet_specaugment(const struct linnet_specaugment_settings *settings, struct linnet_augment_key key,
                                      float *features, size_t frames, size_t dim) {
  struct linnet_specaugment_settings own;
  if (!read_settings(settings, &own) || dim < 1 || dim > MAX_DIM || (frames > 0 && !features))
    return LINNET_ERROR_ARGUMENT;
  settings = &own;
  size_t width = dim, count = linnet_specaugment_num_masks(settings);
  float fill[MAX_DIM];
  draw_warp(settings, key, features, frames, width);
  fill_of(settings, features, frames, width, fill);
  for (size_t i = 0; i < count; i++) {
    struct linnet_feature_mask mask = draw_mask(settings, key, i, frames, width);
    linnet_mask_features(&mask, width, fill, features);
  }
  return LINNET_OK;
}

/* --- speed -------------------------------------------------------------------------------------------------------- */

/* Resamples all of `samples` into out (capacity). */
static enum linnet_status resample_all(struct linnet_resampler *resampler, const float *samples, size_t n, float *out,
                                       size_t capacity, size_t *count) {
  size_t taken = 0, used, got;
  *count = 0;
  do {
    LINNET_TRY(linnet_resampler_run(resampler, taken < n ? samples + taken : NULL, n - taken, &used, out + *count,
                                    capacity - *count, &got));
    taken += used;
    *count += got;
  } while (*count < capacity && (got > 0 || used > 0 || taken < n));
  return LINNET_OK;
}

enum linnet_status linnet_augment_speed(struct linnet_context *context, const float *samples, size_t n, double speed,
                                        float **result, size_t *count) {
  if (result)
    *result = NULL;
  if (!context || (n > 0 && !samples) || !result || !count || !linnet_inside(speed, 0.25, 4))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_augment_speed: an argument is NULL, or the speed is not 0.25 to 4");
  *count = 0;
  size_t capacity = (size_t)((double)n / speed) + 16;
  float *out = linnet_alloc(context, capacity, sizeof *out);
  if (!out)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %zu samples at another speed", n);
  struct linnet_resampler *resampler = NULL;
  enum linnet_status status = linnet_resampler_create(context, speed, 1, &resampler);
  if (status == LINNET_OK)
    status = resample_all(resampler, samples, n, out, capacity, count);
  linnet_resampler_destroy(resampler);
  if (status != LINNET_OK) {
    linnet_free(context, out);
    return status;
  }
  *result = out;
  return LINNET_OK;
}

/* --- noise -------------------------------------------------------------------------------------------------------- */

void(linnet_noise_settings_default)(struct linnet_noise_settings *settings, size_t size) {
  const struct linnet_noise_settings defaults = {
      .size = sizeof(struct linnet_noise_settings), .probability = 0.5, .snr_low = 5, .snr_high = 20};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

static double energy(const float *samples, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += (double)samples[i] * samples[i];
  return sum;
}

static double noise_energy(const struct linnet_noise_clip *clip, size_t start, size_t count) {
  double sum = 0;
  for (size_t i = 0, j = start; i < count; i++, j = j + 1 < clip->num_samples ? j + 1 : 0)
    sum += (double)clip->samples[j] * clip->samples[j];
  return sum;
}

static bool read_noise(const struct linnet_noise_settings *given, struct linnet_noise_settings *s) {
  return given && LINNET_READ_SETTINGS(NULL, noise, given, s) == LINNET_OK && linnet_inside(s->probability, 0, 1) &&
         linnet_inside(s->snr_low, -100, 100) && linnet_inside(s->snr_high, s->snr_low, 100);
}

static void mix(const struct linnet_noise_clip *clip, size_t start, double snr, float *samples, size_t count) {
  double signal = energy(samples, count), noise = noise_energy(clip, start, count);
  if (signal <= 0 || noise <= 0)
    return;
  float gain = (float)sqrt(signal / noise * pow(10, -snr / 10));
  for (size_t i = 0, j = start; i < count; i++, j = j + 1 < clip->num_samples ? j + 1 : 0)
    samples[i] += gain * clip->samples[j];
}

static size_t choose_clip(const struct linnet_noise_settings *s, struct linnet_philox random, size_t num_clips) {
  return num_clips == 0 || linnet_philox_uniform(random.word[0]) >= s->probability
             ? LINNET_NOT_FOUND
             : linnet_draw_below(random.word[1], num_clips);
}

size_t linnet_noise_choose(const struct linnet_noise_settings *settings, struct linnet_augment_key key,
                           size_t num_clips) {
  struct linnet_noise_settings own;
  return read_noise(settings, &own) ? choose_clip(&own, linnet_draw(key, LINNET_DRAW_NOISE), num_clips)
                                    : LINNET_NOT_FOUND;
}

enum linnet_status linnet_augment_noise(const struct linnet_noise_settings *settings, struct linnet_augment_key key,
                                        const struct linnet_noise_clip *clips, size_t num_clips, float *samples,
                                        size_t count) {
  struct linnet_noise_settings own;
  if (!read_noise(settings, &own) || (num_clips > 0 && !clips) || (count > 0 && !samples))
    return LINNET_ERROR_ARGUMENT;
  settings = &own;
  struct linnet_philox random = linnet_draw(key, LINNET_DRAW_NOISE);
  const size_t chosen = choose_clip(settings, random, num_clips);
  if (chosen == LINNET_NOT_FOUND || clips[chosen].num_samples == 0)
    return LINNET_OK;
  const struct linnet_noise_clip *clip = &clips[chosen];
  size_t start = linnet_draw_below(random.word[2], clip->num_samples);
  double snr = linnet_draw_between(random.word[3], settings->snr_low, settings->snr_high);
  mix(clip, start, snr, samples, count);
  return LINNET_OK;
}
