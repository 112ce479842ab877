/* ITU-T G.711, mu-law: sign, three bits of exponent, four of mantissa, all inverted; the int16 scale. */
#ifndef LINNET_G711_H
#define LINNET_G711_H

#include <stdint.h>

static inline int linnet_ulaw_decode(unsigned char byte) {
  int code = ~byte & 0xff, magnitude = ((((code & 15) << 3) + 132) << (code >> 4 & 7)) - 132;
  return code & 0x80 ? -magnitude : magnitude;
}

/* |x| < 2^15 - 132 or the largest magnitude there is. */
static inline unsigned char linnet_ulaw_encode(int x) {
  int magnitude = (x < 0 ? -x : x) + 132, exponent = 7;
  if (magnitude > 0x7fff)
    magnitude = 0x7fff;
  while (exponent > 0 && magnitude < 128 << exponent)
    exponent--;
  return (unsigned char)~((x < 0 ? 0x80 : 0) | exponent << 4 | (magnitude >> (exponent + 3) & 15));
}

#endif
