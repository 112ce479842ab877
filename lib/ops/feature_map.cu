/* Feature maps: a warp processes one head of one row. In forward the lanes divide its features among them, in backward
 * its inputs. Formulas as in feature_map.c. */
#include "backend/cuda/kernel.h"

extern "C" {
#include "ops/feature_map.h"
}

namespace {

enum { WARPS = 8, THREADS = 32 * WARPS, MAX_SHARED = 48 * 1024, ROWS_OF_WARP = 16 };

template <class T> struct terms {
  struct linnet_feature_map_terms m;
  size_t rows, size; /* size: number of features of a head */
  float input_scale, feature_scale, largest;
  const T *x, *dphi;
  const T *phi;
  T *y; /* phi, or dx */
};

template <class T, class U> static __device__ __forceinline__ float dot(size_t n, const T *x, const U *y) {
  float sum = 0;
  for (size_t i = 0; i < n; i++)
    sum = fmaf(widen(x[i]), widen(y[i]), sum);
  return sum;
}

template <class T> static __device__ void polynomial_forward(const terms<T> &t, const T *x, T *phi) {
  const size_t width = t.m.width, lane = threadIdx.x % 32;
  for (size_t i = 0; i < width; phi += width - i, i++)
    for (size_t j = i + lane; j < width; j += 32)
      write(phi + j - i, (i == j ? 1 : sqrtf(2)) * widen(x[i]) * widen(x[j]));
}

/* The offset of the products of i with i, i + 1, ... */
static __device__ __forceinline__ size_t pairs_of(size_t i, size_t width) {
  return i * (2 * width + 1 - i) / 2;
}

template <class T> static __device__ float polynomial_backward(const terms<T> &t, const T *x, const T *dphi, size_t i) {
  float sum = 0;
  for (size_t j = 0; j < t.m.width; j++) {
    const size_t low = i < j ? i : j, high = i < j ? j : i;
    const float d = widen(dphi[pairs_of(low, t.m.width) + high - low]);
    sum += (i == j ? 2 : sqrtf(2)) * widen(x[j]) * d;
  }
  return sum;
}

/* Features first ... first + count - 1. Their directions have leading dimension `apart`. */
template <class T>
static __device__ void random_forward(const terms<T> &t, const T *x, T *phi, size_t first, size_t count,
                                      const float *directions, size_t apart) {
  const size_t width = t.m.width, features = t.m.features;
  const float s = t.input_scale, n = t.feature_scale, half = s * s * dot(width, x, x) / 2;
  for (size_t i = threadIdx.x % 32, f = first + i; i < count; i += 32, f += 32) {
    const float u = s * dot(width, directions + i * apart, x);
    if (t.m.map == LINNET_MAP_FOURIER) {
      write(phi + f, n * cosf(u));
      write(phi + features + f, n * sinf(u));
    } else {
      write(phi + f, n * expf(fminf(u - half, LINNET_MAX_EXPONENT)));
    }
  }
}

template <class T>
static __device__ float random_backward(const terms<T> &t, const T *x, const T *phi, const T *dphi, size_t i) {
  const size_t features = t.m.features;
  const float s = t.input_scale;
  float sum = 0, total = 0;
  for (size_t f = 0; f < features; f++) {
    const float p = widen(phi[f]), d = widen(dphi[f]);
    float g;
    if (t.m.map == LINNET_MAP_FOURIER)
      g = p * widen(dphi[features + f]) - widen(phi[features + f]) * d;
    else
      g = p >= t.largest ? 0 : p * d;
    sum = fmaf(s * g, t.m.directions[f * t.m.width + i], sum);
    total += g;
  }
  return t.m.map == LINNET_MAP_FOURIER ? sum : sum - s * s * widen(x[i]) * total;
}

template <class T> static __global__ void __launch_bounds__(THREADS) forward_kernel(terms<T> t) {
  for (size_t at = (size_t)blockIdx.x * WARPS + threadIdx.x / 32; at < t.rows * t.m.heads;
       at += (size_t)gridDim.x * WARPS) {
    const size_t row = at / t.m.heads, head = at % t.m.heads;
    const T *x = t.x + row * t.m.x_ld + head * t.m.width;
    T *phi = t.y + row * t.m.phi_ld + head * t.size;
    if (t.m.map == LINNET_MAP_POLYNOMIAL)
      polynomial_forward(t, x, phi);
    else
      for (size_t i = threadIdx.x % 32; i < t.m.width; i += 32)
        write(phi + i, (widen(x[i]) <= 0 ? 0 : widen(x[i])) + (float)LINNET_RELU_EPSILON);
  }
}

template <class T>
static __device__ void random_rows(const terms<T> &t, size_t first, size_t count, const float *directions,
                                   size_t apart) {
  for (size_t at = (size_t)blockIdx.x * WARPS + threadIdx.x / 32; at < t.rows * t.m.heads;
       at += (size_t)gridDim.x * WARPS) {
    const size_t row = at / t.m.heads, head = at % t.m.heads;
    random_forward(t, t.x + row * t.m.x_ld + head * t.m.width, t.y + row * t.m.phi_ld + head * t.size, first, count,
                   directions, apart);
  }
}

/* Copies slices of the directions to shared memory. Their leading dimension there is odd, so that lanes read different
 * banks. If not even one direction fits (slice 0), they are read from global memory. */
template <class T> static __global__ void __launch_bounds__(THREADS) random_kernel(terms<T> t, size_t slice) {
  LINNET_SHARED(float, directions);
  const size_t width = t.m.width, apart = width | 1;
  if (slice == 0) {
    random_rows(t, 0, t.m.features, t.m.directions, width);
    return;
  }
  for (size_t first = 0; first < t.m.features; first += slice) {
    const size_t count = linnet_min_size(slice, t.m.features - first);
    __syncthreads();
    for (size_t i = threadIdx.x; i < count * width; i += THREADS)
      directions[i / width * apart + i % width] = t.m.directions[first * width + i];
    __syncthreads();
    random_rows(t, first, count, directions, apart);
  }
}

template <class T> static __global__ void __launch_bounds__(THREADS) backward_kernel(terms<T> t) {
  for (size_t at = (size_t)blockIdx.x * WARPS + threadIdx.x / 32; at < t.rows * t.m.heads;
       at += (size_t)gridDim.x * WARPS) {
    const size_t row = at / t.m.heads, head = at % t.m.heads, in = row * t.m.x_ld + head * t.m.width;
    const T *x = t.x + in, *phi = t.phi + row * t.m.phi_ld + head * t.size;
    const T *dphi = t.dphi + row * t.m.phi_ld + head * t.size;
    for (size_t i = threadIdx.x % 32; i < t.m.width; i += 32)
      if (t.m.map == LINNET_MAP_POLYNOMIAL)
        write(t.y + in + i, polynomial_backward(t, x, dphi, i));
      else if (t.m.map == LINNET_MAP_RELU)
        write(t.y + in + i, widen(x[i]) > 0 ? widen(dphi[i]) : 0);
      else
        write(t.y + in + i, random_backward(t, x, phi, dphi, i));
  }
}

template <class T> terms<T> terms_of(const struct linnet_feature_map_terms *m, size_t rows, const T *x, T *y) {
  terms<T> t = {};
  t.m = *m, t.rows = rows, t.size = linnet_feature_map_size(m->map, m->width, m->features);
  t.input_scale = 1 / sqrtf(sqrtf((float)m->width));
  t.feature_scale = 1 / sqrtf((float)m->features);
  const float rounding = sizeof(T) < sizeof(float) ? 1 / 256.0f : 1e-5f; /* tolerance for the rounding of T */
  t.largest = t.feature_scale * expf(LINNET_MAX_EXPONENT) * (1 - rounding);
  t.x = x, t.y = y;
  return t;
}

template <class T> void run_random(struct linnet_device *device, const terms<T> &t) {
  const size_t direction = (t.m.width | 1) * sizeof(float);
  const size_t slice = linnet_min_size(t.m.features, MAX_SHARED / direction);
  LINNET_LAUNCH(device, random_kernel<T>, linnet_blocks(t.rows * t.m.heads, WARPS * ROWS_OF_WARP), THREADS,
                slice * direction, t, slice);
}

template <class T> void run_forward(struct linnet_device *device, const terms<T> &t) {
  if (t.rows > 0 && linnet_feature_map_random(t.m.map))
    run_random(device, t);
  else if (t.rows > 0)
    LINNET_LAUNCH(device, forward_kernel<T>, linnet_blocks(t.rows * t.m.heads, WARPS), THREADS, 0, t);
}

template <class T> void run_backward(struct linnet_device *device, terms<T> t, const T *phi, const T *dphi) {
  t.phi = phi, t.dphi = dphi;
  if (t.rows > 0)
    LINNET_LAUNCH(device, backward_kernel<T>, linnet_blocks(t.rows * t.m.heads, WARPS), THREADS, 0, t);
}

} // namespace

void linnet_cuda_feature_map_forward(struct linnet_device *device, const struct linnet_feature_map_terms *m,
                                     size_t rows, const void *x, void *phi) {
  for_activations(device, [&](auto as) { run_forward(device, terms_of(m, rows, as(x), as(phi))); });
}

void linnet_cuda_feature_map_backward(struct linnet_device *device, const struct linnet_feature_map_terms *m,
                                      size_t rows, const void *x, const void *phi, const void *dphi, void *dx) {
  for_activations(device, [&](auto as) { run_backward(device, terms_of(m, rows, as(x), as(dx)), as(phi), as(dphi)); });
}
