/* Formats of lines: text, JSON, CTM, STM. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "decoder/output/output.h"

/* A path as one field of one line: control characters become \n, \t, \r or \xNN. JSON has the exact name. */
static void put_path(struct linnet_sink *sink, const char *path) {
  static const char controls[] = "\n\t\r", letters[] = "ntr";
  for (; *path; path++) {
    char escape[8];
    unsigned char c = (unsigned char)*path;
    const char *letter = strchr(controls, c);
    if (c >= 0x20 && c != 0x7F) {
      linnet_put_bytes(sink, path, 1);
      continue;
    }
    snprintf(escape, sizeof escape, letter ? "\\%c" : "\\x%02x", letter ? letters[letter - controls] : c);
    linnet_put(sink, escape);
  }
}

/* The name at the start of a line, "ID " or "FILE<tab>"; `rank` 0: there is only one hypothesis. */
static void put_name(struct linnet_sink *sink, const struct linnet_output *output, size_t rank) {
  if (output->bare && rank == 0)
    return;
  if (output->file)
    put_path(sink, output->file);
  else
    linnet_put_field(sink, output->id);
  if (rank > 0) {
    linnet_put(sink, "-");
    linnet_put_integer(sink, rank, 1);
  }
  linnet_put(sink, output->file ? "\t" : " ");
}

static void put_line(struct linnet_sink *sink, const struct linnet_span *spans, size_t count) {
  for (size_t i = 0; i < count; i++) {
    linnet_put(sink, i > 0 ? " " : "");
    if (spans[i].written)
      linnet_put(sink, spans[i].written);
    else
      linnet_put_field(sink, spans[i].text);
  }
  linnet_put(sink, "\n");
}

static void put_alternative_line(struct linnet_sink *sink, const struct linnet_alternative *a) {
  put_line(sink, a->words ? a->words : a->phones, a->words ? a->num_words : a->num_phones);
}

/* ID TOKEN TOKEN ... */
void linnet_output_text(const struct linnet_output *output, struct linnet_sink *sink) {
  size_t count;
  const struct linnet_span *spans = linnet_main_tier(output, &count);
  for (size_t i = 0; i < output->num_alternatives; i++) {
    put_name(sink, output, i + 1);
    put_alternative_line(sink, &output->alternatives[i]);
  }
  if (output->num_alternatives > 0)
    return;
  put_name(sink, output, 0);
  put_line(sink, spans, count);
}

/* A number with its sign; a number that rounds to 0 has no sign. */
static void put_signed(struct linnet_sink *sink, double value) {
  linnet_put(sink, value < -5e-5 ? "-" : "");
  linnet_put_number(sink, fabs(value), 4);
}

/* A number up to 0; -infinity, which JSON does not have, becomes a large negative number. */
static void put_gop(struct linnet_sink *sink, const struct linnet_span *span) {
  if (!span->has_gop)
    return;
  linnet_put(sink, ",\"gop\":");
  put_signed(sink, fmax((double)span->gop, -1e6));
}

static void put_marks(struct linnet_sink *sink, const struct linnet_span *span) {
  if (span->spoken) {
    linnet_put(sink, ",\"spoken\":");
    linnet_put_json_string(sink, span->spoken);
  }
  linnet_put(sink, span->doubtful ? ",\"doubtful\":true" : "");
  linnet_put(sink, span->guessed ? ",\"guessed\":true" : "");
  linnet_put(sink, span->interpolated ? ",\"interpolated\":true" : "");
}

