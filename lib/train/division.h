/* How parameters, the sums of their gradients and the state of the optimiser are divided among ranks.
 *
 * The buffer of parameters is a sequence of blocks, which do not depend on the ranks. Buckets are ranges of consecutive
 * blocks. The ranks divide each bucket, so that its exchange is work for all of them. A rank's own blocks are its parts
 * of all buckets. A divided vector has these blocks alone, one directly behind the other, in the order of the buffer:
 *
 *   2 ranks, 2 buckets:  | 0 0 1 1 | 0 0 1 1 |    the vector of rank 1: | block 2 | block 3 | block 6 | block 7 | */
#ifndef LINNET_DIVISION_H
#define LINNET_DIVISION_H

#include "base/base.h"
#include "base/real.h"

enum { LINNET_MAX_BUCKETS = 8 };

struct linnet_division {
  size_t size;  /* parameters */
  size_t block; /* parameters of a block; the last block of the buffer may have fewer */
  size_t buckets;
  size_t rank, num_ranks; /* the caller's, and of all */
};

size_t linnet_division_blocks(const struct linnet_division *d);

/* As many buckets as leave each rank some blocks of each. */
size_t linnet_division_choose_buckets(const struct linnet_division *d);

/* Parameters of a block. */
size_t linnet_division_length(const struct linnet_division *d, size_t block);

/* The first block, and the first parameter, of rank r in a bucket; the end of the bucket for r = num_ranks. */
size_t linnet_division_first_block(const struct linnet_division *d, size_t bucket, size_t r);
size_t linnet_division_first(const struct linnet_division *d, size_t bucket, size_t r);

/* Parameters of a bucket, and of this rank's part of it; the maximum over buckets. */
size_t linnet_division_max_bucket(const struct linnet_division *d);
size_t linnet_division_max_part(const struct linnet_division *d);

/* This rank's own blocks, and parameters. Own block i begins at element i * block of a divided vector, and is block
 * linnet_division_own_block of the buffer. */
size_t linnet_division_own_blocks(const struct linnet_division *d);
size_t linnet_division_own_block(const struct linnet_division *d, size_t i);
size_t linnet_division_own_size(const struct linnet_division *d);

/* Copies this rank's blocks between a whole vector (size) and a divided one (own_size). */
void linnet_division_take(const struct linnet_division *d, const real *whole, real *own);
void linnet_division_put(const struct linnet_division *d, const real *own, real *whole);

#endif
