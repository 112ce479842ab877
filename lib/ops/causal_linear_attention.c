/* Per head, with C = key_width and M = width: S_i = sum of phi(k_j) v_j^T and z_i = sum of phi(k_j) over j <= i, and
 *
 *   out_i = phi(q_i)^T S_i / d_i,   d_i = max(phi(q_i) . z_i, min_normaliser) + epsilon
 *
 * Backward, with n_i = dout_i / d_i, and e_i = -(n_i . out_i) or, where d_i has its minimum, e_i = 0:
 *
 *   dphi(q_i) = S_i n_i + z_i e_i           dS_j = sum of phi(q_i) n_i^T, dz_j = sum of phi(q_i) e_i over i >= j
 *   dphi(k_j) = dS_j v_j + dz_j             dv_j = dS_j^T phi(k_j)
 *
 * As causal products P(X, A, B)_i = sum of (x_i . a_j) b_j over j <= i, and P' over j >= i (eq. 12-15), this is
 *
 *   out = P(phi(Q), phi(K), V) / d          dphi(Q) = P(N, V, phi(K)) + e z
 *   dphi(K) = P'(V, N, phi(Q)) + dz         dV = P'(phi(K), phi(Q), N)
 *
 * So a form is a way to compute P, and P' is P with the rows in reverse order. In all forms the normalisers are prefix
 * sums of rows. Backward stores 1 / d_i in the first column of dq_i until it writes dq_i, which it does last. */
#include "ops/causal_linear_attention.h"

#include <string.h>

#include "base/arena.h"
#include "base/numbers.h"

/* --- the reference: products ------------------------------------------------------------------------------------ */

enum { PREFIX_ROWS = 8 }; /* number of states that parallel-state holds at a time */

/* to = from + a b^T */
static void add_outer(const struct linnet_causal_linear_product *p, size_t row, const real *from, real *to) {
  const real *a = p->a + row * p->depth_ld, *b = p->b + row * p->width_ld;
  for (size_t c = 0; c < p->depth; c++)
    for (size_t m = 0; m < p->width; m++)
      to[c * p->width_ld + m] = from[c * p->width_ld + m] + a[c] * b[m];
}

static void apply_row(const struct linnet_causal_linear_product *p, size_t row, const real *state) {
  const real *x = p->x + row * p->depth_ld;
  real *y = p->y + row * p->width_ld;
  for (size_t c = 0; c < p->depth; c++)
    for (size_t m = 0; m < p->width; m++)
      y[m] += x[c] * state[c * p->width_ld + m];
}

static void attend_row(const struct linnet_causal_linear_product *p, size_t row, size_t keys) {
  const real *x = p->x + row * p->depth_ld;
  real *y = p->y + row * p->width_ld;
  for (size_t s = 0; s < keys; s++) {
    const real *a = p->a + s * p->depth_ld, *b = p->b + s * p->width_ld;
    real weight = 0;
    for (size_t c = 0; c < p->depth; c++)
      weight += x[c] * a[c];
    for (size_t m = 0; m < p->width; m++)
      y[m] += weight * b[m];
  }
}

static void scan(const struct linnet_causal_linear_product *p) {
  for (size_t t = 0; t < p->rows; t++) {
    add_outer(p, t, p->state, p->state);
    apply_row(p, t, p->state);
  }
}

static void decaying_scan(const struct linnet_causal_linear_product *p) {
  for (size_t i = 0; i < p->rows; i++) {
    const size_t t = p->reversed ? p->rows - 1 - i : i;
    for (size_t j = 0; j < p->depth * p->width_ld; j++)
      p->state[j] *= p->decay;
    if (p->earlier)
      apply_row(p, t, p->state);
    add_outer(p, t, p->state, p->state);
    if (!p->earlier)
      apply_row(p, t, p->state);
  }
}

static void prefix_states(const struct linnet_causal_linear_product *p) {
  const size_t size = p->depth * p->width_ld;
  for (size_t first = 0; first < p->rows; first += PREFIX_ROWS) {
    size_t rows = linnet_min_size(PREFIX_ROWS, p->rows - first);
    for (size_t t = 0; t < rows; t++)
      add_outer(p, first + t, t > 0 ? p->workspace + (t - 1) * size : p->state, p->workspace + t * size);
    for (size_t t = 0; t < rows; t++)
      apply_row(p, first + t, p->workspace + t * size);
    memcpy(p->state, p->workspace + (rows - 1) * size, size * sizeof *p->state);
  }
}

