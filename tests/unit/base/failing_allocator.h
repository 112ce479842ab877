/* Torture by allocation: a scenario is run with the first, second, third ... allocation failing until none fails. Each
 * run must report LINNET_ERROR_MEMORY with a sentence and leave nothing behind. */
#ifndef LINNET_FAILING_ALLOCATOR_H
#define LINNET_FAILING_ALLOCATOR_H

#include "test.h"

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

#endif
