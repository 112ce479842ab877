/* Finds the word that the user probably meant. */
#ifndef LINNET_TOOL_SUGGEST_H
#define LINNET_TOOL_SUGGEST_H

#include <popt.h>
#include <stddef.h>

/* Finds the candidate most similar to `word`: one that begins with it, or differs by at most two letters.
 * Zero-initialise all members except `word`; `best` is NULL until a candidate is similar enough. */
struct suggestion {
  const char *word, *best;
  size_t distance; /* of `best` */
};
void suggest(struct suggestion *suggestion, const char *candidate);

/* Offers the long names of a table, and of the tables that it includes. */
void suggest_options(struct suggestion *suggestion, const struct poptOption *table);

#endif
