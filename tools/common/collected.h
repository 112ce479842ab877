/* What a stream gives piece by piece, collected for a whole recording: results of segments, and posteriors. */
#ifndef LINNET_TOOL_COLLECTED_H
#define LINNET_TOOL_COLLECTED_H

#include <stddef.h>

#include <linnet/recognizer.h>

/* --- results ------------------------------------------------------------------------------------------------------ */

struct collected_tier {
  struct linnet_span *spans;
  size_t count, capacity;
};

/* Start with zeros. */
struct collected {
  struct collected_tier words, phones;
  size_t *segment_ends; /* (num_segments) */
  size_t num_segments, segment_capacity;
  int incomplete; /* some segment is */
};

/* A linnet_result_fn whose user is a struct collected: adds the words and phones of final results, and each result as a
 * segment. Non-zero without memory. */
int collected_add(void *collected, const struct linnet_result *result);

/* Writes words, phones and segments to `output`, which must not outlive them. */
void collected_describe(const struct collected *collected, struct linnet_output *output);
void collected_release(struct collected *collected);

/* --- posteriors --------------------------------------------------------------------------------------------------- */

/* All log-posteriors of one recording, for code that needs them in one matrix. */

/* Start with zeros and `cols`; release with free(values). */
struct rows {
  float *values; /* (count, cols) */
  size_t cols, count, capacity;
};

/* A linnet_posterior_fn whose user is a struct rows; non-zero without memory. */
int rows_keep(void *rows, const float *log_posteriors, size_t first, size_t frames);

#endif
