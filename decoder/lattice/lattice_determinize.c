/* Determinisation of an acyclic lattice by subsets (Mohri 1997), over pairs of scores ordered by their sum: a state of
 * the result stands for a subset of the lattice's states. Each element has a weight: the score of the best path to it,
 * minus that of the best element. Two sequences of symbols that lead to the same subset share their continuations. */
#include <math.h>

#include "base/hash.h"
#include "decoder/base/radix_sort.h"
#include "decoder/lattice/lattice.h"

#define ROUNDING 1e-9 /* scores that differ by less count as equal */

struct element {
  uint32_t state;
  struct linnet_lattice_weight weight; /* the best element has 0 */
};

/* A candidate for an element of the next subset: an arc from an element of the present one. */
struct candidate {
  size_t arc;
  struct linnet_lattice_weight weight;
};

struct subsets {
  struct linnet_lattice *lattice;
  struct element *elements; /* of all subsets, one after the other, by their states */
  size_t *ends;             /* of each subset */
  uint32_t *table;          /* open addressing: subset + 1, 0 is free; a power of two */
  struct candidate *candidates;
  struct linnet_keyed *keyed, *scratch; /* (candidates) */
  size_t element_count, element_capacity, count, end_capacity, table_size;
  size_t candidate_count, candidate_capacity, keyed_capacity, scratch_capacity;
};

static enum linnet_status out_of_memory(const struct subsets *d) {
  return linnet_fail(d->lattice->context, LINNET_ERROR_MEMORY, "out of memory for a deterministic lattice");
}

/* LINNET_GROW(d, array, capacity, needed): false without memory. */
#define LINNET_GROW(d, array, capacity, needed)                                                                        \
  linnet_grow_array((d)->lattice->context, (void **)(void *)&(d)->array, &(d)->capacity, (needed), sizeof *(d)->array)

static bool linnet_grow_array(struct linnet_context *context, void **array, size_t *capacity, size_t needed,
                              size_t bytes) {
  void *grown = linnet_grow(context, *array, capacity, needed, bytes);
  *array = grown ? grown : *array;
  return grown != NULL;
}

/* --- the table of subsets ----------------------------------------------------------------------------------------- */

static size_t start_of(const struct subsets *d, size_t subset) {
  return subset > 0 ? d->ends[subset - 1] : 0;
}

/* Scores that count as equal have the same hash, unless a border of this coarser grid is between them: then the lattice
 * may have one state more. */
static uint64_t hash_score(uint64_t hash, double score) {
  const double cell = floor(score / (1000 * ROUNDING) + 0.5);
  return linnet_hash_word(hash, fabs(cell) < 1e18 ? (uint64_t)(int64_t)cell : 0);
}

static uint64_t hash_elements(const struct element *elements, size_t count) {
  uint64_t hash = LINNET_HASH_START;
  for (size_t i = 0; i < count; i++) {
    hash = linnet_hash_word(hash, elements[i].state);
    hash = hash_score(hash_score(hash, elements[i].weight.acoustic), elements[i].weight.language);
  }
  return hash ^ hash >> 29;
}

static bool close(struct linnet_lattice_weight a, struct linnet_lattice_weight b) {
  return fabs(a.acoustic - b.acoustic) <= ROUNDING && fabs(a.language - b.language) <= ROUNDING;
}

static bool is_subset(const struct subsets *d, size_t subset, const struct element *elements, size_t count) {
  size_t start = start_of(d, subset);
  bool same = d->ends[subset] - start == count;
  for (size_t i = 0; same && i < count; i++)
    same =
        d->elements[start + i].state == elements[i].state && close(d->elements[start + i].weight, elements[i].weight);
  return same;
}

/* The slot of a subset in the table, or the free slot where it belongs. */
static size_t find_slot(const struct subsets *d, const struct element *elements, size_t count) {
  size_t slot = hash_elements(elements, count) & (d->table_size - 1);
  while (d->table[slot] > 0 && !is_subset(d, d->table[slot] - 1, elements, count))
    slot = (slot + 1) & (d->table_size - 1);
  return slot;
}

static enum linnet_status grow_table(struct subsets *d) {
  size_t size = d->table_size > 0 ? 2 * d->table_size : 1024;
  uint32_t *table = linnet_calloc(d->lattice->context, size, sizeof *table);
  if (!table)
    return out_of_memory(d);
  linnet_free(d->lattice->context, d->table);
  d->table = table;
  d->table_size = size;
  for (size_t i = 0; i < d->count; i++)
    table[find_slot(d, d->elements + start_of(d, i), d->ends[i] - start_of(d, i))] = (uint32_t)i + 1;
  return LINNET_OK;
}

/* Finds the subset whose elements are the `count` ones from `element_count` on. If it is new, adds it, with a new state
 * of this frame. */
static enum linnet_status intern(struct subsets *d, size_t count, size_t frame, size_t *subset) {
  if (2 * (d->count + 1) > d->table_size)
    LINNET_TRY(grow_table(d));
  size_t slot = find_slot(d, d->elements + d->element_count, count);
  if (d->table[slot] == 0) {
    if (!LINNET_GROW(d, ends, end_capacity, d->count + 1))
      return out_of_memory(d);
    LINNET_TRY(linnet_graph_add_state(d->lattice, &d->lattice->spare, frame));
    d->element_count += count;
    d->ends[d->count++] = d->element_count;
    d->table[slot] = (uint32_t)d->count;
  }
  *subset = d->table[slot] - 1;
  return LINNET_OK;
}

/* --- arcs of a subset --------------------------------------------------------------------------------------------- */

