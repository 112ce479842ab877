/* The denominator of CTC-CRF, which is lattice-free MMI with the topology of CTC (Povey et al. 2016; Hadian et al.
 * 2018; Xiang and Ou 2019): the sum over all label sequences of what CTC gives the sequence times what a language model
 * gives it. The C reference. */
#ifndef LINNET_DENOMINATOR_H
#define LINNET_DENOMINATOR_H

#include <stdint.h>

#include "ops/pack.h"

enum { LINNET_DENOMINATOR_BLOCK = 16 }; /* groups and columns are padded to a multiple of this */

/* Sources with the same successors. Their states follow each other. */
struct linnet_denominator_group {
  size_t start;          /* the first state, a multiple of LINNET_DENOMINATOR_BLOCK */
  size_t sources, width; /* states; and with the padding after them, to a multiple of LINNET_DENOMINATOR_BLOCK */
};

/* A language model over labels as a graph without empty arcs. A state is a history of the model together with its last
 * label. In CTC's topology each state has two positions: on its last label, and on the blank after it. Padding states
 * have probabilities of 0 and the last label of a neighbour. `states`, `columns` and `width` include padding. */
struct linnet_denominator_graph {
  size_t symbols; /* of the logits; 0 is the blank */
  size_t states, columns, groups;
  size_t begin; /* the state before all labels, whose last label is 0 */
  size_t arcs;  /* labels of states, without padding */
  bool smooth;  /* no probability is below LINNET_DENOMINATOR_SMOOTH, so that float32 is enough */
  const struct linnet_denominator_group *group; /* (groups) */
  const float *weight;                          /* (states, columns): P(label | state), 0 for the last label */
  const float *transposed;  /* the same, (symbols, width) for each group, from element start * symbols on */
  const uint32_t *next;     /* (groups, columns): the state after a label, also after the last one */
  const float *repeat;      /* (states): P(last label | state), which needs a blank between the two */
  const uint32_t *repeated; /* (states): the state after that */
  const uint32_t *last;     /* (states) */
  const float *finish;      /* (states): P(end | state) */
};

#define LINNET_DENOMINATOR_SMOOTH 0x1p-30f

/* The arguments for one sequence. */
struct linnet_denominator {
  const struct linnet_denominator_graph *graph;
  size_t frames;
  const real *logits; /* (frames, graph->symbols), not normalised */
  real scale;         /* the gradient is multiplied by this */
  real *gradient_add; /* (frames, graph->symbols): the gradient with respect to the logits is added. NULL: no gradient;
                         it must not overlap the logits */
};

size_t linnet_denominator_work_bytes(const struct linnet_denominator_graph *graph, size_t frames);

/* Returns the logarithm of the sum, at most 0 up to rounding. NaN, and no gradient, if a row of logits holds NaN or
 * +infinity, or only -infinity; -infinity, and no gradient, if the sum is 0. */
double linnet_denominator_reference(const struct linnet_denominator *d, void *work);

/* The logarithm of the probability that the language model gives the labels and the end after them. */
double linnet_denominator_label_score(const struct linnet_denominator_graph *graph, const int *label, size_t labels);

#endif