static void apply(const struct linnet_causal_linear_product *p) {
  for (size_t t = 0; t < p->rows; t++)
    apply_row(p, t, p->state);
}

static void attend(const struct linnet_causal_linear_product *p, bool masked) {
  for (size_t t = 0; t < p->rows; t++)
    attend_row(p, t, masked ? t + 1 : p->keys);
}

static void accumulate(const struct linnet_causal_linear_product *p) {
  for (size_t s = 0; s < p->keys; s++)
    add_outer(p, s, p->state, p->state);
}

static size_t workspace_size(size_t depth_ld, size_t width_ld) {
  return PREFIX_ROWS * depth_ld * width_ld;
}

/* --- the reference: rows of operands ------------------------------------------------------------------------------ */

static const real *row_of(const real *x, ptrdiff_t ld, size_t row) {
  return x + (ptrdiff_t)row * ld;
}

static real *row_to(real *x, ptrdiff_t ld, size_t row) {
  return x + (ptrdiff_t)row * ld;
}

static void phi(enum linnet_feature_map map, size_t rows, size_t width, const real *x, ptrdiff_t ldx, real *y,
                ptrdiff_t ldy) {
  for (size_t t = 0; t < rows; t++) {
    const real *from = row_of(x, ldx, t);
    real *to = row_to(y, ldy, t);
    for (size_t c = 0; c < width; c++)
      to[c] = map == LINNET_MAP_IDENTITY ? from[c] : from[c] > 0 ? from[c] + 1 : real_exp(from[c]);
  }
}

/* The slope of elu(x) + 1 is exp(x) = phi(x) for x <= 0, and 1 above, where phi(x) > 1. */
static void slope(enum linnet_feature_map map, size_t rows, size_t width, const real *phi, const real *dy, size_t ld,
                  real *dx, ptrdiff_t ldx) {
  for (size_t t = 0; t < rows; t++, phi += ld, dy += ld) {
    real *to = row_to(dx, ldx, t);
    for (size_t c = 0; c < width; c++)
      to[c] = map == LINNET_MAP_IDENTITY || phi[c] > 1 ? dy[c] : dy[c] * phi[c];
  }
}

static void normalise(size_t rows, size_t ld, const real *fq, const real *z, real min_normaliser, real *scale) {
  for (size_t t = 0; t < rows; t++, fq += ld, z += ld) {
    real sum = 0;
    for (size_t c = 0; c < ld; c++)
      sum += fq[c] * z[c];
    scale[t] = linnet_causal_linear_scale(sum, min_normaliser);
  }
}

static void scale(size_t rows, size_t width, const real *x, ptrdiff_t ldx, const real *scale, real *y, ptrdiff_t ldy) {
  for (size_t t = 0; t < rows; t++) {
    const real *from = row_of(x, ldx, t);
    real *to = row_to(y, ldy, t);
    for (size_t m = 0; m < width; m++)
      to[m] = from[m] * scale[t];
  }
}

static void project(size_t rows, size_t width, const real *n, size_t ld, const real *out, ptrdiff_t ld_out, real *e) {
  for (size_t t = 0; t < rows; t++) {
    const real *o = row_of(out, ld_out, t);
    e[t] = 0;
    for (size_t m = 0; m < width; m++)
      e[t] -= n[t * ld + m] * o[m];
  }
}

static void prefix(size_t rows, size_t ld, const real *f, const real *in, const real *by, real *z, real *y) {
  for (size_t c = 0; c < ld; c++) {
    real before = z[c], sum = 0; /* the block has a sum of its own: z may be large */
    for (size_t t = 0; t < rows; t++) {
      sum += in ? f[t * ld + c] * in[t] : f[t * ld + c];
      z[c] = before + sum;
      y[t * ld + c] = by ? z[c] * by[t] : z[c];
    }
  }
}

const struct linnet_causal_linear_kernels linnet_causal_linear_kernels_reference = {
    .lanes = 1,
    .workspace_size = workspace_size,
    .scan = scan,
    .prefix_states = prefix_states,
    .decaying_scan = decaying_scan,
    .apply = apply,
    .attend = attend,
    .accumulate = accumulate,
    .phi = phi,
    .slope = slope,
    .normalise = normalise,
    .scale = scale,
    .project = project,
    .prefix = prefix,
};

