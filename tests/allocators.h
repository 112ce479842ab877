/* Allocators for tests: one that fails at a call of choice, one that counts. */
#ifndef LINNET_TEST_ALLOCATORS_H
#define LINNET_TEST_ALLOCATORS_H

#include "test.h"

/* --- failing ------------------------------------------------------------------------------------------------------ */

/* Failing allocations: a scenario runs with the first, second, third ... allocation failing, until none fails. Each
 * run must report LINNET_ERROR_MEMORY with a sentence and free all memory. */

struct failing_allocator {
  size_t left;  /* allocations that still succeed */
  size_t live;  /* blocks not yet freed */
  size_t calls; /* allocations asked for */
};

static inline void *failing_reallocate(void *user, void *pointer, size_t bytes) {
  struct failing_allocator *allocator = user;
  if (bytes == 0) {
    allocator->live -= pointer != NULL;
    free(pointer);
    return NULL;
  }
  allocator->calls++;
  if (allocator->left == 0)
    return NULL;
  allocator->left--;
  void *block = realloc(pointer, bytes);
  allocator->live += block && !pointer;
  return block;
}

static inline struct linnet_context_settings failing_settings(struct failing_allocator *allocator) {
  struct linnet_context_settings settings;
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  settings.reallocate = failing_reallocate;
  settings.reallocate_user = allocator;
  return settings;
}

/* All allocations succeed until `left` is changed. */
static inline struct linnet_context *failing_context(struct failing_allocator *allocator) {
  *allocator = (struct failing_allocator){.left = SIZE_MAX};
  const struct linnet_context_settings settings = failing_settings(allocator);
  struct linnet_context *context = NULL;
  REQUIRE(linnet_context_create(&settings, &context) == LINNET_OK, "no context");
  return context;
}

typedef enum linnet_status (*failing_scenario)(struct linnet_context *context);

static inline void torture(const char *name, failing_scenario scenario) {
  size_t n = 0;
  for (enum linnet_status status = LINNET_ERROR_MEMORY; status != LINNET_OK && n < 100000; n++) {
    struct failing_allocator allocator;
    struct linnet_context *context = failing_context(&allocator);
    size_t before = allocator.live;
    allocator.left = n;
    status = scenario(context);
    CHECK(allocator.live == before, "%s: %zu blocks left after failure of allocation %zu", name,
          allocator.live - before, n);
    CHECK(status == LINNET_OK || status == LINNET_ERROR_MEMORY, "%s: status %d at allocation %zu", name, (int)status,
          n);
    CHECK(status == LINNET_OK || *linnet_context_error(context), "%s: no sentence at allocation %zu", name, n);
    linnet_context_destroy(context);
    CHECK(allocator.live == 0, "%s: %zu blocks left in all", name, allocator.live);
  }
  CHECK(n > 1, "%s: nothing was allocated", name);
  printf("%s: %zu allocations failed in turn\n", name, n - 1);
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* An allocator that counts the bytes in use and their maximum. It stores the size of each block before the block. */

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
