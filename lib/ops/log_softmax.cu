/* Log-softmax: one warp per row. The row is read three times and stays in the L1 cache meanwhile. */
#include "backend/cuda/kernel.h"

namespace {

enum { WARPS = 8, THREADS = 32 * WARPS };

static __global__ void __launch_bounds__(THREADS)
    log_softmax_kernel(size_t rows, size_t width, const float *x, float *y) {
  const size_t lane = threadIdx.x % 32;
  for (size_t t = (size_t)blockIdx.x * WARPS + threadIdx.x / 32; t < rows; t += (size_t)gridDim.x * WARPS) {
    const float *row = x + t * width;
    float largest = -INFINITY, sum = 0;
    for (size_t c = lane; c < width; c += 32)
      largest = fmaxf(largest, row[c]);
    largest = warp_max(largest);
    for (size_t c = lane; c < width; c += 32)
      sum += expf(row[c] - largest);
    const float log_sum = logf(warp_sum(sum));
    for (size_t c = lane; c < width; c += 32)
      y[t * width + c] = row[c] - largest - log_sum;
  }
}

} // namespace

void linnet_cuda_log_softmax(struct linnet_device *device, size_t rows, size_t width, const float *x, float *y) {
  if (rows > 0 && width > 0)
    LINNET_LAUNCH(device, log_softmax_kernel, linnet_blocks(rows, WARPS), THREADS, 0, rows, width, x, y);
}
