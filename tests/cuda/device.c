/* On a device, its scheduler orders the threads. */
#include "test_device.h"

void test_cuda_reverse(bool reversed) {
  (void)reversed;
}

void test_cuda_limit(size_t bytes) {
  (void)bytes;
}

void test_cuda_cudnn(bool sought) {
  (void)sought;
}

size_t test_cuda_stretch(void) {
  return 7;
}

size_t test_cuda_share(void) {
  return 1;
}
