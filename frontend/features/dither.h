/* Gaussian noise on samples, to keep digital silence off the logarithm's floor. */
#ifndef LINNET_DITHER_H
#define LINNET_DITHER_H

#include <stddef.h>
#include <stdint.h>

/* out[i] = in[i] + deviation * g(seed, position + i) with g standard normal; out may be in. */
void linnet_dither(double deviation, uint64_t seed, uint64_t position, const float *in, size_t n, float *out);

#endif
