/* Activation functions, gated linear unit, sums of vectors, and numbers as activations: one element a time or four,
 * formulas as in activation.c. */
#include "backend/cuda/activation_value.h"

namespace {

enum { THREADS = 256 };

template <enum linnet_activation F> static __device__ __forceinline__ float slope(float x) {
  if (F == LINNET_RELU)
    return x > 0 ? 1 : 0;
  if (F == LINNET_GELU)
    return (1 + erff(x * 0.70710678118654752440f)) / 2 + x * 0.39894228040143267794f * expf(-x * x / 2);
  if (F == LINNET_SILU)
    return logistic(x) * (1 + x * (1 - logistic(x)));
  return 1;
}

/* y = f(x, z) for n elements, as functors so that each pair of function and width is one kernel. */
template <enum linnet_activation F> struct forward_of {
  __device__ float operator()(float x, float) const { return activation_value(F, x); }
};

template <enum linnet_activation F> struct backward_of {
  float scale;
  __device__ float operator()(float x, float dy) const { return scale * dy * slope<F>(x); }
};

struct sum_of {
  __device__ float operator()(float x, float y) const { return x + y; }
};

template <int V, class T, class F>
static __global__ void __launch_bounds__(THREADS) map_kernel(size_t n, const T *x, const T *z, T *y, F f) {
  for (size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) * V; i < n; i += (size_t)gridDim.x * THREADS * V) {
    floats<V> a = load<V>(x + i), b = load<V>(z + i);
    for (int j = 0; j < V; j++)
      a.x[j] = f(a.x[j], b.x[j]);
    store(y + i, a);
  }
}

template <class T, class F> void map(struct linnet_device *device, size_t n, const T *x, const T *z, T *y, F f) {
  if (n == 0)
    return;
  if (by_fours(n, x, z, y))
    LINNET_LAUNCH(device, (map_kernel<4, T, F>), linnet_blocks(n, 4 * THREADS), THREADS, 0, n, x, z, y, f);
  else
    LINNET_LAUNCH(device, (map_kernel<1, T, F>), linnet_blocks(n, THREADS), THREADS, 0, n, x, z, y, f);
}

template <int V, class T>
static __global__ void __launch_bounds__(THREADS) convert_kernel(size_t n, const float *x, T *y) {
  for (size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) * V; i < n; i += (size_t)gridDim.x * THREADS * V)
    store(y + i, load<V>(x + i));
}

template <class T> void convert(struct linnet_device *device, size_t n, const float *x, T *y) {
  if (n == 0)
    return;
  if (by_fours(n, x, y))
    LINNET_LAUNCH(device, (convert_kernel<4, T>), linnet_blocks(n, 4 * THREADS), THREADS, 0, n, x, y);
  else
    LINNET_LAUNCH(device, (convert_kernel<1, T>), linnet_blocks(n, THREADS), THREADS, 0, n, x, y);
}

/* --- gated linear unit: x (rows, 2 * width) ----------------------------------------------------------------------- */

template <int V, class T>
static __global__ void __launch_bounds__(THREADS) glu_kernel(size_t rows, size_t width, const T *x, T *y) {
  for (size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) * V; i < rows * width;
       i += (size_t)gridDim.x * THREADS * V) {
    const T *row = x + i / width * 2 * width + i % width;
    floats<V> a = load<V>(row), gate = load<V>(row + width);
    for (int j = 0; j < V; j++)
      a.x[j] *= logistic(gate.x[j]);
    store(y + i, a);
  }
}

template <int V, class T>
static __global__ void __launch_bounds__(THREADS)
    glu_backward_kernel(size_t rows, size_t width, const T *x, const T *dy, T *dx) {
  for (size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) * V; i < rows * width;
       i += (size_t)gridDim.x * THREADS * V) {
    const size_t at = i / width * 2 * width + i % width;
    floats<V> a = load<V>(x + at), gate = load<V>(x + at + width), d = load<V>(dy + i);
    for (int j = 0; j < V; j++) {
      const float s = logistic(gate.x[j]);
      gate.x[j] = d.x[j] * a.x[j] * s * (1 - s);
      a.x[j] = d.x[j] * s;
    }
    store(dx + at, a);
    store(dx + at + width, gate);
  }
}

template <class T> void glu(struct linnet_device *device, size_t rows, size_t width, const T *x, T *y) {
  if (rows * width == 0)
    return;
  if (by_fours(width, x, y))
    LINNET_LAUNCH(device, (glu_kernel<4, T>), linnet_blocks(rows * width, 4 * THREADS), THREADS, 0, rows, width, x, y);
  else
    LINNET_LAUNCH(device, (glu_kernel<1, T>), linnet_blocks(rows * width, THREADS), THREADS, 0, rows, width, x, y);
}

template <class T>
void glu_backward(struct linnet_device *device, size_t rows, size_t width, const T *x, const T *dy, T *dx) {
  if (rows * width == 0)
    return;
  if (by_fours(width, x, dy, dx))
    LINNET_LAUNCH(device, (glu_backward_kernel<4, T>), linnet_blocks(rows * width, 4 * THREADS), THREADS, 0, rows,
                  width, x, dy, dx);
  else
    LINNET_LAUNCH(device, (glu_backward_kernel<1, T>), linnet_blocks(rows * width, THREADS), THREADS, 0, rows, width, x,
                  dy, dx);
}

} // namespace

void linnet_cuda_activation_forward(struct linnet_device *device, enum linnet_activation f, size_t n, const void *x,
                                    void *y) {
  for_activations(device, [&](auto as) {
    if (f == LINNET_RELU)
      map(device, n, as(x), as(x), as(y), forward_of<LINNET_RELU>());
    else if (f == LINNET_GELU)
      map(device, n, as(x), as(x), as(y), forward_of<LINNET_GELU>());
    else if (f == LINNET_SILU)
      map(device, n, as(x), as(x), as(y), forward_of<LINNET_SILU>());
    else
      map(device, n, as(x), as(x), as(y), forward_of<LINNET_IDENTITY>());
  });
}

void linnet_cuda_activation_backward(struct linnet_device *device, enum linnet_activation f, size_t n, float scale,
                                     const void *x, const void *dy, void *dx) {
  for_activations(device, [&](auto as) {
    if (f == LINNET_RELU)
      map(device, n, as(x), as(dy), as(dx), backward_of<LINNET_RELU>{scale});
    else if (f == LINNET_GELU)
      map(device, n, as(x), as(dy), as(dx), backward_of<LINNET_GELU>{scale});
    else if (f == LINNET_SILU)
      map(device, n, as(x), as(dy), as(dx), backward_of<LINNET_SILU>{scale});
    else
      map(device, n, as(x), as(dy), as(dx), backward_of<LINNET_IDENTITY>{scale});
  });
}

void linnet_cuda_add(struct linnet_device *device, size_t n, const float *x, float *y_add) {
  map(device, n, x, static_cast<const float *>(y_add), y_add, sum_of());
}

void linnet_cuda_activations_of(struct linnet_device *device, size_t n, const float *x, void *y) {
  for_activations(device, [&](auto as) { convert(device, n, x, as(y)); });
}

void linnet_cuda_glu_forward(struct linnet_device *device, size_t rows, size_t width, const void *x, void *y) {
  for_activations(device, [&](auto as) { glu(device, rows, width, as(x), as(y)); });
}

void linnet_cuda_glu_backward(struct linnet_device *device, size_t rows, size_t width, const void *x, const void *dy,
                              void *dx) {
  for_activations(device, [&](auto as) { glu_backward(device, rows, width, as(x), as(dy), as(dx)); });
}
