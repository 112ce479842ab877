/* The words of hotwords and grammars: those of a lexicon, and guessed ones. */
#ifndef LINNET_GUESSER_H
#define LINNET_GUESSER_H

#include <linnet/g2p.h>
#include <linnet/lexicon.h>

#include "base/settings.h"

enum { LINNET_WORD_LIST_BYTES = 160 };

/* A list of words for a message: their number, and as many as have room, such as "'A', 'B'...". */
struct linnet_word_list {
  size_t count;
  char text[LINNET_WORD_LIST_BYTES];
};

/* Adds a word, unless it is in the text. */
void linnet_word_list_add(struct linnet_word_list *list, const char *word);

/* Initialise it with context, lexicon and model; close it with linnet_guesser_close. */
struct linnet_guesser {
  struct linnet_context *context;
  struct linnet_lexicon *lexicon;    /* gets the guessed words */
  const struct linnet_source *model; /* of pronunciations (g2p.h); none: nothing is guessed */
  struct linnet_g2p *g2p;            /* loaded with the first guess */
  struct linnet_word_list guessed;
  bool failed; /* to load the model or to guess; the sentence names the setting */
};

/* *index: the index of the word in the lexicon, if need be after its pronunciations were guessed and added;
 * LINNET_NOT_FOUND if it has none. `guesser` NULL: the lexicon alone; else the lexicon is that of the guesser. */
enum linnet_status linnet_guesser_find(struct linnet_guesser *guesser, const struct linnet_lexicon *lexicon,
                                       const char *word, size_t *index);

/* What helps with a word that has no pronunciation, for a message. */
const char *linnet_guesser_remedy(const struct linnet_guesser *guesser);

/* Releases the model. A warning names the words that were guessed. */
void linnet_guesser_close(struct linnet_guesser *guesser);

#endif
