/* Collects all log-posteriors of one recording, for code that needs them in one matrix. */
#ifndef LINNET_TOOL_ROWS_H
#define LINNET_TOOL_ROWS_H

#include <stddef.h>

/* Start with zeros and `cols`; release with free(values). */
struct rows {
  float *values; /* (count, cols) */
  size_t cols, count, capacity;
};

/* A linnet_posterior_fn whose user is a struct rows; non-zero without memory. */
int rows_keep(void *rows, const float *log_posteriors, size_t first, size_t frames);

#endif
