/* Feature maps of linear attention: phi(q) . phi(k) stands for a similarity of q and k. C is the width of a head, F
 * that of phi.
 *
 *   map          phi(x)                                        phi(q) . phi(k)                          F
 *   relu         max(x, 0) + 1e-3                              (Choromanski et al. 2021, section 4)     C
 *   polynomial   x_i^2, and sqrt(2) x_i x_j for i < j          (q . k)^2                                C (C + 1) / 2
 *   fourier      [cos(W y), sin(W y)] / sqrt(features)         about exp(-|q - k|^2 / (2 sqrt(C)))      2 features
 *                (Rahimi, Recht 2007; Peng et al. 2021)
 *   positive     exp(W y - |y|^2 / 2) / sqrt(features)         about exp(q . k / sqrt(C))               features
 *                (Choromanski et al. 2021, lemma 1)
 *
 * with y = x / C^(1/4), which is softmax attention's scale, and W (features, C) drawn from the normal distribution. The
 * 1e-3 of relu is Performer's: a query never loses all its keys. The exponent of `positive` is at most
 * LINNET_MAX_EXPONENT: sums over an hour of frames stay finite.
 *
 * elu + 1 (Katharopoulos et al. 2020) is no map of this op: attention applies it itself. */
#ifndef LINNET_FEATURE_MAP_H
#define LINNET_FEATURE_MAP_H

#include "ops/pack.h"

/* What linear attention applies to queries and keys; see ops/feature_map.h. */
enum linnet_feature_map {
  LINNET_MAP_ELU, /* elu(x) + 1 */
  LINNET_MAP_RELU,
  LINNET_MAP_POLYNOMIAL,
  LINNET_MAP_FOURIER,
  LINNET_MAP_POSITIVE,
  LINNET_MAP_IDENTITY /* they were mapped before */
};

/* A feature map of queries or keys, heads side by side: x is (rows, heads * width) with leading dimension x_ld, phi is
 * (rows, heads * F) with phi_ld, F = linnet_feature_map_size; gradients lie as what they belong to. */
struct linnet_feature_map_terms {
  enum linnet_feature_map map; /* one that attention does not apply itself: neither elu nor identity */
  size_t heads, width;
  size_t features;        /* random maps */
  const real *directions; /* random maps: W (features, width), shared by the heads */
  size_t x_ld, phi_ld;
};

/* Added to relu. */
#define LINNET_RELU_EPSILON 1e-3

/* e^20 is 5e8: the square of it times a million frames is far from the end of float. */
#define LINNET_MAX_EXPONENT 20

/* Width of phi(x) for x of `width`; `features` is the number of random directions (Fourier, positive). */
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

/* backward writes dx from x, phi(x) and dphi. */
void linnet_feature_map_forward_reference(const struct linnet_feature_map_terms *m, size_t rows, const real *x,
                                          real *phi, real *work);
void linnet_feature_map_backward_reference(const struct linnet_feature_map_terms *m, size_t rows, const real *x,
                                           const real *phi, const real *dphi, real *dx, real *work);

#endif
