/* Per head, with y = s x, s = C^(-1/4), u = W y, n = 1 / sqrt(features). Backward reads phi itself where it can, to
 * avoid computing the function again:
 *
 *   relu        dx = dphi where x > 0
 *   polynomial  dx_i = 2 x_i dphi_ii + sqrt(2) sum_{j != i} x_j dphi_ij
 *   fourier     g_f = cos_f dsin_f - sin_f dcos_f                     dx = s W^T g
 *   positive    g_f = phi_f dphi_f, or 0 if the exponent is capped    dx = s W^T g - s^2 x sum_f g_f
 */
#include "ops/feature_map.h"

#include <assert.h>

static real input_scale(const struct linnet_feature_map_terms *m) {
  return 1 / real_sqrt(real_sqrt((real)m->width));
}

static real feature_scale(const struct linnet_feature_map_terms *m) {
  return 1 / real_sqrt((real)m->features);
}

static real dot(size_t n, const real *x, const real *y) {
  real sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

/* --- one head of one row: x (C), phi (F) ------------------------------------------------------------------------- */

static void relu_forward(const struct linnet_feature_map_terms *m, const real *x, real *phi) {
  for (size_t i = 0; i < m->width; i++)
    phi[i] = (x[i] <= 0 ? 0 : x[i]) + (real)LINNET_RELU_EPSILON;
}

static void relu_backward(const struct linnet_feature_map_terms *m, const real *x, const real *phi, const real *dphi,
                          real *dx) {
  (void)phi;
  for (size_t i = 0; i < m->width; i++)
    dx[i] = x[i] > 0 ? dphi[i] : 0;
}

static void polynomial_forward(const struct linnet_feature_map_terms *m, const real *x, real *phi) {
  const real root = real_sqrt(2);
  for (size_t i = 0; i < m->width; i++) {
    *phi++ = x[i] * x[i];
    for (size_t j = i + 1; j < m->width; j++)
      *phi++ = root * x[i] * x[j];
  }
}

static void polynomial_backward(const struct linnet_feature_map_terms *m, const real *x, const real *phi,
                                const real *dphi, real *dx) {
  const real root = real_sqrt(2);
  (void)phi;
  for (size_t i = 0; i < m->width; i++)
    dx[i] = 0;
  for (size_t i = 0; i < m->width; i++) {
    dx[i] += 2 * x[i] * *dphi++;
    for (size_t j = i + 1; j < m->width; j++, dphi++) {
      dx[i] += root * x[j] * *dphi;
      dx[j] += root * x[i] * *dphi;
    }
  }
}

static void fourier_forward(const struct linnet_feature_map_terms *m, const real *x, real *phi) {
  const real s = input_scale(m), n = feature_scale(m);
  for (size_t f = 0; f < m->features; f++) {
    real u = s * dot(m->width, m->directions + f * m->width, x);
    phi[f] = n * real_cos(u);
    phi[m->features + f] = n * real_sin(u);
  }
}

/* dx += g W_f */
static void add_direction(const struct linnet_feature_map_terms *m, size_t f, real g, real *dx) {
  const real *w = m->directions + f * m->width;
  for (size_t i = 0; i < m->width; i++)
    dx[i] += g * w[i];
}

static void fourier_backward(const struct linnet_feature_map_terms *m, const real *x, const real *phi, const real *dphi,
                             real *dx) {
  const real s = input_scale(m), *sine = phi + m->features, *dsine = dphi + m->features;
  (void)x;
  for (size_t i = 0; i < m->width; i++)
    dx[i] = 0;
  for (size_t f = 0; f < m->features; f++)
    add_direction(m, f, s * (phi[f] * dsine[f] - sine[f] * dphi[f]), dx);
}

static void positive_forward(const struct linnet_feature_map_terms *m, const real *x, real *phi) {
  const real s = input_scale(m), n = feature_scale(m), half = s * s * dot(m->width, x, x) / 2;
  for (size_t f = 0; f < m->features; f++) {
    real exponent = s * dot(m->width, m->directions + f * m->width, x) - half;
    phi[f] = n * real_exp(exponent > LINNET_MAX_EXPONENT ? LINNET_MAX_EXPONENT : exponent);
  }
}

static void positive_backward(const struct linnet_feature_map_terms *m, const real *x, const real *phi,
                              const real *dphi, real *dx) {
  const real s = input_scale(m), largest = feature_scale(m) * real_exp(LINNET_MAX_EXPONENT);
  real sum = 0;
  for (size_t i = 0; i < m->width; i++)
    dx[i] = 0;
  for (size_t f = 0; f < m->features; f++) {
    real g = phi[f] >= largest ? 0 : phi[f] * dphi[f];
    add_direction(m, f, s * g, dx);
    sum += g;
  }
  for (size_t i = 0; i < m->width; i++)
    dx[i] -= s * s * x[i] * sum;
}

/* --- all heads ---------------------------------------------------------------------------------------------------- */

static const struct {
  void (*forward)(const struct linnet_feature_map_terms *m, const real *x, real *phi);
  void (*backward)(const struct linnet_feature_map_terms *m, const real *x, const real *phi, const real *dphi,
                   real *dx);
} maps[] = {
    [LINNET_MAP_RELU] = {relu_forward, relu_backward},
    [LINNET_MAP_POLYNOMIAL] = {polynomial_forward, polynomial_backward},
    [LINNET_MAP_FOURIER] = {fourier_forward, fourier_backward},
    [LINNET_MAP_POSITIVE] = {positive_forward, positive_backward},
};

void linnet_feature_map_forward_reference(const struct linnet_feature_map_terms *m, size_t rows, const real *x,
                                          real *phi, real *work) {
  const size_t size = linnet_feature_map_size(m->map, m->width, m->features);
  (void)work;
  assert(m->map < sizeof maps / sizeof *maps && maps[m->map].forward);
  for (size_t t = 0; t < rows; t++)
    for (size_t h = 0; h < m->heads; h++)
      maps[m->map].forward(m, x + t * m->x_ld + h * m->width, phi + t * m->phi_ld + h * size);
}

void linnet_feature_map_backward_reference(const struct linnet_feature_map_terms *m, size_t rows, const real *x,
                                           const real *phi, const real *dphi, real *dx, real *work) {
  const size_t size = linnet_feature_map_size(m->map, m->width, m->features);
  (void)work;
  assert(m->map < sizeof maps / sizeof *maps && maps[m->map].backward);
  for (size_t t = 0; t < rows; t++)
    for (size_t h = 0; h < m->heads; h++) {
      size_t in = t * m->x_ld + h * m->width, out = t * m->phi_ld + h * size;
      maps[m->map].backward(m, x + in, phi + out, dphi + out, dx + in);
    }
}
