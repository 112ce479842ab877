/* Internals of the word search: the word sequences, the states of the beam, and one frame of the search.
 *
 * A state is a pair of a word sequence and a node of the tree (word_tree.h). The words of the sequence are complete.
 * The node is a phone of the next word, or a silence, or the root, where the search begins. The search adds a word to
 * the sequence when the next word or a silence starts, not when the word ends. So the probabilities of its
 * pronunciations are added there, homophones share one state, and no extra state is needed after the last phone.
 *
 * Probabilities are as in beam_search.h: relative to that of the best state, with the scale stored separately.
 *
 * A frame passes through three sources: word_frame.c takes the row and makes the next beam, word_expand.c finds its
 * candidates, word_history.c scores the words that end. The headers they share: docs/architecture.md. */
#ifndef LINNET_WORD_BEAM_H
#define LINNET_WORD_BEAM_H

#include <linnet/word_search.h>

#include "decoder/base/calibration.h"
#include "decoder/base/pair_table.h"
#include "decoder/ctc/beam_parts.h"
#include "decoder/words/word_tree.h"

/* --- word sequences (word_history.c) ------------------------------------------------------------------------------ */

/* A trie of word sequences: each is its parent and one more word. A sequence stores its score without the acoustic
 * probability: language model, bonus for each word, hotwords. */

/* The score of a word sequence; a node of the trie holds the rest. The symbol of that node is the token of the last
 * word. */
struct linnet_history_item {
  double language; /* log P_model of all words */
  double hotwords; /* bonus of all hotwords and unknown words */
  double factor;   /* exp(weight * log P_model + bonus + hotword gain) of the last word; 0: impossible */
  uint32_t hotword_state;
  uint32_t next; /* in its bucket */
};

struct linnet_history {
  struct linnet_context *context;
  struct linnet_language_model own;
  const struct linnet_language_model *model; /* `own`, or NULL */
  const struct linnet_hotwords *hotwords;    /* or NULL */
  double most_pending; /* an incomplete phrase has at most this part of its weight in the score: half the score
                          threshold, so that the search keeps hypotheses without the phrase until it is completed */
  double weight, bonus;
  unsigned unknown; /* token */
  double unknown_bonus;
  struct linnet_trie trie;
  struct linnet_history_item *items; /* (item_capacity), by node */
  unsigned char *states;             /* (state_capacity) of `stride` bytes: of the model, by node */
  size_t item_capacity, state_capacity, stride;
  uint32_t *buckets; /* (bucket_mask + 1): lists of nodes, by a hash of parent and token; LINNET_TREE_NONE ends one */
  size_t bucket_mask;
};

/* A history of zeros may be destroyed. */
enum linnet_status linnet_history_create(struct linnet_history *history, struct linnet_context *context,
                                         const struct linnet_word_search_settings *settings, unsigned unknown);
void linnet_history_destroy(struct linnet_history *history);

/* The empty sequence alone, LINNET_TRIE_ROOT. */
void linnet_history_clear(struct linnet_history *history);

/* Makes the capacity at least `sequences`; false without memory. */
bool linnet_history_grow(struct linnet_history *history, size_t sequences);

/* The sequence followed by a word. It is created if it does not exist; then the capacity must suffice. */
uint32_t linnet_history_child(struct linnet_history *history, uint32_t node, uint32_t token);

/* Frees the sequences that are not marked in the pool of the trie. */
void linnet_history_sweep(struct linnet_history *history);

/* An upper bound of the factor of any word. */
double linnet_history_max_factor(const struct linnet_history *history);

/* Whether the language model allows the words of a sequence. */
bool linnet_history_is_possible(const struct linnet_history *h, uint32_t node);

/* Whether every continuation scores the same after both sequences; and a hash that is equal for such sequences. */
bool linnet_history_same(const struct linnet_history *history, uint32_t a, uint32_t b);
uint64_t linnet_history_hash(const struct linnet_history *history, uint32_t node);

/* *language: log P_model of the sequence. *score: all that the sequence adds to the score of a hypothesis. `ended`:
 * including the end of the sentence. */
void linnet_history_score(const struct linnet_history *history, uint32_t node, bool ended, double *language,
                          double *score);

static inline struct linnet_trie_node *linnet_history_at(const struct linnet_history *history, uint32_t node) {
  return linnet_trie_at(&history->trie, node);
}

size_t linnet_history_memory(const struct linnet_history *history);

/* --- the beam ----------------------------------------------------------------------------------------------------- */

#define LINNET_NO_STATE UINT32_MAX

/* Identifies a state. */
struct linnet_word_position {
  uint32_t history, node;
};

