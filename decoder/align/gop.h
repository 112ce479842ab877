/* Goodness of pronunciation of one phone from CTC posteriors: defined in linnet/align.h. */
#ifndef LINNET_GOP_H
#define LINNET_GOP_H

#include <stddef.h>

/* The frames between the neighbours of a phone. */
struct linnet_gop_window {
  const float *log_posteriors; /* (frames, symbols) */
  size_t frames, symbols;
  int symbol;        /* the phone */
  int before, after; /* symbols that end right before and begin right after these frames, 0 for none */
};

/* At most 0; -infinity where the phone is impossible. */
double linnet_gop(const struct linnet_gop_window *window);

#endif
