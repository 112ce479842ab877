/* Shorten's lossless mu-law: its samples number the G.711 codes, in an order that depends on the shift. */
#ifndef LINNET_SHORTEN_ULAW_H
#define LINNET_SHORTEN_ULAW_H

enum { LINNET_SHORTEN_ULAW_SHIFTS = 13 };

/* values[128 + x], on the int16 scale, for samples x from -128 to 127 at a shift below LINNET_SHORTEN_ULAW_SHIFTS. */
void linnet_shorten_ulaw(unsigned shift, float values[256]);

#endif
