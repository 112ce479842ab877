/* The search for words from within: the states of the beam, and one frame of the search.
 *
 * A state is a word sequence and a node of the tree (word_tree.h): the words are complete, the node is a phone of the
 * next one, or a silence, or the root, where the search begins. A word is added to the sequence not where it ends but
 * where the next one, or a silence, starts: so its pronunciations meet there and add up, homophones need one state, and
 * after the last phone no copy of the state waits for either.
 *
 * Numbers are as in beam_search.h: relative to the best state's, the scale kept aside. */
#ifndef LINNET_WORD_BEAM_H
#define LINNET_WORD_BEAM_H

#include "decoder/base/calibration.h"
#include "decoder/base/pair_table.h"
#include "decoder/ctc/beam_alignment.h"
#include "decoder/ctc/beam_row.h"
#include "decoder/words/word_history.h"
#include "decoder/words/word_tree.h"

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
  uint32_t first_word, num_words;  /* the words that end there */
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

/* Takes one row (symbols). There must be room for 2 * beam records, and for linnet_word_room sequences. */
void linnet_word_frame(struct linnet_word_search *search, const float *row);

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

#endif
