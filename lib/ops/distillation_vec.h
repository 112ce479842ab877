/* Distillation from a fixed teacher network. */
#ifndef LINNET_DISTILLATION_VEC_H
#define LINNET_DISTILLATION_VEC_H

#include "ops/distillation.h"
#include "ops/log_softmax_vec.h"

static double distillation_row(size_t symbols, float scale, const float *teacher, const float *student,
                               float *gradient_add) {
  const vf none = vf_set(0);
  const float shift_p = log_softmax_shift(symbols, teacher), shift_q = log_softmax_shift(symbols, student);
  vf sum = none;
  for (size_t k = 0; k < symbols; k += VW) {
    size_t n = linnet_min_size(VW, symbols - k);
    vf log_p = vf_load_part(teacher + k, n) - shift_p, log_q = vf_load_part(student + k, n) - shift_q;
    vf p = vf_select(vi_first(n), vf_exp_negative(log_p), none);
    sum += vf_select(p == 0, none, p * (log_p - log_q));
    vf_store_part(gradient_add + k, vf_load_part(gradient_add + k, n) + (vf_exp_negative(log_q) - p) * scale, n);
  }
  return vf_sum(sum);
}

static double distillation_vec(const struct linnet_distillation *d) {
  double sum = 0;
  for (size_t row = 0; row < d->frames * d->symbols; row += d->symbols)
    sum += distillation_row(d->symbols, d->scale, d->teacher + row, d->student + row, d->gradient_add + row);
  return sum;
}

#endif
