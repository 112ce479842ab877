/* The words of hotwords and grammars: those of a lexicon, and guessed ones. */
#ifndef LINNET_GUESSER_H
#define LINNET_GUESSER_H

#include <stdbool.h>
#include <stdint.h>

#include <linnet/lexicon.h>

#include "decoder/g2p/g2p_demand.h"

enum { LINNET_WORD_LIST_BYTES = 160 };

/* A list of words for a message: their number, and as many as have room, such as "'A', 'B'...". */
struct linnet_word_list {
  size_t count;
  char text[LINNET_WORD_LIST_BYTES];
};

/* Adds a word, unless it is in the text. */
void linnet_word_list_add(struct linnet_word_list *list, const char *word);

/* Initialise it with the first four; close it with linnet_guesser_close. */
struct linnet_guesser {
  struct linnet_context *context;
  const struct linnet_lexicon *lexicon; /* words are looked up here first */
  struct linnet_lexicon *added;         /* gets the guessed words: the same lexicon, or another one */
  struct linnet_g2p_demand *g2p;        /* NULL: nothing is guessed */
  struct linnet_word_list guessed;
  bool failed; /* to load the model or to guess; the sentence names the setting */
};

/* *token: that of the word (word_tree.h), if need be after its pronunciations were guessed and added; 0 if it has none.
 * `guesser` NULL: the lexicon alone; else the lexicon is that of the guesser. */
enum linnet_status linnet_guesser_find(struct linnet_guesser *guesser, const struct linnet_lexicon *lexicon,
                                       const char *word, uint32_t *token);

/* What helps with a word that has no pronunciation, for a message. */
const char *linnet_guesser_remedy(const struct linnet_guesser *guesser);

/* A message of this level names the words that were guessed. */
void linnet_guesser_close(const struct linnet_guesser *guesser, enum linnet_log_level level);

#endif
