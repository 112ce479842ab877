/* The C reference of weighted linear attention, and the table of its kinds. */
#include "ops/weighted_linear_attention.h"

const struct linnet_weighting linnet_weightings[LINNET_ATTENTION_KINDS] = {
    [LINNET_ATTENTION_LINEAR_COSINE] = {.cosine = true},
    [LINNET_ATTENTION_LINEAR_ROTARY] = {.rotary = true},
    [LINNET_ATTENTION_LINEAR_DECAY] = {.decay = true},
    [LINNET_ATTENTION_LINEAR_MAGNITUDE] = {.magnitude = true},
    [LINNET_ATTENTION_LINEAR_ROTARY_MAGNITUDE] = {.rotary = true, .magnitude = true},
    [LINNET_ATTENTION_LINEAR_DECAY_MAGNITUDE] = {.decay = true, .magnitude = true},
    [LINNET_ATTENTION_LINEAR_ROTARY_DECAY] = {.rotary = true, .decay = true},
};

static void weighted_elu(size_t n, const real *x, real *phi) {
  for (size_t i = 0; i < n; i++)
    phi[i] = x[i] > 0 ? x[i] + 1 : real_exp(x[i]);
}

#include "ops/weighted_linear_attention_body.h"

const struct linnet_attention_ops linnet_weighted_linear_attention_reference = {
    .saved_bytes = weighted_saved_bytes,
    .work_bytes = weighted_work_bytes,
    .forward = weighted_forward,
    .backward = weighted_backward,
};
