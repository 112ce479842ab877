/* Where tests run on a device, its own scheduler orders threads. */
#include "cuda/mirror.h"

void test_cuda_reverse(bool reversed) {
  (void)reversed;
}

void test_cuda_limit(size_t bytes) {
  (void)bytes;
}
