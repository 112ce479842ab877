/* The binary tree that sums the gradients of shards: first those whose numbers differ in the last bit, then in the
 * next. A sum over shards s ... s + L - 1, with L a power of two that divides s, is a node of the tree. */
#ifndef LINNET_SHARD_TREE_H
#define LINNET_SHARD_TREE_H

#include "backend/device.h"
#include "train/shards.h"

struct linnet_shard_tree {
  size_t begin, end;              /* the shards that are summed now; other nodes are not set */
  real *nodes[LINNET_MAX_SHARDS]; /* [s]: where the sum from shard s on is, NULL if there is none: all its shards are
                                     empty, or it is part of another node */
};

/* The shards of rank r. Node s begins as `gradients[s - begin]`, or if that is NULL, as any address. */
void linnet_shard_tree_begin(const struct linnet_shards *shards, const struct linnet_ranks *ranks, size_t r,
                             real *const *gradients, struct linnet_shard_tree *tree);

/* Adds n numbers from `start` on, on all levels. With `rounded`, rounds each sum to bfloat16. */
void linnet_shard_tree_sum(const struct linnet_shard_tree *tree, struct linnet_device *device, bool rounded,
                           size_t start, size_t n);

/* The nodes that linnet_shard_tree_sum leaves. */
void linnet_shard_tree_merge(struct linnet_shard_tree *tree);

/* --- the nodes that ranks send ------------------------------------------------------------------------------------ */

/* A rank of 2^k has one node, and at most two for each level of the tree otherwise. */
enum { LINNET_MAX_NODES = 24 };

struct linnet_node_list {
  size_t count, shards[LINNET_MAX_NODES];
};

/* The nodes that rank r has after summing within its shards. */
void linnet_shard_tree_list(const struct linnet_shards *shards, const struct linnet_ranks *ranks, size_t r,
                            struct linnet_node_list *list);

#endif
