/* The search for words from within: the word sequences, the states of the beam, and one frame of the search.
 *
 * A state is a word sequence and a node of the tree (word_tree.h): the words are complete, the node is a phone of the
 * next one, or a silence, or the root, where the search begins. A word is added to the sequence not where it ends but
 * where the next one, or a silence, starts: so its pronunciations meet there and add up, homophones need one state, and
 * after the last phone no copy of the state waits for either.
 *
 * Numbers are as in beam_search.h: relative to the best state's, the scale kept aside.
 *
 * A frame passes through three files: word_frame.c takes the row and makes the next beam, word_expand.c finds its
 * candidates, word_history.c scores the words that end. */
#ifndef LINNET_WORD_BEAM_H
#define LINNET_WORD_BEAM_H

#include <linnet/word_search.h>

#include "decoder/base/calibration.h"
#include "decoder/base/pair_table.h"
#include "decoder/ctc/beam_parts.h"
#include "decoder/words/word_tree.h"

/* --- word sequences (word_history.c) ------------------------------------------------------------------------------ */

/* Each sequence is the longer by a word than its parent, and has what it scores beside the acoustic probability:
 * language model, bonus for each word, hotwords. */

/* What a word sequence adds to the trie's node; its symbol there is the token of its last word. */
struct linnet_history_item {
  double language; /* log P_model of all words */
  double hotwords; /* bonus of all words */
  double factor;   /* exp(weight * log P_model + bonus + hotword gain) of the last word; 0: impossible */
  uint32_t hotword_state;
};

struct linnet_history {
  struct linnet_context *context;
  const struct linnet_language_model *model; /* or NULL */
  const struct linnet_hotwords *hotwords;    /* or NULL */
  double weight, bonus;
  struct linnet_trie trie;
  struct linnet_history_item *items; /* (item_capacity), by node */
  unsigned char *states;             /* (state_capacity) of `stride` bytes: of the model, by node */
  size_t item_capacity, state_capacity, stride;
};

/* A history of zeros may be destroyed. */
enum linnet_status linnet_history_create(struct linnet_history *history, struct linnet_context *context,
                                         const struct linnet_word_search_settings *settings);
void linnet_history_destroy(struct linnet_history *history);

/* The empty sequence alone, LINNET_TRIE_ROOT. */
void linnet_history_clear(struct linnet_history *history);

/* Room for so many sequences in all; false without memory. */
bool linnet_history_grow(struct linnet_history *history, size_t sequences);

/* The sequence longer by a word, made if it is not there: then there must be room for it. */
uint32_t linnet_history_child(struct linnet_history *history, uint32_t node, uint32_t token);

/* An upper bound of the factor of any word. */
double linnet_history_most(const struct linnet_history *history);

/* Whether the same words score the same after both, and a number that is then the same. */
bool linnet_history_same(const struct linnet_history *history, uint32_t a, uint32_t b);
uint64_t linnet_history_hash(const struct linnet_history *history, uint32_t node);

/* log P_model of the whole and what all else adds to the score; `ended`: with the end of the sentence. */
void linnet_history_score(const struct linnet_history *history, uint32_t node, bool ended, double *language,
                          double *score);

static inline struct linnet_trie_node *linnet_history_at(const struct linnet_history *history, uint32_t node) {
  return linnet_trie_at(&history->trie, node);
}

size_t linnet_history_memory(const struct linnet_history *history);

/* --- the beam ----------------------------------------------------------------------------------------------------- */

#define LINNET_NO_STATE UINT32_MAX

/* A state by its parts. */
struct linnet_word_place {
  uint32_t history, node;
};

/* What the tree says of the node is kept here, too: it is looked at in every frame. */
struct linnet_word_state {
  struct linnet_word_place place;
  uint32_t symbol;                 /* of the node, as are: */
  uint32_t first_child, end_child; /* its children */
  uint32_t first_word, word_count; /* the words that end there */
  uint32_t token;                  /* the first of these, 0: none */
  uint32_t parent;                 /* state of the same word one phone before, or LINNET_NO_STATE */
  uint32_t next; /* of the list of what can be left in the same word sequence; LINNET_NO_STATE ends it */
  double look;   /* of the node */
  double leave; /* where words end: the highest factor, relative to the weight, of a word; -1 while not known, else 0 */
};

/* The states after a frame, best first. */
struct linnet_word_side {
  size_t count;
  double *blank, *symbol; /* (count): probabilities of the alignments that end in the blank, and in the phone */
  double *weight;         /* (count): what else counts; score = (blank + symbol) * weight, but for the scale */
  double *score;          /* (count), not increasing */
  struct linnet_word_state *states;
  struct linnet_token_pair *tokens;
};

/* What a frame makes of the states of the beam as they are. */
struct linnet_word_stay {
  double *factor; /* (count): probability of the phone at this frame */
  double *inflow; /* (count): what other states bring, before that */
  double *blank, *symbol;
};

/* A segment of an alignment. */
struct linnet_word_record {
  struct linnet_alignment_record segment; /* first */
  uint32_t symbol;
  uint32_t word; /* how many came before its own, or LINNET_NO_WORD */
};

