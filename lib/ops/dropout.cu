/* Dropout: a thread makes the eight elements that one call of Philox decides on. */
#include "backend/cuda/dropout_mask.h"

namespace {

enum { THREADS = 256, GROUP = 8 };

template <class T> struct terms {
  dropout_mask mask;
  size_t n;
  const T *x, *residual;
  T *y;
};

template <int V, class T> static __device__ void element(const terms<T> &t, size_t e) {
  floats<V> v = load<V>(t.x + e);
  masked(t.mask, e, &v);
  if (t.residual) {
    floats<V> r = load<V>(t.residual + e);
    for (int i = 0; i < V; i++)
      v.x[i] += r.x[i];
  }
  store(t.y + e, v);
}

/* Groups are those of the whole batch: the first and the last may begin before, and end behind, these elements. */
template <int V, class T> static __global__ void __launch_bounds__(THREADS) dropout_kernel(terms<T> t) {
  const size_t before = t.mask.first % GROUP, groups = (before + t.n + GROUP - 1) / GROUP;
  for (size_t g = (size_t)blockIdx.x * THREADS + threadIdx.x; g < groups; g += (size_t)gridDim.x * THREADS)
    for (size_t i = 0; i < GROUP; i += V)
      if (g * GROUP + i >= before && g * GROUP + i - before < t.n)
        element<V>(t, g * GROUP + i - before);
}

template <class T>
void run(struct linnet_device *device, const dropout_mask &mask, size_t n, const T *x, const T *residual, T *y) {
  const terms<T> t = {mask, n, x, residual, y};
  if (n == 0)
    return;
  if (by_fours(n, x, residual, y) && mask.first % 4 == 0)
    LINNET_LAUNCH(device, (dropout_kernel<4, T>), linnet_blocks(n + GROUP, THREADS * GROUP), THREADS, 0, t);
  else
    LINNET_LAUNCH(device, (dropout_kernel<1, T>), linnet_blocks(n + GROUP, THREADS * GROUP), THREADS, 0, t);
}

} // namespace

void linnet_cuda_dropout(struct linnet_device *device, const struct linnet_dropout *d, size_t rows, size_t width,
                         const void *x, const void *residual, void *y) {
  for_activations(device,
                  [&](auto as) { run(device, dropout_mask_of(d, width), rows * width, as(x), as(residual), as(y)); });
}
