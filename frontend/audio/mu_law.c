/* A shift of s bits says that all samples were multiples of 2^s in the 13 bits of mu-law, so that few codes occur:
 * those of the multiples. They are numbered from 0 (code 255, zero) up and from -1 down by magnitude; behind them come
 * the codes that do not occur: positive ones by magnitude, the negative zero (127), negative ones by magnitude. */
#include "frontend/audio/mu_law.h"

#include <stdbool.h>

enum { CODES = 256, POSITIVE = 0x80, NEGATIVE_ZERO = 0x7f, RANGE = 1 << 12 /* of 13 bits */ };

static void find_codes(unsigned shift, bool occurs[CODES]) {
  for (int c = 0; c < CODES; c++)
    occurs[c] = false;
  for (int x = -RANGE; x < RANGE; x += 1 << shift)
    occurs[linnet_ulaw_encode(x * 8)] = true;
}

void linnet_shorten_ulaw(unsigned shift, float values[256]) {
  bool occurs[CODES];
  float *up = values + CODES / 2, *down = up;
  find_codes(shift, occurs);
  for (int wanted = 1; wanted >= 0; wanted--) /* those that occur first */
    for (int c = CODES - 1; c >= POSITIVE; c--)
      if (occurs[c] == wanted)
        *up++ = (float)linnet_ulaw_decode((unsigned char)c);
  for (int wanted = 1; wanted >= 0; wanted--) {
    if (!wanted)
      *--down = 0; /* NEGATIVE_ZERO */
    for (int c = NEGATIVE_ZERO - 1; c >= 0; c--)
      if (occurs[c] == wanted)
        *--down = (float)linnet_ulaw_decode((unsigned char)c);
  }
}
