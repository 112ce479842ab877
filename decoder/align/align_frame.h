/* The search for the best path from within: the values of one frame, and the step to the next. */
#ifndef LINNET_ALIGN_FRAME_H
#define LINNET_ALIGN_FRAME_H

#include "decoder/align/align_viterbi.h"

/* Where a state's best came from: steps back within the chain, or LINNET_FROM_ARC + the number of the state's arc. An
 * anchor with LINNET_FROM_OUTSIDE stands for the state outside at the same frame. */
enum { LINNET_FROM_SELF = 0, LINNET_FROM_STEP = 1, LINNET_FROM_SKIP = 2, LINNET_FROM_OUTSIDE = 3, LINNET_FROM_ARC = 4 };
_Static_assert(LINNET_FROM_ARC + LINNET_ALIGN_MAX_VARIANTS + 1 <= UINT8_MAX, "a byte names every arc to a state");

enum { LINNET_ALIGN_PADDING = 2 }; /* states before the first, always -infinity */

struct linnet_align_row {
  double *value; /* (LINNET_ALIGN_PADDING + states): -infinity outside [low, high) */
  size_t low, high;
  double outside; /* o_t */
};

struct linnet_align_search {
  const struct linnet_align_problem *p;
  const struct linnet_align_graph *graph;
  size_t states, band, height, blocks; /* height: frames of a block */
  double *emission;                    /* (symbols): of one frame */
  double outside_emission;
  struct linnet_align_row before, now;
  double *saved;          /* (blocks, band): values before each block */
  double *saved_outside;  /* (blocks) */
  uint32_t *low;          /* (frames): of the band at each frame, low[t + 1] being that of frame t; low[0]: the start */
  uint8_t *from;          /* (height, band) */
  uint32_t *outside_from; /* (height): the state that o came from, or LINNET_ALIGN_OUTSIDE */
};

/* Computes frame t, with a band that starts at `low`, from `before`, and makes it `before` of the next. from (band) and
 * *outside_from get where each value came from. */
void linnet_align_advance(struct linnet_align_search *search, size_t t, size_t low, uint8_t *from,
                          uint32_t *outside_from);

#endif
