/* Sequence by sequence, head by head. With the weights of the head, for rows x, a and b,
 *
 *   P(X, A, B)_i = sum of g^|i - j| (x_i . a_j) b_j over j <= i (causal), or all j
 *
 * P' is the same sum over j >= i, or all j, and z_i is P(1, 1, phi(K))_i. With n_i = dout_i / d_i, and e_i =
 * -(n_i . out_i) or, where d_i has its minimum, e_i = 0:
 *
 *   out = P(phi(Q), phi(K), V) / d          dphi(Q) = P(N, V, phi(K)) + e z
 *   dphi(K) = P'(V, N, phi(Q)) + P'(1, e, phi(Q))         dV = P'(phi(K), phi(Q), N)
 *
 * So the only large operation is a scan in one direction of time. A sum over all j is a scan towards later frames, and
 * one towards earlier frames that leaves frame i itself out. */
#include "ops/decaying_linear_attention.h"

#include <string.h>

#include "base/arena.h"
#include "base/numbers.h"

/* --- a head of a sequence ----------------------------------------------------------------------------------------- */

/* The leading dimensions of operands are their widths rounded up to the lanes of the kernels, and operands are zero
 * there. */
struct head {
  const struct linnet_causal_linear_kernels *kernels;
  const struct linnet_attention *a;
  bool causal;
  size_t rows, key_ld, value_ld, widest; /* T, and leading dimensions of operands; the larger one */
  real decay;
  size_t key_at, value_at, out_at; /* of the head in the first row of the sequence, in the tensors of the call */
  real *q, *k;                     /* (T, key_ld): phi(q), phi(k) */
  real *v, *n;                     /* (T, value_ld) */
  real *z;                         /* (T, key_ld) */
  real *product;                   /* (T, widest) */
  real *scale, *e;                 /* (T): 1 / d and e */
  real *state;                     /* (key_ld, value_ld), or transposed */
};

static real *take(struct linnet_arena *arena, size_t rows, size_t width) {
  size_t count;
  return linnet_arena_take(arena, linnet_mul_size(rows, width, &count) ? count : SIZE_MAX, sizeof(real));
}

/* The memory serves one head after the other. */
static struct head plan(const struct linnet_causal_linear_kernels *kernels, const struct linnet_attention *a,
                        size_t rows, struct linnet_arena *arena) {
  struct head h = {.kernels = kernels, .a = a, .causal = linnet_attention_traits[a->kind].causal, .rows = rows};
  h.key_ld = linnet_round_up(a->key_width, kernels->lanes);
  h.value_ld = linnet_round_up(a->width, kernels->lanes);
  h.widest = linnet_max_size(h.key_ld, h.value_ld);
  h.q = take(arena, rows, h.key_ld);
  h.k = take(arena, rows, h.key_ld);
  h.v = take(arena, rows, h.value_ld);
  h.n = take(arena, rows, h.value_ld);
  h.z = take(arena, rows, h.key_ld);
  h.product = take(arena, rows, h.widest);
  h.scale = take(arena, rows, 1);
  h.e = take(arena, rows, 1);
  h.state = take(arena, h.key_ld, h.value_ld);
  return h;
}

static real decay_of(const struct linnet_attention *a, size_t head) {
  return (real)(1 - ldexp(1, -(int)(2 + a->first_head + head)));
}

static void clear(real *x, size_t n) {
  memset(x, 0, n * sizeof *x);
}