/* "label":[{"item": ..., "start": ..., "end": ..., "confidence": ...}, ...] */
static void put_spans(struct linnet_sink *sink, const char *label, const char *item, double offset,
                      const struct linnet_span *spans, size_t count) {
  linnet_put(sink, "\"");
  linnet_put(sink, label);
  linnet_put(sink, "\":[");
  for (size_t i = 0; i < count; i++) {
    linnet_put(sink, i > 0 ? ",{\"" : "{\"");
    linnet_put(sink, item);
    linnet_put(sink, "\":");
    linnet_put_json_string(sink, linnet_span_text(&spans[i]));
    linnet_put(sink, ",\"start\":");
    linnet_put_number(sink, offset + spans[i].start, 3);
    linnet_put(sink, ",\"end\":");
    linnet_put_number(sink, offset + spans[i].end, 3);
    linnet_put(sink, ",\"confidence\":");
    linnet_put_number(sink, (double)spans[i].confidence, 4);
    put_gop(sink, &spans[i]);
    put_marks(sink, &spans[i]);
    linnet_put(sink, "}");
  }
  linnet_put(sink, "]");
}

static void put_tiers(struct linnet_sink *sink, double offset, const struct linnet_span *words, size_t num_words,
                      const struct linnet_span *phones, size_t num_phones) {
  if (words) {
    put_spans(sink, "words", "word", offset, words, num_words);
    linnet_put(sink, ",");
  }
  put_spans(sink, "phones", "symbol", offset, phones, num_phones);
}

/* JSON has no infinities. */
static void put_score(struct linnet_sink *sink, const char *label, double value) {
  linnet_put(sink, label);
  if (isfinite(value))
    put_signed(sink, value);
  else
    linnet_put(sink, "null");
}

static void put_alternatives(struct linnet_sink *sink, const struct linnet_output *output) {
  linnet_put(sink, ",\"hypotheses\":[");
  for (size_t i = 0; i < output->num_alternatives; i++) {
    const struct linnet_alternative *a = &output->alternatives[i];
    put_score(sink, i > 0 ? ",{\"score\":" : "{\"score\":", a->score);
    put_score(sink, ",\"acoustic\":", a->acoustic);
    put_score(sink, ",\"language\":", a->language);
    linnet_put(sink, ",");
    put_tiers(sink, output->offset, a->words, a->num_words, a->phones, a->num_phones);
    linnet_put(sink, a->incomplete ? ",\"incomplete\":true}" : "}");
  }
  linnet_put(sink, "]");
}

/* A segment has the text of its spans, their times and the mean of their confidences. */
static void put_segment(struct linnet_sink *sink, double offset, const struct linnet_span *spans, size_t count) {
  double confidence = 0;
  linnet_put(sink, "{\"text\":\"");
  for (size_t i = 0; i < count; i++) {
    linnet_put(sink, i > 0 ? " " : "");
    linnet_put_json_text(sink, linnet_span_text(&spans[i]));
    confidence += (double)spans[i].confidence / (double)count;
  }
  linnet_put(sink, "\",\"start\":");
  linnet_put_number(sink, offset + spans[0].start, 3);
  linnet_put(sink, ",\"end\":");
  linnet_put_number(sink, offset + spans[count - 1].end, 3);
  linnet_put(sink, ",\"confidence\":");
  linnet_put_number(sink, confidence, 4);
  linnet_put(sink, "}");
}

static void put_segments(struct linnet_sink *sink, const struct linnet_output *output) {
  size_t count;
  const struct linnet_span *spans = linnet_main_tier(output, &count);
  linnet_put(sink, ",\"segments\":[");
  for (size_t i = 0, first = 0; i < output->num_segments; first = output->segment_ends[i++]) {
    linnet_put(sink, i > 0 ? "," : "");
    put_segment(sink, output->offset, spans + first, output->segment_ends[i] - first);
  }
  linnet_put(sink, "]");
}

static void put_jump(struct linnet_sink *sink, double offset, const struct linnet_output_jump *jump) {
  linnet_put(sink, "{\"kind\":");
  linnet_put_json_string(sink, jump->kind);
  linnet_put(sink, ",\"start\":");
  linnet_put_number(sink, offset + jump->start, 3);
  linnet_put(sink, ",\"end\":");
  linnet_put_number(sink, offset + jump->end, 3);
  if (jump->num_words > 0) {
    linnet_put(sink, ",\"word\":");
    linnet_put_integer(sink, jump->word, 1);
    linnet_put(sink, ",\"words\":[");
    for (size_t i = 0; i < jump->num_words; i++) {
      linnet_put(sink, i > 0 ? "," : "");
      linnet_put_json_string(sink, jump->words[i]);
    }
    linnet_put(sink, "]");
  }
  linnet_put(sink, "}");
}

