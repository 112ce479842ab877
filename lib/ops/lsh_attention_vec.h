/* LSH attention (definition: lsh_attention.h, formulas: lsh_attention.c): hashing and the runs as products. With n rows
 * and k keys in a run, G = Q / sqrt(C) (n, C), normalised K (k, C), V (k, M):
 *
 *   S = G K^T                    out += exp(S - m) V
 *   P = exp(S - m) / l           dS = P * (dout V^T - D)
 *   dQ = dS K / sqrt(C)          dK = dS^T G                dV = P^T dout
 *
 * Operands are gathered in the sorted order. The rows of operands and of products have the stride of panels, with zeros
 * beyond the width. */
#ifndef LINNET_LSH_ATTENTION_VEC_H
#define LINNET_LSH_ATTENTION_VEC_H

#include "ops/gemm_vec.h"
#include "ops/lsh_attention.h"
#include "ops/vec.h"

/* The stride of the rows of operands and of scores. */
static size_t lsh_stride(size_t width) {
  return gemm_padded(width);
}

static float *lsh_take(float **scratch, size_t rows, size_t stride) {
  float *taken = *scratch;
  *scratch += linnet_round_up(rows * stride, 16);
  return taken;
}

/* product (rows, width) = left (rows, depth) * panels (depth, width) */
static void lsh_product(size_t rows, size_t width, size_t depth, struct gemm_left left, const float *panels,
                        float *product) {
  struct gemm_right to = {.c = product, .ldc = lsh_stride(width)};
  gemm_blocks(rows, width, depth, &left, panels, &to);
}

/* A (depth, width) operand of stride lsh_stride as panels. Returns `operand` if it is a panel already, else fills
 * `panels`. */
static const float *lsh_panels(size_t depth, size_t width, const float *operand, float *panels) {
  if (width <= GEMM_COLUMNS)
    return operand;
  gemm_pack_panels(false, depth, width, operand, lsh_stride(width), panels);
  return panels;
}

/* --- Hashing */

/* The largest norm of a column. */
static float lsh_largest_column(size_t depth, size_t half, const float *rotation) {
  vf largest = vf_set(0);
  for (size_t b = 0; b < half; b += VW) {
    vf sum = vf_set(0);
    for (size_t c = 0; c < depth; c++) {
      vf x = vf_load_part(rotation + c * half + b, half - b);
      sum += x * x;
    }
    largest = vf_max(sum, largest);
  }
  return sqrtf(vf_largest(largest));
}

static float lsh_norm(size_t width, const float *x) {
  vf sum = vf_set(0);
  for (size_t c = 0; c < width; c += VW) {
    vf v = vf_load_part(x + c, width - c);
    sum += v * v;
  }
  return sqrtf(vf_sum(sum));
}

/* The bucket of x = q R (half), if all other values are more than `slack` below the maximum; else half * 2. */
static size_t lsh_clear_bucket(size_t half, const float *x, float slack) {
  vf largest = vf_set(0), lane, hits = vf_set(0), index = vf_set(0);
  for (size_t i = 0; i < VW; i++)
    lane[i] = (float)i;
  for (size_t b = 0; b < half; b += VW)
    largest = vf_max(vf_abs(vf_load_part(x + b, half - b)), largest);
  const vf bound = vf_set(vf_largest(largest) - slack);
  for (size_t b = 0; b < half; b += VW) {
    vi hit = vf_abs(vf_load_part(x + b, half - b)) >= bound;
    hits += vf_select(hit, vf_set(1), vf_set(0));
    index += vf_select(hit, lane + (float)b, vf_set(0));
  }
  if (vf_sum(hits) != 1)
    return 2 * half;
  size_t best = (size_t)vf_sum(index);
  if (fabsf(x[best]) <= slack) /* the largest is close to 0, so x and -x are close */
    return 2 * half;
  return x[best] < 0 ? best + half : best;
}

/* Rounding changes a rotated value by less than C 2^-24 |q| |column|, both here and in linnet_lsh_bucket. If the
 * maximum exceeds the other values by more than four times that, both return the same bucket. */