/* Holds a copy of the node's data, because every frame reads them. */
struct linnet_word_state {
  struct linnet_word_position position;
  uint32_t symbol;                 /* of the node; so are the following: */
  uint32_t first_child, end_child; /* its children */
  uint32_t first_word, num_words;  /* the words that end there */
  uint32_t token;                  /* the first of these, 0: none */
  uint32_t parent;                 /* state of the same word one phone before, or LINNET_NO_STATE */
  uint32_t next; /* in the list of states with the same words where a word can start or end; LINNET_NO_STATE ends it */
  double look;   /* linnet_word_look of the position */
  double leave;  /* the highest factor of a word that ends here; -1 while it is not known; 0 where no word ends */
};

/* The present states of the beam after one more frame, if they remain. */
struct linnet_word_unchanged {
  double *factor; /* (count): probability of the phone at this frame */
  double *inflow; /* (count): probability that enters from other states, before `factor` */
  double *blank, *symbol;
};

/* The states that lead to the starts of words after a history. */
struct linnet_word_source_list {
  uint32_t history, first, count; /* elements `first` ... of the arrays below */
  uint64_t stamp;                 /* the list is valid if this equals the stamp below */
};

/* The states that lead to a position. Positions where a word starts share the list of their history, which stays for
 * the frame. */
struct linnet_word_sources {
  uint32_t *states; /* (count): of the position that was asked for last */
  double *factors;  /* (count): pronunciation factor of the word that ends in the state; 1 if none ends there */
  size_t count;
  uint32_t *all_states; /* (capacity + 1): one list after the other; the last element is for positions within a word */
  double *all_factors;
  size_t used, capacity;
  struct linnet_word_source_list *lists; /* (mask + 1): at 2 history, or at 2 history + 1 for positions in the loop,
                                            modulo this number */
  size_t mask;
  uint64_t stamp;
  uint32_t frame; /* of the lists, from 1; 0: none */
};

/* A segment of an alignment. */
struct linnet_word_record {
  struct linnet_alignment_record segment; /* first */
  uint32_t symbol;
  uint32_t word; /* index of its word in the sequence, or LINNET_NO_WORD */
};

#define LINNET_NO_WORD UINT32_MAX

/* A hypothesis after the frames so far. Several states may have the same words. */
struct linnet_word_result {
  uint32_t history;
  uint32_t serial; /* breaks ties: the order of the states, then of the words that end there */
  uint32_t state;  /* the state with the best alignment, by probability * lookahead */
  double look;     /* the highest lookahead of the incomplete words, 1 if there are none */
  double best;     /* probability * lookahead / `look` of that alignment */
  double sum;      /* probability of all alignments of all these states */
  double ahead;    /* sum of probability * lookahead / `look` of the same */
  bool complete;
};

/* A lookahead that was found for a state of the hotwords and a node; many positions share it. State 0: none. */
struct linnet_word_ahead {
  uint32_t state, node;
  double factor;
};

enum { LINNET_WORD_AHEADS = 1024 }; /* a power of two */

struct linnet_word_search {
  struct linnet_context *context;
  const struct linnet_lexicon *lexicon;
  const struct linnet_lexicon *own_lexicon;    /* of the branch of the tree, or NULL */
  struct linnet_word_search_settings settings; /* without arrays, which the tree holds */
  struct linnet_calibrations calibrations;     /* the settings point here */
  size_t beam;
  double score_ratio; /* exp(-score_threshold) */
  bool recombine;
  struct linnet_word_tree tree;
  struct linnet_history history;
  struct linnet_tree_pool records;
  struct linnet_row_choice choice; /* of the symbols of a frame */
  struct linnet_row_priors priors; /* the settings point here */
  struct linnet_beam_side sides[2], *now, *next;
  struct linnet_word_unchanged unchanged;
  struct linnet_candidate *candidates; /* (max_candidates): with symbol 0, state `parent` stays; else `symbol` is a
                                          serial number, `parent` the index of a new position */
  struct linnet_word_position *positions, *spare; /* (max_candidates): new positions, and scratch for moving them */
  size_t max_candidates;
  struct linnet_pair_table table;      /* of the positions of the beam, and of this frame's candidates */
  struct linnet_pair_table recombined; /* for recombination: (hash of the history's state, node) to candidate */
  struct linnet_word_sources sources;
  struct linnet_word_ahead *aheads; /* (LINNET_WORD_AHEADS): at the hash of both, the last that was found */
  double max_factor;                /* no word's factor is higher */
  uint32_t frames;                  /* taken so far */
  double log_scale;                 /* log P of 1 in `blank` and `symbol` is log_scale + exponent * ln 2 */
  int64_t exponent;
  bool finished, ranked; /* `results` are valid for the frames so far */
  struct linnet_word_result *results;
  struct linnet_candidate *ranks; /* (result_count): `parent` is the index of a result */
  size_t result_count, max_results, max_ranks;
  struct linnet_segment *segments; /* of the hypothesis asked for last */
  struct linnet_recognised_word *words;
  size_t max_segments, max_words;
  struct linnet_beam_block block; /* all arrays of fixed size */
};

