/* Puts the best alternatives of segments one behind the other. */
#include "collected.h"
#include "tool.h"

#include <stdint.h>
#include <stdio.h>
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

/* Texts with spaces between them; the caller frees it. NULL without memory. */
static char *join(const struct linnet_span *spans, size_t count) {
  size_t bytes = 1, used = 0;
  for (size_t i = 0; i < count; i++)
    bytes += strlen(spans[i].text) + 1;
  char *text = malloc(bytes);
  for (size_t i = 0; text && i < count; i++)
    used += (size_t)snprintf(text + used, bytes - used, "%s%s", i > 0 ? " " : "", spans[i].text);
  return text;
}

/* A segment of these words or phones; its confidence is their mean. */
static int add_segment(struct collected_tier *segments, const struct linnet_span *spans, size_t count) {
  if (count == 0)
    return add(segments, NULL, 0);
  char *text = join(spans, count);
  float sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += spans[i].confidence;
  const struct linnet_span segment = {
      .text = text, .start = spans[0].start, .end = spans[count - 1].end, .confidence = sum / (float)count};
  if (text && add(segments, &segment, 1) == 0)
    return 0;
  free(text);
  return 1;
}

int collected_add(void *user, const struct linnet_result *result) {
  struct collected *collected = user;
  const struct linnet_alternative *best = result->alternatives;
  if (!result->is_final)
    return 0;
  return (best->words && add(&collected->words, best->words, best->num_words) != 0) ||
         add(&collected->phones, best->phones, best->num_phones) != 0 ||
         add_segment(&collected->segments, best->words ? best->words : best->phones,
                     best->words ? best->num_words : best->num_phones) != 0;
}

void collected_describe(const struct collected *collected, struct linnet_output *output) {
  output->words = collected->words.spans;
  output->num_words = collected->words.count;
  output->phones = collected->phones.spans;
  output->num_phones = collected->phones.count;
  output->segments = collected->segments.spans;
  output->num_segments = collected->segments.count;
  output->num_alternatives = 0;
}

void collected_release(struct collected *collected) {
  for (size_t i = 0; i < collected->segments.count; i++)
    free((char *)(uintptr_t)collected->segments.spans[i].text);
  free(collected->segments.spans);
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
