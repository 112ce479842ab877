/* Reference of the element-wise activations and of the gated linear unit, forward and backward. */
#include "ops/activation.h"

#define SQRT_HALF ((real)0.70710678118654752440)
#define INV_SQRT_2PI ((real)0.39894228040143267794)

static real sigmoid(real x) {
  return 1 / (1 + real_exp(-x));
}

/* GELU(x) is x times the cumulative normal distribution at x (Hendrycks, Gimpel 2016); SiLU is x * sigmoid(x). */
static real value(enum linnet_activation f, real x) {
  switch (f) {
  case LINNET_RELU:
    return x <= 0 ? 0 : x; /* NaN stays, so that somebody notices */
  case LINNET_GELU:
    return x * (1 + real_erf(x * SQRT_HALF)) / 2;
  case LINNET_SILU:
    return x * sigmoid(x);
  case LINNET_IDENTITY:
    break;
  }
  return x;
}

static real slope(enum linnet_activation f, real x) {
  switch (f) {
  case LINNET_RELU:
    return x > 0 ? 1 : 0;
  case LINNET_GELU:
    return (1 + real_erf(x * SQRT_HALF)) / 2 + x * INV_SQRT_2PI * real_exp(-x * x / 2);
  case LINNET_SILU:
    return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
  case LINNET_IDENTITY:
    break;
  }
  return 1;
}

void linnet_activation_forward_reference(enum linnet_activation f, size_t n, const real *x, real *y) {
  for (size_t i = 0; i < n; i++)
    y[i] = value(f, x[i]);
}

void linnet_activation_backward_reference(enum linnet_activation f, size_t n, real scale, const real *x, const real *dy,
                                          real *dx) {
  for (size_t i = 0; i < n; i++)
    dx[i] = scale * dy[i] * slope(f, x[i]);
}

void linnet_glu_forward_reference(size_t rows, size_t width, const real *x, real *y) {
  for (size_t t = 0; t < rows; t++, x += 2 * width, y += width)
    for (size_t c = 0; c < width; c++)
      y[c] = x[c] * sigmoid(x[width + c]);
}

void linnet_glu_backward_reference(size_t rows, size_t width, const real *x, const real *dy, real *dx) {
  for (size_t t = 0; t < rows; t++, x += 2 * width, dx += 2 * width, dy += width)
    for (size_t c = 0; c < width; c++) {
      real gate = sigmoid(x[width + c]);
      dx[width + c] = dy[c] * x[c] * gate * (1 - gate);
      dx[c] = dy[c] * gate;
    }
}
