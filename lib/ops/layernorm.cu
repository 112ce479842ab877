/* Layer normalisation, with one warp per row. A row is read three times, but only once from memory: then it is in the
 * L1 cache. Gradients of gain and bias are summed per warp in shared memory, then per block, then over blocks (column
 * sums). */
#include "backend/cuda/kernel.h"

#include "backend/cuda/dropout_mask.h"

extern "C" {
#include "ops/layernorm.h"
}

namespace {

enum { WARPS = 8, THREADS = 32 * WARPS };

static __device__ __forceinline__ size_t warp_in_grid() {
  return (size_t)blockIdx.x * WARPS + threadIdx.x / 32;
}

template <class T> struct norm_terms {
  size_t rows, width;
  const T *x;
  const float *gain, *bias;
  T *y;
  float *mean, *rstd; /* may be NULL */
};

/* The sum over a row of f(x). */
template <int V, class T, class F> static __device__ float row_sum(size_t width, const T *x, F f) {
  float sum = 0;
  for (size_t c = threadIdx.x % 32 * V; c < width; c += 32 * V) {
    floats<V> v = load<V>(x + c);
    for (int i = 0; i < V; i++)
      sum += f(v.x[i]);
  }
  return warp_sum(sum);
}

template <int V, class T> static __device__ void normalise_row(const norm_terms<T> &n, size_t t, const T *x) {
  const size_t width = n.width;
  const float mean = row_sum<V>(width, x, [](float v) { return v; }) / (float)width;
  const float variance = row_sum<V>(width, x, [mean](float v) { return (v - mean) * (v - mean); }) / (float)width;
  const float rstd = 1 / sqrtf(variance + (float)LINNET_LAYERNORM_EPSILON);
  for (size_t c = threadIdx.x % 32 * V; c < width; c += 32 * V) {
    floats<V> v = load<V>(x + c), gain = load<V>(n.gain + c), bias = load<V>(n.bias + c);
    for (int i = 0; i < V; i++)
      v.x[i] = (v.x[i] - mean) * rstd * gain.x[i] + bias.x[i];
    store(n.y + t * width + c, v);
  }
  if (threadIdx.x % 32 == 0) {
    if (n.mean)
      n.mean[t] = mean;
    if (n.rstd)
      n.rstd[t] = rstd;
  }
}

template <int V, class T> static __global__ void __launch_bounds__(THREADS) forward_kernel(norm_terms<T> n) {
  for (size_t t = warp_in_grid(); t < n.rows; t += (size_t)gridDim.x * WARPS)
    normalise_row<V>(n, t, n.x + t * n.width);
}

/* First writes n.x, the sum of residual and dropout(x). Each lane reads back only what it wrote itself. */
template <int V, class T>
static __global__ void __launch_bounds__(THREADS)
    dropout_kernel(norm_terms<T> n, dropout_mask mask, const T *x, const T *residual, T *sum) {
  for (size_t t = warp_in_grid(); t < n.rows; t += (size_t)gridDim.x * WARPS) {
    for (size_t c = threadIdx.x % 32 * V; c < n.width; c += 32 * V) {
      const size_t e = t * n.width + c;
      floats<V> v = load<V>(x + e);
      masked(mask, e, &v);
      if (residual)
        v = sum_of(v, load<V>(residual + e));
      store(sum + e, v);
    }
    normalise_row<V>(n, t, n.x + t * n.width);
  }
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

template <class T> struct norm_backward {
  size_t rows, width, stretch; /* stretch: rows per block */
  const T *x;
  const float *gain, *mean, *rstd;
  const T *dy, *residual; /* residual may be NULL */
  T *dx;
  T *dropped; /* dropout(dx), or NULL */
  dropout_mask mask;
  float *partial; /* (blocks, 2, width): sums for gain, then bias */
};

/* Adds the row to `sums` (2, width); a lane owns some of the columns. */
template <int V, class T> static __device__ void backward_row(const norm_backward<T> &n, size_t t, float *sums) {
  const size_t width = n.width;
  const T *x = n.x + t * width, *dy = n.dy + t * width;
  const float mean = n.mean[t], rstd = n.rstd[t];
  float sum = 0, projected = 0;
  for (size_t c = threadIdx.x % 32 * V; c < width; c += 32 * V) {
    floats<V> v = load<V>(x + c), d = load<V>(dy + c), gain = load<V>(n.gain + c);
    floats<V> dgain = load<V>(sums + c), dbias = load<V>(sums + width + c);
    for (int i = 0; i < V; i++) {
      float normal = (v.x[i] - mean) * rstd;
      sum += d.x[i] * gain.x[i];
      projected += d.x[i] * gain.x[i] * normal;
      dgain.x[i] += d.x[i] * normal;
      dbias.x[i] += d.x[i];
    }
    store(sums + c, dgain), store(sums + width + c, dbias);
  }
  sum = warp_sum(sum), projected = warp_sum(projected);
  for (size_t c = threadIdx.x % 32 * V; c < width; c += 32 * V) {
    const size_t e = t * width + c;
    floats<V> v = load<V>(x + c), d = load<V>(dy + c), gain = load<V>(n.gain + c), r = {};
    if (n.residual)
      r = load<V>(n.residual + e);
    for (int i = 0; i < V; i++) {
      float normal = (v.x[i] - mean) * rstd;
      d.x[i] = r.x[i] + rstd * (d.x[i] * gain.x[i] - (sum + normal * projected) / (float)width);
    }
    store(n.dx + e, d);
    if (n.dropped) {
      masked(n.mask, e, &d);
      store(n.dropped + e, d);
    }
  }
}

/* Shared memory: (warps, 2, width). If WIDE, there is one warp, which sums in its block's part of `partial`. */
template <int V, bool WIDE, class T>
static __global__ void __launch_bounds__(THREADS) backward_kernel(norm_backward<T> n) {
  LINNET_SHARED(float, shared);
  const size_t columns = 2 * n.width, warps = blockDim.x / 32, warp = threadIdx.x / 32;
  float *sums = WIDE ? n.partial + blockIdx.x * columns : shared;
  for (size_t i = threadIdx.x; i < warps * columns; i += blockDim.x)
    sums[i] = 0;
  __syncthreads();
  const size_t first = blockIdx.x * n.stretch, end = linnet_min_size(first + n.stretch, n.rows);
  for (size_t t = first + warp; t < end; t += warps)
    backward_row<V>(n, t, sums + warp * columns);
  if (WIDE)
    return;
  __syncthreads();
  for (size_t c = threadIdx.x; c < columns; c += blockDim.x) {
    float sum = 0;
    for (size_t w = 0; w < warps; w++)
      sum += sums[w * columns + c];
    n.partial[blockIdx.x * columns + c] = sum;
  }
}

/* Uses as many warps as have space for their sums in 48 KiB. If not even one has, runs one warp with sums in global
 * memory. */
template <int V, class T> void launch_backward(struct linnet_device *device, size_t blocks, const norm_backward<T> &n) {
  const size_t row = 2 * n.width * sizeof(float), warps = linnet_min_size(48 * 1024 / row, WARPS);
  if (warps > 0)
    LINNET_LAUNCH(device, (backward_kernel<V, false, T>), (unsigned)blocks, 32 * (unsigned)warps, warps * row, n);
  else
    LINNET_LAUNCH(device, (backward_kernel<V, true, T>), (unsigned)blocks, 32, 0, n);
}

/* `fours`: the arrays that only some callers pass are aligned, too. */
template <class T>
void run_backward(struct linnet_device *device, norm_backward<T> n, bool fours, float *dgain_add, float *dbias_add) {
  if (n.rows == 0 || n.width == 0)
    return;
  n.stretch = linnet_cuda_stretch(n.rows, 2 * n.width);
  const size_t blocks = linnet_divide_up(n.rows, n.stretch);
  n.partial = static_cast<float *>(linnet_cuda_scratch(device, blocks * 2 * n.width * sizeof(float)));
  if (fours && by_fours(n.width, n.x, n.gain, n.dy, n.dx))
    launch_backward<4>(device, blocks, n);
  else
    launch_backward<1>(device, blocks, n);
  linnet_cuda_add_partials(device, blocks, 2 * n.width, n.width, n.partial, dgain_add);
  linnet_cuda_add_partials(device, blocks, 2 * n.width, n.width, n.partial + n.width, dbias_add);
}

template <class T> void run_forward(struct linnet_device *device, const norm_terms<T> &n) {
  if (n.rows == 0 || n.width == 0)
    return;
  if (by_fours(n.width, n.x, n.gain, n.bias, n.y))
    LINNET_LAUNCH(device, (forward_kernel<4, T>), linnet_blocks(n.rows, WARPS), THREADS, 0, n);
  else
    LINNET_LAUNCH(device, (forward_kernel<1, T>), linnet_blocks(n.rows, WARPS), THREADS, 0, n);
}

template <class T>
void run_dropout(struct linnet_device *device, const norm_terms<T> &n, const dropout_mask &mask, const T *x,
                 const T *residual, T *sum) {
  if (n.rows == 0 || n.width == 0)
    return;
  if (dropout_by_fours(mask, n.width, x, residual, n.gain, n.bias, sum, n.y))
    LINNET_LAUNCH(device, (dropout_kernel<4, T>), linnet_blocks(n.rows, WARPS), THREADS, 0, n, mask, x, residual, sum);
  else
    LINNET_LAUNCH(device, (dropout_kernel<1, T>), linnet_blocks(n.rows, WARPS), THREADS, 0, n, mask, x, residual, sum);
}

/* `as` converts pointers to the type of activations. */
template <class A> auto terms_of(A as, const struct linnet_layernorm *n, const void *x) {
  return norm_terms<typename A::activation>{n->rows, n->width, as(x), n->gain, n->bias, as(n->y), n->mean, n->rstd};
}

template <class A> auto backward_of(A as, const struct linnet_layernorm *n) {
  return norm_backward<typename A::activation>{n->rows, n->width, 0,         as(n->x),        n->gain,
                                               n->mean, n->rstd,  as(n->dy), as(n->residual), as(n->dx),
                                               nullptr, {},       nullptr};
}

} // namespace

void linnet_cuda_layernorm_forward(struct linnet_device *device, const struct linnet_layernorm *n) {
  for_activations(device, [&](auto as) { run_forward(device, terms_of(as, n, n->x)); });
}

void linnet_cuda_layernorm_backward(struct linnet_device *device, const struct linnet_layernorm *n) {
  for_activations(device, [&](auto as) {
    const auto terms = backward_of(as, n);
    run_backward(device, terms, by_fours(n->width, terms.residual), n->dgain_add, n->dbias_add);
  });
}

void linnet_cuda_residual_norm(struct linnet_device *device, const struct linnet_residual_norm *r) {
  for_activations(device, [&](auto as) {
    const auto terms = terms_of(as, &r->norm, r->sum);
    run_dropout(device, terms, dropout_mask_of(r->mask, r->norm.width), as(r->x), as(r->residual), as(r->sum));
  });
}

void linnet_cuda_residual_norm_backward(struct linnet_device *device, const struct linnet_residual_norm *r) {
  const struct linnet_layernorm *n = &r->norm;
  for_activations(device, [&](auto as) {
    auto terms = backward_of(as, n);
    terms.dropped = as(r->dx), terms.mask = dropout_mask_of(r->mask, n->width);
    run_backward(device, terms, dropout_by_fours(terms.mask, n->width, terms.residual, terms.dropped), n->dgain_add,
                 n->dbias_add);
  });
}
