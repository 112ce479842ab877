/* Symbol tables for the readers of lexicons and transcripts, and the vocabulary of a search. */
#ifndef LINNET_SYMBOLS_H
#define LINNET_SYMBOLS_H

#include <linnet/lexicon.h>

#include "base/settings.h"
#include "decoder/base/names.h"

/* Makes a symbol table: the blank, then the strings of `names`, sorted by bytes. *symbols is NULL on failure. */
enum linnet_status linnet_symbols_from_names(const struct linnet_names *names, struct linnet_symbols **symbols);

/* The index of a phone, with its stress digit or without; 0 for the blank and for phones that are not there. */
int linnet_symbols_find_phone(const struct linnet_symbols *symbols, const char *phone);

enum linnet_status linnet_symbols_copy(struct linnet_context *context, const struct linnet_symbols *from,
                                       struct linnet_symbols **symbols);

/* The name of the file that a lexicon was read from, and what helps if it lacks words. */
const char *linnet_lexicon_name(const struct linnet_lexicon *lexicon);
#define LINNET_LEXICON_REMEDY                                                                                          \
  "'linnet g2p --model G2P --complete LEXICON --words TEXT --output NEW' adds the words of a text"

/* Adds a pronunciation of a new word, or one more of the word that was added last; to one that the word has, the
 * probability is added. *index gets the index of the word. Call it only before anything reads the lexicon.
 * After a failure the lexicon can only be destroyed. */
enum linnet_status linnet_lexicon_add(struct linnet_lexicon *lexicon, const char *word, const int *labels, size_t count,
                                      float probability, size_t *index);

/* An empty lexicon for words that another one lacks, with its name, its case and probabilities if it has them. Its
 * phones are labels of the other. */
enum linnet_status linnet_lexicon_create_beside(struct linnet_context *context, const struct linnet_lexicon *other,
                                                struct linnet_lexicon **lexicon);

/* --- vocabulary --------------------------------------------------------------------------------------------------- */

/* The symbols, and a lexicon with these symbols as phones: they give words and phones their labels. */

/* Initialise it with zeros. Close it even after a failure. */
struct linnet_vocabulary {
  struct linnet_symbols *symbols;
  struct linnet_lexicon *lexicon; /* NULL: phones alone */
};

/* Opens a vocabulary of the symbols names[0], the blank, to names[count - 1]; `lexicon` may be empty. Stress digits of
 * the lexicon are removed unless the symbols have them. A lexicon without words is LINNET_ERROR_FORMAT. */
enum linnet_status linnet_vocabulary_open(struct linnet_vocabulary *vocabulary, struct linnet_context *context,
                                          const char *const *names, size_t count, const struct linnet_source *lexicon);
void linnet_vocabulary_close(struct linnet_vocabulary *vocabulary);

#endif
