/* Removal of arcs without a symbol: their state gets the arcs and the final score of the state that they lead to. */
#include "decoder/base/radix_sort.h"
#include "decoder/lattice/lattice.h"

struct removal {
  struct linnet_lattice *lattice;
  struct linnet_keyed *keyed, *scratch; /* of the arcs of one state */
  size_t capacity, scratch_capacity;
};

/* Appends an arc to those of the present state. */
static enum linnet_status take_arc(struct removal *r, struct linnet_lattice_arc arc, size_t from,
                                   struct linnet_lattice_weight before) {
  arc.from = from;
  arc.acoustic += before.acoustic;
  arc.language += before.language;
  return linnet_graph_add_arc(r->lattice, &r->lattice->spare, &arc);
}

/* The target of the arc was processed before, so it has no arcs without a symbol. */
static enum linnet_status pass_through(struct removal *r, const struct linnet_lattice_arc *empty) {
  struct linnet_lattice_graph *to = &r->lattice->spare;
  const struct linnet_lattice_state *s = &to->states[empty->to];
  for (size_t i = 0; i < s->num_arcs; i++)
    LINNET_TRY(take_arc(r, to->arcs[s->first_arc + i], empty->from, linnet_arc_weight(empty)));
  if (s->is_final)
    linnet_lattice_offer_final(&to->states[empty->from],
                               linnet_weight_times(linnet_arc_weight(empty), linnet_final_weight(s)));
  return LINNET_OK;
}

static bool reserve(struct removal *r, size_t count) {
  struct linnet_keyed *keyed = linnet_grow(r->lattice->context, r->keyed, &r->capacity, count, sizeof *keyed);
  r->keyed = keyed ? keyed : r->keyed;
  struct linnet_keyed *scratch =
      linnet_grow(r->lattice->context, r->scratch, &r->scratch_capacity, count, sizeof *scratch);
  r->scratch = scratch ? scratch : r->scratch;
  return keyed && scratch;
}

/* Among arcs from `first` on with the same symbol and the same target, only the best stays. */
static enum linnet_status drop_parallel(struct removal *r, size_t first) {
  struct linnet_lattice_graph *g = &r->lattice->spare;
  size_t count = g->num_arcs - first, kept = 0;
  if (!reserve(r, count + 1))
    return linnet_fail(r->lattice->context, LINNET_ERROR_MEMORY, "out of memory for %zu arcs of a lattice", count);
  for (size_t i = 0; i < count; i++) {
    const struct linnet_lattice_arc *arc = &g->arcs[first + i];
    r->keyed[i] = (struct linnet_keyed){(uint64_t)arc->to << 32 | (uint64_t)(uint32_t)arc->symbol, (uint32_t)i};
  }
  linnet_radix_sort(r->keyed, r->scratch, count);
  for (size_t i = 0; i < count; i++) { /* find the best arc of each run of equal keys; its index goes to `scratch` */
    const struct linnet_lattice_arc *arc = &g->arcs[first + r->keyed[i].value];
    bool same = kept > 0 && r->scratch[kept - 1].key == r->keyed[i].key;
    if (!same)
      r->scratch[kept++] = r->keyed[i];
    else if (linnet_weight_score(linnet_arc_weight(arc)) >
             linnet_weight_score(linnet_arc_weight(&g->arcs[first + r->scratch[kept - 1].value])))
      r->scratch[kept - 1].value = r->keyed[i].value;
  }
  for (size_t i = 0; i < kept; i++)
    r->scratch[i].key = r->scratch[i].value;
  linnet_radix_sort(r->scratch, r->keyed, kept);
  for (size_t i = 0; i < kept; i++) /* indices increase, so no arc is overwritten before it is moved */
    g->arcs[first + i] = g->arcs[first + r->scratch[i].value];
  g->num_arcs = first + kept;
  return LINNET_OK;
}

static enum linnet_status clear_state(struct removal *r, size_t state) {
  const struct linnet_lattice_graph *from = &r->lattice->graph;
  struct linnet_lattice_graph *to = &r->lattice->spare;
  const struct linnet_lattice_state *s = &from->states[state];
  size_t first = to->num_arcs;
  for (size_t i = 0; i < s->num_arcs; i++) {
    const struct linnet_lattice_arc *arc = &from->arcs[s->first_arc + i];
    LINNET_TRY(arc->symbol > 0 ? take_arc(r, *arc, state, (struct linnet_lattice_weight){0, 0}) : pass_through(r, arc));
  }
  LINNET_TRY(drop_parallel(r, first));
  to->states[state].first_arc = first;
  to->states[state].num_arcs = to->num_arcs - first;
  return LINNET_OK;
}

static enum linnet_status clear_all(struct removal *r) {
  const struct linnet_lattice_graph *from = &r->lattice->graph;
  struct linnet_lattice_graph *to = &r->lattice->spare;
  to->state_count = to->num_arcs = 0;
  for (size_t s = 0; s < from->state_count; s++) {
    LINNET_TRY(linnet_graph_add_state(r->lattice, to, 0));
    to->states[s] = from->states[s];
  }
  for (size_t s = from->state_count; s-- > 0;)
    LINNET_TRY(clear_state(r, s));
  linnet_lattice_swap(r->lattice);
  return LINNET_OK;
}

enum linnet_status linnet_lattice_remove_empty(struct linnet_lattice *lattice) {
  bool found = false;
  for (size_t i = 0; !found && i < lattice->graph.num_arcs; i++)
    found = lattice->graph.arcs[i].symbol == 0;
  if (!found)
    return LINNET_OK;
  struct removal r = {.lattice = lattice};
  enum linnet_status status = clear_all(&r);
  linnet_free(lattice->context, r.keyed);
  linnet_free(lattice->context, r.scratch);
  return status;
}
