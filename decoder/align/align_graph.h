/* The states of a text under the CTC topology. Each word has an anchor, the blank before it, and a chain of states per
 * pronunciation, labels at even places and blanks between them; a last anchor ends the text:
 *
 *   anchor 0 | l0 blank l1 ... (variant 0) | l0 blank l1 ... (variant 1) | anchor 1 | ...
 *
 * Steps lead from lower to higher states. Nearly all come from the state itself, the one before it or the one before
 * that, as in plain CTC; those that branch and join around variants are in a list of arcs. */
#ifndef LINNET_ALIGN_GRAPH_H
#define LINNET_ALIGN_GRAPH_H

#include <linnet/align.h>

#include "base/base.h"

enum { LINNET_ALIGN_MAX_STATES = 1 << 30 };

struct linnet_align_arc {
  uint32_t from, to;
};

struct linnet_align_state {
  int symbol;       /* 0 is the blank */
  uint32_t word;    /* of an anchor: the word after it */
  uint32_t variant; /* of a label or the blank after it */
};

/* Release with linnet_align_graph_clear. */
struct linnet_align_graph {
  struct linnet_context *context;
  size_t count, words, num_arcs;
  size_t min_frames;                /* that a path through all words needs */
  struct linnet_align_state *state; /* (count) */
  double *step, *skip;              /* (count): 0 where s - 1 -> s, s - 2 -> s is allowed, else -infinity */
  struct linnet_align_arc *arc;     /* (num_arcs): the other steps, in the order of `to`, then of `from` */
  uint32_t *anchor;                 /* (words + 1) */
};

enum linnet_status linnet_align_graph_build(struct linnet_context *context, const struct linnet_align_word *words,
                                            size_t count, struct linnet_align_graph *graph);

void linnet_align_graph_clear(struct linnet_align_graph *graph);

/* The first arc that leads to `state` or beyond. */
size_t linnet_align_graph_first_arc(const struct linnet_align_graph *graph, size_t state);

/* True if the text may end in the state: the last anchor and the last labels of the last word. */
bool linnet_align_graph_is_final(const struct linnet_align_graph *graph, size_t state);

#endif
