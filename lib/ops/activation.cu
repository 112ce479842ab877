/* Activation functions with the dropout after them, the gated linear unit, sums of vectors, and conversion of numbers
 * to activations. A thread processes one or four elements at a time, with the formulas of activation.c. */
#include "backend/cuda/dropout_mask.h"
#include "backend/cuda/kernel.h"

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

template <enum linnet_activation F, int V, class T>
static __global__ void __launch_bounds__(THREADS) forward_kernel(dropout_mask mask, size_t n, const T *x, T *y) {
  for_groups<V>(mask, n, [=](size_t e, auto drop) {
    floats<V> v = load<V>(x + e);
    for (int i = 0; i < V; i++)
      v.x[i] = activation_value(F, v.x[i]);
    drop(&v);
    store(y + e, v);
  });
}

/* For ReLU the caller turns dropout off in the mask. Here x is the forward output: dropped elements are 0, where the
 * slope is 0. */
template <enum linnet_activation F, int V, class T>
static __global__ void __launch_bounds__(THREADS)
    backward_kernel(dropout_mask mask, size_t n, const T *x, const T *dy, T *dx) {
  const float scale = mask.scale;
  for_groups<V>(mask, n, [=](size_t e, auto drop) {
    floats<V> v = load<V>(x + e), d = load<V>(dy + e);
    drop(&d);
    for (int i = 0; i < V; i++)
      d.x[i] = (F == LINNET_RELU ? scale * d.x[i] : d.x[i]) * slope<F>(v.x[i]);
    store(dx + e, d);
  });
}

template <enum linnet_activation F, class T>
void forward(struct linnet_device *device, const dropout_mask &mask, size_t n, const T *x, T *y) {
  if (n == 0)
    return;
  if (dropout_by_fours(mask, n, x, y))
    LINNET_LAUNCH(device, (forward_kernel<F, 4, T>), dropout_blocks(n, THREADS), THREADS, 0, mask, n, x, y);
  else
    LINNET_LAUNCH(device, (forward_kernel<F, 1, T>), dropout_blocks(n, THREADS), THREADS, 0, mask, n, x, y);
}

template <enum linnet_activation F, class T>
void backward(struct linnet_device *device, dropout_mask mask, size_t n, const T *x, const T *dy, T *dx) {
  if (F == LINNET_RELU)
    mask.threshold = 0;
  if (n == 0)
    return;
  if (dropout_by_fours(mask, n, x, dy, dx))
    LINNET_LAUNCH(device, (backward_kernel<F, 4, T>), dropout_blocks(n, THREADS), THREADS, 0, mask, n, x, dy, dx);
  else
    LINNET_LAUNCH(device, (backward_kernel<F, 1, T>), dropout_blocks(n, THREADS), THREADS, 0, mask, n, x, dy, dx);
}

template <int V> static __global__ void __launch_bounds__(THREADS) add_kernel(size_t n, const float *x, float *y_add) {
  for (size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) * V; i < n; i += (size_t)gridDim.x * THREADS * V)
    store(y_add + i, sum_of(load<V>(x + i), load<V>(y_add + i)));
}

static __global__ void __launch_bounds__(THREADS)
    average_kernel(size_t n, float weight, const float *x, float *average_add) {
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (size_t)gridDim.x * THREADS)
    average_add[i] += weight * (x[i] - average_add[i]);
}

static __global__ void __launch_bounds__(THREADS) round_kernel(size_t n, float *x) {
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (size_t)gridDim.x * THREADS)
    x[i] = widen(round_to_bfloat16(x[i]));
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

/* Numbers begin ... end - 1 of x from the halves at its beginning. In bytes it reads from 2 * begin on, up to
 * 2 * end, and writes from 4 * begin on. */
static __global__ void __launch_bounds__(THREADS) expand_kernel(size_t begin, size_t end, float *x) {
  const bfloat16 *halves = reinterpret_cast<const bfloat16 *>(x);
  for (size_t i = begin + (size_t)blockIdx.x * THREADS + threadIdx.x; i < end; i += (size_t)gridDim.x * THREADS)
    x[i] = widen(halves[i]);
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

void linnet_cuda_activation_forward(struct linnet_device *device, enum linnet_activation f,
                                    const struct linnet_dropout *d, size_t rows, size_t width, const void *x, void *y) {
  const dropout_mask mask = dropout_mask_of(d, width);
  const size_t n = rows * width;
  for_activations(device, [&](auto as) {
    if (f == LINNET_RELU)
      forward<LINNET_RELU>(device, mask, n, as(x), as(y));
    else if (f == LINNET_GELU)
      forward<LINNET_GELU>(device, mask, n, as(x), as(y));
    else if (f == LINNET_SILU)
      forward<LINNET_SILU>(device, mask, n, as(x), as(y));
    else
      forward<LINNET_IDENTITY>(device, mask, n, as(x), as(y));
  });
}

void linnet_cuda_activation_backward(struct linnet_device *device, enum linnet_activation f,
                                     const struct linnet_dropout *d, size_t rows, size_t width, const void *x,
                                     const void *dy, void *dx) {
  const dropout_mask mask = dropout_mask_of(d, width);
  const size_t n = rows * width;
  for_activations(device, [&](auto as) {
    if (f == LINNET_RELU)
      backward<LINNET_RELU>(device, mask, n, as(x), as(dy), as(dx));
    else if (f == LINNET_GELU)
      backward<LINNET_GELU>(device, mask, n, as(x), as(dy), as(dx));
    else if (f == LINNET_SILU)
      backward<LINNET_SILU>(device, mask, n, as(x), as(dy), as(dx));
    else
      backward<LINNET_IDENTITY>(device, mask, n, as(x), as(dy), as(dx));
  });
}

void linnet_cuda_add(struct linnet_device *device, size_t n, const float *x, float *y_add) {
  if (n == 0)
    return;
  if (by_fours(n, x, y_add))
    LINNET_LAUNCH(device, add_kernel<4>, linnet_blocks(n, 4 * THREADS), THREADS, 0, n, x, y_add);
  else
    LINNET_LAUNCH(device, add_kernel<1>, linnet_blocks(n, THREADS), THREADS, 0, n, x, y_add);
}

void linnet_cuda_average(struct linnet_device *device, size_t n, double weight, const float *x, float *average_add) {
  if (n > 0)
    LINNET_LAUNCH(device, average_kernel, linnet_blocks(n, THREADS), THREADS, 0, n, (float)weight, x, average_add);
}

void linnet_cuda_round_bfloat16(struct linnet_device *device, size_t n, float *x) {
  if (n > 0)
    LINNET_LAUNCH(device, round_kernel, linnet_blocks(n, THREADS), THREADS, 0, n, x);
}

void linnet_cuda_pack_bfloat16(struct linnet_device *device, size_t n, const float *x, uint16_t *halves) {
  convert(device, n, x, reinterpret_cast<bfloat16 *>(halves));
}

/* The upper half of the numbers first: what a launch writes, neither it nor a later one reads. */
void linnet_cuda_expand_bfloat16(struct linnet_device *device, size_t n, float *x) {
  for (size_t end = n, begin; end > 0; end = begin) {
    begin = end > 1 ? (end + 1) / 2 : 0;
    LINNET_LAUNCH(device, expand_kernel, linnet_blocks(end - begin, THREADS), THREADS, 0, begin, end, x);
  }
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
