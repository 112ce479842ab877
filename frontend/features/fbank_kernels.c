/* The filterbank kernels, in the compiler's vector extension: compiled once per instruction set, with LINNET_KERNEL_SET
 * naming it and the compiler's flags allowing it (frontend/CMakeLists.txt). Products and sums may be fused here, so the
 * last bits differ between instruction sets, but never from run to run. */
#include "frontend/features/fbank_kernel.h"

#include <float.h>
#include <stdint.h>

#ifndef LINNET_KERNEL_SET
#define LINNET_KERNEL_SET generic /* for editors: the build always names a set */
#endif

#if defined(__AVX512F__)
#define WIDTH 16
#elif defined(__AVX2__)
#define WIDTH 8
#else
#define WIDTH 4 /* SSE2, NEON, or whatever the compiler makes of it */
#endif

enum { LANES = LINNET_FBANK_LANES };

typedef float vector __attribute__((vector_size(4 * WIDTH)));
typedef int32_t integers __attribute__((vector_size(4 * WIDTH)));
typedef float vector_anywhere __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef float quad __attribute__((vector_size(16)));
typedef float quad_anywhere __attribute__((vector_size(16), aligned(4), may_alias));

#if defined(__clang__)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (int32_t __attribute__((vector_size(16)))){__VA_ARGS__})
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE vector load(const float *x) {
  return *(const vector_anywhere *)x;
}
INLINE void store(float *x, vector v) {
  *(vector_anywhere *)x = v;
}

static float sum_of(vector v) {
  float sum = 0;
  for (size_t i = 0; i < WIDTH; i++)
    sum += v[i];
  return sum;
}

static float mean_of(size_t n, const float *x) {
  vector a = {0}, b = {0}; /* two sums, so that one need not wait for the other */
  size_t i = 0;
  for (; i + 2 * WIDTH <= n; i += 2 * WIDTH) {
    a += load(x + i);
    b += load(x + i + WIDTH);
  }
  float sum = sum_of(a + b);
  for (; i < n; i++)
    sum += x[i];
  return sum / (float)n;
}

static void window(size_t n, const float *samples, float preemphasis, const float *weights, float *out) {
  float mean = mean_of(n, samples), first = samples[0] - mean;
  out[0] = weights[0] * (first - preemphasis * first);
  size_t i = 1;
  for (; i + WIDTH <= n; i += WIDTH)
    store(out + i, load(weights + i) * ((load(samples + i) - mean) - preemphasis * (load(samples + i - 1) - mean)));
  for (; i < n; i++)
    out[i] = weights[i] * ((samples[i] - mean) - preemphasis * (samples[i - 1] - mean));
}

static void split_complex(size_t n, const float *restrict interleaved, float *restrict real,
                          float *restrict imaginary) {
  for (size_t k = 0; k < n; k++) {
    real[k] = interleaved[2 * k];
    imaginary[k] = interleaved[2 * k + 1];
  }
}

/* With Z the transform of the complex numbers and E, O those of the even and the odd samples,
 *   E = (Z[k] + conj Z[half-k]) / 2,  O = (Z[k] - conj Z[half-k]) / 2i,
 *   X[k] = E + w O,  conj X[half-k] = E - w O,  w = exp(-i pi k / half).
 * Each k = 1 ... half/2 - 1 gives a bin of either half of the spectrum: lower[k] and upper[half/2 - k]. The factors
 * 1/2 are taken out and squared at the end. k = 0 is run for the sake of whole vectors, and means nothing. */
static void power_pairs(size_t half, const float *restrict re, const float *restrict im, const float *restrict cosine,
                        const float *restrict sine, float *restrict lower, float *restrict upper) {
  for (size_t k = 0; k < half / 2; k++) {
    float even_re = re[k] + re[half - k], even_im = im[k] - im[half - k];
    float odd_re = im[k] + im[half - k], odd_im = re[half - k] - re[k];
    float turned_re = cosine[k] * odd_re + sine[k] * odd_im, turned_im = cosine[k] * odd_im - sine[k] * odd_re;
    float sum_re = even_re + turned_re, sum_im = even_im + turned_im;
    float difference_re = even_re - turned_re, difference_im = even_im - turned_im;
    lower[k] = 0.25f * (sum_re * sum_re + sum_im * sum_im);
    upper[half / 2 - k] = 0.25f * (difference_re * difference_re + difference_im * difference_im);
  }
}

static void power(size_t half, const float *restrict spectrum, const float *restrict twiddle, float *restrict split,
                  float *restrict out) {
  float *re = split, *im = split + half;
  split_complex(half, spectrum, re, im);
  im[half] = 0;
  power_pairs(half, re, im, twiddle, twiddle + half / 2 + 1, out, out + half / 2);
  out[0] = (re[0] + im[0]) * (re[0] + im[0]);
  out[half / 2] = re[half / 2] * re[half / 2] + im[half / 2] * im[half / 2]; /* w is -i there */
}

