/* Audio inputs: decoding in blocks, one channel, one rate.
 *
 *   decoder -> interleaved (block, channels) -> mono (block) -> [resampler] -> out (ready) -> the caller */
#include <linnet/audio.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "frontend/audio/audio_decoder.h"
#include "frontend/audio/resample.h"

enum {
  BLOCK_SAMPLES = 16384,
  OUT_SAMPLES = 8192,
  PROBE_BYTES = 1 << 24 /* of a pipe: enough for the pictures that stand before the audio of some files */
};

struct linnet_audio {
  struct linnet_context *context;
  struct linnet_audio_settings settings;
  struct linnet_bytes bytes;
  struct linnet_decoder_info input;
  struct linnet_resampler *resampler; /* NULL: the rates are equal */
  size_t block;                       /* frames decoded at a time */
  float *interleaved;                 /* (block, channels) */
  float *mono;                        /* (block): mono[taken] ... mono[available - 1] are still to be used */
  size_t taken, available;
  bool decoded;              /* the decoder has nothing more */
  bool started;              /* something was read */
  int64_t skip;              /* frames still to be dropped before the first one wanted */
  int64_t left;              /* frames still wanted; -1: all */
  uint64_t frames;           /* decoded so far */
  int64_t sought;            /* the frame that decoding began at */
  int wanted_checksum;       /* of the SPHERE header; -1: none */
  unsigned checksum;         /* the sum of all decoded samples */
  float peak, mixed_peak;    /* of the channels, and of their mean; only if there are several and they are mixed */
  double delivered;          /* samples read out so far */
  enum linnet_status status; /* of a read that failed: all later ones fail too */
};

