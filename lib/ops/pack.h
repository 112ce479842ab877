/* Packed sequences: the frames of all sequences of a batch one after the other, without padding. */
#ifndef LINNET_PACK_H
#define LINNET_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/real.h"

/* A packed batch, or a part of one: T rows in all; offsets[0] = 0, offsets[sequences] = T. */
struct linnet_pack {
  size_t sequences;
  const size_t *offsets; /* (sequences + 1) */
};

/* Consecutive rows of a batch: a sequence. */
struct linnet_sequence_span {
  size_t first, frames;
};

#endif
