/* Simulates a recorder or a telephone: changes the level, and limits the band of frequencies. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/settings.h"
#include "frontend/augment/augment_draw.h"

static float round_to_int16(float sample) {
  return fminf(fmaxf(rintf(sample), -32768), 32767);
}

/* --- level -------------------------------------------------------------------------------------------------------- */

void(linnet_level_settings_default)(struct linnet_level_settings *settings, size_t size) {
  const struct linnet_level_settings defaults = {
      .size = sizeof(struct linnet_level_settings), .probability = 0.5, .gain_low = -30, .gain_high = 20};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

enum linnet_status linnet_augment_level(const struct linnet_level_settings *settings, struct linnet_augment_key key,
                                        float *samples, size_t count) {
  struct linnet_level_settings own, *s = &own;
  if (!settings || LINNET_READ_SETTINGS(NULL, level, settings, s) != LINNET_OK ||
      !linnet_inside(s->probability, 0, 1) || !linnet_inside(s->gain_low, -100, 100) ||
      !linnet_inside(s->gain_high, s->gain_low, 100) || (count > 0 && !samples))
    return LINNET_ERROR_ARGUMENT;
  struct linnet_philox random = linnet_draw(key, LINNET_DRAW_LEVEL);
  if (linnet_philox_uniform(random.word[0]) >= s->probability)
    return LINNET_OK;
  float gain = (float)pow(10, linnet_draw_between(random.word[1], s->gain_low, s->gain_high) / 20);
  for (size_t i = 0; i < count; i++)
    samples[i] = round_to_int16(gain * samples[i]);
  return LINNET_OK;
}

/* --- band --------------------------------------------------------------------------------------------------------- */

enum { HALF = 63, TAPS = 2 * HALF + 1, BLOCK = 1024 };

static const double pi = 3.14159265358979323846;

void(linnet_band_settings_default)(struct linnet_band_settings *settings, size_t size) {
  const struct linnet_band_settings defaults = {.size = sizeof(struct linnet_band_settings),
                                                .probability = 0.5,
                                                .max_low = 300,
                                                .min_high = 3400,
                                                .max_high = 7500};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* The ideal low-pass filter, `edge` in cycles per sample, at `i` samples from its middle. */
static double low_pass(double edge, int i) {
  return i == 0 ? 2 * edge : sin(2 * pi * edge * i) / (pi * i);
}

/* Edges in cycles per sample. A lower edge of 0 lets everything below `high` pass. */
static void design_band_pass(double low, double high, float taps[TAPS]) {
  for (int i = -HALF; i <= HALF; i++) {
    double angle = pi * (i + HALF) / HALF, window = 0.42 - 0.5 * cos(angle) + 0.08 * cos(2 * angle);
    taps[i + HALF] = (float)(window * (low_pass(high, i) - low_pass(low, i)));
  }
}

/* Filters in place, block by block: `history` saves the unfiltered samples that the next block still needs. */
static void filter(const float taps[TAPS], float *samples, size_t count) {
  float history[2 * HALF + BLOCK] = {0};
  size_t first = count < HALF ? count : HALF;
  memcpy(history + HALF, samples, first * sizeof *samples);
  for (size_t start = 0; start < count; start += BLOCK) {
    size_t length = count - start < BLOCK ? count - start : BLOCK;
    for (size_t i = 0; i < length; i++)
      history[2 * HALF + i] = start + HALF + i < count ? samples[start + HALF + i] : 0;
    for (size_t i = 0; i < length; i++) {
      float sum = 0;
      for (size_t k = 0; k < TAPS; k++)
        sum += taps[k] * history[i + k];
      samples[start + i] = round_to_int16(sum);
    }
    memmove(history, history + length, 2 * HALF * sizeof *history);
  }
}

enum linnet_status linnet_augment_band(const struct linnet_band_settings *settings, struct linnet_augment_key key,
                                       double sample_rate, float *samples, size_t count) {
  struct linnet_band_settings own, *s = &own;
  if (!settings || LINNET_READ_SETTINGS(NULL, band, settings, s) != LINNET_OK || !linnet_inside(s->probability, 0, 1) ||
      !(s->max_low >= 0) || !(s->min_high > s->max_low) || !(s->max_high >= s->min_high) || !(sample_rate > 0) ||
      (count > 0 && !samples))
    return LINNET_ERROR_ARGUMENT;
  struct linnet_philox random = linnet_draw(key, LINNET_DRAW_BAND);
  if (count == 0 || linnet_philox_uniform(random.word[0]) >= s->probability)
    return LINNET_OK;
  float taps[TAPS];
  double low = linnet_draw_between(random.word[1], 0, s->max_low) / sample_rate;
  double high = linnet_draw_between(random.word[2], s->min_high, s->max_high) / sample_rate;
  design_band_pass(low, fmin(high, 0.5), taps);
  filter(taps, samples, count);
  return LINNET_OK;
}
