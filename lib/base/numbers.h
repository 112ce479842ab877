/* Small arithmetic that everything shares, the processor and CUDA kernels alike. */
#ifndef LINNET_NUMBERS_H
#define LINNET_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Before functions that both compile. */
#ifdef __CUDACC__
#define LINNET_HOST_DEVICE __host__ __device__
#else
#define LINNET_HOST_DEVICE
#endif

/* --- sizes -------------------------------------------------------------------------------------------------------- */

LINNET_HOST_DEVICE static inline size_t linnet_min_size(size_t a, size_t b) {
  return a < b ? a : b;
}

LINNET_HOST_DEVICE static inline size_t linnet_max_size(size_t a, size_t b) {
  return a > b ? a : b;
}

/* a / b, rounded up. */
LINNET_HOST_DEVICE static inline size_t linnet_divide_up(size_t a, size_t b) {
  return (a + b - 1) / b;
}

/* The smallest multiple of `step` that is at least n. */
LINNET_HOST_DEVICE static inline size_t linnet_round_up(size_t n, size_t step) {
  return linnet_divide_up(n, step) * step;
}

/* --- bfloat16 ----------------------------------------------------------------------------------------------------- */

/* bfloat16, the upper half of a float32. */

/* To the nearest, ties to even; NaN stays one. */
LINNET_HOST_DEVICE static inline uint16_t linnet_bfloat16_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (uint16_t)(x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
