/* The word sequences of a search, each the longer by a word than its parent, with what they score beside the acoustic
 * probability: language model, bonus for each word, hotwords. */
#ifndef LINNET_WORD_HISTORY_H
#define LINNET_WORD_HISTORY_H

#include <linnet/word_search.h>

#include "decoder/ctc/beam_trie.h"

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

#endif
