/* Raw PCM: samples without a header; from a pipe, they are read as they arrive. */
#include <string.h>

#include "base/numbers.h"
#include "base/reader.h"
#include "frontend/audio/audio_decoder.h"

struct linnet_decoder {
  struct linnet_bytes *bytes;
  enum linnet_sample_format format;
  size_t sample_bytes, channels;
  unsigned char *buffer; /* (capacity); the first `held` bytes are the beginning of a frame */
  size_t capacity, held;
  bool begun; /* the first bytes were looked at */
};

/* --- Samples to floats on the int16 scale --------------------------------------------------------------------- */

static float from_s16le(const unsigned char *b) {
  return (int16_t)(b[0] | b[1] << 8);
}

static float from_s16be(const unsigned char *b) {
  return (int16_t)(b[0] << 8 | b[1]);
}

static float from_s24le(const unsigned char *b) {
  int32_t value = (int32_t)((uint32_t)b[0] << 8 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 24);
  return (float)value / 65536;
}

static float from_s32le(const unsigned char *b) {
  return (float)(int32_t)linnet_load_u32(b) / 65536;
}

static float from_f32le(const unsigned char *b) {
  uint32_t word = linnet_load_u32(b);
  float value;
  memcpy(&value, &word, sizeof value);
  return value * 32768;
}

static float from_u8(const unsigned char *b) {
  return (float)((b[0] - 128) * 256);
}

static float from_ulaw(const unsigned char *b) {
  return (float)linnet_ulaw_decode(b[0]);
}

/* ITU-T G.711 */
static float from_alaw(const unsigned char *b) {
  int code = b[0] ^ 0x55, exponent = code >> 4 & 7, magnitude = (code & 15) << 4 | 8;
  if (exponent > 0)
    magnitude = (magnitude + 256) << (exponent - 1);
  return (float)(code & 0x80 ? magnitude : -magnitude);
}

static const struct {
  const char *name;
  size_t bytes;
  float (*convert)(const unsigned char *);
} formats[] = {[LINNET_SAMPLE_S16LE] = {"s16le", 2, from_s16le}, [LINNET_SAMPLE_S16BE] = {"s16be", 2, from_s16be},
               [LINNET_SAMPLE_S24LE] = {"s24le", 3, from_s24le}, [LINNET_SAMPLE_S32LE] = {"s32le", 4, from_s32le},
               [LINNET_SAMPLE_F32LE] = {"f32le", 4, from_f32le}, [LINNET_SAMPLE_U8] = {"u8", 1, from_u8},
               [LINNET_SAMPLE_ULAW] = {"ulaw", 1, from_ulaw},    [LINNET_SAMPLE_ALAW] = {"alaw", 1, from_alaw}};

enum linnet_sample_format linnet_sample_format_find(const char *name) {
  for (int i = LINNET_SAMPLE_S16LE; name && i <= LINNET_SAMPLE_ALAW; i++)
    if (strcmp(name, formats[i].name) == 0)
      return (enum linnet_sample_format)i;
  return LINNET_SAMPLE_NONE;
}

/* --- The decoder ---------------------------------------------------------------------------------------------- */

static void raw_destroy(struct linnet_decoder *decoder) {
  linnet_free(decoder->bytes->context, decoder->buffer);
  linnet_free(decoder->bytes->context, decoder);
}

/* Waits until at least one whole frame has arrived, but not for more. */
static size_t fill(struct linnet_decoder *decoder, size_t max_bytes, size_t frame_bytes) {
  while (decoder->held < frame_bytes) {
    size_t got = linnet_bytes_read(decoder->bytes, decoder->buffer + decoder->held, max_bytes - decoder->held);
    if (got == 0)
      return 0;
    decoder->held += got;
  }
  return decoder->held / frame_bytes;
}

static enum linnet_status finish(struct linnet_decoder *decoder) {
  LINNET_TRY(linnet_bytes_check(decoder->bytes));
  if (decoder->held > 0)
    linnet_log(decoder->bytes->context, LINNET_LOG_WARNING, "%s: ignores %zu byte%s after the last whole frame",
               decoder->bytes->name, decoder->held, linnet_plural(decoder->held));
  decoder->held = 0;
  return LINNET_OK;
}

/* Warns if the samples begin with the header of a format. The command adds its option to the end of this message
 * (tools/common/tool.c). */
static void look_for_header(struct linnet_decoder *decoder) {
  static const char *const marks[] = {"RIFF", "fLaC", "OggS", "caff", "FORM", "NIST_1A"};
  for (size_t i = 0; !decoder->begun && i < sizeof marks / sizeof *marks; i++)
    if (decoder->held >= strlen(marks[i]) && memcmp(decoder->buffer, marks[i], strlen(marks[i])) == 0)
      linnet_log(decoder->bytes->context, LINNET_LOG_WARNING,
                 "%s: begins with '%s', the header of an audio file, which is read as samples: read it as a file",
                 decoder->bytes->name, marks[i]);
  decoder->begun = true;
}

static enum linnet_status raw_read(struct linnet_decoder *decoder, float *interleaved, size_t frames, size_t *got) {
  size_t frame_bytes = decoder->sample_bytes * decoder->channels, max_bytes = frames * frame_bytes;
  *got = fill(decoder, max_bytes < decoder->capacity ? max_bytes : decoder->capacity, frame_bytes);
  if (*got == 0)
    return finish(decoder);
  look_for_header(decoder);
  for (size_t i = 0; i < *got * decoder->channels; i++)
    interleaved[i] = formats[decoder->format].convert(decoder->buffer + i * decoder->sample_bytes);
  size_t used = *got * frame_bytes;
  decoder->held -= used;
  memmove(decoder->buffer, decoder->buffer + used, decoder->held);
  return LINNET_OK;
}

static bool raw_seek(struct linnet_decoder *decoder, int64_t frame) {
  struct linnet_bytes *bytes = decoder->bytes;
  int64_t position;
  if (!bytes->seekable ||
      __builtin_mul_overflow(frame, (int64_t)(decoder->sample_bytes * decoder->channels), &position))
    return false;
  decoder->held = 0;
  decoder->begun = decoder->begun || position > 0;
  bytes->position = position;
  return true;
}

static const struct linnet_decoder_kind raw_kind = {raw_read, raw_seek, NULL, raw_destroy};

enum linnet_status linnet_decoder_open_raw(struct linnet_bytes *bytes, const struct linnet_audio_settings *settings,
                                           struct linnet_decoder_info *info) {
  struct linnet_context *context = bytes->context;
  size_t channels = settings->num_raw_channels, frame_bytes = formats[settings->raw_format].bytes * channels;
  struct linnet_decoder *decoder = linnet_calloc(context, 1, sizeof *decoder);
  size_t capacity = 16384 / frame_bytes * frame_bytes;
  unsigned char *buffer = decoder ? linnet_alloc(context, capacity, 1) : NULL;
  if (!buffer) {
    linnet_free(context, decoder);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", bytes->name);
  }
  *decoder = (struct linnet_decoder){.bytes = bytes,
                                     .format = settings->raw_format,
                                     .sample_bytes = formats[settings->raw_format].bytes,
                                     .channels = channels,
                                     .buffer = buffer,
                                     .capacity = capacity};
  int64_t frames = bytes->size < 0 ? -1 : bytes->size / (int64_t)frame_bytes;
  *info = (struct linnet_decoder_info){&raw_kind, decoder, settings->raw_rate, (int)settings->num_raw_channels, frames};
  return LINNET_OK;
}
