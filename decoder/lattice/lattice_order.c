/* Topological order (Kahn 1962) of the states on paths from the start to final states. */
#include "decoder/base/radix_sort.h"
#include "decoder/lattice/lattice.h"

/* Scratch of one ordering; all arrays except `keyed` and `scratch` have one element per state. */
struct order {
  struct linnet_lattice *lattice;
  struct linnet_keyed *keyed, *scratch; /* (arcs) */
  uint32_t *incoming;                   /* arcs from reached states */
  uint32_t *queue;
  uint32_t *number; /* new number + 1; 0: on no path */
  size_t reached;
};

static bool allocate(struct order *o) {
  const struct linnet_lattice_graph *g = &o->lattice->graph;
  struct linnet_context *context = o->lattice->context;
  o->keyed = linnet_alloc(context, g->num_arcs, sizeof *o->keyed);
  o->scratch = linnet_alloc(context, g->num_arcs, sizeof *o->scratch);
  o->incoming = linnet_calloc(context, g->state_count, sizeof *o->incoming);
  o->queue = linnet_alloc(context, g->state_count, sizeof *o->queue);
  o->number = linnet_calloc(context, g->state_count, sizeof *o->number);
  return o->keyed && o->scratch && o->incoming && o->queue && o->number;
}

static void release(struct order *o) {
  struct linnet_context *context = o->lattice->context;
  linnet_free(context, o->keyed);
  linnet_free(context, o->scratch);
  linnet_free(context, o->incoming);
  linnet_free(context, o->queue);
  linnet_free(context, o->number);
}

/* keyed[states[s].first_arc ...] are the arcs of state s sorted by symbol; arcs with equal symbols stay in their
 * order. */
static void sort_arcs(struct order *o) {
  struct linnet_lattice_graph *g = &o->lattice->graph;
  for (size_t i = 0; i < g->num_arcs; i++)
    o->keyed[i] =
        (struct linnet_keyed){(uint64_t)g->arcs[i].from << 32 | (uint64_t)(uint32_t)g->arcs[i].symbol, (uint32_t)i};
  linnet_radix_sort(o->keyed, o->scratch, g->num_arcs);
  for (size_t s = 0; s < g->state_count; s++)
    g->states[s].num_arcs = 0;
  for (size_t i = g->num_arcs; i-- > 0;) {
    struct linnet_lattice_state *from = &g->states[g->arcs[o->keyed[i].value].from];
    from->first_arc = i;
    from->num_arcs++;
  }
}

static const struct linnet_lattice_arc *arc_of(const struct order *o, const struct linnet_lattice_state *s, size_t i) {
  return &o->lattice->graph.arcs[o->keyed[s->first_arc + i].value];
}

/* Counts, for the states reached from the start, the arcs that lead to them. */
static void reach(struct order *o) {
  const struct linnet_lattice_graph *g = &o->lattice->graph;
  o->queue[o->reached++] = 0;
  for (size_t next = 0; next < o->reached; next++) {
    const struct linnet_lattice_state *s = &g->states[o->queue[next]];
    for (size_t i = 0; i < s->num_arcs; i++) {
      size_t to = arc_of(o, s, i)->to;
      if (o->incoming[to]++ == 0 && to != 0)
        o->queue[o->reached++] = (uint32_t)to;
    }
  }
}

/* Fills `queue` with the reached states in topological order; false if there is a cycle among them. */
static bool sort_states(struct order *o) {
  const struct linnet_lattice_graph *g = &o->lattice->graph;
  size_t sorted = 0;
  if (o->incoming[0] == 0)
    o->queue[sorted++] = 0;
  for (size_t next = 0; next < sorted; next++) {
    const struct linnet_lattice_state *s = &g->states[o->queue[next]];
    for (size_t i = 0; i < s->num_arcs; i++) {
      size_t to = arc_of(o, s, i)->to;
      if (--o->incoming[to] == 0)
        o->queue[sorted++] = (uint32_t)to;
    }
  }
  return sorted == o->reached;
}

static bool leads_on(const struct order *o, const struct linnet_lattice_state *s) {
  bool found = s->is_final;
  for (size_t i = 0; !found && i < s->num_arcs; i++)
    found = o->number[arc_of(o, s, i)->to] > 0;
  return found;
}

/* Numbers the states that lead to a final one. */
static void number_states(struct order *o) {
  for (size_t i = o->reached; i-- > 0;)
    o->number[o->queue[i]] = leads_on(o, &o->lattice->graph.states[o->queue[i]]);
  uint32_t count = 0;
  for (size_t i = 0; i < o->reached; i++)
    if (o->number[o->queue[i]])
      o->number[o->queue[i]] = ++count;
}

static enum linnet_status copy_state(const struct order *o, uint32_t old) {
  struct linnet_lattice_graph *to = &o->lattice->spare;
  const struct linnet_lattice_state *s = &o->lattice->graph.states[old];
  LINNET_TRY(linnet_graph_add_state(o->lattice, to, s->frame));
  size_t first = to->num_arcs;
  for (size_t i = 0; i < s->num_arcs; i++) {
    struct linnet_lattice_arc arc = *arc_of(o, s, i);
    if (o->number[arc.to] == 0)
      continue;
    arc.from = o->number[old] - 1;
    arc.to = o->number[arc.to] - 1;
    LINNET_TRY(linnet_graph_add_arc(o->lattice, to, &arc));
  }
  struct linnet_lattice_state *made = &to->states[to->state_count - 1];
  *made = *s;
  made->first_arc = first;
  made->num_arcs = to->num_arcs - first;
  return LINNET_OK;
}

static enum linnet_status order(struct order *o) {
  if (!allocate(o))
    return linnet_fail(o->lattice->context, LINNET_ERROR_MEMORY, "out of memory for ordering a lattice of %zu arcs",
                       o->lattice->graph.num_arcs);
  sort_arcs(o);
  reach(o);
  if (!sort_states(o))
    return linnet_fail(o->lattice->context, LINNET_ERROR_ARGUMENT, "the lattice has a cycle");
  number_states(o);
  o->lattice->spare.state_count = o->lattice->spare.num_arcs = 0;
  for (size_t i = 0; i < o->reached; i++)
    if (o->number[o->queue[i]])
      LINNET_TRY(copy_state(o, o->queue[i]));
  linnet_lattice_swap(o->lattice);
  return LINNET_OK;
}

enum linnet_status linnet_lattice_order(struct linnet_lattice *lattice) {
  struct order o = {.lattice = lattice};
  if (lattice->graph.state_count == 0)
    return LINNET_OK;
  enum linnet_status status = order(&o);
  release(&o);
  return status;
}
