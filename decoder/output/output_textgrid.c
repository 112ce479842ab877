/* Praat's TextGrid, the long text form. Its interval tiers cover the recording without gaps; silence has an empty
 * label. A quote within a label is doubled. Times have a resolution of microseconds; an interval that would be empty is
 * left out. */
#include <math.h>
#include <string.h>

#include "decoder/output/output.h"

struct interval {
  const struct linnet_span *spans; /* (count), which it covers; NULL: silence */
  size_t count;
  double start, end;
};

struct tier {
  const char *name;
  const struct linnet_span *spans; /* (count) */
  size_t count;
  const size_t *ends; /* (num_intervals): the spans up to the end of each interval; NULL: each span is one */
  size_t num_intervals;
};

static double microseconds(double seconds) {
  return nearbyint(seconds * 1e6) / 1e6;
}

static void put_text(struct linnet_sink *sink, const char *text) {
  for (; *text; text += strcspn(text, "\"\r\n")) {
    if (*text == '"' || *text == '\r' || *text == '\n') {
      linnet_put(sink, *text == '"' ? "\"\"" : " ");
      text++;
    }
    linnet_put_bytes(sink, text, strcspn(text, "\"\r\n"));
  }
}

static void put_label(struct linnet_sink *sink, const struct interval *interval) {
  linnet_put(sink, "\"");
  for (size_t i = 0; i < interval->count; i++) {
    linnet_put(sink, i > 0 ? " " : "");
    put_text(sink, linnet_span_text(&interval->spans[i]));
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
  put_label(sink, interval);
  linnet_put(sink, " \n");
  return 1;
}

/* All intervals, with those of silence; `sink` NULL only counts. */
static size_t put_intervals(struct linnet_sink *sink, const struct tier *tier, double seconds) {
  const size_t intervals = tier->ends ? tier->num_intervals : tier->count;
  size_t written = 0;
  double last = 0;
  for (size_t i = 0, first = 0, end; i < intervals; i++, first = end) {
    end = tier->ends ? tier->ends[i] : i + 1;
    const struct interval interval = {tier->spans + first, end - first,
                                      fmin(microseconds(tier->spans[first].start), seconds),
                                      fmin(microseconds(tier->spans[end - 1].end), seconds)};
    written += put_interval(sink, written, &(struct interval){.start = last, .end = interval.start});
    written += put_interval(sink, written, &interval);
    last = interval.end;
  }
  return written + put_interval(sink, written, &(struct interval){.start = last, .end = seconds});
}

static void put_tier(struct linnet_sink *sink, size_t index, const struct tier *tier, double seconds) {
  linnet_put(sink, "    item [");
  linnet_put_integer(sink, index, 1);
  linnet_put(sink, "]:\n        class = \"IntervalTier\" \n        name = \"");
  linnet_put(sink, tier->name);
  linnet_put(sink, "\" \n");
  put_time(sink, "        ", "xmin", 0);
  put_time(sink, "        ", "xmax", seconds);
  linnet_put(sink, "        intervals: size = ");
  linnet_put_integer(sink, put_intervals(NULL, tier, seconds), 1);
  linnet_put(sink, " \n");
  put_intervals(sink, tier, seconds);
}

/* The end of the recording, or of the last span if that is later. It is above 0: Praat refuses a grid without
 * duration. */
static double duration(const struct linnet_output *output) {
  double seconds = fmax(output->seconds, 1e-3);
  if (output->num_words > 0)
    seconds = fmax(seconds, output->words[output->num_words - 1].end);
  if (output->num_phones > 0)
    seconds = fmax(seconds, output->phones[output->num_phones - 1].end);
  return microseconds(seconds);
}

/* The tiers of a recording; returns their number. */
static size_t make_tiers(const struct linnet_output *output, struct tier tiers[3]) {
  size_t count = 0;
  if (output->words)
    tiers[count++] = (struct tier){.name = "words", .spans = output->words, .count = output->num_words};
  tiers[count++] = (struct tier){.name = "phones", .spans = output->phones, .count = output->num_phones};
  if (output->segment_ends) {
    tiers[count] = tiers[0]; /* words, or phones without them */
    tiers[count].name = "segments";
    tiers[count].ends = output->segment_ends;
    tiers[count++].num_intervals = output->num_segments;
  }
  return count;
}

void linnet_output_textgrid(const struct linnet_output *output, struct linnet_sink *sink) {
  struct tier tiers[3];
  const size_t count = make_tiers(output, tiers);
  const double seconds = duration(output);
  linnet_put(sink, "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n");
  put_time(sink, "", "xmin", 0);
  put_time(sink, "", "xmax", seconds);
  linnet_put(sink, "tiers? <exists> \nsize = ");
  linnet_put_integer(sink, count, 1);
  linnet_put(sink, " \nitem []: \n");
  for (size_t i = 0; i < count; i++)
    put_tier(sink, i + 1, &tiers[i], seconds);
}
