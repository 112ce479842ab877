/* Linear attention (Katharopoulos et al. 2020, eq. 5-7): the C reference. */
#ifndef LINNET_LINEAR_ATTENTION_H
#define LINNET_LINEAR_ATTENTION_H

#include "backend/backend.h"

/* Added to the normaliser. */
#define LINNET_ATTENTION_EPSILON 1e-6

void linnet_linear_accumulate_reference(const struct linnet_attention *a, size_t rows, const real *k, const real *v,
                                        real *state_add);
void linnet_linear_apply_reference(const struct linnet_attention *a, size_t rows, const real *q, const real *state,
                                   real *out);

/* Saved: the state of each sequence. Work: two states and room for the operands of a block. */
size_t linnet_linear_saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences);
size_t linnet_linear_work_bytes(const struct linnet_attention *a, size_t longest);

extern const struct linnet_attention_ops linnet_linear_attention_reference;

#endif
