/* Viterbi's algorithm over the frames of a recording (align_frame.c has one frame).
 *
 * To trace the best path back, one byte per state and frame says where the path to it came from. To save memory, the
 * frames are divided into blocks, as in edit_distance.c. A first pass saves only the values before each block. Then
 * each block, from the last to the first, is computed again with its bytes, and the path is traced back through it. */
#include "decoder/align/alignment.h"

#include <math.h>
#include <string.h>

enum {
  SMALL_TABLE = 1 << 22, /* bytes of back-pointers up to which one block is enough */
  EDGE_SHARE = 8,        /* within 1 / EDGE_SHARE of the band is near its edge */
  EDGE_STATES = 2        /* at least this many states at each end are near it, because a step may skip one */
};
static const double centre_slack =
    1; /* the band does not move while the value of its centre is this close to the best */

/* --- the band ----------------------------------------------------------------------------------------------------- */

/* The centre of the next band: the state nearest to the old centre whose value is close to the best. So the band does
 * not move between states of about equal value. While being outside the text is more probable, the centre does not
 * move. */
static size_t next_centre(const struct linnet_align_row *row) {
  const double *value = row->value + LINNET_ALIGN_PADDING;
  size_t centre = row->low + (row->high - row->low) / 2;
  double best = row->outside;
  for (size_t i = row->low; i < row->high; i++)
    best = value[i] > best ? value[i] : best;
  if (best == -INFINITY)
    return centre;
  for (size_t d = 0; d <= row->high - row->low; d++) {
    if (centre + d < row->high && value[centre + d] >= best - centre_slack)
      return centre + d;
    if (centre >= row->low + d && value[centre - d] >= best - centre_slack)
      return centre - d;
  }
  return centre;
}

static size_t next_low(const struct linnet_align_search *s) {
  if (s->band == s->states)
    return 0;
  size_t centre = next_centre(&s->before), half = s->band / 2, max_low = s->states - s->band;
  size_t low = centre > half ? centre - half : 0;
  return low < max_low ? low : max_low;
}

static bool is_near_edge(const struct linnet_align_search *s, size_t low, size_t state) {
  size_t margin = s->band / EDGE_SHARE;
  margin = margin > EDGE_STATES ? margin : EDGE_STATES;
  return (low > 0 && state < low + margin) || (low + s->band < s->states && state + margin >= low + s->band);
}

/* --- passes ------------------------------------------------------------------------------------------------------- */

static void start(struct linnet_align_search *s) {
  for (size_t i = 0; i < LINNET_ALIGN_PADDING + s->states; i++)
    s->before.value[i] = s->now.value[i] = -INFINITY;
  s->before.value[LINNET_ALIGN_PADDING] = 0;
  s->before.outside = s->now.outside = -INFINITY;
  s->before.high = s->now.high = s->band;
  s->low[0] = 0;
}

static void save(struct linnet_align_search *s, size_t block) {
  memcpy(s->saved + block * s->band, s->before.value + LINNET_ALIGN_PADDING + s->before.low,
         s->band * sizeof *s->saved);
  s->saved_outside[block] = s->before.outside;
}

/* Restores the values before a block into `before`. */
static void restore(struct linnet_align_search *s, size_t block) {
  double *value = s->before.value + LINNET_ALIGN_PADDING;
  for (size_t i = s->before.low; i < s->before.high; i++)
    value[i] = -INFINITY;
  s->before.low = s->low[block * s->height];
  s->before.high = s->before.low + s->band;
  memcpy(value + s->before.low, s->saved + block * s->band, s->band * sizeof *value);
  s->before.outside = s->saved_outside[block];
}

/* Reports the share of the work that is done; with several blocks, all frames are computed twice. */
static enum linnet_status poll_frame(const struct linnet_align_search *s, double share) {
  linnet_progress(s->p->context, LINNET_STAGE_ALIGNMENT, share);
  return linnet_poll_check(s->p->context);
}

/* The first pass. With one block its back-pointers stay. With several blocks they will be computed again, so each frame
 * overwrites those of the last. */
static enum linnet_status first_pass(struct linnet_align_search *s) {
  start(s);
  for (size_t t = 0; t < s->p->frames; t++) {
    LINNET_TRY(poll_frame(s, (double)t / (double)s->p->frames / (s->blocks > 1 ? 2 : 1)));
    size_t at = s->blocks == 1 ? t : 0;
    if (t % s->height == 0)
      save(s, t / s->height);
    s->low[t + 1] = (uint32_t)next_low(s);
    linnet_align_advance(s, t, s->low[t + 1], s->from + at * s->band, s->outside_from + at);
  }
  return LINNET_OK;
}

static enum linnet_status fill_block(struct linnet_align_search *s, size_t block) {
  size_t first = block * s->height;
  restore(s, block);
  for (size_t t = first; t < first + s->height && t < s->p->frames; t++) {
    LINNET_TRY(poll_frame(s, 1 - (double)block / (double)s->blocks / 2));
    linnet_align_advance(s, t, s->low[t + 1], s->from + (t - first) * s->band, s->outside_from + (t - first));
  }
  return LINNET_OK;
}

