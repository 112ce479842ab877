/* The controls and counters of the library that replaces NCCL in tests (fake_nccl.c). */
#ifndef LINNET_TEST_FAKE_NCCL_H
#define LINNET_TEST_FAKE_NCCL_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

struct fake_nccl {
  bool (*owns)(const void *memory, size_t bytes); /* whether it is memory of a device */
  const char *failing;                            /* calls of this function fail, or of "any"; NULL: of none ... */
  int rank;         /* ... by the thread of this rank, or by one that has no rank yet ... */
  unsigned passing; /* ... from this number of such calls on */
  unsigned failed;
  unsigned refused;  /* calls with wrong arguments; each prints a message on stderr */
  unsigned messages; /* received */
  size_t bytes;
  unsigned communicators; /* in existence */
};

/* The state of the library that the name of NCCL finds; NULL: it is another library, or missing. */
static inline struct fake_nccl *fake_nccl_find(void) {
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  return library ? dlsym(library, "fake_nccl_state") : NULL;
}

#endif
