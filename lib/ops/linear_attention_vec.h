/* Linear attention as small products of blocks of rows, head by head. phi, its slope and the normalisers are applied
 * when operands are copied (formulas: linear_attention.c). For elu, with E = exp(min(x, 0)): phi(x) = E + max(x, 0),
 * phi'(x) = E.
 *
 *   S += phi(K)^T V             out = (phi(Q) / d) S
 *   dphi(Q) = N S^T + e z^T     dS += phi(Q)^T N      N = dout / d, e = -(N . out) per row
 *   dphi(K) = V dS^T + dz       dV = phi(K) dS
 *
 * Sums over rows are sums over blocks of ATTENTION_ROWS rows, counted from the first row of a call; wide heads have
 * smaller blocks. Queries and keys that the feature map op has mapped before may have any width and are read in place.
 * Their products are divided along this width, so that a part of the state fits into a square. The reference computes
 * heads wider than ATTENTION_WIDTH. */
#ifndef LINNET_LINEAR_ATTENTION_VEC_H
#define LINNET_LINEAR_ATTENTION_VEC_H

#include "ops/gemm_vec.h"
#include "ops/linear_attention.h"
#include "ops/vec.h"

enum { ATTENTION_ROWS = 96, ATTENTION_FLOATS = 4096, ATTENTION_WIDTH = 128 };

/* One head. Operands of products have rows of `stride` elements: the width rounded up to vectors. */
struct attention_head {
  size_t width, stride; /* of values; elu: also of queries and keys */
  size_t key_width;
  size_t key_ld, value_ld, out_ld; /* of queries and keys, values, outputs, and of their gradients */
  float min_normaliser;            /* minimum of the normalisers, if queries and keys were mapped before */
};

/* The functions for blocks of rows of one head; `state` is S, then z. */
struct attention_blocks {
  void (*accumulate)(const struct attention_head *h, size_t rows, const float *k, const float *v, float *state_add);
  void (*apply)(const struct attention_head *h, size_t rows, const float *q, const float *state, float *out);
  /* Writes dq and adds to the gradient of the state. */
  void (*backward_queries)(const struct attention_head *h, size_t rows, const float *q, const float *state,
                           const float *out, const float *dout, float *dq, float *dstate_add);
  void (*backward_keys)(const struct attention_head *h, size_t rows, const float *k, const float *v,
                        const float *dstate, float *dk, float *dv);
};

typedef float attention_operand[ATTENTION_FLOATS] __attribute__((aligned(64)));
typedef float attention_square[ATTENTION_WIDTH * ATTENTION_WIDTH] __attribute__((aligned(64)));

static struct attention_head attention_head(const struct linnet_attention *a) {
  return (struct attention_head){.width = a->width,
                                 .stride = linnet_round_up(a->width, VW),
                                 .key_width = a->key_width,
                                 .key_ld = a->key_ld,
                                 .value_ld = a->value_ld,
                                 .out_ld = a->out_ld,
                                 .min_normaliser = a->min_normaliser};
}

static size_t attention_rows(const struct attention_head *h) {
  return linnet_min_size(ATTENTION_ROWS, ATTENTION_FLOATS / gemm_padded(h->width));
}

VEC_INLINE vf attention_phi(vf x, vf *slope) {
  const vf zero = vf_set(0); /* first operand, so that NaN passes through */
  *slope = vf_exp_negative(vf_min(zero, x));
  return *slope + vf_max(zero, x);
}

VEC_INLINE float attention_dot(size_t n, const float *x, const float *y) {
  vf sum = vf_set(0);
  for (size_t j = 0; j < n; j += VW)
    sum += vf_load_part(x + j, n - j) * vf_load_part(y + j, n - j);
  return vf_sum(sum);
}

/* product (rows, width) = left (rows, depth) * panels (depth, width) [+ product] */
static void attention_product(size_t rows, size_t width, size_t depth, struct gemm_left left, const float *panels,
                              float *product, size_t ld, bool add) {
  struct gemm_right to = {.c = product, .ldc = ld, .add = add};
  gemm_block(rows, width, depth, &left, panels, &to);
}

/* A (width, width) matrix or its transpose as panels. Returns the matrix itself if it is a panel already, else fills
 * `panels`. */
static const float *attention_panels(bool transpose, size_t width, const float *square, float *panels) {
  if (!transpose && width == GEMM_COLUMNS)
    return square;
  gemm_pack_panels(transpose, width, width, square, width, panels);
  return panels;
}

/* --- elu: forward */

