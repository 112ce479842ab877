/* What forced alignment found, as the output formats take it. */
#ifndef LINNET_TOOL_ALIGNED_SPANS_H
#define LINNET_TOOL_ALIGNED_SPANS_H

#include <linnet/linnet.h>

/* How phones and words become spans. */
struct aligned_rule {
  const struct linnet_model *model;
  double frame_seconds, seconds; /* of the recording: the last frame may reach beyond it */
  const char *const *tokens;     /* the words of the text */
};

/* To be freed; NULL without memory. */
struct linnet_span *aligned_phones(const struct linnet_alignment *alignment, const struct aligned_rule *rule,
                                   size_t *count);
struct linnet_span *aligned_words(const struct linnet_alignment *alignment, const struct aligned_rule *rule,
                                  size_t *count);

/* What the text and the audio do not share; the words are the rule's. */
struct linnet_output_jump *aligned_jumps(const struct linnet_alignment *alignment, const struct aligned_rule *rule,
                                         size_t *count);

#endif
