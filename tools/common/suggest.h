/* The word that was meant. */
#ifndef LINNET_TOOL_SUGGEST_H
#define LINNET_TOOL_SUGGEST_H

#include <popt.h>
#include <stddef.h>

/* A search for the candidate that is nearest to `word`: one that begins like it, or is at most two letters away.
 * Zero-initialise but for `word`; `best` is NULL while none is near. */
struct suggestion {
  const char *word, *best;
  size_t distance; /* of `best` */
};
void suggest(struct suggestion *suggestion, const char *candidate);

/* Offers the long names of a table and of those it includes. */
void suggest_options(struct suggestion *suggestion, const struct poptOption *table);

#endif
