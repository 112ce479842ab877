/* FNV-1a, 64 bits. */
#ifndef LINNET_HASH_H
#define LINNET_HASH_H

#include <stddef.h>
#include <stdint.h>

#define LINNET_HASH_START UINT64_C(0xCBF29CE484222325)

/* Continues a hash, LINNET_HASH_START at first, with a number as one unit: faster than with its bytes. */
static inline uint64_t linnet_hash_word(uint64_t hash, uint64_t word) {
  return (hash ^ word) * UINT64_C(0x100000001B3);
}

/* The same with some bytes. */
static inline uint64_t linnet_hash(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *byte = data;
  for (size_t i = 0; i < bytes; i++)
    hash = linnet_hash_word(hash, byte[i]);
  return hash;
}

#endif
