/* An allocator with a budget, for fuzz targets: a context that asks for more than a file deserves is told apart. */
#ifndef LINNET_FUZZ_BUDGET_H
#define LINNET_FUZZ_BUDGET_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/context.h>

enum { FRONT = 64 };

struct budget {
  size_t live, limit; /* bytes; limit 0: none */
  bool exceeded;
};

static inline void *budget_reallocate(void *user, void *pointer, size_t bytes) {
  struct budget *budget = user;
  char *raw = pointer ? (char *)pointer - FRONT : NULL;
  size_t before = 0;
  if (raw)
    memcpy(&before, raw, sizeof before);
  budget->live -= before;
  if (bytes == 0) {
    free(raw);
    return NULL;
  }
  if (budget->limit > 0 && (bytes > budget->limit || budget->live > budget->limit - bytes))
    budget->exceeded = true;
  raw = budget->exceeded ? NULL : realloc(raw, bytes + FRONT);
  if (!raw) {
    budget->live += before;
    return NULL;
  }
  memcpy(raw, &bytes, sizeof bytes);
  budget->live += bytes;
  return raw + FRONT;
}

static struct budget budget;

/* NULL on failure. */
static inline struct linnet_context *budget_context(void) {
  struct linnet_context *context = NULL;
  struct linnet_context_settings settings;
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  settings.reallocate = budget_reallocate;
  settings.reallocate_user = &budget;
  return linnet_context_create(&settings, &context) == LINNET_OK ? context : NULL;
}

#endif
