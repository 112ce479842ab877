/* The oracle of a lattice. For its states s and the offsets j in a reference, from the last state to the first, it
 * computes
 *
 *   cost(s, j) = minimum edit distance between reference[j ...] and the paths from s to an end
 *
 * and then follows the path of minimum cost from the start. */
#include "decoder/lattice/lattice.h"

#include <assert.h>

#define MAX_CELLS ((size_t)1 << 28)

struct oracle {
  const struct linnet_lattice_graph *graph;
  const int *labels, *reference;
  size_t count;
  uint32_t *costs; /* (states, count + 1) */
};

/* What an arc does to the edit distance: nothing (its label is 0), it pairs with a token of the reference, or it is an
 * insertion. */
enum step { STEP_NONE, STEP_DROP, STEP_PAIR, STEP_INSERT };

static int label_of(const struct oracle *o, int symbol) {
  return o->labels ? o->labels[symbol] : symbol;
}

static uint32_t cost(const struct oracle *o, size_t state, size_t offset) {
  return o->costs[state * (o->count + 1) + offset];
}

/* The minimum cost over an arc from an offset in the reference; returns the step. */
static enum step best_step(const struct oracle *o, const struct linnet_lattice_arc *arc, size_t offset,
                           uint32_t *minimum) {
  int label = label_of(o, arc->symbol);
  if (label == 0) {
    *minimum = cost(o, arc->to, offset);
    return STEP_DROP;
  }
  enum step step = STEP_INSERT;
  *minimum = cost(o, arc->to, offset) + 1;
  if (offset < o->count) {
    uint32_t pair = cost(o, arc->to, offset + 1) + (o->reference[offset] != label);
    if (pair <= *minimum) {
      *minimum = pair;
      step = STEP_PAIR;
    }
  }
  return step;
}

/* The arc with the minimum cost, and its step. STEP_NONE: no arc is taken (the path ends, or the reference's token is
 * deleted). */
static enum step choose(const struct oracle *o, size_t state, size_t offset, uint32_t *minimum, size_t *arc) {
  const struct linnet_lattice_state *s = &o->graph->states[state];
  enum step chosen = STEP_NONE;
  *minimum = s->is_final ? (uint32_t)(o->count - offset) : UINT32_MAX / 2;
  if (offset < o->count && cost(o, state, offset + 1) + 1 < *minimum)
    *minimum = cost(o, state, offset + 1) + 1;
  for (size_t i = s->first_arc; i < s->first_arc + s->num_arcs; i++) {
    uint32_t value;
    enum step step = best_step(o, &o->graph->arcs[i], offset, &value);
    if (value > *minimum || (value == *minimum && chosen != STEP_NONE))
      continue;
    *minimum = value;
    *arc = i;
    chosen = step;
  }
  return chosen;
}

static void fill_costs(const struct oracle *o) {
  for (size_t s = o->graph->state_count; s-- > 0;)
    for (size_t j = o->count + 1; j-- > 0;) {
      uint32_t minimum;
      size_t arc;
      choose(o, s, j, &minimum, &arc);
      o->costs[s * (o->count + 1) + j] = minimum;
    }
}

/* Follows the path of minimum cost; its symbols go to `symbols` (states). */
static void follow(const struct oracle *o, int *symbols, struct linnet_lattice_nearest *nearest) {
  struct linnet_score *score = &nearest->score;
  size_t state = 0, offset = 0;
  for (;;) {
    uint32_t minimum;
    size_t index = 0;
    enum step step = choose(o, state, offset, &minimum, &index);
    const struct linnet_lattice_state *s = &o->graph->states[state];
    if (step == STEP_NONE && s->is_final && minimum == o->count - offset)
      break;
    if (step == STEP_NONE) {
      score->num_deletions++;
      offset++;
      continue;
    }
    const struct linnet_lattice_arc *arc = &o->graph->arcs[index];
    score->num_insertions += step == STEP_INSERT;
    if (step == STEP_PAIR) {
      assert(offset < o->count);
      score->num_substitutions += o->reference[offset++] != label_of(o, arc->symbol);
    }
    symbols[nearest->num_symbols++] = arc->symbol;
    state = arc->to;
  }
  score->num_deletions += o->count - offset;
}

static enum linnet_status check(struct linnet_lattice *lattice, const int *reference, size_t count,
                                const struct linnet_lattice_nearest *nearest) {
  size_t cells;
  if (!nearest || (!reference && count > 0))
    return linnet_fail(lattice->context, LINNET_ERROR_ARGUMENT, "linnet_lattice_oracle: an argument is NULL");
  LINNET_TRY(linnet_lattice_check_finished(lattice, "linnet_lattice_oracle"));
  if (lattice->graph.state_count == 0)
    return linnet_fail(lattice->context, LINNET_ERROR_ARGUMENT, "the lattice has no path");
  if (!linnet_mul_size(lattice->graph.state_count, count + 1, &cells) || cells > MAX_CELLS || count >= UINT32_MAX / 4)
    return linnet_fail(lattice->context, LINNET_ERROR_LIMIT,
                       "the lattice has %zu states and the reference %zu tokens: their product must be at most %zu",
                       lattice->graph.state_count, count, MAX_CELLS);
  return LINNET_OK;
}

enum linnet_status linnet_lattice_oracle(struct linnet_lattice *lattice, const int *labels, const int *reference,
                                         size_t count, struct linnet_lattice_nearest *nearest) {
  if (!lattice)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(check(lattice, reference, count, nearest));
  size_t states = lattice->graph.state_count;
  int *symbols = linnet_grow(lattice->context, lattice->nearest, &lattice->nearest_capacity, states, sizeof *symbols);
  lattice->nearest = symbols ? symbols : lattice->nearest;
  struct oracle o = {&lattice->graph, labels, reference, count,
                     linnet_alloc(lattice->context, states * (count + 1), sizeof *o.costs)};
  if (symbols && o.costs) {
    *nearest = (struct linnet_lattice_nearest){.score.num_reference = count, .symbols = symbols};
    fill_costs(&o);
    follow(&o, symbols, nearest);
  }
  linnet_free(lattice->context, o.costs);
  return symbols && o.costs ? LINNET_OK
                            : linnet_fail(lattice->context, LINNET_ERROR_MEMORY,
                                          "out of memory for the oracle of a lattice of %zu states", states);
}