/* --- forms: how a block's product is computed -------------------------------------------------------------------- */

static void product_scan(const struct linnet_causal_linear_kernels *kernels,
                         const struct linnet_causal_linear_product *p) {
  kernels->scan(p);
}

static void product_prefix_states(const struct linnet_causal_linear_kernels *kernels,
                                  const struct linnet_causal_linear_product *p) {
  kernels->prefix_states(p);
}

static void product_chunks(const struct linnet_causal_linear_kernels *kernels,
                           const struct linnet_causal_linear_product *p) {
  struct linnet_causal_linear_product chunk = *p;
  for (size_t first = 0; first < p->rows; first += p->chunk) {
    chunk.rows = chunk.keys = linnet_min_size(p->chunk, p->rows - first);
    chunk.x = p->x + first * p->depth_ld, chunk.a = p->a + first * p->depth_ld;
    chunk.b = p->b + first * p->width_ld, chunk.y = p->y + first * p->width_ld;
    kernels->apply(&chunk);
    kernels->attend(&chunk, true);
    kernels->accumulate(&chunk);
  }
}

static const struct {
  const char *name;
  void (*product)(const struct linnet_causal_linear_kernels *kernels, const struct linnet_causal_linear_product *p);
} forms[LINNET_CAUSAL_LINEAR_FORMS] = {
    [LINNET_CAUSAL_LINEAR_CHUNKED] = {"chunked", product_chunks},
    [LINNET_CAUSAL_LINEAR_STATE] = {"state", product_scan},
    [LINNET_CAUSAL_LINEAR_PARALLEL_STATE] = {"parallel-state", product_prefix_states},
    [LINNET_CAUSAL_LINEAR_ATTENTION] = {"attention", product_chunks}, /* the whole sequence is one chunk */
};

const char *linnet_causal_linear_form_name(enum linnet_causal_linear_form form) {
  return forms[form].name;
}

/* --- blocks of one head of one sequence --------------------------------------------------------------------------- */

enum operand { QUERIES, KEYS, VALUES, GRADIENTS, OPERANDS }; /* phi(q), phi(k), v, n */

/* The factors of a product: P(x, a, b), or P' if the pass is reversed. */
struct factors {
  enum operand x, a, b;
};

struct scratch {
  real *operands[OPERANDS]; /* of a block: (ROWS, leading dimension) */
  real *others[OPERANDS];   /* of an earlier block of a chunk that is longer than a block */
  real *y[2];               /* outputs of up to two products */
  real *scale, *e;          /* (ROWS): 1 / d and e */
  real *workspace;
  real *states[2]; /* (heads, key_ld, value_ld), from block to block */
  real *z;         /* (heads, key_ld) */
};

/* A sequence, and the current head. */
struct sequence {
  const struct linnet_causal_linear_kernels *kernels;
  const struct linnet_attention *a;
  size_t key_ld, value_ld; /* of operands: widths rounded up to multiples of `lanes` */
  size_t start, rows, head;
  bool reversed; /* rows count backwards from the last row of the sequence */
  const real *q, *k, *v, *out, *dout;
  real *output, *dq, *dk, *dv;
  struct scratch s;
};

static bool of_values(enum operand o) {
  return o == VALUES || o == GRADIENTS;
}

static size_t operand_width(const struct sequence *s, enum operand o) {
  return of_values(o) ? s->a->width : s->a->key_width;
}

static size_t operand_ld(const struct sequence *s, enum operand o) {
  return of_values(o) ? s->value_ld : s->key_ld;
}

/* The offset of the head's row `row` of a pass, in a tensor whose heads have this width. row_step: the distance to the
 * next row. */
static size_t row_offset(const struct sequence *s, size_t row, size_t width, size_t ld) {
  return (s->start + (s->reversed ? s->rows - 1 - row : row)) * ld + s->head * width;
}

static size_t key_offset(const struct sequence *s, size_t row) {
  return row_offset(s, row, s->a->key_width, s->a->key_ld);
}

