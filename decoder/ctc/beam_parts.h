/* The parts that the prefix beam search and the search for words share: sorted candidates, label priors, a frame's row
 * of log-posteriors, prefixes as a trie, tokens, which hold the best alignment of each, and the arrays of a beam. */
#ifndef LINNET_BEAM_PARTS_H
#define LINNET_BEAM_PARTS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/base.h"
#include "decoder/base/tree_pool.h"

/* --- exponentials ------------------------------------------------------------------------------------------------- */

/* Exponentials of an array, written so that a compiler turns the loop into vector code. */

/* out[i] = exp(x[i]) within a relative 1e-15 for x <= 0; 0 below -700, and for -infinity. `out` may be `x`. */
void linnet_exp_array(const double *x, double *out, size_t n);

/* --- candidates --------------------------------------------------------------------------------------------------- */

/* The order of the prefix beam search: candidates by score, and ties by what does not depend on the memory. */

/* A candidate for the next beam: the prefix of rank `parent` itself (symbol 0), or followed by `symbol`. */
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

/* Moves the `keep` best of `count` candidates to the front, sorted; returns the smaller of the two numbers. */
size_t linnet_candidates_rank(struct linnet_candidate *candidates, size_t count, size_t keep);

/* --- label priors (row_priors.c) ---------------------------------------------------------------------------------- */

/* The priors by which a search divides the posteriors of each frame (beam.h). */

/* All zeros: none. */
struct linnet_row_priors {
  float *priors;  /* (symbols); NULL: none. The arrays below are NULL then, too */
  float *logs;    /* (symbols): scale * log prior */
  double *powers; /* (symbols): prior^scale */
  float *row;     /* (symbols): the present row after the division */
};

/* LINNET_ERROR_ARGUMENT unless each prior (symbols) is above 0, their sum is 1, and the scale is 0 to 2. `priors` NULL
 * means none: then the scale alone is checked. `name` is the prefix of a sentence about priors. */
enum linnet_status linnet_row_priors_check(struct linnet_context *context, const char *name, const float *priors,
                                           size_t symbols, float scale);

/* Checks the priors and copies them. `priors` NULL: none. Release the structure even after a failure. */
enum linnet_status linnet_row_priors_create(struct linnet_row_priors *p, struct linnet_context *context,
                                            const char *name, const float *priors, size_t symbols, float scale);
void linnet_row_priors_destroy(struct linnet_row_priors *p, struct linnet_context *context);

size_t linnet_row_priors_memory(const struct linnet_row_priors *p, size_t symbols);

/* --- rows of posteriors ------------------------------------------------------------------------------------------- */

/* A row of log-posteriors, prepared for a search: relative to its largest value, with the symbols that a frame may
 * append. */

/* Probabilities below this, relative to the best hypothesis, count as 0. So products of the others never become
 * denormal. */
#define LINNET_NOTHING 0x1p-900

struct linnet_row {
  const float *values; /* (symbols); NULL: a certain blank */
  float largest;
  double blank;           /* exp(values[0] - largest) */
  double posterior_scale; /* posterior = this * probability relative to the row's largest, without priors */
  const double *powers;   /* (symbols): the factors of posteriors with priors; NULL: no priors */
};

/* The pruning of symbols, and the symbols that the present frame appends. */
struct linnet_row_choice {
  size_t symbols, top;
  float threshold;
  size_t count;
  struct linnet_candidate *chosen; /* (symbols): most probable first; only `symbol` and `score` are used */
  double *exponents;               /* (symbols): work space */
  double *probability;             /* (symbols): of those chosen, by symbol, relative to the row's largest */
};

/* A log-posterior: NaN and +infinity are impossible. */
static inline float linnet_row_sane(float x) {
  return x < INFINITY ? x : -INFINITY;
}

static inline double linnet_row_floor(double probability) {
  return probability > LINNET_NOTHING ? probability : 0.0;
}

/* The posterior of a symbol whose probability, after the division by its prior, is relative to the row's largest;
 * above 1 it counts as 1, as in greedy decoding. */
static inline double linnet_row_posterior(const struct linnet_row *row, uint32_t symbol, double probability) {
  double value = row->posterior_scale * probability * (row->powers ? row->powers[symbol] : 1.0);
  return value < 1 ? value : 1;
}

/* The power of two that brings x near 1; of a denormal x, the highest power of two. */
static inline double linnet_row_scale(double x, int *exponent) {
  static const int lowest = -1023;
  *exponent = 0;
  if (x > 0)
    frexp(x, exponent);
  *exponent = *exponent > lowest ? *exponent : lowest;
  return ldexp(1, -*exponent);
}

/* Divides the posteriors by the priors. NULL and a row in which all symbols are impossible both count as a blank of
 * probability 1. The row is valid until the next one with the same priors. */
struct linnet_row linnet_row_read(const float *values, size_t symbols, const struct linnet_row_priors *priors);

/* The logarithm of a symbol's probability, relative to the row's largest; -infinity for symbol 0, because the root has
 * no symbol. */
static inline double linnet_row_exponent(const struct linnet_row *row, uint32_t symbol) {
  return row->values && symbol > 0 ? (double)linnet_row_sane(row->values[symbol]) - (double)row->largest
                                   : -(double)INFINITY;
}

/* Takes the arrays of a choice from an arena. */
void linnet_row_choice_lay_out(struct linnet_row_choice *choice, struct linnet_arena *arena);

/* Chooses the symbols that pass the pruning and whose probability, relative to the row's largest, is at least
 * `min_probability`. A rounding error is possible here: the caller makes the exact test. */
void linnet_row_choose(const struct linnet_row *row, struct linnet_row_choice *choice, double min_probability);

/* --- prefixes ----------------------------------------------------------------------------------------------------- */

