/* Internals of a lattice, and the passes that finish it. Each pass needs an ordered graph (linnet_lattice_order). */
#ifndef LINNET_LATTICE_INTERNAL_H
#define LINNET_LATTICE_INTERNAL_H

#include <linnet/lattice.h>

#include "base/base.h"

struct linnet_lattice_graph {
  struct linnet_lattice_state *states;
  struct linnet_lattice_arc *arcs;
  size_t state_count, num_arcs, state_capacity, arc_capacity;
};

struct linnet_lattice {
  struct linnet_context *context;
  struct linnet_lattice_graph graph;
  struct linnet_lattice_graph spare; /* the result of a pass */
  size_t max_arcs;                   /* maximum number of arcs of this result */
  bool finished;                     /* linnet_lattice_finish was called: the lattice takes no more arcs */
  bool failed;                       /* and failed: it has no contents */
  struct linnet_lattice_step {
    int symbol;
    size_t state;
  } * last; /* (last_count): the states of the path that was added last; the next path may share its beginning */
  size_t last_count, last_capacity;
  struct linnet_lattice_path *paths; /* of linnet_lattice_nbest */
  struct linnet_segment *segments;   /* of these */
  int *nearest;                      /* of linnet_lattice_oracle */
  size_t path_capacity, segment_capacity, nearest_capacity;
};

/* LINNET_ERROR_STATE unless linnet_lattice_finish has succeeded; `caller` is for the message. */
enum linnet_status linnet_lattice_check_finished(const struct linnet_lattice *lattice, const char *caller);

/* The two scores of an arc, a path or a final state. */
struct linnet_lattice_weight {
  double acoustic, language;
};

static inline double linnet_weight_score(struct linnet_lattice_weight w) {
  return w.acoustic + w.language;
}

static inline struct linnet_lattice_weight linnet_weight_times(struct linnet_lattice_weight a,
                                                               struct linnet_lattice_weight b) {
  return (struct linnet_lattice_weight){a.acoustic + b.acoustic, a.language + b.language};
}

static inline struct linnet_lattice_weight linnet_weight_divide(struct linnet_lattice_weight a,
                                                                struct linnet_lattice_weight b) {
  return (struct linnet_lattice_weight){a.acoustic - b.acoustic, a.language - b.language};
}

static inline struct linnet_lattice_weight linnet_arc_weight(const struct linnet_lattice_arc *arc) {
  return (struct linnet_lattice_weight){arc->acoustic, arc->language};
}

static inline struct linnet_lattice_weight linnet_final_weight(const struct linnet_lattice_state *state) {
  return (struct linnet_lattice_weight){state->acoustic, state->language};
}

/* Makes a state final with this weight. If it is final already, the better weight stays. */
void linnet_lattice_offer_final(struct linnet_lattice_state *state, struct linnet_lattice_weight weight);

/* Append to a graph; LINNET_ERROR_LIMIT beyond `max_arcs`. */
enum linnet_status linnet_graph_add_state(struct linnet_lattice *lattice, struct linnet_lattice_graph *graph,
                                          size_t frame);
enum linnet_status linnet_graph_add_arc(struct linnet_lattice *lattice, struct linnet_lattice_graph *graph,
                                        const struct linnet_lattice_arc *arc);

/* Replaces the graph by the result of a pass, `spare`. */
void linnet_lattice_swap(struct linnet_lattice *lattice);

/* Removes states and arcs that are on no path, numbers states in topological order, sorts arcs by (from, symbol), and
 * sets the ranges of arcs of the states. LINNET_ERROR_ARGUMENT for a cycle. */
enum linnet_status linnet_lattice_order(struct linnet_lattice *lattice);

/* Removes the arcs of symbol 0. The result is not ordered. */
enum linnet_status linnet_lattice_remove_empty(struct linnet_lattice *lattice);

/* Afterwards no state has two arcs of one symbol; among paths with the same symbols the best stays. The result is not
 * ordered. */
enum linnet_status linnet_lattice_determinize(struct linnet_lattice *lattice);

/* Merges states whose arcs lead to the same states by the same symbols, with scores that differ by at most `step` in
 * each part. Scores must have been pushed. The result is not ordered. */
enum linnet_status linnet_lattice_merge(struct linnet_lattice *lattice, double step);

#endif
