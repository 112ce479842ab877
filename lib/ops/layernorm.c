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

void linnet_layernorm_forward_reference(const struct linnet_layernorm *n) {
  const size_t width = n->width;
  const real *x = n->x;
  real *y = n->y;
  for (size_t t = 0; t < n->rows; t++, x += width, y += width) {
    real mean = row_mean(width, x), rstd = row_rstd(width, x, mean);
    for (size_t c = 0; c < width; c++)
      y[c] = (x[c] - mean) * rstd * n->gain[c] + n->bias[c];
    if (n->mean)
      n->mean[t] = mean;
    if (n->rstd)
      n->rstd[t] = rstd;
  }
}

/* With u = (x - mean) * rstd and g = dy * gain: dx = residual + rstd * (g - mean(g) - u * mean(g * u)). */
static void backward_row(const struct linnet_layernorm *n, size_t t) {
  const size_t width = n->width;
  const real *x = (const real *)n->x + t * width, *dy = (const real *)n->dy + t * width;
  const real *residual = n->residual ? (const real *)n->residual + t * width : NULL;
  real *dx = (real *)n->dx + t * width, sum = 0, projected = 0;
  for (size_t c = 0; c < width; c++) {
    real u = (x[c] - n->mean[t]) * n->rstd[t];
    sum += dy[c] * n->gain[c];
    projected += dy[c] * n->gain[c] * u;
    n->dgain_add[c] += dy[c] * u;
    n->dbias_add[c] += dy[c];
  }
  for (size_t c = 0; c < width; c++) {
    real u = (x[c] - n->mean[t]) * n->rstd[t];
    real d = n->rstd[t] * (dy[c] * n->gain[c] - (sum + u * projected) / (real)width);
    dx[c] = residual ? residual[c] + d : d;
  }
}

void linnet_layernorm_backward_reference(const struct linnet_layernorm *n) {
  for (size_t t = 0; t < n->rows; t++)
    backward_row(n, t);
}
