/* Dropout by counter (Philox): the C reference. */
#ifndef LINNET_DROPOUT_H
#define LINNET_DROPOUT_H

#include "ops/pack.h"

/* Where a dropout mask lies in the run: bits depend on (seed, step, site, row, column) alone. */
struct linnet_dropout {
  double rate; /* 0: nothing is dropped; at most 0.9 */
  uint64_t seed;
  uint32_t step; /* of the optimiser */
  uint32_t site; /* which dropout of the network */
  uint64_t row;  /* index of the first row in the whole batch */
};

/* y = residual + mask * x / (1 - rate); residual NULL: 0; y may be x or residual. */
void linnet_dropout_reference(const struct linnet_dropout *d, size_t rows, size_t width, const real *x,
                              const real *residual, real *y);

/* An element is dropped where its 16-bit draw is below this. */
static inline uint32_t linnet_dropout_threshold(double rate) {
  return (uint32_t)(rate * 65536 + 0.5); /* NOLINT(bugprone-incorrect-roundings): a rate is not negative */
}

/* What elements that are kept are multiplied by. */
static inline double linnet_dropout_scale(double rate) {
  return 1 / (1 - linnet_dropout_threshold(rate) * 0x1p-16);
}

#endif
