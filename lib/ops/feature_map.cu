/* Feature maps: a warp has one head of one row; lanes share its features, or, backward, its inputs. Formulas as in
 * feature_map.c. */
#include "backend/cuda/kernel.h"

extern "C" {
#include "ops/feature_map.h"
}

namespace {

enum { WARPS = 8, THREADS = 32 * WARPS };

struct terms {
  struct linnet_feature_map_terms m;
  size_t rows, size; /* size: features of a head */
  float input_scale, feature_scale, largest;
  const float *x, *dphi;
  const float *phi;
  float *y; /* phi, or dx */
};

static __device__ __forceinline__ float dot(size_t n, const float *x, const float *y) {
  float sum = 0;
  for (size_t i = 0; i < n; i++)
    sum = fmaf(x[i], y[i], sum);
  return sum;
}

static __device__ void polynomial_forward(const terms &t, const float *x, float *phi) {
  const size_t width = t.m.width, lane = threadIdx.x % 32;
  for (size_t i = 0; i < width; phi += width - i, i++)
    for (size_t j = i + lane; j < width; j += 32)
      phi[j - i] = (i == j ? 1 : sqrtf(2)) * x[i] * x[j];
}

/* Where the products of i with i, i + 1, ... begin. */
static __device__ __forceinline__ size_t pairs_of(size_t i, size_t width) {
  return i * (2 * width + 1 - i) / 2;
}

static __device__ float polynomial_backward(const terms &t, const float *x, const float *dphi, size_t i) {
  float sum = 0;
  for (size_t j = 0; j < t.m.width; j++) {
    const size_t low = i < j ? i : j, high = i < j ? j : i;
    const float d = dphi[pairs_of(low, t.m.width) + high - low];
    sum += (i == j ? 2 : sqrtf(2)) * x[j] * d;
  }
  return sum;
}

static __device__ void random_forward(const terms &t, const float *x, float *phi) {
  const size_t width = t.m.width, features = t.m.features;
  const float s = t.input_scale, n = t.feature_scale, half = s * s * dot(width, x, x) / 2;
  for (size_t f = threadIdx.x % 32; f < features; f += 32) {
    const float u = s * dot(width, t.m.directions + f * width, x);
    if (t.m.map == LINNET_MAP_FOURIER) {
      phi[f] = n * cosf(u);
      phi[features + f] = n * sinf(u);
    } else {
      phi[f] = n * expf(fminf(u - half, LINNET_MAX_EXPONENT));
    }
  }
}

static __device__ float random_backward(const terms &t, const float *x, const float *phi, const float *dphi, size_t i) {
  const size_t features = t.m.features;
  const float s = t.input_scale;
  float sum = 0, total = 0;
  for (size_t f = 0; f < features; f++) {
    float g;
    if (t.m.map == LINNET_MAP_FOURIER)
      g = phi[f] * dphi[features + f] - phi[features + f] * dphi[f];
    else
      g = phi[f] >= t.largest ? 0 : phi[f] * dphi[f];
    sum = fmaf(s * g, t.m.directions[f * t.m.width + i], sum);
    total += g;
  }
  return t.m.map == LINNET_MAP_FOURIER ? sum : sum - s * s * x[i] * total;
}

static __global__ void __launch_bounds__(THREADS) forward_kernel(terms t) {
  for (size_t at = (size_t)blockIdx.x * WARPS + threadIdx.x / 32; at < t.rows * t.m.heads;
       at += (size_t)gridDim.x * WARPS) {
    const size_t row = at / t.m.heads, head = at % t.m.heads;
    const float *x = t.x + row * t.m.x_ld + head * t.m.width;
    float *phi = t.y + row * t.m.phi_ld + head * t.size;
    if (t.m.map == LINNET_MAP_POLYNOMIAL)
      polynomial_forward(t, x, phi);
    else if (t.m.map == LINNET_MAP_RELU)
      for (size_t i = threadIdx.x % 32; i < t.m.width; i += 32)
        phi[i] = (x[i] > 0 ? x[i] : 0) + (float)LINNET_RELU_EPSILON;
    else
      random_forward(t, x, phi);
  }
}

static __global__ void __launch_bounds__(THREADS) backward_kernel(terms t) {
  for (size_t at = (size_t)blockIdx.x * WARPS + threadIdx.x / 32; at < t.rows * t.m.heads;
       at += (size_t)gridDim.x * WARPS) {
    const size_t row = at / t.m.heads, head = at % t.m.heads, in = row * t.m.x_ld + head * t.m.width;
    const float *x = t.x + in, *phi = t.phi + row * t.m.phi_ld + head * t.size;
    const float *dphi = t.dphi + row * t.m.phi_ld + head * t.size;
    for (size_t i = threadIdx.x % 32; i < t.m.width; i += 32)
      if (t.m.map == LINNET_MAP_POLYNOMIAL)
        t.y[in + i] = polynomial_backward(t, x, dphi, i);
      else if (t.m.map == LINNET_MAP_RELU)
        t.y[in + i] = x[i] > 0 ? dphi[i] : 0;
      else
        t.y[in + i] = random_backward(t, x, phi, dphi, i);
  }
}

terms terms_of(const struct linnet_feature_map_terms *m, size_t rows, const float *x, float *y) {
  terms t = {};
  t.m = *m, t.rows = rows, t.size = linnet_feature_map_size(m->map, m->width, m->features);
  t.input_scale = 1 / sqrtf(sqrtf((float)m->width));
  t.feature_scale = 1 / sqrtf((float)m->features);
  t.largest = t.feature_scale * expf(LINNET_MAX_EXPONENT) * (1 - 1e-5f); /* the device's exponential may differ */
  t.x = x, t.y = y;
  return t;
}

} // namespace

void linnet_cuda_feature_map_forward(struct linnet_device *device, const struct linnet_feature_map_terms *m,
                                     size_t rows, const float *x, float *phi) {
  if (rows > 0)
    LINNET_LAUNCH(device, forward_kernel, linnet_blocks(rows * m->heads, WARPS), THREADS, 0, terms_of(m, rows, x, phi));
}

void linnet_cuda_feature_map_backward(struct linnet_device *device, const struct linnet_feature_map_terms *m,
                                      size_t rows, const float *x, const float *phi, const float *dphi, float *dx) {
  terms t = terms_of(m, rows, x, dx);
  t.phi = phi, t.dphi = dphi;
  if (rows > 0)
    LINNET_LAUNCH(device, backward_kernel, linnet_blocks(rows * m->heads, WARPS), THREADS, 0, t);
}
