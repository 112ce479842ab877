/* Depthwise convolution over time, one vector of channels after the other, in spans of frames that stay in L2. There is
 * a fast path for kernels of 15 taps: where the windows of CONV_BLOCK frames lie inside the sequence, the frames' sums
 * stay in registers while the code reads the inputs that they share. All other frames run one at a time. Both paths add
 * the taps in the same order. */
#ifndef LINNET_DEPTHWISE_CONV_VEC_H
#define LINNET_DEPTHWISE_CONV_VEC_H

#include "ops/depthwise_conv.h"
#include "ops/vec.h"
#include "ops/vector_vec.h"

enum { CONV_KERNEL = 15, CONV_BLOCK = 8, CONV_SPAN = 128 };

/* One sequence and one vector of channels; the pointers are at its first channel. */
struct conv_lanes {
  size_t frames, width, kernel, channels; /* width: of a row; channels: those that remain in the row */
  size_t left;                            /* frames before t that an output depends on, in the order of the taps here */
  const float *x, *w, *bias;              /* bias NULL: 0 */
  bool reverse;                           /* taps in reverse order, for the gradient of x */
  float *y;
};

static inline const float *conv_tap(const struct conv_lanes *l, size_t j) {
  return l->w + (l->reverse ? l->kernel - 1 - j : j) * l->width;
}

/* The taps [*first, *end) that read inside the sequence for frame t. */
static void conv_taps(const struct conv_lanes *l, size_t t, size_t *first, size_t *end) {
  *first = t < l->left ? l->left - t : 0;
  *end = linnet_min_size(l->kernel, l->frames + l->left - t);
}

static void conv_frame(const struct conv_lanes *l, size_t t) {
  size_t first, end;
  conv_taps(l, t, &first, &end);
  vf sum = l->bias ? vf_load_part(l->bias, l->channels) : vf_set(0);
  for (size_t j = first; j < end; j++)
    sum += vf_load_part(conv_tap(l, j), l->channels) * vf_load_part(l->x + (t + j - l->left) * l->width, l->channels);
  vf_store_part(l->y + t * l->width, sum, l->channels);
}

/* Frames t ... t + CONV_BLOCK - 1; `taps` is the kernel. */
VEC_INLINE void conv_block(const struct conv_lanes *l, size_t t, const vf *taps, vf bias) {
  const float *x = l->x + (t - l->left) * l->width;
  float *y = l->y + t * l->width;
  vf sum[CONV_BLOCK];
  VEC_UNROLL
  for (size_t i = 0; i < CONV_BLOCK; i++)
    sum[i] = bias;
  VEC_UNROLL
  for (size_t i = 0; i < CONV_BLOCK + CONV_KERNEL - 1; i++, x += l->width) {
    vf input = vf_load(x);
    VEC_UNROLL
    for (size_t b = 0; b < CONV_BLOCK; b++)
      if (i >= b && i - b < CONV_KERNEL)
        sum[b] += taps[i - b] * input;
  }
  VEC_UNROLL
  for (size_t i = 0; i < CONV_BLOCK; i++, y += l->width)
    vf_store(y, sum[i]);
}

/* Frames [t, end). */
static void conv_span(const struct conv_lanes *l, size_t t, size_t end) {
  if (l->kernel == CONV_KERNEL && l->channels >= VW && l->frames >= CONV_KERNEL) {
    const size_t inner = l->frames - (CONV_KERNEL - 1 - l->left);
    vf taps[CONV_KERNEL], bias = l->bias ? vf_load(l->bias) : vf_set(0);
    for (size_t j = 0; j < CONV_KERNEL; j++)
      taps[j] = vf_load(conv_tap(l, j));
    for (; t < linnet_min_size(l->left, end); t++)
      conv_frame(l, t);
    for (; t + CONV_BLOCK <= linnet_min_size(end, inner); t += CONV_BLOCK)
      conv_block(l, t, taps, bias);
  }
  for (; t < end; t++)
    conv_frame(l, t);
}

/* The first `rows` outputs of a sequence. */
static void conv_sequence(const struct linnet_conv *c, size_t frames, size_t rows, const float *x, const float *w,
                          const float *bias, bool reverse, float *y) {
  const size_t left = reverse ? c->kernel - 1 - c->left : c->left;
  for (size_t t = 0; t < rows; t += CONV_SPAN)
    for (size_t i = 0; i < c->channels; i += VW) {
      struct conv_lanes l = {
          frames, c->channels, c->kernel, c->channels - i, left, x + i, w + i, bias ? bias + i : NULL, reverse, y + i};
      conv_span(&l, t, linnet_min_size(t + CONV_SPAN, rows));
    }
}

static void conv_forward_vec(const struct linnet_conv *c, const struct linnet_pack *p, const float *x, const float *w,
                             const float *bias, float *y) {
  for (size_t s = 0; s < p->sequences; s++) {
    size_t start = p->offsets[s] * c->channels, frames = p->offsets[s + 1] - p->offsets[s];
    conv_sequence(c, frames, frames, x + start, w, bias, false, y + start);
  }
}

