/* The mask. Element e = (row in the whole batch) * width + column takes 16 random bits from Philox(key = seed, counter
 * = (step << 32 | site, e / 8)): half of word (e % 8) / 2, the low half if e is even. The element is dropped if these
 * bits are below rate * 2^16. So the mask depends on the indices of an element in the run, and not on threads, device
 * or order. */
#include "ops/dropout.h"

#include "base/philox.h"

static bool kept(const struct linnet_dropout *d, uint64_t element, uint32_t threshold) {
  struct linnet_philox random = linnet_philox(d->seed, (uint64_t)d->step << 32 | d->site, element / 8);
  uint32_t word = random.word[element % 8 / 2];
  return (element % 2 ? word >> 16 : word & 0xFFFF) >= threshold;
}

void linnet_dropout_reference(const struct linnet_dropout *d, size_t rows, size_t width, const real *x,
                              const real *residual, real *y) {
  uint32_t threshold = linnet_dropout_threshold(d->rate);
  real scale = (real)linnet_dropout_scale(d->rate);
  uint64_t first = d->row * width;
  for (size_t i = 0; i < rows * width; i++) {
    real value = threshold == 0 || kept(d, first + i, threshold) ? x[i] * scale : 0;
    y[i] = residual ? residual[i] + value : value;
  }
}
