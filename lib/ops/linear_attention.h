/* Linear attention (Katharopoulos et al. 2020, eq. 5-7): the C reference.
 *
 * If a normaliser phi(q) . z is below `min_normaliser`, it is replaced by that, and backward treats it as a constant.
 * Sums of random Fourier features are estimates, which may be 0 or negative if no key is near the query. There it is
 * LINNET_FOURIER_MIN_NORMALISER, the contribution of one key that equals the query. Outputs then go to zero instead of
 * growing without bound. Feature maps whose features are positive or make a square have no such bound: min_normaliser
 * is 0. They lose precision where the normaliser is small:
 *
 * - positive: where it is not far above LINNET_ATTENTION_EPSILON, outputs and gradients fade; of 64 features and 200
 *   keys of width 32, they begin to do so if queries and keys have an rms of 2.5, and are gone with 4;
 * - polynomial: (q . k)^2 is a sum of terms of both signs. If q is nearly orthogonal to all keys, such as to the only
 *   key of the first frame of a causal layer, rounding can make the sum 0 or negative, and gradients large. */
#ifndef LINNET_LINEAR_ATTENTION_H
#define LINNET_LINEAR_ATTENTION_H

#include "ops/attention.h"

/* Added to the normaliser. */
#define LINNET_ATTENTION_EPSILON 1e-6
#define LINNET_FOURIER_MIN_NORMALISER 1

/* Linear attention in parts. `state` of a sequence: per head S (key_width, width), then z (key_width). accumulate adds
 * rows of keys and values to the state; apply computes the outputs of queries from it. */
void linnet_linear_accumulate_reference(const struct linnet_attention *a, size_t rows, const real *k, const real *v,
                                        real *state_add);
void linnet_linear_apply_reference(const struct linnet_attention *a, size_t rows, const real *q, const real *state,
                                   real *out);

/* Saved: the state of each sequence. Work: two states, and scratch for the operands of a block. */
size_t linnet_linear_saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences);
size_t linnet_linear_work_bytes(const struct linnet_attention *a, size_t longest);

extern const struct linnet_attention_ops linnet_linear_attention_reference;

#endif
