/* Praat's TextGrid, the long text form. Its interval tiers cover the recording without gaps; silence has an empty
 * label. A quote within a label is doubled. Times have a resolution of microseconds; an interval that would be empty is
 * left out. */
#include <math.h>
#include <string.h>

#include "decoder/output/output.h"

struct interval {
  const char *text;
  double start, end;
};

static double microseconds(double seconds) {
  return nearbyint(seconds * 1e6) / 1e6;
}

static void put_label(struct linnet_sink *sink, const char *text) {
  linnet_put(sink, "\"");
  for (; *text; text += strcspn(text, "\"\r\n")) {
    if (*text == '"' || *text == '\r' || *text == '\n') {
      linnet_put(sink, *text == '"' ? "\"\"" : " ");
      text++;
    }
    linnet_put_bytes(sink, text, strcspn(text, "\"\r\n"));
  }
  linnet_put(sink, "\"");
}

static void put_time(struct linnet_sink *sink, const char *indent, const char *name, double seconds) {
  linnet_put(sink, indent);
  linnet_put(sink, name);
  linnet_put(sink, " = ");
  linnet_put_number(sink, seconds, 6);
  linnet_put(sink, " \n");
}

/* Writes an interval unless it is empty; `sink` NULL only counts. Returns how many were written. */
static size_t put_interval(struct linnet_sink *sink, size_t index, const struct interval *interval) {
  static const char indent[] = "            ";
  if (interval->end <= interval->start)
    return 0;
  if (!sink)
    return 1;
  linnet_put(sink, "        intervals [");
  linnet_put_integer(sink, index + 1, 1);
  linnet_put(sink, "]:\n");
  put_time(sink, indent, "xmin", interval->start);
  put_time(sink, indent, "xmax", interval->end);
  linnet_put(sink, indent);
  linnet_put(sink, "text = ");
  put_label(sink, interval->text);
  linnet_put(sink, " \n");
  return 1;
}

/* All intervals, with those of silence; `sink` NULL only counts. */
static size_t put_intervals(struct linnet_sink *sink, const struct linnet_span *spans, size_t count, double seconds) {
  size_t written = 0;
  double last = 0;
  for (size_t i = 0; i < count; i++) {
    double start = fmin(microseconds(spans[i].start), seconds), end = fmin(microseconds(spans[i].end), seconds);
    written += put_interval(sink, written, &(struct interval){"", last, start});
    written += put_interval(sink, written, &(struct interval){linnet_span_text(&spans[i]), start, end});
    last = end;
  }
  return written + put_interval(sink, written, &(struct interval){"", last, seconds});
}

static void put_tier(struct linnet_sink *sink, size_t index, const char *name, const struct linnet_span *spans,
                     size_t count, double seconds) {
  linnet_put(sink, "    item [");
  linnet_put_integer(sink, index, 1);
  linnet_put(sink, "]:\n        class = \"IntervalTier\" \n        name = ");
  put_label(sink, name);
  linnet_put(sink, " \n");
  put_time(sink, "        ", "xmin", 0);
  put_time(sink, "        ", "xmax", seconds);
  linnet_put(sink, "        intervals: size = ");
  linnet_put_integer(sink, put_intervals(NULL, spans, count, seconds), 1);
  linnet_put(sink, " \n");
  put_intervals(sink, spans, count, seconds);
}

/* The end of the recording, or of the last span if that is later. It is above 0: Praat refuses a grid without
 * duration. */
static double duration(const struct linnet_output *output) {
  double seconds = fmax(output->seconds, 1e-3);
  if (output->num_words > 0)
    seconds = fmax(seconds, output->words[output->num_words - 1].end);
  if (output->num_phones > 0)
    seconds = fmax(seconds, output->phones[output->num_phones - 1].end);
  if (output->num_segments > 0)
    seconds = fmax(seconds, output->segments[output->num_segments - 1].end);
  return microseconds(seconds);
}

void linnet_output_textgrid(const struct linnet_output *output, struct linnet_sink *sink) {
  double seconds = duration(output);
  size_t tiers = 0;
  linnet_put(sink, "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n");
  put_time(sink, "", "xmin", 0);
  put_time(sink, "", "xmax", seconds);
  linnet_put(sink, "tiers? <exists> \nsize = ");
  linnet_put_integer(sink, 1 + (output->words != NULL) + (output->segments != NULL), 1);
  linnet_put(sink, " \nitem []: \n");
  if (output->words)
    put_tier(sink, ++tiers, "words", output->words, output->num_words, seconds);
  put_tier(sink, ++tiers, "phones", output->phones, output->num_phones, seconds);
  if (output->segments)
    put_tier(sink, ++tiers, "segments", output->segments, output->num_segments, seconds);
}
