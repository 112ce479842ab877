/* Arrays of unsigned integers of 1 to 32 bits each, without gaps, in the order of little-endian bytes. */
#ifndef LINNET_PACKED_H
#define LINNET_PACKED_H

#include <stddef.h>

#include "base/little_endian.h"

enum { PACKED_SLACK = 7 }; /* reading an element reads 8 bytes */

struct packed {
  const unsigned char *bytes;
  unsigned width; /* bits of an element */
};

/* The bits that a number needs, at least 1. */
static inline unsigned linnet_packed_width(uint64_t largest) {
  unsigned width = 1;
  while (largest >> width != 0)
    width++;
  return width;
}

/* Bytes of an array. */
static inline size_t linnet_packed_bytes(size_t count, unsigned width) {
  return (count * width + 7) / 8 + PACKED_SLACK;
}

static inline uint32_t linnet_packed_get(const struct packed *array, size_t index) {
  size_t bit = index * array->width;
  return (uint32_t)(linnet_load_u64(array->bytes + bit / 8) >> bit % 8 & ((UINT64_C(1) << array->width) - 1));
}

/* Sets an element that is 0. */
static inline void linnet_packed_set(unsigned char *bytes, unsigned width, size_t index, uint32_t value) {
  size_t bit = index * width;
  linnet_store_u64(bytes + bit / 8, linnet_load_u64(bytes + bit / 8) | (uint64_t)value << bit % 8);
}

#endif
