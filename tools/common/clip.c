/* Reads a recording into 16-bit samples and changes its speed. */
#include "clip.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include <linnet/audio.h>

/* Quieter recordings that are not whole numbers would lose too much by rounding: this peak is 24 dB below full scale.
 */
static const float quiet_peak = 2048;

/* 1 for what 16 bits hold well. Louder recordings than full scale, and quiet ones, fill the 16 bits. */
static float choose_scale(const float *samples, size_t count) {
  float low = 0, high = 0;
  bool whole = true;
  for (size_t i = 0; i < count; i++) {
    low = fminf(low, samples[i]);
    high = fmaxf(high, samples[i]);
    whole = whole && samples[i] == rintf(samples[i]);
  }
  const float peak = fmaxf(-low, high);
  const bool fits = low >= -32768 && high <= 32767 && (whole || peak >= quiet_peak);
  return fits || peak < 1e-30f || isinf(peak) ? 1 : peak / 32767;
}

static int16_t to_int16(float sample) {
  float rounded = roundf(sample);
  return rounded > 32767 ? 32767 : rounded < -32768 ? -32768 : (int16_t)rounded;
}

enum linnet_status clip_keep(struct linnet_context *context, float *samples, size_t count, struct clip *clip) {
  clip->samples = malloc((count + 1) * sizeof *clip->samples);
  clip->count = clip->samples ? count : 0;
  clip->scale = choose_scale(samples, clip->count);
  for (size_t i = 0; i < clip->count; i++)
    clip->samples[i] = to_int16(samples[i] / clip->scale);
  linnet_audio_release(context, samples);
  return clip->samples ? LINNET_OK : linnet_context_fail(context, LINNET_ERROR_MEMORY, "out of memory for a recording");
}

void clip_expand(const struct clip *clip, float *samples) {
  for (size_t i = 0; i < clip->count; i++)
    samples[i] = clip->scale * clip->samples[i];
}

/* Reads all samples of an open input and closes it. */
static enum linnet_status take_clip(struct linnet_context *context, struct linnet_audio *audio, struct clip *clip) {
  float *samples = NULL;
  size_t count = 0;
  enum linnet_status status = linnet_audio_read_all(audio, &samples, &count);
  linnet_audio_destroy(audio);
  return status == LINNET_OK ? clip_keep(context, samples, count, clip) : status;
}

enum linnet_status clip_read(struct linnet_context *context, const char *path, double rate, struct clip *clip) {
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  linnet_audio_settings_default(&settings);
  settings.sample_rate = rate;
  enum linnet_status status = linnet_audio_open(context, path, &settings, &audio);
  return status == LINNET_OK ? take_clip(context, audio, clip) : status;
}

static bool little_endian(void) {
  const uint16_t one = 1;
  return *(const unsigned char *)&one == 1;
}

/* Opens a clip at another speed. */
static enum linnet_status open_changed(struct linnet_context *context, const struct clip *clip, double rate,
                                       double speed, struct linnet_audio **audio) {
  struct linnet_audio_settings settings;
  linnet_audio_settings_default(&settings);
  settings.raw_format = little_endian() ? LINNET_SAMPLE_S16LE : LINNET_SAMPLE_S16BE;
  settings.raw_rate = rate;
  settings.sample_rate = rate / speed;
  return linnet_audio_open_memory(context, clip->samples, clip->count * sizeof *clip->samples, &settings, audio);
}

enum linnet_status clip_change_speed(struct linnet_context *context, const struct clip *clip, double rate, double speed,
                                     struct clip *changed) {
  struct linnet_audio *audio = NULL;
  enum linnet_status status = open_changed(context, clip, rate, speed, &audio);
  if (status == LINNET_OK)
    status = take_clip(context, audio, changed);
  if (status == LINNET_OK)
    changed->scale *= clip->scale;
  return status;
}

enum linnet_status clip_change_samples(struct linnet_context *context, double rate, double speed, float **samples,
                                       size_t *count) {
  struct linnet_audio *audio = NULL;
  struct clip clip = {0};
  enum linnet_status status = clip_keep(context, *samples, *count, &clip);
  *samples = NULL;
  if (status == LINNET_OK)
    status = open_changed(context, &clip, rate, speed, &audio);
  if (status == LINNET_OK)
    status = linnet_audio_read_all(audio, samples, count);
  linnet_audio_destroy(audio);
  free(clip.samples);
  if (status != LINNET_OK)
    return status;
  const float scale = choose_scale(*samples, *count), whole = scale * clip.scale;
  for (size_t i = 0; i < *count; i++)
    (*samples)[i] = whole * to_int16((*samples)[i] / scale);
  return status;
}
