/* The controls and counters of the library that replaces cuDNN in tests (fake_cudnn.c). */
#ifndef LINNET_TEST_FAKE_CUDNN_H
#define LINNET_TEST_FAKE_CUDNN_H

#include <dlfcn.h>
#include <stddef.h>

struct fake_cudnn {
  const char *failing;                               /* calls of this function fail ... */
  unsigned passing;                                  /* ... after this number of calls that do not */
  unsigned calls;                                    /* of any function */
  unsigned forward, backward_data, backward_weights; /* that were done */
  unsigned refused;                                  /* calls with wrong arguments; each prints a message on stderr */
  unsigned math;                                     /* of the last layer described */
  unsigned handles;                                  /* in existence, with descriptors */
};

/* The state of the library that the name of cuDNN finds; NULL: it is another library, or missing. */
static inline struct fake_cudnn *fake_cudnn_find(void) {
  void *library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  return library ? dlsym(library, "fake_cudnn_state") : NULL;
}

#endif
