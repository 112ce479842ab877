/* Puts the best alternatives of segments one behind the other. */
#include "collected.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static int add(struct collected_tier *tier, const struct linnet_span *spans, size_t count) {
  if (tier->count + count > tier->capacity || !tier->spans) {
    const size_t capacity = 2 * tier->capacity + count + 1;
    struct linnet_span *grown = realloc(tier->spans, capacity * sizeof *grown);
    if (!grown)
      return 1;
    tier->spans = grown;
    tier->capacity = capacity;
  }
  if (count > 0)
    memcpy(tier->spans + tier->count, spans, count * sizeof *spans);
  tier->count += count;
  return 0;
}

/* Ends a segment if words or phones were added since the last one. Allocates in either case, so that a recording
 * without words has a list of no segments. */
static int end_segment(struct collected *collected) {
  const size_t end = collected->words.spans ? collected->words.count : collected->phones.count;
  const size_t last = collected->num_segments > 0 ? collected->segment_ends[collected->num_segments - 1] : 0;
  if (collected->num_segments == collected->segment_capacity) {
    const size_t capacity = 2 * collected->segment_capacity + 16;
    size_t *grown = realloc(collected->segment_ends, capacity * sizeof *grown);
    if (!grown)
      return 1;
    collected->segment_ends = grown;
    collected->segment_capacity = capacity;
  }
  if (end > last)
    collected->segment_ends[collected->num_segments++] = end;
  return 0;
}

int collected_add(void *user, const struct linnet_result *result) {
  struct collected *collected = user;
  const struct linnet_alternative *best = result->alternatives;
  if (!result->is_final)
    return 0;
  collected->incomplete |= best->incomplete;
  return (best->words && add(&collected->words, best->words, best->num_words) != 0) ||
         add(&collected->phones, best->phones, best->num_phones) != 0 || end_segment(collected) != 0;
}

void collected_describe(const struct collected *collected, struct linnet_output *output) {
  output->words = collected->words.spans;
  output->num_words = collected->words.count;
  output->phones = collected->phones.spans;
  output->num_phones = collected->phones.count;
  output->segment_ends = collected->segment_ends;
  output->num_segments = collected->num_segments;
  output->num_alternatives = 0;
  output->incomplete = collected->incomplete;
}

void collected_release(struct collected *collected) {
  free(collected->segment_ends);
  free(collected->words.spans);
  free(collected->phones.spans);
}

/* --- posteriors --------------------------------------------------------------------------------------------------- */

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
