/* Audio input: reads every format of libsndfile (WAV, FLAC, Ogg Vorbis and Opus, MP3, AIFF, AU, W64, CAF, SPHERE, ...),
 * SPHERE with Shorten compression, and raw PCM, from a path, from memory or from a descriptor. It resamples the audio
 * to one rate, and mixes the channels or selects one of them. Samples are float on the int16 scale: full scale is
 * +-32768.
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
 * A truncated or damaged file is read as far as it can be decoded. A warning in the log then names the second where the
 * audio ends, or after a seek the second at which there is none. Exceptions: a truncated SPHERE file is refused,
 * because its header states the length exactly, and so is a truncated CAF file, which libsndfile does not open. Files
 * are decoded in blocks, so memory does not grow with their length. (Linnet prints nothing. But libmpg123, which
 * libsndfile uses for MP3, may print messages about damaged frames to standard error.)
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

/* The format of a name: "s16le", "s16be", "s24le", "s32le", "f32le", "u8", "ulaw", "alaw"; LINNET_SAMPLE_NONE for any
 * other. */
LINNET_API enum linnet_sample_format linnet_sample_format_find(const char *name);

enum { LINNET_CHANNEL_MIX = -1 };

/* Hard limits: rates of input and output in Hz, samples that linnet_audio_read_all returns (18 hours at 16 kHz), bytes
 * of a pipe that must be read to its end, channels of raw input. */
#define LINNET_AUDIO_MIN_RATE 1000.0
#define LINNET_AUDIO_MAX_RATE 384000.0
#define LINNET_AUDIO_MAX_SAMPLES ((size_t)1 << 30)
#define LINNET_AUDIO_MAX_PIPE_BYTES ((size_t)1 << 30)
#define LINNET_AUDIO_MAX_RAW_CHANNELS 64

/* Seconds that a part of an input may end after it: segments often end a little after their recording. They are cut
 * there without a warning, as by Kaldi's extract-segments, whose --max-overshoot has this default. */
#define LINNET_AUDIO_MAX_OVERSHOOT 0.5

struct linnet_audio_settings {
  size_t size;                          /* set by ..._default */
  double sample_rate;                   /* of the samples that linnet_audio_read returns, in Hz; default 16000 */
  int channel;                          /* 0-based, or LINNET_CHANNEL_MIX (default): the mean of all channels */
  enum linnet_sample_format raw_format; /* other than NONE: raw input, without a header */
  double raw_rate;                      /* Hz, for raw input; default 16000 */
  size_t num_raw_channels;              /* for raw input; default 1 */
  double max_seconds; /* maximum length, for inputs that may never end; a longer input fails with LINNET_ERROR_LIMIT;
                         default 0: no limit */
};

LINNET_API void linnet_audio_settings_default(struct linnet_audio_settings *settings, size_t size);
#define linnet_audio_settings_default(settings) linnet_audio_settings_default(settings, sizeof *(settings))

/* Opens a file; "-" is standard input. The call reads a pipe to its end, unless it is raw. `settings` may be NULL. The
 * context must outlive the object. If no file has the whole name, "FILE:OFFSET" is an entry of an archive of Kaldi. It
 * ends where its header says. If the header does not give the length, and for raw audio and CAF, the next entries may
 * be read too; WAV, RIFX, RF64, AIFF, AU, W64, VOC and MP3 then give a warning. */
LINNET_API enum linnet_status linnet_audio_open(struct linnet_context *context, const char *path,
                                                const struct linnet_audio_settings *settings,
                                                struct linnet_audio **audio);

/* Reads from a descriptor, which must stay open and which the caller closes. `name` is for messages and may be NULL.
 * Reading a file begins at the current offset of the descriptor, and does not change it. At an offset above 0 the file
 * is read like an entry of an archive. */
LINNET_API enum linnet_status linnet_audio_open_fd(struct linnet_context *context, int fd, const char *name,
                                                   const struct linnet_audio_settings *settings,
                                                   struct linnet_audio **audio);

/* Reads from memory, which must stay valid until the object is destroyed. `data` may be NULL if `bytes` is 0. */
LINNET_API enum linnet_status linnet_audio_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                       const struct linnet_audio_settings *settings,
                                                       struct linnet_audio **audio);

/* Restricts reading to the time from `start` to `end` seconds. A negative `end` means the end of the input. Call it
 * only before the first read. LINNET_ERROR_ARGUMENT if `start` is after the end of an input of known length. A part
 * that ends more than LINNET_AUDIO_MAX_OVERSHOOT after the input is cut, with a warning to the log callback. */
LINNET_API enum linnet_status linnet_audio_select(struct linnet_audio *audio, double start, double end);

/* Looks for the end that the header of a WAV, RIFX, RF64, AIFF, AU, W64, VOC or FLAC file announces, and for that of
 * the last page of an Ogg file, without decoding what is before it. LINNET_ERROR_FORMAT if the file ends early; the
 * error names the second and, but for FLAC and Ogg, the length in the header. After that the object can only be
 * destroyed. Files of other formats, and raw PCM, pass. */
LINNET_API enum linnet_status linnet_audio_check_end(struct linnet_audio *audio);

/* Opening and reading can be cancelled (linnet_cancel_fn), even while they wait for a pipe. After that the object can
 * only be destroyed.
 *
 * Reads up to `capacity` samples. On a pipe it waits until there is at least one. *count is 0 only at the end, with the
 * status LINNET_END; after a failure it has no meaning. Samples that are not finite are an error (LINNET_ERROR_FORMAT).
 */
LINNET_API enum linnet_status linnet_audio_read(struct linnet_audio *audio, float *samples, size_t capacity,
                                                size_t *count);

/* Reads all remaining samples into a buffer from the context's allocator; release it with linnet_audio_release. If no
 * samples remain, the status is LINNET_OK and *count is 0. On failure *samples is NULL. */
LINNET_API enum linnet_status linnet_audio_read_all(struct linnet_audio *audio, float **samples, size_t *count);
LINNET_API void linnet_audio_release(struct linnet_context *context, float *samples);

/* The rate in Hz of the samples that linnet_audio_read returns; the rate in Hz, the number of channels and the length
 * in seconds of the input. The length is negative if it is unknown, as that of an MP3 of variable bit rate without a
 * header of its length. */
LINNET_API double linnet_audio_sample_rate(const struct linnet_audio *audio);
LINNET_API double linnet_audio_input_rate(const struct linnet_audio *audio);
LINNET_API size_t linnet_audio_num_input_channels(const struct linnet_audio *audio);
LINNET_API double linnet_audio_seconds(const struct linnet_audio *audio);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_audio_destroy(struct linnet_audio *audio);

#ifdef __cplusplus
}
#endif
#endif