static void put_jumps(struct linnet_sink *sink, const struct linnet_output *output) {
  linnet_put(sink, ",\"jumps\":[");
  for (size_t i = 0; i < output->num_jumps; i++) {
    linnet_put(sink, i > 0 ? "," : "");
    put_jump(sink, output->offset, &output->jumps[i]);
  }
  linnet_put(sink, "]");
}

/* {"utterance" (or "file"): ..., "recording": ..., "begins": ..., "seconds": ...,
 *  "words": [{"word", "start", "end", "confidence"}, ...], "phones": [{"symbol", ...}, ...],
 *  "hypotheses": [{"score", "acoustic", "language", "words", "phones"}, ...], "segments": [{"text", ...}, ...],
 *  "jumps": [{"kind", "start", "end", "word", "words"}, ...], "incomplete": true} */
void linnet_output_json(const struct linnet_output *output, struct linnet_sink *sink) {
  linnet_put(sink, output->file ? "{\"file\":" : "{\"utterance\":");
  linnet_put_json_string(sink, output->file ? output->file : output->id);
  if (output->recording) {
    linnet_put(sink, ",\"recording\":");
    linnet_put_json_string(sink, output->recording);
    linnet_put(sink, ",\"begins\":");
    linnet_put_number(sink, output->begins, 3);
  }
  linnet_put(sink, ",\"seconds\":");
  linnet_put_number(sink, output->seconds, 3);
  linnet_put(sink, ",");
  put_tiers(sink, output->offset, output->words, output->num_words, output->phones, output->num_phones);
  if (output->num_alternatives > 0)
    put_alternatives(sink, output);
  if (output->segment_ends)
    put_segments(sink, output);
  if (output->jumps)
    put_jumps(sink, output);
  linnet_put(sink, output->incomplete ? ",\"incomplete\":true}\n" : "}\n");
}

static void put_channel(struct linnet_sink *sink, const struct linnet_output *output) {
  linnet_put_field(sink, output->id);
  linnet_put(sink, " ");
  linnet_put_integer(sink, output->channel > 0 ? (uint64_t)output->channel : 1, 1);
  linnet_put(sink, " ");
}

static double milliseconds(double seconds) {
  return nearbyint(seconds * 1000) / 1000;
}

/* ID CHANNEL START DURATION TOKEN CONFIDENCE. Durations are differences of rounded times, so nothing overlaps. */
void linnet_output_ctm(const struct linnet_output *output, struct linnet_sink *sink) {
  size_t count;
  const struct linnet_span *spans = linnet_main_tier(output, &count);
  for (size_t i = 0; i < count; i++) {
    double start = milliseconds(output->offset + spans[i].start), end = milliseconds(output->offset + spans[i].end);
    put_channel(sink, output);
    linnet_put_number(sink, start, 3);
    linnet_put(sink, " ");
    linnet_put_number(sink, end - start, 3);
    linnet_put(sink, " ");
    linnet_put_field(sink, spans[i].text);
    linnet_put(sink, " ");
    linnet_put_number(sink, (double)spans[i].confidence, 4);
    linnet_put(sink, "\n");
  }
}

/* ID CHANNEL SPEAKER START END TOKEN TOKEN ... */
void linnet_output_stm(const struct linnet_output *output, struct linnet_sink *sink) {
  size_t count;
  const struct linnet_span *spans = linnet_main_tier(output, &count);
  put_channel(sink, output);
  linnet_put_field(sink, output->speaker ? output->speaker : output->id);
  linnet_put(sink, " ");
  linnet_put_number(sink, output->offset, 3);
  linnet_put(sink, " ");
  linnet_put_number(sink, output->offset + output->seconds, 3);
  for (size_t i = 0; i < count; i++) {
    linnet_put(sink, " ");
    linnet_put_field(sink, spans[i].text);
  }
  linnet_put(sink, "\n");
}