/* The best final state, and its value; among equal values the last anchor wins. */
static uint32_t best_end(const struct linnet_align_search *s, double *score) {
  const struct linnet_align_row *row = &s->before;
  const struct linnet_align_graph *graph = s->graph;
  size_t first = graph->words > 0 ? graph->anchor[graph->words - 1] : 0;
  uint32_t best = LINNET_ALIGN_OUTSIDE;
  *score = s->p->jumps ? row->outside : -INFINITY;
  for (size_t i = s->states; i-- > first;)
    if (row->value[LINNET_ALIGN_PADDING + i] > *score && linnet_align_graph_is_final(graph, i)) {
      *score = row->value[LINNET_ALIGN_PADDING + i];
      best = (uint32_t)i;
    }
  return best;
}

/* The state before `state`, given where it came from. */
static uint32_t step_back(const struct linnet_align_graph *graph, uint32_t state, uint8_t from) {
  if (from < LINNET_FROM_OUTSIDE)
    return state - from;
  return graph->arc[linnet_align_graph_first_arc(graph, state) + (size_t)(from - LINNET_FROM_ARC)].from;
}

/* Stores the state of frame t, which is frame `at` of the block in memory, and returns the state of the frame
 * before. */
static uint32_t walk_frame(const struct linnet_align_search *s, size_t t, size_t at, uint32_t state,
                           struct linnet_align_path *path) {
  size_t low = s->low[t + 1];
  uint8_t from = state == LINNET_ALIGN_OUTSIDE ? LINNET_FROM_OUTSIDE : s->from[at * s->band + (state - low)];
  path->state[t] = from == LINNET_FROM_OUTSIDE ? LINNET_ALIGN_OUTSIDE : state;
  if (from == LINNET_FROM_OUTSIDE)
    return s->outside_from[at];
  path->near_edge |= is_near_edge(s, low, state);
  return step_back(s->graph, state, from);
}

static enum linnet_status walk_back(struct linnet_align_search *s, uint32_t state, struct linnet_align_path *path) {
  for (size_t block = s->blocks; block-- > 0;) {
    size_t first = block * s->height, end = first + s->height < s->p->frames ? first + s->height : s->p->frames;
    if (s->blocks > 1)
      LINNET_TRY(fill_block(s, block));
    for (size_t t = end; t-- > first;)
      state = walk_frame(s, t, t - first, state, path);
  }
  return LINNET_OK;
}

static enum linnet_status find_path(struct linnet_align_search *s, struct linnet_align_path *path) {
  LINNET_TRY(first_pass(s));
  uint32_t end = best_end(s, &path->score);
  return path->score > -INFINITY ? walk_back(s, end, path) : LINNET_OK;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Frames per block: all frames if the table is small, else the number for which a block and the saved values take equal
 * memory. */
static size_t block_height(const struct linnet_align_problem *p, size_t band) {
  if (p->block > 0 || p->frames == 0)
    return p->block > 0 ? p->block : 1;
  if (p->frames <= SMALL_TABLE / band)
    return p->frames;
  size_t height = (size_t)sqrt((double)p->frames * sizeof(double));
  return height < p->frames ? height : p->frames;
}

static bool reserve(struct linnet_align_search *s) {
  struct linnet_context *context = s->p->context;
  size_t saved;
  if (!linnet_mul_size(s->blocks, s->band, &saved))
    return false;
  s->emission = linnet_alloc(context, s->p->symbols, sizeof *s->emission);
  s->before.value = linnet_alloc(context, LINNET_ALIGN_PADDING + s->states, sizeof *s->before.value);
  s->now.value = linnet_alloc(context, LINNET_ALIGN_PADDING + s->states, sizeof *s->now.value);
  s->saved = linnet_alloc(context, saved, sizeof *s->saved);
  s->saved_outside = linnet_alloc(context, s->blocks, sizeof *s->saved_outside);
  s->low = linnet_alloc(context, s->p->frames + 1, sizeof *s->low);
  s->from = linnet_alloc(context, s->height, s->band);
  s->outside_from = linnet_alloc(context, s->height, sizeof *s->outside_from);
  return s->emission && s->before.value && s->now.value && s->saved && s->saved_outside && s->low && s->from &&
         s->outside_from;
}

static void release(struct linnet_align_search *s) {
  struct linnet_context *context = s->p->context;
  linnet_free(context, s->emission);
  linnet_free(context, s->before.value);
  linnet_free(context, s->now.value);
  linnet_free(context, s->saved);
  linnet_free(context, s->saved_outside);
  linnet_free(context, s->low);
  linnet_free(context, s->from);
  linnet_free(context, s->outside_from);
}

enum linnet_status linnet_align_viterbi(const struct linnet_align_problem *p, struct linnet_align_path *path) {
  struct linnet_align_search s = {.p = p, .graph = p->graph, .states = p->graph->count};
  s.band = p->band < s.states ? p->band : s.states;
  s.height = block_height(p, s.band);
  s.blocks = p->frames / s.height + (p->frames % s.height > 0);
  path->near_edge = false;
  path->score = -INFINITY;
  enum linnet_status status =
      reserve(&s)
          ? find_path(&s, path)
          : linnet_fail(p->context, LINNET_ERROR_MEMORY,
                        "out of memory for an alignment of %zu frames with a band of %zu states", p->frames, s.band);
  release(&s);
  return status;
}
