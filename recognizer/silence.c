/* Finds long silences, removes their frames before the encoder, and inserts blanks for them after it. */
#include "recognizer/silence.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "frontend/features/speech_level.h"

static const double silence_range = 35; /* dB below the level of the utterance */

enum { BLANK_ROWS = 16 };

struct linnet_silence {
  struct linnet_context *context;
  size_t stride, groups, next; /* number of output frames, and the index of the next one for the sink */
  unsigned char *heard;        /* (groups) */
  float *blanks;               /* (BLANK_ROWS, symbols), created when first needed */
};

/* Marks the groups within `margin` frames of speech. */
static void mark(struct linnet_silence *s, const float *features, size_t frames, size_t dim, size_t margin) {
  double threshold = linnet_speech_threshold(features, frames, dim, silence_range);
  for (size_t t = 0; t < frames; t++)
    if (linnet_frame_level(features + t * dim, dim) > threshold) {
      size_t first = t > margin ? t - margin : 0, last = t + margin < frames ? t + margin : frames - 1;
      memset(s->heard + first / s->stride, 1, last / s->stride - first / s->stride + 1);
    }
}

enum linnet_status linnet_silence_find(struct linnet_context *context, const float *features, size_t frames, size_t dim,
                                       size_t keep, size_t stride, struct linnet_silence **silence) {
  size_t groups = (frames + stride - 1) / stride;
  struct linnet_silence *s = linnet_calloc(context, 1, sizeof *s);
  *silence = NULL;
  if (s)
    *s = (struct linnet_silence){context, stride, groups, 0, linnet_calloc(context, groups, 1), NULL};
  if (!s || !s->heard) {
    linnet_free(context, s);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %zu frames", frames);
  }
  mark(s, features, frames, dim, keep / 2);
  if (memchr(s->heard, 0, groups))
    *silence = s;
  else
    linnet_silence_destroy(s);
  return LINNET_OK;
}

void linnet_silence_destroy(struct linnet_silence *s) {
  if (!s)
    return;
  linnet_free(s->context, s->heard);
  linnet_free(s->context, s->blanks);
  linnet_free(s->context, s);
}

size_t linnet_silence_remove(const struct linnet_silence *s, float *features, size_t frames, size_t dim) {
  size_t left = 0;
  for (size_t g = 0; g < s->groups; g++) {
    size_t first = g * s->stride, count = frames - first < s->stride ? frames - first : s->stride;
    if (s->heard[g]) {
      memmove(features + left * dim, features + first * dim, count * dim * sizeof *features);
      left += count;
    }
  }
  return left;
}

/* --- blanks ------------------------------------------------------------------------------------------------------- */

/* The probability of the blank is almost 1, so that searches get no infinity. All other symbols have the same small
 * probability. */
static bool make_blanks(struct linnet_silence *s, size_t symbols) {
  const double other = 1e-6;
  s->blanks = linnet_alloc(s->context, BLANK_ROWS * symbols, sizeof *s->blanks);
  for (size_t i = 0; s->blanks && i < BLANK_ROWS * symbols; i++)
    s->blanks[i] = (float)(i % symbols == 0 ? log1p(-other * (double)(symbols - 1)) : log(other));
  return s->blanks != NULL;
}

/* The number of consecutive groups, from the next one on, that are all heard or all left out. */
static size_t count_groups(const struct linnet_silence *s, bool heard, size_t max_groups) {
  size_t count = 0;
  while (count < max_groups && s->next + count < s->groups && (s->heard[s->next + count] != 0) == heard)
    count++;
  return count;
}

static int put_blanks(struct linnet_silence *s, size_t symbols, linnet_posterior_fn sink, void *user) {
  int stop = 0;
  for (size_t count; stop == 0 && (count = count_groups(s, false, BLANK_ROWS)) > 0; s->next += count)
    stop = s->blanks || make_blanks(s, symbols) ? sink(user, s->blanks, s->next, count) : 1;
  return stop;
}

int linnet_silence_restore(struct linnet_silence *s, const float *log_posteriors, size_t frames, size_t symbols,
                           linnet_posterior_fn sink, void *user) {
  int stop = put_blanks(s, symbols, sink, user);
  for (size_t done = 0, count; stop == 0 && (count = count_groups(s, true, frames - done)) > 0; done += count) {
    stop = sink(user, log_posteriors + done * symbols, s->next, count);
    s->next += count;
    if (stop == 0 && done + count < frames)
      stop = put_blanks(s, symbols, sink, user);
  }
  return stop;
}