#define LINNET_NO_WORD UINT32_MAX

/* One of the hypotheses at this point. */
struct linnet_word_result {
  uint32_t history;
  uint32_t serial; /* of the best state that gives these words, and of the word among those that end there */
  uint32_t state;  /* of those that give these words, the one of the best alignment */
  double best;     /* probability of that */
  double sum;      /* of all alignments of all of them */
  double look;     /* of the word under way */
  bool complete;
};

struct linnet_word_search {
  struct linnet_context *context;
  const struct linnet_lexicon *lexicon;
  struct linnet_word_search_settings settings; /* but for arrays, which the tree holds */
  struct linnet_calibrations calibrations;     /* the settings point here */
  size_t beam;
  double score_ratio; /* exp(-score_threshold) */
  bool recombine;
  struct linnet_word_tree tree;
  struct linnet_history history;
  struct linnet_tree_pool records;
  struct linnet_row_choice choice; /* of the symbols of a frame */
  struct linnet_word_side sides[2], *now, *next;
  struct linnet_word_stay stay;
  struct linnet_candidate *candidates; /* (max_candidates): symbol 0, parent i: state i stays; else the serial number
                                          and the index of the place */
  struct linnet_word_place *places, *spare; /* (max_candidates): new places, and work space for moving them */
  size_t max_candidates;
  struct linnet_pair_table table; /* of the places of the beam, and of this frame's candidates */
  struct linnet_pair_table kept;  /* for recombination: (hash of the history's state, node) to candidate */
  struct linnet_word_sources {
    uint32_t *states; /* (beam) */
    size_t count;
    uint32_t history, frame; /* of places between words or at the start of one, in this frame (from 1), */
    bool loop;               /* in the loop or not; all of these have the same sources */
  } sources;
  double most_factor; /* no word's factor is higher */
  uint32_t frames;    /* taken so far */
  double log_scale;   /* log P of 1 in `blank` and `symbol` is log_scale + exponent * ln 2 */
  int64_t exponent;
  bool finished, ranked; /* `results` are those of this point */
  struct linnet_word_result *results;
  struct linnet_candidate *ranks; /* (result_count): `parent` is the index of a result */
  size_t result_count, max_results, max_ranks;
  struct linnet_segment *segments; /* of the hypothesis asked for last */
  struct linnet_recognised_word *words;
  size_t max_segments, max_words;
  void *block; /* what has a fixed size */
  size_t block_bytes;
};

/* Sequences that the next frame, or the ranking of hypotheses, can make: one for each word that ends in a state. */
size_t linnet_word_room(const struct linnet_word_search *search);

/* Room for so many sequences; what no state needs is freed first. */
bool linnet_word_make_room(struct linnet_word_search *search, size_t sequences);

/* A state at a place, in none of the lists. */
struct linnet_word_state linnet_word_state_at(const struct linnet_word_search *search, struct linnet_word_place place);

/* After the states of `now` were set: finds each state by its place, and those of each word sequence that are between
 * words or at the end of one. */
void linnet_word_link(struct linnet_word_search *search);

/* The word index of the segments of a state. */
static inline uint32_t linnet_word_of(const struct linnet_word_search *search, const struct linnet_word_state *state) {
  return linnet_word_is_between(&search->tree, state->place.node)
             ? LINNET_NO_WORD
             : linnet_history_at(&search->history, state->place.history)->depth;
}

/* --- one frame (word_expand.c, called by word_frame.c) ------------------------------------------------------------ */

/* A frame under way. */
struct linnet_word_step {
  struct linnet_word_search *search;
  struct linnet_row row;
  double to_beat;     /* a candidate below this score is not in the beam */
  size_t count;       /* candidates */
  size_t place_count; /* of them new */
  uint32_t serial;    /* of the newest */
  double token_scale; /* brings the probability of the best token near 1 */
};

/* The first of the list of a word sequence's states that are between words or at the end of one. */
uint32_t linnet_word_first_state(const struct linnet_word_search *s, uint32_t history);

/* Puts all states from which a place is reached into `sources`. `parent` is the state before it in the same word. */
void linnet_word_find_sources(struct linnet_word_search *s, struct linnet_word_place to, uint32_t parent);

/* Factor of the probability of entering a place. */
static inline double linnet_word_arrive(const struct linnet_word_tree *tree, uint32_t node) {
  return linnet_word_is_loop(tree, node) ? tree->arrive : 1.0;
}

/* What the sources bring to a node. */
double linnet_word_inflow(const struct linnet_word_search *s, uint32_t node, uint32_t symbol);

/* The weight of a place: that of a state it is reached from, without what that looked ahead, with the word added
 * between them and what the place looks ahead. */
double linnet_word_weight_of(const struct linnet_word_search *s, struct linnet_word_place to, uint32_t from);

/* Puts the places of the beam into the table, and nothing else. */
void linnet_word_fill_table(struct linnet_word_search *s);

/* Finds what the frame makes of the beam: the candidates of the next one, best first; returns their number. */
size_t linnet_word_expand(struct linnet_word_step *f);

#endif
