/* Depthwise convolution: a block has a piece of a sequence and 32 channels, a warp a row at a time. What neighbouring
 * rows share comes from the first cache. Gradients of the weights are summed per block, then over blocks. */
#include "backend/cuda/kernel.h"

namespace {

enum { WARPS = 8, THREADS = 32 * WARPS, MOST_PARTS = 1024 };

struct terms {
  struct linnet_conv c;
  struct linnet_cuda_pack pack;
  const float *x, *w, *bias;
  const float *dy;
  float *y;
};

/* What a thread walks: its channel, and the sequence of a piece. */
struct place {
  size_t channel, begin, end; /* frames of the sequence */
  struct linnet_cuda_piece piece;
};

static __device__ __forceinline__ place place_of(const terms &t, size_t piece) {
  place p;
  p.piece = t.pack.table[piece];
  p.channel = blockIdx.y * 32 + threadIdx.x % 32;
  p.begin = t.pack.offsets[p.piece.sequence], p.end = t.pack.offsets[p.piece.sequence + 1];
  return p;
}

/* The sum over taps j of w[j] x[frame + j - half], or, turned around, of w[j] x[frame - j + half]; zero outside. */
static __device__ __forceinline__ float taps(const terms &t, const place &p, const float *x, size_t frame, bool turned,
                                             float sum) {
  const size_t half = t.c.kernel / 2;
  for (size_t j = 0; j < t.c.kernel; j++) {
    const size_t at = frame + (turned ? half : j), back = turned ? j : half;
    if (at >= p.begin + back && at - back < p.end)
      sum = fmaf(t.w[j * t.c.channels + p.channel], x[(at - back) * t.c.channels + p.channel], sum);
  }
  return sum;
}

/* Block (piece, channels). */
static __global__ void __launch_bounds__(THREADS) conv_kernel(terms t, bool backward) {
  const place p = place_of(t, blockIdx.x);
  if (p.channel >= t.c.channels)
    return;
  for (size_t row = threadIdx.x / 32; row < p.piece.rows; row += WARPS) {
    const size_t frame = p.piece.first + row;
    t.y[frame * t.c.channels + p.channel] =
        taps(t, p, backward ? t.dy : t.x, frame, backward, backward ? 0 : t.bias[p.channel]);
  }
}

/* The sum over the rows of a piece of x[t + j - half] dy[t]; j = kernel: of dy[t]. */
static __device__ float weight_gradient(const terms &t, const place &p, size_t j, float sum) {
  const size_t half = t.c.kernel / 2;
  for (size_t frame = p.piece.first; frame < p.piece.first + p.piece.rows; frame++) {
    const float dy = t.dy[frame * t.c.channels + p.channel];
    if (j == t.c.kernel)
      sum += dy;
    else if (frame + j >= p.begin + half && frame + j - half < p.end)
      sum = fmaf(t.x[(frame + j - half) * t.c.channels + p.channel], dy, sum);
  }
  return sum;
}

/* Block (part, channels): every gridDim.x-th piece; warps share the taps. partial (parts, kernel + 1, channels). */
static __global__ void __launch_bounds__(THREADS) weight_kernel(terms t, float *partial) {
  if (blockIdx.y * 32 + threadIdx.x % 32 >= t.c.channels)
    return;
  for (size_t j = threadIdx.x / 32; j <= t.c.kernel; j += WARPS) {
    float sum = 0;
    for (size_t piece = blockIdx.x; piece < t.pack.pieces; piece += gridDim.x)
      sum = weight_gradient(t, place_of(t, piece), j, sum);
    partial[(blockIdx.x * (t.c.kernel + 1) + j) * t.c.channels + blockIdx.y * 32 + threadIdx.x % 32] = sum;
  }
}

void run(struct linnet_device *device, const terms &t, bool backward) {
  LINNET_LAUNCH(device, conv_kernel, dim3((unsigned)t.pack.pieces, linnet_blocks(t.c.channels, 32)), THREADS, 0, t,
                backward);
}

} // namespace

void linnet_cuda_conv_forward(struct linnet_device *device, const struct linnet_conv *c,
                              const struct linnet_cuda_pack *p, const float *x, const float *w, const float *bias,
                              float *y) {
  const terms t = {*c, *p, x, w, bias, nullptr, y};
  if (p->rows > 0)
    run(device, t, false);
}

void linnet_cuda_conv_backward(struct linnet_device *device, const struct linnet_conv *c,
                               const struct linnet_cuda_pack *p, const float *x, const float *w, const float *dy,
                               float *dx, float *dw_add, float *dbias_add) {
  const terms t = {*c, *p, x, w, nullptr, dy, dx};
  const size_t taps = c->kernel * c->channels, part = taps + c->channels;
  const size_t parts = smaller(p->pieces, smaller(LINNET_CUDA_SCRATCH / (part * sizeof(float)), MOST_PARTS));
  if (p->rows == 0)
    return;
  run(device, t, true);
  float *partial = static_cast<float *>(linnet_cuda_scratch(device, parts * part * sizeof(float)));
  LINNET_LAUNCH(device, weight_kernel, dim3((unsigned)parts, linnet_blocks(c->channels, 32)), THREADS, 0, t, partial);
  linnet_cuda_add_partials(device, parts, part, taps, partial, dw_add);
  linnet_cuda_add_partials(device, parts, part, c->channels, partial + taps, dbias_add);
}
