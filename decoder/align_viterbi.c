/* Viterbi's algorithm over the states of a text, with e_t(s) the log-posterior at frame t of the symbol of s:
 *
 *   v_t(s) = e_t(s) + max(v_{t-1}(s), v_{t-1}(s-1) + step(s), v_{t-1}(s-2) + skip(s), v_{t-1}(from) of arcs from -> s)
 *
 * starting with v_{-1}(0) = 0 and nothing else. With jumps there is one more state, outside the text, that the path
 * enters where it could enter an anchor, and that it leaves as if it had been in an anchor, any one:
 *
 *   o_t = max(log-posterior of the blank, log-posterior of any other symbol - frame_cost)
 *         + max(o_{t-1}, v_{t-1}(s) - jump_cost / 2 for every s -> anchor)
 *   v_t(anchor) = max(v_t(anchor), o_t - jump_cost / 2)
 *
 * Only the states of a band are computed, [low_t, low_t + band), about the best state of the frame before.
 *
 * Going back needs to know, for each state, where its best came from: one byte. As in edit_distance.c the frames are
 * cut into blocks: a first pass keeps the values before each block alone; then, from the last block to the first, the
 * block is computed again with its bytes and walked through. */
#include "decoder/align_viterbi.h"

#include <math.h>
#include <string.h>

/* Where a state's best came from: steps back within the chain, or FROM_ARC + the number of the state's arc. An anchor
 * with FROM_OUTSIDE stands for the state outside at the same frame. */
enum { FROM_SELF = 0, FROM_STEP = 1, FROM_SKIP = 2, FROM_OUTSIDE = 3, FROM_ARC = 4 };
_Static_assert(FROM_ARC + LINNET_ALIGN_MAX_VARIANTS + 1 <= UINT8_MAX, "a byte names every arc to a state");

enum {
  PADDING = 2,           /* states before the first, always -infinity */
  SMALL_TABLE = 1 << 22, /* bytes of back-pointers that are simply held */
  EDGE_SHARE = 8         /* within 1 / EDGE_SHARE of the band is near its edge */
};
static const double centre_slack = 1; /* the band stays put while its centre is so near to the best */

struct row {
  double *value; /* (PADDING + states): -infinity outside [low, high) */
  size_t low, high;
  double outside; /* o_t */
};

struct search {
  const struct linnet_align_problem *p;
  const struct linnet_align_graph *graph;
  size_t states, band, height, blocks; /* height: frames of a block */
  double *emission;                    /* (symbols): of one frame */
  double outside_emission;
  struct row before, now;
  double *saved;          /* (blocks, band): values before each block */
  double *saved_outside;  /* (blocks) */
  uint32_t *low;          /* (frames): of the band at each frame, low[t + 1] being that of frame t; low[0]: the start */
  uint8_t *from;          /* (height, band) */
  uint32_t *outside_from; /* (height): the state that o came from, or LINNET_ALIGN_OUTSIDE */
};

/* --- one frame ---------------------------------------------------------------------------------------------------- */

/* Values that are not finite are impossible. */
static void read_emissions(struct search *s, size_t t) {
  const float *x = s->p->log_posteriors + t * s->p->symbols;
  s->outside_emission = -INFINITY;
  for (size_t k = 0; k < s->p->symbols; k++) {
    s->emission[k] = isfinite(x[k]) ? (double)x[k] : -INFINITY;
    s->outside_emission = fmax(s->outside_emission, s->emission[k] - (k > 0 ? s->p->frame_cost : 0));
  }
}

/* The best of the three within the chain. */
static void chain_steps(const struct search *s, double *now, uint8_t *from) {
  const double *before = s->before.value + PADDING, *step = s->graph->step, *skip = s->graph->skip;
  for (size_t i = s->now.low; i < s->now.high; i++) {
    double best = before[i], one = before[(ptrdiff_t)i - 1] + step[i], two = before[(ptrdiff_t)i - 2] + skip[i];
    uint8_t source = FROM_SELF;
    source = one > best ? FROM_STEP : source;
    best = one > best ? one : best;
    source = two > best ? FROM_SKIP : source;
    best = two > best ? two : best;
    now[i] = best;
    from[i - s->now.low] = source;
  }
}

static void arc_steps(const struct search *s, double *now, uint8_t *from) {
  const struct linnet_align_arc *arc = s->graph->arc;
  const double *before = s->before.value + PADDING;
  uint32_t to = UINT32_MAX;
  size_t first = 0;
  for (size_t a = linnet_align_graph_first_arc(s->graph, s->now.low);
       a < s->graph->arc_count && arc[a].to < s->now.high; a++) {
    first = arc[a].to == to ? first : a;
    to = arc[a].to;
    if (before[arc[a].from] > now[to]) {
      now[to] = before[arc[a].from];
      from[to - s->now.low] = (uint8_t)(FROM_ARC + (a - first));
    }
  }
}

