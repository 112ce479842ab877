/* The mask of ops/dropout.c on the device: the same random numbers, the same bits. */
#ifndef LINNET_CUDA_DROPOUT_MASK_H
#define LINNET_CUDA_DROPOUT_MASK_H

#include "backend/cuda/kernel.h"

extern "C" {
#include "base/philox.h"
#include "ops/dropout.h"
}

struct dropout_mask {
  uint64_t seed, high; /* key, and the upper half of the counter */
  uint64_t first;      /* index in the whole batch of this call's element 0 */
  uint32_t threshold;  /* 0: nothing is dropped */
  float scale;
};

static inline dropout_mask dropout_mask_of(const struct linnet_dropout *d, size_t width) {
  return dropout_mask{d->seed, (uint64_t)d->step << 32 | d->site, d->row * width, linnet_dropout_threshold(d->rate),
                      (float)linnet_dropout_scale(d->rate)};
}

enum { DROPOUT_GROUP = 8 }; /* number of elements that one call of Philox decides on */

/* v = mask * v / (1 - rate) for the elements at, at + 1, ... of the group that `random` belongs to. */
template <int V>
static __device__ __forceinline__ void masked(const dropout_mask &m, const struct linnet_philox &random, int at,
                                              floats<V> *v) {
  for (int i = 0; i < V; i++, at++) {
    uint32_t word = random.word[0]; /* selected without an address, so that the words stay in registers */
    word = at / 2 == 1 ? random.word[1] : word;
    word = at / 2 == 2 ? random.word[2] : word;
    word = at / 2 == 3 ? random.word[3] : word;
    const uint32_t draw = at % 2 ? word >> 16 : word & 0xFFFF;
    v->x[i] = draw >= m.threshold ? __fmul_rn(v->x[i], m.scale) : 0; /* rounded as in dropout.c */
  }
}

/* For elements e ... e + V - 1, which are in one group. */
template <int V> static __device__ __forceinline__ void masked(const dropout_mask &m, uint64_t e, floats<V> *v) {
  if (m.threshold == 0)
    return;
  const uint64_t element = m.first + e;
  const struct linnet_philox random = linnet_philox(m.seed, m.high, element / DROPOUT_GROUP);
  masked(m, random, (int)(element % DROPOUT_GROUP), v);
}

/* Calls f(e, drop) for elements e = 0, V, 2 V ... of n; drop(&v) applies the mask to a floats<V> of them. A thread
 * processes a group, for which it calls Philox once. Groups are counted over the whole batch: the first group may begin
 * before the n elements, and the last may end after them. */
template <int V, class F> static __device__ __forceinline__ void for_groups(const dropout_mask &m, size_t n, F f) {
  const size_t before = m.first % DROPOUT_GROUP, groups = linnet_divide_up(before + n, DROPOUT_GROUP);
  for (size_t g = (size_t)blockIdx.x * blockDim.x + threadIdx.x; g < groups; g += (size_t)gridDim.x * blockDim.x) {
    struct linnet_philox random = {};
    if (m.threshold > 0)
      random = linnet_philox(m.seed, m.high, m.first / DROPOUT_GROUP + g);
#pragma unroll
    for (int at = 0; at < DROPOUT_GROUP; at += V) {
      const size_t e = g * DROPOUT_GROUP + at;
      if (e >= before && e - before < n)
        f(e - before, [&](floats<V> *v) {
          if (m.threshold > 0)
            masked(m, random, at, v);
        });
    }
  }
}

/* The number of blocks with `threads` threads each for n elements. dropout_by_fours: whether they can be read four at a
 * time. */
static inline unsigned dropout_blocks(size_t n, size_t threads) {
  return linnet_blocks(n + DROPOUT_GROUP, threads * DROPOUT_GROUP);
}

template <class... Pointers> static inline bool dropout_by_fours(const dropout_mask &m, size_t n, Pointers... all) {
  return by_fours(n, all...) && m.first % 4 == 0;
}

#endif
