/* Sorting of many numbers without memory of the C library. */
#ifndef LINNET_RADIX_SORT_H
#define LINNET_RADIX_SORT_H

#include <stddef.h>
#include <stdint.h>

/* 16 bytes on every processor: 32-bit x86 would align `key` to 4. */
struct linnet_keyed {
  _Alignas(8) uint64_t key;
  uint32_t value;
};

/* Sorts items (n) by key, equal keys in the order they came; scratch (n) is overwritten. */
void linnet_radix_sort(struct linnet_keyed *items, struct linnet_keyed *scratch, size_t n);

#endif
