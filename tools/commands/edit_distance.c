/* The edit distance of two sequences of numbers, row by row. */
#include "edit_distance.h"

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

size_t edit_distance(const int *a, size_t a_count, const int *b, size_t b_count) {
  size_t row[EDIT_DISTANCE_MAX + 1];
  for (size_t j = 0; j <= b_count; j++)
    row[j] = j;
  for (size_t i = 1; i <= a_count; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_count; j++) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = smaller(change, smaller(row[j], row[j - 1]) + 1);
    }
  }
  return row[b_count];
}
