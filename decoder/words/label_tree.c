/* Builds a prefix tree of label sequences from a sorted array, level by level. */
#include "decoder/words/label_tree.h"

#include <stdlib.h>

/* The range of the sequences through a node in the sorted array, and the number of labels that lead to the node. */
struct span {
  size_t begin, end, depth;
};

struct builder {
  struct linnet_label_tree *tree;
  const struct linnet_label_sequence *sequences;
  struct span *spans; /* (nodes) */
};

static int compare(const void *left, const void *right) {
  const struct linnet_label_sequence *a = left, *b = right;
  size_t i = 0;
  while (i < a->count && i < b->count && a->labels[i] == b->labels[i])
    i++;
  if (i < a->count && i < b->count)
    return a->labels[i] < b->labels[i] ? -1 : 1;
  if (a->count != b->count)
    return a->count < b->count ? -1 : 1;
  return (a->value > b->value) - (a->value < b->value);
}

static void add_node(struct builder *b, uint32_t parent, int label, struct span span) {
  b->tree->nodes[b->tree->count] = (struct linnet_label_node){.parent = parent, .label = label};
  b->spans[b->tree->count++] = span;
}

/* Sequences that end at the node stand first, the others in the order of their next label. */
static void expand(struct builder *b, uint32_t node) {
  struct linnet_label_tree *tree = b->tree;
  struct span all = b->spans[node], one = {.begin = all.begin, .depth = all.depth + 1};
  tree->nodes[node].first_value = tree->value_count;
  for (; one.begin < all.end && b->sequences[one.begin].count == all.depth; one.begin++) {
    uint32_t value = b->sequences[one.begin].value;
    if (tree->value_count == tree->nodes[node].first_value || tree->values[tree->value_count - 1] != value)
      tree->values[tree->value_count++] = value;
  }
  tree->nodes[node].first_child = tree->count;
  for (; one.begin < all.end; one.begin = one.end) {
    int label = b->sequences[one.begin].labels[all.depth];
    for (one.end = one.begin; one.end < all.end && b->sequences[one.end].labels[all.depth] == label;)
      one.end++;
    add_node(b, node, label, one);
  }
}

static size_t count_nodes(const struct linnet_label_sequence *sequences, size_t count) {
  size_t nodes = 1;
  for (size_t i = 0; i < count; i++) {
    size_t shared = 0, previous = i > 0 ? sequences[i - 1].count : 0;
    while (shared < sequences[i].count && shared < previous &&
           sequences[i].labels[shared] == sequences[i - 1].labels[shared])
      shared++;
    nodes += sequences[i].count - shared;
  }
  return nodes;
}

enum linnet_status linnet_label_tree_create(struct linnet_label_tree *tree, struct linnet_context *context,
                                            struct linnet_label_sequence *sequences, size_t count) {
  *tree = (struct linnet_label_tree){.context = context};
  if (count > 0)
    qsort(sequences, count, sizeof *sequences, compare);
  size_t nodes = count_nodes(sequences, count);
  if (nodes > UINT32_MAX / 2 || count > UINT32_MAX / 2)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "the prefix tree is too large, with %zu nodes", nodes);
  struct builder b = {tree, sequences, linnet_alloc(context, nodes, sizeof *b.spans)};
  tree->nodes = linnet_alloc(context, nodes + 1, sizeof *tree->nodes);
  tree->values = linnet_alloc(context, count, sizeof *tree->values);
  bool good = b.spans && tree->nodes && tree->values;
  if (good) {
    add_node(&b, 0, 0, (struct span){0, count, 0});
    for (uint32_t node = 0; node < tree->count; node++)
      expand(&b, node);
    tree->nodes[tree->count] = (struct linnet_label_node){.first_child = tree->count, .first_value = tree->value_count};
  }
  linnet_free(context, b.spans);
  return good ? LINNET_OK
              : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a prefix tree of %zu nodes", nodes);
}

void linnet_label_tree_destroy(struct linnet_label_tree *tree) {
  if (!tree->context)
    return;
  linnet_free(tree->context, tree->nodes);
  linnet_free(tree->context, tree->values);
}

uint32_t linnet_label_tree_child(const struct linnet_label_tree *tree, uint32_t node, int label) {
  uint32_t at = tree->nodes[node].first_child, end = tree->nodes[node + 1].first_child;
  while (at < end) {
    uint32_t middle = at + (end - at) / 2;
    if (tree->nodes[middle].label == label)
      return middle;
    if (tree->nodes[middle].label < label)
      at = middle + 1;
    else
      end = middle;
  }
  return 0;
}
