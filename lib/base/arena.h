/* An arena: the memory of one step. The same code runs twice: first to compute the size, then to assign addresses.
 *
 *   base                        used                      size
 *   | a | b |  c     | d |  ... |  free                   |      every piece starts at a multiple of 64 bytes
 *
 * If base is NULL, it returns no memory; `used` still counts the bytes. */
#ifndef LINNET_ARENA_H
#define LINNET_ARENA_H

#include <assert.h>

#include "base/base.h"

struct linnet_arena {
  unsigned char *base;
  size_t size, used; /* bytes; used is SIZE_MAX once a size overflowed */
};

static inline void *linnet_arena_take(struct linnet_arena *arena, size_t count, size_t bytes) {
  size_t piece, start = arena->used;
  if (!linnet_mul_size(count, bytes, &piece) || !linnet_add_size(piece, 63, &piece) ||
      !linnet_add_size(start, piece & ~(size_t)63, &arena->used)) {
    arena->used = SIZE_MAX;
    return NULL;
  }
  if (!arena->base)
    return NULL;
  assert(arena->used <= arena->size);
  return arena->base + start;
}

#endif
