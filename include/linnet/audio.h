/* Audio reading: any format libsndfile reads, or raw PCM, from a path, from memory or from a descriptor, resampled to
 * one rate and mixed to (or picked as) one channel. Samples are float on the int16 scale: full scale is +-32768.
 *
 * Threads: one object, one thread at a time. */
#ifndef LINNET_AUDIO_H
#define LINNET_AUDIO_H

#include <stdint.h>

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_audio;

enum linnet_sample_format {
  LINNET_SAMPLE_NONE = 0, /* the input has a header */
  LINNET_SAMPLE_S16LE = 1,
  LINNET_SAMPLE_S16BE = 2,
  LINNET_SAMPLE_S24LE = 3,
  LINNET_SAMPLE_S32LE = 4,
  LINNET_SAMPLE_F32LE = 5,
  LINNET_SAMPLE_U8 = 6,
  LINNET_SAMPLE_ULAW = 7,
  LINNET_SAMPLE_ALAW = 8
};

enum { LINNET_CHANNEL_MIX = -1 };

struct linnet_audio_settings {
  size_t size;                          /* set by ..._default */
  double sample_rate;                   /* of what is read out, in Hz; default 16000 */
  int channel;                          /* 0-based, or LINNET_CHANNEL_MIX (default): the mean of all channels */
  enum linnet_sample_format raw_format; /* not NONE: the input has no header */
  double raw_rate;                      /* Hz, for raw input; default 16000 */
  int raw_channels;                     /* for raw input; default 1 */
};

LINNET_API void linnet_audio_settings_default(struct linnet_audio_settings *settings);

/* Opens a file; "-" is standard input. A pipe is read to its end first, unless it is raw. `settings` may be NULL. */
LINNET_API enum linnet_status linnet_audio_open(struct linnet_context *context, const char *path,
                                                const struct linnet_audio_settings *settings,
                                                struct linnet_audio **audio);

/* Reads from a descriptor, which stays the caller's; `name` is for messages. */
LINNET_API enum linnet_status linnet_audio_open_fd(struct linnet_context *context, int fd, const char *name,
                                                   const struct linnet_audio_settings *settings,
                                                   struct linnet_audio **audio);

/* Reads from memory, which must stay until the object is destroyed. */
LINNET_API enum linnet_status linnet_audio_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                       const struct linnet_audio_settings *settings,
                                                       struct linnet_audio **audio);

/* Reads up to `capacity` samples, blocking on pipes; *count is 0 only at the end (then the status is LINNET_END). */
LINNET_API enum linnet_status linnet_audio_read(struct linnet_audio *audio, float *samples, size_t capacity,
                                                size_t *count);

/* Reads all that is left into a buffer made by the context's allocator: release it with linnet_audio_release. */
LINNET_API enum linnet_status linnet_audio_read_all(struct linnet_audio *audio, float **samples, size_t *count);
LINNET_API void linnet_audio_release(struct linnet_context *context, float *samples);

/* Rate in Hz and channels of the input itself, and its length in seconds where known, else a negative number. */
LINNET_API double linnet_audio_input_rate(const struct linnet_audio *audio);
LINNET_API int linnet_audio_input_channels(const struct linnet_audio *audio);
LINNET_API double linnet_audio_seconds(const struct linnet_audio *audio);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_audio_destroy(struct linnet_audio *audio);

#ifdef __cplusplus
}
#endif
#endif
