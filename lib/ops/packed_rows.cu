/* Rows of packed sequences: adds rows of a table by their position in the sequence (positional encodings), and replaces
 * each row by that of the previous step (recurrent inputs). */
#include "backend/cuda/kernel.h"

namespace {

enum { THREADS = 256 };

/* Block: a piece. */
template <class T>
static __global__ void __launch_bounds__(THREADS)
    table_kernel(struct linnet_cuda_pack p, size_t width, const float *table, T *x) {
  const struct linnet_cuda_piece piece = p.table[blockIdx.x];
  const size_t position = piece.first - p.offsets[piece.sequence];
  for (size_t i = threadIdx.x; i < piece.rows * width; i += THREADS)
    write(x + piece.first * width + i, widen(x[piece.first * width + i]) + table[position * width + i]);
}

template <class T>
static __global__ void __launch_bounds__(THREADS)
    before_kernel(struct linnet_cuda_pack p, bool reverse, size_t width, const T *h, size_t ld, T *before) {
  const struct linnet_cuda_piece piece = p.table[blockIdx.x];
  const size_t edge = reverse ? p.offsets[piece.sequence + 1] - 1 : p.offsets[piece.sequence];
  for (size_t i = threadIdx.x; i < piece.rows * width; i += THREADS) {
    const size_t frame = piece.first + i / width, from = reverse ? frame + 1 : frame - 1;
    before[frame * width + i % width] = frame == edge ? T() : h[from * ld + i % width];
  }
}

template <class T>
void add_table(struct linnet_device *device, const struct linnet_cuda_pack *p, size_t width, const float *table, T *x) {
  if (p->pieces > 0)
    LINNET_LAUNCH(device, table_kernel<T>, (unsigned)p->pieces, THREADS, 0, *p, width, table, x);
}

template <class T>
void steps_before(struct linnet_device *device, const struct linnet_cuda_pack *p, bool reverse, size_t width,
                  const T *h, size_t ld, T *before) {
  if (p->pieces > 0)
    LINNET_LAUNCH(device, before_kernel<T>, (unsigned)p->pieces, THREADS, 0, *p, reverse, width, h, ld, before);
}

} // namespace

void linnet_cuda_add_table(struct linnet_device *device, const struct linnet_cuda_pack *p, size_t width,
                           const float *table, void *x) {
  for_activations(device, [&](auto as) { add_table(device, p, width, table, as(x)); });
}

void linnet_cuda_steps_before(struct linnet_device *device, const struct linnet_cuda_pack *p, bool reverse,
                              size_t width, const void *h, size_t ld, void *before) {
  for_activations(device, [&](auto as) { steps_before(device, p, reverse, width, as(h), ld, as(before)); });
}