static void conv_window_vec(const struct linnet_conv *c, size_t rows, const float *x, const float *w, const float *bias,
                            float *y) {
  const struct linnet_conv window = {c->channels, c->kernel, 0};
  conv_sequence(&window, rows + c->kernel - 1, rows, x, w, bias, false, y);
}

/* --- Gradient of the taps: dw[j] = sum_t x[t + j - left] dy[t] */

#define CONV_TAPS (VW == 16 ? CONV_KERNEL : 8) /* the number of sums that fit into registers */

/* The gradients of taps [j, j + taps), over the frames [first, end), where all of these taps read inside the sequence.
 */
VEC_INLINE void conv_tap_gradients(const struct linnet_conv *c, const size_t taps, size_t j, size_t first, size_t end,
                                   const float *x, const float *dy, float *dw_add) {
  const size_t width = c->channels;
  vf sum[CONV_KERNEL];
  VEC_UNROLL
  for (size_t i = 0; i < taps; i++)
    sum[i] = vf_set(0);
  for (size_t t = first; t < end; t++) {
    vf d = vf_load(dy + t * width);
    const float *row = x + (t + j - c->left) * width;
    VEC_UNROLL
    for (size_t i = 0; i < taps; i++, row += width)
      sum[i] += vf_load(row) * d;
  }
  float *dw = dw_add + j * width;
  VEC_UNROLL
  for (size_t i = 0; i < taps; i++, dw += width)
    vf_store(dw, vf_load(dw) + sum[i]);
}

/* The gradient of one tap, for one vector of channels, over the frames [first, end). */
static void conv_tap_gradient(const struct linnet_conv *c, size_t channels, size_t j, size_t first, size_t end,
                              const float *x, const float *dy, float *dw_add) {
  vf sum = vf_set(0);
  for (size_t t = first; t < end; t++)
    sum += vf_load_part(x + (t + j - c->left) * c->channels, channels) * vf_load_part(dy + t * c->channels, channels);
  float *dw = dw_add + j * c->channels;
  vf_store_part(dw, vf_load_part(dw, channels) + sum, channels);
}

/* The gradients of all taps over the frames [middle, end), where all taps read inside the sequence. Each span has a sum
 * of its own, which reduces rounding errors. */
static void conv_inner_gradients(const struct linnet_conv *c, size_t middle, size_t end, const float *x,
                                 const float *dy, float *dw_add) {
  for (size_t t = middle; t < end; t += CONV_SPAN)
    for (size_t i = 0; i + VW <= c->channels; i += VW) {
      size_t stop = linnet_min_size(t + CONV_SPAN, end);
      conv_tap_gradients(c, CONV_TAPS, 0, t, stop, x + i, dy + i, dw_add + i);
      if (CONV_KERNEL > CONV_TAPS)
        conv_tap_gradients(c, CONV_KERNEL - CONV_TAPS, CONV_TAPS, t, stop, x + i, dy + i, dw_add + i);
    }
}

/* The remaining frames of a vector of channels, tap by tap. */
static void conv_outer_gradients(const struct linnet_conv *c, size_t frames, size_t channels, size_t middle, size_t end,
                                 const float *x, const float *dy, float *dw_add) {
  const size_t left = c->left;
  for (size_t j = 0; j < c->kernel; j++) {
    size_t low = j < left ? left - j : 0, high = frames + left > j ? linnet_min_size(frames + left - j, frames) : 0;
    if (low < middle)
      conv_tap_gradient(c, channels, j, low, middle, x, dy, dw_add);
    if (end > low)
      low = end;
    if (low < high)
      conv_tap_gradient(c, channels, j, low, high, x, dy, dw_add);
  }
}

static void conv_weight_gradients(const struct linnet_conv *c, size_t frames, const float *x, const float *dy,
                                  float *dw_add) {
  size_t middle = 0, end = 0;
  if (c->kernel == CONV_KERNEL && frames >= CONV_KERNEL)
    middle = c->left, end = frames - (CONV_KERNEL - 1 - c->left);
  conv_inner_gradients(c, middle, end, x, dy, dw_add);
  for (size_t i = 0; i < c->channels; i += VW) {
    bool whole = c->channels - i >= VW;
    conv_outer_gradients(c, frames, c->channels - i, whole ? middle : 0, whole ? end : 0, x + i, dy + i, dw_add + i);
  }
}

static void conv_backward_vec(const struct linnet_conv *c, const struct linnet_pack *p,
                              const struct linnet_conv_gradients *g) {
  for (size_t s = 0; s < p->sequences; s++) {
    size_t start = p->offsets[s] * c->channels, frames = p->offsets[s + 1] - p->offsets[s];
    const float *x = (const float *)g->x + start, *dy = (const float *)g->dy + start;
    conv_sequence(c, frames, frames, dy, g->w, NULL, true, (float *)g->dx + start);
    column_sum_vec(frames, c->channels, dy, g->dbias_add);
    conv_weight_gradients(c, frames, x, dy, g->dw_add);
  }
}

#endif
