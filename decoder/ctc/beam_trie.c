/* Adds, finds and removes the prefixes of a beam search. */
#include "decoder/ctc/beam_trie.h"

static uint32_t add_node(struct linnet_trie *trie, uint32_t parent, uint32_t symbol, uint32_t depth) {
  uint32_t node = linnet_tree_pool_take(&trie->pool);
  *linnet_trie_at(trie, node) = (struct linnet_trie_node){.parent = parent,
                                                          .symbol = symbol,
                                                          .depth = depth,
                                                          .first_child = LINNET_TREE_NONE,
                                                          .next_sibling = LINNET_TREE_NONE};
  return node;
}

static void link_to_parent(struct linnet_trie *trie, uint32_t node) {
  struct linnet_trie_node *child = linnet_trie_at(trie, node), *parent = linnet_trie_at(trie, child->parent);
  child->next_sibling = parent->first_child;
  parent->first_child = node;
}

void linnet_trie_clear(struct linnet_trie *trie) {
  linnet_tree_pool_clear(&trie->pool);
  add_node(trie, LINNET_TREE_NONE, 0, 0);
}

uint32_t linnet_trie_find_or_add(struct linnet_trie *trie, uint32_t node, uint32_t symbol, bool *fresh) {
  uint32_t child = linnet_trie_at(trie, node)->first_child;
  while (child != LINNET_TREE_NONE && linnet_trie_at(trie, child)->symbol != symbol)
    child = linnet_trie_at(trie, child)->next_sibling;
  *fresh = child == LINNET_TREE_NONE;
  if (!*fresh)
    return child;
  child = add_node(trie, node, symbol, linnet_trie_at(trie, node)->depth + 1);
  link_to_parent(trie, child);
  return child;
}

void linnet_trie_sweep(struct linnet_trie *trie) {
  struct linnet_tree_pool *pool = &trie->pool;
  linnet_tree_pool_mark(pool, LINNET_TRIE_ROOT);
  linnet_tree_pool_sweep(pool);
  for (uint32_t node = 0; node < pool->used; node++)
    linnet_trie_at(trie, node)->first_child = LINNET_TREE_NONE;
  for (uint32_t node = 1; node < pool->used; node++)
    if (pool->marked[node])
      link_to_parent(trie, node);
  linnet_tree_pool_unmark(pool);
}

uint32_t linnet_trie_common(const struct linnet_trie *trie, uint32_t a, uint32_t b) {
  while (a != b) {
    const struct linnet_trie_node *x = linnet_trie_at(trie, a), *y = linnet_trie_at(trie, b);
    if (x->depth >= y->depth)
      a = x->parent;
    if (y->depth >= x->depth)
      b = y->parent;
  }
  return a;
}
