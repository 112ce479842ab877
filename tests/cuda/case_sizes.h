/* Sizes and packed batches of random cases. */
#ifndef LINNET_TEST_CASE_SIZES_H
#define LINNET_TEST_CASE_SIZES_H

#include <float.h>

#include "mirror.h"

/* A size that fits the time for the test. */
static size_t scaled(size_t n) {
  return n / test_cuda_share();
}

/* --- Conditions */

/* The same with every number an ulp up or down. */
static struct buffer buffer_nudged(const struct buffer *other) {
  struct test_random random = {other->n};
  struct buffer b = buffer_copy(&random, other);
  for (size_t i = 0; i < b.n; i++)
    if (!is_poison(b.x[i]))
      b.x[i] = nextafterf(b.x[i], test_below(&random, 2) ? FLT_MAX : -FLT_MAX);
  return b;
}

/* Results of the reference from slightly changed inputs: the effect of ulps of the inputs on the results bounds the
 * effect of another order of operations. */
static void note_condition(struct mirrors *m, const struct buffer *nudged, const struct buffer *results) {
  double ulps = buffer_error(nudged, results) / FLT_EPSILON;
  if (isfinite(ulps))
    m->condition = worst(m->condition, ulps);
}

/* Sums, and the sums of the magnitudes of their terms. */
static void note_cancellation(struct mirrors *m, const struct buffer *unsigned_sums, const struct buffer *sums) {
  double worst_sum = 0, largest = 1;
  for (size_t i = 0; i < sums->n; i++) {
    worst_sum = test_worst(worst_sum, fabs(unsigned_sums->x[i]));
    largest = test_worst(largest, fabs(sums->x[i]));
  }
  m->condition = worst(m->condition, worst_sum / largest);
}

static struct buffer buffer_unsigned(struct test_random *r, const struct buffer *other) {
  struct buffer b = buffer_copy(r, other);
  for (size_t i = 0; i < b.n; i++)
    b.x[i] = fabsf(b.x[i]);
  return b;
}

/* --- Packed batches */

enum { MAX_SEQUENCES = 8 };

/* A few sequences, some empty, a few long. In the few cases that search for races, all have a second piece, a second
 * tile, and a sequence without frames. */
static struct linnet_pack some_pack(struct test_random *r, size_t *offsets, size_t longest) {
  static const size_t searched[] = {0, 140, 140, 150};
  struct linnet_pack p = {test_below(r, MAX_SEQUENCES), offsets};
  longest *= longest > 140 ? test_cuda_stretch() : 1;
  offsets[0] = 0;
  for (size_t i = 0; i < p.sequences; i++)
    offsets[i + 1] = offsets[i] + some_size(r, test_below(r, 4) && longest > 140 ? 140 : longest);
  if (test_cuda_share() > 1) {
    memcpy(offsets, searched, sizeof searched);
    p.sequences = sizeof searched / sizeof *searched - 1;
  }
  return p;
}

#endif
