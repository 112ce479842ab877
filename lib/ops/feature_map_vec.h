/* Feature maps on vectors (formulas: feature_map.c). Random maps are a product with W, then a function of each element.
 * Forward computes the product in phi itself; backward computes MAP_SCRATCH elements of g at a time. */
#ifndef LINNET_FEATURE_MAP_VEC_H
#define LINNET_FEATURE_MAP_VEC_H

#include "ops/feature_map.h"
#include "ops/gemm_vec.h"
#include "ops/vec.h"

#define MAP_ROOT 0x1.6a09e6p0f /* sqrt(2) */

enum { MAP_SCRATCH = 65536, FEATURE_MAP_WORK = GEMM_WORK + MAP_SCRATCH };

/* sin and cos with an absolute error below 2e-7, for |x| <= SINCOS_LARGEST: x = n pi/2 + r, then polynomials of r in
 * [-pi/4, pi/4] (Moshier's Cephes). */
#define SINCOS_LARGEST 4096.0f

VEC_INLINE void vf_sincos(vf x, vf *sine, vf *cosine) {
  vf n = vf_round(x * 0x1.45f306p-1f);
  vf r = x - n * 0x1.92p0f; /* pi/2 as a sum of three; n times the first two is exact */
  r = r - n * 0x1.fb4p-12f;
  r = r - n * 0x1.4442d2p-24f;
  vf r2 = r * r;
  vf s = r + r * r2 * (-1.6666654611e-1f + r2 * (8.3321608736e-3f + r2 * -1.9515295891e-4f));
  vf c =
      1.0f - 0.5f * r2 + r2 * r2 * (4.166664568298827e-2f + r2 * (-1.388731625493765e-3f + r2 * 2.443315711809948e-5f));
  vi quadrant = vi_from(n);
  vi odd = (quadrant & 1) != 0;
  *sine = (vf)((vu)vf_select(odd, c, s) ^ ((vu)quadrant & 2) << 30);
  *cosine = (vf)((vu)vf_select(odd, s, c) ^ (((vu)quadrant + 1) & 2) << 30);
}

/* --- Without W */

static void relu_map_row(size_t width, const float *x, float *phi) {
  for (size_t j = 0; j < width; j += VW)
    vf_store_part(phi + j, vf_max(vf_set(0), vf_load_part(x + j, width - j)) + (float)LINNET_RELU_EPSILON, width - j);
}

static void relu_map_gradient(size_t width, const float *x, const float *dphi, float *dx) {
  for (size_t j = 0; j < width; j += VW) {
    vf slope = vf_load_part(dphi + j, width - j);
    vf_store_part(dx + j, vf_select(vf_load_part(x + j, width - j) > 0.0f, slope, vf_set(0)), width - j);
  }
}

static void polynomial_map_row(size_t width, const float *x, float *phi) {
  for (size_t i = 0; i < width; i++) {
    const float scale = MAP_ROOT * x[i];
    phi[0] = x[i] * x[i];
    for (size_t j = i + 1; j < width; j += VW)
      vf_store_part(phi + j - i, vf_load_part(x + j, width - j) * scale, width - j);
    phi += width - i;
  }
}

static void polynomial_map_gradient(size_t width, const float *x, const float *dphi, float *dx) {
  memset(dx, 0, width * sizeof *dx);
  for (size_t i = 0; i < width; i++) {
    const float scale = MAP_ROOT * x[i];
    vf sum = vf_set(0);
    for (size_t j = i + 1; j < width; j += VW) {
      vf d = vf_load_part(dphi + j - i, width - j);
      sum += vf_load_part(x + j, width - j) * d;
      vf_store_part(dx + j, vf_load_part(dx + j, width - j) + d * scale, width - j);
    }
    dx[i] += 2 * x[i] * dphi[0] + MAP_ROOT * vf_sum(sum);
    dphi += width - i;
  }
}

/* --- With W: functions that run after the product, row by row */

/* y = s x and n of feature_map.c. */
struct map_scales {
  float s, n;
};

static struct map_scales map_scales(const struct linnet_feature_map_terms *m) {
  return (struct map_scales){1 / sqrtf(sqrtf((float)m->width)), 1 / sqrtf((float)m->features)};
}

static float square_sum(size_t n, const float *x) {
  vf sum = vf_set(0);
  for (size_t j = 0; j < n; j += VW) {
    vf v = vf_load_part(x + j, n - j);
    sum += v * v;
  }
  return vf_sum(sum);
}

/* cosines (n), sines (n) of u = s * sines. */
static void fourier_map_row(size_t n, struct map_scales scales, float *cosines, float *sines) {
  for (size_t j = 0; j < n; j += VW) {
    vf u = vf_load_part(sines + j, n - j) * scales.s, sine, cosine;
    vf_sincos(u, &sine, &cosine);
    float largest = vf_largest(vf_abs(u));
    for (size_t i = 0; !(largest <= SINCOS_LARGEST) && i < VW; i++)
      sine[i] = sinf(u[i]), cosine[i] = cosf(u[i]);
    vf_store_part(sines + j, sine * scales.n, n - j);
    vf_store_part(cosines + j, cosine * scales.n, n - j);
  }
}

static void positive_map_row(size_t n, struct map_scales scales, float half_square, float *phi) {
  for (size_t j = 0; j < n; j += VW) {
    vf exponent = vf_load_part(phi + j, n - j) * scales.s - half_square;
    vf_store_part(phi + j, vf_exp(vf_min(vf_set(LINNET_MAX_EXPONENT), exponent)) * scales.n, n - j);
  }
}

