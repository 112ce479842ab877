/* Dropout: a thread computes the eight elements that one call of Philox decides on. */
#include "backend/cuda/dropout_mask.h"

namespace {

enum { THREADS = 256 };

template <int V, class T>
static __global__ void __launch_bounds__(THREADS)
    dropout_kernel(dropout_mask mask, size_t n, const T *x, const T *residual, T *y) {
  for_groups<V>(mask, n, [=](size_t e, auto drop) {
    floats<V> v = load<V>(x + e);
    drop(&v);
    store(y + e, residual ? sum_of(v, load<V>(residual + e)) : v);
  });
}

template <class T>
void run(struct linnet_device *device, const dropout_mask &mask, size_t n, const T *x, const T *residual, T *y) {
  if (n == 0)
    return;
  if (dropout_by_fours(mask, n, x, residual, y))
    LINNET_LAUNCH(device, (dropout_kernel<4, T>), dropout_blocks(n, THREADS), THREADS, 0, mask, n, x, residual, y);
  else
    LINNET_LAUNCH(device, (dropout_kernel<1, T>), dropout_blocks(n, THREADS), THREADS, 0, mask, n, x, residual, y);
}

} // namespace

void linnet_cuda_dropout(struct linnet_device *device, const struct linnet_dropout *d, size_t rows, size_t width,
                         const void *x, const void *residual, void *y) {
  for_activations(device,
                  [&](auto as) { run(device, dropout_mask_of(d, width), rows * width, as(x), as(residual), as(y)); });
}
