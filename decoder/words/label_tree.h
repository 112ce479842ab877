/* A compact prefix tree of label sequences with values: pronunciations with their words, or phrases with their numbers.
 *
 * Nodes are numbered breadth first; 0 is the root. The children of a node are one range, in the order of their labels.
 * The values of the sequences that end at a node are one range, too, in increasing order. A range ends where that of
 * the next node begins. */
#ifndef LINNET_LABEL_TREE_H
#define LINNET_LABEL_TREE_H

#include "base/base.h"

struct linnet_label_sequence {
  const int *labels;
  size_t count;
  uint32_t value;
};

struct linnet_label_node {
  uint32_t parent; /* 0 at the root */
  int label;       /* 0 at the root */
  uint32_t first_child, first_value;
};

struct linnet_label_tree {
  struct linnet_context *context;
  struct linnet_label_node *nodes; /* (count + 1): the last one ends the ranges */
  uint32_t *values;
  uint32_t count, value_count;
};

/* Sorts the sequences, which may be released afterwards. A value that comes twice with the same labels is kept once. A
 * tree of zeros may be destroyed. */
enum linnet_status linnet_label_tree_create(struct linnet_label_tree *tree, struct linnet_context *context,
                                            struct linnet_label_sequence *sequences, size_t count);
void linnet_label_tree_destroy(struct linnet_label_tree *tree);

/* The child by a label, 0 if there is none. */
uint32_t linnet_label_tree_child(const struct linnet_label_tree *tree, uint32_t node, int label);

#endif
