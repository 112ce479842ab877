/* A pool of items that each point to a parent in the same pool, such as the prefixes of a trie. Items that are no
 * longer needed are found by mark and sweep, and used again. Indices stay valid; addresses are valid until the pool
 * grows. */
#ifndef LINNET_TREE_POOL_H
#define LINNET_TREE_POOL_H

#include "base/base.h"

#define LINNET_TREE_NONE UINT32_MAX

struct linnet_tree_pool {
  struct linnet_context *context;
  size_t bytes;          /* of an item, whose first member is a uint32_t: the index of its parent, or NONE */
  unsigned char *items;  /* (capacity) of `bytes` */
  unsigned char *marked; /* (capacity) */
  size_t capacity, used; /* items from `used` on were never taken */
  size_t free;           /* items below `used` that wait in the list */
  uint32_t first_free;   /* the list is linked by the parent's index */
};

void linnet_tree_pool_create(struct linnet_tree_pool *pool, struct linnet_context *context, size_t bytes);
void linnet_tree_pool_destroy(struct linnet_tree_pool *pool);
void linnet_tree_pool_clear(struct linnet_tree_pool *pool); /* keeps the memory */

/* The number of items that can be taken before the pool has to grow. */
static inline size_t linnet_tree_pool_left(const struct linnet_tree_pool *pool) {
  return pool->capacity - pool->used + pool->free;
}

/* Makes the capacity at least `items`; false without memory, and then nothing has changed. */
bool linnet_tree_pool_grow(struct linnet_tree_pool *pool, size_t items);

/* Takes an item; one must be available. Its contents are undefined. */
uint32_t linnet_tree_pool_take(struct linnet_tree_pool *pool);

/* Marks an item and all its ancestors; NONE is allowed. */
void linnet_tree_pool_mark(struct linnet_tree_pool *pool, uint32_t item);

/* Frees all items that are not marked. The marks stay until linnet_tree_pool_unmark, so that the owner can read
 * them. */
void linnet_tree_pool_sweep(struct linnet_tree_pool *pool);
void linnet_tree_pool_unmark(struct linnet_tree_pool *pool);

static inline void *linnet_tree_pool_at(const struct linnet_tree_pool *pool, uint32_t item) {
  return pool->items + (size_t)item * pool->bytes;
}

/* Bytes of memory that the pool holds. */
static inline size_t linnet_tree_pool_memory(const struct linnet_tree_pool *pool) {
  return pool->capacity * (pool->bytes + 1);
}

#endif
