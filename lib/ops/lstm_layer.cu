/* Conversion of the inputs and outputs of an LSTM layer of cuDNN, which computes in float: rows to and from the order
 * of steps, and weights to and from its weight space. The only computation here is adding to gradients. */
#include "backend/cuda/kernel.h"

namespace {

enum { THREADS = 256, STEPS = 32, MAX_CHUNKS = 64 };

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Block (sequence, part of its steps): copies rows to the order of steps, or back. */
template <int V, class X, class Y>
static __global__ void __launch_bounds__(THREADS)
    rows_kernel(struct linnet_cuda_steps s, bool to_steps, size_t width, const X *x, Y *y) {
  const struct linnet_sequence_span span = s.spans[blockIdx.x];
  const size_t vectors = width / V, stretch = linnet_divide_up(span.frames, gridDim.y);
  const size_t start = blockIdx.y * stretch, end = linnet_min_size(start + stretch, span.frames);
  for (size_t i = start * vectors + threadIdx.x; i < end * vectors; i += THREADS) {
    const size_t step = i / vectors, column = i % vectors * V;
    const size_t row = (span.first + step) * width + column;
    const size_t by_step = (s.first[step] + blockIdx.x) * width + column;
    store(y + (to_steps ? by_step : row), load<V>(x + (to_steps ? row : by_step)));
  }
}

template <class X, class Y>
void move_rows(struct linnet_device *device, const struct linnet_cuda_steps *s, bool to_steps, size_t width, const X *x,
               Y *y) {
  const dim3 grid((unsigned)s->sequences, (unsigned)linnet_min_size(linnet_blocks(s->longest, STEPS), MAX_CHUNKS));
  if (s->sequences == 0)
    return;
  if (by_fours(width, x, y))
    LINNET_LAUNCH(device, (rows_kernel<4, X, Y>), grid, THREADS, 0, *s, to_steps, width, x, y);
  else
    LINNET_LAUNCH(device, (rows_kernel<1, X, Y>), grid, THREADS, 0, *s, to_steps, width, x, y);
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

/* Block (part, tensor). */
static __global__ void __launch_bounds__(THREADS)
    weights_kernel(struct linnet_cuda_lstm_tensors t, const float *weights) {
  const float *from = weights + t.tensor[blockIdx.y].offset;
  float *to = t.tensor[blockIdx.y].space;
  for (size_t i = blockIdx.x * THREADS + threadIdx.x; i < t.tensor[blockIdx.y].size; i += gridDim.x * THREADS)
    to[i] = from[i];
}

static __global__ void __launch_bounds__(THREADS)
    gradients_kernel(struct linnet_cuda_lstm_tensors t, float *gradients_add) {
  const float *from = t.tensor[blockIdx.y].space;
  float *to = gradients_add + t.tensor[blockIdx.y].offset;
  for (size_t i = blockIdx.x * THREADS + threadIdx.x; i < t.tensor[blockIdx.y].size; i += gridDim.x * THREADS)
    to[i] += from[i];
}

dim3 grid_of(const struct linnet_cuda_lstm_tensors *t) {
  return dim3((unsigned)linnet_min_size(linnet_blocks(t->largest, THREADS), MAX_CHUNKS), (unsigned)t->count);
}

} // namespace

void linnet_cuda_rows_to_steps(struct linnet_device *device, const struct linnet_cuda_steps *s, size_t width,
                               const void *x, float *y) {
  for_activations(device, [&](auto as) { move_rows(device, s, true, width, as(x), y); });
}

void linnet_cuda_rows_from_steps(struct linnet_device *device, const struct linnet_cuda_steps *s, size_t width,
                                 const float *x, void *y) {
  for_activations(device, [&](auto as) { move_rows(device, s, false, width, x, as(y)); });
}

void linnet_cuda_lstm_weights(struct linnet_device *device, const struct linnet_cuda_lstm_tensors *t,
                              const float *weights) {
  LINNET_LAUNCH(device, weights_kernel, grid_of(t), THREADS, 0, *t, weights);
}

void linnet_cuda_lstm_gradients(struct linnet_device *device, const struct linnet_cuda_lstm_tensors *t,
                                float *gradients_add) {
  LINNET_LAUNCH(device, gradients_kernel, grid_of(t), THREADS, 0, *t, gradients_add);
}
