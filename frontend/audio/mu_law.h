/* mu-law: the codes of ITU-T G.711, and the order in which Shorten numbers them. */
#ifndef LINNET_MU_LAW_H
#define LINNET_MU_LAW_H

#include <stdint.h>

/* --- G.711 -------------------------------------------------------------------------------------------------------- */

/* ITU-T G.711, mu-law: sign, three bits of exponent, four of mantissa, all inverted; the int16 scale. */

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

/* --- Shorten ------------------------------------------------------------------------------------------------------ */

/* Shorten's lossless mu-law: its samples number the G.711 codes, in an order that depends on the shift. */

enum { LINNET_SHORTEN_ULAW_SHIFTS = 13 };

/* values[128 + x], on the int16 scale, for samples x from -128 to 127 at a shift below LINNET_SHORTEN_ULAW_SHIFTS. */
void linnet_shorten_ulaw(unsigned shift, float values[256]);

#endif
