/* Feature maps of linear attention: phi(q) . phi(k) approximates a similarity of q and k. C is the width of a head, F
 * the width of phi.
 *
 *   map          phi(x)                                        phi(q) . phi(k)                          F
 *   relu         max(x, 0) + 1e-3                              (Choromanski et al. 2021, section 4)     C
 *   polynomial   x_i^2, and sqrt(2) x_i x_j for i < j          (q . k)^2                                C (C + 1) / 2
 *   fourier      [cos(W y), sin(W y)] / sqrt(features)         about exp(-|q - k|^2 / (2 sqrt(C)))      2 features
 *                (Rahimi, Recht 2007; Peng et al. 2021)
 *   positive     exp(W y - |y|^2 / 2) / sqrt(features)         about exp(q . k / sqrt(C))               features
 *                (Choromanski et al. 2021, lemma 1)
 *
 * with y = x / C^(1/4), the scale of softmax attention, and W (features, C) drawn from the normal distribution. The
 * 1e-3 of relu is that of Performer: it keeps the weights of all keys above zero. The exponent of `positive` is at most
 * LINNET_MAX_EXPONENT, so that sums over an hour of frames stay finite.
 *
 * elu + 1 (Katharopoulos et al. 2020) is not a map of this op: attention applies it itself. */
#ifndef LINNET_FEATURE_MAP_H
#define LINNET_FEATURE_MAP_H

#include "ops/pack.h"

/* The feature map that linear attention applies to queries and keys. */
enum linnet_feature_map {
  LINNET_MAP_ELU, /* elu(x) + 1 */
  LINNET_MAP_RELU,
  LINNET_MAP_POLYNOMIAL,
  LINNET_MAP_FOURIER,
  LINNET_MAP_POSITIVE,
  LINNET_MAP_IDENTITY /* queries and keys are mapped before attention */
};

/* A feature map of queries or keys, with the heads side by side: x is (rows, heads * width) with leading dimension
 * x_ld, phi is (rows, heads * F) with phi_ld, F = linnet_feature_map_size. Each gradient has the layout of its tensor.
 */
struct linnet_feature_map_terms {
  enum linnet_feature_map map; /* a map of this op: neither elu nor identity */
  size_t heads, width;
  size_t features;        /* of random maps */
  const real *directions; /* of random maps: W (features, width), shared by the heads */
  size_t x_ld, phi_ld;
};

/* Added to the result of relu. */
#define LINNET_RELU_EPSILON 1e-3

/* e^20 is 5e8: its square times a million frames is far below the maximum of float. */
#define LINNET_MAX_EXPONENT 20

/* The width F of phi(x), for x of this width. `features` is the number of random directions (Fourier, positive). */
static inline size_t linnet_feature_map_size(enum linnet_feature_map map, size_t width, size_t features) {
  switch (map) {
  case LINNET_MAP_POLYNOMIAL:
    return width * (width + 1) / 2;
  case LINNET_MAP_FOURIER:
    return 2 * features;
  case LINNET_MAP_POSITIVE:
    return features;
  default:
    return width;
  }
}

/* Whether the map has directions W. */
static inline bool linnet_feature_map_random(enum linnet_feature_map map) {
  return map == LINNET_MAP_FOURIER || map == LINNET_MAP_POSITIVE;
}

/* backward computes dx from x, phi(x) and dphi. */
void linnet_feature_map_forward_reference(const struct linnet_feature_map_terms *m, size_t rows, const real *x,
                                          real *phi, real *work);
void linnet_feature_map_backward_reference(const struct linnet_feature_map_terms *m, size_t rows, const real *x,
                                           const real *phi, const real *dphi, real *dx, real *work);

#endif
