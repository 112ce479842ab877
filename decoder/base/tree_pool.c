/* The mark and sweep of a pool of items that point to parents. */
#include "decoder/base/tree_pool.h"

#include <assert.h>
#include <string.h>

void linnet_tree_pool_create(struct linnet_tree_pool *pool, struct linnet_context *context, size_t bytes) {
  *pool = (struct linnet_tree_pool){.context = context, .bytes = bytes, .first_free = LINNET_TREE_NONE};
}

void linnet_tree_pool_destroy(struct linnet_tree_pool *pool) {
  linnet_free(pool->context, pool->items);
  linnet_free(pool->context, pool->marked);
}

void linnet_tree_pool_clear(struct linnet_tree_pool *pool) {
  pool->used = pool->free = 0;
  pool->first_free = LINNET_TREE_NONE;
}

bool linnet_tree_pool_grow(struct linnet_tree_pool *pool, size_t items) {
  size_t capacity = pool->capacity, marks = pool->capacity;
  if (items > LINNET_TREE_NONE)
    return false;
  unsigned char *marked = linnet_grow(pool->context, pool->marked, &marks, items, 1);
  if (!marked)
    return false;
  pool->marked = marked;
  memset(marked + pool->capacity, 0, marks - pool->capacity);
  unsigned char *grown = linnet_grow(pool->context, pool->items, &capacity, items, pool->bytes);
  if (!grown)
    return false;
  pool->items = grown;
  pool->capacity = capacity < marks ? capacity : marks;
  return true;
}

static uint32_t *parent_of(const struct linnet_tree_pool *pool, uint32_t item) {
  return linnet_tree_pool_at(pool, item);
}

uint32_t linnet_tree_pool_take(struct linnet_tree_pool *pool) {
  assert(linnet_tree_pool_left(pool) > 0);
  if (pool->free == 0)
    return (uint32_t)pool->used++;
  uint32_t item = pool->first_free;
  pool->first_free = *parent_of(pool, item);
  pool->free--;
  return item;
}

void linnet_tree_pool_mark(struct linnet_tree_pool *pool, uint32_t item) {
  for (; item != LINNET_TREE_NONE && !pool->marked[item]; item = *parent_of(pool, item))
    pool->marked[item] = 1;
}

void linnet_tree_pool_sweep(struct linnet_tree_pool *pool) {
  pool->free = 0;
  pool->first_free = LINNET_TREE_NONE;
  for (uint32_t item = (uint32_t)pool->used; item-- > 0;)
    if (!pool->marked[item]) {
      *parent_of(pool, item) = pool->first_free;
      pool->first_free = item;
      pool->free++;
    }
}

void linnet_tree_pool_unmark(struct linnet_tree_pool *pool) {
  if (pool->used > 0)
    memset(pool->marked, 0, pool->used);
}
