/* Builds a model from n-grams that arrive order by order, from an ARPA file or from an estimator. */
#ifndef LINNET_NGRAM_BUILDER_H
#define LINNET_NGRAM_BUILDER_H

#include "decoder/base/names.h"
#include "decoder/ngram/ngram_model.h"

/* One n-gram: its context is the node `parent` (see ngram_model.h). Values are natural logarithms. */
struct ngram_record {
  uint32_t parent, word;
  float probability, backoff;
};

/* Zero-initialise, set `context` and `order`; release with linnet_ngram_builder_clear.
 *
 *   add all words to `names`, one record each (parent 0, word: index in names)
 *   linnet_ngram_builder_sort_words          words are numbers in the order of their bytes from here on
 *   for level = 1 ... order - 1: linnet_ngram_builder_add(level, ...), linnet_ngram_builder_seal(level)
 *   linnet_ngram_builder_finish */
struct ngram_builder {
  struct linnet_context *context;
  unsigned order;
  bool normalize; /* back-off weights become those with which probabilities add up to 1; of those in records, only log 0
                     stays */
  struct linnet_names names;
  uint32_t *rank; /* (names.count) sorted number of a name */
  struct ngram_level {
    struct ngram_record *records; /* sorted by (parent, word) once sealed */
    size_t count, capacity;
    uint32_t base;           /* node of the first */
    uint32_t *first;         /* (count of the level before + 1) first child of each of its nodes, once sealed */
  } levels[NGRAM_MAX_ORDER]; /* of order 1 ... */
};

enum linnet_status linnet_ngram_builder_add(struct ngram_builder *b, unsigned level, const struct ngram_record *record);

/* Sorts the words and seals the level of order 1. */
enum linnet_status linnet_ngram_builder_sort_words(struct ngram_builder *b);

/* Sorts a level. If an n-gram occurs twice, *duplicate gets the index of the later one, in the order of arrival, and
 * only linnet_ngram_builder_clear is allowed afterwards; else *duplicate is SIZE_MAX. */
enum linnet_status linnet_ngram_builder_seal(struct ngram_builder *b, unsigned level, size_t *duplicate);

/* The node of words (count); their level must be sealed. 0 if there is no such n-gram. */
uint32_t linnet_ngram_builder_node(const struct ngram_builder *b, const uint32_t *words, unsigned count);

enum linnet_status linnet_ngram_builder_finish(struct ngram_builder *b, struct linnet_ngram **ngram);

void linnet_ngram_builder_clear(struct ngram_builder *b);

#endif