static void lsh_hash(const struct linnet_attention *a, size_t rows, const float *q, const float *rotation,
                     uint32_t *bucket, float *scratch) {
  const size_t depth = a->key_width, half = a->lsh.buckets / 2, stride = lsh_stride(half);
  const float slack = (float)depth * 0x1p-21f * lsh_largest_column(depth, half, rotation);
  float *panels = lsh_take(&scratch, depth, stride), *rotated = lsh_take(&scratch, LINNET_LSH_ROWS, stride);
  gemm_pack_panels(false, depth, half, rotation, half, panels);
  for (size_t t = 0; t < rows; t += LINNET_LSH_ROWS) {
    size_t count = linnet_min_size(LINNET_LSH_ROWS, rows - t);
    lsh_product(count, half, depth, gemm_left(q + t * a->key_ld, a->key_ld, 1), panels, rotated);
    for (size_t i = 0; i < count; i++) {
      const float *query = q + (t + i) * a->key_ld;
      size_t clear = lsh_clear_bucket(half, rotated + i * stride, slack * lsh_norm(depth, query));
      bucket[t + i] = clear < 2 * half ? (uint32_t)clear : linnet_lsh_bucket(a, query, rotation);
    }
  }
}

/* --- Operands of a run */

/* Copies one row times `scale`, with zeros from `width` to its stride. */
VEC_INLINE void lsh_copy_row(size_t width, float scale, const float *from, float *to) {
  size_t stride = lsh_stride(width);
  for (size_t j = 0; j < stride; j += VW)
    vf_store(to + j, j < width ? vf_load_part(from + j, width - j) * scale : vf_set(0));
}

static void lsh_gather(const struct linnet_lsh_row *at, size_t rows, size_t width, float scale, const float *from,
                       size_t ld, float *to) {
  for (size_t i = 0; i < rows; i++, to += lsh_stride(width))
    lsh_copy_row(width, scale, from + at[i].frame * ld, to);
}

/* Normalises the queries; writes 1 / norm to `inverse`. */
static void lsh_gather_keys(const struct linnet_attention *a, const struct linnet_lsh_row *at, size_t rows,
                            const float *q, float *inverse, float *to) {
  for (size_t i = 0; i < rows; i++, to += lsh_stride(a->key_width)) {
    const float *query = q + at[i].frame * a->key_ld;
    float norm = lsh_norm(a->key_width, query);
    inverse[i] = 1 / sqrtf(norm * norm + (float)LINNET_LSH_EPSILON);
    lsh_copy_row(a->key_width, inverse[i], query, to);
  }
}

/* A run and its gathered operands; sizes in rows of the strides of C, M and k. */
struct lsh_tile {
  const struct linnet_lsh_head *h;
  const struct linnet_lsh_row *rows, *keys;
  size_t n, k;
  size_t own;                       /* index of the key that is row 0: row i is key own + i */
  float *query, *key, *value;       /* (n, C), (k, C), (k, M) */
  float *inverse;                   /* (k): 1 / norms of keys */
  float *scores;                    /* (n, k) */
  float *key_panels, *value_panels; /* of K^T and V */
};

static struct lsh_tile lsh_tile(const struct linnet_lsh_head *h, const struct linnet_lsh_run *run, float **scratch) {
  const struct linnet_attention *a = h->a;
  const size_t n = run->end - run->first, k = run->end - run->key;
  const size_t depth = lsh_stride(a->key_width), width = lsh_stride(a->width), stride = lsh_stride(k);
  struct lsh_tile t = {.h = h, .rows = h->sorted + run->first, .keys = h->sorted + run->key, .n = n, .k = k};
  t.own = run->first - run->key;
  t.query = lsh_take(scratch, n, depth);
  t.key = lsh_take(scratch, k, depth);
  t.value = lsh_take(scratch, k, width);
  t.inverse = lsh_take(scratch, k, 1);
  t.scores = lsh_take(scratch, n, stride);
  t.key_panels = lsh_take(scratch, a->key_width, stride);
  t.value_panels = lsh_take(scratch, k, width);
  return t;
}

static size_t lsh_keys_of_row(const struct lsh_tile *t, size_t row) {
  return t->h->causal ? t->own + row + 1 : t->k;
}

