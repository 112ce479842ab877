/* Per head, with C = key_width and M = width: S = sum_j phi(k_j) v_j^T (C, M), z = sum_j phi(k_j) (C), and
 *
 *   out_i = phi(q_i)^T S / d_i,   d_i = max(phi(q_i) . z, min_normaliser) + epsilon
 *
 * Backward, with n_i = dout_i / d_i, and e_i = -(n_i . out_i) or, where d_i has its minimum, e_i = 0:
 *
 *   dphi(q_i) = S n_i + z e_i           dS = sum_i phi(q_i) n_i^T     dz = sum_i phi(q_i) e_i
 *   dphi(k_j) = dS v_j + dz             dv_j = dS^T phi(k_j)
 */
#include "ops/linear_attention.h"

#include <string.h>

static real phi(const struct linnet_attention *a, real x) {
  if (a->map == LINNET_MAP_IDENTITY)
    return x;
  return x > 0 ? x + 1 : real_exp(x);
}

static real phi_slope(const struct linnet_attention *a, real x) {
  return x > 0 || a->map == LINNET_MAP_IDENTITY ? 1 : real_exp(x);
}

static size_t head_size(const struct linnet_attention *a) {
  return a->key_width * (a->width + 1);
}

/* --- rows of one head; `state` is S, followed by z ---------------------------------------------------------------- */

static void accumulate_row(const struct linnet_attention *a, const real *k, const real *v, real *state) {
  real *z = state + a->key_width * a->width;
  for (size_t c = 0; c < a->key_width; c++) {
    real f = phi(a, k[c]);
    for (size_t m = 0; m < a->width; m++)
      state[c * a->width + m] += f * v[m];
    z[c] += f;
  }
}

/* The normaliser, without epsilon. */
static real normaliser(const struct linnet_attention *a, const real *q, const real *state) {
  const real *z = state + a->key_width * a->width;
  real sum = 0;
  for (size_t c = 0; c < a->key_width; c++)
    sum += phi(a, q[c]) * z[c];
  return sum < a->min_normaliser ? a->min_normaliser : sum;
}

static void apply_row(const struct linnet_attention *a, const real *q, const real *state, real *out) {
  real scale = 1 / (normaliser(a, q, state) + (real)LINNET_ATTENTION_EPSILON);
  for (size_t m = 0; m < a->width; m++)
    out[m] = 0;
  for (size_t c = 0; c < a->key_width; c++) {
    real f = phi(a, q[c]);
    for (size_t m = 0; m < a->width; m++)
      out[m] += f * state[c * a->width + m];
  }
  for (size_t m = 0; m < a->width; m++)
    out[m] *= scale;
}

/* Writes dq of one row and adds to the gradient of the state. */
static void backward_query(const struct linnet_attention *a, const real *q, const real *state, const real *out,
                           const real *dout, real *dq, real *dstate) {
  const size_t width = a->width;
  const real *z = state + a->key_width * width;
  real sum_z = normaliser(a, q, state), d = sum_z + (real)LINNET_ATTENTION_EPSILON, e = 0;
  real *dz = dstate + a->key_width * width;
  for (size_t m = 0; m < width && sum_z > a->min_normaliser; m++)
    e -= dout[m] * out[m] / d;
  for (size_t c = 0; c < a->key_width; c++) {
    real sum = z[c] * e, f = phi(a, q[c]);
    for (size_t m = 0; m < width; m++) {
      sum += state[c * width + m] * dout[m] / d;
      dstate[c * width + m] += f * dout[m] / d;
    }
    dz[c] += f * e;
    dq[c] = sum * phi_slope(a, q[c]);
  }
}

static void backward_key(const struct linnet_attention *a, const real *k, const real *v, const real *dstate, real *dk,
                         real *dv) {
  const real *dz = dstate + a->key_width * a->width;
  for (size_t m = 0; m < a->width; m++)
    dv[m] = 0;
  for (size_t c = 0; c < a->key_width; c++) {
    real sum = dz[c], f = phi(a, k[c]);
    for (size_t m = 0; m < a->width; m++) {
      sum += dstate[c * a->width + m] * v[m];
      dv[m] += dstate[c * a->width + m] * f;
    }
    dk[c] = sum * phi_slope(a, k[c]);
  }
}

/* --- all heads ---------------------------------------------------------------------------------------------------- */

void linnet_linear_accumulate_reference(const struct linnet_attention *a, size_t rows, const real *k, const real *v,
                                        real *state_add) {
  for (size_t t = 0; t < rows; t++)
    for (size_t h = 0; h < a->heads; h++)
      accumulate_row(a, k + t * a->key_ld + h * a->key_width, v + t * a->value_ld + h * a->width,
                     state_add + h * head_size(a));
}

void linnet_linear_apply_reference(const struct linnet_attention *a, size_t rows, const real *q, const real *state,
                                   real *out) {
  for (size_t t = 0; t < rows; t++)
    for (size_t h = 0; h < a->heads; h++)
      apply_row(a, q + t * a->key_ld + h * a->key_width, state + h * head_size(a), out + t * a->out_ld + h * a->width);
}

size_t linnet_linear_saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  (void)frames;
  return sequences * linnet_linear_state_size(a) * sizeof(real);
}

size_t linnet_linear_work_bytes(const struct linnet_attention *a, size_t longest) {
  (void)longest;
  return (2 * linnet_linear_state_size(a) + 16384) * sizeof(real);
}

static void forward(const struct linnet_attention_call *c) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  const real *q = c->q, *k = c->k, *v = c->v;
  real *out = c->out, *state = c->saved;
  size_t size = linnet_linear_state_size(a);
  for (size_t i = 0; i < p->sequences; i++, state += size) {
    size_t first = p->offsets[i], rows = p->offsets[i + 1] - first;
    memset(state, 0, size * sizeof *state);
    linnet_linear_accumulate_reference(a, rows, k + first * a->key_ld, v + first * a->value_ld, state);
    linnet_linear_apply_reference(a, rows, q + first * a->key_ld, state, out + first * a->out_ld);
  }
}

static void backward(const struct linnet_attention_call *c) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  const real *q = c->q, *k = c->k, *v = c->v, *state = c->saved, *out = c->out, *dout = c->dout;
  real *dq = c->dq, *dk = c->dk, *dv = c->dv, *dstate = c->work;
  size_t size = linnet_linear_state_size(a);
  for (size_t i = 0; i < p->sequences; i++, state += size) {
    memset(dstate, 0, size * sizeof *dstate);
    for (size_t t = p->offsets[i]; t < p->offsets[i + 1]; t++)
      for (size_t h = 0; h < a->heads; h++) {
        size_t in = t * a->key_ld + h * a->key_width, o = t * a->out_ld + h * a->width;
        backward_query(a, q + in, state + h * head_size(a), out + o, dout + o, dq + in, dstate + h * head_size(a));
      }
    for (size_t t = p->offsets[i]; t < p->offsets[i + 1]; t++)
      for (size_t h = 0; h < a->heads; h++) {
        size_t in = t * a->key_ld + h * a->key_width, value = t * a->value_ld + h * a->width;
        backward_key(a, k + in, v + value, dstate + h * head_size(a), dk + in, dv + value);
      }
  }
}

const struct linnet_attention_ops linnet_linear_attention_reference = {
    .saved_bytes = linnet_linear_saved_bytes,
    .work_bytes = linnet_linear_work_bytes,
    .forward = forward,
    .backward = backward,
};
