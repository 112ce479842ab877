/* Vectors of VW floats for the kernels: one notation for AVX-512, AVX2, and the compiler's vector extension for all
 * others (SSE2, NEON). The kernels in NAME_vec.h use it, and cpu_vec.c compiles them once for each instruction set. A
 * file opened alone, as in an editor, uses the compiler's default set. */
#ifndef LINNET_VEC_H
#define LINNET_VEC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/numbers.h"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define VEC_INLINE static inline __attribute__((always_inline, unused))
#ifdef __clang__
#define VEC_UNROLL _Pragma("unroll")
#else
#define VEC_UNROLL _Pragma("GCC unroll 32")
#endif

#if defined(__AVX512F__)
#define VW 16
#elif defined(__AVX2__)
#define VW 8
#else
#define VW 4
#endif

#if defined(__FMA__) || defined(__aarch64__)
#define VEC_FUSED /* a * b + c rounds once */
#endif

typedef float vf __attribute__((vector_size(4 * VW)));
typedef int32_t vi __attribute__((vector_size(4 * VW)));
typedef uint32_t vu __attribute__((vector_size(4 * VW)));
typedef float vf_anywhere __attribute__((vector_size(4 * VW), aligned(4), may_alias));

/* --- Memory. Addresses need the alignment of a float only. */

VEC_INLINE vf vf_set(float x) {
  return x - (vf){0};
}
VEC_INLINE vi vi_set(int32_t x) {
  return x - (vi){0};
}
VEC_INLINE vf vf_load(const float *x) {
  return *(const vf_anywhere *)x;
}
VEC_INLINE void vf_store(float *x, vf v) {
  *(vf_anywhere *)x = v;
}

VEC_INLINE vi vi_load(const int32_t *x) {
  vi v;
  memcpy(&v, x, sizeof v);
  return v;
}

/* -1 in the first n lanes, 0 <= n <= VW. */
VEC_INLINE vi vi_first(size_t n) {
  static const int32_t lanes[2 * VW] = {[0 ... VW - 1] = -1};
  return vi_load(lanes + VW - n);
}

/* The first n of VW elements, 0 <= n <= VW. The other elements read as zero and are not written. */
VEC_INLINE vf vf_load_n(const float *x, size_t n) {
#if defined(__AVX512F__)
  return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), x);
#elif defined(__AVX2__)
  return (vf)_mm256_maskload_ps(x, (__m256i)vi_first(n));
#else
  vf v = {0};
  if (n == 4)
    return vf_load(x);
  if (n > 0)
    v[0] = x[0];
  if (n > 1)
    v[1] = x[1];
  if (n > 2)
    v[2] = x[2];
  return v;
#endif
}

VEC_INLINE void vf_store_n(float *x, vf v, size_t n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(x, (__mmask16)((1u << n) - 1), (__m512)v);
#elif defined(__AVX2__)
  _mm256_maskstore_ps(x, (__m256i)vi_first(n), (__m256)v);
#else
  if (n == 4)
    vf_store(x, v);
  else
    for (size_t i = 0; i < n; i++)
      x[i] = v[i];
#endif
}

/* The same for the first min(n, VW) elements: n is the number of elements left in a row and may exceed VW. */
VEC_INLINE vf vf_load_part(const float *x, size_t n) {
  return n >= VW ? vf_load(x) : vf_load_n(x, n);
}

VEC_INLINE void vf_store_part(float *x, vf v, size_t n) {
  if (n >= VW)
    vf_store(x, v);
  else
    vf_store_n(x, v, n);
}

/* --- Lane by lane. Comparisons (a < b and so on) give lanes of 0 or -1. */

VEC_INLINE vf vf_select(vi condition, vf yes, vf no) {
  return (vf)((condition & (vi)yes) | (~condition & (vi)no));
}

/* Returns b if either is NaN. */
VEC_INLINE vf vf_max(vf a, vf b) {
#if defined(__AVX512F__)
  return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
  return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
  return vf_select(a > b, a, b);
#endif
}

VEC_INLINE vf vf_min(vf a, vf b) {
#if defined(__AVX512F__)
  return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
  return (vf)_mm_min_ps((__m128)a, (__m128)b);
#else
  return vf_select(a < b, a, b);
#endif
}

VEC_INLINE vf vf_abs(vf x) {
  return (vf)((vi)x & 0x7fffffff);
}

VEC_INLINE vf vf_sqrt(vf x) {
#if defined(__AVX512F__)
  return (vf)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
  return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
  return (vf)_mm_sqrt_ps((__m128)x);
#elif defined(__ARM_NEON) && defined(__aarch64__)
  return (vf)vsqrtq_f32((float32x4_t)x);
#else
  for (int i = 0; i < VW; i++)
    x[i] = sqrtf(x[i]);
  return x;
#endif
}

/* Converts lanes that hold integral values to integers. */
VEC_INLINE vi vi_from(vf x) {
  return __builtin_convertvector(x, vi);
}
VEC_INLINE vf vf_from(vi x) {
  return __builtin_convertvector(x, vf);
}

