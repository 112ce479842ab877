/* The alignment of least cost between two sequences, as NIST sclite chooses it. */
#ifndef LINNET_EDIT_DISTANCE_H
#define LINNET_EDIT_DISTANCE_H

#include <linnet/score.h>

#include "base/base.h"

enum linnet_edit { LINNET_EDIT_MATCH, LINNET_EDIT_SUBSTITUTION, LINNET_EDIT_INSERTION, LINNET_EDIT_DELETION };

enum { LINNET_EDIT_COST_SUBSTITUTION = 4, LINNET_EDIT_COST_INSERTION = 3, LINNET_EDIT_COST_DELETION = 3 };

/* Writes the steps (enum linnet_edit) from start to end into edits (n + m, the caller's) and their number to *count.
 * Going back from the end, sclite prefers the diagonal step, then the insertion, then the deletion: so do we. */
enum linnet_status linnet_align(struct linnet_context *context, const int *reference, size_t n, const int *hypothesis,
                                size_t m, uint8_t *edits, size_t *count);

/* Adds the counts of an alignment. */
void linnet_count_edits(const uint8_t *edits, size_t count, struct linnet_score *score);

#endif
