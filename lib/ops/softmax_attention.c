/* Per head, with C = key_width, and j over the frames that frame i sees (all, or those up to i):
 *
 *   s_ij = q_i . k_j / sqrt(C)     l_i = log sum_j exp(s_ij)     p_ij = exp(s_ij - l_i)     out_i = sum_j p_ij v_j
 *
 * Backward, with d_i = dout_i . out_i and ds_ij = p_ij (dout_i . v_j - d_i) / sqrt(C) (Dao et al. 2022, algorithm 4):
 *
 *   dq_i = sum_j ds_ij k_j     dk_j = sum_i ds_ij q_i     dv_j = sum_i p_ij dout_i
 */
#include "ops/softmax_attention.h"

#include <string.h>

enum { TILE = 64 }; /* keys per update of the running maximum */

static real dot(size_t n, const real *x, const real *y) {
  real sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

/* y += scale * x */
static void add_scaled(size_t n, real scale, const real *x, real *y) {
  for (size_t i = 0; i < n; i++)
    y[i] += scale * x[i];
}

static real scale_of(const struct linnet_attention *a) {
  return 1 / real_sqrt((real)a->key_width);
}

/* The number of the `rows` frames that frame i sees. */
static size_t seen_by(bool causal, size_t i, size_t rows) {
  return causal ? i + 1 : rows;
}

/* --- rows of one head --------------------------------------------------------------------------------------------- */

/* Writes the scores of a tile to p. Returns the maximum of these and `largest`. */
static real tile_scores(const struct linnet_attention *a, size_t n, const real *q, const real *k, real largest,
                        real *p) {
  for (size_t j = 0; j < n; j++) {
    p[j] = dot(a->key_width, q, k + j * a->key_ld) * scale_of(a);
    largest = p[j] > largest ? p[j] : largest;
  }
  return largest;
}

/* One query against n keys. Returns the log-sum-exp. After each tile, `sum` and `out` are sums of exp(s_j - largest).
 */
static real attend(const struct linnet_attention *a, size_t n, const real *q, const real *k, const real *v, real *out) {
  real largest = -INFINITY, sum = 0, p[TILE];
  for (size_t m = 0; m < a->width; m++)
    out[m] = 0;
  for (size_t first = 0; first < n; first += TILE) {
    size_t count = n - first < TILE ? n - first : TILE;
    real before = largest;
    largest = tile_scores(a, count, q, k + first * a->key_ld, before, p);
    real shrink = real_exp(before - largest);
    sum *= shrink;
    for (size_t m = 0; m < a->width; m++)
      out[m] *= shrink;
    for (size_t j = 0; j < count; j++) {
      real e = real_exp(p[j] - largest);
      sum += e;
      add_scaled(a->width, e, v + (first + j) * a->value_ld, out);
    }
  }
  for (size_t m = 0; m < a->width; m++)
    out[m] /= sum;
  return largest + real_log(sum);
}

/* One query of a head: pointers to its rows. */
struct query {
  const real *q, *out, *dout;
  real log_sum;
};

/* Writes dq of one query and adds to the gradients of the n keys and values that it sees. */
static void backward_query(const struct linnet_attention *a, size_t n, const struct query *i, const real *k,
                           const real *v, real *dq, real *dk_add, real *dv_add) {
  real d = dot(a->width, i->dout, i->out), scale = scale_of(a);
  for (size_t c = 0; c < a->key_width; c++)
    dq[c] = 0;
  for (size_t j = 0; j < n; j++, k += a->key_ld, v += a->value_ld, dk_add += a->key_ld, dv_add += a->value_ld) {
    real p = real_exp(dot(a->key_width, i->q, k) * scale - i->log_sum);
    real ds = p * (dot(a->width, i->dout, v) - d) * scale;
    add_scaled(a->key_width, ds, k, dq);
    add_scaled(a->key_width, ds, i->q, dk_add);
    add_scaled(a->width, p, i->dout, dv_add);
  }
}

/* --- all heads ---------------------------------------------------------------------------------------------------- */

size_t linnet_softmax_saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  (void)sequences;
  return frames * a->heads * sizeof(real);
}

