/* With p_a and p_b the softmax of the logits of a frame, and each divergence taken against a constant target (the paper
 * stops the gradient through the first argument of KL):
 *
 *   KL(p_b || p_a) + KL(p_a || p_b)    = sum over k of (p_a(k) - p_b(k)) (log p_a(k) - log p_b(k))
 *   d KL(p_b || p_a) / d logit_a(k)    = p_a(k) - p_b(k)        where p_b is a constant
 *   d KL(p_a || p_b) / d logit_b(k)    = p_b(k) - p_a(k)        where p_a is a constant
 *
 * The second line follows from KL = constant - sum over k of p_b(k) log p_a(k), with d log p_a(k) / d logit_a(j) =
 * [j = k] - p_a(j) and sum over k of p_b(k) = 1. No term of the sum is negative. A term whose probabilities are equal
 * is 0, also for symbols that are impossible in both views. */
#include "ops/consistency.h"

#include <math.h>

#include "ops/log_softmax.h"

static double compare_frame(const struct linnet_consistency *c, size_t t) {
  const real *a = c->a + t * c->symbols, *b = c->b + t * c->symbols;
  real *da = c->gradient_a_add + t * c->symbols, *db = c->gradient_b_add + t * c->symbols;
  double sum = 0, shift_a = linnet_log_sum(c->symbols, a), shift_b = linnet_log_sum(c->symbols, b);
  for (size_t k = 0; k < c->symbols; k++) {
    double log_a = a[k] - shift_a, log_b = b[k] - shift_b, difference = exp(log_a) - exp(log_b);
    sum += difference == 0 ? 0 : difference * (log_a - log_b);
    da[k] += (real)(0.5 * c->scale * difference);
    db[k] -= (real)(0.5 * c->scale * difference);
  }
  return sum;
}

double linnet_consistency_reference(const struct linnet_consistency *c) {
  double sum = 0;
  for (size_t t = 0; t < c->frames; t++)
    sum += compare_frame(c, t);
  return sum / 2;
}