/* The prefixes of a beam search as a trie: a node is its parent's prefix with one symbol more. */

#define LINNET_TRIE_ROOT 0u /* the empty prefix */

struct linnet_trie_node {
  uint32_t parent; /* first, for the pool */
  uint32_t symbol; /* 0 at the root */
  uint32_t depth;  /* symbols of the prefix */
  uint32_t first_child, next_sibling;
  uint32_t entry; /* its index in the beam after frame `stamp`; of a word sequence, the first index */
  uint32_t stamp;
};

struct linnet_trie {
  struct linnet_tree_pool pool;
};

static inline struct linnet_trie_node *linnet_trie_at(const struct linnet_trie *trie, uint32_t node) {
  return (struct linnet_trie_node *)(void *)trie->pool.items + node;
}

/* Clears the trie and adds the root; the capacity must be at least 1. */
void linnet_trie_clear(struct linnet_trie *trie);

/* Adds the child of a node by a symbol. There must be no such child, and the pool must have a free item. */
uint32_t linnet_trie_add(struct linnet_trie *trie, uint32_t node, uint32_t symbol);

/* The child by a symbol. If it does not exist, it is created and *fresh is true; then the pool must have a free
 * item. */
uint32_t linnet_trie_find_or_add(struct linnet_trie *trie, uint32_t node, uint32_t symbol, bool *fresh);

static inline uint32_t linnet_trie_child(struct linnet_trie *trie, uint32_t node, uint32_t symbol) {
  bool fresh;
  return linnet_trie_find_or_add(trie, node, symbol, &fresh);
}

/* Frees all nodes but those marked, and the root. */
void linnet_trie_sweep(struct linnet_trie *trie);

/* The longest common prefix of two nodes. */
uint32_t linnet_trie_common(const struct linnet_trie *trie, uint32_t a, uint32_t b);

/* --- tokens ------------------------------------------------------------------------------------------------------- */

/* Times of the prefixes of a beam search. Besides the sum over alignments, the search has the best alignment (Viterbi)
 * of each prefix, as two tokens: one for alignments that end in the last symbol and one for those that end in the
 * blank. A token contains the segment of the prefix's last symbol. The segments before it are records, which tokens
 * share. */

/* A complete segment. Its symbol is in the trie: the n-th segment belongs to the n-th symbol. */
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

/* The better token; if both are equal, that of the symbol. */
static inline struct linnet_token *linnet_token_best(struct linnet_token_pair *pair) {
  return pair->blank.probability > pair->symbol.probability ? &pair->blank : &pair->symbol;
}

/* Items of the pool begin with a record; more members may follow it. */
static inline struct linnet_alignment_record *linnet_record_at(const struct linnet_tree_pool *records, uint32_t i) {
  return linnet_tree_pool_at(records, i);
}

/* The mean posterior of the last segment, at most 1. */
float linnet_token_confidence(const struct linnet_token *token);

/* The record of the token's last segment. It is created if it does not exist; then the pool must have a free item. */
uint32_t linnet_token_record(struct linnet_token *token, struct linnet_tree_pool *records);

/* Tokens before the first frame. */
void linnet_tokens_start(struct linnet_token_pair *pair);

/* Marks the records that the tokens need. */
void linnet_tokens_mark(const struct linnet_token_pair *pair, struct linnet_tree_pool *records);

/* The token stays in its symbol for one more frame, where the symbol has this posterior. */
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

/* --- the beam ----------------------------------------------------------------------------------------------------- */

struct linnet_beam_entry; /* of the prefix beam search */
struct linnet_word_state; /* of the search for words */

/* The hypotheses after a frame, best first. */
struct linnet_beam_side {
  size_t count;
  double *blank, *symbol; /* (count): probabilities of the alignments that end in the blank, and in the last symbol */
  double *weight;         /* (count): all other factors; score = (blank + symbol) * weight, without the scale */
  double *score;          /* (count), not increasing */
  struct linnet_token_pair *tokens; /* (count) */
  union {                           /* (count): what else the search has of each */
    struct linnet_beam_entry *entries;
    struct linnet_word_state *states;
  };
};

/* Takes the arrays of a side for `beam` hypotheses from an arena, except the one of the union. */
void linnet_beam_side_lay_out(struct linnet_beam_side *side, struct linnet_arena *arena, size_t beam);

/* Scales the probabilities of a new side by a power of two that brings those of the best hypothesis near 1, adds its
 * exponent to *exponent, and sets the scores from the candidates (count) that became the hypotheses. */
void linnet_beam_side_rescale(struct linnet_beam_side *side, const struct linnet_candidate *candidates,
                              int64_t *exponent);

/* Memory of a fixed size. All zeros: none. */
struct linnet_beam_block {
  void *memory;
  size_t bytes;
};

/* Allocates the arrays that `lay_out` takes from its arena, as zeros. False without memory. Release with
 * linnet_free(context, block->memory). */
typedef void (*linnet_beam_lay_out_fn)(void *search, struct linnet_arena *arena);
bool linnet_beam_block_create(struct linnet_beam_block *block, struct linnet_context *context,
                              linnet_beam_lay_out_fn lay_out, void *search);

/* Whether a pool has capacity for more items after a collection. If this freed less than half of all items, the answer
 * is no, because the pool would soon be full again. The second function gives the capacity to grow to. */
bool linnet_beam_pool_suffices(const struct linnet_tree_pool *pool, size_t items);
size_t linnet_beam_pool_larger(const struct linnet_tree_pool *pool, size_t items);

/* Makes capacity for more records; first frees those that no hypothesis needs. False without memory. */
bool linnet_beam_reserve_records(struct linnet_tree_pool *records, const struct linnet_beam_side *now, size_t items);

#endif
