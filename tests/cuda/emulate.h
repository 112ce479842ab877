/* CUDA's execution model on a CPU, for tests: sources of kernels compile as C++ against this header. Two engines run
 * them: emulate_fibers.cu block after block on one thread, with every order of threads repeatable, and
 * emulate_threads.cu with a thread of the system for each thread of a block, for the thread sanitizer. The program ends
 * if a device would refuse a call, and if threads wait for others that have returned. Shared memory is poisoned before
 * each block.
 *
 * It has only the parts that the kernels of Linnet use. All lanes of a warp take part in its operations, and the
 * block's size is a multiple of 32. */
#ifndef LINNET_TEST_CUDA_EMULATE_H
#define LINNET_TEST_CUDA_EMULATE_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct alignas(16) float4 {
  float x, y, z, w;
};

namespace emulate {
/* Of the smallest device, sm_75, and of a kernel that has not asked for more shared memory (cudaFuncSetAttribute). */
enum { MAX_THREADS = 1024, MAX_SHARED = 48 * 1024, MAX_PARAMETERS = 4096, MAX_BLOCKS_YZ = 65535 };

extern __thread dim3 thread_index, block_index, block_size, grid_size;

void launch(const char *kernel, dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()> &body);
[[noreturn]] void fail(const char *what);
void check_aligned(const void *address, std::size_t bytes);

static inline dim3 block_at(dim3 grid, std::size_t i) {
  return dim3((unsigned)(i % grid.x), (unsigned)(i / grid.x % grid.y), (unsigned)(i / grid.x / grid.y));
}

/* The functions of an engine. `run` gets only launches that a device would accept. */
void run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()> &body);
void *shared_memory();
void wait_block();
void wait_warp();
/* A lane gives words (at most MAX_WORDS) to its warp, then reads the words of lane `from`. This does not order any
 * other memory access. */
enum { MAX_WORDS = 6 };
void give(const std::uint32_t *words, unsigned count);
void take(unsigned from, std::uint32_t *words, unsigned count);
std::uint32_t atomic_add(std::uint32_t *sum, std::uint32_t value);

/* mma.sync.m16n8k8 of tf32 (packed 1) and m16n8k16 of bfloat16 (packed 2): a lane's share of the product. */
void mma(unsigned packed, float *upper, float *lower, const std::uint32_t *a, const std::uint32_t *b);

/* As a kernel's parameters lie in memory, or larger. */
template <class... P> std::tuple<P...> parameters(const P &...);
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
  emulate::give(words, sizeof(T) / 4);
  emulate::take((unsigned)from % 32, words, sizeof(T) / 4);
  std::memcpy(&value, words, sizeof value);
  return value;
}

template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return __shfl_sync(mask, value, (int)(threadIdx.x % 32) ^ lanes);
}

static inline unsigned atomicAdd(unsigned *sum, unsigned value) {
  return emulate::atomic_add(sum, value);
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
  ((void)(device), emulate::launch(#kernel, (grid), (block), (shared), [&] {                                           \
     static_assert(sizeof(emulate::parameters(__VA_ARGS__)) <= emulate::MAX_PARAMETERS, "too many parameters");        \
     kernel(__VA_ARGS__);                                                                                              \
   }))
#define LINNET_SHARED(type, name) type *name = static_cast<type *>(emulate::shared_memory())
#define LINNET_CHECK_FOURS(address) emulate::check_aligned(address, 4 * sizeof *(address))

#endif
