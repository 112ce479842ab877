/* Random numbers of augmentation. Each depends only on (seed, epoch, utterance) and on its purpose. */
#ifndef LINNET_AUGMENT_DRAW_H
#define LINNET_AUGMENT_DRAW_H

#include <linnet/augment.h>

#include <stdbool.h>

#include "base/philox.h"

/* The purpose of a random number: the low word of the counter, next to the utterance. */
enum linnet_draw {
  LINNET_DRAW_CHOICE = 0,
  LINNET_DRAW_NOISE = 1,
  LINNET_DRAW_WARP = 2,
  LINNET_DRAW_LEVEL = 3,
  LINNET_DRAW_BAND = 4,
  LINNET_DRAW_PADDING = 5, /* and 6 */
  LINNET_DRAW_ROOM = 7,    /* to 10 */
  LINNET_DRAW_MASKS = 16   /* and on */
};

/* Four words for draw `purpose`: counter = (epoch, utterance, purpose). */
static inline struct linnet_philox linnet_draw(struct linnet_augment_key key, uint32_t purpose) {
  return linnet_philox(key.seed ^ 0x5A6D656E74ull, key.epoch, key.utterance << 16 | purpose);
}

/* A uniform integer in 0 ... n-1. */
static inline size_t linnet_draw_below(uint32_t word, size_t n) {
  return (size_t)((double)n * linnet_philox_uniform(word));
}

/* A uniform number in low ... high. */
static inline double linnet_draw_between(uint32_t word, double low, double high) {
  return low + (high - low) * linnet_philox_uniform(word);
}

/* False for NaN. */
static inline bool linnet_inside(double value, double low, double high) {
  return value >= low && value <= high;
}

#endif
