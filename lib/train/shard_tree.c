/* Sums over shards as a tree. */
#include "train/shard_tree.h"

#include "base/numbers.h"

/* Pairs of nodes whose distance is `distance`. */
static void sum_level(const struct linnet_shard_tree *t, struct linnet_device *device, bool rounded, size_t distance,
                      size_t start, size_t n) {
  size_t s = linnet_round_up(t->begin, 2 * distance);
  for (; s + 2 * distance <= t->end; s += 2 * distance) {
    real *left = t->nodes[s], *right = t->nodes[s + distance];
    if (!left || !right)
      continue;
    device->ops->add(device, n, right + start, left + start);
    if (rounded)
      device->ops->round_bfloat16(device, n, left + start);
  }
}

/* What sum_level leaves. */
static void merge_level(struct linnet_shard_tree *t, size_t distance) {
  size_t s = linnet_round_up(t->begin, 2 * distance);
  for (; s + 2 * distance <= t->end; s += 2 * distance) {
    if (!t->nodes[s])
      t->nodes[s] = t->nodes[s + distance];
    t->nodes[s + distance] = NULL;
  }
}

/* The nodes of other parameters are at the same addresses, so the tree itself does not change. */
void linnet_shard_tree_sum(const struct linnet_shard_tree *tree, struct linnet_device *device, bool rounded,
                           size_t start, size_t n) {
  struct linnet_shard_tree own = *tree;
  for (size_t distance = 1; distance < LINNET_MAX_SHARDS; distance *= 2) {
    sum_level(&own, device, rounded, distance, start, n);
    merge_level(&own, distance);
  }
}

void linnet_shard_tree_merge(struct linnet_shard_tree *tree) {
  for (size_t distance = 1; distance < LINNET_MAX_SHARDS; distance *= 2)
    merge_level(tree, distance);
}

void linnet_shard_tree_begin(const struct linnet_shards *shards, const struct linnet_ranks *ranks, size_t r,
                             real *const *gradients, struct linnet_shard_tree *t) {
  t->begin = linnet_shards_first(shards, ranks, r);
  t->end = linnet_shards_first(shards, ranks, r + 1);
  for (size_t s = t->begin; s < t->end; s++) {
    real *node = gradients ? gradients[s - t->begin] : (real *)t;
    t->nodes[s] = linnet_shard_empty(shards, s) ? NULL : node;
  }
}

void linnet_shard_tree_list(const struct linnet_shards *shards, const struct linnet_ranks *ranks, size_t r,
                            struct linnet_node_list *list) {
  struct linnet_shard_tree t;
  linnet_shard_tree_begin(shards, ranks, r, NULL, &t);
  linnet_shard_tree_merge(&t);
  list->count = 0;
  for (size_t s = t.begin; s < t.end; s++)
    if (t.nodes[s])
      list->shards[list->count++] = s;
}