/* Transposes (4, stride) into the four columns that begin at `lanes`, four bins. */
static void turn_tile(const float *power, size_t stride, float *lanes) {
  quad r0 = *(const quad_anywhere *)power, r1 = *(const quad_anywhere *)(power + stride);
  quad r2 = *(const quad_anywhere *)(power + 2 * stride), r3 = *(const quad_anywhere *)(power + 3 * stride);
  quad a = SHUFFLE(r0, r1, 0, 4, 1, 5), b = SHUFFLE(r2, r3, 0, 4, 1, 5);
  quad c = SHUFFLE(r0, r1, 2, 6, 3, 7), d = SHUFFLE(r2, r3, 2, 6, 3, 7);
  *(quad_anywhere *)lanes = SHUFFLE(a, b, 0, 1, 4, 5);
  *(quad_anywhere *)(lanes + LANES) = SHUFFLE(a, b, 2, 3, 6, 7);
  *(quad_anywhere *)(lanes + 2 * LANES) = SHUFFLE(c, d, 0, 1, 4, 5);
  *(quad_anywhere *)(lanes + 3 * LANES) = SHUFFLE(c, d, 2, 3, 6, 7);
}

/* (LANES, stride) -> (bins, LANES), so that one weight meets LANES frames in one multiplication. */
static void to_lanes(size_t bins, const float *power, size_t stride, float *lanes) {
  for (size_t k = 0; k < bins; k += 4)
    for (size_t lane = 0; lane < LANES; lane += 4)
      turn_tile(power + lane * stride + k, stride, lanes + k * LANES + lane);
}

INLINE vector choose(integers condition, vector yes, vector no) {
  return (vector)((condition & (integers)yes) | (~condition & (integers)no));
}

/* Natural logarithm of x >= FLT_EPSILON, to 2e-7 of max(1, |log x|); infinity and NaN stay. x = m 2^e with m in
 * [2/3, 4/3); log m = 2 artanh(s) with s = (m - 1) / (m + 1), |s| <= 1/5, whose series ends after s^9. */
INLINE vector log_of(vector x) {
  integers bits = (integers)x;
  integers exponent = (bits - 0x3f2aaaab) >> 23; /* 0x3f2aaaab is 2/3 */
  vector m = (vector)(bits - (exponent << 23));
  vector s = (m - 1) / (m + 1), s2 = s * s;
  vector series = 2 + s2 * (2.0f / 3 + s2 * (2.0f / 5 + s2 * (2.0f / 7 + s2 * (2.0f / 9))));
  vector result = __builtin_convertvector(exponent, vector) * 0.693147181f + s * series;
  return choose(x - x == 0, result, x); /* NOLINT(misc-redundant-expression): not so for infinity and NaN */
}

/* WIDTH lanes of a filter's energy; `lanes` is (count, LANES). */
INLINE vector filter(const float *weights, size_t count, const float *lanes) {
  vector even = {0}, odd = {0};
  size_t k = 0;
  for (; k + 1 < count; k += 2) {
    even += weights[k] * load(lanes + k * LANES);
    odd += weights[k + 1] * load(lanes + (k + 1) * LANES);
  }
  if (k < count)
    even += weights[k] * load(lanes + k * LANES);
  return even + odd;
}

static void mel(const struct linnet_mel *filters, const float *power, size_t stride, float *lanes, size_t frames,
                float *features) {
  const vector floor = FLT_EPSILON - (vector){0};
  to_lanes(filters->end - filters->begin, power + filters->begin, stride, lanes);
  for (size_t band = 0; band < filters->bands; band++) {
    size_t start = filters->offsets[band], count = filters->offsets[band + 1] - start;
    const float *bins = lanes + (filters->first[band] - filters->begin) * LANES;
    float values[LANES];
    for (size_t lane = 0; lane < LANES; lane += WIDTH) {
      vector energy = filter(filters->weights + start, count, bins + lane);
      store(values + lane, log_of(choose(energy < floor, floor, energy))); /* NaN stays */
    }
    for (size_t lane = 0; lane < frames; lane++)
      features[lane * filters->bands + band] = values[lane];
  }
}

#define TABLE_NAME_(set) linnet_fbank_kernels_##set
#define TABLE_NAME(set) TABLE_NAME_(set)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const struct linnet_fbank_kernels TABLE_NAME(LINNET_KERNEL_SET) = {TEXT(LINNET_KERNEL_SET), window, power, mel};
