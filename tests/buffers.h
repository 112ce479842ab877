/* Arrays of floats for tests of kernels: poisoned, at addresses of any alignment, between guards. */
#ifndef LINNET_TEST_BUFFERS_H
#define LINNET_TEST_BUFFERS_H

#include "test.h"

enum { GUARD = 64 };

/* A bit pattern (a NaN) that no op computes, for guards, gaps and outputs that are not written yet. */
static inline float poison(void) {
  const uint32_t bits = 0x7fa5a5a5;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline bool is_poison(float x) {
  const float p = poison();
  return memcmp(&x, &p, sizeof x) == 0;
}

/* n floats at an address of any alignment, between guards. */
struct buffer {
  float *memory, *x;
  size_t n;
};

static inline struct buffer buffer_poisoned(struct test_random *r, size_t n) {
  struct buffer b = {.memory = n < SIZE_MAX / 8 ? malloc((n + 3 * GUARD) * sizeof(float)) : NULL, .n = n};
  if (!b.memory)
    exit(1);
  for (size_t i = 0; i < n + 3 * GUARD; i++)
    b.memory[i] = poison();
  b.x = b.memory + GUARD + (test_below(r, 3) ? test_below(r, 16) : 0);
  return b;
}

static inline struct buffer buffer_random(struct test_random *r, size_t n) {
  struct buffer b = buffer_poisoned(r, n);
  test_fill(r, b.x, n);
  return b;
}

static inline struct buffer buffer_scaled(struct test_random *r, size_t n, float scale) {
  struct buffer b = buffer_random(r, n);
  for (size_t i = 0; i < n; i++)
    b.x[i] *= scale;
  return b;
}

/* Makes logits for CTC of random numbers: at some scale, some impossible, `low`, or, one of `rare`, not finite. */
static inline void buffer_odd_logits(struct test_random *r, struct buffer *x, float low, size_t rare) {
  static const float scales[] = {1, 1, 5, 30, 300, 5000};
  float scale = scales[test_below(r, 6)];
  size_t odd = test_below(r, 12);
  for (size_t i = 0; i < x->n; i++) {
    x->x[i] *= scale;
    if (odd < 4 && test_below(r, 20) == 0)
      x->x[i] = -INFINITY;
    if (odd == 4 && test_below(r, 20) == 0)
      x->x[i] = low;
    if (odd == 5 && test_below(r, rare) == 0)
      x->x[i] = test_below(r, 2) ? NAN : INFINITY;
  }
}

/* The same contents at another alignment. */
static inline struct buffer buffer_copy(struct test_random *r, const struct buffer *other) {
  struct buffer b = buffer_poisoned(r, other->n);
  memcpy(b.x, other->x, other->n * sizeof(float));
  return b;
}

static inline bool guards_hold(const struct buffer *b) {
  for (float *p = b->memory; p < b->memory + b->n + 3 * GUARD; p++)
    if ((p < b->x || p >= b->x + b->n) && !is_poison(*p))
      return false;
  return true;
}

/* 0 where both are untouched, or the same NaN or infinity; infinity where just one of them is. */
static inline double difference(float a, float b) {
  if (is_poison(a) || is_poison(b))
    return is_poison(a) && is_poison(b) ? 0 : INFINITY;
  if (a == b || (isnan(a) && isnan(b)))
    return 0;
  double d = fabs((double)a - b);
  return isnan(d) ? INFINITY : d;
}

/* The largest difference, relative to the largest value or 1; infinity if a guard is broken. */
static inline double buffer_error(const struct buffer *tested, const struct buffer *expected) {
  double error = 0, scale = 1;
  if (!guards_hold(tested))
    return INFINITY;
  for (size_t i = 0; i < tested->n; i++) {
    error = test_worst(error, difference(tested->x[i], expected->x[i]));
    if (isfinite(expected->x[i]))
      scale = test_worst(scale, fabs(expected->x[i]));
  }
  return error / scale;
}

static inline double worst(double a, double b) {
  return a > b ? a : b;
}

static inline void release(size_t n, struct buffer *buffers) {
  for (size_t i = 0; i < n; i++)
    free(buffers[i].memory);
}
#define RELEASE(...)                                                                                                   \
  release(sizeof((struct buffer[]){__VA_ARGS__}) / sizeof(struct buffer), (struct buffer[]){__VA_ARGS__})

/* Sizes that matter to kernels of 4, 8 and 16 lanes; seldom large ones. */
static inline size_t some_size(struct test_random *r, size_t largest) {
  static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 40, 47, 48, 63, 64, 65};
  size_t n = test_below(r, 4) ? sizes[test_below(r, sizeof sizes / sizeof *sizes)] : test_below(r, largest + 1);
  return n <= largest ? n : largest;
}

#endif
