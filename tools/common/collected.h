/* The result of a recording whose segments are recognised one after the other. */
#ifndef LINNET_TOOL_COLLECTED_H
#define LINNET_TOOL_COLLECTED_H

#include <linnet/recognizer.h>

struct collected_tier {
  struct linnet_span *spans;
  size_t count, capacity;
};

/* Start with zeros. */
struct collected {
  struct collected_tier words, phones;
};

/* A linnet_result_fn whose user is a struct collected: adds the words and phones of final results. Non-zero without
 * memory. */
int collected_add(void *collected, const struct linnet_result *result);

/* Writes words and phones to `output`, which must not outlive them. */
void collected_describe(const struct collected *collected, struct linnet_output *output);
void collected_release(struct collected *collected);

#endif
