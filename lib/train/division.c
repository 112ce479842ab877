/* The parts of the parameters that ranks have. */
#include "train/division.h"

#include <string.h>

#include "base/numbers.h"

size_t linnet_division_blocks(const struct linnet_division *d) {
  return linnet_divide_up(d->size, d->block);
}

size_t linnet_division_choose_buckets(const struct linnet_division *d) {
  const size_t buckets = linnet_division_blocks(d) / (2 * d->num_ranks);
  return buckets == 0 ? 1 : linnet_min_size(buckets, LINNET_MAX_BUCKETS);
}

size_t linnet_division_length(const struct linnet_division *d, size_t block) {
  return linnet_min_size(d->size - block * d->block, d->block);
}

size_t linnet_division_first_block(const struct linnet_division *d, size_t bucket, size_t r) {
  const size_t blocks = linnet_division_blocks(d), begin = blocks * bucket / d->buckets,
               end = blocks * (bucket + 1) / d->buckets;
  return begin + (end - begin) * r / d->num_ranks;
}

size_t linnet_division_first(const struct linnet_division *d, size_t bucket, size_t r) {
  return linnet_min_size(linnet_division_first_block(d, bucket, r) * d->block, d->size);
}

size_t linnet_division_max_bucket(const struct linnet_division *d) {
  size_t maximum = 0;
  for (size_t k = 0; k < d->buckets; k++)
    maximum = linnet_max_size(maximum, linnet_division_first(d, k, d->num_ranks) - linnet_division_first(d, k, 0));
  return maximum;
}

static size_t part(const struct linnet_division *d, size_t bucket) {
  return linnet_division_first(d, bucket, d->rank + 1) - linnet_division_first(d, bucket, d->rank);
}

size_t linnet_division_max_part(const struct linnet_division *d) {
  size_t maximum = 0;
  for (size_t k = 0; k < d->buckets; k++)
    maximum = linnet_max_size(maximum, part(d, k));
  return maximum;
}

static size_t part_blocks(const struct linnet_division *d, size_t bucket) {
  return linnet_division_first_block(d, bucket, d->rank + 1) - linnet_division_first_block(d, bucket, d->rank);
}

size_t linnet_division_own_blocks(const struct linnet_division *d) {
  size_t count = 0;
  for (size_t k = 0; k < d->buckets; k++)
    count += part_blocks(d, k);
  return count;
}

size_t linnet_division_own_block(const struct linnet_division *d, size_t i) {
  size_t k = 0;
  for (; i >= part_blocks(d, k); k++)
    i -= part_blocks(d, k);
  return linnet_division_first_block(d, k, d->rank) + i;
}

size_t linnet_division_own_size(const struct linnet_division *d) {
  size_t count = 0;
  for (size_t k = 0; k < d->buckets; k++)
    count += part(d, k);
  return count;
}

void linnet_division_take(const struct linnet_division *d, const real *whole, real *own) {
  for (size_t k = 0; k < d->buckets; own += part(d, k), k++)
    memcpy(own, whole + linnet_division_first(d, k, d->rank), part(d, k) * sizeof *own);
}

void linnet_division_put(const struct linnet_division *d, const real *own, real *whole) {
  for (size_t k = 0; k < d->buckets; own += part(d, k), k++)
    memcpy(whole + linnet_division_first(d, k, d->rank), own, part(d, k) * sizeof *own);
}
