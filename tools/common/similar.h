/* How similar short sequences are, and the word that the user probably meant. */
#ifndef LINNET_TOOL_SIMILAR_H
#define LINNET_TOOL_SIMILAR_H

#include <popt.h>
#include <stddef.h>

enum { EDIT_DISTANCE_MAX = 128 };

/* The minimum number of items to change, add or remove to get from one sequence to the other; the second has at most
 * EDIT_DISTANCE_MAX. */
size_t edit_distance(const int *a, size_t a_count, const int *b, size_t b_count);

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
