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

bool test_cuda_owns(const void *memory, size_t bytes) {
  (void)memory, (void)bytes;
  return true;
}

void test_cuda_hang(bool hang) {
  (void)hang;
}

void test_cuda_alike(bool same) {
  (void)same;
}

size_t test_cuda_stretch(void) {
  return 7;
}

size_t test_cuda_share(void) {
  return 1;
}
