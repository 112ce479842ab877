/* The update of Adam and RAdam. */
#ifndef LINNET_OPTIMIZER_VEC_H
#define LINNET_OPTIMIZER_VEC_H

#include "ops/optimizer.h"
#include "ops/vec.h"

struct update_terms {
  float scale, beta1, beta2, rest1, rest2, step, rescale, epsilon; /* rest: 1 - beta */
};

VEC_INLINE void update_lanes(const struct update_terms *u, const bool adaptive, size_t n, float *parameters,
                             const float *gradients, float *m, float *v) {
  vf g = vf_load_part(gradients, n) * u->scale;
  vf first = vf_load_part(m, n) * u->beta1 + g * u->rest1;
  vf second = vf_load_part(v, n) * u->beta2 + g * u->rest2 * g;
  vf change = first * u->step;
  if (adaptive)
    change /= vf_sqrt(second) * u->rescale + u->epsilon;
  vf_store_part(m, first, n);
  vf_store_part(v, second, n);
  vf_store_part(parameters, vf_load_part(parameters, n) - change, n);
}

VEC_INLINE void update_all(const struct update_terms *u, const bool adaptive, size_t n, float *parameters,
                           const float *gradients, float *m, float *v) {
  size_t i = 0;
  for (; i + VW <= n; i += VW)
    update_lanes(u, adaptive, VW, parameters + i, gradients + i, m + i, v + i);
  if (i < n)
    update_lanes(u, adaptive, n - i, parameters + i, gradients + i, m + i, v + i);
}

static void update_vec(const struct linnet_update *u, size_t n, float *parameters, const float *gradients, float *m,
                       float *v) {
  struct update_terms terms = {.scale = (float)u->gradient_scale,
                               .beta1 = (float)u->beta1,
                               .beta2 = (float)u->beta2,
                               .rest1 = (float)(1 - u->beta1), /* in float the error of 1 - beta2 would be 1e-5 */
                               .rest2 = (float)(1 - u->beta2),
                               .step = (float)u->step,
                               .rescale = (float)u->rescale,
                               .epsilon = (float)u->epsilon};
  if (u->adaptive)
    update_all(&terms, true, n, parameters, gradients, m, v);
  else
    update_all(&terms, false, n, parameters, gradients, m, v);
}

#endif
