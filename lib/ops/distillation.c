/* With p and q the softmax of the teacher's and the student's logits of a frame:
 *
 *   KL(p || q)                   = sum over k of p(k) (log p(k) - log q(k))
 *   d KL(p || q) / d student(k)  = q(k) - p(k)
 *
 * as d log q(k) / d student(j) = [j = k] - q(j) and sum over k of p(k) = 1. */
#include "ops/distillation.h"

#include <math.h>

#include "ops/log_softmax.h"

static double follow_frame(const struct linnet_distillation *d, size_t t) {
  const real *teacher = d->teacher + t * d->symbols, *student = d->student + t * d->symbols;
  real *gradient = d->gradient_add + t * d->symbols;
  double sum = 0, shift_p = linnet_log_sum(d->symbols, teacher), shift_q = linnet_log_sum(d->symbols, student);
  for (size_t k = 0; k < d->symbols; k++) {
    double log_p = teacher[k] - shift_p, log_q = student[k] - shift_q, p = exp(log_p);
    sum += p == 0 ? 0 : p * (log_p - log_q);
    gradient[k] += (real)(d->scale * (exp(log_q) - p));
  }
  return sum;
}

double linnet_distillation_reference(const struct linnet_distillation *d) {
  double sum = 0;
  for (size_t t = 0; t < d->frames; t++)
    sum += follow_frame(d, t);
  return sum;
}
