/* The terms of an Adam or RAdam step, and the reference of the update. */
#include "ops/optimizer.h"

#include <math.h>

/* RAdam: rho_inf = 2 / (1 - beta2) - 1, rho_t = rho_inf - 2 t beta2^t / (1 - beta2^t). If rho_t > 5, the step is
 * adaptive and multiplied by
 *
 *   r_t = sqrt((rho_t - 4)(rho_t - 2) rho_inf / ((rho_inf - 4)(rho_inf - 2) rho_t))
 *
 * Otherwise it is plain momentum. */
static double rectification(double beta2, uint64_t step) {
  double decay = pow(beta2, (double)step), limit = 2 / (1 - beta2) - 1;
  double length = limit - 2 * (double)step * decay / (1 - decay);
  if (length <= 5)
    return 0;
  return sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length));
}

void linnet_update_terms(enum linnet_optimizer kind, double learning_rate, uint64_t step, struct linnet_update *u) {
  *u = (struct linnet_update){.gradient_scale = 1, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .adaptive = true};
  double first = learning_rate / (1 - pow(u->beta1, (double)step)); /* bias corrections of the two moments */
  double second = sqrt(1 - pow(u->beta2, (double)step));
  if (kind == LINNET_ADAM) {
    u->step = first;
    u->rescale = 1 / second;
    return;
  }
  double factor = rectification(u->beta2, step);
  u->adaptive = factor > 0;
  u->step = u->adaptive ? first * factor * second : first;
  u->rescale = 1;
}

void linnet_update_reference(const struct linnet_update *u, size_t n, real *parameters, const real *gradients, real *m,
                             real *v) {
  real scale = (real)u->gradient_scale, b1 = (real)u->beta1, b2 = (real)u->beta2;
  real c1 = (real)(1 - u->beta1), c2 = (real)(1 - u->beta2); /* in float the error of 1 - beta2 would be 1e-5 */
  real step = (real)u->step, rescale = (real)u->rescale, epsilon = (real)u->epsilon;
  for (size_t i = 0; i < n; i++) {
    real g = gradients[i] * scale;
    m[i] = b1 * m[i] + c1 * g;
    v[i] = b2 * v[i] + c2 * g * g;
    parameters[i] -= u->adaptive ? step * m[i] / (real_sqrt(v[i]) * rescale + epsilon) : step * m[i];
  }
}
