/* The mask of ops/dropout.c on the device: the same draws, the same bits. */
#ifndef LINNET_CUDA_DROPOUT_MASK_H
#define LINNET_CUDA_DROPOUT_MASK_H

#include "backend/cuda/kernel.h"

extern "C" {
#include "base/philox.h"
#include "ops/dropout.h"
}

struct dropout_mask {
  uint64_t seed, high; /* key, and the upper half of the counter */
  uint64_t first;      /* element of the whole batch that is element 0 here */
  uint32_t threshold;  /* 0: all are kept */
  float scale;
};

static inline dropout_mask dropout_mask_of(const struct linnet_dropout *d, size_t width) {
  return dropout_mask{d->seed, (uint64_t)d->step << 32 | d->site, d->row * width, linnet_dropout_threshold(d->rate),
                      (float)linnet_dropout_scale(d->rate)};
}

/* v = mask * v / (1 - rate) for elements e ... e + V - 1, which lie in one group of eight. */
template <int V> static __device__ __forceinline__ void masked(const dropout_mask &m, uint64_t e, floats<V> *v) {
  if (m.threshold == 0)
    return;
  const uint64_t element = m.first + e;
  const struct linnet_philox random = linnet_philox(m.seed, m.high, element / 8);
  for (int i = 0; i < V; i++) {
    const int at = (int)(element % 8) + i;
    uint32_t word = random.word[0]; /* selected without an address, so that the words stay in registers */
    word = at / 2 == 1 ? random.word[1] : word;
    word = at / 2 == 2 ? random.word[2] : word;
    word = at / 2 == 3 ? random.word[3] : word;
    const uint32_t draw = at % 2 ? word >> 16 : word & 0xFFFF;
    v->x[i] = draw >= m.threshold ? __fmul_rn(v->x[i], m.scale) : 0; /* rounded as in dropout.c */
  }
}

#endif
