/* Silence and faint noise before and after an utterance. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/settings.h"
#include "frontend/augment/augment_draw.h"

void(linnet_padding_settings_default)(struct linnet_padding_settings *settings, size_t size) {
  const struct linnet_padding_settings defaults = {.size = sizeof(struct linnet_padding_settings),
                                                   .probability = 0.5,
                                                   .max_seconds = 6,
                                                   .level_low = -60,
                                                   .level_high = -25};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* The settings in full; false if they are NULL or out of range. */
static bool read_settings(const struct linnet_padding_settings *given, double sample_rate,
                          struct linnet_padding_settings *s) {
  return given && LINNET_READ_SETTINGS(NULL, padding, given, s) == LINNET_OK && linnet_inside(s->probability, 0, 1) &&
         linnet_inside(s->max_seconds, 0, 600) && linnet_inside(s->level_low, -100, 100) &&
         linnet_inside(s->level_high, s->level_low, 100) && linnet_inside(sample_rate, 1, 1e6);
}

enum linnet_status linnet_padding_check(const struct linnet_padding_settings *settings) {
  struct linnet_padding_settings own;
  return read_settings(settings, 1, &own) ? LINNET_OK : LINNET_ERROR_ARGUMENT;
}

size_t linnet_padding_max(const struct linnet_padding_settings *settings, double sample_rate) {
  struct linnet_padding_settings own;
  return read_settings(settings, sample_rate, &own) ? 2 * (size_t)(own.max_seconds * sample_rate) : 0;
}

static double power_of(const float *samples, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += (double)samples[i] * samples[i];
  return count > 0 ? sum / (double)count : 0;
}

static double power_of_clip(const struct linnet_noise_clip *clip) {
  double sum = 0;
  for (size_t i = 0; i < clip->num_samples; i++)
    sum += (double)clip->samples[i] * clip->samples[i];
  return clip->num_samples > 0 ? sum / (double)clip->num_samples : 0;
}

/* The source of the samples for both ends. */
struct fill {
  const struct linnet_noise_clip *clip; /* NULL: digital silence */
  size_t next;                          /* sample of the clip */
  float gain;
};

static size_t choose_clip(struct linnet_philox random, size_t num_clips) {
  return num_clips == 0 || random.word[0] % 3 == 0 ? LINNET_NOT_FOUND : linnet_draw_below(random.word[1], num_clips);
}

static struct fill draw_fill(const struct linnet_padding_settings *settings, struct linnet_philox random,
                             const struct linnet_noise_clip *clips, size_t num_clips, double power) {
  struct fill fill = {0};
  const size_t chosen = choose_clip(random, num_clips);
  if (chosen == LINNET_NOT_FOUND)
    return fill;
  const struct linnet_noise_clip *clip = &clips[chosen];
  double noise = power_of_clip(clip),
         level = linnet_draw_between(random.word[3], settings->level_low, settings->level_high);
  if (noise <= 0)
    return fill;
  fill.clip = clip;
  fill.next = linnet_draw_below(random.word[2], clip->num_samples);
  fill.gain = (float)sqrt(power / noise * pow(10, level / 10));
  return fill;
}

static void fill_samples(struct fill *fill, float *samples, size_t count) {
  for (size_t i = 0; i < count; i++) {
    samples[i] = fill->clip ? rintf(fill->gain * fill->clip->samples[fill->next]) : 0;
    fill->next = fill->clip && fill->next + 1 < fill->clip->num_samples ? fill->next + 1 : 0;
  }
}

static size_t draw_length(const struct linnet_padding_settings *settings, double sample_rate, uint32_t word) {
  double u = linnet_philox_uniform(word);
  return (size_t)(settings->max_seconds * sample_rate * u * u);
}

/* Lengths of both ends, in samples; 0 if the utterance is not padded. */
struct lengths {
  size_t before, after;
};

static struct lengths draw_lengths(const struct linnet_padding_settings *settings, struct linnet_augment_key key,
                                   double sample_rate) {
  struct linnet_philox random = linnet_draw(key, LINNET_DRAW_PADDING);
  if (linnet_philox_uniform(random.word[0]) >= settings->probability)
    return (struct lengths){0};
  return (struct lengths){draw_length(settings, sample_rate, random.word[1]),
                          draw_length(settings, sample_rate, random.word[2])};
}

size_t linnet_padding_before(const struct linnet_padding_settings *settings, struct linnet_augment_key key,
                             double sample_rate) {
  struct linnet_padding_settings own;
  return read_settings(settings, sample_rate, &own) ? draw_lengths(&own, key, sample_rate).before : 0;
}

size_t linnet_padding_choose(const struct linnet_padding_settings *settings, struct linnet_augment_key key,
                             double sample_rate, size_t num_clips) {
  struct linnet_padding_settings own;
  if (!read_settings(settings, sample_rate, &own))
    return LINNET_NOT_FOUND;
  const struct lengths lengths = draw_lengths(&own, key, sample_rate);
  return lengths.before + lengths.after > 0 ? choose_clip(linnet_draw(key, LINNET_DRAW_PADDING + 1), num_clips)
                                            : LINNET_NOT_FOUND;
}

enum linnet_status linnet_augment_padding(const struct linnet_padding_settings *settings, struct linnet_augment_key key,
                                          double sample_rate, const struct linnet_noise_clip *clips, size_t num_clips,
                                          float *samples, size_t *count) {
  struct linnet_padding_settings own;
  if (!read_settings(settings, sample_rate, &own) || !count || !samples || (num_clips > 0 && !clips))
    return LINNET_ERROR_ARGUMENT;
  settings = &own;
  const struct lengths lengths = draw_lengths(settings, key, sample_rate);
  const size_t before = lengths.before, after = lengths.after;
  if (before + after == 0)
    return LINNET_OK;
  struct fill fill =
      draw_fill(settings, linnet_draw(key, LINNET_DRAW_PADDING + 1), clips, num_clips, power_of(samples, *count));
  memmove(samples + before, samples, *count * sizeof *samples);
  fill_samples(&fill, samples, before);
  fill_samples(&fill, samples + before + *count, after);
  *count += before + after;
  return LINNET_OK;
}
