/* Reference of layer normalisation, forward and backward. */
#include "ops/layernorm.h"

static real row_mean(size_t width, const real *x) {
  real sum = 0;
  for (size_t c = 0; c < width; c++)
    sum += x[c];
  return sum / (real)width;
}

static real row_rstd(size_t width, const real *x, real mean) {
  real sum = 0;
  for (size_t c = 0; c < width; c++)
    sum += (x[c] - mean) * (x[c] - mean);
  return 1 / real_sqrt(sum / (real)width + (real)LINNET_LAYERNORM_EPSILON);
}

void linnet_layernorm_forward_reference(size_t rows, size_t width, const real *x, const real *gain, const real *bias,
                                        real *y, real *mean, real *rstd) {
  for (size_t t = 0; t < rows; t++, x += width, y += width) {
    real m = row_mean(width, x), r = row_rstd(width, x, m);
    for (size_t c = 0; c < width; c++)
      y[c] = (x[c] - m) * r * gain[c] + bias[c];
    if (mean)
      mean[t] = m;
    if (rstd)
      rstd[t] = r;
  }
}

/* With n = (x - mean) * rstd and g = dy * gain: dx = residual + rstd * (g - mean(g) - n * mean(g * n)). */
void linnet_layernorm_backward_reference(size_t rows, size_t width, const real *x, const real *gain, const real *mean,
                                         const real *rstd, const real *dy, const real *residual, real *dx,
                                         real *dgain_add, real *dbias_add) {
  for (size_t t = 0; t < rows; t++, x += width, dy += width, dx += width) {
    real sum = 0, projected = 0;
    for (size_t c = 0; c < width; c++) {
      real n = (x[c] - mean[t]) * rstd[t];
      sum += dy[c] * gain[c];
      projected += dy[c] * gain[c] * n;
      dgain_add[c] += dy[c] * n;
      dbias_add[c] += dy[c];
    }
    for (size_t c = 0; c < width; c++) {
      real n = (x[c] - mean[t]) * rstd[t];
      real d = rstd[t] * (dy[c] * gain[c] - (sum + n * projected) / (real)width);
      dx[c] = residual ? residual[t * width + c] + d : d;
    }
  }
}
