/* Linear attention as small products of blocks of rows, head by head, with phi, its slope and the normalisers computed
 * into the operands (formulas: linear_attention.c). With E = exp(min(x, 0)): phi(x) = E + max(x, 0), phi'(x) = E.
 *
 *   S += phi(K)^T V             out = (phi(Q) / d) S
 *   dphi(Q) = N S^T + e z^T     dS += phi(Q)^T N      N = dout / d, e = -(N . out) per row
 *   dphi(K) = V dS^T + dz       dV = phi(K) dS
 *
 * Sums over rows are sums of blocks of ATTENTION_ROWS rows counted from the first row of a call, or fewer where heads
 * are wide. Heads beyond ATTENTION_WIDTH are left to the reference. */

enum { ATTENTION_ROWS = 96, ATTENTION_FLOATS = 4096, ATTENTION_WIDTH = 128 };

/* One head. Operands of products lie in rows of `stride`, width rounded up to vectors. */
struct attention_head {
  size_t width, stride;            /* of keys and values alike */
  size_t key_ld, value_ld, out_ld; /* of queries and keys, values, outputs, and of their gradients */
};

/* Whether the kernels know the case; the reference does all others. */
static bool attention_fits(const struct linnet_attention *a) {
  return a->map == LINNET_MAP_ELU && a->key_width == a->width && a->width <= ATTENTION_WIDTH;
}

typedef float attention_operand[ATTENTION_FLOATS] __attribute__((aligned(64)));
typedef float attention_square[ATTENTION_WIDTH * ATTENTION_WIDTH] __attribute__((aligned(64)));

static struct attention_head attention_head(const struct linnet_attention *a) {
  return (struct attention_head){.width = a->width,
                                 .stride = (a->width + VW - 1) / VW * VW,
                                 .key_ld = a->key_ld,
                                 .value_ld = a->value_ld,
                                 .out_ld = a->out_ld};
}

static size_t attention_rows(const struct attention_head *h) {
  return gemm_min(ATTENTION_ROWS, ATTENTION_FLOATS / gemm_padded(h->width));
}

VEC_INLINE vf attention_phi(vf x, vf *slope) {
  const vf zero = vf_set(0); /* first, so that NaN gets through */
  *slope = vf_exp_negative(vf_min(zero, x));
  return *slope + vf_max(zero, x);
}

/* Row loops below are inlined twice: for the usual width, whose loops over vectors unroll then, and for any.
 *
 * product (rows, width) = left (rows, depth) * panels (depth, width) [+ product] */
static void attention_product(size_t rows, size_t width, size_t depth, struct gemm_left left, const float *panels,
                              float *product, size_t ld, bool add) {
  struct gemm_right to = {.c = product, .ldc = ld, .add = add};
  gemm_block(rows, width, depth, &left, panels, &to);
}

/* A (width, width) matrix or its transpose as panels, in `room` where it is not so already. */
static const float *attention_panels(bool transpose, size_t width, const float *square, float *room) {
  if (!transpose && width == GEMM_COLUMNS)
    return square;
  gemm_pack_panels(transpose, width, width, square, width, room);
  return room;
}

/* --- Forward */

/* phi of keys, and their sum into z. */
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

static void linear_accumulate_vec(const struct linnet_attention *a, size_t rows, const float *k, const float *v,
                                  float *state_add) {
  if (!attention_fits(a)) {
    linnet_linear_accumulate_reference(a, rows, k, v, state_add);
    return;
  }
  struct attention_head h = attention_head(a);
  size_t block = attention_rows(&h), size = a->width * (a->width + 1);
  for (size_t t = 0; t < rows; t += block)
    for (size_t i = 0; i < a->heads; i++)
      attention_accumulate_block(&h, gemm_min(block, rows - t), k + t * h.key_ld + i * h.width,
                                 v + t * h.value_ld + i * h.width, state_add + i * size);
}

/* phi of queries over their normaliser. */
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
  attention_square room;
  size_t w = h->width;
  if (w == 32)
    attention_queries(h, 32, 32, rows, q, state + w * w, phi);
  else
    attention_queries(h, w, h->stride, rows, q, state + w * w, phi);
  attention_product(rows, w, w, gemm_left(phi, h->stride, 1), attention_panels(false, w, state, room), out, h->out_ld,
                    false);
}

static void linear_apply_vec(const struct linnet_attention *a, size_t rows, const float *q, const float *state,
                             float *out) {
  if (!attention_fits(a)) {
    linnet_linear_apply_reference(a, rows, q, state, out);
    return;
  }
  struct attention_head h = attention_head(a);
  size_t block = attention_rows(&h), size = a->width * (a->width + 1);
  for (size_t t = 0; t < rows; t += block)
    for (size_t i = 0; i < a->heads; i++)
      attention_apply_block(&h, gemm_min(block, rows - t), q + t * h.key_ld + i * h.width, state + i * size,
                            out + t * h.out_ld + i * h.width);
}

