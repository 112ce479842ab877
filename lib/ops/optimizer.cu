/* Adam and RAdam over all parameters: formulas as in optimizer.c. */
#include "backend/cuda/kernel.h"

namespace {

enum { THREADS = 256 };

struct terms {
  float scale, b1, b2, c1, c2, step, rescale, epsilon;
  bool adaptive;
  double clip;
  const double *squares;
};

template <int V>
static __global__ void __launch_bounds__(THREADS) update_kernel(terms u, struct linnet_update_arrays all) {
  float scale = u.scale;
  if (u.squares) {
    const double norm = sqrt(*u.squares) * scale;
    if (!(norm <= DBL_MAX))
      return;
    if (u.clip > 0)
      scale = (float)(scale * fmin(1.0, u.clip / (norm + 1e-6)));
  }
  for (size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) * V; i < all.n; i += (size_t)gridDim.x * THREADS * V) {
    floats<V> p = load<V>(all.parameters + i), g = load<V>(all.gradients + i);
    floats<V> m = load<V>(all.m + i), v = load<V>(all.v + i);
    for (int j = 0; j < V; j++) {
      const float gradient = g.x[j] * scale;
      m.x[j] = u.b1 * m.x[j] + u.c1 * gradient;
      v.x[j] = u.b2 * v.x[j] + u.c2 * gradient * gradient;
      p.x[j] -= u.adaptive ? u.step * m.x[j] / (sqrtf(v.x[j]) * u.rescale + u.epsilon) : u.step * m.x[j];
    }
    store(all.parameters + i, p);
    store(all.m + i, m);
    store(all.v + i, v);
  }
}

} // namespace

void linnet_cuda_update(struct linnet_device *device, const struct linnet_update *u, double clip, const double *squares,
                        const struct linnet_update_arrays *a) {
  const terms t = {(float)u->gradient_scale,
                   (float)u->beta1,
                   (float)u->beta2,
                   (float)(1 - u->beta1),
                   (float)(1 - u->beta2),
                   (float)u->step,
                   (float)u->rescale,
                   (float)u->epsilon,
                   u->adaptive,
                   clip,
                   squares};
  if (a->n == 0)
    return;
  if (by_fours(a->n, a->parameters, a->gradients, a->m, a->v))
    LINNET_LAUNCH(device, update_kernel<4>, linnet_blocks(a->n, 4 * THREADS), THREADS, 0, t, *a);
  else
    LINNET_LAUNCH(device, update_kernel<1>, linnet_blocks(a->n, THREADS), THREADS, 0, t, *a);
}
