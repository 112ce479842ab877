/* bfloat16, the upper half of a float32. */
#ifndef LINNET_BFLOAT16_H
#define LINNET_BFLOAT16_H

#include <stdint.h>
#include <string.h>

#include "base/host_device.h"

/* To the nearest, ties to even; NaN stays one. */
LINNET_HOST_DEVICE static inline uint16_t linnet_bfloat16_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (uint16_t)(x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