VEC_INLINE vi vi_max(vi a, vi b) {
#if defined(__AVX512F__)
  return (vi)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (vi)_mm256_max_epi32((__m256i)a, (__m256i)b);
#elif defined(__ARM_NEON)
  return (vi)vmaxq_s32((int32x4_t)a, (int32x4_t)b);
#else
  vi more = a > b;
  return (a & more) | (b & ~more);
#endif
}

/* --- Pairs of bfloat16 numbers in 32-bit lanes, the first in the low half; rounded to nearest, ties to even. */

#if defined(__AVX512BF16__)
#define VEC_BF16

/* Pairs of the first min(n, 2 * VW) numbers at x, with zeros after them. */
VEC_INLINE vf vf_pairs_along(const float *x, size_t n) {
  vf second = n > VW ? vf_load_part(x + VW, n - VW) : vf_set(0);
  return (vf)_mm512_cvtne2ps_pbh((__m512)second, (__m512)vf_load_part(x, n));
}

/* Pairs of the lanes of `first` and `second`. */
VEC_INLINE vf vf_pairs_across(vf first, vf second) {
  static const int16_t lanes[2 * VW] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  __m512i halves = (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
  return (vf)_mm512_permutexvar_epi16(_mm512_loadu_si512(lanes), halves);
}

/* sum + x.first * y.first + x.second * y.second */
VEC_INLINE vf vf_dot_pairs(vf x, vf y, vf sum) {
  return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)x, (__m512bh)y);
}
#endif

/* --- Words of four small integers in 32-bit lanes, the first in the lowest byte. The integers are at most
 * VEC_INT8_LARGEST in size. Instructions of x86 take those of the left factor without sign, so these have
 * VEC_INT8_OFFSET added.
 *
 * vf_dot_integers: sum + the products of the integers of VEC_INT8_WORDS words x and y. All are integers, but in float
 * vectors, as other words are: with integer vectors GCC 12 moves values between register types and runs out of
 * registers.
 * vi_store_bytes: stores the lowest byte of each lane. */

#ifdef LINNET_INT8_TABLE /* else a set without such kernels, whatever the compiler's flags allow */
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#define VEC_INT8
enum { VEC_INT8_WORDS = 1, VEC_INT8_LARGEST = 127, VEC_INT8_OFFSET = 128 };

VEC_INLINE vf vf_dot_integers(const vf *x, const vf *y, vf sum) {
#if VW == 16
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(*x), "v"(*y));
  return sum;
#else
  return (vf)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)*x, (__m256i)*y);
#endif
}
#elif defined(__AVX2__) && !defined(__AVX512F__)
/* Sums of four products fit into 16 bits: 4 * (64 + 63) * 63 < 2^15. With integers of 8 bits not even sums of two
 * would, so they would have to be multiplied as integers of 16 bits, half as many at a time. */
#define VEC_INT8
enum { VEC_INT8_WORDS = 2, VEC_INT8_LARGEST = 63, VEC_INT8_OFFSET = 64 };

VEC_INLINE vf vf_dot_integers(const vf *x, const vf *y, vf sum) {
  __m256i first = _mm256_maddubs_epi16((__m256i)x[0], (__m256i)y[0]);
  __m256i fours = _mm256_add_epi16(first, _mm256_maddubs_epi16((__m256i)x[1], (__m256i)y[1]));
  return (vf)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16(fours, _mm256_set1_epi16(1)));
}
#elif defined(__ARM_FEATURE_DOTPROD) && defined(__aarch64__)
#define VEC_INT8
enum { VEC_INT8_WORDS = 1, VEC_INT8_LARGEST = 127, VEC_INT8_OFFSET = 0 };

VEC_INLINE vf vf_dot_integers(const vf *x, const vf *y, vf sum) {
  return (vf)vdotq_s32((int32x4_t)sum, (int8x16_t)*x, (int8x16_t)*y);
}
#endif
#endif
#ifndef VEC_INT8
enum { VEC_INT8_WORDS = 1 };
#endif

VEC_INLINE void vi_store_bytes(unsigned char *x, vi v) {
#if defined(__AVX512F__)
  _mm_storeu_si128((__m128i *)(void *)x, _mm512_cvtepi32_epi8((__m512i)v));
#elif defined(__AVX2__)
  __m256i bytes = _mm256_and_si256((__m256i)v, _mm256_set1_epi32(0xff));
  __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  _mm_storel_epi64((__m128i *)(void *)x, _mm_packus_epi16(halves, halves));
#else
  for (size_t i = 0; i < VW; i++)
    x[i] = (unsigned char)v[i];
#endif
}

/* --- Across lanes, in a fixed order: the halves of a vector are added again and again. */

typedef float vf4 __attribute__((vector_size(16)));

