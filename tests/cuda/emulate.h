/* CUDA's execution model on one CPU thread, for tests: sources of kernels compile as C++ against this header and run
 * block after block, each thread of a block on a stack of its own. A thread runs until it waits for its warp or its
 * block; who waits where others have left ends the program. Shared memory is poisoned before each block. The order in
 * which blocks and threads run can be reversed: results that change with it show a missing barrier.
 *
 * Only what the kernels of Linnet use is here. All lanes of a warp take part in its operations, and the block's size is
 * a multiple of 32. */
#ifndef LINNET_TEST_CUDA_EMULATE_H
#define LINNET_TEST_CUDA_EMULATE_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct alignas(16) float4 {
  float x, y, z, w;
};

namespace emulate {
extern dim3 thread_index, block_index, block_size, grid_size;

void launch(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()> &body);
void *shared_memory();
void wait_block();
void wait_warp();
/* The bits that lane `from` of the warp gives. */
std::uint32_t exchange(std::uint32_t bits, unsigned from);
void set_reversed(bool reversed);
} // namespace emulate

#define threadIdx emulate::thread_index
#define blockIdx emulate::block_index
#define blockDim emulate::block_size
#define gridDim emulate::grid_size
#define __syncthreads() emulate::wait_block()
#define __syncwarp() emulate::wait_warp()

template <class T> static inline T __shfl_sync(unsigned, T value, int from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "values of 32 or 64 bits");
  std::uint32_t words[sizeof(T) / 4];
  std::memcpy(words, &value, sizeof value);
  for (auto &word : words)
    word = emulate::exchange(word, (unsigned)from % 32);
  std::memcpy(&value, words, sizeof value);
  return value;
}

template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return __shfl_sync(mask, value, (int)(threadIdx.x % 32) ^ lanes);
}

template <class T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned lanes) {
  unsigned from = threadIdx.x % 32 + lanes;
  return __shfl_sync(mask, value, (int)(from < 32 ? from : threadIdx.x % 32));
}

template <class T> static inline T atomicAdd(T *sum, T value) {
  T before = *sum;
  *sum += value;
  return before;
}

static inline int __float_as_int(float x) {
  int bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float __int_as_float(int bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/* Rounded by themselves: never joined to a fused multiply-add. The test compiles without contraction. */
static inline float __fmul_rn(float a, float b) {
  return a * b;
}
static inline float __fadd_rn(float a, float b) {
  return a + b;
}

static inline int min(int a, int b) {
  return a < b ? a : b;
}
static inline int max(int a, int b) {
  return a > b ? a : b;
}

#define LINNET_LAUNCH(device, kernel, grid, block, shared, ...)                                                        \
  ((void)(device), emulate::launch((grid), (block), (shared), [&] { kernel(__VA_ARGS__); }))
#define LINNET_SHARED(type, name) type *name = static_cast<type *>(emulate::shared_memory())

#endif
