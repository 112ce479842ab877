/* The order of the prefix beam search: candidates by score, and ties by what does not depend on the memory. */
#ifndef LINNET_BEAM_RANK_H
#define LINNET_BEAM_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a frame makes of the prefix of rank `parent`: the prefix itself (symbol 0), or the one longer by `symbol`. */
struct linnet_candidate {
  double score;
  uint32_t symbol, parent;
};

/* True if `a` comes before `b`. No score is NaN. */
static inline bool linnet_candidate_before(const struct linnet_candidate *a, const struct linnet_candidate *b) {
  if (a->score != b->score)
    return a->score > b->score;
  return a->symbol != b->symbol ? a->symbol < b->symbol : a->parent < b->parent;
}

/* Brings the `keep` first of `count` candidates to the front, in order; returns the smaller of the two numbers. */
size_t linnet_candidates_rank(struct linnet_candidate *candidates, size_t count, size_t keep);

#endif