/* Gathers the operands and computes the scores. */
static void lsh_score(const struct lsh_tile *t) {
  const struct linnet_attention *a = t->h->a;
  const size_t depth = a->key_width, stride = lsh_stride(t->k);
  lsh_gather(t->rows, t->n, depth, 1 / sqrtf((float)depth), t->h->q, a->key_ld, t->query);
  lsh_gather_keys(a, t->keys, t->k, t->h->q, t->inverse, t->key);
  lsh_gather(t->keys, t->k, a->width, 1, t->h->v, a->value_ld, t->value);
  gemm_pack_panels(true, depth, t->k, t->key, lsh_stride(depth), t->key_panels);
  lsh_product(t->n, t->k, depth, gemm_left(t->query, lsh_stride(depth), 1), t->key_panels, t->scores);
  for (size_t i = 0; i < t->n; i++)
    t->scores[i * stride + t->own + i] += (float)LINNET_LSH_SELF;
}

/* --- Forward */

/* score = exp(score - m) for the first n of a row, zero from n to `all`. Returns the sum. */
VEC_INLINE float lsh_exponentials(float *score, size_t n, size_t all, float m) {
  vf sum = vf_set(0);
  for (size_t j = 0; j < all; j += VW) {
    vf e = vf_exp_negative(vf_load(score + j) - m);
    e = (vf)((vi)e & vi_first(j < n ? linnet_min_size(n - j, VW) : 0));
    vf_store(score + j, e);
    sum += e;
  }
  return vf_sum(sum);
}

VEC_INLINE float lsh_row_largest(const float *score, size_t n, float largest) {
  vf m = vf_set(largest);
  for (size_t j = 0; j < n; j += VW) {
    vi lanes = vi_first(linnet_min_size(n - j, VW));
    m = vf_max(vf_select(lanes, vf_load(score + j), m), m);
  }
  return vf_largest(m);
}

/* out = out * shrink + added */
VEC_INLINE void lsh_merge(size_t width, float shrink, const float *added, float *out) {
  for (size_t j = 0; j < width; j += VW)
    vf_store_part(out + j, vf_load_part(out + j, width - j) * shrink + vf_load(added + j), width - j);
}

static void lsh_forward_run(const struct linnet_lsh_head *h, const struct linnet_lsh_run *run, float *scratch) {
  struct lsh_tile t = lsh_tile(h, run, &scratch);
  const size_t width = h->a->width, stride = lsh_stride(t.k);
  float *product = lsh_take(&scratch, t.n, lsh_stride(width)), *shrink = lsh_take(&scratch, t.n, 1);
  lsh_score(&t);
  for (size_t i = 0; i < t.n; i++) {
    const size_t frame = t.rows[i].frame, n = lsh_keys_of_row(&t, i);
    float *row = t.scores + i * stride, largest = lsh_row_largest(row, n, h->largest[frame]);
    shrink[i] = expf(h->largest[frame] - largest);
    h->sum[frame] = h->sum[frame] * shrink[i] + lsh_exponentials(row, n, stride, largest);
    h->largest[frame] = largest;
  }
  lsh_product(t.n, width, t.k, gemm_left(t.scores, stride, 1), lsh_panels(t.k, width, t.value, t.value_panels),
              product);
  for (size_t i = 0; i < t.n; i++)
    lsh_merge(width, shrink[i], product + i * lsh_stride(width), h->out + t.rows[i].frame * h->a->out_ld);
}

/* --- Backward */

/* Replaces the scores by P, and dp by dS. */
static void lsh_score_gradients(const struct lsh_tile *t, const float *dout, float *dp) {
  const struct linnet_lsh_head *h = t->h;
  const size_t width = h->a->width, stride = lsh_stride(t->k);
  for (size_t i = 0; i < t->n; i++, dp += stride, dout += lsh_stride(width)) {
    const size_t frame = t->rows[i].frame;
    const float *out = h->out + frame * h->a->out_ld, scale = 1 / h->sum[frame];
    float *p = t->scores + i * stride;
    vf sum = vf_set(0);
    for (size_t j = 0; j < width; j += VW)
      sum += vf_load(dout + j) * vf_load_part(out + j, width - j);
    const float d = vf_sum(sum);
    lsh_exponentials(p, lsh_keys_of_row(t, i), stride, h->largest[frame]);
    for (size_t j = 0; j < t->k; j += VW) {
      vf x = vf_load(p + j) * scale;
      vf_store(p + j, x);
      vf_store(dp + j, x * (vf_load(dp + j) - d));
    }
  }
}