/* s g (n) */
static void fourier_map_gradient(size_t n, struct map_scales scales, const float *phi, const float *dphi, float *g) {
  for (size_t j = 0; j < n; j += VW) {
    vf cosine = vf_load_part(phi + j, n - j), sine = vf_load_part(phi + n + j, n - j);
    vf d = cosine * vf_load_part(dphi + n + j, n - j) - sine * vf_load_part(dphi + j, n - j);
    vf_store_part(g + j, d * scales.s, n - j);
  }
}

/* s g (n) and its sum. */
static float positive_map_gradient(size_t n, struct map_scales scales, const float *phi, const float *dphi, float *g) {
  const vf largest = vf_exp(vf_set(LINNET_MAX_EXPONENT)) * scales.n;
  vf sum = vf_set(0);
  for (size_t j = 0; j < n; j += VW) {
    vf f = vf_load_part(phi + j, n - j), d = f * vf_load_part(dphi + j, n - j) * scales.s;
    d = vf_select(f >= largest, vf_set(0), d);
    sum += d;
    vf_store_part(g + j, d, n - j);
  }
  return vf_sum(sum);
}

/* --- One head; the leading dimensions are those of all heads */

static void random_map_forward(const struct linnet_feature_map_terms *m, size_t rows, const float *x, float *phi,
                               float *work) {
  const struct map_scales scales = map_scales(m);
  const bool fourier = m->map == LINNET_MAP_FOURIER;
  float *product = phi + (fourier ? m->features : 0);
  struct linnet_gemm g = {.transpose_b = true,
                          .m = rows,
                          .n = m->features,
                          .k = m->width,
                          .a = x,
                          .lda = m->x_ld,
                          .b = m->directions,
                          .ldb = m->width,
                          .c = product,
                          .ldc = m->phi_ld};
  gemm_vec(&g, work);
  for (size_t t = 0; t < rows; t++, x += m->x_ld, phi += m->phi_ld)
    if (fourier)
      fourier_map_row(m->features, scales, phi, phi + m->features);
    else
      positive_map_row(m->features, scales, scales.s * scales.s * square_sum(m->width, x) / 2, phi);
}

/* dx = s g W; `positive` also adds the gradient of the squares, -s^2 x sum g. */
static void random_map_backward_rows(const struct linnet_feature_map_terms *m, size_t rows, const float *x,
                                     const float *phi, const float *dphi, float *dx, float *work) {
  const struct map_scales scales = map_scales(m);
  float *scratch = work + GEMM_WORK;
  struct linnet_gemm g = {.m = rows,
                          .n = m->width,
                          .k = m->features,
                          .a = scratch,
                          .lda = m->features,
                          .b = m->directions,
                          .ldb = m->width,
                          .c = dx,
                          .ldc = m->x_ld,
                          .accumulate = m->map == LINNET_MAP_POSITIVE};
  for (size_t t = 0; t < rows; t++, x += m->x_ld, dx += m->x_ld, phi += m->phi_ld, dphi += m->phi_ld) {
    float sum;
    if (m->map == LINNET_MAP_FOURIER) {
      fourier_map_gradient(m->features, scales, phi, dphi, scratch + t * m->features);
      continue;
    }
    sum = positive_map_gradient(m->features, scales, phi, dphi, scratch + t * m->features);
    for (size_t j = 0; j < m->width; j += VW)
      vf_store_part(dx + j, vf_load_part(x + j, m->width - j) * (-scales.s * sum), m->width - j);
  }
  gemm_vec(&g, work);
}

static void random_map_backward(const struct linnet_feature_map_terms *m, size_t rows, const float *x, const float *phi,
                                const float *dphi, float *dx, float *work) {
  size_t block = MAP_SCRATCH / m->features;
  for (size_t t = 0; t < rows; t += block)
    random_map_backward_rows(m, linnet_min_size(block, rows - t), x + t * m->x_ld, phi + t * m->phi_ld,
                             dphi + t * m->phi_ld, dx + t * m->x_ld, work);
}

/* --- All heads */

static void feature_map_forward_vec(const struct linnet_feature_map_terms *m, size_t rows, const float *x, float *phi,
                                    float *work) {
  const size_t size = linnet_feature_map_size(m->map, m->width, m->features);
  for (size_t h = 0; h < m->heads; h++, x += m->width, phi += size)
    if (linnet_feature_map_random(m->map))
      random_map_forward(m, rows, x, phi, work);
    else
      for (size_t t = 0; t < rows; t++)
        (m->map == LINNET_MAP_RELU ? relu_map_row : polynomial_map_row)(m->width, x + t * m->x_ld, phi + t * m->phi_ld);
}

static void feature_map_backward_vec(const struct linnet_feature_map_terms *m, size_t rows, const float *x,
                                     const float *phi, const float *dphi, float *dx, float *work) {
  const size_t size = linnet_feature_map_size(m->map, m->width, m->features);
  for (size_t h = 0; h < m->heads; h++, x += m->width, phi += size, dphi += size, dx += m->width)
    if (linnet_feature_map_random(m->map))
      random_map_backward(m, rows, x, phi, dphi, dx, work);
    else
      for (size_t t = 0; t < rows; t++)
        (m->map == LINNET_MAP_RELU ? relu_map_gradient : polynomial_map_gradient)(
            m->width, x + t * m->x_ld, dphi + t * m->phi_ld, dx + t * m->x_ld);
}

#endif
