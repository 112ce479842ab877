/* Philox4x32-10, a counter-based generator (Salmon, Moraes, Dror, Shaw 2011): the same (key, counter) gives the same
 * numbers on every device, in any order. */
#ifndef LINNET_PHILOX_H
#define LINNET_PHILOX_H

#include <stdint.h>

#include "base/numbers.h"

struct linnet_philox {
  uint32_t word[4];
};

LINNET_HOST_DEVICE static inline struct linnet_philox linnet_philox(uint64_t key, uint64_t high, uint64_t low) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32), c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  struct linnet_philox random = {{c0, c1, c2, c3}};
  return random;
}

/* A uniform number in [0, 1) with 32 bits. */
LINNET_HOST_DEVICE static inline double linnet_philox_uniform(uint32_t word) {
  return word * 0x1p-32;
}

#endif
