/* Functions that the fuzz targets share with their runner: libFuzzer, or driver.c without it. */
#ifndef LINNET_FUZZ_H
#define LINNET_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/context.h>

/* The target: takes any bytes, aborts if something is wrong, returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Mutates data (size) in place to at most `capacity` bytes; returns the new size. The runner provides it. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

/* The same for a target that knows its format; optional, used instead if the target has one. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);

/* Aborts with a reason unless `good`; both runners then save the input. */
static inline void check(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "fuzz: %s\n", what);
  abort();
}

/* --- an allocator with a budget ----------------------------------------------------------------------------------- */

/* An allocator with a budget, for fuzz targets: detects a context that asks for more memory than a file justifies. */

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
