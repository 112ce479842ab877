/* Merging of states with the same future (Revuz 1992), from the last state to the first. This gives the smallest
 * lattice, if the lattice is deterministic and its scores were pushed. */
#include <math.h>

#include "base/numbers.h"
#include "decoder/lattice/lattice.h"

struct merging {
  struct linnet_lattice *lattice;
  double step;
  uint32_t *chosen; /* (states): the state that stands for each */
  uint32_t *table;  /* open addressing: state + 1, 0 is free */
  size_t table_size;
};

static uint64_t hash_state(const struct merging *m, const struct linnet_lattice_state *s) {
  const struct linnet_lattice_arc *arcs = m->lattice->graph.arcs;
  uint64_t hash = 0xCBF29CE484222325u ^ (uint64_t)s->is_final;
  for (size_t i = s->first_arc; i < s->first_arc + s->num_arcs; i++)
    hash = (hash ^ ((uint64_t)(uint32_t)arcs[i].symbol << 32 | m->chosen[arcs[i].to])) * 0x100000001B3u;
  return hash ^ hash >> 29;
}

static bool close(const struct merging *m, struct linnet_lattice_weight a, struct linnet_lattice_weight b) {
  return fabs(a.acoustic - b.acoustic) <= m->step && fabs(a.language - b.language) <= m->step;
}

static bool same_future(const struct merging *m, const struct linnet_lattice_state *a,
                        const struct linnet_lattice_state *b) {
  const struct linnet_lattice_arc *arcs = m->lattice->graph.arcs;
  if (a->is_final != b->is_final || a->num_arcs != b->num_arcs ||
      (a->is_final && !close(m, linnet_final_weight(a), linnet_final_weight(b))))
    return false;
  for (size_t i = 0; i < a->num_arcs; i++) {
    const struct linnet_lattice_arc *x = &arcs[a->first_arc + i], *y = &arcs[b->first_arc + i];
    if (x->symbol != y->symbol || m->chosen[x->to] != m->chosen[y->to] ||
        !close(m, linnet_arc_weight(x), linnet_arc_weight(y)))
      return false;
  }
  return true;
}

/* The state that stands for this one: an earlier one, or itself. */
static uint32_t choose(struct merging *m, size_t state) {
  const struct linnet_lattice_state *states = m->lattice->graph.states, *s = &states[state];
  size_t slot = hash_state(m, s) & (m->table_size - 1);
  while (m->table[slot] > 0 && !same_future(m, &states[m->table[slot] - 1], s))
    slot = (slot + 1) & (m->table_size - 1);
  if (m->table[slot] == 0)
    m->table[slot] = (uint32_t)state + 1;
  return m->table[slot] - 1;
}

static bool allocate(struct merging *m) {
  struct linnet_context *context = m->lattice->context;
  size_t count = m->lattice->graph.state_count;
  m->table_size = linnet_power_of_two(linnet_max_size(2 * count, 16));
  m->chosen = linnet_alloc(context, count, sizeof *m->chosen);
  m->table = linnet_calloc(context, m->table_size, sizeof *m->table);
  return m->chosen && m->table;
}

enum linnet_status linnet_lattice_merge(struct linnet_lattice *lattice, double step) {
  struct merging m = {.lattice = lattice, .step = step};
  struct linnet_lattice_graph *g = &lattice->graph;
  bool good = allocate(&m);
  for (size_t s = g->state_count; good && s-- > 0;)
    m.chosen[s] = choose(&m, s);
  for (size_t i = 0; good && i < g->num_arcs; i++)
    g->arcs[i].to = m.chosen[g->arcs[i].to];
  linnet_free(lattice->context, m.chosen);
  linnet_free(lattice->context, m.table);
  return good ? LINNET_OK
              : linnet_fail(lattice->context, LINNET_ERROR_MEMORY, "out of memory for merging %zu states of a lattice",
                            g->state_count);
}
