/* Times of the prefixes of a beam search: beside the sum over alignments, the search carries the best one (Viterbi) of
 * each prefix, as two tokens, one for alignments that end in the last symbol and one for those that end in the blank.
 * A token knows the segment of the prefix's last symbol; the segments before it are records, shared between tokens. */
#ifndef LINNET_BEAM_ALIGNMENT_H
#define LINNET_BEAM_ALIGNMENT_H

#include "decoder/base/tree_pool.h"

/* A complete segment. Its symbol stands in the trie: the n-th segment is that of the n-th symbol. */
struct linnet_alignment_record {
  uint32_t previous; /* the segment before it, or NONE; first, for the pool */
  uint32_t start, end;
  float confidence;
};

/* The probability of an alignment, relative to that of the best prefix's, and its last segment: frames [start, end). At
 * the root there is none. */
struct linnet_token {
  double probability;
  double posteriors; /* sum over the frames of the last segment */
  uint32_t start, end;
  uint32_t before; /* record of the segment before the last, or NONE */
  uint32_t record; /* of the last segment, or NONE while there is none */
};

struct linnet_token_pair {
  struct linnet_token symbol, blank;
};

/* The better one; that of the symbol where they are equal, and always but at the root, if both are 0. */
static inline struct linnet_token *linnet_token_best(struct linnet_token_pair *pair) {
  return pair->blank.probability > pair->symbol.probability ? &pair->blank : &pair->symbol;
}

/* The pool's items begin with a record; what an owner puts behind it is its own. */
static inline struct linnet_alignment_record *linnet_record_at(const struct linnet_tree_pool *records, uint32_t i) {
  return linnet_tree_pool_at(records, i);
}

/* The mean posterior of the last segment, at most 1. */
float linnet_token_confidence(const struct linnet_token *token);

/* The record of the token's last segment, made if there is none yet: then there must be room for it. */
uint32_t linnet_token_record(struct linnet_token *token, struct linnet_tree_pool *records);

/* Tokens before the first frame. */
void linnet_tokens_start(struct linnet_token_pair *pair);

/* Marks the records that the tokens lead to. */
void linnet_tokens_mark(const struct linnet_token_pair *pair, struct linnet_tree_pool *records);

/* The token stays in its symbol, of this posterior, for one frame more. */
static inline void linnet_token_stay(struct linnet_token *token, double posterior, uint32_t frame) {
  token->posteriors += posterior;
  token->end = frame + 1;
  token->record = LINNET_TREE_NONE;
}

/* A token that enters a symbol at this frame, after the segments that end with the record `before`. */
static inline struct linnet_token linnet_token_enter(double posterior, uint32_t frame, uint32_t before) {
  return (struct linnet_token){
      .posteriors = posterior, .start = frame, .end = frame + 1, .before = before, .record = LINNET_TREE_NONE};
}

#endif