static size_t work_bytes(const struct linnet_attention *a, size_t longest) {
  (void)a, (void)longest;
  return 0;
}

static void forward_either(const struct linnet_attention_call *c, bool causal) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  const real *q = c->q, *k = c->k, *v = c->v;
  real *log_sums = c->saved, *out = c->out;
  for (size_t s = 0; s < p->sequences; s++) {
    size_t first = p->offsets[s], rows = p->offsets[s + 1] - first;
    for (size_t i = 0; i < rows && !linnet_stopped(a->poll); i++)
      for (size_t h = 0; h < a->heads; h++)
        log_sums[(first + i) * a->heads + h] =
            attend(a, seen_by(causal, i, rows), q + (first + i) * a->key_ld + h * a->key_width,
                   k + first * a->key_ld + h * a->key_width, v + first * a->value_ld + h * a->width,
                   out + (first + i) * a->out_ld + h * a->width);
  }
}

static void backward_either(const struct linnet_attention_call *c, bool causal) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  const real *q = c->q, *k = c->k, *v = c->v, *log_sums = c->saved, *out = c->out, *dout = c->dout;
  real *dq = c->dq, *dk = c->dk, *dv = c->dv;
  linnet_clear_rows(p->offsets[p->sequences], a->heads * a->key_width, a->key_ld, dk);
  linnet_clear_rows(p->offsets[p->sequences], a->heads * a->width, a->value_ld, dv);
  for (size_t s = 0; s < p->sequences; s++) {
    size_t first = p->offsets[s], rows = p->offsets[s + 1] - first;
    for (size_t i = 0; i < rows; i++)
      for (size_t h = 0; h < a->heads; h++) {
        size_t in = (first + i) * a->key_ld + h * a->key_width, o = (first + i) * a->out_ld + h * a->width;
        size_t key = first * a->key_ld + h * a->key_width, value = first * a->value_ld + h * a->width;
        const struct query query = {q + in, out + o, dout + o, log_sums[(first + i) * a->heads + h]};
        backward_query(a, seen_by(causal, i, rows), &query, k + key, v + value, dq + in, dk + key, dv + value);
      }
  }
}

static void forward(const struct linnet_attention_call *c) {
  forward_either(c, false);
}

static void causal_forward(const struct linnet_attention_call *c) {
  forward_either(c, true);
}

static void backward(const struct linnet_attention_call *c) {
  backward_either(c, false);
}

static void causal_backward(const struct linnet_attention_call *c) {
  backward_either(c, true);
}

/* --- frame by frame ----------------------------------------------------------------------------------------------- */

size_t linnet_softmax_state_size(const struct linnet_attention *a, size_t steps) {
  return (steps + 1) * linnet_softmax_state_row(a);
}

struct linnet_attention linnet_softmax_append(const struct linnet_attention *a, size_t steps, const real *k,
                                              const real *v, real *state) {
  struct linnet_attention stored = *a;
  real *row = state + steps * linnet_softmax_state_row(a);
  memcpy(row, k, a->heads * a->key_width * sizeof *row);
  memcpy(row + a->heads * a->key_width, v, a->heads * a->width * sizeof *row);
  stored.key_ld = stored.value_ld = linnet_softmax_state_row(a);
  return stored;
}

static void step(const struct linnet_attention *a, size_t steps, const real *q, const real *k, const real *v,
                 real *state, real *out) {
  const struct linnet_attention stored = linnet_softmax_append(a, steps, k, v, state);
  const real *values = state + a->heads * a->key_width;
  for (size_t h = 0; h < a->heads; h++)
    attend(&stored, steps + 1, q + h * a->key_width, state + h * a->key_width, values + h * a->width,
           out + h * a->width);
}

const struct linnet_attention_ops linnet_softmax_attention_reference = {
    .saved_bytes = linnet_softmax_saved_bytes,
    .work_bytes = work_bytes,
    .forward = forward,
    .backward = backward,
};

const struct linnet_attention_ops linnet_causal_softmax_attention_reference = {
    .saved_bytes = linnet_softmax_saved_bytes,
    .work_bytes = work_bytes,
    .forward = causal_forward,
    .backward = causal_backward,
    .state_size = linnet_softmax_state_size,
    .step = step,
};
