/* The table of output formats. */
#include "decoder/output/output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "decoder/base/characters.h"

struct linnet_output_format {
  const char *name, *extension;
  bool single, alternatives, times;
  void (*begin)(struct linnet_sink *sink); /* the start of a file; NULL: nothing */
  void (*write)(const struct linnet_output *output, struct linnet_sink *sink);
};

static const struct linnet_output_format formats[] = {
    {"text", "txt", false, true, false, NULL, linnet_output_text},
    {"json", "json", false, true, true, NULL, linnet_output_json},
    {"ctm", "ctm", false, false, true, NULL, linnet_output_ctm},
    {"stm", "stm", false, false, true, NULL, linnet_output_stm},
    {"textgrid", "TextGrid", true, false, true, NULL, linnet_output_textgrid},
    {"srt", "srt", true, false, true, NULL, linnet_output_srt},
    {"vtt", "vtt", true, false, true, linnet_output_vtt_begin, linnet_output_vtt},
};

enum { FORMATS = sizeof formats / sizeof *formats };

const struct linnet_output_format *linnet_output_format_at(size_t index) {
  return index < FORMATS ? &formats[index] : NULL;
}

const struct linnet_output_format *linnet_output_format_find(const char *name) {
  for (size_t i = 0; i < FORMATS; i++)
    if (strcmp(formats[i].name, name) == 0)
      return &formats[i];
  return NULL;
}

const char *linnet_output_format_name(const struct linnet_output_format *format) {
  return format->name;
}

const char *linnet_output_format_extension(const struct linnet_output_format *format) {
  return format->extension;
}

int linnet_output_format_is_single(const struct linnet_output_format *format) {
  return format->single;
}

int linnet_output_format_has_alternatives(const struct linnet_output_format *format) {
  return format->alternatives;
}

int linnet_output_format_has_times(const struct linnet_output_format *format) {
  return format->times;
}

static size_t size_of(const struct linnet_output *output) {
  return output->size < sizeof *output ? output->size : sizeof *output;
}

enum linnet_status linnet_output_read(struct linnet_context *context, const struct linnet_output *output,
                                      struct linnet_output *full) {
  memset(full, 0, sizeof *full);
  if (output->size < sizeof output->size)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "set the size of struct linnet_output before this call");
  memcpy(full, output, size_of(output));
  return LINNET_OK;
}

void linnet_output_fill(struct linnet_output *output, const struct linnet_output *full) {
  memcpy(output, full, size_of(output));
}

enum linnet_status linnet_output_begin(const struct linnet_output_format *format, linnet_write_fn write, void *user) {
  struct linnet_sink sink = {.write = write, .user = user};
  if (!format || !write)
    return LINNET_ERROR_ARGUMENT;
  if (format->begin)
    format->begin(&sink);
  return sink.failed ? LINNET_ERROR_IO : LINNET_OK;
}

/* Spans must be ordered and finite, and must not overlap. */
static bool is_tier(const struct linnet_span *spans, size_t count) {
  double last = 0;
  for (size_t i = 0; i < count; i++) {
    if (!spans[i].text || !(spans[i].start >= last) || !(spans[i].end >= spans[i].start) || !isfinite(spans[i].end))
      return false;
    last = spans[i].end;
  }
  return true;
}

static bool are_segments(const struct linnet_output *output) {
  size_t count, last = 0;
  linnet_main_tier(output, &count);
  for (size_t i = 0; output->segment_ends && i < output->num_segments; i++) {
    if (output->segment_ends[i] <= last || output->segment_ends[i] > count)
      return false;
    last = output->segment_ends[i];
  }
  return true;
}

