/* Consistency of two views of a sequence. */
#ifndef LINNET_CONSISTENCY_VEC_H
#define LINNET_CONSISTENCY_VEC_H

#include "ops/consistency.h"
#include "ops/log_softmax_vec.h"

static double consistency_row(size_t symbols, float scale, const float *a, const float *b, float *da_add,
                              float *db_add) {
  const vf none = vf_set(0);
  const float shift_a = log_softmax_shift(symbols, a), shift_b = log_softmax_shift(symbols, b);
  vf sum = none;
  for (size_t k = 0; k < symbols; k += VW) {
    size_t n = linnet_min_size(VW, symbols - k);
    vf log_a = vf_load_part(a + k, n) - shift_a, log_b = vf_load_part(b + k, n) - shift_b;
    vf difference = vf_select(vi_first(n), vf_exp_negative(log_a) - vf_exp_negative(log_b), none);
    sum += vf_select(difference == 0, none, difference * (log_a - log_b));
    vf_store_part(da_add + k, vf_load_part(da_add + k, n) + difference * scale, n);
    vf_store_part(db_add + k, vf_load_part(db_add + k, n) - difference * scale, n);
  }
  return vf_sum(sum);
}

static double consistency_vec(const struct linnet_consistency *c) {
  double sum = 0;
  for (size_t t = 0; t < c->frames; t++) {
    size_t row = t * c->symbols;
    sum += consistency_row(c->symbols, 0.5f * c->scale, c->a + row, c->b + row, c->gradient_a_add + row,
                           c->gradient_b_add + row);
  }
  return sum / 2;
}

#endif