static size_t value_offset(const struct sequence *s, size_t row) {
  return row_offset(s, row, s->a->width, s->a->value_ld);
}

static size_t out_offset(const struct sequence *s, size_t row) {
  return row_offset(s, row, s->a->width, s->a->out_ld);
}

static ptrdiff_t row_step(const struct sequence *s, size_t ld) {
  return s->reversed ? -(ptrdiff_t)ld : (ptrdiff_t)ld;
}

static real *head_z(const struct sequence *s) {
  return s->s.z + s->head * s->key_ld;
}

static real *head_state(const struct sequence *s, size_t product) {
  return s->s.states[product] + s->head * s->key_ld * s->value_ld;
}

static void load_scale(const struct sequence *s, size_t first, size_t rows) {
  const real *from = s->dq + key_offset(s, first);
  for (size_t t = 0; t < rows; t++)
    s->s.scale[t] = *row_of(from, row_step(s, s->a->key_ld), t);
}

static void store_scale(const struct sequence *s, size_t first, size_t rows) {
  real *to = s->dq + key_offset(s, first);
  for (size_t t = 0; t < rows; t++)
    *row_to(to, row_step(s, s->a->key_ld), t) = s->s.scale[t];
}

/* Computes an operand for the rows [first, first + rows) of the pass. n also loads `scale`. */
static void load(const struct sequence *s, enum operand o, size_t first, size_t rows, real *to) {
  const struct linnet_attention *a = s->a;
  const ptrdiff_t ld = (ptrdiff_t)operand_ld(s, o);
  switch (o) {
  case GRADIENTS:
    load_scale(s, first, rows);
    s->kernels->scale(rows, a->width, s->dout + out_offset(s, first), row_step(s, a->out_ld), s->s.scale, to, ld);
    return;
  case VALUES:
    s->kernels->phi(LINNET_MAP_IDENTITY, rows, a->width, s->v + value_offset(s, first), row_step(s, a->value_ld), to,
                    ld);
    return;
  default:
    s->kernels->phi(a->map, rows, a->key_width, (o == QUERIES ? s->q : s->k) + key_offset(s, first),
                    row_step(s, a->key_ld), to, ld);
  }
}

/* --- passes ------------------------------------------------------------------------------------------------------- */

/* `begin` computes the operands of a block and the initial values that its products are added to; `end`
 * stores the results. */

static void clear(real *x, size_t n) {
  memset(x, 0, n * sizeof *x);
}

static void begin_normaliser(const struct sequence *s, size_t first, size_t rows) {
  real *const *operands = s->s.operands;
  load(s, QUERIES, first, rows, operands[QUERIES]);
  load(s, KEYS, first, rows, operands[KEYS]);
  s->kernels->prefix(rows, s->key_ld, operands[KEYS], NULL, NULL, head_z(s), s->s.y[0]);
  s->kernels->normalise(rows, s->key_ld, operands[QUERIES], s->s.y[0], s->a->min_normaliser, s->s.scale);
}

static void begin_output(const struct sequence *s, size_t first, size_t rows) {
  begin_normaliser(s, first, rows);
  load(s, VALUES, first, rows, s->s.operands[VALUES]);
  clear(s->s.y[0], rows * s->value_ld);
}

static void end_output(const struct sequence *s, size_t first, size_t rows) {
  s->kernels->scale(rows, s->a->width, s->s.y[0], (ptrdiff_t)s->value_ld, s->s.scale, s->output + out_offset(s, first),
                    row_step(s, s->a->out_ld));
}

/* e = 0 where the normaliser has its minimum, since it is a constant there. Those rows have the largest scale. */
static void clear_constant(const struct sequence *s, size_t rows) {
  const real largest = linnet_causal_linear_scale(s->a->min_normaliser, s->a->min_normaliser);
  for (size_t t = 0; t < rows; t++)
    if (s->s.scale[t] == largest)
      s->s.e[t] = 0;
}

/* Computes all operands, and e. */
static void begin_gradient(const struct sequence *s, size_t first, size_t rows) {
  for (int o = 0; o < OPERANDS; o++)
    load(s, (enum operand)o, first, rows, s->s.operands[o]);
  s->kernels->project(rows, s->a->width, s->s.operands[GRADIENTS], s->value_ld, s->out + out_offset(s, first),
                      row_step(s, s->a->out_ld), s->s.e);
  clear_constant(s, rows);
}

