/* Dropout, for DROPOUT_BLOCK elements of the mask at a time (dropout.c defines the mask). Each 64-bit lane holds one
 * Philox counter: one instruction multiplies the low halves of the lanes. Bits that remain in the high halves have no
 * effect. */
#ifndef LINNET_DROPOUT_VEC_H
#define LINNET_DROPOUT_VEC_H

#include "ops/dropout.h"
#include "ops/vec.h"

enum { DROPOUT_COUNTERS = VW / 2, DROPOUT_BLOCK = 8 * DROPOUT_COUNTERS };

typedef uint64_t vq __attribute__((vector_size(4 * VW)));

/* Products of the low halves of the lanes. */
VEC_INLINE vq vq_multiply(vq a, vq b) {
#if defined(__AVX512F__)
  return (vq)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (vq)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (vq)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}

/* Stores the four 16-bit numbers of each lane, that of the lowest bits first. */
VEC_INLINE void dropout_store(vq lanes, uint16_t *draws) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  lanes = lanes << 48 | (lanes & 0xffff0000) << 16 | (lanes >> 16 & 0xffff0000) | lanes >> 48;
#endif
  memcpy(draws, &lanes, sizeof lanes);
}

/* The random numbers of the elements from 8 * counter on, in order. */
VEC_INLINE void dropout_draws(uint64_t seed, uint64_t high, uint64_t counter, uint16_t *draws) {
  const vq m0 = (uint64_t)0xD2511F53 - (vq){0}, m1 = (uint64_t)0xCD9E8D57 - (vq){0};
  vq low;
  for (size_t i = 0; i < DROPOUT_COUNTERS; i++)
    low[i] = counter + i;
  vq c0 = low, c1 = low >> 32, c2 = (high & 0xffffffff) - (vq){0}, c3 = (high >> 32) - (vq){0};
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  VEC_UNROLL
  for (int round = 0; round < 10; round++) {
    vq p0 = vq_multiply(c0, m0), p1 = vq_multiply(c2, m1);
    c0 = (p1 >> 32) ^ c1 ^ (uint64_t)k0;
    c1 = p1;
    c2 = (p0 >> 32) ^ c3 ^ (uint64_t)k1;
    c3 = p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  vq a = (c0 & 0xffffffff) | c1 << 32, b = (c2 & 0xffffffff) | c3 << 32;
#if VW == 16
  vq even = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  vq odd = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#elif VW == 8
  vq even = __builtin_shufflevector(a, b, 0, 4, 1, 5), odd = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#else
  vq even = __builtin_shufflevector(a, b, 0, 2), odd = __builtin_shufflevector(a, b, 1, 3);
#endif
  dropout_store(even, draws);
  dropout_store(odd, draws + DROPOUT_BLOCK / 2);
}

/* n elements with the random numbers draws[0 ... n-1]. */
VEC_INLINE void dropout_lanes(const uint16_t *draws, int32_t threshold, float scale, size_t n, const float *x,
                              const float *residual, float *y) {
  typedef uint16_t narrow __attribute__((vector_size(2 * VW)));
  narrow draw;
  memcpy(&draw, draws, sizeof draw);
  vi keep = __builtin_convertvector(draw, vi) >= threshold;
  vf value = (vf)((vi)(vf_load_part(x, n) * scale) & keep);
  vf_store_part(y, residual ? vf_load_part(residual, n) + value : value, n);
}

static void dropout_vec(const struct linnet_dropout *d, size_t rows, size_t width, const float *x,
                        const float *residual, float *y) {
  uint32_t threshold = linnet_dropout_threshold(d->rate);
  float scale = (float)linnet_dropout_scale(d->rate);
  uint64_t first = d->row * width, high = (uint64_t)d->step << 32 | d->site;
  size_t n = rows * width, skipped = first % DROPOUT_BLOCK; /* elements of the first block before the first row */
  uint16_t draws[DROPOUT_BLOCK + VW] = {0};
  for (size_t i = 0; i < n;) {
    size_t count = linnet_min_size(DROPOUT_BLOCK - skipped, n - i);
    if (threshold)
      dropout_draws(d->seed, high, (first + i - skipped) / 8, draws);
    for (size_t j = 0; j < count; j += VW)
      dropout_lanes(draws + skipped + j, (int32_t)threshold, scale, count - j, x + i + j,
                    residual ? residual + i + j : NULL, y + i + j);
    i += count;
    skipped = 0;
  }
}

#endif
