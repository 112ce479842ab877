/* In log space, with p_t the log-softmax of the logits at frame t, a_t(h) and b_t(h) the sums over all paths that are
 * at frame t on the last label of state h, and on the blank after it, and w(q | h) = log P(q | h):
 *
 *   b_t(h) = p_t(blank) + logsum(a_{t-1}(h), b_{t-1}(h))
 *   a_t(h) = p_t(last h) + logsum(a_{t-1}(h), over arcs g --q--> h: w(q | g) + b_{t-1}(g)
 *                                                and, if q is not the last label of g, w(q | g) + a_{t-1}(g))
 *
 * from b_{-1}(begin) = 0. The logarithm of the sum, Z, is logsum over h of log P(end | h) + logsum(a_T(h), b_T(h)).
 * CTC's probabilities of all label sequences add up to 1, so Z is at most 0. As for CTC, the derivative with respect to
 * a logit is the occupancy of its symbol minus its softmax. */
#include "ops/denominator.h"

#include <math.h>

#include "base/log_add.h"
#include "base/numbers.h"
#include "ops/log_softmax.h"

/* Positions of a frame. */
struct row {
  double *on, *off; /* (states) each: on the last label, and on the blank after it */
};

struct trellis {
  const struct linnet_denominator *d;
  const struct linnet_denominator_graph *graph;
  double *alpha; /* (frames + 1, 2, states): before frame 0, after frame 0 ... */
  struct row beta, emitted;
  double *log_p;     /* (symbols): of one frame */
  double *occupancy; /* (symbols): of one frame, minus the softmax */
};

size_t linnet_denominator_work_bytes(const struct linnet_denominator_graph *graph, size_t frames) {
  size_t rows = frames + 8;
  return (rows * 2 * graph->states + (rows + 32) * graph->columns + 1024) * sizeof(double);
}

static struct row alpha_row(const struct trellis *l, size_t t) {
  double *on = l->alpha + t * 2 * l->graph->states;
  return (struct row){on, on + l->graph->states};
}

/* --- arcs --------------------------------------------------------------------------------------------------------- */

/* Calls body for each arc between different labels. */
typedef void arc_fn(void *user, size_t from, size_t to, double log_weight);

static void each_arc(const struct linnet_denominator_graph *g, arc_fn *body, void *user) {
  for (size_t i = 0; i < g->groups; i++)
    for (size_t h = g->group[i].start; h < g->group[i].start + g->group[i].sources; h++)
      for (size_t q = 1; q < g->symbols; q++)
        if (g->weight[h * g->columns + q] > 0)
          body(user, h, g->next[i * g->columns + q], log((double)g->weight[h * g->columns + q]));
}

struct arc_rows {
  struct row from, to;
};

static void advance(void *user, size_t from, size_t to, double log_weight) {
  const struct arc_rows *r = user;
  r->to.on[to] = linnet_log_add(r->to.on[to], log_weight + linnet_log_add(r->from.on[from], r->from.off[from]));
}