/* The row loops below are inlined twice: once for the usual width, so that the compiler unrolls loops over vectors, and
 * once for any width. */

/* phi of the keys, and its sum, which is added to z. */
VEC_INLINE void attention_keys(const struct attention_head *h, const size_t width, const size_t stride, size_t rows,
                               const float *k, float *phi, float *z_add) {
  for (size_t t = 0; t < rows; t++, k += h->key_ld, phi += stride) {
    for (size_t j = 0; j < width; j += VW) {
      vf slope, f = attention_phi(vf_load_part(k + j, width - j), &slope);
      vf_store(phi + j, f);
    }
  }
  phi -= rows * stride;
  for (size_t j = 0; j < width; j += VW) {
    vf sum = vf_set(0);
    for (size_t t = 0; t < rows; t++)
      sum += vf_load(phi + t * stride + j);
    vf_store_part(z_add + j, vf_load_part(z_add + j, width - j) + sum, width - j);
  }
}

static void attention_accumulate_block(const struct attention_head *h, size_t rows, const float *k, const float *v,
                                       float *state_add) {
  attention_operand phi, values;
  size_t w = h->width;
  if (w == 32)
    attention_keys(h, 32, 32, rows, k, phi, state_add + w * w);
  else
    attention_keys(h, w, h->stride, rows, k, phi, state_add + w * w);
  gemm_pack_straight(rows, w, GEMM_COLUMNS, v, h->value_ld, values);
  attention_product(w, w, rows, gemm_left(phi, 1, h->stride), values, state_add, w, true);
}

/* phi of the queries divided by their normalisers. */
VEC_INLINE void attention_queries(const struct attention_head *h, const size_t width, const size_t stride, size_t rows,
                                  const float *q, const float *z, float *phi) {
  for (size_t t = 0; t < rows; t++, q += h->key_ld, phi += stride) {
    vf dot = vf_set(0), slope;
    for (size_t j = 0; j < width; j += VW) {
      vf f = attention_phi(vf_load_part(q + j, width - j), &slope);
      dot += f * vf_load_part(z + j, width - j);
      vf_store(phi + j, f);
    }
    float scale = 1 / (vf_sum(dot) + (float)LINNET_ATTENTION_EPSILON);
    for (size_t j = 0; j < width; j += VW)
      vf_store(phi + j, vf_load(phi + j) * scale);
  }
}

static void attention_apply_block(const struct attention_head *h, size_t rows, const float *q, const float *state,
                                  float *out) {
  attention_operand phi;
  attention_square panels;
  size_t w = h->width;
  if (w == 32)
    attention_queries(h, 32, 32, rows, q, state + w * w, phi);
  else
    attention_queries(h, w, h->stride, rows, q, state + w * w, phi);
  attention_product(rows, w, w, gemm_left(phi, h->stride, 1), attention_panels(false, w, state, panels), out, h->out_ld,
                    false);
}

/* --- elu: one row */

enum { ATTENTION_STEP_WIDTH = 32 };

/* S += phi_k^T v, out = phi_q S * scale, in one pass over S. */
VEC_INLINE void attention_step_products(const float *phi_k, const float *v, const float *phi_q, float scale, float *s,
                                        float *out) {
  enum { VECTORS = ATTENTION_STEP_WIDTH / VW };
  vf value[VECTORS], sum[VECTORS];
  VEC_UNROLL
  for (size_t j = 0; j < VECTORS; j++)
    value[j] = vf_load(v + j * VW), sum[j] = vf_set(0);
  for (size_t c = 0; c < ATTENTION_STEP_WIDTH; c++, s += ATTENTION_STEP_WIDTH) {
    const vf key = vf_set(phi_k[c]), query = vf_set(phi_q[c]);
    VEC_UNROLL
    for (size_t j = 0; j < VECTORS; j++) {
      const vf row = vf_load(s + j * VW) + key * value[j];
      vf_store(s + j * VW, row);
      sum[j] += query * row;
    }
  }
  VEC_UNROLL
  for (size_t j = 0; j < VECTORS; j++)
    vf_store(out + j * VW, sum[j] * scale);
}

