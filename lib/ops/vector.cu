/* Sums over rows and vectors, in two steps: blocks write their sums to scratch, and a second launch adds these in
 * order. How rows are divided among blocks depends on the number of rows only. */
#include "backend/cuda/kernel.h"

namespace {

enum { WARPS = 8, THREADS = 32 * WARPS, MAX_PARTS = 1024 };

/* --- column sums -------------------------------------------------------------------------------------------------- */

/* Block (part, columns): neighbouring lanes have neighbouring columns; a warp sums every eighth row. Shared memory:
 * (WARPS, 32 * V). */
template <int V, class T>
static __global__ void __launch_bounds__(THREADS)
    column_kernel(size_t rows, size_t width, size_t stretch, const T *x, float *partial) {
  LINNET_SHARED(float, sums);
  const size_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = (blockIdx.y * 32 + lane) * V;
  const size_t first = blockIdx.x * stretch, end = linnet_min_size(first + stretch, rows);
  floats<V> sum = {};
  for (size_t t = first + warp; t < end && c < width; t += WARPS) {
    floats<V> v = load<V>(x + t * width + c);
    for (int i = 0; i < V; i++)
      sum.x[i] += v.x[i];
  }
  store(sums + (warp * 32 + lane) * V, sum);
  __syncthreads();
  const size_t column = blockIdx.y * 32 * V + threadIdx.x;
  if (threadIdx.x >= 32 * V || column >= width)
    return;
  float total = 0;
  for (size_t w = 0; w < WARPS; w++)
    total += sums[w * 32 * V + threadIdx.x];
  partial[blockIdx.x * width + column] = total;
}

/* A block has 32 columns. A warp adds every eighth part; then the sums of the warps are added in order. Shared memory:
 * (WARPS, 32). */
static __global__ void __launch_bounds__(THREADS)
    partial_kernel(size_t parts, size_t ld, size_t width, const float *partial, float *sums_add) {
  LINNET_SHARED(float, sums);
  const size_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = blockIdx.x * 32 + lane;
  float sum = 0;
  for (size_t i = warp; i < parts && c < width; i += WARPS)
    sum += partial[i * ld + c];
  sums[warp * 32 + lane] = sum;
  __syncthreads();
  if (warp > 0 || c >= width)
    return;
  float total = sums_add[c];
  for (size_t w = 0; w < WARPS; w++)
    total += sums[w * 32 + lane];
  sums_add[c] = total;
}

/* --- sum of squares ----------------------------------------------------------------------------------------------- */

/* The sum over the block, returned in thread 0. Shared memory: (WARPS). */
static __device__ double block_sum(double x, double *sums) {
  for (int lanes = 16; lanes > 0; lanes /= 2)
    x += __shfl_xor_sync(LINNET_ALL_LANES, x, lanes);
  if (threadIdx.x % 32 == 0)
    sums[threadIdx.x / 32] = x;
  __syncthreads();
  double sum = 0;
  for (size_t w = 0; w < WARPS; w++)
    sum += sums[w];
  return sum;
}

template <int V>
static __global__ void __launch_bounds__(THREADS)
    square_kernel(size_t n, size_t stretch, const float *x, double *partial) {
  LINNET_SHARED(double, sums);
  const size_t first = blockIdx.x * stretch, end = linnet_min_size(first + stretch, n);
  double sum = 0;
  for (size_t i = first + threadIdx.x * V; i < end; i += THREADS * V) {
    floats<V> v = load<V>(x + i);
    for (int j = 0; j < V; j++)
      sum += (double)v.x[j] * v.x[j];
  }
  sum = block_sum(sum, sums);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(THREADS) total_kernel(size_t parts, const double *partial, double *total) {
  LINNET_SHARED(double, sums);
  double sum = 0;
  for (size_t i = threadIdx.x; i < parts; i += THREADS)
    sum += partial[i];
  sum = block_sum(sum, sums);
  if (threadIdx.x == 0)
    *total = sum;
}

template <class T>
void column_sum(struct linnet_device *device, size_t rows, size_t width, const T *x, float *sums_add) {
  if (rows == 0 || width == 0)
    return;
  const size_t stretch = linnet_cuda_stretch(rows, width), parts = linnet_divide_up(rows, stretch);
  float *partial = static_cast<float *>(linnet_cuda_scratch(device, parts * width * sizeof(float)));
  if (by_fours(width, x))
    LINNET_LAUNCH(device, (column_kernel<4, T>), dim3((unsigned)parts, linnet_blocks(width, 128)), THREADS,
                  WARPS * 128 * sizeof(float), rows, width, stretch, x, partial);
  else
    LINNET_LAUNCH(device, (column_kernel<1, T>), dim3((unsigned)parts, linnet_blocks(width, 32)), THREADS,
                  WARPS * 32 * sizeof(float), rows, width, stretch, x, partial);
  linnet_cuda_add_partials(device, parts, width, width, partial, sums_add);
}

} // namespace

size_t linnet_cuda_stretch(size_t rows, size_t width) {
  const size_t parts = linnet_min_size(LINNET_CUDA_SCRATCH / (width * sizeof(float)), MAX_PARTS);
  const size_t stretch = linnet_divide_up(rows, parts);
  return stretch < 4 * WARPS ? 4 * WARPS : stretch;
}

void linnet_cuda_column_sum(struct linnet_device *device, size_t rows, size_t width, const void *x, float *sums_add) {
  for_activations(device, [&](auto as) { column_sum(device, rows, width, as(x), sums_add); });
}

void linnet_cuda_add_partials(struct linnet_device *device, size_t parts, size_t ld, size_t width, const float *partial,
                              float *sums_add) {
  LINNET_LAUNCH(device, partial_kernel, linnet_blocks(width, 32), THREADS, WARPS * 32 * sizeof(float), parts, ld, width,
                partial, sums_add);
}

void linnet_cuda_sum_of_squares(struct linnet_device *device, size_t n, const float *x, double *sum) {
  const size_t min_stretch = 16 * THREADS, even = linnet_round_up(n / MAX_PARTS + 1, 4),
               stretch = even < min_stretch ? min_stretch : even;
  const size_t parts = linnet_divide_up(n, stretch), shared = WARPS * sizeof(double);
  double *partial = static_cast<double *>(linnet_cuda_scratch(device, parts * sizeof(double)));
  if (parts > 0 && by_fours(n, x))
    LINNET_LAUNCH(device, square_kernel<4>, (unsigned)parts, THREADS, shared, n, stretch, x, partial);
  else if (parts > 0)
    LINNET_LAUNCH(device, square_kernel<1>, (unsigned)parts, THREADS, shared, n, stretch, x, partial);
  LINNET_LAUNCH(device, total_kernel, 1, THREADS, shared, parts, partial, sum);
}
