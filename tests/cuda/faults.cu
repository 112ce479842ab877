/* Faults that the emulated device must find: each argument names a kernel with a fault, which must end the program
 * with a message (CMakeLists.txt has them). Only the engine with threads finds races. */
#include "backend/cuda/kernel.h"

#include <cstdio>
#include <cstdlib>

namespace {

enum { THREADS = 64 };

static __global__ void nothing_kernel(float *) {}

static __global__ void misaligned_kernel(float *x) {
  store(x + 1, load<4>(x));
}

static __global__ void early_return_kernel(float *x) {
  if (threadIdx.x < 32)
    return;
  __syncthreads();
  x[0] = 1;
}

/* Neighbours read what a thread wrote to shared memory, after what is called for: a barrier of the block, of the warp,
 * none. */
template <class Barrier> static __device__ void pass_on(float *x, unsigned neighbour, Barrier barrier) {
  LINNET_SHARED(float, shared);
  shared[threadIdx.x] = (float)threadIdx.x;
  barrier();
  x[blockIdx.x * THREADS + threadIdx.x] = shared[threadIdx.x ^ neighbour];
}

static __global__ void barrier_kernel(float *x) {
  pass_on(x, 32, [] { __syncthreads(); });
}

static __global__ void no_barrier_kernel(float *x) {
  pass_on(x, 32, [] { __syncwarp(); });
}

static __global__ void warp_barrier_kernel(float *x) {
  pass_on(x, 1, [] { __syncwarp(); });
}

static __global__ void no_warp_barrier_kernel(float *x) {
  pass_on(x, 1, [] { warp_sum(1); });
}

static __global__ void same_address_kernel(float *x) {
  x[threadIdx.x] = 1;
}

alignas(16) float numbers[2 * THREADS];

void launch(void (*kernel)(float *), dim3 grid, unsigned threads, size_t shared) {
  LINNET_LAUNCH(nullptr, kernel, grid, threads, shared, numbers);
}

struct fault {
  const char *name;
  void (*kernel)(float *);
  dim3 grid;
  unsigned threads;
  size_t shared;
};

const fault faults[] = {
    {"none", barrier_kernel, 2, THREADS, THREADS * sizeof(float)},
    {"none_in_warp", warp_barrier_kernel, 2, THREADS, THREADS * sizeof(float)},
    {"no_blocks", nothing_kernel, dim3(1, 0), THREADS, 0},
    {"many_blocks", nothing_kernel, dim3(1, 65536), THREADS, 0},
    {"no_threads", nothing_kernel, 1, 0, 0},
    {"many_threads", nothing_kernel, 1, 2048, 0},
    {"shared_memory", nothing_kernel, 1, THREADS, 48 * 1024 + 1},
    {"misaligned", misaligned_kernel, 1, THREADS, 0},
    {"early_return", early_return_kernel, 1, THREADS, 0},
    {"no_barrier", no_barrier_kernel, 1, THREADS, THREADS * sizeof(float)},
    {"no_warp_barrier", no_warp_barrier_kernel, 1, THREADS, THREADS * sizeof(float)},
    {"same_address", same_address_kernel, 2, THREADS, 0},
};

} // namespace

int main(int argc, char **argv) {
  for (const fault &f : faults)
    if (argc == 2 && std::strcmp(argv[1], f.name) == 0) {
      launch(f.kernel, f.grid, f.threads, f.shared);
      std::puts("nothing found");
      return EXIT_SUCCESS;
    }
  std::fputs("usage: cuda_faults NAME\n", stderr);
  return EXIT_FAILURE;
}