VEC_INLINE vf4 vf_fold_sum(vf x) {
#if VW == 16
  vf4 a = __builtin_shufflevector(x, x, 0, 1, 2, 3), b = __builtin_shufflevector(x, x, 4, 5, 6, 7);
  vf4 c = __builtin_shufflevector(x, x, 8, 9, 10, 11), d = __builtin_shufflevector(x, x, 12, 13, 14, 15);
  return (a + c) + (b + d);
#elif VW == 8
  return __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
#else
  return x;
#endif
}

VEC_INLINE float vf_sum(vf x) {
  vf4 s = vf_fold_sum(x);
  return (s[0] + s[2]) + (s[1] + s[3]);
}

/* No lane may be NaN. */
VEC_INLINE float vf_largest(vf x) {
#if VW == 16
  x = vf_max(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  x = vf_max(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
#elif VW == 8
  x = vf_max(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3));
#endif
  float a = x[0] > x[2] ? x[0] : x[2], b = x[1] > x[3] ? x[1] : x[3];
  return a > b ? a : b;
}

/* The maximum of x (n); -infinity if n is 0. */
VEC_INLINE float vf_row_largest(size_t n, const float *x) {
  const vf lowest = vf_set(-INFINITY);
  vf largest = lowest;
  size_t i = 0;
  for (; i + VW <= n; i += VW)
    largest = vf_max(largest, vf_load(x + i));
  if (i < n)
    largest = vf_max(largest, vf_select(vi_first(n - i), vf_load_n(x + i, n - i), lowest));
  return vf_largest(largest);
}

/* --- Exponentials and logarithms, with errors of at most 2 units in the last place. */

/* 2^n * x for integral n (as floats), also where the result is subnormal or overflows; |n| <= 252. */
VEC_INLINE vf vf_scale(vf x, vf n) {
#if defined(__AVX512F__)
  return (vf)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
  vi e = __builtin_convertvector(n, vi), half = e >> 1;
  return x * (vf)((half + 127) << 23) * (vf)((e - half + 127) << 23);
#endif
}

/* The nearest integer, for |x| < 2^22. */
VEC_INLINE vf vf_round(vf x) {
  const vf magic = vf_set(0x1.8p23f);
  return (x + magic) - magic;
}

/* e^x = 2^n * result, for |x| < 1e6 (and NaN); n integral, result between 0.7 and 1.42. */
VEC_INLINE vf vf_exp_parts(vf x, vf *n) {
  *n = vf_round(x * 0x1.715476p0f);
#ifdef VEC_FUSED
  vf r = x - *n * 0x1.62e400p-1f;
  r = r - *n * 0x1.7f7d1cp-20f;
#else
  vf r = x - *n * 0x1.62p-1f; /* a short constant, so that the product is exact */
  r = r - *n * 0x1.c85fe0p-10f;
#endif
  vf p = 0x1.1239e2p-7f + r * 0x1.6a2434p-10f;
  p = 0x1.5558f2p-5f + p * r;
  p = 0x1.555492p-3f + p * r;
  p = 0x1.fffffcp-2f + p * r;
  return 1.0f + (r + p * (r * r));
}

/* e^x: 0 below -104, infinity above 88.73, NaN for NaN. */
VEC_INLINE vf vf_exp(vf x) {
  vf n, m = vf_exp_parts(vf_min(vf_set(90), vf_max(vf_set(-106), x)), &n); /* this order of arguments passes NaN */
  return vf_scale(m, n);
}

/* e^x for x <= 0 (and NaN), flushed to 0 below 1e-38. */
VEC_INLINE vf vf_exp_negative(vf x) {
  x = vf_max(vf_set(-88), x);
  const vf magic = vf_set(0x1.8p23f + 127);
  vf t = x * 0x1.715476p0f + magic, n = t - magic;
#ifdef VEC_FUSED
  vf r = x - n * 0x1.62e430p-1f;
#else
  vf r = x - n * 0x1.62e400p-1f;
  r = r - n * 0x1.7f7d1cp-20f;
#endif
  vf p = 0x1.1239e2p-7f + r * 0x1.6a2434p-10f;
  p = 0x1.5558f2p-5f + p * r;
  p = 0x1.555492p-3f + p * r;
  p = 0x1.fffffcp-2f + p * r;
  p = r + p * (r * r);
  vf power = (vf)((vi)t << 23); /* the low bits of t are n + 127 */
  return power + p * power;
}

/* 2^x for x <= 0 (and NaN), flushed to 0 below 1e-38. It is cheaper, for callers that can scale x beforehand. */
VEC_INLINE vf vf_exp2_negative(vf x) {
  x = vf_max(vf_set(-127), x);
  const vf magic = vf_set(0x1.8p23f + 127);
  vf t = x + magic, r = x - (t - magic);
  vf p = 0x1.3cea88p-7f + r * 0x1.5bba14p-10f;
  p = 0x1.c6b752p-5f + p * r;
  p = 0x1.ebf9bcp-3f + p * r;
  p = 0x1.62e42ap-1f + p * r;
  vf power = (vf)((vi)t << 23); /* the low bits of t are n + 127 */
  return power + p * r * power;
}

#endif