static void linear_forward_vec(const struct linnet_attention *a, const struct linnet_pack *p, const float *q,
                               const float *k, const float *v, void *saved, float *out, void *work) {
  (void)work;
  float *state = saved;
  size_t size = linnet_linear_state_size(a);
  for (size_t i = 0; i < p->sequences; i++, state += size) {
    size_t first = p->offsets[i], rows = p->offsets[i + 1] - first;
    memset(state, 0, size * sizeof *state);
    linear_accumulate_vec(a, rows, k + first * a->key_ld, v + first * a->value_ld, state);
    linear_apply_vec(a, rows, q + first * a->key_ld, state, out + first * a->out_ld);
  }
}

/* --- Backward */

/* What one block of queries needs: phi and its slope, N twice (rows of `stride`, and panels), e per row; products. */
struct attention_gradient {
  attention_operand phi, slope, n, n_panels, product;
  float e[ATTENTION_ROWS];
};

/* Everything of a block but the products; dz is added to. */
VEC_INLINE void attention_query_gradients(const struct attention_head *h, const size_t width, const size_t stride,
                                          size_t rows, const float *q, const float *z, const float *out,
                                          const float *dout, struct attention_gradient *g, float *dz_add) {
  for (size_t t = 0; t < rows; t++, q += h->key_ld, out += h->out_ld, dout += h->out_ld) {
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

/* Writes dq and adds to the gradient of the state. */
static void attention_backward_queries(const struct attention_head *h, size_t rows, const float *q, const float *state,
                                       const float *out, const float *dout, float *dq, float *dstate_add) {
  struct attention_gradient g;
  attention_square room;
  size_t w = h->width;
  const float *z = state + w * w;
  float *dz = dstate_add + w * w;
  if (w == 32)
    attention_query_gradients(h, 32, 32, rows, q, z, out, dout, &g, dz);
  else
    attention_query_gradients(h, w, h->stride, rows, q, z, out, dout, &g, dz);
  const float *n_panels = g.n;
  if (h->stride != GEMM_COLUMNS) {
    gemm_pack_straight(rows, w, GEMM_COLUMNS, g.n, h->stride, g.n_panels);
    n_panels = g.n_panels;
  }
  attention_product(w, w, rows, gemm_left(g.phi, 1, h->stride), n_panels, dstate_add, w, true);
  attention_product(rows, w, w, gemm_left(g.n, h->stride, 1), attention_panels(true, w, state, room), g.product,
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
  attention_square room;
  size_t w = h->width;
  const float *dz = dstate + w * w;
  if (w == 32)
    attention_key_slopes(h, 32, 32, rows, k, &g);
  else
    attention_key_slopes(h, w, h->stride, rows, k, &g);
  attention_product(rows, w, w, gemm_left(g.phi, h->stride, 1), attention_panels(false, w, dstate, room), dv,
                    h->value_ld, false);
  attention_product(rows, w, w, gemm_left(v, h->value_ld, 1), attention_panels(true, w, dstate, room), g.product,
                    h->stride, false);
  if (w == 32)
    attention_slopes(rows, 32, h->key_ld, 32, &g, NULL, dz, dk);
  else
    attention_slopes(rows, w, h->key_ld, h->stride, &g, NULL, dz, dk);
}

static void linear_backward_vec(const struct linnet_attention *a, const struct linnet_pack *p, const float *q,
                                const float *k, const float *v, const void *saved, const float *out, const float *dout,
                                float *dq, float *dk, float *dv, void *work) {
  if (!attention_fits(a)) {
    linnet_linear_attention_reference.backward(a, p, q, k, v, saved, out, dout, dq, dk, dv, work);
    return;
  }
  const float *state = saved;
  float *dstate = work;
  struct attention_head h = attention_head(a);
  size_t size = linnet_linear_state_size(a), head_size = a->width * (a->width + 1), block = attention_rows(&h);
  for (size_t i = 0; i < p->sequences; i++, state += size) {
    size_t end = p->offsets[i + 1];
    memset(dstate, 0, size * sizeof *dstate);
    for (size_t t = p->offsets[i]; t < end; t += block)
      for (size_t n = 0; n < a->heads; n++) {
        size_t in = t * h.key_ld + n * h.width, o = t * h.out_ld + n * h.width;
        attention_backward_queries(&h, gemm_min(block, end - t), q + in, state + n * head_size, out + o, dout + o,
                                   dq + in, dstate + n * head_size);
      }
    for (size_t t = p->offsets[i]; t < end; t += block)
      for (size_t n = 0; n < a->heads; n++) {
        size_t in = t * h.key_ld + n * h.width, value = t * h.value_ld + n * h.width;
        attention_backward_keys(&h, gemm_min(block, end - t), k + in, v + value, dstate + n * head_size, dk + in,
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