/* phi of the query and of the key, which is added to z. Returns 1 / the normaliser. */
VEC_INLINE float attention_step_operands(const float *q, const float *k, float *z, float *phi_q, float *phi_k) {
  vf dot = vf_set(0), slope;
  VEC_UNROLL
  for (size_t j = 0; j < ATTENTION_STEP_WIDTH; j += VW) {
    const vf key = attention_phi(vf_load(k + j), &slope), query = attention_phi(vf_load(q + j), &slope);
    const vf sum = vf_load(z + j) + key;
    vf_store(phi_k + j, key);
    vf_store(phi_q + j, query);
    vf_store(z + j, sum);
    dot += query * sum;
  }
  return 1 / (vf_sum(dot) + (float)LINNET_ATTENTION_EPSILON);
}

/* One row of a head of width ATTENTION_STEP_WIDTH: accumulates, then applies. */
static void attention_step(const float *q, const float *k, const float *v, float *state, float *out) {
  enum { WIDTH = ATTENTION_STEP_WIDTH };
  float phi_k[WIDTH] __attribute__((aligned(64))), phi_q[WIDTH] __attribute__((aligned(64)));
  const float scale = attention_step_operands(q, k, state + (size_t)WIDTH * WIDTH, phi_q, phi_k);
  attention_step_products(phi_k, v, phi_q, scale, state, out);
}

/* --- elu: backward */

/* Workspace of one block of queries. elu: phi and its slope. N twice (rows of `stride`, and panels), e per row;
 * products. */
struct attention_gradient {
  attention_operand phi, slope, n, n_panels, product;
  float e[ATTENTION_ROWS];
};

/* N as panels. Where heads are as wide as a panel, its rows are panels already. */
static const float *attention_n_panels(const struct attention_head *h, size_t rows, struct attention_gradient *g) {
  if (h->stride == GEMM_COLUMNS)
    return g->n;
  gemm_pack_straight(rows, h->width, GEMM_COLUMNS, g->n, h->stride, g->n_panels);
  return g->n_panels;
}

/* A block of queries with their outputs and the gradients of these. */
struct attention_query_rows {
  size_t rows;
  const float *q, *out, *dout;
};

/* Computes everything of a block except the products; adds to dz. */
VEC_INLINE void attention_query_gradients(const struct attention_head *h, const size_t width, const size_t stride,
                                          struct attention_query_rows block, const float *z,
                                          struct attention_gradient *g, float *dz_add) {
  const float *q = block.q, *out = block.out, *dout = block.dout;
  for (size_t t = 0; t < block.rows; t++, q += h->key_ld, out += h->out_ld, dout += h->out_ld) {
    float *phi = g->phi + t * stride;
    vf dot = vf_set(0), projected = vf_set(0), slope;
    for (size_t j = 0; j < width; j += VW) {
      vf f = attention_phi(vf_load_part(q + j, width - j), &slope);
      vf_store(phi + j, f);
      vf_store(g->slope + t * stride + j, slope);
      dot += f * vf_load_part(z + j, width - j);
      projected += vf_load_part(dout + j, width - j) * vf_load_part(out + j, width - j);
    }
    float scale = 1 / (vf_sum(dot) + (float)LINNET_ATTENTION_EPSILON), e = -vf_sum(projected) * scale;
    g->e[t] = e;
    for (size_t j = 0; j < width; j += VW) {
      vf_store(g->n + t * stride + j, vf_load_part(dout + j, width - j) * scale);
      vf_store_part(dz_add + j, vf_load_part(dz_add + j, width - j) + vf_load(phi + j) * e, width - j);
    }
  }
}

/* gradient = (product + e z^T) * slope; e NULL: 1. */
VEC_INLINE void attention_slopes(size_t rows, const size_t width, const size_t ld, const size_t stride,
                                 const struct attention_gradient *g, const float *e, const float *z, float *gradient) {
  for (size_t t = 0; t < rows; t++, gradient += ld)
    for (size_t j = 0; j < width; j += VW) {
      vf sum = vf_load(g->product + t * stride + j) + vf_load_part(z + j, width - j) * (e ? e[t] : 1);
      vf_store_part(gradient + j, sum * vf_load(g->slope + t * stride + j), width - j);
    }
}

static void attention_backward_queries(const struct attention_head *h, size_t rows, const float *q, const float *state,
                                       const float *out, const float *dout, float *dq, float *dstate_add) {
  struct attention_gradient g;
  attention_square panels;
  size_t w = h->width;
  const float *z = state + w * w;
  float *dz = dstate_add + w * w;
  const struct attention_query_rows block = {rows, q, out, dout};
  if (w == 32)
    attention_query_gradients(h, 32, 32, block, z, &g, dz);
  else
    attention_query_gradients(h, w, h->stride, block, z, &g, dz);
  attention_product(w, w, rows, gemm_left(g.phi, 1, h->stride), attention_n_panels(h, rows, &g), dstate_add, w, true);
  attention_product(rows, w, w, gemm_left(g.n, h->stride, 1), attention_panels(true, w, state, panels), g.product,
                    h->stride, false);
  if (w == 32)
    attention_slopes(rows, 32, h->key_ld, 32, &g, g.e, z, dq);
  else
    attention_slopes(rows, w, h->key_ld, h->stride, &g, g.e, z, dq);
}

