/* How the utterances of a batch are divided among shards, and shards among ranks. */
#ifndef LINNET_SHARDS_H
#define LINNET_SHARDS_H

#include "model/training/network.h"
#include "train/ranks.h"

enum { LINNET_MAX_SHARDS = 4096 };

/* The leaves of the tree that sums gradients (gradient_sum.c): a power of two. Some may be empty. */
struct linnet_shards {
  size_t count;
  size_t starts[LINNET_MAX_SHARDS + 1]; /* shard s has utterances starts[s] ... starts[s + 1] - 1 of the batch */
};

/* Divides the batch by nominal frames of its utterances, nominal[utterances[i]], alone, so that shards are the same on
 * all ranks before features are read. `wanted` shards, or with 0 as many as the network prefers. */
void linnet_shards_divide(const struct linnet_network *network, size_t wanted, const size_t *utterances, size_t count,
                          const size_t *nominal, struct linnet_shards *shards);

static inline bool linnet_shard_empty(const struct linnet_shards *shards, size_t s) {
  return shards->starts[s] == shards->starts[s + 1];
}

/* The first shard of rank r. */
static inline size_t linnet_shards_first(const struct linnet_shards *shards, const struct linnet_ranks *ranks,
                                         size_t r) {
  return linnet_ranks_first(ranks, shards->count, r);
}

#endif
