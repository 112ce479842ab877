/* Cross entropy of frames against known symbols. */
#ifndef LINNET_FRAME_TARGETS_VEC_H
#define LINNET_FRAME_TARGETS_VEC_H

#include "ops/frame_targets.h"
#include "ops/log_softmax_vec.h"

/* Of the symbols without blank: `symbols`, and the target's index among them. */
static double frame_targets_row(size_t symbols, size_t target, float scale, const float *logits, float *gradient_add) {
  const float shift = log_softmax_shift(symbols, logits);
  for (size_t k = 0; k < symbols; k += VW) {
    size_t n = linnet_min_size(VW, symbols - k);
    vf q = vf_exp_negative(vf_load_part(logits + k, n) - shift);
    vf_store_part(gradient_add + k, vf_load_part(gradient_add + k, n) + q * scale, n);
  }
  gradient_add[target] -= scale;
  return (double)shift - logits[target];
}

static double frame_targets_vec(const struct linnet_frame_targets *f) {
  double sum = 0;
  for (size_t t = 0; t < f->frames; t++)
    if (f->targets[t] > 0)
      sum += frame_targets_row(f->symbols - 1, (size_t)f->targets[t] - 1, f->scale, f->logits + t * f->symbols + 1,
                               f->gradient_add + t * f->symbols + 1);
  return sum;
}

#endif
