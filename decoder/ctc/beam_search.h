/* Internals of the prefix beam search: the prefixes of the beam, and one frame of the search.
 *
 * Probabilities are doubles relative to that of the best prefix; the logarithm of the scale is stored separately (as
 * for the forward variables of Rabiner 1989, III.A). So alignments are added without a logarithm in the inner loop,
 * and without underflow over any length. A probability below e^-600 of the best counts as 0. The scale is a power of
 * two, which costs no precision.
 *
 * An extended prefix can be in the beam already only as a child of the prefix that was extended. So a frame needs no
 * table of prefixes: each entry knows the entry of its parent, if that is in the beam, and adds what comes from it. */
#ifndef LINNET_BEAM_SEARCH_H
#define LINNET_BEAM_SEARCH_H

#include <linnet/beam.h>

#include "decoder/base/calibration.h"
#include "decoder/ctc/beam_fusion.h"
#include "decoder/ctc/beam_parts.h"

#define LINNET_NO_ENTRY UINT32_MAX

/* A prefix of the beam. */
struct linnet_beam_entry {
  uint32_t node;                      /* of the trie */
  uint32_t symbol;                    /* the last one, 0 at the root */
  uint32_t slot;                      /* of the fusion */
  uint32_t parent;                    /* entry of the prefix without the last symbol, or LINNET_NO_ENTRY */
  uint32_t first_child, next_sibling; /* entries that have this one as parent; LINNET_NO_ENTRY ends the list */
  double language;                    /* log P_model */
};

/* The present prefixes of the beam after one more frame, before it is known which of them remain. */
struct linnet_beam_unchanged {
  double *symbol_factor;          /* (count): probability of the last symbol at this frame */
  double *blank, *symbol, *score; /* (count) */
};

struct linnet_beam {
  struct linnet_context *context;
  size_t beam;
  double score_ratio; /* exp(-score_threshold) */
  struct linnet_trie trie;
  struct linnet_tree_pool records;
  struct linnet_fusion fusion;
  struct linnet_beam_side sides[2], *now, *next;
  struct linnet_beam_unchanged unchanged;
  struct linnet_candidate *candidates; /* (max_candidates); once finished, `parent` is the entry of each rank */
  struct linnet_row_choice choice;     /* of the symbols that a frame appends */
  struct linnet_row_priors priors;
  size_t max_candidates;
  uint32_t frames;  /* taken so far */
  double log_scale; /* log P of 1 in `blank` and `symbol` is log_scale + exponent * ln 2 */
  int64_t exponent;
  bool finished;
  struct linnet_calibrations calibrations;
  struct linnet_segment *segments; /* of the hypothesis asked for last */
  size_t max_segments;
  struct linnet_beam_block block; /* all arrays of fixed size */
};

/* Takes one row (symbols). The pools must have `beam` free nodes and 2 * beam free records. */
void linnet_beam_frame(struct linnet_beam *beam, const float *row);

#endif
