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

/* The ending of a noun that is counted. */
static inline const char *linnet_plural(size_t count) {
  return count == 1 ? "" : "s";
}

/* --- sizes -------------------------------------------------------------------------------------------------------- */

LINNET_HOST_DEVICE static inline size_t linnet_min_size(size_t a, size_t b) {
  return a < b ? a : b;
}

LINNET_HOST_DEVICE static inline size_t linnet_max_size(size_t a, size_t b) {
  return a > b ? a : b;
}

/* a / b, rounded up; and the smallest multiple of `step` that is at least n. In capitals: constant expressions. */
#define LINNET_DIVIDE_UP(a, b) (((a) + (b)-1) / (b))
#define LINNET_ROUND_UP(n, step) (LINNET_DIVIDE_UP(n, step) * (step))

LINNET_HOST_DEVICE static inline size_t linnet_divide_up(size_t a, size_t b) {
  return LINNET_DIVIDE_UP(a, b);
}

LINNET_HOST_DEVICE static inline size_t linnet_round_up(size_t n, size_t step) {
  return LINNET_ROUND_UP(n, step);
}

/* The smallest power of two that is at least n, which is at most 2^62. */
static inline size_t linnet_power_of_two(size_t n) {
  size_t power = 1;
  while (power < n)
    power *= 2;
  return power;
}

/* The first address from `pointer` on that is a multiple of `step`; NULL stays NULL. */
static inline void *linnet_align_up(void *pointer, size_t step) {
  return (void *)linnet_round_up((uintptr_t)pointer, step);
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
