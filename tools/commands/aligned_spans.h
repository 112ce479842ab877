/* What forced alignment found, as the output formats take it. */
#ifndef LINNET_TOOL_ALIGNED_SPANS_H
#define LINNET_TOOL_ALIGNED_SPANS_H

#include <linnet/linnet.h>

#include "align_text.h"

/* How phones and words become spans. */
struct aligned_rule {
  const struct linnet_model *model;
  double frame_seconds, seconds; /* of the recording: the last frame may reach beyond it */
  const struct align_text *text;
};

/* To be freed; NULL without memory. Words are those of a text of words, with those that were not aligned between them;
 * `frames` is the length of the recording. */
struct linnet_span *aligned_phones(const struct linnet_alignment *alignment, const struct aligned_rule *rule,
                                   size_t *count);
struct linnet_span *aligned_words(const struct linnet_alignment *alignment, const struct aligned_rule *rule,
                                  size_t frames, size_t *count);

/* What the text and the audio do not share; the words are the text's. */
struct linnet_output_jump *aligned_jumps(const struct linnet_alignment *alignment, const struct aligned_rule *rule,
                                         size_t *count);

#endif