/* All arcs of the subset's elements, by (symbol, state that they lead to). */
static enum linnet_status collect(struct subsets *d, size_t subset) {
  const struct linnet_lattice_graph *g = &d->lattice->graph;
  d->candidate_count = 0;
  for (size_t e = start_of(d, subset); e < d->ends[subset]; e++) {
    const struct linnet_lattice_state *s = &g->states[d->elements[e].state];
    size_t needed = d->candidate_count + s->num_arcs + 1;
    if (!LINNET_GROW(d, candidates, candidate_capacity, needed) || !LINNET_GROW(d, keyed, keyed_capacity, needed) ||
        !LINNET_GROW(d, scratch, scratch_capacity, needed))
      return out_of_memory(d);
    for (size_t i = 0; i < s->num_arcs; i++) {
      const struct linnet_lattice_arc *arc = &g->arcs[s->first_arc + i];
      uint64_t key = (uint64_t)(uint32_t)arc->symbol << 32 | arc->to;
      d->keyed[d->candidate_count] = (struct linnet_keyed){key, (uint32_t)d->candidate_count};
      d->candidates[d->candidate_count++] =
          (struct candidate){s->first_arc + i, linnet_weight_times(d->elements[e].weight, linnet_arc_weight(arc))};
    }
  }
  linnet_radix_sort(d->keyed, d->scratch, d->candidate_count);
  return LINNET_OK;
}

/* Appends the candidates [from, to) of one symbol to the elements, for each state the best one. Returns their
 * number. */
static enum linnet_status put_elements(struct subsets *d, size_t from, size_t to, size_t *count) {
  if (d->element_count + (to - from) > d->lattice->max_arcs)
    return linnet_fail(d->lattice->context, LINNET_ERROR_LIMIT,
                       "the lattice is too ambiguous for determinization: prune the search more (fewer hypotheses, a "
                       "lower threshold)");
  if (!LINNET_GROW(d, elements, element_capacity, d->element_count + (to - from)))
    return out_of_memory(d);
  struct element *elements = d->elements + d->element_count;
  *count = 0;
  for (size_t i = from; i < to; i++) {
    const struct candidate *c = &d->candidates[d->keyed[i].value];
    uint32_t state = (uint32_t)d->lattice->graph.arcs[c->arc].to;
    bool same = *count > 0 && elements[*count - 1].state == state;
    if (!same)
      elements[(*count)++] = (struct element){state, c->weight};
    else if (linnet_weight_score(c->weight) > linnet_weight_score(elements[*count - 1].weight))
      elements[*count - 1].weight = c->weight;
  }
  return LINNET_OK;
}

/* Subtracts the best element's weight from all; returns it. */
static struct linnet_lattice_weight normalise(struct element *elements, size_t count, uint32_t *best_state) {
  size_t best = 0;
  for (size_t i = 1; i < count; i++)
    if (linnet_weight_score(elements[i].weight) > linnet_weight_score(elements[best].weight))
      best = i;
  struct linnet_lattice_weight best_weight = elements[best].weight;
  *best_state = elements[best].state;
  for (size_t i = 0; i < count; i++)
    elements[i].weight = linnet_weight_divide(elements[i].weight, best_weight);
  return best_weight;
}

static enum linnet_status add_symbol(struct subsets *d, size_t subset, size_t from, size_t to) {
  size_t count = 0, next = 0;
  uint32_t best;
  LINNET_TRY(put_elements(d, from, to, &count));
  struct linnet_lattice_weight weight = normalise(d->elements + d->element_count, count, &best);
  LINNET_TRY(intern(d, count, d->lattice->graph.states[best].frame, &next));
  const struct linnet_lattice_arc arc = {subset, next, (int)(d->keyed[from].key >> 32), weight.acoustic,
                                         weight.language};
  return linnet_graph_add_arc(d->lattice, &d->lattice->spare, &arc);
}

static void set_final(struct subsets *d, size_t subset) {
  for (size_t e = start_of(d, subset); e < d->ends[subset]; e++) {
    const struct linnet_lattice_state *s = &d->lattice->graph.states[d->elements[e].state];
    if (s->is_final)
      linnet_lattice_offer_final(&d->lattice->spare.states[subset],
                                 linnet_weight_times(d->elements[e].weight, linnet_final_weight(s)));
  }
}

static enum linnet_status expand(struct subsets *d, size_t subset) {
  set_final(d, subset);
  LINNET_TRY(collect(d, subset));
  for (size_t from = 0, to; from < d->candidate_count; from = to) {
    for (to = from + 1; to < d->candidate_count && d->keyed[to].key >> 32 == d->keyed[from].key >> 32;)
      to++;
    LINNET_TRY(add_symbol(d, subset, from, to));
  }
  return LINNET_OK;
}

static enum linnet_status determinize(struct subsets *d) {
  size_t start;
  d->lattice->spare.state_count = d->lattice->spare.num_arcs = 0;
  if (!LINNET_GROW(d, elements, element_capacity, 1))
    return out_of_memory(d);
  d->elements[0] = (struct element){.state = 0};
  LINNET_TRY(intern(d, 1, d->lattice->graph.states[0].frame, &start));
  for (size_t subset = 0; subset < d->count; subset++)
    LINNET_TRY(expand(d, subset));
  linnet_lattice_swap(d->lattice);
  return LINNET_OK;
}

enum linnet_status linnet_lattice_determinize(struct linnet_lattice *lattice) {
  struct subsets d = {.lattice = lattice};
  if (lattice->graph.state_count == 0)
    return LINNET_OK;
  enum linnet_status status = determinize(&d);
  linnet_free(lattice->context, d.elements);
  linnet_free(lattice->context, d.ends);
  linnet_free(lattice->context, d.table);
  linnet_free(lattice->context, d.candidates);
  linnet_free(lattice->context, d.keyed);
  linnet_free(lattice->context, d.scratch);
  return status;
}
