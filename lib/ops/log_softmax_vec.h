/* Log-softmax over rows. */
#ifndef LINNET_LOG_SOFTMAX_VEC_H
#define LINNET_LOG_SOFTMAX_VEC_H

#include "ops/log_softmax.h"
#include "ops/vec.h"

/* The logarithm of the sum of exponentials of a row. */
static float log_softmax_shift(size_t width, const float *x) {
  const vf none = vf_set(0);
  size_t full = width / VW * VW, rest = width - full;
  vf sum = none;
  float largest = vf_row_largest(width, x);
  for (size_t c = 0; c < full; c += VW)
    sum += vf_exp_negative(vf_load(x + c) - largest);
  if (rest)
    sum += vf_select(vi_first(rest), vf_exp_negative(vf_load_n(x + full, rest) - largest), none);
  return largest + logf(vf_sum(sum));
}

static void log_softmax_vec(size_t rows, size_t width, const float *x, float *y) {
  for (size_t t = 0; t < rows; t++, x += width, y += width) {
    float shift = log_softmax_shift(width, x);
    for (size_t c = 0; c < width; c += VW)
      vf_store_part(y + c, vf_load_part(x + c, width - c) - shift, width - c);
  }
}

#endif
