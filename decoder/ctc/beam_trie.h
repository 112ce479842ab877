/* The prefixes of a beam search as a trie: a node is its parent's prefix with one symbol more. */
#ifndef LINNET_BEAM_TRIE_H
#define LINNET_BEAM_TRIE_H

#include "decoder/base/tree_pool.h"

#define LINNET_TRIE_ROOT 0u /* the empty prefix */

struct linnet_trie_node {
  uint32_t parent; /* first, for the pool */
  uint32_t symbol; /* 0 at the root */
  uint32_t depth;  /* symbols of the prefix */
  uint32_t first_child, next_sibling;
  uint32_t entry; /* its place in the beam after frame `stamp`; of a word sequence, its first */
  uint32_t stamp;
};

struct linnet_trie {
  struct linnet_tree_pool pool;
};

static inline struct linnet_trie_node *linnet_trie_at(const struct linnet_trie *trie, uint32_t node) {
  return (struct linnet_trie_node *)(void *)trie->pool.items + node;
}

/* The root alone; there must be room for it. */
void linnet_trie_clear(struct linnet_trie *trie);

/* The child by a symbol, made if there is none, which *fresh tells: then there must be room for it. */
uint32_t linnet_trie_find_or_add(struct linnet_trie *trie, uint32_t node, uint32_t symbol, bool *fresh);

static inline uint32_t linnet_trie_child(struct linnet_trie *trie, uint32_t node, uint32_t symbol) {
  bool fresh;
  return linnet_trie_find_or_add(trie, node, symbol, &fresh);
}

/* Frees all nodes but those marked, and the root. */
void linnet_trie_sweep(struct linnet_trie *trie);

/* The longest prefix that both begin with. */
uint32_t linnet_trie_common(const struct linnet_trie *trie, uint32_t a, uint32_t b);

#endif
