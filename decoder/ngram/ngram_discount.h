/* Discounts of modified Kneser-Ney smoothing. */
#ifndef LINNET_NGRAM_DISCOUNT_H
#define LINNET_NGRAM_DISCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is taken from a count of 0, 1, 2, 3 or more. */
struct ngram_discount {
  double amount[4];
};

/* By counts (count), Chen and Goodman 1998, eq. 26. If they give none: false, and *lacking is the count that no n-gram
 * has, or 0 if a discount would be out of range. */
bool linnet_ngram_discount(const uint32_t *counts, size_t count, struct ngram_discount *discount, int *lacking);

static inline double linnet_ngram_discount_of(const struct ngram_discount *discount, uint32_t count) {
  return discount->amount[count < 3 ? count : 3];
}

#endif
