/* Loss, gradient and samples of a discretised mixture of logistics. All is computed in double: the op takes a small
 * part of the time of the network before it. */
#include "ops/logistic_mixture.h"

#include <math.h>
#include <stdbool.h>

#include "base/numbers.h"
#include "base/philox.h"

/* Beyond these the scale is that of the limit. */
static const double min_log_scale = -7, max_log_scale = 50;

static double clamp(double log_scale) {
  return fmin(fmax(log_scale, min_log_scale), max_log_scale);
}

/* log(1 + exp(x)). */
static double softplus(double x) {
  return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* An interval of values; without a low or a high end it extends to infinity. */
struct interval {
  double centre, half;
  bool low_end, high_end;
};

static struct interval interval_of(size_t levels, int value) {
  const double step = 2 / (double)(levels - 1);
  return (struct interval){value * step - 1, step / 2, value > 0, (size_t)value + 1 < levels};
}

/* The logarithm of the probability of an interval under one component, and its derivatives. */
struct component {
  double log_p, d_mean, d_log_scale;
};

static struct component component_of(const struct interval *i, double mean, double log_scale) {
  const double inverse = exp(-clamp(log_scale));
  const double high = (i->centre + i->half - mean) * inverse, low = (i->centre - i->half - mean) * inverse;
  const double above = i->high_end ? sigmoid(-high) : 0, below = i->low_end ? sigmoid(low) : 0;
  struct component c = {.d_mean = inverse * (below - above)};
  if (i->high_end)
    c.log_p -= softplus(-high), c.d_log_scale -= high * above;
  if (i->low_end)
    c.log_p -= softplus(low), c.d_log_scale += low * below;
  if (i->high_end && i->low_end) {
    const double width = high - low;
    c.log_p += log(-expm1(-width));
    c.d_log_scale -= width / expm1(width);
  }
  if (log_scale < min_log_scale || log_scale > max_log_scale)
    c.d_log_scale = 0;
  return c;
}

/* log(sum(exp(x))). */
static double log_sum(size_t n, const double *x) {
  double maximum = -INFINITY, sum = 0;
  for (size_t i = 0; i < n; i++)
    maximum = fmax(maximum, x[i]);
  for (size_t i = 0; i < n; i++)
    sum += exp(x[i] - maximum);
  return maximum + log(sum);
}

/* Returns the log-likelihood of a row's value. `gradient` may be NULL. */
static double row_likelihood(const struct linnet_logistic_mixture *m, int value, const real *outputs, real *gradient) {
  const size_t n = m->components;
  const struct interval interval = interval_of(m->levels, value);
  struct component c[LINNET_MAX_COMPONENTS];
  double logits[LINNET_MAX_COMPONENTS], joint[LINNET_MAX_COMPONENTS];
  for (size_t k = 0; k < n; k++) {
    c[k] = component_of(&interval, outputs[n + k], outputs[2 * n + k]);
    logits[k] = outputs[k];
    joint[k] = logits[k] + c[k].log_p;
  }
  const double norm = log_sum(n, logits), total = log_sum(n, joint);
  for (size_t k = 0; gradient && k < n; k++) {
    const double share = exp(joint[k] - total);
    gradient[k] = (real)(m->scale * (exp(logits[k] - norm) - share));
    gradient[n + k] = (real)(-m->scale * share * c[k].d_mean);
    gradient[2 * n + k] = (real)(-m->scale * share * c[k].d_log_scale);
  }
  return total - norm;
}

double linnet_logistic_mixture_reference(const struct linnet_logistic_mixture *m) {
  const size_t width = 3 * m->components;
  double loss = 0;
  for (size_t t = 0; t < m->rows; t++)
    loss -= row_likelihood(m, m->values[t], m->outputs + t * width, m->gradient ? m->gradient + t * width : NULL);
  return loss;
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* The component whose stretch of [0, 1), as long as its weight, contains u. */
static size_t choose(size_t n, const real *outputs, double u) {
  double logits[LINNET_MAX_COMPONENTS];
  size_t k = 0;
  for (size_t i = 0; i < n; i++)
    logits[i] = outputs[i];
  const double norm = log_sum(n, logits);
  for (double left = u; k + 1 < n; k++) {
    left -= exp(logits[k] - norm);
    if (left < 0)
      break;
  }
  return k;
}

int linnet_logistic_mixture_sample(size_t components, size_t levels, const real *outputs, uint32_t choice,
                                   uint32_t draw) {
  const size_t k = choose(components, outputs, linnet_philox_uniform(choice));
  const double u = (draw + 0.5) * 0x1p-32, scale = exp(clamp(outputs[2 * components + k]));
  const double x = outputs[components + k] + scale * (log(u) - log1p(-u));
  const double steps = floor((x + 1) / 2 * (double)(levels - 1) + 0.5);
  return (int)fmin(fmax(steps, 0), (double)(levels - 1));
}
