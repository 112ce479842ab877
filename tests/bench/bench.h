/* Functions that benchmarks share: CPU time of the thread (other work on the machine does not count), medians over
 * repetitions, the limits of this core measured in the same run, and the choice of op tables: bench_NAME [--kernels
 * TABLE]. Figures of one run are comparable; those of two runs on a busy machine are not. */
#ifndef LINNET_BENCH_H
#define LINNET_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "backend/backend.h"
#include "base/large_pages.h"
#include "test.h"

typedef void bench_fn(void *user);

static inline double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int bench_order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

enum { BENCH_SAMPLES = 15 };

static inline double bench_median(double *samples) {
  qsort(samples, BENCH_SAMPLES, sizeof *samples, bench_order);
  return samples[BENCH_SAMPLES / 2];
}

/* The number of calls that take about `seconds`. */
static inline size_t bench_calls(bench_fn *body, void *user, double seconds) {
  double start = bench_now();
  body(user);
  double once = bench_now() - start;
  return once < seconds ? (size_t)(seconds / (once + 1e-8)) + 1 : 1;
}

static inline double bench_sample(bench_fn *body, void *user, size_t calls) {
  double start = bench_now();
  for (size_t i = 0; i < calls; i++)
    body(user);
  return (bench_now() - start) / (double)calls;
}

/* Median seconds of one call, over samples of at least `seconds` / BENCH_SAMPLES each. */
static inline double bench_time(bench_fn *body, void *user, double seconds) {
  double samples[BENCH_SAMPLES];
  size_t calls = bench_calls(body, user, seconds / BENCH_SAMPLES);
  for (size_t i = 0; i < BENCH_SAMPLES; i++)
    samples[i] = bench_sample(body, user, calls);
  return bench_median(samples);
}

#define BENCH_UNROLL _Pragma("GCC unroll 16")

/* --- the multiply-add peak ---------------------------------------------------------------------------------------- */

/* The core's multiply-add peak, with the widest registers that the table uses: of float32, of bfloat16 pairs or
 * of 8-bit integers. */

enum { BENCH_PEAK_STEPS = 20000, BENCH_PEAK_CHAINS = 12 };
static volatile float bench_sink;

#if defined(__aarch64__)
#define BENCH_REGISTER "w"
#else
#define BENCH_REGISTER "v"
#endif

/* A loop over a register type with that many numbers: `multiply_add` of `sum` and x. */
#define BENCH_PEAK(name, isa, vector, set, add, first, numbers, multiply_add)                                          \
  __attribute__((target(isa))) static void name(void *flops) {                                                         \
    vector x = set((int)bench_sink), sum[BENCH_PEAK_CHAINS];                                                           \
    BENCH_UNROLL                                                                                                       \
    for (int i = 0; i < BENCH_PEAK_CHAINS; i++)                                                                        \
      sum[i] = x;                                                                                                      \
    for (int step = 0; step < BENCH_PEAK_STEPS; step++)                                                                \
      BENCH_UNROLL                                                                                                     \
    for (int i = 0; i < BENCH_PEAK_CHAINS; i++) {                                                                      \
      sum[i] = multiply_add;                                                                                           \
      __asm__("" : "+" BENCH_REGISTER(sum[i]), "+" BENCH_REGISTER(x));                                                 \
    }                                                                                                                  \
    BENCH_UNROLL                                                                                                       \
    for (int i = 1; i < BENCH_PEAK_CHAINS; i++)                                                                        \
      sum[0] = add(sum[0], sum[i]);                                                                                    \
    bench_sink = first(sum[0]);                                                                                        \
    *(double *)flops = 2.0 * (numbers)*BENCH_PEAK_STEPS * BENCH_PEAK_CHAINS;                                           \
  }

#if defined(__x86_64__)
/* sum + the products of x and x as two words of 8-bit integers, as vec.h multiplies them. */
__attribute__((target("avx2"))) static inline __m256i bench_dot_avx2(__m256i x, __m256i sum) {
  __m256i y = x;
  __asm__("" : "+x"(y));
  __m256i fours = _mm256_add_epi16(_mm256_maddubs_epi16(x, y), _mm256_maddubs_epi16(y, x));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(fours, y));
}

BENCH_PEAK(bench_peak_avx512, "avx512f", __m512, _mm512_set1_ps, _mm512_add_ps, _mm512_cvtss_f32, 16,
           _mm512_fmadd_ps(sum[i], x, x))