static bool is_valid(const struct linnet_output *output) {
  bool good = output->id && output->offset >= 0 && output->begins >= 0 && output->seconds >= 0 &&
              is_tier(output->words, output->num_words) && is_tier(output->phones, output->num_phones) &&
              are_segments(output);
  for (size_t i = 0; good && i < output->num_alternatives; i++)
    good = is_tier(output->alternatives[i].words, output->alternatives[i].num_words) &&
           is_tier(output->alternatives[i].phones, output->alternatives[i].num_phones);
  return good;
}

enum linnet_status linnet_output_write(const struct linnet_output_format *format, const struct linnet_output *output,
                                       linnet_write_fn write, void *user) {
  struct linnet_sink sink = {.write = write, .user = user};
  struct linnet_output own = {.size = sizeof own};
  if (!format || !output || !write)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(linnet_settings_read(NULL, "struct linnet_output", output, &own, sizeof own));
  if (!is_valid(&own))
    return LINNET_ERROR_ARGUMENT;
  format->write(&own, &sink);
  return sink.failed ? LINNET_ERROR_IO : LINNET_OK;
}

/* --- functions of all formats ------------------------------------------------------------------------------------- */

void linnet_put_bytes(struct linnet_sink *sink, const char *text, size_t bytes) {
  if (!sink->failed && bytes > 0)
    sink->failed = sink->write(sink->user, text, bytes) != 0;
}

void linnet_put(struct linnet_sink *sink, const char *text) {
  linnet_put_bytes(sink, text, strlen(text));
}

void linnet_put_integer(struct linnet_sink *sink, uint64_t value, int digits) {
  char text[32];
  snprintf(text, sizeof text, "%0*llu", digits, (unsigned long long)value);
  linnet_put(sink, text);
}

void linnet_put_number(struct linnet_sink *sink, double value, int decimals) {
  uint64_t scale = 1;
  for (int i = 0; i < decimals; i++)
    scale *= 10;
  uint64_t units = (uint64_t)llround(fmin(fmax(value, 0), 1e9) * (double)scale);
  linnet_put_integer(sink, units / scale, 1);
  linnet_put(sink, ".");
  linnet_put_integer(sink, units % scale, decimals);
}

void linnet_put_field(struct linnet_sink *sink, const char *text) {
  if (!*text)
    linnet_put(sink, "_");
  while (*text) {
    size_t plain = strcspn(text, " \t\r\n\v\f");
    linnet_put_bytes(sink, text, plain);
    text += plain;
    if (*text) {
      linnet_put(sink, "_");
      text++;
    }
  }
}

void linnet_put_json_text(struct linnet_sink *sink, const char *text) {
  static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
  for (const char *s = text; *s;) {
    char escape[8];
    unsigned char c = (unsigned char)*s;
    size_t length = linnet_utf8_length(s);
    const char *at = strchr(plain, c);
    if (at || c < 0x20 || c == 0x7F) {
      snprintf(escape, sizeof escape, at ? "\\%c" : "\\u%04x", at ? letters[at - plain] : c);
      linnet_put(sink, escape);
    } else if (length > 0) {
      linnet_put_bytes(sink, s, length);
    } else {
      linnet_put(sink, "\\ufffd");
    }
    s += length > 0 ? length : 1;
  }
}

void linnet_put_json_string(struct linnet_sink *sink, const char *text) {
  linnet_put(sink, "\"");
  linnet_put_json_text(sink, text);
  linnet_put(sink, "\"");
}

enum linnet_status linnet_output_json_string(const char *text, linnet_write_fn write, void *user) {
  struct linnet_sink sink = {.write = write, .user = user};
  if (!text || !write)
    return LINNET_ERROR_ARGUMENT;
  linnet_put_json_string(&sink, text);
  return sink.failed ? LINNET_ERROR_IO : LINNET_OK;
}

const char *linnet_span_text(const struct linnet_span *span) {
  return span->written ? span->written : span->text;
}

const struct linnet_span *linnet_main_tier(const struct linnet_output *output, size_t *count) {
  *count = output->words ? output->num_words : output->num_phones;
  return output->words ? output->words : output->phones;
}
