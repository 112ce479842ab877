/* What gives words and phones their labels: symbols, and a lexicon over them. */
#ifndef LINNET_TOOL_VOCABULARY_H
#define LINNET_TOOL_VOCABULARY_H

#include <stdbool.h>

#include <linnet/lexicon.h>

#include "tool.h"

/* Start with zeros. */
struct vocabulary {
  struct linnet_symbols *symbols;
  struct linnet_lexicon *lexicon; /* NULL: phones alone */
  const char *lexicon_path;
};

/* The lexicon's path: the option's, or that of $LINNET_LEXICON; NULL if there is none. */
const char *vocabulary_lexicon(const char *option);

/* Symbols called name(user, 0) to name(user, count - 1), the first being the blank; `lexicon_path` may be NULL. Stress
 * digits of the lexicon are dropped unless symbols have them. False after printing why not; to be closed in either
 * case.
 */
bool vocabulary_open(struct vocabulary *vocabulary, struct linnet_context *context, tool_symbol_fn name,
                     const void *user, int count, const char *lexicon_path);
void vocabulary_close(struct vocabulary *vocabulary);

#endif