/* Computes phi(q), phi(k) and v. */
static void load(struct head *h, const struct linnet_attention_call *c) {
  const struct linnet_attention *a = h->a;
  const struct linnet_causal_linear_kernels *kernels = h->kernels;
  const ptrdiff_t key_ld = (ptrdiff_t)a->key_ld, value_ld = (ptrdiff_t)a->value_ld;
  clear(h->q, h->rows * h->key_ld);
  clear(h->k, h->rows * h->key_ld);
  clear(h->v, h->rows * h->value_ld);
  kernels->phi(a->map, h->rows, a->key_width, (const real *)c->q + h->key_at, key_ld, h->q, (ptrdiff_t)h->key_ld);
  kernels->phi(a->map, h->rows, a->key_width, (const real *)c->k + h->key_at, key_ld, h->k, (ptrdiff_t)h->key_ld);
  kernels->phi(LINNET_MAP_IDENTITY, h->rows, a->width, (const real *)c->v + h->value_at, value_ld, h->v,
               (ptrdiff_t)h->value_ld);
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

/* Rows x, a (T, depth) and b, y (T, width) of P or P'. */
struct factors {
  size_t depth, depth_ld, width, width_ld;
  const real *x, *a, *b;
  real *y;
};

static void add_scan(const struct head *h, const struct factors *f, bool reversed, bool earlier) {
  clear(h->state, f->depth_ld * f->width_ld);
  h->kernels->decaying_scan(&(struct linnet_causal_linear_product){.rows = h->rows,
                                                                   .depth = f->depth,
                                                                   .width = f->width,
                                                                   .depth_ld = f->depth_ld,
                                                                   .width_ld = f->width_ld,
                                                                   .decay = h->decay,
                                                                   .reversed = reversed,
                                                                   .earlier = earlier,
                                                                   .x = f->x,
                                                                   .a = f->a,
                                                                   .b = f->b,
                                                                   .y = f->y,
                                                                   .state = h->state});
}

/* y = P, or P' if transposed. */
static void sum(const struct head *h, const struct factors *f, bool transposed) {
  clear(f->y, h->rows * f->width_ld);
  if (!h->causal || !transposed)
    add_scan(h, f, false, false);
  if (!h->causal || transposed)
    add_scan(h, f, true, !h->causal);
}

/* The same for x = 1 and depth 1: y_i = sum of g^|i - j| a_j b_j; a NULL: 1. b, y (T, key_ld). */
static void sum_rows(const struct head *h, const real *a, const real *b, real *y, bool transposed) {
  const size_t ld = h->key_ld, rows = h->rows;
  real *sum = h->state;
  clear(y, rows * ld);
  clear(sum, ld);
  for (size_t t = 0; t < rows && (!h->causal || !transposed); t++)
    for (size_t c = 0; c < ld; c++) {
      sum[c] = h->decay * sum[c] + (a ? a[t] : 1) * b[t * ld + c];
      y[t * ld + c] += sum[c];
    }
  clear(sum, ld);
  for (size_t t = rows; t-- > 0 && (!h->causal || transposed);)
    for (size_t c = 0; c < ld; c++) {
      const real before = h->decay * sum[c];
      sum[c] = before + (a ? a[t] : 1) * b[t * ld + c];
      y[t * ld + c] += h->causal ? sum[c] : before;
    }
}

/* z and 1 / d. */
static void normalise(const struct head *h) {
  sum_rows(h, NULL, h->k, h->z, false);
  h->kernels->normalise(h->rows, h->key_ld, h->q, h->z, h->a->min_normaliser, h->scale);
}

/* --- forward and backward of a head ------------------------------------------------------------------------------- */

static void forward_head(const struct head *h, const struct linnet_attention_call *c) {
  const struct linnet_attention *a = h->a;
  normalise(h);
  sum(h, &(struct factors){a->key_width, h->key_ld, a->width, h->value_ld, h->q, h->k, h->v, h->product}, false);
  h->kernels->scale(h->rows, a->width, h->product, (ptrdiff_t)h->value_ld, h->scale, (real *)c->out + h->out_at,
                    (ptrdiff_t)a->out_ld);
}

/* n and e. Rows whose normaliser has its minimum, where e = 0, have the largest scale. */
static void load_gradient(const struct head *h, const struct linnet_attention_call *c) {
  const struct linnet_attention *a = h->a;
  const ptrdiff_t out_ld = (ptrdiff_t)a->out_ld;
  const real largest = linnet_causal_linear_scale(a->min_normaliser, a->min_normaliser);
  clear(h->n, h->rows * h->value_ld);
  h->kernels->scale(h->rows, a->width, (const real *)c->dout + h->out_at, out_ld, h->scale, h->n,
                    (ptrdiff_t)h->value_ld);
  h->kernels->project(h->rows, a->width, h->n, h->value_ld, (const real *)c->out + h->out_at, out_ld, h->e);
  for (size_t t = 0; t < h->rows; t++)
    if (h->scale[t] == largest)
      h->e[t] = 0;
}

/* dx from the product and z times its factors (NULL: 1); phi of x gives the slope. */
static void store_key_gradient(const struct head *h, const real *phi, const real *factors, real *dx) {
  for (size_t t = 0; t < h->rows; t++)
    for (size_t i = 0; i < h->key_ld; i++)
      h->product[t * h->key_ld + i] += (factors ? factors[t] : 1) * h->z[t * h->key_ld + i];
  h->kernels->slope(h->a->map, h->rows, h->a->key_width, phi, h->product, h->key_ld, dx + h->key_at,
                    (ptrdiff_t)h->a->key_ld);
}

static void backward_head(const struct head *h, const struct linnet_attention_call *c) {
  const struct linnet_attention *a = h->a;
  const size_t key = a->key_width, value = a->width;
  normalise(h);
  load_gradient(h, c);
  sum(h, &(struct factors){value, h->value_ld, key, h->key_ld, h->n, h->v, h->k, h->product}, false);
  store_key_gradient(h, h->q, h->e, c->dq);
  sum(h, &(struct factors){value, h->value_ld, key, h->key_ld, h->v, h->n, h->q, h->product}, true);
  sum_rows(h, h->e, h->q, h->z, true);
  store_key_gradient(h, h->k, NULL, c->dk);
  sum(h, &(struct factors){key, h->key_ld, value, h->value_ld, h->k, h->q, h->n, h->product}, true);
  h->kernels->phi(LINNET_MAP_IDENTITY, h->rows, value, h->product, (ptrdiff_t)h->value_ld, (real *)c->dv + h->value_at,
                  (ptrdiff_t)a->value_ld);
}

/* --- all heads ---------------------------------------------------------------------------------------------------- */

static void each_head(const struct linnet_causal_linear_kernels *kernels, const struct linnet_attention_call *c,
                      void (*run)(const struct head *h, const struct linnet_attention_call *c)) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  for (size_t s = 0; s < p->sequences; s++) {
    const size_t first = p->offsets[s];
    struct linnet_arena arena = {.base = c->work, .size = SIZE_MAX};
    struct head h = plan(kernels, a, p->offsets[s + 1] - first, &arena);
    for (size_t i = 0; i < a->heads; i++) {
      h.decay = decay_of(a, i);
      h.key_at = first * a->key_ld + i * a->key_width;
      h.value_at = first * a->value_ld + i * a->width;
      h.out_at = first * a->out_ld + i * a->width;
      load(&h, c);
      run(&h, c);
    }
  }
}

