/* Fails allocations of the whole process, those of libraries (jansson, libsndfile, libc) too: this header replaces
 * malloc, so one source file of a program may include it. Sanitizers replace malloc themselves; with them, only the
 * context's hook fails (allocators.h).
 *
 * Allocations of soxr, FFTW, jansson and libsndfile never fail here, because these libraries would crash; Linnet
 * checks for the memory before it calls them (base/base.h). */
#ifndef LINNET_FAILING_MALLOC_H
#define LINNET_FAILING_MALLOC_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#if TEST_SANITIZED || !defined(__GLIBC__)
#define MALLOC_REPLACED 0
#else
#define MALLOC_REPLACED 1
#endif

/* Atomic, as any thread allocates. */
static struct {
  bool armed;
  bool everything; /* else only the context's hook */
  size_t calls;    /* since it was armed */
  size_t fail_at;  /* the number, from 0, of the call that fails */
  bool failed;
  size_t live; /* blocks */
} failing_malloc;

static inline void failing_malloc_arm(size_t fail_at, bool everything) {
  failing_malloc.everything = everything;
  failing_malloc.calls = 0;
  failing_malloc.fail_at = fail_at;
  failing_malloc.failed = false;
  __atomic_store_n(&failing_malloc.armed, true, __ATOMIC_SEQ_CST);
}

static inline void failing_malloc_disarm(void) {
  __atomic_store_n(&failing_malloc.armed, false, __ATOMIC_SEQ_CST);
}

/* Whether this allocation is the one that fails. */
static inline bool failing_malloc_turn(void) {
  if (!__atomic_load_n(&failing_malloc.armed, __ATOMIC_SEQ_CST))
    return false;
  if (__atomic_fetch_add(&failing_malloc.calls, 1, __ATOMIC_SEQ_CST) != failing_malloc.fail_at)
    return false;
  failing_malloc.failed = true;
  return true;
}

/* For the hook of a context: shaped like realloc. */
static inline void *failing_hook(void *user, void *pointer, size_t bytes) {
  size_t *live = user; /* blocks */
  if (bytes == 0) {
    __atomic_fetch_sub(live, pointer != NULL, __ATOMIC_SEQ_CST);
    free(pointer);
    return NULL;
  }
  if (!failing_malloc.everything && failing_malloc_turn())
    return NULL;
  void *block = realloc(pointer, bytes);
  __atomic_fetch_add(live, block && !pointer, __ATOMIC_SEQ_CST);
  return block;
}

#if MALLOC_REPLACED
#include <errno.h>
#include <malloc.h>

/* Libraries find these in the program. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *pointer, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *pointer);

/* Whether the code at this address is of a library that does not survive a failure. */
static bool failing_malloc_spares(const void *caller) {
  static const char *const names[] = {"libsoxr", "libfftw3", "libjansson", "libsndfile"};
  static __thread bool inside; /* dladdr might allocate */
  Dl_info info;
  if (inside)
    return true;
  inside = true;
  bool found = dladdr(caller, &info) != 0 && info.dli_fname, spared = false;
  inside = false;
  for (size_t i = 0; found && i < sizeof names / sizeof *names; i++)
    spared = spared || strstr(info.dli_fname, names[i]) != NULL;
  return spared;
}

static bool failing_malloc_fails(const void *caller) {
  if (!__atomic_load_n(&failing_malloc.armed, __ATOMIC_SEQ_CST) || !failing_malloc.everything ||
      failing_malloc_spares(caller) || !failing_malloc_turn())
    return false;
  errno = ENOMEM;
  return true;
}

static void *failing_malloc_count(void *block) {
  if (block)
    __atomic_fetch_add(&failing_malloc.live, 1, __ATOMIC_SEQ_CST);
  return block;
}

__attribute__((visibility("default"))) void *malloc(size_t bytes) {
  return failing_malloc_fails(__builtin_return_address(0)) ? NULL : failing_malloc_count(__libc_malloc(bytes));
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t bytes) {
  return failing_malloc_fails(__builtin_return_address(0)) ? NULL : failing_malloc_count(__libc_calloc(count, bytes));
}

__attribute__((visibility("default"))) void *realloc(void *pointer, size_t bytes) {
  if (failing_malloc_fails(__builtin_return_address(0)))
    return NULL;
  void *block = __libc_realloc(pointer, bytes);
  return pointer ? block : failing_malloc_count(block);
}

/* Counts aligned allocations, because free() releases them, too. */
__attribute__((visibility("default"))) void *memalign(size_t alignment, size_t bytes) {
  return failing_malloc_fails(__builtin_return_address(0)) ? NULL
                                                           : failing_malloc_count(__libc_memalign(alignment, bytes));
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t bytes) {
  return failing_malloc_fails(__builtin_return_address(0)) ? NULL
                                                           : failing_malloc_count(__libc_memalign(alignment, bytes));
}

__attribute__((visibility("default"))) int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (failing_malloc_fails(__builtin_return_address(0)))
    return ENOMEM;
  *block = failing_malloc_count(__libc_memalign(alignment, bytes));
  return *block ? 0 : ENOMEM;
}

__attribute__((visibility("default"))) void free(void *pointer) {
  if (pointer)
    __atomic_fetch_sub(&failing_malloc.live, 1, __ATOMIC_SEQ_CST);
  __libc_free(pointer);
}
#endif

#endif
