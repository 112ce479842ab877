/* With a_t the sums of the gates, i, f, g, o side by side (H columns each), and s the logistic function:
 *
 *   a_t = W_ih x_t + b_ih + W_hh h_(t-1) + b_hh (the caller computes W_ih x_t + b_ih)
 *   i, f, o = s(a_i), s(a_f), s(a_o)            g = tanh(a_g)
 *   c_t = f c_(t-1) + i g                       h_t = o tanh(c_t)
 *
 * Backward, from the last step to the first, with dh_t the gradient that the caller passes for h_t:
 *
 *   e_t = dh_t + W_hh^T da_(t+1)                dc_t = dc_(t+1) f_(t+1) + e_t o (1 - tanh(c_t)^2)
 *   da_i = dc_t g i (1 - i)                     da_f = dc_t c_(t-1) f (1 - f)
 *   da_g = dc_t i (1 - g^2)                     da_o = e_t tanh(c_t) o (1 - o)
 */
#include "ops/lstm.h"

#include <stdlib.h>
#include <string.h>

static int longer_first(const void *a, const void *b) {
  const struct linnet_sequence_span *x = a, *y = b;
  if (x->frames != y->frames)
    return x->frames < y->frames ? 1 : -1;
  return (x->first > y->first) - (x->first < y->first);
}

void linnet_spans_longest_first(const struct linnet_pack *pack, struct linnet_sequence_span *spans) {
  for (size_t i = 0; i < pack->sequences; i++)
    spans[i] = (struct linnet_sequence_span){pack->offsets[i], pack->offsets[i + 1] - pack->offsets[i]};
  qsort(spans, pack->sequences, sizeof *spans, longer_first);
}

/* Enough for all kernels: 6 H per sequence, H zeros, and scratch for operands as bfloat16 or integer words
 * (lstm_vec.h). */
size_t linnet_lstm_work(size_t width, size_t sequences) {
  return 8 * sequences * width + width + sequences;
}

size_t linnet_lstm_pack_size_reference(size_t width, enum linnet_lstm_use use) {
  (void)use;
  return 4 * width * width;
}

void linnet_lstm_pack_reference(size_t width, enum linnet_lstm_use use, const real *weights, real *packed) {
  (void)use;
  memcpy(packed, weights, 4 * width * width * sizeof *packed);
}

static real logistic(real x) {
  return 1 / (1 + real_exp(-x));
}

/* gates (4H) += W_hh h + b_hh. */
static void add_recurrent(const struct linnet_lstm *l, const real *h, real *gates) {
  for (size_t r = 0; r < 4 * l->width; r++) {
    real sum = l->bias[r];
    for (size_t k = 0; k < l->width; k++)
      sum += l->weights[r * l->width + k] * h[k];
    gates[r] += sum;
  }
}

/* One step of one sequence: applies the activations to gates (4H), and replaces c and h (H). */
static void step_forward(size_t width, real *gates, real *c, real *h) {
  real *i = gates, *f = i + width, *g = f + width, *o = g + width;
  for (size_t u = 0; u < width; u++) {
    i[u] = logistic(i[u]);
    f[u] = logistic(f[u]);
    g[u] = real_tanh(g[u]);
    o[u] = logistic(o[u]);
    c[u] = f[u] * c[u] + i[u] * g[u];
    h[u] = o[u] * real_tanh(c[u]);
  }
}

void linnet_lstm_forward_reference(const struct linnet_lstm *l, real *gates, real *cells, real *state, real *h,
                                   real *work) {
  size_t width = l->width;
  (void)work;
  for (size_t s = 0; s < l->sequences; s++) {
    real *h_state = state + s * width, *c_state = state + (l->sequences + s) * width;
    for (size_t step = 0; step < l->spans[s].frames; step++) {
      size_t t = linnet_lstm_row(l, &l->spans[s], step);
      add_recurrent(l, h_state, gates + t * 4 * width);
      step_forward(width, gates + t * 4 * width, c_state, h_state);
      if (cells)
        memcpy(cells + t * width, c_state, width * sizeof *cells);
      memcpy(h + t * l->ld, h_state, width * sizeof *h);
    }
  }
}

/* e (H) += W^T da. */
static void add_recurrent_gradient(size_t width, const real *weights, const real *da, real *e) {
  for (size_t r = 0; r < 4 * width; r++)
    for (size_t k = 0; k < width; k++)
      e[k] += weights[r * width + k] * da[r];
}

/* One step back. e (H) is the gradient of h_t. dc (H) is the part of the gradient of c_t from later steps; it is
 * replaced by that for the previous step. gates (4H) are replaced by their gradients. */
static void step_backward(size_t width, const real *c, const real *c_before, const real *e, real *dc, real *gates) {
  for (size_t u = 0; u < width; u++) {
    real i = gates[u], f = gates[width + u], g = gates[2 * width + u], o = gates[3 * width + u];
    real squashed = real_tanh(c[u]);
    real d = dc[u] + e[u] * o * (1 - squashed * squashed);
    gates[u] = d * g * i * (1 - i);
    gates[width + u] = d * c_before[u] * f * (1 - f);
    gates[2 * width + u] = d * i * (1 - g * g);
    gates[3 * width + u] = e[u] * squashed * o * (1 - o);
    dc[u] = d * f;
  }
}

void linnet_lstm_backward_reference(const struct linnet_lstm *l, const real *cells, const real *dh, real *gates,
                                    real *work) {
  size_t width = l->width;
  real *zero = work, *e = zero + width, *dc = e + width;
  memset(zero, 0, width * sizeof *zero);
  for (size_t s = 0; s < l->sequences; s++) {
    const struct linnet_sequence_span *span = &l->spans[s];
    memset(dc, 0, width * sizeof *dc);
    for (size_t step = span->frames; step-- > 0;) {
      size_t t = linnet_lstm_row(l, span, step);
      const real *before = step > 0 ? cells + linnet_lstm_row(l, span, step - 1) * width : zero;
      memcpy(e, dh + t * l->ld, width * sizeof *e);
      if (step + 1 < span->frames)
        add_recurrent_gradient(width, l->weights, gates + linnet_lstm_row(l, span, step + 1) * 4 * width, e);
      step_backward(width, cells + t * width, before, e, dc, gates + t * 4 * width);
    }
  }
}
