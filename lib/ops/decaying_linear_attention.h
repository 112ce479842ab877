/* Linear attention whose weights decay with the distance of two frames. Position i of a sequence, head h of the layer,
 * phi the feature map:
 *
 *   w_ij = phi(q_i) . phi(k_j) g^|i - j|,   g = 1 - 2^-(2 + h)
 *   out_i = sum_j w_ij v_j / d_i,           d_i = max(sum_j w_ij, min_normaliser) + epsilon
 *
 * over all j, or over j <= i in the causal kind. The causal kind is retention (Sun et al. 2023, arXiv 2307.08621) with
 * the normaliser of linear attention, without rotated positions, and with faster decay: theirs has 5 + h. Both
 * directions together are a form of LION (Afzal et al. 2025, arXiv 2502.16249). Head 0 forgets half of what it has read
 * after 2.4 frames, head 5 after 88.
 *
 * The sums are those of two recurrences, one in each direction of time, with the state of causal linear attention. So
 * the time is linear in T. Nothing is saved for backward; the workspace holds one head of the longest sequence. */
#ifndef LINNET_DECAYING_LINEAR_ATTENTION_H
#define LINNET_DECAYING_LINEAR_ATTENTION_H

#include "ops/attention.h"
#include "ops/causal_linear_attention.h"

/* The functions of an op table's row, which call the given kernels: the rows of operands, and decaying_scan. */
size_t linnet_decaying_work_bytes(const struct linnet_causal_linear_kernels *kernels, const struct linnet_attention *a,
                                  size_t longest);
void linnet_decaying_forward(const struct linnet_causal_linear_kernels *kernels, const struct linnet_attention_call *c);
void linnet_decaying_backward(const struct linnet_causal_linear_kernels *kernels,
                              const struct linnet_attention_call *c);

/* Before a step of linear attention: makes its state that of the causal kind, S and z of each head times g. */
void linnet_decaying_age_state(const struct linnet_attention *a, real *state);

extern const struct linnet_attention_ops linnet_decaying_linear_attention_reference;
extern const struct linnet_attention_ops linnet_causal_decaying_linear_attention_reference;

#endif
