/* Functions that the formats share: text into the caller's sink, numbers, and the choice of a tier. */
#ifndef LINNET_OUTPUT_INTERNAL_H
#define LINNET_OUTPUT_INTERNAL_H

#include <linnet/output.h>

#include "base/base.h"

/* For functions that set members of the caller's structure, which may be that of an older program: reads all members,
 * and writes back those that it has. */
enum linnet_status linnet_output_read(struct linnet_context *context, const struct linnet_output *output,
                                      struct linnet_output *full);
void linnet_output_fill(struct linnet_output *output, const struct linnet_output *full);

struct linnet_sink {
  linnet_write_fn write;
  void *user;
  bool failed; /* all later text is dropped */
};

void linnet_put_bytes(struct linnet_sink *sink, const char *text, size_t bytes);

/* A string; a non-negative integer with at least `digits`; a number with `decimals` places. */
void linnet_put(struct linnet_sink *sink, const char *text);
void linnet_put_integer(struct linnet_sink *sink, uint64_t value, int digits);
void linnet_put_number(struct linnet_sink *sink, double value, int decimals);

/* A string as one field: white space becomes "_", and so does an empty string. */
void linnet_put_field(struct linnet_sink *sink, const char *text);

/* The inside of a string as JSON writes it, and a string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void linnet_put_json_text(struct linnet_sink *sink, const char *text);
void linnet_put_json_string(struct linnet_sink *sink, const char *text);

/* The text of a span for readers: as it is written, with punctuation beside it. */
const char *linnet_span_text(const struct linnet_span *span);

/* The words, or the phones of a recording without a tier of words. */
const struct linnet_span *linnet_main_tier(const struct linnet_output *output, size_t *count);

/* One function per format: see output_*.c. */
void linnet_output_text(const struct linnet_output *output, struct linnet_sink *sink);
void linnet_output_json(const struct linnet_output *output, struct linnet_sink *sink);
void linnet_output_ctm(const struct linnet_output *output, struct linnet_sink *sink);
void linnet_output_stm(const struct linnet_output *output, struct linnet_sink *sink);
void linnet_output_textgrid(const struct linnet_output *output, struct linnet_sink *sink);
void linnet_output_srt(const struct linnet_output *output, struct linnet_sink *sink);
void linnet_output_vtt(const struct linnet_output *output, struct linnet_sink *sink);
void linnet_output_vtt_begin(struct linnet_sink *sink);

#endif