void(linnet_audio_settings_default)(struct linnet_audio_settings *settings, size_t size) {
  const struct linnet_audio_settings defaults = {.size = sizeof(struct linnet_audio_settings),
                                                 .sample_rate = 16000,
                                                 .channel = LINNET_CHANNEL_MIX,
                                                 .raw_format = LINNET_SAMPLE_NONE,
                                                 .raw_rate = 16000,
                                                 .num_raw_channels = 1};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* --- Opening -------------------------------------------------------------------------------------------------- */

static bool valid_rate(double rate) {
  return rate >= LINNET_AUDIO_MIN_RATE && rate <= LINNET_AUDIO_MAX_RATE;
}

static enum linnet_status check_settings(struct linnet_context *context, const struct linnet_audio_settings *s) {
  enum linnet_status bad = LINNET_ERROR_ARGUMENT;
  if (!valid_rate(s->sample_rate))
    return linnet_fail(context, bad, "audio: the sample rate is %g Hz; it must be %g to %g", s->sample_rate,
                       LINNET_AUDIO_MIN_RATE, LINNET_AUDIO_MAX_RATE);
  if (s->channel < LINNET_CHANNEL_MIX)
    return linnet_fail(context, bad, "audio: channel %d does not exist; channels count from 0", s->channel);
  if ((unsigned)s->raw_format > LINNET_SAMPLE_ALAW)
    return linnet_fail(context, bad, "audio: the raw sample format %d is unknown", (int)s->raw_format);
  if (!(s->max_seconds >= 0))
    return linnet_fail(context, bad, "audio: the maximum is %g seconds; it must be 0 (no maximum) or more",
                       s->max_seconds);
  if (s->raw_format == LINNET_SAMPLE_NONE)
    return LINNET_OK;
  if (!valid_rate(s->raw_rate))
    return linnet_fail(context, bad, "audio: the rate of raw input is %g Hz; it must be %g to %g", s->raw_rate,
                       LINNET_AUDIO_MIN_RATE, LINNET_AUDIO_MAX_RATE);
  if (s->num_raw_channels < 1 || s->num_raw_channels > LINNET_AUDIO_MAX_RAW_CHANNELS)
    return linnet_fail(context, bad, "audio: raw input has %zu channels; it must have 1 to %d", s->num_raw_channels,
                       LINNET_AUDIO_MAX_RAW_CHANNELS);
  return LINNET_OK;
}

static enum linnet_status check_input(const struct linnet_audio *audio) {
  const struct linnet_decoder_info *input = &audio->input;
  if (!valid_rate(input->rate))
    return linnet_fail(audio->context, LINNET_ERROR_UNSUPPORTED, "%s: the sample rate is %g Hz; it must be %g to %g",
                       audio->bytes.name, input->rate, LINNET_AUDIO_MIN_RATE, LINNET_AUDIO_MAX_RATE);
  if (audio->settings.channel >= input->channels)
    return linnet_fail(audio->context, LINNET_ERROR_ARGUMENT,
                       "%s: channel %d does not exist: the file has %d, counted from 0", audio->bytes.name,
                       audio->settings.channel, input->channels);
  return LINNET_OK;
}

static enum linnet_status open_header(struct linnet_audio *audio) {
  struct linnet_sphere sphere = {.checksum = -1};
  if (linnet_sphere_found(&audio->bytes)) /* libsndfile reads SPHERE, but not coded samples */
    LINNET_TRY(linnet_sphere_read(&audio->bytes, &sphere));
  LINNET_TRY(sphere.shortened ? linnet_decoder_open_shorten(&audio->bytes, &sphere, &audio->input)
                              : linnet_decoder_open_sndfile(&audio->bytes, &audio->input));
  audio->wanted_checksum = sphere.bytes == 2 ? sphere.checksum : -1;
  return LINNET_OK;
}

static void close_decoder(struct linnet_audio *audio) {
  if (audio->input.kind)
    audio->input.kind->destroy(audio->input.decoder);
  audio->input = (struct linnet_decoder_info){.kind = NULL};
}

/* Reads a pipe to its end, unless its beginning is in no supported format. */
static enum linnet_status open_decoder(struct linnet_audio *audio) {
  bool more = false;
  if (audio->settings.raw_format != LINNET_SAMPLE_NONE)
    return linnet_decoder_open_raw(&audio->bytes, &audio->settings, &audio->input);
  LINNET_TRY(linnet_bytes_slurp(&audio->bytes, PROBE_BYTES, &more));
  if (more && !linnet_sphere_found(&audio->bytes) && !linnet_sndfile_found(&audio->bytes)) {
    LINNET_TRY(open_header(audio));
    close_decoder(audio);
  }
  if (more)
    LINNET_TRY(linnet_bytes_slurp(&audio->bytes, SIZE_MAX, &more));
  return open_header(audio);
}

static enum linnet_status prepare(struct linnet_audio *audio) {
  LINNET_TRY(open_decoder(audio));
  LINNET_TRY(check_input(audio));
  size_t channels = (size_t)audio->input.channels;
  audio->block = BLOCK_SAMPLES / channels;
  audio->left = -1;
  audio->interleaved = linnet_alloc(audio->context, audio->block * channels, sizeof(float));
  audio->mono = linnet_alloc(audio->context, audio->block, sizeof(float));
  if (!audio->interleaved || !audio->mono)
    return linnet_fail(audio->context, LINNET_ERROR_MEMORY, "%s: out of memory", audio->bytes.name);
  if (audio->input.rate == audio->settings.sample_rate)
    return LINNET_OK;
  return linnet_resampler_create(audio->context, audio->input.rate, audio->settings.sample_rate, &audio->resampler);
}

/* An object with valid settings and no input yet. */
static enum linnet_status begin(struct linnet_context *context, const struct linnet_audio_settings *settings,
                                struct linnet_audio **result) {
  struct linnet_audio_settings own;
  LINNET_TRY(LINNET_READ_SETTINGS(context, audio, settings, &own));
  LINNET_TRY(check_settings(context, &own));
  linnet_poll_begin(context);
  struct linnet_audio *audio = linnet_calloc(context, 1, sizeof *audio);
  if (!audio)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for an audio input");
  audio->context = context;
  audio->settings = own;
  audio->wanted_checksum = -1;
  *result = audio;
  return LINNET_OK;
}

/* `status` is that of opening the bytes. */
static enum linnet_status finish(struct linnet_audio *audio, enum linnet_status status, struct linnet_audio **result) {
  if (status == LINNET_OK)
    status = prepare(audio);
  if (status != LINNET_OK) {
    linnet_audio_destroy(audio);
    return status;
  }
  *result = audio;
  return LINNET_OK;
}

enum linnet_status linnet_audio_open(struct linnet_context *context, const char *path,
                                     const struct linnet_audio_settings *settings, struct linnet_audio **result) {
  if (result)
    *result = NULL;
  if (!context || !path || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_audio_open: an argument is NULL");
  struct linnet_audio *audio;
  LINNET_TRY(begin(context, settings, &audio));
  return finish(audio, linnet_bytes_open_path(context, path, &audio->bytes), result);
}

enum linnet_status linnet_audio_open_fd(struct linnet_context *context, int fd, const char *name,
                                        const struct linnet_audio_settings *settings, struct linnet_audio **result) {
  if (result)
    *result = NULL;
  if (!context || fd < 0 || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_audio_open_fd: an argument is NULL, or the descriptor is invalid");
  struct linnet_audio *audio;
  LINNET_TRY(begin(context, settings, &audio));
  return finish(audio, linnet_bytes_open_fd(context, fd, name ? name : "descriptor", &audio->bytes), result);
}

enum linnet_status linnet_audio_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                            const struct linnet_audio_settings *settings,
                                            struct linnet_audio **result) {
  if (result)
    *result = NULL;
  if (!context || (!data && bytes > 0) || bytes > INT64_MAX || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_audio_open_memory: an argument is NULL, or there are too many bytes");
  struct linnet_audio *audio;
  LINNET_TRY(begin(context, settings, &audio));
  return finish(audio, linnet_bytes_open_memory(context, data ? data : "", bytes, "audio in memory", &audio->bytes),
                result);
}

void linnet_audio_destroy(struct linnet_audio *audio) {
  if (!audio)
    return;
  close_decoder(audio);
  linnet_resampler_destroy(audio->resampler);
  linnet_bytes_close(&audio->bytes);
  linnet_free(audio->context, audio->interleaved);
  linnet_free(audio->context, audio->mono);
  linnet_free(audio->context, audio);
}

double linnet_audio_sample_rate(const struct linnet_audio *audio) {
  return audio ? audio->settings.sample_rate : -1;
}

double linnet_audio_input_rate(const struct linnet_audio *audio) {
  return audio ? audio->input.rate : -1;
}

size_t linnet_audio_num_input_channels(const struct linnet_audio *audio) {
  return audio ? (size_t)audio->input.channels : 0;
}

double linnet_audio_seconds(const struct linnet_audio *audio) {
  return audio && audio->input.frames >= 0 ? (double)audio->input.frames / audio->input.rate : -1;
}

enum linnet_status linnet_audio_check_end(struct linnet_audio *audio) {
  if (!audio)
    return LINNET_ERROR_ARGUMENT;
  linnet_poll_begin(audio->context);
  return audio->input.kind->check_end ? audio->input.kind->check_end(audio->input.decoder) : LINNET_OK;
}

/* --- Choosing a part ------------------------------------------------------------------------------------------ */

/* Fails because the input ends before the part. */
static enum linnet_status fail_part(const struct linnet_audio *audio, double start, double end) {
  char part[64];
  if (end < 0)
    snprintf(part, sizeof part, "no part from %.3f seconds on", start);
  else
    snprintf(part, sizeof part, "no part from %.3f to %.3f seconds", start, end);
  return linnet_fail(audio->context, LINNET_ERROR_ARGUMENT, "%s: lasts %.3f seconds and has %s", audio->bytes.name,
                     linnet_audio_seconds(audio), part);
}

enum linnet_status linnet_audio_select(struct linnet_audio *audio, double start, double end) {
  if (!audio)
    return LINNET_ERROR_ARGUMENT;
  if (audio->started)
    return linnet_fail(audio->context, LINNET_ERROR_STATE, "linnet_audio_select: call it before reading begins");
  const struct linnet_decoder_info *input = &audio->input;
  double longest = 1e9; /* seconds: the products below stay within 64 bits */
  if (!(start >= 0 && start <= longest) || !(end < 0 || (end > start && end <= longest)))
    return linnet_fail(audio->context, LINNET_ERROR_ARGUMENT, "%s: %g to %g seconds is not a range of times",
                       audio->bytes.name, start, end);
  int64_t first = llround(start * input->rate);
  if (input->frames >= 0 && first >= input->frames && first > 0)
    return fail_part(audio, start, end);
  if (input->frames >= 0 && end > linnet_audio_seconds(audio) + LINNET_AUDIO_MAX_OVERSHOOT)
    linnet_log(audio->context, LINNET_LOG_WARNING, "%s: lasts %.3f seconds; the part from %.3f to %.3f seconds is cut",
               audio->bytes.name, linnet_audio_seconds(audio), start, end);
  audio->left = end < 0 ? -1 : llround(end * input->rate) - first;
  audio->sought = input->kind->seek(input->decoder, first) ? first : 0;
  audio->skip = first - audio->sought;
  return LINNET_OK;
}

/* --- Reading -------------------------------------------------------------------------------------------------- */

static void pick_channel(const float *interleaved, size_t channels, size_t channel, size_t frames, float *mono) {
  for (size_t t = 0; t < frames; t++)
    mono[t] = interleaved[t * channels + channel];
}

static void mix_channels(struct linnet_audio *audio, size_t channels, size_t frames) {
  const float *interleaved = audio->interleaved;
  for (size_t t = 0; t < frames; t++) {
    float sum = 0;
    for (size_t c = 0; c < channels; c++) {
      sum += interleaved[t * channels + c];
      audio->peak = fmaxf(audio->peak, fabsf(interleaved[t * channels + c]));
    }
    audio->mono[t] = sum / (float)channels;
    audio->mixed_peak = fmaxf(audio->mixed_peak, fabsf(audio->mono[t]));
  }
}

/* At the end: channels of which one is the negative of the other have a mean that is silent but for rounding. */
static void check_cancellation(const struct linnet_audio *audio) {
  if (audio->mixed_peak <= 1 && audio->peak >= 32)
    linnet_log(audio->context, LINNET_LOG_WARNING,
               "%s: its channels cancel each other out, so that their mean is silent: choose one channel",
               audio->bytes.name);
}

/* Full scale is 32768. Above this bound, resampling and power spectra overflow. */
static const float MAX_SAMPLE = 1e12f;

static enum linnet_status check_samples(const struct linnet_audio *audio, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!(fabsf(audio->mono[i]) <= MAX_SAMPLE))
      return linnet_fail(audio->context, LINNET_ERROR_FORMAT, "%s: the sample at %.4f seconds is %g: not audio",
                         audio->bytes.name, (double)((uint64_t)audio->sought + audio->frames + i) / audio->input.rate,
                         (double)audio->mono[i]);
  return LINNET_OK;
}

static void add_checksum(struct linnet_audio *audio, size_t samples) {
  for (size_t i = 0; i < samples && audio->wanted_checksum >= 0; i++)
    audio->checksum += (unsigned)lrintf(audio->interleaved[i]);
}

/* At the end of a file that was read from its first frame on. */
static void check_checksum(const struct linnet_audio *audio) {
  unsigned sum = audio->checksum & 65535;
  if (audio->wanted_checksum >= 0 && audio->left < 0 && (int64_t)audio->frames == audio->input.frames &&
      sum != (unsigned)audio->wanted_checksum)
    linnet_log(
        audio->context, LINNET_LOG_WARNING,
        "%s: its samples have the checksum %u, but the SPHERE header has %d: the file may be damaged; copy it again",
        audio->bytes.name, sum, audio->wanted_checksum);
}

/* Decodes the next block into `mono`, if more frames are wanted. */
static enum linnet_status decode(struct linnet_audio *audio) {
  size_t channels = (size_t)audio->input.channels, got = 0, wanted = audio->block;
  LINNET_TRY(linnet_poll_check(audio->context));
  audio->taken = audio->available = 0;
  if (audio->left >= 0 && audio->skip == 0 && (uint64_t)audio->left < wanted)
    wanted = (size_t)audio->left;
  if (wanted > 0)
    LINNET_TRY(audio->input.kind->read(audio->input.decoder, audio->interleaved, wanted, &got));
  audio->decoded = got == 0;
  if (audio->settings.channel == LINNET_CHANNEL_MIX && channels > 1)
    mix_channels(audio, channels, got);
  else
    pick_channel(audio->interleaved, channels, audio->settings.channel < 0 ? 0 : (size_t)audio->settings.channel, got,
                 audio->mono);
  LINNET_TRY(check_samples(audio, got));
  audio->frames += got;
  add_checksum(audio, got * channels);
  if (audio->decoded) {
    check_checksum(audio);
    check_cancellation(audio);
  }
  size_t dropped = audio->skip < (int64_t)got ? (size_t)audio->skip : got;
  audio->skip -= (int64_t)dropped;
  audio->taken = dropped;
  audio->available = got;
  if (audio->left >= 0 && got - dropped > (uint64_t)audio->left)
    audio->available = dropped + (size_t)audio->left;
  if (audio->left >= 0)
    audio->left -= (int64_t)(audio->available - dropped);
  return LINNET_OK;
}

static enum linnet_status read_plain(struct linnet_audio *audio, float *samples, size_t capacity, size_t *count) {
  while (audio->taken == audio->available && !audio->decoded)
    LINNET_TRY(decode(audio));
  size_t left = audio->available - audio->taken;
  *count = left < capacity ? left : capacity;
  memcpy(samples, audio->mono + audio->taken, *count * sizeof *samples);
  audio->taken += *count;
  return LINNET_OK;
}

static enum linnet_status read_resampled(struct linnet_audio *audio, float *samples, size_t capacity, size_t *count) {
  *count = 0;
  while (*count == 0) {
    if (audio->taken == audio->available && !audio->decoded)
      LINNET_TRY(decode(audio));
    size_t used = 0, left = audio->available - audio->taken;
    bool ended = audio->decoded && left == 0;
    LINNET_TRY(linnet_resampler_run(audio->resampler, ended ? NULL : audio->mono + audio->taken, left, &used, samples,
                                    capacity, count));
    audio->taken += used;
    if (ended)
      break;
  }
  return LINNET_OK;
}

static enum linnet_status check_maximum(struct linnet_audio *audio, size_t count) {
  const struct linnet_audio_settings *s = &audio->settings;
  audio->delivered += (double)count;
  if (s->max_seconds == 0 || audio->delivered <= s->max_seconds * s->sample_rate)
    return LINNET_OK;
  return linnet_fail(audio->context, LINNET_ERROR_LIMIT,
                     "%s: longer than the maximum of %g seconds: divide it, or raise max_seconds", audio->bytes.name,
                     s->max_seconds);
}

enum linnet_status linnet_audio_read(struct linnet_audio *audio, float *samples, size_t capacity, size_t *count) {
  if (count)
    *count = 0;
  if (!audio)
    return LINNET_ERROR_ARGUMENT;
  if (!samples || capacity == 0 || !count)
    return linnet_fail(audio->context, LINNET_ERROR_ARGUMENT,
                       "linnet_audio_read: an argument is NULL, or the capacity is 0");
  audio->started = true;
  linnet_poll_begin(audio->context);
  if (audio->status != LINNET_OK)
    return linnet_fail(audio->context, audio->status, "%s: an earlier read failed", audio->bytes.name);
  audio->status =
      audio->resampler ? read_resampled(audio, samples, capacity, count) : read_plain(audio, samples, capacity, count);
  if (audio->status == LINNET_OK)
    audio->status = check_maximum(audio, *count);
  if (audio->status != LINNET_OK)
    return audio->status;
  return *count > 0 ? LINNET_OK : LINNET_END;
}

/* The length in the header avoids reallocation, but is not trusted beyond about a minute. */
static size_t first_capacity(const struct linnet_audio *audio) {
  double expected = linnet_audio_seconds(audio) * audio->settings.sample_rate + 64;
  return expected < OUT_SAMPLES ? OUT_SAMPLES : expected > (1 << 20) ? 1 << 20 : (size_t)expected;
}

static enum linnet_status read_rest(struct linnet_audio *audio, float **samples, size_t *count) {
  size_t capacity = 0, needed = first_capacity(audio);
  for (;;) {
    float *grown = linnet_grow(audio->context, *samples, &capacity, needed, sizeof **samples);
    if (!grown)
      return linnet_fail(audio->context, LINNET_ERROR_MEMORY, "%s: out of memory after %zu samples", audio->bytes.name,
                         *count);
    *samples = grown;
    size_t got;
    enum linnet_status status = linnet_audio_read(audio, *samples + *count, capacity - *count, &got);
    *count += got;
    if (status != LINNET_OK)
      return status == LINNET_END ? LINNET_OK : status;
    if (*count > LINNET_AUDIO_MAX_SAMPLES)
      return linnet_fail(audio->context, LINNET_ERROR_LIMIT, "%s: longer than %zu samples: read it in pieces",
                         audio->bytes.name, LINNET_AUDIO_MAX_SAMPLES);
    needed = *count + 1;
  }
}

enum linnet_status linnet_audio_read_all(struct linnet_audio *audio, float **samples, size_t *count) {
  if (samples)
    *samples = NULL;
  if (count)
    *count = 0;
  if (!audio)
    return LINNET_ERROR_ARGUMENT;
  if (!samples || !count)
    return linnet_fail(audio->context, LINNET_ERROR_ARGUMENT, "linnet_audio_read_all: an argument is NULL");
  enum linnet_status status = read_rest(audio, samples, count);
  if (status != LINNET_OK) {
    linnet_free(audio->context, *samples);
    *samples = NULL;
    *count = 0;
  }
  return status;
}

void linnet_audio_release(struct linnet_context *context, float *samples) {
  if (context)
    linnet_free(context, samples);
}
