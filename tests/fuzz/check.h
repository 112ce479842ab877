/* What must hold whatever the bytes. */
#ifndef LINNET_FUZZ_CHECK_H
#define LINNET_FUZZ_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline void check(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "fuzz: %s\n", what);
  abort();
}

#endif
