/* An allocator that knows how much is in use, and was at most. Each block is preceded by its size. */
#ifndef LINNET_COUNTING_ALLOCATOR_H
#define LINNET_COUNTING_ALLOCATOR_H

#include "test.h"

struct usage {
  size_t bytes, peak;
};

static inline void *counting_reallocate(void *user, void *pointer, size_t bytes) {
  struct usage *usage = user;
  size_t *block = pointer ? (size_t *)pointer - 2 : NULL;
  usage->bytes -= block ? *block : 0;
  if (bytes == 0) {
    free(block);
    return NULL;
  }
  block = realloc(block, bytes + 2 * sizeof *block);
  REQUIRE(block, "out of memory");
  *block = bytes;
  usage->bytes += bytes;
  usage->peak = usage->bytes > usage->peak ? usage->bytes : usage->peak;
  return block + 2;
}

static inline struct linnet_context *counting_context(struct usage *usage) {
  struct linnet_context_settings settings;
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  settings.reallocate = counting_reallocate;
  settings.reallocate_user = usage;
  *usage = (struct usage){0};
  struct linnet_context *counted = NULL;
  REQUIRE(linnet_context_create(&settings, &counted) == LINNET_OK, "no context");
  return counted;
}

#endif