VEC_INLINE void attention_key_slopes(const struct attention_head *h, const size_t width, const size_t stride,
                                     size_t rows, const float *k, struct attention_gradient *g) {
  for (size_t t = 0; t < rows; t++, k += h->key_ld) {
    for (size_t j = 0; j < width; j += VW) {
      vf slope;
      vf_store(g->phi + t * stride + j, attention_phi(vf_load_part(k + j, width - j), &slope));
      vf_store(g->slope + t * stride + j, slope);
    }
  }
}

static void attention_backward_keys(const struct attention_head *h, size_t rows, const float *k, const float *v,
                                    const float *dstate, float *dk, float *dv) {
  struct attention_gradient g;
  attention_square panels;
  size_t w = h->width;
  const float *dz = dstate + w * w;
  if (w == 32)
    attention_key_slopes(h, 32, 32, rows, k, &g);
  else
    attention_key_slopes(h, w, h->stride, rows, k, &g);
  attention_product(rows, w, w, gemm_left(g.phi, h->stride, 1), attention_panels(false, w, dstate, panels), dv,
                    h->value_ld, false);
  attention_product(rows, w, w, gemm_left(v, h->value_ld, 1), attention_panels(true, w, dstate, panels), g.product,
                    h->stride, false);
  if (w == 32)
    attention_slopes(rows, 32, h->key_ld, 32, &g, NULL, dz, dk);
  else
    attention_slopes(rows, w, h->key_ld, h->stride, &g, NULL, dz, dk);
}

static const struct attention_blocks elu_blocks = {
    .accumulate = attention_accumulate_block,
    .apply = attention_apply_block,
    .backward_queries = attention_backward_queries,
    .backward_keys = attention_backward_keys,
};

/* --- Queries and keys that were mapped before (rows, key_width), S (key_width, width) */

/* The number of rows of S whose panels, and those of their transpose, fit into a square. */
static size_t mapped_part(const struct attention_head *h) {
  return ATTENTION_WIDTH * ATTENTION_WIDTH / gemm_padded(h->width) / GEMM_COLUMNS * GEMM_COLUMNS;
}

/* n rows of S as panels. Returns the rows themselves if they are panels already, else fills `panels`. */
static const float *mapped_panels(const struct attention_head *h, size_t n, const float *s, float *panels) {
  if (h->width == GEMM_COLUMNS)
    return s;
  gemm_pack_panels(false, n, h->width, s, h->width, panels);
  return panels;
}

/* y += scale * x */
VEC_INLINE void mapped_add(size_t n, float scale, const float *x, float *y_add) {
  for (size_t j = 0; j < n; j += VW)
    vf_store_part(y_add + j, vf_load_part(y_add + j, n - j) + vf_load_part(x + j, n - j) * scale, n - j);
}

/* z += sum of rows, each times its weight (NULL: 1). The block has a sum of its own first: z may be large. */
VEC_INLINE void mapped_sum(const struct attention_head *h, size_t rows, const float *x, const float *weights,
                           float *z_add) {
  for (size_t j = 0; j < h->key_width; j += VW) {
    vf sum = vf_set(0);
    for (size_t t = 0; t < rows; t++)
      sum += vf_load_part(x + t * h->key_ld + j, h->key_width - j) * (weights ? weights[t] : 1);
    vf_store_part(z_add + j, vf_load_part(z_add + j, h->key_width - j) + sum, h->key_width - j);
  }
}

static void mapped_accumulate(const struct attention_head *h, size_t rows, const float *k, const float *v,
                              float *state_add) {
  attention_operand values;
  mapped_sum(h, rows, k, NULL, state_add + h->key_width * h->width);
  gemm_pack_straight(rows, h->width, GEMM_COLUMNS, v, h->value_ld, values);
  attention_product(h->key_width, h->width, rows, gemm_left(k, 1, h->key_ld), values, state_add, h->width, true);
}

