/* Activations on vectors, and the functions of the op table that use them. */
#ifndef LINNET_ACTIVATION_VEC_H
#define LINNET_ACTIVATION_VEC_H

#include "ops/activation.h"
#include "ops/vec.h"

VEC_INLINE vf sigmoid_value(vf x) {
  return 1.0f / (1.0f + vf_exp(-x));
}

/* The cumulative normal distribution Phi, and its density times sqrt(2 pi): Phi(-|x|) = t poly(t) exp(-x^2 / 2) / 2
 * with t = 1 / (1 + p |x|) (Abramowitz, Stegun 1964, 7.1.26, absolute error 7.5e-8). */
VEC_INLINE vf normal_distribution(vf x, vf *density) {
  vf t = 1.0f / (1.0f + vf_abs(x) * 0.23164189f);
  vf p = -1.453152027f * 0.5f + t * (1.061405429f * 0.5f);
  p = 1.421413741f * 0.5f + t * p;
  p = -0.284496736f * 0.5f + t * p;
  p = 0.254829592f * 0.5f + t * p;
  *density = vf_exp_negative(x * x * -0.5f);
  vf tail = t * p * *density;
  return vf_select(x < 0.0f, tail, 1.0f - tail);
}

/* x Phi(x) = max(x, 0) - |x| Phi(-|x|). A polynomial approximates the logarithm of Phi(-|x|): absolute error 1e-7. */
VEC_INLINE vf gelu_value(vf x) {
  vf a = vf_min(vf_set(12), vf_abs(x));
  vf p = -0.000533182174f + a * 2.29381585e-05f;
  p = 0.00560112484f + a * p;
  p = -0.0370224491f + a * p;
  p = -0.317995816f + a * p;
  p = -0.797952235f + a * p;
  p = -0.693142354f + a * p;
  return vf_max(vf_set(0), x) - a * vf_exp_negative(p);
}

VEC_INLINE vf activation_value(enum linnet_activation f, vf x) {
  switch (f) {
  case LINNET_RELU:
    return vf_max(vf_set(0), x); /* NaN stays */
  case LINNET_GELU:
    return gelu_value(x);
  case LINNET_SILU:
    return x * sigmoid_value(x);
  case LINNET_IDENTITY:
    break;
  }
  return x;
}

VEC_INLINE vf activation_slope(enum linnet_activation f, vf x) {
  const vf none = vf_set(0);
  vf density, p;
  switch (f) {
  case LINNET_RELU:
    return vf_select(x > none, vf_set(1), none);
  case LINNET_GELU:
    p = normal_distribution(x, &density);
    return p + x * density * 0.398942280f;
  case LINNET_SILU:
    p = sigmoid_value(x);
    return p * (1.0f + x * (1.0f - p));
  case LINNET_IDENTITY:
    break;
  }
  return vf_set(1);
}

/* The compiler inlines it once per activation. */
VEC_INLINE void activation_forward_all(const enum linnet_activation f, size_t n, const float *x, float *y) {
  size_t i = 0;
  for (; i + VW <= n; i += VW)
    vf_store(y + i, activation_value(f, vf_load(x + i)));
  if (i < n)
    vf_store_n(y + i, activation_value(f, vf_load_n(x + i, n - i)), n - i);
}

VEC_INLINE void activation_backward_all(const enum linnet_activation f, size_t n, float scale, const float *x,
                                        const float *dy, float *dx) {
  size_t i = 0;
  for (; i + VW <= n; i += VW)
    vf_store(dx + i, scale * vf_load(dy + i) * activation_slope(f, vf_load(x + i)));
  if (i < n)
    vf_store_n(dx + i, scale * vf_load_n(dy + i, n - i) * activation_slope(f, vf_load_n(x + i, n - i)), n - i);
}

static void activation_forward_vec(enum linnet_activation f, size_t n, const float *x, float *y) {
  switch (f) {
  case LINNET_RELU:
    activation_forward_all(LINNET_RELU, n, x, y);
    break;
  case LINNET_GELU:
    activation_forward_all(LINNET_GELU, n, x, y);
    break;
  case LINNET_SILU:
    activation_forward_all(LINNET_SILU, n, x, y);
    break;
  case LINNET_IDENTITY:
    activation_forward_all(LINNET_IDENTITY, n, x, y);
    break;
  }
}

static void activation_backward_vec(enum linnet_activation f, size_t n, float scale, const float *x, const float *dy,
                                    float *dx) {
  switch (f) {
  case LINNET_RELU:
    activation_backward_all(LINNET_RELU, n, scale, x, dy, dx);
    break;
  case LINNET_GELU:
    activation_backward_all(LINNET_GELU, n, scale, x, dy, dx);
    break;
  case LINNET_SILU:
    activation_backward_all(LINNET_SILU, n, scale, x, dy, dx);
    break;
  case LINNET_IDENTITY:
    activation_backward_all(LINNET_IDENTITY, n, scale, x, dy, dx);
    break;
  }
}

static void glu_forward_vec(size_t rows, size_t width, const float *x, float *y) {
  for (size_t t = 0; t < rows; t++, x += 2 * width, y += width)
    for (size_t c = 0; c < width; c += VW) {
      size_t n = width - c;
      vf_store_part(y + c, vf_load_part(x + c, n) * sigmoid_value(vf_load_part(x + width + c, n)), n);
    }
}

static void glu_backward_vec(size_t rows, size_t width, const float *x, const float *dy, float *dx) {
  for (size_t t = 0; t < rows; t++, x += 2 * width, dx += 2 * width, dy += width)
    for (size_t c = 0; c < width; c += VW) {
      size_t n = width - c;
      vf gate = sigmoid_value(vf_load_part(x + width + c, n)), d = vf_load_part(dy + c, n) * gate;
      vf_store_part(dx + width + c, d * vf_load_part(x + c, n) * (1.0f - gate), n);
      vf_store_part(dx + c, d, n);
    }
}

#endif