static void retreat(void *user, size_t from, size_t to, double log_weight) {
  const struct arc_rows *r = user;
  double sum = log_weight + r->from.on[to];
  r->to.on[from] = linnet_log_add(r->to.on[from], sum);
  r->to.off[from] = linnet_log_add(r->to.off[from], sum);
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

static void begin(const struct trellis *l) {
  struct row first = alpha_row(l, 0);
  for (size_t h = 0; h < l->graph->states; h++)
    first.on[h] = first.off[h] = -INFINITY;
  first.off[l->graph->begin] = 0;
}

static void forward_frame(const struct trellis *l, size_t t) {
  const struct linnet_denominator_graph *g = l->graph;
  struct arc_rows r = {alpha_row(l, t), alpha_row(l, t + 1)};
  for (size_t h = 0; h < g->states; h++) {
    r.to.on[h] = r.from.on[h];
    r.to.off[h] = l->log_p[0] + linnet_log_add(r.from.on[h], r.from.off[h]);
  }
  each_arc(g, advance, &r);
  for (size_t h = 0; h < g->states; h++)
    if (g->repeat[h] > 0)
      r.to.on[g->repeated[h]] = linnet_log_add(r.to.on[g->repeated[h]], log((double)g->repeat[h]) + r.from.off[h]);
  for (size_t h = 0; h < g->states; h++)
    r.to.on[h] += l->log_p[g->last[h]];
}

static double total(const struct trellis *l) {
  struct row last = alpha_row(l, l->d->frames);
  double sum = -INFINITY;
  for (size_t h = 0; h < l->graph->states; h++)
    sum = linnet_log_add(sum, log((double)l->graph->finish[h]) + linnet_log_add(last.on[h], last.off[h]));
  return sum;
}

static double forward(const struct trellis *l) {
  begin(l);
  for (size_t t = 0; t < l->d->frames; t++) {
    if (!linnet_log_distribution(l->graph->symbols, l->d->logits + t * l->graph->symbols, l->log_p))
      return NAN;
    forward_frame(l, t);
  }
  return total(l);
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* Beta before frame t from beta after it; beta includes no emission of frames before. */
static void backward_frame(const struct trellis *l) {
  const struct linnet_denominator_graph *g = l->graph;
  for (size_t h = 0; h < g->states; h++) {
    l->emitted.on[h] = l->beta.on[h] + l->log_p[g->last[h]];
    l->emitted.off[h] = l->beta.off[h] + l->log_p[0];
  }
  for (size_t h = 0; h < g->states; h++) {
    l->beta.on[h] = linnet_log_add(l->emitted.on[h], l->emitted.off[h]);
    l->beta.off[h] = l->emitted.off[h];
    if (g->repeat[h] > 0)
      l->beta.off[h] = linnet_log_add(l->beta.off[h], log((double)g->repeat[h]) + l->emitted.on[g->repeated[h]]);
  }
  struct arc_rows r = {l->emitted, l->beta};
  each_arc(g, retreat, &r);
}

static void backward(const struct trellis *l, double log_total) {
  const struct linnet_denominator_graph *g = l->graph;
  for (size_t h = 0; h < g->states; h++)
    l->beta.on[h] = l->beta.off[h] = log((double)g->finish[h]);
  for (size_t t = l->d->frames; t-- > 0;) {
    struct row alpha = alpha_row(l, t + 1);
    real *gradient = l->d->gradient_add + t * g->symbols;
    linnet_log_distribution(l->graph->symbols, l->d->logits + t * l->graph->symbols, l->log_p);
    for (size_t k = 0; k < g->symbols; k++)
      l->occupancy[k] = -exp(l->log_p[k]);
    for (size_t h = 0; h < g->states; h++) {
      l->occupancy[g->last[h]] += exp(alpha.on[h] + l->beta.on[h] - log_total);
      l->occupancy[0] += exp(alpha.off[h] + l->beta.off[h] - log_total);
    }
    for (size_t k = 0; k < g->symbols; k++)
      gradient[k] += (real)(l->d->scale * l->occupancy[k]);
    backward_frame(l);
  }
}

double linnet_denominator_reference(const struct linnet_denominator *d, void *work) {
  const struct linnet_denominator_graph *g = d->graph;
  struct trellis l = {.d = d, .graph = g, .alpha = work};
  double *free = l.alpha + (d->frames + 1) * 2 * g->states;
  l.beta = (struct row){free, free + g->states};
  l.emitted = (struct row){free + 2 * g->states, free + 3 * g->states};
  l.log_p = free + 4 * g->states;
  l.occupancy = l.log_p + g->symbols;
  double log_total = forward(&l);
  if (d->gradient_add && !isnan(log_total) && log_total != -INFINITY)
    backward(&l, log_total);
  return log_total;
}

/* --- one label sequence ------------------------------------------------------------------------------------------- */

static size_t group_of(const struct linnet_denominator_graph *g, size_t state) {
  size_t low = 0, high = g->groups;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (g->group[middle].start <= state)
      low = middle;
    else
      high = middle;
  }
  return low;
}

double linnet_denominator_label_score(const struct linnet_denominator_graph *graph, const int *label, size_t labels) {
  size_t state = graph->begin;
  double sum = 0;
  for (size_t i = 0; i < labels; i++) {
    size_t q = (size_t)label[i];
    sum += log((double)(q == graph->last[state] ? graph->repeat[state] : graph->weight[state * graph->columns + q]));
    state = graph->next[group_of(graph, state) * graph->columns + q];
  }
  return sum + log((double)graph->finish[state]);
}
