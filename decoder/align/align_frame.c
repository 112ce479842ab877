/* One frame of Viterbi's algorithm over the states of a text, with e_t(s) the log-posterior at frame t of the symbol of
 * s:
 *
 *   v_t(s) = e_t(s) + max(v_{t-1}(s), v_{t-1}(s-1) + step(s), v_{t-1}(s-2) + skip(s), v_{t-1}(from) of arcs from -> s)
 *
 * where v_{-1}(0) = 0 and all other v_{-1} are impossible. With jumps there is one more state, outside the text. The
 * path can enter it wherever it could enter an anchor, and can go from it to any anchor:
 *
 *   o_t = max(log-posterior of the blank, log-posterior of any other symbol - frame_cost)
 *         + max(o_{t-1}, v_{t-1}(s) - jump_cost / 2 for every s -> anchor)
 *   v_t(anchor) = max(v_t(anchor), o_t - jump_cost / 2)
 *
 * Only the states of a band [low_t, low_t + band) are computed; it lies around the best state of the frame before. */
#include "decoder/align/alignment.h"

#include <math.h>

/* Values that are not finite are impossible. */
static void read_emissions(struct linnet_align_search *s, size_t t) {
  const float *x = s->p->log_posteriors + t * s->p->symbols;
  s->outside_emission = -INFINITY;
  for (size_t k = 0; k < s->p->symbols; k++) {
    s->emission[k] = isfinite(x[k]) ? (double)x[k] : -INFINITY;
    s->outside_emission = fmax(s->outside_emission, s->emission[k] - (k > 0 ? s->p->frame_cost : 0));
  }
}

/* The best of the three steps within the chain. */
static void chain_steps(const struct linnet_align_search *s, double *now, uint8_t *from) {
  const double *before = s->before.value + LINNET_ALIGN_PADDING, *step = s->graph->step, *skip = s->graph->skip;
  for (size_t i = s->now.low; i < s->now.high; i++) {
    double best = before[i], one = before[(ptrdiff_t)i - 1] + step[i], two = before[(ptrdiff_t)i - 2] + skip[i];
    uint8_t source = LINNET_FROM_SELF;
    source = one > best ? LINNET_FROM_STEP : source;
    best = one > best ? one : best;
    source = two > best ? LINNET_FROM_SKIP : source;
    best = two > best ? two : best;
    now[i] = best;
    from[i - s->now.low] = source;
  }
}

static void arc_steps(const struct linnet_align_search *s, double *now, uint8_t *from) {
  const struct linnet_align_arc *arc = s->graph->arc;
  const double *before = s->before.value + LINNET_ALIGN_PADDING;
  uint32_t to = UINT32_MAX;
  size_t first = 0;
  for (size_t a = linnet_align_graph_first_arc(s->graph, s->now.low); a < s->graph->num_arcs && arc[a].to < s->now.high;
       a++) {
    first = arc[a].to == to ? first : a;
    to = arc[a].to;
    if (before[arc[a].from] > now[to]) {
      now[to] = before[arc[a].from];
      from[to - s->now.low] = (uint8_t)(LINNET_FROM_ARC + (a - first));
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

/* The best value of the previous frame from which anchor `to` can be entered; *arc moves past the arcs to it. */
static double best_entry(const struct linnet_align_search *s, size_t to, size_t *arc, uint32_t *source) {
  const struct linnet_align_graph *graph = s->graph;
  const double *before = s->before.value + LINNET_ALIGN_PADDING;
  double best = before[to];
  *source = (uint32_t)to;
  for (size_t back = 1; back <= 2; back++) {
    double value = before[(ptrdiff_t)to - (ptrdiff_t)back] + (back == 1 ? graph->step[to] : graph->skip[to]);
    if (value > best) {
      best = value;
      *source = (uint32_t)(to - back);
    }
  }
  while (*arc < graph->num_arcs && graph->arc[*arc].to < to)
    ++*arc;
  for (; *arc < graph->num_arcs && graph->arc[*arc].to == to; ++*arc)
    if (before[graph->arc[*arc].from] > best) {
      best = before[graph->arc[*arc].from];
      *source = graph->arc[*arc].from;
    }
  return best;
}

static void leave_text(struct linnet_align_search *s, uint32_t *outside_from) {
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

static void enter_text(struct linnet_align_search *s, double *now, uint8_t *from) {
  const struct linnet_align_graph *graph = s->graph;
  double entered = s->now.outside - s->p->jump_cost / 2;
  for (size_t w = first_anchor(graph, s->now.low); w <= graph->words && graph->anchor[w] < s->now.high; w++)
    if (entered > now[graph->anchor[w]]) {
      now[graph->anchor[w]] = entered;
      from[graph->anchor[w] - s->now.low] = LINNET_FROM_OUTSIDE;
    }
}

void linnet_align_advance(struct linnet_align_search *s, size_t t, size_t low, uint8_t *from, uint32_t *outside_from) {
  double *now = s->now.value + LINNET_ALIGN_PADDING;
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
  struct linnet_align_row swapped = s->before;
  s->before = s->now;
  s->now = swapped;
}
