/* Per head: S = sum_j phi(k_j) v_j^T (width x width), z = sum_j phi(k_j), and
 *
 *   out_i = phi(q_i)^T S / d_i,   d_i = phi(q_i) . z + epsilon
 *
 * Backward, with n_i = dout_i / d_i and e_i = -(n_i . out_i):
 *
 *   dphi(q_i) = S n_i + z e_i           dS = sum_i phi(q_i) n_i^T     dz = sum_i phi(q_i) e_i
 *   dphi(k_j) = dS v_j + dz             dv_j = dS^T phi(k_j)
 */
#include "ops/linear_attention.h"

static real phi(real x) {
  return x > 0 ? x + 1 : real_exp(x);
}
static real phi_slope(real x) {
  return x > 0 ? 1 : real_exp(x);
}

static void accumulate_row(size_t width, const real *k, const real *v, real *state) {
  real *z = state + width * width;
  for (size_t c = 0; c < width; c++) {
    real f = phi(k[c]);
    for (size_t m = 0; m < width; m++)
      state[c * width + m] += f * v[m];
    z[c] += f;
  }
}

static real normaliser(size_t width, const real *q, const real *z) {
  real sum = 0;
  for (size_t c = 0; c < width; c++)
    sum += phi(q[c]) * z[c];
  return sum + (real)LINNET_ATTENTION_EPSILON;
}

static void apply_row(size_t width, const real *q, const real *state, real *out) {
  real scale = 1 / normaliser(width, q, state + width * width);
  for (size_t m = 0; m < width; m++)
    out[m] = 0;
  for (size_t c = 0; c < width; c++) {
    real f = phi(q[c]);
    for (size_t m = 0; m < width; m++)
      out[m] += f * state[c * width + m];
  }
  for (size_t m = 0; m < width; m++)
    out[m] *= scale;
}

void linnet_attention_accumulate_reference(const struct linnet_attention_shape *s, size_t rows, const real *k,
                                           const real *v, real *state_add) {
  size_t head_size = s->width * (s->width + 1);
  for (size_t t = 0; t < rows; t++)
    for (size_t h = 0; h < s->heads; h++)
      accumulate_row(s->width, k + t * s->ld + h * s->width, v + t * s->ld + h * s->width, state_add + h * head_size);
}

void linnet_attention_apply_reference(const struct linnet_attention_shape *s, size_t rows, const real *q,
                                      const real *state, real *out) {
  size_t head_size = s->width * (s->width + 1);
  for (size_t t = 0; t < rows; t++)
    for (size_t h = 0; h < s->heads; h++)
      apply_row(s->width, q + t * s->ld + h * s->width, state + h * head_size, out + (t * s->heads + h) * s->width);
}

void linnet_attention_forward_reference(const struct linnet_attention_shape *s, const struct linnet_pack *p,
                                        const real *q, const real *k, const real *v, real *state, real *out) {
  size_t size = linnet_attention_state_size(s);
  for (size_t i = 0; i < p->sequences; i++, state += size) {
    size_t first = p->offsets[i], rows = p->offsets[i + 1] - first;
    for (size_t j = 0; j < size; j++)
      state[j] = 0;
    linnet_attention_accumulate_reference(s, rows, k + first * s->ld, v + first * s->ld, state);
    linnet_attention_apply_reference(s, rows, q + first * s->ld, state, out + first * s->heads * s->width);
  }
}

/* Writes dq of one row and adds to the gradient of the state. */
static void backward_query(size_t width, const real *q, const real *state, const real *out, const real *dout, real *dq,
                           real *dstate) {
  const real *z = state + width * width;
  real d = normaliser(width, q, z), e = 0;
  for (size_t m = 0; m < width; m++)
    e -= dout[m] * out[m] / d;
  for (size_t c = 0; c < width; c++) {
    real sum = z[c] * e, f = phi(q[c]);
    for (size_t m = 0; m < width; m++) {
      sum += state[c * width + m] * dout[m] / d;
      dstate[c * width + m] += f * dout[m] / d;
    }
    dstate[width * width + c] += f * e;
    dq[c] = sum * phi_slope(q[c]);
  }
}

static void backward_key(size_t width, const real *k, const real *v, const real *dstate, real *dk, real *dv) {
  for (size_t m = 0; m < width; m++)
    dv[m] = 0;
  for (size_t c = 0; c < width; c++) {
    real sum = dstate[width * width + c], f = phi(k[c]);
    for (size_t m = 0; m < width; m++) {
      sum += dstate[c * width + m] * v[m];
      dv[m] += dstate[c * width + m] * f;
    }
    dk[c] = sum * phi_slope(k[c]);
  }
}

size_t linnet_attention_backward_work(const struct linnet_attention_shape *s) {
  return 2 * linnet_attention_state_size(s) + 16384;
}

void linnet_attention_backward_reference(const struct linnet_attention_shape *s, const struct linnet_pack *p,
                                         const real *q, const real *k, const real *v, const real *state,
                                         const real *out, const real *dout, real *dq, real *dk, real *dv, real *work) {
  size_t size = linnet_attention_state_size(s), head_size = s->width * (s->width + 1), w = s->width;
  for (size_t i = 0; i < p->sequences; i++, state += size) {
    for (size_t j = 0; j < size; j++)
      work[j] = 0;
    for (size_t t = p->offsets[i]; t < p->offsets[i + 1]; t++)
      for (size_t h = 0; h < s->heads; h++) {
        size_t in = t * s->ld + h * w, o = (t * s->heads + h) * w;
        backward_query(w, q + in, state + h * head_size, out + o, dout + o, dq + in, work + h * head_size);
      }
    for (size_t t = p->offsets[i]; t < p->offsets[i + 1]; t++)
      for (size_t h = 0; h < s->heads; h++) {
        size_t in = t * s->ld + h * w;
        backward_key(w, k + in, v + in, work + h * head_size, dk + in, dv + in);
      }
  }
}