/* product (rows, width) = keys or queries (rows, key_width) S */
static void mapped_times_state(const struct attention_head *h, size_t rows, const float *keys, const float *s,
                               float *product, size_t ld) {
  attention_square panels;
  for (size_t first = 0, n, part = mapped_part(h); first < h->key_width; first += n) {
    n = linnet_min_size(part, h->key_width - first);
    attention_product(rows, h->width, n, gemm_left(keys + first, h->key_ld, 1),
                      mapped_panels(h, n, s + first * h->width, panels), product, ld, first > 0);
  }
}

/* product (rows, key_width) = values (rows, width) S^T */
static void mapped_times_transposed(const struct attention_head *h, size_t rows, const float *values, size_t ld,
                                    const float *s, float *product) {
  attention_square panels;
  for (size_t first = 0, n, part = mapped_part(h); first < h->key_width; first += n) {
    n = linnet_min_size(part, h->key_width - first);
    gemm_pack_panels(true, h->width, n, s + first * h->width, h->width, panels);
    attention_product(rows, n, h->width, gemm_left(values, ld, 1), panels, product + first, h->key_ld, false);
  }
}

static void mapped_apply(const struct attention_head *h, size_t rows, const float *q, const float *state, float *out) {
  const float *z = state + h->key_width * h->width;
  mapped_times_state(h, rows, q, state, out, h->out_ld);
  for (size_t t = 0; t < rows; t++, out += h->out_ld) {
    float sum = attention_dot(h->key_width, q + t * h->key_ld, z);
    float scale = 1 / ((sum < h->min_normaliser ? h->min_normaliser : sum) + (float)LINNET_ATTENTION_EPSILON);
    for (size_t j = 0; j < h->width; j += VW)
      vf_store_part(out + j, vf_load_part(out + j, h->width - j) * scale, h->width - j);
  }
}

/* Computes n and e of a block. */
static void mapped_query_gradients(const struct attention_head *h, size_t rows, const float *q, const float *z,
                                   const float *out, const float *dout, struct attention_gradient *g) {
  float *n = g->n;
  for (size_t t = 0; t < rows; t++, q += h->key_ld, out += h->out_ld, dout += h->out_ld, n += h->stride) {
    float sum = attention_dot(h->key_width, q, z);
    float scale = 1 / ((sum < h->min_normaliser ? h->min_normaliser : sum) + (float)LINNET_ATTENTION_EPSILON);
    g->e[t] = sum > h->min_normaliser ? -attention_dot(h->width, dout, out) * scale : 0;
    for (size_t j = 0; j < h->width; j += VW)
      vf_store(n + j, vf_load_part(dout + j, h->width - j) * scale);
  }
}

static void mapped_backward_queries(const struct attention_head *h, size_t rows, const float *q, const float *state,
                                    const float *out, const float *dout, float *dq, float *dstate_add) {
  struct attention_gradient g;
  const float *z = state + h->key_width * h->width;
  mapped_query_gradients(h, rows, q, z, out, dout, &g);
  mapped_sum(h, rows, q, g.e, dstate_add + h->key_width * h->width);
  attention_product(h->key_width, h->width, rows, gemm_left(q, 1, h->key_ld), attention_n_panels(h, rows, &g),
                    dstate_add, h->width, true);
  mapped_times_transposed(h, rows, g.n, h->stride, state, dq);
  for (size_t t = 0; t < rows; t++)
    mapped_add(h->key_width, g.e[t], z, dq + t * h->key_ld);
}

static void mapped_backward_keys(const struct attention_head *h, size_t rows, const float *k, const float *v,
                                 const float *dstate, float *dk, float *dv) {
  mapped_times_state(h, rows, k, dstate, dv, h->value_ld);
  mapped_times_transposed(h, rows, v, h->value_ld, dstate, dk);
  for (size_t t = 0; t < rows; t++)
    mapped_add(h->key_width, 1, dstate + h->key_width * h->width, dk + t * h->key_ld);
}

static const struct attention_blocks mapped_blocks = {
    .accumulate = mapped_accumulate,
    .apply = mapped_apply,
    .backward_queries = mapped_backward_queries,
    .backward_keys = mapped_backward_keys,
};

/* --- The choice between both */

/* NULL: the reference computes it. */
static const struct attention_blocks *attention_blocks(const struct linnet_attention *a) {
  if (a->width > ATTENTION_WIDTH)
    return NULL;
  if (a->map == LINNET_MAP_IDENTITY)
    return &mapped_blocks;
  return a->map == LINNET_MAP_ELU && a->key_width == a->width ? &elu_blocks : NULL;
}

