/* Linear attention with decay, with the kernels of causal linear attention. */
#ifndef LINNET_DECAYING_LINEAR_ATTENTION_VEC_H
#define LINNET_DECAYING_LINEAR_ATTENTION_VEC_H

#include "ops/causal_linear_attention_vec.h"
#include "ops/decaying_linear_attention.h"

static size_t decaying_work_bytes(const struct linnet_attention *a, size_t longest) {
  return linnet_decaying_work_bytes(&causal_linear_kernels, a, longest);
}

static void decaying_forward_vec(const struct linnet_attention_call *c) {
  linnet_decaying_forward(&causal_linear_kernels, c);
}

static void decaying_backward_vec(const struct linnet_attention_call *c) {
  linnet_decaying_backward(&causal_linear_kernels, c);
}

static void decaying_step_vec(const struct linnet_attention *a, size_t steps, const float *q, const float *k,
                              const float *v, float *state, float *out) {
  (void)steps;
  linnet_decaying_age_state(a, state);
  linear_step_vec(a, q, k, v, state, out);
}

static const struct linnet_attention_ops decaying_linear_attention_vec = {
    .saved_bytes = linnet_causal_linear_saved_bytes,
    .work_bytes = decaying_work_bytes,
    .forward = decaying_forward_vec,
    .backward = decaying_backward_vec,
};

static const struct linnet_attention_ops causal_decaying_linear_attention_vec = {
    .saved_bytes = linnet_causal_linear_saved_bytes,
    .work_bytes = decaying_work_bytes,
    .forward = decaying_forward_vec,
    .backward = decaying_backward_vec,
    .state_size = linnet_causal_linear_state_size,
    .step = decaying_step_vec,
};

#endif
