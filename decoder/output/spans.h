/* Boundaries of phones and words from the few frames in which CTC has a symbol. */
#ifndef LINNET_SPANS_H
#define LINNET_SPANS_H

#include <linnet/output.h>

/* Widens phones (num_phones) into the blanks around them, within `start` and `end` seconds: by 60 ms at most,
 * and up to the middle between two phones. Words that begin or end with a phone do so afterwards, except
 * beside interpolated words, which keep their times. The spans are in order and do not overlap, before and after
 * the call. `words` may be NULL. */
void linnet_spans_widen(struct linnet_span *phones, size_t num_phones, struct linnet_span *words, size_t num_words,
                        double start, double end);

#endif
