/* The passes that finish a lattice, in order. */
#include <math.h>

#include "base/log_add.h"
#include "base/settings.h"
#include "decoder/lattice/lattice.h"

enum { GROWTH = 64, SMALL = 1 << 16 }; /* maximum growth of the number of arcs in a pass: a factor, and a constant */

void(linnet_lattice_settings_default)(struct linnet_lattice_settings *settings, size_t size) {
  const struct linnet_lattice_settings defaults = {.size = sizeof(struct linnet_lattice_settings), .tolerance = 1e-6};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* --- pushing ------------------------------------------------------------------------------------------------------ */

/* The weight of the best path from a state to an end. Those of later states must be known. */
static struct linnet_lattice_weight best_end(const struct linnet_lattice_graph *g, const struct linnet_lattice_state *s,
                                             const struct linnet_lattice_weight *ends) {
  struct linnet_lattice_weight best = {-(double)INFINITY, 0};
  if (s->is_final)
    best = linnet_final_weight(s);
  for (size_t i = s->first_arc; i < s->first_arc + s->num_arcs; i++) {
    struct linnet_lattice_weight w = linnet_weight_times(linnet_arc_weight(&g->arcs[i]), ends[g->arcs[i].to]);
    if (linnet_weight_score(w) > linnet_weight_score(best))
      best = w;
  }
  return best;
}

static void change_state(struct linnet_lattice_graph *g, struct linnet_lattice_state *s,
                         const struct linnet_lattice_weight *ends, struct linnet_lattice_weight own) {
  for (size_t i = s->first_arc; i < s->first_arc + s->num_arcs; i++) {
    struct linnet_lattice_arc *arc = &g->arcs[i];
    struct linnet_lattice_weight w =
        linnet_weight_divide(linnet_weight_times(linnet_arc_weight(arc), ends[arc->to]), own);
    arc->acoustic = w.acoustic;
    arc->language = w.language;
  }
  struct linnet_lattice_weight final = linnet_weight_divide(linnet_final_weight(s), own);
  s->acoustic = s->is_final ? final.acoustic : 0;
  s->language = s->is_final ? final.language : 0;
}

/* Moves scores toward the start. Afterwards, the best path from any state except the start to an end has score 0 in
 * both parts. Sets best_backward. */
static enum linnet_status push(struct linnet_lattice *lattice) {
  struct linnet_lattice_graph *g = &lattice->graph;
  struct linnet_lattice_weight *ends = linnet_alloc(lattice->context, g->state_count, sizeof *ends);
  if (!ends)
    return linnet_fail(lattice->context, LINNET_ERROR_MEMORY, "out of memory for a lattice of %zu states",
                       g->state_count);
  for (size_t s = g->state_count; s-- > 0;)
    ends[s] = best_end(g, &g->states[s], ends);
  for (size_t s = 0; s < g->state_count; s++) {
    bool start = s == 0;
    change_state(g, &g->states[s], ends, start ? (struct linnet_lattice_weight){0, 0} : ends[s]);
    g->states[s].best_backward = start ? linnet_weight_score(ends[s]) : 0;
  }
  linnet_free(lattice->context, ends);
  return LINNET_OK;
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* Forward and backward scores of an ordered lattice (Rabiner 1989). */
static void sum_paths(struct linnet_lattice_graph *g) {
  for (size_t s = 0; s < g->state_count; s++)
    g->states[s].forward = s == 0 ? 0 : -(double)INFINITY;
  for (size_t i = 0; i < g->num_arcs; i++) {
    const struct linnet_lattice_arc *a = &g->arcs[i];
    double *to = &g->states[a->to].forward;
    *to = linnet_log_add(*to, g->states[a->from].forward + a->acoustic + a->language);
  }
  for (size_t s = 0; s < g->state_count; s++)
    g->states[s].backward =
        g->states[s].is_final ? linnet_weight_score(linnet_final_weight(&g->states[s])) : -(double)INFINITY;
  for (size_t i = g->num_arcs; i-- > 0;) {
    const struct linnet_lattice_arc *a = &g->arcs[i];
    double *from = &g->states[a->from].backward;
    *from = linnet_log_add(*from, g->states[a->to].backward + a->acoustic + a->language);
  }
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* Arcs of the longest path. */
static enum linnet_status find_depth(const struct linnet_lattice *lattice, size_t *depth) {
  const struct linnet_lattice_graph *g = &lattice->graph;
  uint32_t *longest = linnet_calloc(lattice->context, g->state_count, sizeof *longest);
  if (!longest)
    return linnet_fail(lattice->context, LINNET_ERROR_MEMORY, "out of memory for a lattice of %zu states",
                       g->state_count);
  for (size_t i = 0; i < g->num_arcs; i++) {
    uint32_t length = longest[g->arcs[i].from] + 1, *to = &longest[g->arcs[i].to];
    *to = length > *to ? length : *to;
    *depth = *to > *depth ? *to : *depth;
  }
  linnet_free(lattice->context, longest);
  return LINNET_OK;
}

/* A path passes at most depth + 1 states. At each of them, both parts of its score may change by one step. */
static enum linnet_status merge(struct linnet_lattice *lattice, double tolerance) {
  size_t depth = 0;
  LINNET_TRY(find_depth(lattice, &depth));
  LINNET_TRY(linnet_lattice_merge(lattice, tolerance / (2.0 * (double)(depth + 1))));
  LINNET_TRY(linnet_lattice_order(lattice));
  return push(lattice);
}

static enum linnet_status finish(struct linnet_lattice *lattice, double tolerance) {
  LINNET_TRY(linnet_lattice_order(lattice));
  LINNET_TRY(linnet_lattice_remove_empty(lattice));
  LINNET_TRY(linnet_lattice_order(lattice));
  LINNET_TRY(push(lattice)); /* so that the best element of a subset leads to the best end */
  LINNET_TRY(linnet_lattice_determinize(lattice));
  LINNET_TRY(linnet_lattice_order(lattice));
  LINNET_TRY(push(lattice));
  return merge(lattice, tolerance);
}

enum linnet_status linnet_lattice_finish(struct linnet_lattice *lattice,
                                         const struct linnet_lattice_settings *settings) {
  if (!lattice)
    return LINNET_ERROR_ARGUMENT;
  struct linnet_lattice_settings own;
  LINNET_TRY(LINNET_READ_SETTINGS(lattice->context, lattice, settings, &own));
  if (!(own.tolerance >= 0))
    return linnet_fail(lattice->context, LINNET_ERROR_ARGUMENT,
                       "linnet_lattice_finish: the tolerance must be at least 0");
  if (lattice->finished)
    return linnet_fail(lattice->context, LINNET_ERROR_STATE, "the lattice was finished before");
  lattice->finished = true;
  size_t max_arcs = GROWTH * (lattice->graph.num_arcs + lattice->graph.state_count) + SMALL;
  lattice->max_arcs = max_arcs < LINNET_LATTICE_MAX ? max_arcs : LINNET_LATTICE_MAX;
  enum linnet_status status = finish(lattice, own.tolerance);
  lattice->failed = status != LINNET_OK;
  if (lattice->failed)
    lattice->graph.state_count = lattice->graph.num_arcs = 0;
  else
    sum_paths(&lattice->graph);
  return status;
}