/* The first word whose anchor is at or after a state. */
static size_t first_anchor(const struct linnet_align_graph *graph, size_t state) {
  size_t low = 0, high = graph->words + 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (graph->anchor[middle] < state)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The best of the frame before from which anchor `to` can be entered; *arc is moved past the arcs to it. */
static double best_entry(const struct search *s, size_t to, size_t *arc, uint32_t *source) {
  const struct linnet_align_graph *graph = s->graph;
  const double *before = s->before.value + PADDING;
  double best = before[to];
  *source = (uint32_t)to;
  for (size_t back = 1; back <= 2; back++) {
    double value = before[(ptrdiff_t)to - (ptrdiff_t)back] + (back == 1 ? graph->step[to] : graph->skip[to]);
    if (value > best) {
      best = value;
      *source = (uint32_t)(to - back);
    }
  }
  while (*arc < graph->arc_count && graph->arc[*arc].to < to)
    ++*arc;
  for (; *arc < graph->arc_count && graph->arc[*arc].to == to; ++*arc)
    if (before[graph->arc[*arc].from] > best) {
      best = before[graph->arc[*arc].from];
      *source = graph->arc[*arc].from;
    }
  return best;
}

static void leave_text(struct search *s, uint32_t *outside_from) {
  const struct linnet_align_graph *graph = s->graph;
  size_t arc = linnet_align_graph_first_arc(graph, s->before.low);
  double best = s->before.outside;
  *outside_from = LINNET_ALIGN_OUTSIDE;
  for (size_t w = first_anchor(graph, s->before.low); w <= graph->words && graph->anchor[w] < s->before.high; w++) {
    uint32_t source;
    double value = best_entry(s, graph->anchor[w], &arc, &source) - s->p->jump_cost / 2;
    if (value > best) {
      best = value;
      *outside_from = source;
    }
  }
  s->now.outside = best + s->outside_emission;
}

static void enter_text(struct search *s, double *now, uint8_t *from) {
  const struct linnet_align_graph *graph = s->graph;
  double entered = s->now.outside - s->p->jump_cost / 2;
  for (size_t w = first_anchor(graph, s->now.low); w <= graph->words && graph->anchor[w] < s->now.high; w++)
    if (entered > now[graph->anchor[w]]) {
      now[graph->anchor[w]] = entered;
      from[graph->anchor[w] - s->now.low] = FROM_OUTSIDE;
    }
}

/* Computes frame t from `before`, and makes it `before` of the next. */
static void advance(struct search *s, size_t t, size_t low, uint8_t *from, uint32_t *outside_from) {
  double *now = s->now.value + PADDING;
  for (size_t i = s->now.low; i < s->now.high; i++)
    now[i] = -INFINITY;
  s->now.low = low;
  s->now.high = low + s->band;
  read_emissions(s, t);
  chain_steps(s, now, from);
  arc_steps(s, now, from);
  for (size_t i = low; i < s->now.high; i++)
    now[i] += s->emission[s->graph->state[i].symbol];
  if (s->p->jumps) {
    leave_text(s, outside_from);
    enter_text(s, now, from);
  }
  struct row swapped = s->before;
  s->before = s->now;
  s->now = swapped;
}

/* --- the band ----------------------------------------------------------------------------------------------------- */

/* The centre of the next band: the state nearest to the old one whose value is near the best, so that states of about
 * equal value do not pull the band about; the old one while the path is rather outside the text. */
static size_t next_centre(const struct row *row) {
  const double *value = row->value + PADDING;
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

static size_t next_low(const struct search *s) {
  if (s->band == s->states)
    return 0;
  size_t centre = next_centre(&s->before), half = s->band / 2, most = s->states - s->band;
  size_t low = centre > half ? centre - half : 0;
  return low < most ? low : most;
}

static bool is_near_edge(const struct search *s, size_t low, size_t state) {
  size_t margin = s->band / EDGE_SHARE;
  return (low > 0 && state < low + margin) || (low + s->band < s->states && state + margin >= low + s->band);
}

/* --- passes ------------------------------------------------------------------------------------------------------- */

static void start(struct search *s) {
  for (size_t i = 0; i < PADDING + s->states; i++)
    s->before.value[i] = s->now.value[i] = -INFINITY;
  s->before.value[PADDING] = 0;
  s->before.outside = s->now.outside = -INFINITY;
  s->before.high = s->now.high = s->band;
  s->low[0] = 0;
}

static void save(struct search *s, size_t block) {
  memcpy(s->saved + block * s->band, s->before.value + PADDING + s->before.low, s->band * sizeof *s->saved);
  s->saved_outside[block] = s->before.outside;
}

/* Puts the values before a block back into `before`. */
static void restore(struct search *s, size_t block) {
  double *value = s->before.value + PADDING;
  for (size_t i = s->before.low; i < s->before.high; i++)
    value[i] = -INFINITY;
  s->before.low = s->low[block * s->height];
  s->before.high = s->before.low + s->band;
  memcpy(value + s->before.low, s->saved + block * s->band, s->band * sizeof *value);
  s->before.outside = s->saved_outside[block];
}

/* With one block the back-pointers stay; with several they are computed again, and each frame overwrites the last. */
static void first_pass(struct search *s) {
  start(s);
  for (size_t t = 0; t < s->p->frames; t++) {
    size_t at = s->blocks == 1 ? t : 0;
    if (t % s->height == 0)
      save(s, t / s->height);
    s->low[t + 1] = (uint32_t)next_low(s);
    advance(s, t, s->low[t + 1], s->from + at * s->band, s->outside_from + at);
  }
}

static void fill_block(struct search *s, size_t block) {
  size_t first = block * s->height;
  restore(s, block);
  for (size_t t = first; t < first + s->height && t < s->p->frames; t++)
    advance(s, t, s->low[t + 1], s->from + (t - first) * s->band, s->outside_from + (t - first));
}

/* The best state to end in, and its value; the last anchor wins over equal ones. */
static uint32_t best_end(const struct search *s, double *score) {
  const struct row *row = &s->before;
  const struct linnet_align_graph *graph = s->graph;
  size_t first = graph->words > 0 ? graph->anchor[graph->words - 1] : 0;
  uint32_t best = LINNET_ALIGN_OUTSIDE;
  *score = s->p->jumps ? row->outside : -INFINITY;
  for (size_t i = s->states; i-- > first;)
    if (row->value[PADDING + i] > *score && linnet_align_graph_is_final(graph, i)) {
      *score = row->value[PADDING + i];
      best = (uint32_t)i;
    }
  return best;
}

/* The state before `state`, given where it came from. */
static uint32_t step_back(const struct linnet_align_graph *graph, uint32_t state, uint8_t from) {
  if (from < FROM_OUTSIDE)
    return state - from;
  return graph->arc[linnet_align_graph_first_arc(graph, state) + (size_t)(from - FROM_ARC)].from;
}

/* Notes the state of frame t, the `at`-th of the block in memory, and returns that of the frame before. */
static uint32_t walk_frame(const struct search *s, size_t t, size_t at, uint32_t state,
                           struct linnet_align_path *path) {
  size_t low = s->low[t + 1];
  uint8_t from = state == LINNET_ALIGN_OUTSIDE ? FROM_OUTSIDE : s->from[at * s->band + (state - low)];
  path->state[t] = from == FROM_OUTSIDE ? LINNET_ALIGN_OUTSIDE : state;
  if (from == FROM_OUTSIDE)
    return s->outside_from[at];
  path->near_edge |= is_near_edge(s, low, state);
  return step_back(s->graph, state, from);
}

static void walk_back(struct search *s, uint32_t state, struct linnet_align_path *path) {
  for (size_t block = s->blocks; block-- > 0;) {
    size_t first = block * s->height, end = first + s->height < s->p->frames ? first + s->height : s->p->frames;
    if (s->blocks > 1)
      fill_block(s, block);
    for (size_t t = end; t-- > first;)
      state = walk_frame(s, t, t - first, state, path);
  }
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Frames per block: all if the table is small, else so many that blocks and saved values take equal memory. */
static size_t block_height(const struct linnet_align_problem *p, size_t band) {
  if (p->block > 0 || p->frames == 0)
    return p->block > 0 ? p->block : 1;
  if (p->frames <= SMALL_TABLE / band)
    return p->frames;
  size_t height = (size_t)sqrt((double)p->frames * sizeof(double));
  return height < p->frames ? height : p->frames;
}

static bool reserve(struct search *s) {
  struct linnet_context *context = s->p->context;
  size_t saved;
  if (!linnet_mul_size(s->blocks, s->band, &saved))
    return false;
  s->emission = linnet_alloc(context, s->p->symbols, sizeof *s->emission);
  s->before.value = linnet_alloc(context, PADDING + s->states, sizeof *s->before.value);
  s->now.value = linnet_alloc(context, PADDING + s->states, sizeof *s->now.value);
  s->saved = linnet_alloc(context, saved, sizeof *s->saved);
  s->saved_outside = linnet_alloc(context, s->blocks, sizeof *s->saved_outside);
  s->low = linnet_alloc(context, s->p->frames + 1, sizeof *s->low);
  s->from = linnet_alloc(context, s->height, s->band);
  s->outside_from = linnet_alloc(context, s->height, sizeof *s->outside_from);
  return s->emission && s->before.value && s->now.value && s->saved && s->saved_outside && s->low && s->from &&
         s->outside_from;
}

static void release(struct search *s) {
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
  struct search s = {.p = p, .graph = p->graph, .states = p->graph->count};
  s.band = p->band < s.states ? p->band : s.states;
  s.height = block_height(p, s.band);
  s.blocks = p->frames / s.height + (p->frames % s.height > 0);
  path->near_edge = false;
  path->score = -INFINITY;
  enum linnet_status status = LINNET_OK;
  if (reserve(&s)) {
    first_pass(&s);
    uint32_t end = best_end(&s, &path->score);
    if (path->score > -INFINITY)
      walk_back(&s, end, path);
  } else {
    status = linnet_fail(p->context, LINNET_ERROR_MEMORY, "out of memory to align %zu frames with a band of %zu states",
                         p->frames, s.band);
  }
  release(&s);
  return status;
}
