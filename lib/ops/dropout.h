/* Dropout with a counter-based random generator (Philox): the C reference. */
#ifndef LINNET_DROPOUT_H
#define LINNET_DROPOUT_H

#include "ops/pack.h"

/* Identifies a dropout mask in the run: its bits depend only on (seed, step, site, row, column). */
struct linnet_dropout {
  double rate; /* 0: nothing is dropped; at most 0.9 */
  uint64_t seed;
  uint32_t step; /* optimiser step */
  uint32_t site; /* number of the dropout within the network */
  uint64_t row;  /* index of the first row in the whole batch */
};

/* y = residual + mask * x / (1 - rate); residual NULL: 0; y may be x or residual. */
void linnet_dropout_reference(const struct linnet_dropout *d, size_t rows, size_t width, const real *x,
                              const real *residual, real *y);

/* An element is dropped if its 16 random bits are below this. */
static inline uint32_t linnet_dropout_threshold(double rate) {
  return (uint32_t)(rate * 65536 + 0.5); /* NOLINT(bugprone-incorrect-roundings): a rate is not negative */
}

/* The factor for elements that are not dropped. */
static inline double linnet_dropout_scale(double rate) {
  return 1 / (1 - linnet_dropout_threshold(rate) * 0x1p-16);
}

#endif