BENCH_PEAK(bench_peak_bf16, "avx512f,avx512bf16", __m512, _mm512_set1_ps, _mm512_add_ps, _mm512_cvtss_f32, 32,
           _mm512_dpbf16_ps(sum[i], (__m512bh)x, (__m512bh)x))
BENCH_PEAK(bench_peak_vnni, "avx512f,avx512vnni", __m512i, _mm512_set1_epi32, _mm512_add_epi32, _mm512_cvtsi512_si32,
           64, _mm512_dpbusd_epi32(sum[i], x, x))
BENCH_PEAK(bench_peak_avx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_add_ps, _mm256_cvtss_f32, 8,
           _mm256_fmadd_ps(sum[i], x, x))
BENCH_PEAK(bench_peak_avx2_int8, "avx2", __m256i, _mm256_set1_epi32, _mm256_add_epi32, _mm256_cvtsi256_si32, 64,
           bench_dot_avx2(x, sum[i]))
BENCH_PEAK(bench_peak_avxvnni, "avx2,avxvnni", __m256i, _mm256_set1_epi32, _mm256_add_epi32, _mm256_cvtsi256_si32, 32,
           _mm256_dpbusd_avx_epi32(sum[i], x, x))

#if defined(__linux__)
/* Matrix instructions on four tiles of sums: 16 x 16 sums of 16 words. */
#define BENCH_PEAK_AMX(name, isa, instruction, numbers)                                                                \
  __attribute__((target("amx-tile," isa))) static void name(void *flops) {                                             \
    static const struct {                                                                                              \
      uint8_t palette, start_row, reserved[14];                                                                        \
      uint16_t row_bytes[16];                                                                                          \
      uint8_t rows[16];                                                                                                \
    } config = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};                        \
    _tile_loadconfig(&config);                                                                                         \
    for (int step = 0; step < BENCH_PEAK_STEPS; step++) {                                                              \
      instruction(0, 4, 6);                                                                                            \
      instruction(1, 4, 7);                                                                                            \
      instruction(2, 5, 6);                                                                                            \
      instruction(3, 5, 7);                                                                                            \
    }                                                                                                                  \
    _tile_release();                                                                                                   \
    *(double *)flops = 2.0 * (numbers)*BENCH_PEAK_STEPS * 4;                                                           \
  }

BENCH_PEAK_AMX(bench_peak_amx_bf16, "amx-bf16", _tile_dpbf16ps, 16 * 16 * 32)
BENCH_PEAK_AMX(bench_peak_amx_int8, "amx-int8", _tile_dpbusd, 16 * 16 * 64)
#endif
#elif defined(__aarch64__)
#include <arm_neon.h>

BENCH_PEAK(bench_peak_dotprod, "arch=armv8.2-a+dotprod", int32x4_t, vdupq_n_s32, vaddq_s32, (float)vaddvq_s32, 16,
           vdotq_s32(sum[i], (int8x16_t)x, (int8x16_t)x))
#endif

static void bench_peak_generic(void *flops) {
  typedef float v4 __attribute__((vector_size(16)));
  v4 x = {bench_sink, bench_sink, bench_sink, bench_sink}, sum[BENCH_PEAK_CHAINS];
  BENCH_UNROLL
  for (int i = 0; i < BENCH_PEAK_CHAINS; i++)
    sum[i] = x;
  for (int step = 0; step < BENCH_PEAK_STEPS; step++)
    BENCH_UNROLL
  for (int i = 0; i < BENCH_PEAK_CHAINS; i++) {
#if defined(__aarch64__)
    __asm__("fmla %0.4s, %1.4s, %1.4s" : "+w"(sum[i]) : "w"(x));
#else
    sum[i] = sum[i] * x + x;
#endif
  }
  BENCH_UNROLL
  for (int i = 1; i < BENCH_PEAK_CHAINS; i++)
    sum[0] += sum[i];
  bench_sink = sum[0][0];
  *(double *)flops = 2.0 * 4 * BENCH_PEAK_STEPS * BENCH_PEAK_CHAINS;
}

