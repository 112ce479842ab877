/* Layer normalisation of LAYERNORM_ROWS rows at a time: their chains of additions run in parallel, and the gradients of
 * gain and bias are read and written once for all of these rows. A sum over a row has VW partial sums, which are folded
 * at the end. */
#ifndef LINNET_LAYERNORM_VEC_H
#define LINNET_LAYERNORM_VEC_H

#include "ops/layernorm.h"
#include "ops/vec.h"

enum { LAYERNORM_ROWS = 4 };

VEC_INLINE void layernorm_means(const size_t rows, size_t width, const float *x, float *mean) {
  vf sum[LAYERNORM_ROWS];
  VEC_UNROLL
  for (size_t t = 0; t < rows; t++)
    sum[t] = vf_set(0);
  for (size_t c = 0; c < width; c += VW)
    VEC_UNROLL
  for (size_t t = 0; t < rows; t++)
    sum[t] += vf_load_part(x + t * width + c, width - c);
  VEC_UNROLL
  for (size_t t = 0; t < rows; t++)
    mean[t] = vf_sum(sum[t]) / (float)width;
}

VEC_INLINE void layernorm_rstds(const size_t rows, size_t width, const float *x, const float *mean, float *rstd) {
  const vf none = vf_set(0);
  vf sum[LAYERNORM_ROWS];
  size_t full = width / VW * VW;
  VEC_UNROLL
  for (size_t t = 0; t < rows; t++)
    sum[t] = none;
  for (size_t c = 0; c < full; c += VW)
    VEC_UNROLL
  for (size_t t = 0; t < rows; t++) {
    vf d = vf_load(x + t * width + c) - mean[t];
    sum[t] += d * d;
  }
  VEC_UNROLL
  for (size_t t = 0; t < rows; t++) {
    vf d = vf_load_n(x + t * width + full, width - full) - mean[t];
    d = vf_select(vi_first(width - full), d, none);
    rstd[t] = 1 / sqrtf(vf_sum(sum[t] + d * d) / (float)width + (float)LINNET_LAYERNORM_EPSILON);
  }
}

VEC_INLINE void layernorm_forward_rows(const size_t rows, size_t width, const float *x, const float *gain,
                                       const float *bias, float *y, float *mean, float *rstd) {
  layernorm_means(rows, width, x, mean);
  layernorm_rstds(rows, width, x, mean, rstd);
  for (size_t c = 0; c < width; c += VW) {
    size_t n = width - c;
    vf g = vf_load_part(gain + c, n), b = vf_load_part(bias + c, n);
    VEC_UNROLL
    for (size_t t = 0; t < rows; t++)
      vf_store_part(y + t * width + c, (vf_load_part(x + t * width + c, n) - mean[t]) * rstd[t] * g + b, n);
  }
}

static void layernorm_forward_vec(const struct linnet_layernorm *n) {
  const size_t rows = n->rows, width = n->width;
  const float *x = n->x;
  float *y = n->y;
  for (size_t t = 0; t < rows;) {
    float mean[LAYERNORM_ROWS], rstd[LAYERNORM_ROWS];
    size_t count = rows - t >= LAYERNORM_ROWS ? LAYERNORM_ROWS : 1;
    if (count == LAYERNORM_ROWS)
      layernorm_forward_rows(LAYERNORM_ROWS, width, x + t * width, n->gain, n->bias, y + t * width, mean, rstd);
    else
      layernorm_forward_rows(1, width, x + t * width, n->gain, n->bias, y + t * width, mean, rstd);
    if (n->mean)
      memcpy(n->mean + t, mean, count * sizeof *mean);
    if (n->rstd)
      memcpy(n->rstd + t, rstd, count * sizeof *rstd);
    t += count;
  }
}

/* Formulas: layernorm.c. */
VEC_INLINE void layernorm_backward_rows(const size_t rows, const struct linnet_layernorm *l, size_t first) {
  const size_t width = l->width, start = first * width;
  const float *x = (const float *)l->x + start, *dy = (const float *)l->dy + start;
  const float *residual = l->residual ? (const float *)l->residual + start : NULL;
  const float *gain = l->gain, *mean = l->mean + first, *rstd = l->rstd + first;
  float *dx = (float *)l->dx + start, *dgain_add = l->dgain_add, *dbias_add = l->dbias_add;
  vf sum[LAYERNORM_ROWS], projected[LAYERNORM_ROWS];
  VEC_UNROLL
  for (size_t t = 0; t < rows; t++)
    sum[t] = projected[t] = vf_set(0);
  for (size_t c = 0; c < width; c += VW) {
    size_t n = width - c;
    vf g = vf_load_part(gain + c, n), dgain = vf_load_part(dgain_add + c, n), dbias = vf_load_part(dbias_add + c, n);
    VEC_UNROLL
    for (size_t t = 0; t < rows; t++) {
      vf d = vf_load_part(dy + t * width + c, n), normal = (vf_load_part(x + t * width + c, n) - mean[t]) * rstd[t];
      dgain += d * normal;
      dbias += d;
      sum[t] += d * g;
      projected[t] += d * g * normal;
    }
    vf_store_part(dgain_add + c, dgain, n);
    vf_store_part(dbias_add + c, dbias, n);
  }
  VEC_UNROLL
  for (size_t t = 0; t < rows; t++) {
    float mean_sum = vf_sum(sum[t]) / (float)width, mean_projected = vf_sum(projected[t]) / (float)width;
    for (size_t c = 0; c < width; c += VW) {
      size_t n = width - c, at = t * width + c;
      vf normal = (vf_load_part(x + at, n) - mean[t]) * rstd[t];
      vf d = vf_load_part(dy + at, n) * vf_load_part(gain + c, n);
      d = (d - mean_sum - normal * mean_projected) * rstd[t];
      vf_store_part(dx + at, residual ? vf_load_part(residual + at, n) + d : d, n);
    }
  }
}

static void layernorm_backward_vec(const struct linnet_layernorm *l) {
  size_t t = 0;
  for (; t + LAYERNORM_ROWS <= l->rows; t += LAYERNORM_ROWS)
    layernorm_backward_rows(LAYERNORM_ROWS, l, t);
  for (; t < l->rows; t++)
    layernorm_backward_rows(1, l, t);
}

#endif
