/* The symbols, and a lexicon with these symbols as phones: they give words and phones their labels. */
#ifndef LINNET_VOCABULARY_H
#define LINNET_VOCABULARY_H

#include <linnet/lexicon.h>

#include "base/settings.h"
#include "base/source.h"

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
