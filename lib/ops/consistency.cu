/* Consistency of two views, with the formulas of consistency.c: one block per pair, whose warps share the frames. Each
 * warp adds up the losses of its frames in their order, and then the block those of its warps. */
#include "backend/cuda/kernel.h"

namespace {

enum { WARPS = 16, THREADS = 32 * WARPS };

struct batch {
  const uint32_t *offsets;
  size_t symbols;
  const float *logits;
  float scale;
  float *gradient_add;
  double *loss;
};

/* The logarithm of the sum of exponentials of a row. */
static __device__ float log_sum(size_t symbols, const float *x) {
  const size_t lane = threadIdx.x % 32;
  float largest = -INFINITY, sum = 0;
  for (size_t k = lane; k < symbols; k += 32)
    largest = fmaxf(largest, x[k]); /* NaN reaches the sum */
  largest = warp_max(largest);
  for (size_t k = lane; k < symbols; k += 32)
    sum += expf(x[k] - largest);
  return largest + logf(warp_sum(sum));
}

/* Compares the rows a and b of the batch. */
static __device__ float compare_rows(const batch &c, size_t a, size_t b) {
  const float *x = c.logits + a * c.symbols, *y = c.logits + b * c.symbols;
  float *dx = c.gradient_add + a * c.symbols, *dy = c.gradient_add + b * c.symbols;
  const float shift_x = log_sum(c.symbols, x), shift_y = log_sum(c.symbols, y);
  float sum = 0;
  for (size_t k = threadIdx.x % 32; k < c.symbols; k += 32) {
    const float log_x = x[k] - shift_x, log_y = y[k] - shift_y, difference = expf(log_x) - expf(log_y);
    sum += difference == 0 ? 0 : difference * (log_x - log_y);
    dx[k] += 0.5f * c.scale * difference;
    dy[k] -= 0.5f * c.scale * difference;
  }
  return warp_sum(sum);
}

static __global__ void __launch_bounds__(THREADS) pair_kernel(batch c) {
  LINNET_SHARED(double, sums);
  const size_t first = c.offsets[2 * blockIdx.x], second = c.offsets[2 * blockIdx.x + 1];
  double sum = 0;
  for (size_t t = threadIdx.x / 32; t < second - first; t += WARPS)
    sum += compare_rows(c, first + t, second + t);
  if (threadIdx.x % 32 == 0)
    sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  double total = 0;
  for (size_t w = 0; w < WARPS; w++)
    total += sums[w];
  c.loss[blockIdx.x] = total / 2;
}

} // namespace

void linnet_cuda_consistency(struct linnet_device *device, const struct linnet_batch_consistency *c,
                             const struct linnet_cuda_pack *p) {
  const batch terms = {p->offsets, c->symbols, c->logits, c->scale, c->gradient_add, c->loss};
  if (p->sequences >= 2)
    LINNET_LAUNCH(device, pair_kernel, (unsigned)(p->sequences / 2), THREADS, WARPS * sizeof(double), terms);
}