static void linear_accumulate_vec(const struct linnet_attention *a, size_t rows, const float *k, const float *v,
                                  float *state_add) {
  const struct attention_blocks *blocks = attention_blocks(a);
  if (!blocks) {
    linnet_linear_accumulate_reference(a, rows, k, v, state_add);
    return;
  }
  struct attention_head h = attention_head(a);
  size_t block = attention_rows(&h), size = a->key_width * (a->width + 1);
  for (size_t t = 0; t < rows; t += block)
    for (size_t i = 0; i < a->heads; i++)
      blocks->accumulate(&h, linnet_min_size(block, rows - t), k + t * h.key_ld + i * h.key_width,
                         v + t * h.value_ld + i * h.width, state_add + i * size);
}

static void linear_apply_vec(const struct linnet_attention *a, size_t rows, const float *q, const float *state,
                             float *out) {
  const struct attention_blocks *blocks = attention_blocks(a);
  if (!blocks) {
    linnet_linear_apply_reference(a, rows, q, state, out);
    return;
  }
  struct attention_head h = attention_head(a);
  size_t block = attention_rows(&h), size = a->key_width * (a->width + 1);
  for (size_t t = 0; t < rows; t += block)
    for (size_t i = 0; i < a->heads; i++)
      blocks->apply(&h, linnet_min_size(block, rows - t), q + t * h.key_ld + i * h.key_width, state + i * size,
                    out + t * h.out_ld + i * h.width);
}

/* One row: accumulates, then applies. */
static void linear_step_vec(const struct linnet_attention *a, const float *q, const float *k, const float *v,
                            float *state, float *out) {
  if (attention_blocks(a) != &elu_blocks || a->width != ATTENTION_STEP_WIDTH) {
    linear_accumulate_vec(a, 1, k, v, state);
    linear_apply_vec(a, 1, q, state, out);
    return;
  }
  const size_t width = a->width, size = width * (width + 1);
  for (size_t i = 0; i < a->heads; i++)
    attention_step(q + i * width, k + i * width, v + i * width, state + i * size, out + i * width);
}

static void linear_forward_vec(const struct linnet_attention_call *c) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  const float *q = c->q, *k = c->k, *v = c->v;
  float *out = c->out, *state = c->saved;
  size_t size = linnet_linear_state_size(a);
  for (size_t i = 0; i < p->sequences; i++, state += size) {
    size_t first = p->offsets[i], rows = p->offsets[i + 1] - first;
    memset(state, 0, size * sizeof *state);
    linear_accumulate_vec(a, rows, k + first * a->key_ld, v + first * a->value_ld, state);
    linear_apply_vec(a, rows, q + first * a->key_ld, state, out + first * a->out_ld);
  }
}

static void linear_backward_vec(const struct linnet_attention_call *c) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  const struct attention_blocks *blocks = attention_blocks(a);
  if (!blocks) {
    linnet_linear_attention_reference.backward(c);
    return;
  }
  const float *q = c->q, *k = c->k, *v = c->v, *state = c->saved, *out = c->out, *dout = c->dout;
  float *dq = c->dq, *dk = c->dk, *dv = c->dv, *dstate = c->work;
  struct attention_head h = attention_head(a);
  size_t size = linnet_linear_state_size(a), head_size = size / a->heads, block = attention_rows(&h);
  for (size_t i = 0; i < p->sequences; i++, state += size) {
    size_t end = p->offsets[i + 1];
    memset(dstate, 0, size * sizeof *dstate);
    for (size_t t = p->offsets[i]; t < end; t += block)
      for (size_t n = 0; n < a->heads; n++) {
        size_t in = t * h.key_ld + n * h.key_width, o = t * h.out_ld + n * h.width;
        blocks->backward_queries(&h, linnet_min_size(block, end - t), q + in, state + n * head_size, out + o, dout + o,
                                 dq + in, dstate + n * head_size);
      }
    for (size_t t = p->offsets[i]; t < end; t += block)
      for (size_t n = 0; n < a->heads; n++) {
        size_t in = t * h.key_ld + n * h.key_width, value = t * h.value_ld + n * h.width;
        blocks->backward_keys(&h, linnet_min_size(block, end - t), k + in, v + value, dstate + n * head_size, dk + in,
                              dv + value);
      }
  }
}

static const struct linnet_attention_ops linear_attention_vec = {
    .saved_bytes = linnet_linear_saved_bytes,
    .work_bytes = linnet_linear_work_bytes,
    .forward = linear_forward_vec,
    .backward = linear_backward_vec,
};

#endif
