/* Edit distances of short sequences. */
#ifndef LINNET_TOOL_EDIT_DISTANCE_H
#define LINNET_TOOL_EDIT_DISTANCE_H

#include <stddef.h>

enum { EDIT_DISTANCE_MAX = 128 };

/* The minimum number of items to change, add or remove to get from one sequence to the other; the second has at most
 * EDIT_DISTANCE_MAX. */
size_t edit_distance(const int *a, size_t a_count, const int *b, size_t b_count);

#endif
