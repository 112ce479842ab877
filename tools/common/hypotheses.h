/* What a decoder found as the output formats take it: greedy segments, or the hypotheses of a beam search. */
#ifndef LINNET_TOOL_HYPOTHESES_H
#define LINNET_TOOL_HYPOTHESES_H

#include <stdbool.h>

#include <linnet/linnet.h>

#include "tool.h"

/* How segments become spans. */
struct segment_rule {
  tool_symbol_fn name;
  const void *user;
  double frame_seconds;
};

struct hypotheses {
  struct linnet_span *spans;               /* of all, one hypothesis after the other */
  struct linnet_alternative *alternatives; /* (count), best first */
  size_t count;
};

/* What is greedy is one hypothesis without scores; of a beam these are the `most` best. False without memory. Release
 * in either case. */
bool hypotheses_of_greedy(struct hypotheses *hypotheses, const struct segment_rule *rule,
                          const struct linnet_segment *segments, size_t count);
bool hypotheses_of_beam(struct hypotheses *hypotheses, const struct segment_rule *rule, struct linnet_beam *beam,
                        size_t most);
bool hypotheses_of_words(struct hypotheses *hypotheses, const struct segment_rule *rule,
                         struct linnet_word_search *search, size_t most);

/* The best as the words and phones of `output`, and all as its alternatives if they are wanted; valid until the
 * release. */
void hypotheses_describe(const struct hypotheses *hypotheses, bool alternatives, struct linnet_output *output);

void hypotheses_release(struct hypotheses *hypotheses);

#endif
