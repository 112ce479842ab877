/* Copies posteriors into one growing matrix as they arrive. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "tool.h"

int rows_keep(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct rows *rows = user;
  size_t needed = first + frames;
  if (needed > rows->capacity) {
    size_t capacity = needed > 2 * rows->capacity ? needed : 2 * rows->capacity;
    float *grown = realloc(rows->values, capacity * rows->cols * sizeof *grown);
    if (!grown)
      return tool_fail("out of memory for %zu frames", needed);
    rows->values = grown;
    rows->capacity = capacity;
  }
  memcpy(rows->values + first * rows->cols, log_posteriors, frames * rows->cols * sizeof *log_posteriors);
  rows->count = needed;
  return 0;
}
