/* Recordings held in memory as 16-bit samples. */
#ifndef LINNET_TOOL_CLIP_H
#define LINNET_TOOL_CLIP_H

#include <stddef.h>
#include <stdint.h>

#include <linnet/context.h>

/* Start with zeros; release samples with free. */
struct clip {
  int16_t *samples;
  size_t count;
  float scale; /* of the samples: 1, except for recordings that 16 bits would clip or round too much */
};

/* Keeps samples of linnet_audio_read_all (int16 scale), and releases them. */
enum linnet_status clip_keep(struct linnet_context *context, float *samples, size_t count, struct clip *clip);

/* Reads a file at a sample rate. */
enum linnet_status clip_read(struct linnet_context *context, const char *path, double rate, struct clip *clip);

/* The clip played `speed` times as fast: resamples it to rate / speed and treats the result as samples at `rate`. */
enum linnet_status clip_change_speed(struct linnet_context *context, const struct clip *clip, double rate, double speed,
                                     struct clip *changed);

/* The samples (count) of a clip, on the int16 scale. */
void clip_expand(const struct clip *clip, float *samples);

/* Changes the speed of samples of linnet_audio_read_all, which it replaces: the new ones are those of a clip. */
enum linnet_status clip_change_samples(struct linnet_context *context, double rate, double speed, float **samples,
                                       size_t *count);

#endif