void linnet_decaying_forward(const struct linnet_causal_linear_kernels *kernels,
                             const struct linnet_attention_call *c) {
  each_head(kernels, c, forward_head);
}

void linnet_decaying_backward(const struct linnet_causal_linear_kernels *kernels,
                              const struct linnet_attention_call *c) {
  each_head(kernels, c, backward_head);
}

size_t linnet_decaying_work_bytes(const struct linnet_causal_linear_kernels *kernels, const struct linnet_attention *a,
                                  size_t longest) {
  struct linnet_arena arena = {0};
  plan(kernels, a, longest, &arena);
  return arena.used;
}

void linnet_decaying_age_state(const struct linnet_attention *a, real *state) {
  const size_t size = a->key_width * (a->width + 1);
  for (size_t head = 0; head < a->heads; head++) {
    const real decay = decay_of(a, head);
    for (size_t i = 0; i < size; i++)
      *state++ *= decay;
  }
}

/* --- the functions of the reference ------------------------------------------------------------------------------- */

static size_t work_bytes(const struct linnet_attention *a, size_t longest) {
  return linnet_decaying_work_bytes(&linnet_causal_linear_kernels_reference, a, longest);
}

static void forward(const struct linnet_attention_call *c) {
  linnet_decaying_forward(&linnet_causal_linear_kernels_reference, c);
}

static void backward(const struct linnet_attention_call *c) {
  linnet_decaying_backward(&linnet_causal_linear_kernels_reference, c);
}

static void step(const struct linnet_attention *a, size_t steps, const real *q, const real *k, const real *v,
                 real *state, real *out) {
  linnet_decaying_age_state(a, state);
  linnet_causal_linear_attention_reference.step(a, steps, q, k, v, state, out);
}

const struct linnet_attention_ops linnet_decaying_linear_attention_reference = {
    .saved_bytes = linnet_causal_linear_saved_bytes,
    .work_bytes = work_bytes,
    .forward = forward,
    .backward = backward,
};

const struct linnet_attention_ops linnet_causal_decaying_linear_attention_reference = {
    .saved_bytes = linnet_causal_linear_saved_bytes,
    .work_bytes = work_bytes,
    .forward = forward,
    .backward = backward,
    .state_size = linnet_causal_linear_state_size,
    .step = step,
};
