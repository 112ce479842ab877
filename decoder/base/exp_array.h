/* Exponentials of an array, written so that a compiler turns the loop into vector code. */
#ifndef LINNET_EXP_ARRAY_H
#define LINNET_EXP_ARRAY_H

#include <stddef.h>

/* out[i] = exp(x[i]) within a relative 1e-15 for x <= 0; 0 below -700, and for -infinity. `out` may be `x`. */
void linnet_exp_array(const double *x, double *out, size_t n);

#endif
