/* What the sources of kernels share: launches, sums over a warp, rows of vectors. The tests compile the same sources
 * for the CPU: they include tests/cuda/emulate.h before them (the compiler's option -include). No kernel adds floats
 * atomically, and every sum has a fixed order. */
#ifndef LINNET_CUDA_KERNEL_H
#define LINNET_CUDA_KERNEL_H

#ifndef LINNET_CUDA_EMULATE
#include <cuda_runtime.h>
#define LINNET_LAUNCH(device, kernel, grid, block, shared, ...)                                                        \
  (kernel<<<(grid), (block), (shared), (cudaStream_t)linnet_cuda_stream(device)>>>(__VA_ARGS__),                       \
   linnet_cuda_launched(device, #kernel))
#define LINNET_SHARED(type, name)                                                                                      \
  extern __shared__ __align__(16) unsigned char linnet_shared_memory[];                                                \
  type *name = reinterpret_cast<type *>(linnet_shared_memory)
#define LINNET_CHECK_FOURS(address) ((void)0) /* the emulated device checks it; a GPU does so by itself */
#endif

#include <float.h>
#include <math.h>
#include <stdint.h>

extern "C" {
#include "backend/cuda/launch.h"
#include "base/numbers.h"
}

#define LINNET_ALL_LANES 0xffffffffu

/* The maximum of a grid's first dimension. Kernels with more work loop in steps of the grid. */
enum { LINNET_CUDA_BLOCKS = 1 << 20 };

static inline unsigned linnet_blocks(size_t n, size_t per_block) {
  return (unsigned)linnet_min_size(linnet_divide_up(n, per_block), LINNET_CUDA_BLOCKS);
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

/* Activations are float or bfloat16; arithmetic is in float32. A bfloat16 is the upper half of a float. */
struct bfloat16 {
  uint16_t bits;
};

static __device__ __forceinline__ float widen(float x) {
  return x;
}

static __device__ __forceinline__ float widen(bfloat16 x) {
  return __int_as_float((int)((uint32_t)x.bits << 16));
}

static __device__ __forceinline__ bfloat16 round_to_bfloat16(float x) {
  bfloat16 y;
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#else
  y.bits = linnet_bfloat16_bits(x);
#endif
  return y;
}

static __device__ __forceinline__ void write(float *p, float x) {
  *p = x;
}

static __device__ __forceinline__ void write(bfloat16 *p, float x) {
  *p = round_to_bfloat16(x);
}

/* Casts pointers to the type of activations. */
template <class T> struct activations {
  typedef T activation;
  const T *operator()(const void *p) const { return static_cast<const T *>(p); }
  T *operator()(void *p) const { return static_cast<T *>(p); }
};

/* Calls f with the activations<T> of the device. */
template <class F> static inline void for_activations(const struct linnet_device *device, F f) {
  if (device->activation_bytes == sizeof(float))
    f(activations<float>());
  else
    f(activations<bfloat16>());
}

/* V consecutive numbers: one load or store if V = 4. */
template <int V> struct floats { float x[V]; };

static __device__ __forceinline__ floats<4> load(const float *p, floats<4> *) {
  LINNET_CHECK_FOURS(p);
  float4 v = *reinterpret_cast<const float4 *>(p);
  floats<4> result = {{v.x, v.y, v.z, v.w}};
  return result;
}

struct __align__(8) bfloat16_4 {
  bfloat16 x[4];
};

static __device__ __forceinline__ floats<4> load(const bfloat16 *p, floats<4> *) {
  LINNET_CHECK_FOURS(p);
  const bfloat16_4 v = *reinterpret_cast<const bfloat16_4 *>(p);
  floats<4> result = {{widen(v.x[0]), widen(v.x[1]), widen(v.x[2]), widen(v.x[3])}};
  return result;
}

template <class T> static __device__ __forceinline__ floats<1> load(const T *p, floats<1> *) {
  floats<1> result = {{widen(*p)}};
  return result;
}

template <int V, class T> static __device__ __forceinline__ floats<V> load(const T *p) {
  return load(p, static_cast<floats<V> *>(nullptr));
}

static __device__ __forceinline__ void store(float *p, const floats<4> &v) {
  LINNET_CHECK_FOURS(p);
  float4 all;
  all.x = v.x[0], all.y = v.x[1], all.z = v.x[2], all.w = v.x[3];
  *reinterpret_cast<float4 *>(p) = all;
}

static __device__ __forceinline__ void store(bfloat16 *p, const floats<4> &v) {
  LINNET_CHECK_FOURS(p);
  bfloat16_4 all;
  for (int i = 0; i < 4; i++)
    all.x[i] = round_to_bfloat16(v.x[i]);
  *reinterpret_cast<bfloat16_4 *>(p) = all;
}

template <class T> static __device__ __forceinline__ void store(T *p, const floats<1> &v) {
  write(p, v.x[0]);
}

template <int V> static __device__ __forceinline__ floats<V> sum_of(floats<V> a, const floats<V> &b) {
  for (int i = 0; i < V; i++)
    a.x[i] += b.x[i];
  return a;
}

/* Returns whether rows of `width` numbers at all these addresses can be read four numbers at a time. An address may be
 * NULL. */
static inline bool by_fours(size_t width) {
  return width % 4 == 0;
}

template <class T, class... Rest> static inline bool by_fours(size_t width, const T *p, Rest... rest) {
  return reinterpret_cast<uintptr_t>(p) % (4 * sizeof(T)) == 0 && by_fours(width, rest...);
}

/* --- activation functions ----------------------------------------------------------------------------------------- */

/* With the formulas of ops/activation.c. */

static __device__ __forceinline__ float logistic(float x) {
  return 1 / (1 + expf(-x));
}

static __device__ __forceinline__ float activation_value(enum linnet_activation f, float x) {
  if (f == LINNET_RELU)
    return x <= 0 ? 0 : x;
  if (f == LINNET_GELU)
    return x * (1 + erff(x * 0.70710678118654752440f)) / 2;
  if (f == LINNET_SILU)
    return x * logistic(x);
  return x;
}

#endif
