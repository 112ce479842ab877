/* What gives words and phones their labels: symbols, and a lexicon over them. */
#ifndef LINNET_VOCABULARY_H
#define LINNET_VOCABULARY_H

#include <linnet/lexicon.h>

#include "base/settings.h"

/* Start with zeros; to be closed also after a failure. */
struct linnet_vocabulary {
  struct linnet_symbols *symbols;
  struct linnet_lexicon *lexicon; /* NULL: phones alone */
};

/* Symbols called names[0], the blank, to names[count - 1]; `lexicon` may be empty. Stress digits of the lexicon are
 * dropped unless symbols have them. A lexicon without words is LINNET_ERROR_FORMAT. */
enum linnet_status linnet_vocabulary_open(struct linnet_vocabulary *vocabulary, struct linnet_context *context,
                                          const char *const *names, size_t count, const struct linnet_source *lexicon);
void linnet_vocabulary_close(struct linnet_vocabulary *vocabulary);

#endif
