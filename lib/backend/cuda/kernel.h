/* What the sources of kernels share: launches, sums over a warp, rows of vectors. tests/cuda/emulate.h compiles the
 * same sources for the CPU. Floats are never added atomically, and every sum has one order. */
#ifndef LINNET_CUDA_KERNEL_H
#define LINNET_CUDA_KERNEL_H

#ifdef LINNET_CUDA_EMULATE
#include "cuda/emulate.h"
#else
#include <cuda_runtime.h>
#define LINNET_LAUNCH(device, kernel, grid, block, shared, ...)                                                        \
  (kernel<<<(grid), (block), (shared), (cudaStream_t)linnet_cuda_stream(device)>>>(__VA_ARGS__),                       \
   linnet_cuda_launched(device, #kernel))
#define LINNET_SHARED(type, name)                                                                                      \
  extern __shared__ __align__(16) unsigned char linnet_shared_memory[];                                                \
  type *name = reinterpret_cast<type *>(linnet_shared_memory)
#define LINNET_CHECK_FOURS(address) ((void)0) /* for the emulated device; a real one stops by itself */
#endif

#include <float.h>
#include <math.h>
#include <stdint.h>

extern "C" {
#include "backend/cuda/launch.h"
}

#define LINNET_ALL_LANES 0xffffffffu

/* The largest first dimension of a grid that kernels are asked to run in; they walk on from there. */
enum { LINNET_CUDA_BLOCKS = 1 << 20 };

static __host__ __device__ __forceinline__ size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

static inline unsigned linnet_blocks(size_t n, size_t per_block) {
  return (unsigned)smaller((n + per_block - 1) / per_block, LINNET_CUDA_BLOCKS);
}

static __device__ __forceinline__ float warp_sum(float x) {
  for (int lanes = 16; lanes > 0; lanes /= 2)
    x += __shfl_xor_sync(LINNET_ALL_LANES, x, lanes);
  return x;
}

static __device__ __forceinline__ float warp_max(float x) {
  for (int lanes = 16; lanes > 0; lanes /= 2)
    x = fmaxf(x, __shfl_xor_sync(LINNET_ALL_LANES, x, lanes));
  return x;
}

/* V floats side by side: one load or store of 16 bytes for V = 4. */
template <int V> struct floats { float x[V]; };

static __device__ __forceinline__ floats<4> load(const float *p, floats<4> *) {
  LINNET_CHECK_FOURS(p);
  float4 v = *reinterpret_cast<const float4 *>(p);
  floats<4> result = {{v.x, v.y, v.z, v.w}};
  return result;
}

static __device__ __forceinline__ floats<1> load(const float *p, floats<1> *) {
  floats<1> result = {{*p}};
  return result;
}

template <int V> static __device__ __forceinline__ floats<V> load(const float *p) {
  return load(p, static_cast<floats<V> *>(nullptr));
}

static __device__ __forceinline__ void store(float *p, const floats<4> &v) {
  LINNET_CHECK_FOURS(p);
  float4 all;
  all.x = v.x[0], all.y = v.x[1], all.z = v.x[2], all.w = v.x[3];
  *reinterpret_cast<float4 *>(p) = all;
}

static __device__ __forceinline__ void store(float *p, const floats<1> &v) {
  *p = v.x[0];
}

/* Whether rows of `width` floats at all these addresses (NULL: none) can be read by fours. */
static inline bool by_fours(size_t width) {
  return width % 4 == 0;
}

template <class... Rest> static inline bool by_fours(size_t width, const float *p, Rest... rest) {
  return reinterpret_cast<uintptr_t>(p) % 16 == 0 && by_fours(width, rest...);
}

#endif
