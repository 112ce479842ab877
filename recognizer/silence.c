/* Finds silences, removes their frames before the encoder, and inserts blanks for them after it. */
#include "recognizer/silence.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/numbers.h"
#include "frontend/features/speech_level.h"
#include "model/format/feature_config.h"

enum { BLANK_ROWS = 16 };

/* Output frame g consists of `stride` frames from first_frame(g) on. */
struct linnet_silence {
  struct linnet_context *context;
  size_t stride, groups, next; /* number of output frames, and the index of the next one for the sink */
  size_t skipped, blank;       /* frames, and output frames, before the first whole one; below `stride`, 0 or 1 */
  unsigned char *selected;     /* (groups): 0 for removed ones */
  float *blanks;               /* (BLANK_ROWS, symbols), created when first needed */
};

static size_t first_frame(const struct linnet_silence *s, size_t group) {
  return (group - s->blank) * s->stride + s->skipped;
}

/* Moves the limits of output frames by at most half of one, so that one of them is at `frame`. */
static void align(struct linnet_silence *s, size_t frame) {
  s->skipped = frame % s->stride;
  s->blank = 2 * s->skipped > s->stride;
}

/* Marks the groups of the frames from `first` to `last`. */
static void mark(struct linnet_silence *s, size_t first, size_t last) {
  first = first < s->skipped ? s->skipped : first;
  if (last < first)
    return;
  size_t from = (first - s->skipped) / s->stride + s->blank, to = (last - s->skipped) / s->stride + s->blank;
  to = to < s->groups ? to : s->groups - 1;
  if (from <= to)
    memset(s->selected + from, 1, to - from + 1);
}

struct frames {
  size_t first, last;
};

/* The frames within `margin` of these, and inside `limit`. */
static struct frames widen(struct frames frames, size_t margin, struct frames limit) {
  struct frames wide = {limit.first, limit.last};
  if (frames.first > limit.first + margin)
    wide.first = frames.first - margin;
  if (limit.last - frames.last > margin)
    wide.last = frames.last + margin;
  return wide;
}

struct utterance {
  const float *features; /* (frames, dim) */
  size_t frames, dim;
  double threshold;
};

static bool has_speech(const struct utterance *u, size_t t) {
  return (double)linnet_frame_level(u->features + t * u->dim, u->dim) > u->threshold;
}

/* From the first to the last frame with speech; false if there is none. */
static bool find_speech(const struct utterance *u, struct frames *speech) {
  size_t first = 0, last = u->frames;
  while (first < last && !has_speech(u, first))
    first++;
  while (last > first && !has_speech(u, last - 1))
    last--;
  *speech = (struct frames){first, last - 1};
  return first < last;
}

static void mark_selected(struct linnet_silence *s, const struct utterance *u, const struct linnet_silence_rule *rule) {
  struct frames speech, limit = {0, u->frames - 1};
  if (!find_speech(u, &speech))
    return;
  if (rule->edges) {
    limit = widen(speech, rule->edge, limit);
    mark(s, limit.first, rule->keep > 0 ? speech.first : limit.last);
    mark(s, speech.last, limit.last);
  }
  size_t marked = 0; /* what is selected before this frame has been marked */
  for (size_t t = speech.first; rule->keep > 0 && t <= speech.last; t++)
    if (has_speech(u, t)) {
      struct frames selected = widen((struct frames){t, t}, rule->keep / 2, limit);
      mark(s, linnet_max_size(selected.first, marked), selected.last);
      marked = selected.last + 1;
    }
}

enum linnet_status linnet_silence_find(struct linnet_context *context, const float *features, size_t frames, size_t dim,
                                       struct linnet_silence_rule rule, struct linnet_silence **silence) {
  const struct utterance u = {features, frames, dim, linnet_silence_threshold(features, frames, dim)};
  size_t groups = linnet_divide_up(frames, rule.stride);
  struct linnet_silence *s = linnet_calloc(context, 1, sizeof *s);
  *silence = NULL;
  if (s)
    *s = (struct linnet_silence){
        .context = context, .stride = rule.stride, .groups = groups, .selected = linnet_calloc(context, groups, 1)};
  if (!s || !s->selected) {
    linnet_free(context, s);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %zu frames", frames);
  }
  if (rule.edges)
    align(s, linnet_loudest_frame(features, frames, dim));
  mark_selected(s, &u, &rule);
  if (memchr(s->selected, 0, groups) || s->skipped > 0)
    *silence = s;
  else
    linnet_silence_destroy(s);
  return LINNET_OK;
}

void linnet_silence_destroy(struct linnet_silence *s) {
  if (!s)
    return;
  linnet_free(s->context, s->selected);
  linnet_free(s->context, s->blanks);
  linnet_free(s->context, s);
}

size_t linnet_silence_remove(const struct linnet_silence *s, float *features, size_t frames, size_t dim) {
  size_t left = 0;
  for (size_t g = 0; g < s->groups; g++) {
    if (!s->selected[g])
      continue;
    size_t first = first_frame(s, g), count = frames - first < s->stride ? frames - first : s->stride;
    memmove(features + left * dim, features + first * dim, count * dim * sizeof *features);
    left += count;
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

/* The number of consecutive groups, from the next one on, that are all selected or all removed. */
static size_t count_groups(const struct linnet_silence *s, bool selected, size_t max_groups) {
  size_t count = 0;
  while (count < max_groups && s->next + count < s->groups && (s->selected[s->next + count] != 0) == selected)
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

/* --- lengths ------------------------------------------------------------------------------------------------------ */

static enum linnet_status check_length(struct linnet_context *context, const char *name, const char *member,
                                       const double *seconds) {
  if (seconds && !(*seconds >= 0 && *seconds <= LINNET_MAX_SILENCE))
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: \"%s\" is %g; it must be 0 to %d seconds", name, member,
                       *seconds, LINNET_MAX_SILENCE);
  return LINNET_OK;
}

enum linnet_status linnet_silence_lengths_check(struct linnet_context *context, const char *name,
                                                const double *max_silence, const double *edge_silence) {
  LINNET_TRY(check_length(context, name, "max_silence", max_silence));
  return check_length(context, name, "edge_silence", edge_silence);
}

struct linnet_silence_lengths linnet_silence_lengths_of(const struct linnet_feature_config *features,
                                                        const double *max_silence, const double *edge_silence) {
  return (struct linnet_silence_lengths){.max_silence = max_silence ? *max_silence : features->max_silence,
                                         .edge_silence = edge_silence ? *edge_silence : features->edge_silence};
}
