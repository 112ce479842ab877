/* Linear attention of all frames whose weights also depend on the distance of two frames, or on the magnitude of the
 * query. Position i of a sequence of T frames, phi the feature map, C the features of a head:
 *
 *   cosine     w_ij = phi(q_i) . phi(k_j) cos(pi/2 (i - j) / T)              (cosFormer, Qin et al. 2022)
 *   rotary     w_ij = R_i phi(q_i) . R_j phi(k_j)                            (RoFormer, Su et al. 2021, section 3.3)
 *   decay      w_ij = phi(q_i) . phi(k_j) g^|i - j|, g = 1 - 2^-(2 + h) in head h
 *   magnitude  w_ij = phi(q_i) . phi(k_j) / (T sqrt(C))                      (MALA, Fan et al. 2025)
 *
 * R_i turns features 2 p and 2 p + 1 by i / 10000^(2p/C); the last feature of an odd C stays. Outputs, with the sum s_i
 * of a row's weights (of rotary weights: without R), at least min_normaliser, and the mean value m:
 *
 *   out_i = sum_j w_ij v_j / (s_i + epsilon)
 *   out_i = (1 + 1 / (s_i + epsilon)) sum_j w_ij v_j - s_i m    with magnitude: a longer query has sharper weights
 *
 * A kind may have several of these properties. All take linear time: see weighted_linear_attention_body.h. */
#ifndef LINNET_WEIGHTED_LINEAR_ATTENTION_H
#define LINNET_WEIGHTED_LINEAR_ATTENTION_H

#include "ops/attention.h"

/* What the weights of a kind depend on. */
struct linnet_weighting {
  bool cosine, rotary, decay, magnitude;
};

extern const struct linnet_weighting linnet_weightings[LINNET_ATTENTION_KINDS];

extern const struct linnet_attention_ops linnet_weighted_linear_attention_reference;

#endif
