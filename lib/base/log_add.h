/* Sums of probabilities that are given as logarithms. */
#ifndef LINNET_LOG_ADD_H
#define LINNET_LOG_ADD_H

#include <math.h>

/* log(e^a + e^b); either may be -infinity. */
static inline double linnet_log_add(double a, double b) {
  double high = a > b ? a : b, low = a > b ? b : a;
  return low > -(double)INFINITY ? high + log1p(exp(low - high)) : high;
}

#endif
