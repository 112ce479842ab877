/* Softmax attention (Vaswani et al. 2017, eq. 1), of all frames of a sequence or causal: the C reference.
 *
 * No (T, T) matrix exists. Forward runs over the keys once, with a running maximum and sum (Milakov and Gimelshein
 * 2018; Dao et al. 2022), and saves the log-sum-exp of each row of scores. From these, backward computes the
 * probabilities again. */
#ifndef LINNET_SOFTMAX_ATTENTION_H
#define LINNET_SOFTMAX_ATTENTION_H

#include <string.h>

#include "ops/attention.h"

/* Saved: (frames, heads) log-sum-exps. */
size_t linnet_softmax_saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences);

/* The state of the causal kind is (steps + 1, heads * (key_width + width)). The row of a frame has the keys of all
 * heads, then the values of all heads; the last row is for the next frame. The state grows at its end, and its earlier
 * rows do not change. */
static inline size_t linnet_softmax_state_row(const struct linnet_attention *a) {
  return a->heads * (a->key_width + a->width);
}
size_t linnet_softmax_state_size(const struct linnet_attention *a, size_t steps);

/* Stores one frame after `steps` others. Returns the terms with the leading dimensions of the state. */
struct linnet_attention linnet_softmax_append(const struct linnet_attention *a, size_t steps, const real *k,
                                              const real *v, real *state);

/* Sets (rows, width) of x with leading dimension ld to zero. */
static inline void linnet_clear_rows(size_t rows, size_t width, size_t ld, real *x) {
  for (size_t t = 0; t < rows; t++)
    memset(x + t * ld, 0, width * sizeof *x);
}

extern const struct linnet_attention_ops linnet_softmax_attention_reference;
extern const struct linnet_attention_ops linnet_causal_softmax_attention_reference;

#endif
