/* Depthwise convolution: a block processes a piece of a sequence and 32 channels, a warp one row at a time.
 * Neighbouring rows read mostly the same inputs, from the L1 cache. Gradients of the weights are summed per block, then
 * over blocks. */
#include "backend/cuda/kernel.h"

namespace {

enum { WARPS = 8, THREADS = 32 * WARPS, MAX_PARTS = 1024 };

template <class T> struct terms {
  struct linnet_conv c;
  struct linnet_cuda_pack pack;
  const T *x;
  const float *w, *bias;
  const T *dy;
  T *y;
};

/* What a thread processes: its channel, and the sequence that contains its piece. */
struct work_item {
  size_t channel, begin, end; /* frames of the sequence */
  struct linnet_cuda_piece piece;
};

template <class T> static __device__ __forceinline__ work_item work_item_of(const terms<T> &t, size_t piece) {
  work_item p;
  p.piece = t.pack.table[piece];
  p.channel = blockIdx.y * 32 + threadIdx.x % 32;
  p.begin = t.pack.offsets[p.piece.sequence], p.end = t.pack.offsets[p.piece.sequence + 1];
  return p;
}

/* The sum over taps j of w[j] x[frame + j - left], or reversed: w[j] x[frame - j + left]. x is zero outside the
 * sequence, so the loop runs over the taps [from, to) only. */
template <class T>
static __device__ __forceinline__ float taps(const terms<T> &t, const work_item &p, const T *x, size_t frame,
                                             bool turned, float sum) {
  const int left = (int)t.c.left, kernel = (int)t.c.kernel, channels = (int)t.c.channels;
  const int before = (int)(frame - p.begin), behind = (int)(p.end - 1 - frame);
  const int low = turned ? left - behind : left - before, high = turned ? left + before + 1 : left + behind + 1;
  const int from = low > 0 ? low : 0, to = high < kernel ? high : kernel;
  const float *w = t.w + from * channels + p.channel;
  const T *at = x + frame * channels + p.channel + (ptrdiff_t)(turned ? left - from : from - left) * channels;
  const int along = turned ? -channels : channels;
#pragma unroll 8
  for (int j = from; j < to; j++, w += channels, at += along)
    sum = fmaf(*w, widen(*at), sum);
  return sum;
}

/* Block (piece, channels). */
template <class T> static __global__ void __launch_bounds__(THREADS) conv_kernel(terms<T> t, bool backward) {
  const work_item p = work_item_of(t, blockIdx.x);
  if (p.channel >= t.c.channels)
    return;
  for (size_t row = threadIdx.x / 32; row < p.piece.rows; row += WARPS) {
    const size_t frame = p.piece.first + row;
    write(t.y + frame * t.c.channels + p.channel,
          taps(t, p, backward ? t.dy : t.x, frame, backward, backward ? 0 : t.bias[p.channel]));
  }
}

/* The sum of x[t + j - left] dy[t] over the rows t of a piece; for j = kernel, the sum of dy[t]. */
template <class T> static __device__ float weight_gradient(const terms<T> &t, const work_item &p, size_t j, float sum) {
  const size_t left = t.c.left, channels = t.c.channels, piece_end = p.piece.first + p.piece.rows;
  const T *dy = t.dy + p.channel, *x = t.x + p.channel;
  if (j == t.c.kernel) {
#pragma unroll 8
    for (size_t frame = p.piece.first; frame < piece_end; frame++)
      sum += widen(dy[frame * channels]);
    return sum;
  }
  const size_t low = p.begin + left > j ? p.begin + left - j : 0, high = p.end + left > j ? p.end + left - j : 0;
  const size_t from = low > p.piece.first ? low : p.piece.first, to = linnet_min_size(high, piece_end);
#pragma unroll 8
  for (size_t frame = from; frame < to; frame++)
    sum = fmaf(widen(x[(frame + j - left) * channels]), widen(dy[frame * channels]), sum);
  return sum;
}

/* Block (part, channels): every gridDim.x-th piece; the warps divide the taps among them. partial (parts, kernel + 1,
 * channels). */
template <class T> static __global__ void __launch_bounds__(THREADS) weight_kernel(terms<T> t, float *partial) {
  if (blockIdx.y * 32 + threadIdx.x % 32 >= t.c.channels)
    return;
  for (size_t j = threadIdx.x / 32; j <= t.c.kernel; j += WARPS) {
    float sum = 0;
    for (size_t piece = blockIdx.x; piece < t.pack.pieces; piece += gridDim.x)
      sum = weight_gradient(t, work_item_of(t, piece), j, sum);
    partial[(blockIdx.x * (t.c.kernel + 1) + j) * t.c.channels + blockIdx.y * 32 + threadIdx.x % 32] = sum;
  }
}

template <class T> void run(struct linnet_device *device, const terms<T> &t, bool backward) {
  if (t.pack.rows > 0)
    LINNET_LAUNCH(device, conv_kernel<T>, dim3((unsigned)t.pack.pieces, linnet_blocks(t.c.channels, 32)), THREADS, 0, t,
                  backward);
}

template <class T> void run_weights(struct linnet_device *device, const terms<T> &t, float *dw_add, float *dbias_add) {
  const size_t taps = t.c.kernel * t.c.channels, part = taps + t.c.channels;
  const size_t parts =
      linnet_min_size(t.pack.pieces, linnet_min_size(LINNET_CUDA_SCRATCH / (part * sizeof(float)), MAX_PARTS));
  if (parts == 0)
    return;
  float *partial = static_cast<float *>(linnet_cuda_scratch(device, parts * part * sizeof(float)));
  LINNET_LAUNCH(device, weight_kernel<T>, dim3((unsigned)parts, linnet_blocks(t.c.channels, 32)), THREADS, 0, t,
                partial);
  linnet_cuda_add_partials(device, parts, part, taps, partial, dw_add);
  linnet_cuda_add_partials(device, parts, part, t.c.channels, partial + taps, dbias_add);
}

template <class T>
terms<T> terms_of(const struct linnet_conv *c, const struct linnet_cuda_pack *p, const T *x, const float *w,
                  const float *bias, const T *dy, T *y) {
  return terms<T>{*c, *p, x, w, bias, dy, y};
}

} // namespace

void linnet_cuda_conv_forward(struct linnet_device *device, const struct linnet_conv *c,
                              const struct linnet_cuda_pack *p, const void *x, const float *w, const float *bias,
                              void *y) {
  for_activations(device, [&](auto as) {
    const void *none = nullptr;
    run(device, terms_of(c, p, as(x), w, bias, as(none), as(y)), false);
  });
}

void linnet_cuda_conv_backward(struct linnet_device *device, const struct linnet_conv *c,
                               const struct linnet_cuda_pack *p, const struct linnet_conv_gradients *g) {
  for_activations(device, [&](auto as) {
    const auto t = terms_of(c, p, as(g->x), g->w, nullptr, as(g->dy), as(g->dx));
    run(device, t, true);
    run_weights(device, t, g->dw_add, g->dbias_add);
  });
}
