/* Linear attention (Katharopoulos et al. 2020, eq. 5-7), phi(x) = elu(x) + 1: the C reference. */
#ifndef LINNET_LINEAR_ATTENTION_H
#define LINNET_LINEAR_ATTENTION_H

#include "backend/backend.h"

/* Added to the normaliser. */
#define LINNET_ATTENTION_EPSILON 1e-6

void linnet_attention_accumulate_reference(const struct linnet_attention_shape *s, size_t rows, const real *k,
                                           const real *v, real *state_add);
void linnet_attention_apply_reference(const struct linnet_attention_shape *s, size_t rows, const real *q,
                                      const real *state, real *out);
void linnet_attention_forward_reference(const struct linnet_attention_shape *s, const struct linnet_pack *p,
                                        const real *q, const real *k, const real *v, real *state, real *out);
void linnet_attention_backward_reference(const struct linnet_attention_shape *s, const struct linnet_pack *p,
                                         const real *q, const real *k, const real *v, const real *state,
                                         const real *out, const real *dout, real *dq, real *dk, real *dv, real *work);

#endif
