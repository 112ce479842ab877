/* Exponentials of an array by a polynomial without branches, which compilers turn into vector code. */
#include "decoder/base/exp_array.h"

#include <stdint.h>
#include <string.h>

/* exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln 2 / 2; the Taylor series to r^12 leaves less than 2e-16.
 * Adding 1.5 * 2^52 rounds, and leaves n in the low bits. For x from -708 to 0. */
static inline double exp_of(double x) {
  static const double shift = 0x1.8p52, inverse_ln2 = 0x1.71547652b82fep0;
  static const double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
  double rounded = x * inverse_ln2 + shift, n = rounded - shift;
  double r = (x - n * ln2_high) - n * ln2_low;
  double p = 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  uint64_t bits, scale;
  memcpy(&scale, &rounded, sizeof scale);
  memcpy(&bits, &p, sizeof bits);
  bits += scale << 52;
  memcpy(&p, &bits, sizeof p);
  return p;
}

void linnet_exp_array(const double *x, double *out, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double e = exp_of(x[i] > -700 ? x[i] : -700.0);
    out[i] = x[i] > -700 ? e : 0.0;
  }
}