static void end_gradient(const struct sequence *s, size_t first, size_t rows, enum operand o, real *gradient) {
  s->kernels->slope(s->a->map, rows, s->a->key_width, s->s.operands[o], s->s.y[0], s->key_ld,
                    gradient + key_offset(s, first), row_step(s, s->a->key_ld));
}

static void begin_query(const struct sequence *s, size_t first, size_t rows) {
  begin_gradient(s, first, rows);
  s->kernels->prefix(rows, s->key_ld, s->s.operands[KEYS], NULL, s->s.e, head_z(s), s->s.y[0]);
}

static void end_query(const struct sequence *s, size_t first, size_t rows) {
  end_gradient(s, first, rows, QUERIES, s->dq);
}

static void begin_key_value(const struct sequence *s, size_t first, size_t rows) {
  begin_gradient(s, first, rows);
  s->kernels->prefix(rows, s->key_ld, s->s.operands[QUERIES], s->s.e, NULL, head_z(s), s->s.y[0]);
  clear(s->s.y[1], rows * s->value_ld);
}

static void end_key_value(const struct sequence *s, size_t first, size_t rows) {
  end_gradient(s, first, rows, KEYS, s->dk);
  s->kernels->phi(LINNET_MAP_IDENTITY, rows, s->a->width, s->s.y[1], (ptrdiff_t)s->value_ld,
                  s->dv + value_offset(s, first), row_step(s, s->a->value_ld));
}

/* The products of a pass read the same a and b, perhaps exchanged. */
struct pass {
  bool reversed;
  size_t products;
  struct factors factors[2];
  void (*begin)(const struct sequence *s, size_t first, size_t rows);
  void (*end)(const struct sequence *s, size_t first, size_t rows);
};

static const struct pass normaliser_pass = {.begin = begin_normaliser, .end = store_scale};
static const struct pass output_pass = {false, 1, {{QUERIES, KEYS, VALUES}}, begin_output, end_output};
static const struct pass query_pass = {false, 1, {{GRADIENTS, VALUES, KEYS}}, begin_query, end_query};
static const struct pass key_value_pass = {
    true, 2, {{VALUES, GRADIENTS, QUERIES}, {KEYS, QUERIES, GRADIENTS}}, begin_key_value, end_key_value};

/* Product i of a pass, with x from the current block and a and b from `operands`. */
static struct linnet_causal_linear_product product_of(const struct sequence *s, const struct pass *pass, size_t i,
                                                      size_t rows, real *const *operands, size_t keys) {
  const struct factors *f = &pass->factors[i];
  return (struct linnet_causal_linear_product){.rows = rows,
                                               .depth = operand_width(s, f->x),
                                               .width = operand_width(s, f->b),
                                               .depth_ld = operand_ld(s, f->x),
                                               .width_ld = operand_ld(s, f->b),
                                               .x = s->s.operands[f->x],
                                               .keys = keys,
                                               .a = operands[f->a],
                                               .b = operands[f->b],
                                               .y = s->s.y[i],
                                               .state = head_state(s, i),
                                               .workspace = s->s.workspace};
}

/* The number of rows between states: 1 in forms without chunks. */
static size_t chunk_rows(const struct sequence *s) {
  size_t chunk = 1;
  if (s->a->form == LINNET_CAUSAL_LINEAR_ATTENTION)
    chunk = s->rows;
  if (s->a->form == LINNET_CAUSAL_LINEAR_CHUNKED)
    chunk = linnet_min_size(s->a->chunk > 0 ? s->a->chunk : LINNET_CAUSAL_LINEAR_CHUNK, s->rows);
  return chunk > 0 ? chunk : 1;
}

/* --- a pass over a sequence --------------------------------------------------------------------------------------- */

/* A block that consists of whole chunks. */
static void run_block(const struct sequence *s, const struct pass *pass, size_t chunk, size_t first, size_t rows) {
  pass->begin(s, first, rows);
  for (size_t i = 0; i < pass->products; i++) {
    struct linnet_causal_linear_product p = product_of(s, pass, i, rows, s->s.operands, rows);
    p.chunk = chunk;
    forms[s->a->form].product(s->kernels, &p);
  }
  pass->end(s, first, rows);
}

