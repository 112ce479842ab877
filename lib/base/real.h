/* The element type of the engine: float in the library. The gradient checks compile the same sources with
 * LINNET_REAL_DOUBLE, so that they check the code that runs. */
#ifndef LINNET_REAL_H
#define LINNET_REAL_H

#include <math.h>

#ifdef LINNET_REAL_DOUBLE
typedef double real;
#define real_exp exp
#define real_log log
#define real_log1p log1p
#define real_expm1 expm1
#define real_sqrt sqrt
#define real_erf erf
#define real_tanh tanh
#define real_sin sin
#define real_cos cos
#define real_fabs fabs
#else
typedef float real;
#define real_exp expf
#define real_log logf
#define real_log1p log1pf
#define real_expm1 expm1f
#define real_sqrt sqrtf
#define real_erf erff
#define real_tanh tanhf
#define real_sin sinf
#define real_cos cosf
#define real_fabs fabsf
#endif

#endif
