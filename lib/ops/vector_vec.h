/* Sums over vectors. */
#ifndef LINNET_VECTOR_VEC_H
#define LINNET_VECTOR_VEC_H

#include "ops/vec.h"
#include "ops/vector.h"

typedef double vd __attribute__((vector_size(4 * VW)));
typedef float vf_half __attribute__((vector_size(2 * VW), aligned(4), may_alias));

/* Four chains of VW / 2 doubles, folded at the end. */
static double sum_of_squares_vec(size_t n, const float *x) {
  enum { HALF = VW / 2 };
  vd sums[4] = {{0}};
  size_t i = 0;
  for (; i + 4 * HALF <= n; i += 4 * HALF) {
    VEC_UNROLL
    for (size_t j = 0; j < 4; j++) {
      vd v = __builtin_convertvector(*(const vf_half *)(x + i + j * HALF), vd);
      sums[j] += v * v;
    }
  }
  vd sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double total = 0;
  for (size_t j = 0; j < HALF; j++)
    total += sum[j];
  for (; i < n; i++)
    total += (double)x[i] * x[i];
  return total;
}

static void add_vec(size_t n, const float *x, float *y_add) {
  size_t i = 0;
  for (; i + VW <= n; i += VW)
    vf_store(y_add + i, vf_load(y_add + i) + vf_load(x + i));
  if (i < n)
    vf_store_n(y_add + i, vf_load_n(y_add + i, n - i) + vf_load_n(x + i, n - i), n - i);
}

static void average_vec(size_t n, double weight, const float *x, float *average_add) {
  const float w = (float)weight;
  for (size_t i = 0; i < n; i += VW) {
    vf a = vf_load_part(average_add + i, n - i);
    vf_store_part(average_add + i, a + (vf_load_part(x + i, n - i) - a) * w, n - i);
  }
}

/* Each block of rows has a sum of its own: smaller sums have smaller rounding errors. */
enum { COLUMN_SUM_ROWS = 64, COLUMN_SUM_VECTORS = 4 };

VEC_INLINE void column_sum_block(size_t rows, size_t width, const size_t vectors, size_t columns, const float *x,
                                 float *sums_add) {
  vf sum[COLUMN_SUM_VECTORS];
  VEC_UNROLL
  for (size_t j = 0; j < vectors; j++)
    sum[j] = vf_set(0);
  for (size_t t = 0; t < rows; t++, x += width)
    VEC_UNROLL
  for (size_t j = 0; j < vectors; j++)
    sum[j] += vf_load_part(x + j * VW, columns - j * VW);
  VEC_UNROLL
  for (size_t j = 0; j < vectors; j++) {
    float *to = sums_add + j * VW;
    vf_store_part(to, vf_load_part(to, columns - j * VW) + sum[j], columns - j * VW);
  }
}

static void column_sum_vec(size_t rows, size_t width, const float *x, float *sums_add) {
  for (size_t t = 0; t < rows; t += COLUMN_SUM_ROWS) {
    size_t height = linnet_min_size(COLUMN_SUM_ROWS, rows - t), c = 0;
    for (; c + COLUMN_SUM_VECTORS * VW <= width; c += COLUMN_SUM_VECTORS * VW)
      column_sum_block(height, width, COLUMN_SUM_VECTORS, COLUMN_SUM_VECTORS * VW, x + t * width + c, sums_add + c);
    for (; c < width; c += VW)
      column_sum_block(height, width, 1, linnet_min_size(VW, width - c), x + t * width + c, sums_add + c);
  }
}

#endif