static void load_others(const struct sequence *s, const struct pass *pass, size_t first, size_t rows) {
  const struct factors *f = &pass->factors[0];
  load(s, f->a, first, rows, s->s.others[f->a]);
  load(s, f->b, first, rows, s->s.others[f->b]);
}

/* A block of a chunk that is longer than a block. Adds up the state at the start of the chunk, the block itself, and
 * the earlier blocks of the chunk. */
static void run_part(const struct sequence *s, const struct pass *pass, size_t chunk, size_t first, size_t rows) {
  pass->begin(s, first, rows);
  for (size_t i = 0; i < pass->products; i++) {
    struct linnet_causal_linear_product p = product_of(s, pass, i, rows, s->s.operands, rows);
    if (chunk > 0)
      s->kernels->apply(&p);
    s->kernels->attend(&p, true);
  }
  for (size_t t = chunk; t < first && pass->products > 0; t += LINNET_CAUSAL_LINEAR_ROWS) {
    load_others(s, pass, t, LINNET_CAUSAL_LINEAR_ROWS);
    for (size_t i = 0; i < pass->products; i++) {
      struct linnet_causal_linear_product p = product_of(s, pass, i, rows, s->s.others, LINNET_CAUSAL_LINEAR_ROWS);
      s->kernels->attend(&p, false);
    }
  }
  pass->end(s, first, rows);
}

/* Adds the rows of a long chunk to the state. */
static void sum_chunk(const struct sequence *s, const struct pass *pass, size_t first, size_t end) {
  for (size_t t = first; t < end && pass->products > 0; t += LINNET_CAUSAL_LINEAR_ROWS) {
    size_t rows = linnet_min_size(LINNET_CAUSAL_LINEAR_ROWS, end - t);
    load_others(s, pass, t, rows);
    for (size_t i = 0; i < pass->products; i++) {
      struct linnet_causal_linear_product p = product_of(s, pass, i, 0, s->s.others, rows);
      s->kernels->accumulate(&p);
    }
  }
}

static void run_long_chunk(const struct sequence *s, const struct pass *pass, size_t first, size_t rows) {
  size_t end = first + rows;
  for (size_t t = first; t < end && !linnet_stopped(s->a->poll); t += LINNET_CAUSAL_LINEAR_ROWS)
    run_part(s, pass, first, t, linnet_min_size(LINNET_CAUSAL_LINEAR_ROWS, end - t));
  if (end < s->rows)
    sum_chunk(s, pass, first, end);
}

/* For each stretch of rows, all heads run before the next stretch, since heads are side by side in memory. */
static void run_pass(struct sequence *s, const struct pass *pass) {
  const size_t chunk = chunk_rows(s), max_rows = LINNET_CAUSAL_LINEAR_ROWS, heads = s->a->heads;
  const size_t stretch = chunk > max_rows ? chunk : max_rows / chunk * chunk;
  s->reversed = pass->reversed;
  clear(s->s.z, heads * s->key_ld);
  for (size_t i = 0; i < pass->products; i++)
    clear(s->s.states[i], heads * s->key_ld * s->value_ld);
  for (size_t t = 0; t < s->rows && !linnet_stopped(s->a->poll); t += stretch)
    for (s->head = 0; s->head < heads; s->head++)
      if (chunk > max_rows)
        run_long_chunk(s, pass, t, linnet_min_size(stretch, s->rows - t));
      else
        run_block(s, pass, chunk, t, linnet_min_size(stretch, s->rows - t));
}

/* --- all sequences ------------------------------------------------------------------------------------------------ */

static real *take(struct linnet_arena *arena, size_t rows, size_t width) {
  return linnet_arena_take(arena, rows * width, sizeof(real));
}

/* Places the scratch in the arena. */
static void plan(struct sequence *q, struct linnet_arena *arena) {
  const size_t rows = LINNET_CAUSAL_LINEAR_ROWS, key = q->key_ld, value = q->value_ld, heads = q->a->heads;
  struct scratch *s = &q->s;
  for (int o = 0; o < OPERANDS; o++) {
    s->operands[o] = take(arena, rows, operand_ld(q, (enum operand)o));
    s->others[o] = take(arena, rows, operand_ld(q, (enum operand)o));
  }
  for (size_t i = 0; i < 2; i++) {
    s->y[i] = take(arena, rows, key > value ? key : value);
    s->states[i] = take(arena, heads * key, value);
  }
  s->z = take(arena, heads, key);
  s->scale = take(arena, rows, 1);
  s->e = take(arena, rows, 1);
  size_t forth = q->kernels->workspace_size(key, value), back = q->kernels->workspace_size(value, key);
  s->workspace = take(arena, forth > back ? forth : back, 1);
}

