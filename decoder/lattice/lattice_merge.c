/* Merging of states with the same future (Revuz 1992), from the last state to the first. This gives the smallest
 * lattice, if the lattice is deterministic and its scores were pushed, unless many states differ only in their scores.
 */
#include <math.h>

#include "base/hash.h"
#include "base/numbers.h"
#include "decoder/lattice/lattice.h"

/* States with the same hash may differ in their scores. Comparing each with all others would take quadratic time. */
enum { MAX_COMPARED = 64 };

struct merging {
  struct linnet_lattice *lattice;
  double step;
  uint32_t *chosen; /* (states): the state that stands for each */
  uint32_t *before; /* (states): state + 1, the one before it with the same slot in the table, 0 for none */
  uint32_t *table;  /* state + 1, the last one with this slot, 0 for none */
  size_t table_size;
};

static uint64_t hash_state(const struct merging *m, const struct linnet_lattice_state *s) {
  const struct linnet_lattice_arc *arcs = m->lattice->graph.arcs;
  uint64_t hash = LINNET_HASH_START ^ (uint64_t)s->is_final;
  for (size_t i = s->first_arc; i < s->first_arc + s->num_arcs; i++)
    hash = linnet_hash_word(hash, (uint64_t)(uint32_t)arcs[i].symbol << 32 | m->chosen[arcs[i].to]);
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
  const size_t slot = hash_state(m, s) & (m->table_size - 1);
  uint32_t other = m->table[slot];
  for (int i = 0; other > 0 && i < MAX_COMPARED; i++, other = m->before[other - 1])
    if (same_future(m, &states[other - 1], s))
      return other - 1;
  m->before[state] = m->table[slot];
  m->table[slot] = (uint32_t)state + 1;
  return (uint32_t)state;
}

static bool allocate(struct merging *m) {
  struct linnet_context *context = m->lattice->context;
  size_t count = m->lattice->graph.state_count;
  m->table_size = linnet_power_of_two(linnet_max_size(2 * count, 16));
  m->chosen = linnet_alloc(context, count, sizeof *m->chosen);
  m->before = linnet_alloc(context, count, sizeof *m->before);
  m->table = linnet_calloc(context, m->table_size, sizeof *m->table);
  return m->chosen && m->before && m->table;
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
  linnet_free(lattice->context, m.before);
  linnet_free(lattice->context, m.table);
  return good ? LINNET_OK
              : linnet_fail(lattice->context, LINNET_ERROR_MEMORY, "out of memory for merging %zu states of a lattice",
                            g->state_count);
}
