/* Subtitles: SubRip (SRT) and WebVTT. A cue is at most one line of 42 characters and 7 seconds, and ends at a pause. It
 * also ends with a sentence, unless it takes less than a second. If a line is full before that, the cue ends after
 * another punctuation mark in its second half, else at the longest gap there. A word without vowels and with a point is
 * taken for an abbreviation, also at the end of a sentence: "this TV." */
#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/utf8.h"
#include "decoder/output/output.h"

enum { CUE_CHARACTERS = 42, MIN_CHARACTERS = 8 };
static const double cue_seconds = 7, pause_seconds = 0.8, gap_seconds = 0.15, min_seconds = 1;

struct style {
  const char *decimal; /* between seconds and milliseconds */
  bool numbered;
  const char *ampersand, *less, *greater; /* how & < > are written */
};

/* In SRT, players read "<b>" as a tag, and not all of them know character references. With a word joiner (U+2060, of no
 * width) after the "<", all players show it as text. */
static const struct style srt = {",", true, "&", "<\xE2\x81\xA0", ">"}, vtt = {".", false, "&amp;", "&lt;", "&gt;"};

/* Characters of a line of spans. */
static size_t line_characters(const struct linnet_span *spans, size_t first, size_t end) {
  size_t length = end - first - 1;
  for (size_t i = first; i < end; i++)
    length += linnet_utf8_count(linnet_span_text(&spans[i]));
  return length;
}

/* --- punctuation -------------------------------------------------------------------------------------------------- */

/* Bytes of a word without the quotes and brackets that close after it. */
static size_t without_quotes(const char *text) {
  static const char *const closing[] = {"\"", "'", ")", "]", "\xE2\x80\x9D", "\xE2\x80\x99", "\xC2\xBB"};
  size_t length = strlen(text);
  for (size_t i = 0; i < sizeof closing / sizeof *closing;) {
    const size_t bytes = strlen(closing[i]);
    const bool ends = length > bytes && memcmp(text + length - bytes, closing[i], bytes) == 0;
    length -= ends ? bytes : 0;
    i = ends ? 0 : i + 1;
  }
  return length;
}

/* Whether the bytes are groups of at most three letters with points between them: "U.S", "Ph.D". */
static bool are_initials(const char *text, size_t bytes) {
  size_t letters = 0, points = 0;
  for (size_t i = 0; i < bytes; i++) {
    const bool point = text[i] == '.';
    letters = point ? 0 : letters + 1;
    points += point;
    if (letters > 3 || (!point && !linnet_is_letter(text[i])))
      return false;
  }
  return points > 0;
}

/* Whether a word of `length` bytes, which ends in a point, is an initial or an abbreviation: "J.", "U.S.", "Dr.". */
static bool is_abbreviation(const char *text, size_t length) {
  size_t stem = length;
  while (stem > 0 && text[stem - 1] == '.')
    stem--;
  if (stem + 1 < length) /* "Hmm..." */
    return false;
  if (are_initials(text, stem))
    return true;
  for (size_t i = 0; i < stem; i++)
    if (!linnet_is_letter(text[i]) || (stem > 1 && strchr("aeiouyAEIOUY", text[i])))
      return false;
  return stem > 0;
}

static bool ends_sentence(const struct linnet_span *span) {
  static const char ellipsis[] = "\xE2\x80\xA6";
  const char *text = linnet_span_text(span);
  const size_t length = without_quotes(text), bytes = strlen(ellipsis);
  const char last = length > 0 ? text[length - 1] : '\0';
  return last == '!' || last == '?' || (last == '.' && !is_abbreviation(text, length)) ||
         (length >= bytes && memcmp(text + length - bytes, ellipsis, bytes) == 0);
}

static bool ends_part(const struct linnet_span *span) {
  const char *text = linnet_span_text(span);
  const size_t length = without_quotes(text);
  return length > 0 && strchr(";:,", text[length - 1]);
}

/* --- where cues end ----------------------------------------------------------------------------------------------- */

/* The first span that cannot be in the cue that begins with spans[first]. *full: because of its length. */
static size_t limit_of_cue(const struct linnet_span *spans, size_t first, size_t count, bool *full) {
  size_t i = first + 1, length = linnet_utf8_count(linnet_span_text(&spans[first]));
  *full = false;
  for (; i < count && spans[i].start - spans[i - 1].end <= pause_seconds; i++) {
    length += 1 + linnet_utf8_count(linnet_span_text(&spans[i]));
    *full = length > CUE_CHARACTERS || spans[i].end - spans[first].start > cue_seconds;
    if (*full)
      break;
  }
  return i;
}

/* The first end of a sentence at which the cue takes at least `min_seconds`, and so does what follows up to a pause; 0:
 * none. */
static size_t end_of_sentence(const struct linnet_span *spans, size_t first, size_t limit, bool full) {
  const size_t last = full ? limit : limit - 1; /* others end there anyway */
  for (size_t i = first; i < last; i++)
    if (ends_sentence(&spans[i]) && spans[i].end - spans[first].start >= min_seconds &&
        (full || spans[limit - 1].end - spans[i + 1].start >= min_seconds))
      return i + 1;
  return 0;
}

/* In the second half of a full line: after the last punctuation mark, else at the longest gap; 0: none. */
static size_t end_of_part(const struct linnet_span *spans, size_t first, size_t limit) {
  size_t part = 0, gap = 0, length = 0;
  double longest = gap_seconds;
  for (size_t i = first; i < limit; i++) {
    length += linnet_utf8_count(linnet_span_text(&spans[i])) + 1;
    if (length <= CUE_CHARACTERS / 2)
      continue;
    const double seconds = spans[i + 1].start - spans[i].end;
    part = ends_part(&spans[i]) ? i + 1 : part;
    gap = seconds > longest ? i + 1 : gap;
    longest = fmax(longest, seconds);
  }
  return part > 0 ? part : gap;
}

/* Where a full line ends: if the next would have fewer than MIN_CHARACTERS, so that both are about equally long. */
static size_t balance(const struct linnet_span *spans, size_t first, size_t limit, size_t count) {
  bool full;
  const size_t last = limit_of_cue(spans, limit, count, &full);
  size_t end = limit;
  if (!full && line_characters(spans, limit, last) < MIN_CHARACTERS)
    while (end > first + 1 && line_characters(spans, first, end - 1) >= line_characters(spans, end - 1, last))
      end--;
  return end;
}

/* The first span after the cue that begins with spans[first]. */
static size_t end_of_cue(const struct linnet_span *spans, size_t first, size_t count) {
  bool full;
  const size_t limit = limit_of_cue(spans, first, count, &full);
  const size_t sentence = end_of_sentence(spans, first, limit, full);
  const size_t part = sentence == 0 && full ? end_of_part(spans, first, limit) : 0;
  return sentence > 0 ? sentence : part > 0 ? part : full ? balance(spans, first, limit, count) : limit;
}

/* --- the formats -------------------------------------------------------------------------------------------------- */

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
