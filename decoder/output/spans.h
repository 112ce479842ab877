/* Boundaries of phones and words from the few frames in which CTC has a symbol. */
#ifndef LINNET_SPANS_H
#define LINNET_SPANS_H

#include <linnet/output.h>

#include "base/base.h"

/* Widens phones (num_phones) into the blanks around them, within `start` and `end` seconds: by 60 ms at most, and up to
 * the middle between two phones. Words (num_words; may be NULL) follow their first and last phone. Interpolated words
 * keep their times, and so does the end of a word before one. Spans must be in order without overlap, and stay so. */
void linnet_spans_widen(struct linnet_span *phones, size_t num_phones, struct linnet_span *words, size_t num_words,
                        double start, double end);

/* Seconds from the start of the rows, each of `row_seconds`, to row `row`, of posteriors that have symbols `delay`
 * seconds later than the audio. `phones` is the number of phones that end at or before the row. The delay would move
 * phones of the first rows to before the start; these follow each other from the start, one row each. */
double linnet_spans_time(double row, size_t phones, double row_seconds, double delay);

/* LINNET_ERROR_ARGUMENT unless `seconds` is 0 to 10. */
enum linnet_status linnet_emission_delay_check(struct linnet_context *context, float seconds);

#endif
