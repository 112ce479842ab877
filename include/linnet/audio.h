/* Audio reading: any format libsndfile reads (WAV, FLAC, Ogg Vorbis and Opus, MP3, AIFF, AU, W64, CAF, SPHERE,
 * ...), SPHERE with Shorten inside, or raw PCM, from a path, from memory or from a descriptor, resampled to one rate
 * and mixed to (or picked as) one channel. Samples are float on the int16 scale: full scale is +-32768.
 *
 *   struct linnet_audio *audio;
 *   float *samples;
 *   size_t n;
 *   if (linnet_audio_open(context, "speech.flac", NULL, &audio) == LINNET_OK &&
 *       linnet_audio_read_all(audio, &samples, &n) == LINNET_OK)
 *     ...
 *   linnet_audio_destroy(audio);
 *   linnet_audio_release(context, samples);
 *
 * A file that is cut short is read as far as it goes; what a decoder stumbled over is logged as a warning. Files are
 * decoded in blocks, so memory does not grow with their length. (Linnet prints nothing, but libmpg123, which libsndfile
 * reads MP3 with, may tell standard error about damaged frames.)
 *
 * Threads: one object, one thread at a time; different objects are independent.
 *
 * Stability: stable (linnet.h). */
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

/* By name: "s16le", "s16be", "s24le", "s32le", "f32le", "u8", "ulaw", "alaw"; LINNET_SAMPLE_NONE for any other. */
LINNET_API enum linnet_sample_format linnet_sample_format_find(const char *name);

enum { LINNET_CHANNEL_MIX = -1 };

/* Hard limits: rates of input and output in Hz, samples that linnet_audio_read_all returns (18 hours at 16 kHz), bytes
 * of a pipe that must be read to its end, channels of raw input. */
#define LINNET_AUDIO_MIN_RATE 1000.0
#define LINNET_AUDIO_MAX_RATE 384000.0
#define LINNET_AUDIO_MAX_SAMPLES ((size_t)1 << 30)
#define LINNET_AUDIO_MAX_PIPE_BYTES ((size_t)1 << 30)
#define LINNET_AUDIO_MAX_RAW_CHANNELS 64

struct linnet_audio_settings {
  size_t size;                          /* set by ..._default */
  double sample_rate;                   /* of what is read out, in Hz; default 16000 */
  int channel;                          /* 0-based, or LINNET_CHANNEL_MIX (default): the mean of all channels */
  enum linnet_sample_format raw_format; /* not NONE: the input has no header */
  double raw_rate;                      /* Hz, for raw input; default 16000 */
  size_t num_raw_channels;              /* for raw input; default 1 */
  double max_seconds; /* the maximum that is read, for inputs that may never end; a longer one fails with
                         LINNET_ERROR_LIMIT; default 0: none */
};

LINNET_API void linnet_audio_settings_default(struct linnet_audio_settings *settings, size_t size);
#define linnet_audio_settings_default(settings) linnet_audio_settings_default(settings, sizeof *(settings))

/* Opens a file; "-" is standard input. A pipe is read to its end first, unless it is raw. `settings` may be NULL. The
 * context must outlive the object. */
LINNET_API enum linnet_status linnet_audio_open(struct linnet_context *context, const char *path,
                                                const struct linnet_audio_settings *settings,
                                                struct linnet_audio **audio);

/* Reads from a descriptor, which stays the caller's and must stay open; `name` is for messages and may be NULL. A file
 * is read from where the descriptor stands, without moving it. */
LINNET_API enum linnet_status linnet_audio_open_fd(struct linnet_context *context, int fd, const char *name,
                                                   const struct linnet_audio_settings *settings,
                                                   struct linnet_audio **audio);

/* Reads from memory, which must stay until the object is destroyed. */
LINNET_API enum linnet_status linnet_audio_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                       const struct linnet_audio_settings *settings,
                                                       struct linnet_audio **audio);

/* Restricts reading to the time from `start` to `end` seconds; `end` negative is the end of the input. Before the first
 * read only; LINNET_ERROR_ARGUMENT if it begins after the end of an input of known length. */
LINNET_API enum linnet_status linnet_audio_select(struct linnet_audio *audio, double start, double end);

/* Opening and reading can be cancelled (linnet_cancel_fn), also while a pipe is silent; such an object can only be
 * destroyed.
 *
 * Reads up to `capacity` samples, blocking on pipes until there is at least one; *count is 0 only at the end (then the
 * status is LINNET_END). Samples that are not finite are an error (LINNET_ERROR_FORMAT). */
LINNET_API enum linnet_status linnet_audio_read(struct linnet_audio *audio, float *samples, size_t capacity,
                                                size_t *count);

/* Reads all that is left into a buffer made by the context's allocator: release it with linnet_audio_release. An input
 * without samples gives LINNET_OK and *count 0. On failure *samples is NULL. */
LINNET_API enum linnet_status linnet_audio_read_all(struct linnet_audio *audio, float **samples, size_t *count);
LINNET_API void linnet_audio_release(struct linnet_context *context, float *samples);

/* Rate in Hz and channels of the input itself, and its length in seconds, negative if that is not known. */
LINNET_API double linnet_audio_input_rate(const struct linnet_audio *audio);
LINNET_API size_t linnet_audio_num_input_channels(const struct linnet_audio *audio);
LINNET_API double linnet_audio_seconds(const struct linnet_audio *audio);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_audio_destroy(struct linnet_audio *audio);

#ifdef __cplusplus
}
#endif
#endif
