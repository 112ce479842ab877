/* Dither: Gaussian noise by counter, so that it does not depend on how samples are divided into chunks. */
#include "frontend/features/dither.h"

#include <math.h>

#include "base/philox.h"

static const double two_pi = 6.28318530717958647692;

/* Two of four words make two normal numbers (Box and Muller). */
static void normal_pair(uint32_t a, uint32_t b, double pair[2]) {
  double radius = sqrt(-2 * log((a + 0.5) * 0x1p-32)), angle = two_pi * linnet_philox_uniform(b);
  pair[0] = radius * cos(angle);
  pair[1] = radius * sin(angle);
}

/* The normal numbers of the samples at positions 4 group ... 4 group + 3. */
static void normal_group(uint64_t seed, uint64_t group, double normal[4]) {
  struct linnet_philox random = linnet_philox(seed, 0, group);
  normal_pair(random.word[0], random.word[1], normal);
  normal_pair(random.word[2], random.word[3], normal + 2);
}

void linnet_dither(double deviation, uint64_t seed, uint64_t position, const float *in, size_t n, float *out) {
  double normal[4];
  for (size_t i = 0; i < n; i++) {
    uint64_t at = position + i;
    if (i == 0 || at % 4 == 0)
      normal_group(seed, at / 4, normal);
    out[i] = (float)(in[i] + deviation * normal[at % 4]);
  }
}
