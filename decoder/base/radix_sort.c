/* A radix sort, least significant digit first, over memory of the caller. */
#include "decoder/base/radix_sort.h"

#include <stdbool.h>
#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, PASSES = 64 / DIGIT_BITS };

static unsigned digit(uint64_t key, int pass) {
  return (unsigned)(key >> pass * DIGIT_BITS) % DIGITS;
}

/* Sorts by one digit (passes go from the least significant to the most significant); false if all items have the same
 * digit, so that nothing was moved. */
static bool pass_by_digit(const struct linnet_keyed *from, struct linnet_keyed *to, size_t n, int pass) {
  size_t offsets[DIGITS] = {0}, sum = 0;
  for (size_t i = 0; i < n; i++)
    offsets[digit(from[i].key, pass)]++;
  if (offsets[digit(from[0].key, pass)] == n)
    return false;
  for (int d = 0; d < DIGITS; d++) {
    size_t count = offsets[d];
    offsets[d] = sum;
    sum += count;
  }
  for (size_t i = 0; i < n; i++)
    to[offsets[digit(from[i].key, pass)]++] = from[i];
  return true;
}

static bool is_sorted(const struct linnet_keyed *items, size_t n) {
  size_t i = 1;
  while (i < n && items[i - 1].key <= items[i].key)
    i++;
  return i >= n;
}

void linnet_radix_sort(struct linnet_keyed *items, struct linnet_keyed *scratch, size_t n) {
  if (is_sorted(items, n))
    return;
  struct linnet_keyed *from = items, *to = scratch;
  for (int pass = 0; pass < PASSES; pass++)
    if (pass_by_digit(from, to, n, pass)) {
      struct linnet_keyed *swap = from;
      from = to;
      to = swap;
    }
  if (from != items)
    memcpy(items, from, n * sizeof *items);
}
