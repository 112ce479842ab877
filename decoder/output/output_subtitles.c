/* Subtitles: SubRip (SRT) and WebVTT. A cue is at most one line of 42 characters and 7 seconds, and ends at a pause. */
#include <math.h>
#include <string.h>

#include "decoder/output/output.h"

enum { CUE_CHARACTERS = 42 };
static const double cue_seconds = 7, pause_seconds = 0.8;

struct style {
  const char *decimal; /* between seconds and milliseconds */
  bool numbered;
  const char *ampersand, *less, *greater; /* how & < > are written */
};

/* In SRT, players read "<b>" as a tag, and not all of them know character references. With a word joiner (U+2060, of no
 * width) after the "<", all players show it as text. */
static const struct style srt = {",", true, "&", "<\xE2\x81\xA0", ">"}, vtt = {".", false, "&amp;", "&lt;", "&gt;"};

/* Counts UTF-8 characters: all bytes that are not continuation bytes. */
static size_t characters(const char *text) {
  size_t count = 0;
  for (; *text; text++)
    count += ((unsigned char)*text & 0xC0) != 0x80;
  return count;
}

/* The first span after the cue that begins with spans[first]. */
static size_t end_of_cue(const struct linnet_span *spans, size_t first, size_t count) {
  size_t i = first + 1, length = characters(linnet_span_text(&spans[first]));
  for (; i < count; i++) {
    length += 1 + characters(linnet_span_text(&spans[i]));
    if (length > CUE_CHARACTERS || spans[i].start - spans[i - 1].end > pause_seconds ||
        spans[i].end - spans[first].start > cue_seconds)
      break;
  }
  return i;
}

static uint64_t milliseconds(double seconds) {
  return (uint64_t)llround(fmin(fmax(seconds, 0), 1e9) * 1000);
}

/* HH:MM:SS and milliseconds. */
static void put_clock(struct linnet_sink *sink, uint64_t ms, const struct style *style) {
  linnet_put_integer(sink, ms / 3600000, 2);
  linnet_put(sink, ":");
  linnet_put_integer(sink, ms / 60000 % 60, 2);
  linnet_put(sink, ":");
  linnet_put_integer(sink, ms / 1000 % 60, 2);
  linnet_put(sink, style->decimal);
  linnet_put_integer(sink, ms % 1000, 3);
}

static void put_text(struct linnet_sink *sink, const char *text, const struct style *style) {
  for (; *text; text++) {
    if (*text == '\n' || *text == '\r')
      linnet_put(sink, " ");
    else if (strchr("&<>", *text))
      linnet_put(sink, *text == '&' ? style->ampersand : *text == '<' ? style->less : style->greater);
    else
      linnet_put_bytes(sink, text, 1);
  }
}

static void put_cues(const struct linnet_output *output, struct linnet_sink *sink, const struct style *style) {
  size_t count, number = 1;
  const struct linnet_span *spans = linnet_main_tier(output, &count);
  for (size_t first = 0, end; first < count; first = end, number++) {
    end = end_of_cue(spans, first, count);
    if (style->numbered) {
      linnet_put_integer(sink, number, 1);
      linnet_put(sink, "\n");
    }
    const uint64_t start = milliseconds(output->offset + spans[first].start);
    const uint64_t stop = milliseconds(output->offset + spans[end - 1].end);
    put_clock(sink, start, style);
    linnet_put(sink, " --> ");
    put_clock(sink, stop > start ? stop : start + 1, style); /* a cue without a length is never shown */
    linnet_put(sink, "\n");
    for (size_t i = first; i < end; i++) {
      linnet_put(sink, i > first ? " " : "");
      put_text(sink, linnet_span_text(&spans[i]), style);
    }
    linnet_put(sink, "\n\n");
  }
}

void linnet_output_srt(const struct linnet_output *output, struct linnet_sink *sink) {
  put_cues(output, sink, &srt);
}

void linnet_output_vtt_begin(struct linnet_sink *sink) {
  linnet_put(sink, "WEBVTT\n\n");
}

void linnet_output_vtt(const struct linnet_output *output, struct linnet_sink *sink) {
  put_cues(output, sink, &vtt);
}