/* dq += dkey through key = q * inverse: (dkey - key (key . dkey)) * inverse. */
VEC_INLINE void lsh_add_key_gradient(size_t width, const float *key, const float *dkey, float inverse, float *dq) {
  vf sum = vf_set(0);
  for (size_t j = 0; j < width; j += VW)
    sum += vf_load(key + j) * vf_load_n(dkey + j, linnet_min_size(width - j, VW));
  const float along = vf_sum(sum);
  for (size_t j = 0; j < width; j += VW) {
    vf moved = (vf_load(dkey + j) - vf_load(key + j) * along) * inverse;
    vf_store_part(dq + j, vf_load_part(dq + j, width - j) + moved, width - j);
  }
}

VEC_INLINE void lsh_add_row(size_t width, float scale, const float *x, float *y_add) {
  for (size_t j = 0; j < width; j += VW)
    vf_store_part(y_add + j, vf_load_part(y_add + j, width - j) + vf_load(x + j) * scale, width - j);
}

/* Adds dQ, dK and dV, whose operands are in the tile; `product` is scratch for k rows, `panels` for panels of them. */
static void lsh_add_gradients(const struct lsh_tile *t, const float *dout, const float *ds, float *product,
                              float *panels) {
  const struct linnet_lsh_head *h = t->h;
  const struct linnet_attention *a = h->a;
  const size_t depth = a->key_width, width = a->width, stride = lsh_stride(t->k);
  lsh_product(t->n, depth, t->k, gemm_left(ds, stride, 1), lsh_panels(t->k, depth, t->key, panels), product);
  for (size_t i = 0; i < t->n; i++)
    lsh_add_row(depth, 1 / sqrtf((float)depth), product + i * lsh_stride(depth), h->dq + t->rows[i].frame * a->key_ld);
  lsh_product(t->k, depth, t->n, gemm_left(ds, 1, stride), lsh_panels(t->n, depth, t->query, panels), product);
  for (size_t j = 0; j < t->k; j++)
    lsh_add_key_gradient(depth, t->key + j * lsh_stride(depth), product + j * lsh_stride(depth), t->inverse[j],
                         h->dq + t->keys[j].frame * a->key_ld);
  lsh_product(t->k, width, t->n, gemm_left(t->scores, 1, stride), lsh_panels(t->n, width, dout, panels), product);
  for (size_t j = 0; j < t->k; j++)
    lsh_add_row(width, 1, product + j * lsh_stride(width), h->dv + t->keys[j].frame * a->value_ld);
}

static void lsh_backward_run(const struct linnet_lsh_head *h, const struct linnet_lsh_run *run, float *scratch) {
  struct lsh_tile t = lsh_tile(h, run, &scratch);
  const size_t width = h->a->width, stride = lsh_stride(width);
  const size_t widest = lsh_stride(width > h->a->key_width ? width : h->a->key_width), columns = lsh_stride(t.k);
  float *dout = lsh_take(&scratch, t.n, stride), *ds = lsh_take(&scratch, t.n, columns);
  float *product = lsh_take(&scratch, t.k, widest), *panels = lsh_take(&scratch, columns, widest);
  lsh_score(&t);
  lsh_gather(t.rows, t.n, width, 1, h->dout, h->a->out_ld, dout);
  gemm_pack_panels(true, width, t.k, t.value, stride, panels);
  lsh_product(t.n, t.k, width, gemm_left(dout, stride, 1), panels, ds);
  lsh_score_gradients(&t, dout, ds);
  lsh_add_gradients(&t, dout, ds, product, panels);
}

static const struct linnet_lsh_kernels lsh_kernels = {lsh_hash, lsh_forward_run, lsh_backward_run};

LINNET_LSH_FUNCTIONS(lsh_vec, &lsh_kernels, false)
LINNET_LSH_FUNCTIONS(causal_lsh_vec, &lsh_kernels, true)

static const struct linnet_attention_ops lsh_attention_vec = LINNET_LSH_ROW(lsh_vec);
static const struct linnet_attention_ops causal_lsh_attention_vec = LINNET_LSH_ROW(causal_lsh_vec);

#endif
