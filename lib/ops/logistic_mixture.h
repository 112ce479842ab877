/* Discretised mixture of logistic distributions (PixelCNN++, Salimans et al. 2017) over the values 0 to L - 1 of a
 * quantised quantity, such as a pixel: the C reference. It runs on the host only.
 *
 * Value v is the interval of width 2 / (L - 1) around x = 2 v / (L - 1) - 1; the intervals of the first and of the last
 * value extend to infinity. A row of outputs has the parameters of K components: K logits of their weights, K means, K
 * logarithms of scales. Scales below exp(-7) count as exp(-7), those above exp(50) as exp(50), and have no
 * gradient.
 *
 * The probability of an interval with the ends a > b, in units of the scale, is
 *
 *   sigmoid(a) - sigmoid(b) = sigmoid(a) sigmoid(-b) (1 - exp(b - a)),
 *
 * whose logarithm is exact also where the difference on the left is 0 in floating point. */
#ifndef LINNET_LOGISTIC_MIXTURE_H
#define LINNET_LOGISTIC_MIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/real.h"

enum { LINNET_MAX_COMPONENTS = 64 };

struct linnet_logistic_mixture {
  size_t rows;
  size_t components;   /* K, 1 to LINNET_MAX_COMPONENTS */
  size_t levels;       /* L, at least 2 */
  const real *outputs; /* (rows, 3 K) */
  const int *values;   /* (rows): 0 to L - 1 */
  real scale;          /* the gradient is multiplied by this */
  real *gradient;      /* (rows, 3 K) with respect to the outputs; may be `outputs`; NULL: loss only */
};

/* Returns the sum over rows of the negative log-likelihoods in nats, not scaled. */
double linnet_logistic_mixture_reference(const struct linnet_logistic_mixture *m);

/* Draws a value from one row of outputs (3 K). The two words are uniform random bits, for example of one Philox call:
 * the first chooses the component, the second the value. */
int linnet_logistic_mixture_sample(size_t components, size_t levels, const real *outputs, uint32_t choice,
                                   uint32_t draw);

#endif