/* Maximum number of sequences that the next frame, or the ranking of hypotheses, can add: one for each word that ends
 * in a state. */
size_t linnet_word_max_new(const struct linnet_word_search *search);

/* Makes capacity for `sequences` more sequences; first frees those that no state needs. False without memory. */
bool linnet_word_reserve(struct linnet_word_search *search, size_t sequences);

/* The index of the hypothesis that a partial result shows: the best that ends with a complete word, unless its score is
 * far below the best, which is then shown without its incomplete word. Hypotheses must be ranked
 * (linnet_word_search_num_hypotheses). */
size_t linnet_word_search_partial(const struct linnet_word_search *search);

/* A new state at a position, in no list yet. */
struct linnet_word_state linnet_word_state_at(const struct linnet_word_search *search,
                                              struct linnet_word_position position);

/* To be called when the states of `now` have changed: enters each state into the table, and links the states of each
 * word sequence where a word can start or end. */
void linnet_word_link(struct linnet_word_search *search);

/* The word index of the segments of a state. */
static inline uint32_t linnet_word_of(const struct linnet_word_search *search, const struct linnet_word_state *state) {
  return linnet_word_is_between(&search->tree, state->position.node)
             ? LINNET_NO_WORD
             : linnet_history_at(&search->history, state->position.history)->depth;
}

/* --- one frame (word_expand.c, called by word_frame.c) ------------------------------------------------------------ */

/* The data of one frame while it is processed. */
struct linnet_word_step {
  struct linnet_word_search *search;
  struct linnet_row row;
  double to_beat;        /* a candidate below this score cannot enter the next beam */
  size_t count;          /* candidates */
  size_t position_count; /* those at new positions */
  uint32_t serial;       /* of the newest candidate */
  double token_scale;    /* power of two that brings the probability of the best token near 1 */
};

/* Replaces the hotwords of the settings (NULL: none) and resets the search. `branch` has the nodes of their words that
 * the lexicon lacks, which are those of `own_lexicon`; NULL: there are none. All of them must outlive the search. */
void linnet_word_search_set_hotwords(struct linnet_word_search *search, const struct linnet_hotwords *hotwords,
                                     const struct linnet_lexicon *own_lexicon, const struct linnet_word_tree *branch);

/* The lexicon that has the word of a token, which is not the unknown word; *word gets its index there. */
static inline const struct linnet_lexicon *linnet_word_lexicon(const struct linnet_word_search *s, uint32_t token,
                                                               size_t *word) {
  const bool own = token > s->tree.unknown;
  *word = token - 1 - (own ? s->tree.unknown : 0);
  return own ? s->own_lexicon : s->lexicon;
}

/* The first state in the list of a word sequence (linnet_word_state.next). */
uint32_t linnet_word_first_state(const struct linnet_word_search *s, uint32_t history);

/* Puts all states that lead to a position into `sources`. `parent` is the state one phone before, in the same word. */
void linnet_word_find_sources(struct linnet_word_search *s, struct linnet_word_position to, uint32_t parent);

/* Factor of the probability when a node is entered: the penalty of unknown words in the loop, else 1. */
static inline double linnet_word_arrive(const struct linnet_word_tree *tree, uint32_t node) {
  return linnet_word_is_loop(tree, node) ? tree->arrive : 1.0;
}

/* The probability that the sources bring to a node. */
double linnet_word_inflow(const struct linnet_word_search *s, uint32_t node, uint32_t symbol);

/* The weight of a position, computed from that of a state that leads to it: the lookahead of the position replaces that
 * of the state, and the factor of the word that is added between them, if any, is multiplied in. */
double linnet_word_weight_of(const struct linnet_word_search *s, struct linnet_word_position to, uint32_t from);

/* The lookahead of a position: the highest factor that the rest of the word can bring, from its language model and its
 * pronunciation (that of the node), and from a phrase of hotwords that it would break off. */
double linnet_word_look(const struct linnet_word_search *s, struct linnet_word_position position);

/* Empties the table and enters the positions of the beam. */
void linnet_word_fill_table(struct linnet_word_search *s);

/* Finds the candidates for the next beam, best first; returns their number. */
size_t linnet_word_expand(struct linnet_word_step *f);

#endif