static inline bench_fn *bench_peak_loop(const char *table) {
#if defined(__x86_64__)
#if defined(__linux__)
  if (strcmp(table, "avx512-amx-int8") == 0)
    return bench_peak_amx_int8;
  if (strcmp(table, "avx512-amx-bf16") == 0)
    return bench_peak_amx_bf16;
#endif
  if (strcmp(table, "avx512-vnni") == 0)
    return bench_peak_vnni;
  if (strcmp(table, "avx512-bf16") == 0)
    return bench_peak_bf16;
  if (strcmp(table, "avx512") == 0)
    return bench_peak_avx512;
  if (strcmp(table, "avxvnni") == 0)
    return bench_peak_avxvnni;
  if (strcmp(table, "avx2-int8") == 0)
    return bench_peak_avx2_int8;
  if (strcmp(table, "avx2") == 0)
    return bench_peak_avx2;
#elif defined(__aarch64__)
  if (strcmp(table, "dotprod") == 0)
    return bench_peak_dotprod;
#endif
  (void)table;
  return bench_peak_generic;
}

/* Flop per second that this core can do with the registers of this table. */
static inline double bench_peak(const char *table) {
  double flops = 0, seconds = bench_time(bench_peak_loop(table), &flops, 0.1);
  return flops / seconds;
}

struct bench_result {
  double seconds; /* of one call */
  double share;   /* of the core's peak; measured in turns with it, as its clock and its neighbours change */
};

/* Medians for a body that does `flops` per call. */
static inline struct bench_result bench_share(const char *table, bench_fn *body, void *user, double flops,
                                              double seconds) {
  double samples[BENCH_SAMPLES], shares[BENCH_SAMPLES], peak_flops;
  size_t calls = bench_calls(body, user, seconds / BENCH_SAMPLES);
  bench_fn *peak = bench_peak_loop(table);
  for (size_t i = 0; i < BENCH_SAMPLES; i++) {
    double before = bench_sample(peak, &peak_flops, 1);
    samples[i] = bench_sample(body, user, calls);
    double after = bench_sample(peak, &peak_flops, 1);
    shares[i] = flops / samples[i] * (before + after) / 2 / peak_flops;
  }
  return (struct bench_result){bench_median(samples), bench_median(shares)};
}

/* --- Read bandwidth in bytes per second over a buffer of `bytes` (cached or not, by its size), in large pages. */

struct bench_buffer {
  const float *x;
  size_t n;
};

static void bench_read(void *user) {
  typedef float v4 __attribute__((vector_size(16)));
  const struct bench_buffer *b = user;
  const v4 *x = (const v4 *)b->x;
  v4 sum[8] = {{0}};
  for (size_t i = 0; i + 8 <= b->n / 4; i += 8)
    BENCH_UNROLL
  for (size_t j = 0; j < 8; j++)
    sum[j] += x[i + j];
  BENCH_UNROLL
  for (size_t j = 1; j < 8; j++)
    sum[0] += sum[j];
  bench_sink = sum[0][0];
}

static inline double bench_bandwidth(size_t bytes, double seconds) {
  struct bench_buffer b = {aligned_alloc(64, (bytes + 63) / 64 * 64), bytes / sizeof(float)};
  if (!b.x)
    exit(1);
  linnet_prefer_large_pages((void *)b.x, bytes);
  memset((void *)b.x, 0, bytes);
  double once = bench_time(bench_read, &b, seconds);
  free((void *)b.x);
  return (double)bytes / once;
}

/* --- Tables, memory, inputs */

/* The table named by --kernels, or each that runs here: for (i = 0; (ops = bench_table(argc, argv, i)); i++). */
static inline const struct linnet_ops *bench_table(int argc, char **argv, size_t i) {
  static const char *const names[] = {"avx512-amx-int8", "avx512-vnni", "avxvnni", "avx2-int8", "dotprod",
                                      "avx512-amx-bf16", "avx512-bf16", "avx512",  "avx2",      "cblas",
                                      "generic",         "reference"};
  if (argc == 3 && strcmp(argv[1], "--kernels") == 0) {
    const struct linnet_ops *ops = i == 0 ? linnet_cpu_ops(argv[2]) : NULL;
    if (i == 0 && !ops)
      fprintf(stderr, "%s: no such kernels on this machine\n", argv[2]);
    return ops;
  }
  for (size_t j = 0; j < sizeof names / sizeof *names - 1; j++) {
    const struct linnet_ops *ops = linnet_cpu_ops(names[j]);
    if (ops && i-- == 0)
      return ops;
  }
  return NULL;
}

static inline void *bench_alloc(size_t bytes) {
  void *block = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  if (!block)
    exit(1);
  memset(block, 0, bytes);
  return block;
}

static inline float *bench_floats(struct test_random *r, size_t n) {
  float *x = bench_alloc(n * sizeof *x);
  test_fill(r, x, n);
  return x;
}

#endif