static struct sequence sequence_of(const struct linnet_causal_linear_kernels *kernels,
                                   const struct linnet_attention *a) {
  return (struct sequence){.kernels = kernels,
                           .a = a,
                           .key_ld = linnet_round_up(a->key_width, kernels->lanes),
                           .value_ld = linnet_round_up(a->width, kernels->lanes)};
}

size_t linnet_causal_linear_work_bytes(const struct linnet_causal_linear_kernels *kernels,
                                       const struct linnet_attention *a) {
  struct sequence s = sequence_of(kernels, a);
  struct linnet_arena arena = {0};
  plan(&s, &arena);
  return arena.used;
}

/* Clears the whole scratch, so that the columns between width and leading dimension are zero. */
static struct sequence prepare(const struct linnet_causal_linear_kernels *kernels, const struct linnet_attention *a,
                               void *work) {
  struct sequence s = sequence_of(kernels, a);
  struct linnet_arena arena = {.base = work, .size = SIZE_MAX};
  plan(&s, &arena);
  memset(work, 0, arena.used);
  return s;
}

static void take_sequence(struct sequence *s, const struct linnet_pack *p, size_t i) {
  s->start = p->offsets[i];
  s->rows = p->offsets[i + 1] - s->start;
}

void linnet_causal_linear_forward(const struct linnet_causal_linear_kernels *kernels,
                                  const struct linnet_attention_call *c) {
  struct sequence s = prepare(kernels, c->attention, c->work);
  s.q = c->q, s.k = c->k, s.v = c->v, s.output = c->out;
  for (size_t i = 0; i < c->pack->sequences; i++) {
    take_sequence(&s, c->pack, i);
    run_pass(&s, &output_pass);
  }
}

void linnet_causal_linear_backward(const struct linnet_causal_linear_kernels *kernels,
                                   const struct linnet_attention_call *c) {
  struct sequence s = prepare(kernels, c->attention, c->work);
  s.q = c->q, s.k = c->k, s.v = c->v, s.out = c->out, s.dout = c->dout;
  s.dq = c->dq, s.dk = c->dk, s.dv = c->dv;
  for (size_t i = 0; i < c->pack->sequences; i++) {
    take_sequence(&s, c->pack, i);
    run_pass(&s, &normaliser_pass);
    run_pass(&s, &key_value_pass);
    run_pass(&s, &query_pass);
  }
}

size_t linnet_causal_linear_saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  (void)a, (void)frames, (void)sequences;
  return 0;
}

size_t linnet_causal_linear_state_size(const struct linnet_attention *a, size_t steps) {
  (void)steps;
  return linnet_linear_state_size(a);
}

/* --- the functions of the reference ------------------------------------------------------------------------------- */

static size_t work_bytes(const struct linnet_attention *a, size_t longest) {
  (void)longest;
  return linnet_causal_linear_work_bytes(&linnet_causal_linear_kernels_reference, a);
}

static void forward(const struct linnet_attention_call *c) {
  linnet_causal_linear_forward(&linnet_causal_linear_kernels_reference, c);
}

static void backward(const struct linnet_attention_call *c) {
  linnet_causal_linear_backward(&linnet_causal_linear_kernels_reference, c);
}

/* Eq. 18-20. */
static void step(const struct linnet_attention *a, size_t steps, const real *q, const real *k, const real *v,
                 real *state, real *out) {
  (void)steps;
  linnet_linear_accumulate_reference(a, 1, k, v, state);
  linnet_linear_apply_reference(a, 1, q, state, out);
}

const struct linnet_attention_ops linnet_causal_linear_attention_reference = {
    .saved_bytes = linnet_causal_linear_saved_bytes,
    .work_bytes = work_bytes,
    .forward = forward,
    .backward = backward,
    .state_size = linnet_causal_linear_state_size,
    .step = step,
};
