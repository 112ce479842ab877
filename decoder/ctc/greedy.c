/* Greedy decoding: the best symbol of each frame, repeats merged, blanks dropped. */
#include <linnet/greedy.h>

#include <math.h>
#include <string.h>

#include "decoder/base/calibration.h"

enum { MAX_SYMBOLS = 1 << 24 };

struct linnet_greedy {
  struct linnet_context *context;
  int symbols;
  struct linnet_segment *segments;
  size_t count, capacity;
  size_t frame;     /* index of the next row */
  int previous;     /* best symbol of the row before it, the blank at the start */
  double posterior; /* sum over the frames of the last segment */
  float blank_penalty;
  struct linnet_calibrations calibrations;
};

enum linnet_status linnet_greedy_create(struct linnet_context *context, size_t symbols, struct linnet_greedy **greedy) {
  if (greedy)
    *greedy = NULL;
  if (!greedy)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_greedy_create: the pointer for the result is NULL");
  if (!context || symbols < 1 || symbols > MAX_SYMBOLS)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_greedy_create: %zu symbols; there must be 1 to %d",
                       symbols, MAX_SYMBOLS);
  struct linnet_greedy *made = linnet_calloc(context, 1, sizeof *made);
  if (!made)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a greedy decoder");
  made->context = context;
  made->symbols = (int)symbols;
  *greedy = made;
  return linnet_greedy_set_calibrations(made, NULL);
}

enum linnet_status linnet_greedy_set_calibrations(struct linnet_greedy *greedy,
                                                  const struct linnet_calibrations *calibrations) {
  if (!greedy)
    return LINNET_ERROR_ARGUMENT;
  if (greedy->frame > 0)
    return linnet_fail(greedy->context, LINNET_ERROR_STATE,
                       "the calibration cannot change within an utterance: call linnet_greedy_reset first");
  return linnet_calibrations_copy(greedy->context, "linnet_greedy_set_calibrations", calibrations,
                                  &greedy->calibrations);
}

enum linnet_status linnet_greedy_set_blank_penalty(struct linnet_greedy *greedy, float penalty) {
  if (!greedy)
    return LINNET_ERROR_ARGUMENT;
  if (!isfinite(penalty))
    return linnet_fail(greedy->context, LINNET_ERROR_ARGUMENT, "blank_penalty is %g; it must be finite",
                       (double)penalty);
  if (greedy->frame > 0)
    return linnet_fail(greedy->context, LINNET_ERROR_STATE,
                       "the blank penalty cannot change within an utterance: call linnet_greedy_reset first");
  greedy->blank_penalty = penalty;
  return LINNET_OK;
}

/* The first of the largest values; 0 if none is larger than -infinity. A comparison with NaN is false. */
static int best_symbol(const float *row, int symbols, float blank_penalty) {
  int best = 0;
  float value = row[0] > -INFINITY ? row[0] - blank_penalty : -INFINITY;
  for (int v = 1; v < symbols; v++)
    if (row[v] > value) {
      value = row[v];
      best = v;
    }
  return best;
}

static bool open_segment(struct linnet_greedy *greedy, int symbol) {
  struct linnet_segment *grown =
      linnet_grow(greedy->context, greedy->segments, &greedy->capacity, greedy->count + 1, sizeof *grown);
  if (!grown)
    return false;
  greedy->segments = grown;
  greedy->segments[greedy->count++] = (struct linnet_segment){.symbol = symbol, .start = greedy->frame};
  greedy->posterior = 0;
  return true;
}

/* Adds the current frame to the last segment. */
static void extend_segment(struct linnet_greedy *greedy, float log_posterior) {
  struct linnet_segment *segment = &greedy->segments[greedy->count - 1];
  greedy->posterior += fmin(exp((double)log_posterior), 1.0);
  segment->end = greedy->frame + 1;
  segment->confidence = linnet_calibrate(&greedy->calibrations.phones,
                                         (float)(greedy->posterior / (double)(segment->end - segment->start)));
}

static bool accept_row(struct linnet_greedy *greedy, const float *row) {
  int symbol = best_symbol(row, greedy->symbols, greedy->blank_penalty);
  if (symbol != 0) {
    if (symbol != greedy->previous && !open_segment(greedy, symbol))
      return false;
    extend_segment(greedy, row[symbol]);
  }
  greedy->previous = symbol;
  greedy->frame++;
  return true;
}

enum linnet_status linnet_greedy_accept(struct linnet_greedy *greedy, const float *log_posteriors, size_t frames) {
  if (!greedy)
    return LINNET_ERROR_ARGUMENT;
  if (!log_posteriors && frames > 0)
    return linnet_fail(greedy->context, LINNET_ERROR_ARGUMENT, "linnet_greedy_accept: the posteriors are NULL");
  for (size_t t = 0; t < frames; t++)
    if (!accept_row(greedy, log_posteriors + t * (size_t)greedy->symbols))
      return linnet_fail(greedy->context, LINNET_ERROR_MEMORY, "out of memory after %zu decoded symbols",
                         greedy->count);
  return LINNET_OK;
}

enum linnet_status linnet_greedy_drop(struct linnet_greedy *greedy, size_t count) {
  if (!greedy)
    return LINNET_ERROR_ARGUMENT;
  if (count > 0 && count >= greedy->count)
    return linnet_fail(greedy->context, LINNET_ERROR_ARGUMENT,
                       "linnet_greedy_drop: cannot drop %zu of %zu segments, as the last one may still grow", count,
                       greedy->count);
  if (count > 0)
    memmove(greedy->segments, greedy->segments + count, (greedy->count - count) * sizeof *greedy->segments);
  greedy->count -= count;
  return LINNET_OK;
}

const struct linnet_segment *linnet_greedy_segments(const struct linnet_greedy *greedy, size_t *count) {
  *count = greedy->count;
  return greedy->segments;
}

void linnet_greedy_reset(struct linnet_greedy *greedy) {
  greedy->count = 0;
  greedy->frame = 0;
  greedy->previous = 0;
  greedy->posterior = 0;
}

void linnet_greedy_destroy(struct linnet_greedy *greedy) {
  if (!greedy)
    return;
  linnet_free(greedy->context, greedy->segments);
  linnet_free(greedy->context, greedy);
}
