/* The little that tests share: checks that count, seeds and bounds in messages, skipping. A test is one program; it
 * fails by exit code. */
#ifndef LINNET_TEST_H
#define LINNET_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/context.h>

enum { TEST_SKIPPED = 77 };

static _Atomic int test_checks, test_failures; /* ranks that are threads count, too */

/* CHECK(condition, "format", ...): on failure prints file, line and message, and continues. */
#define CHECK(condition, ...)                                                                                          \
  do {                                                                                                                 \
    test_checks++;                                                                                                     \
    if (!(condition)) {                                                                                                \
      test_failures++;                                                                                                 \
      fprintf(stderr, "%s:%d: FAILED %s: ", __FILE__, __LINE__, #condition);                                           \
      fprintf(stderr, __VA_ARGS__);                                                                                    \
      fputc('\n', stderr);                                                                                             \
    }                                                                                                                  \
  } while (0)

/* REQUIRE: like CHECK, but ends the test. */
#define REQUIRE(condition, ...)                                                                                        \
  do {                                                                                                                 \
    int test_failures_before_ = test_failures;                                                                         \
    CHECK(condition, __VA_ARGS__);                                                                                     \
    if (test_failures > test_failures_before_)                                                                         \
      exit(1);                                                                                                         \
  } while (0)

/* For the end of main: prints the counts. A test without any check fails. */
static inline int test_result(void) {
  printf("%d checks, %d failures\n", test_checks, test_failures);
  return test_failures > 0 || test_checks == 0;
}

static inline int test_skip(const char *why) {
  printf("SKIPPED: %s\n", why);
  return TEST_SKIPPED;
}

/* Whether a sanitizer is in the program: it replaces malloc, and needs more memory. Clang asks by __has_feature. */
#ifdef __has_feature
#define TEST_HAS_FEATURE(feature) __has_feature(feature)
#else
#define TEST_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || TEST_HAS_FEATURE(address_sanitizer) ||            \
    TEST_HAS_FEATURE(thread_sanitizer) || TEST_HAS_FEATURE(memory_sanitizer)
#define TEST_SANITIZED 1
#else
#define TEST_SANITIZED 0
#endif

/* Long inputs are TEST_SHARE times shorter in slow builds. */
#ifndef TEST_SHARE
#define TEST_SHARE 1
#endif

/* The number of random cases to run: `all`, or LINNET_TEST_CASES in the environment if that is fewer. */
static inline size_t test_cases(size_t all) {
  const char *maximum = getenv("LINNET_TEST_CASES");
  size_t asked = maximum ? (size_t)strtoull(maximum, NULL, 10) : all;
  return asked < all ? asked : all;
}

/* The larger of `worst` and a difference, infinity if that is NaN. (fmax in nested loops crashes GCC 12 for aarch64 at
 * -O3.) */
static inline double test_worst(double worst, double difference) {
  return difference <= worst ? worst : isnan(difference) ? INFINITY : difference;
}

/* The largest |a - b| / max(1, largest |b|). NaN anywhere gives infinity. */
static inline double test_error(const float *a, const float *b, size_t n) {
  double difference = 0, scale = 1;
  for (size_t i = 0; i < n; i++) {
    double d = fabs((double)a[i] - b[i]);
    if (isnan(d))
      return INFINITY;
    difference = test_worst(difference, d);
    scale = test_worst(scale, fabs(b[i]));
  }
  return difference / scale;
}

/* A small generator for test inputs: splitmix64. */
struct test_random {
  uint64_t state;
};

static inline uint64_t test_next(struct test_random *r) {
  uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* Uniform in [-1, 1), and an integer in [0, n). */
static inline double test_uniform(struct test_random *r) {
  return (double)(test_next(r) >> 11) * 0x1p-52 - 1;
}
static inline size_t test_below(struct test_random *r, size_t n) {
  return (size_t)(test_next(r) % n);
}

static inline void test_fill(struct test_random *r, float *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    x[i] = (float)test_uniform(r);
}

static inline struct linnet_context *test_context(void) {
  struct linnet_context *context = NULL;
  if (linnet_context_create(NULL, &context) != LINNET_OK) {
    fprintf(stderr, "cannot create a context\n");
    exit(1);
  }
  return context;
}

/* A path in the folder of real speech (environment LINNET_DATA), NULL if it is not there. Static storage. */
static inline const char *test_data(const char *name) {
  static char path[4096];
  const char *folder = getenv("LINNET_DATA");
  snprintf(path, sizeof path, "%s/%s", folder ? folder : TEST_DATA_DIR, name);
  FILE *file = fopen(path, "rb");
  if (!file)
    return NULL;
  fclose(file);
  return path;
}

/* A path in the source tree. Static storage. */
static inline const char *test_source(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", TEST_SOURCE_DIR, name);
  return path;
}

#endif
