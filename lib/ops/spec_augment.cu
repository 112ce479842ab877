/* SpecAugment: one launch over all features of a batch. It writes only elements that a mask covers, and reads only
 * masks. */
#include "backend/cuda/kernel.h"

extern "C" {
#include "ops/spec_augment.h"
}

namespace {

enum { THREADS = 256 };

static __device__ bool covered(const struct linnet_feature_mask *masks, size_t count, size_t frame, size_t channel) {
  for (size_t i = 0; i < count; i++) { /* unsigned differences wrap around for positions before a mask */
    const struct linnet_feature_mask &m = masks[i];
    if (frame - m.first_frame < m.num_frames && channel - m.first_channel < m.num_channels)
      return true;
  }
  return false;
}

/* Block: a piece. */
template <class T>
static __global__ void __launch_bounds__(THREADS) mask_kernel(struct linnet_cuda_pack p, struct linnet_masks m, T *x) {
  const struct linnet_cuda_piece piece = p.table[blockIdx.x];
  const struct linnet_feature_mask *masks = m.masks + piece.sequence * m.count;
  const size_t first = (piece.first - p.offsets[piece.sequence]) * m.stack;
  T *rows = x + piece.first * m.stack * m.channels;
  for (size_t i = threadIdx.x; i < piece.rows * m.stack * m.channels; i += THREADS)
    if (covered(masks, m.count, first + i / m.channels, i % m.channels))
      rows[i] = T();
}

template <class T>
void mask(struct linnet_device *device, const struct linnet_cuda_pack *p, const struct linnet_masks *m, T *x) {
  if (p->pieces > 0 && m->count > 0)
    LINNET_LAUNCH(device, mask_kernel<T>, (unsigned)p->pieces, THREADS, 0, *p, *m, x);
}

} // namespace

void linnet_cuda_spec_augment(struct linnet_device *device, const struct linnet_cuda_pack *p,
                              const struct linnet_masks *m, void *x) {
  for_activations(device, [&](auto as) { mask(device, p, m, as(x)); });
}
