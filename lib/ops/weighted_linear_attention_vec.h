/* Weighted linear attention, compiled once per instruction set. */
#ifndef LINNET_WEIGHTED_LINEAR_ATTENTION_VEC_H
#define LINNET_WEIGHTED_LINEAR_ATTENTION_VEC_H

#include "ops/linear_attention_vec.h"
#include "ops/weighted_linear_attention.h"

static void weighted_elu(size_t n, const float *x, float *phi) {
  for (size_t j = 0; j < n; j += VW) {
    vf slope, f = attention_phi(vf_load_part(x + j, n - j), &slope);
    vf_store_part(phi + j, f, n - j);
  }
}

#include "ops/weighted_linear_attention_body.h"

static const struct linnet_attention_ops weighted_linear_attention_vec = {
    .saved_bytes = weighted_saved_bytes,
    .work_bytes = weighted_work_bytes,
    .forward = weighted_forward,
    .backward = weighted_backward,
};

#endif
