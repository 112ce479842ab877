/* Softmax attention as small products (formulas: softmax_attention.c), head by head, in tiles of queries and keys,
 * counted from the first frame of the sequence. Causal: tiles above the diagonal are left out, and tiles on it are
 * limited row by row. With s = log2(e) / sqrt(key_width), operands are multiplied by s when they are copied, so that
 * weights are powers of 2 and the tiles need no scaling:
 *
 *   forward, SOFTMAX_QUERIES queries in strips for each tile of keys, which is packed once for them:
 *     S = (sQ) K^T           P = 2^(S - max)             O = O 2^(before - max) + P V         at the end: O = O / sum
 *
 *   backward, all queries for each tile of keys:
 *     S = (sQ) K^T           P = 2^(S - log2(e) l)       dV += P^T dO
 *     G = dO (ln(2) V)^T     dS = P o (G - ln(2) d)      dK += dS^T (sQ)        dQ += dS (sK)
 *
 * Here `o` is the element-wise product. */
#ifndef LINNET_SOFTMAX_ATTENTION_VEC_H
#define LINNET_SOFTMAX_ATTENTION_VEC_H

#include "base/arena.h"
#include "ops/linear_attention_vec.h"
#include "ops/softmax_attention.h"
#include "ops/vec.h"

#define SOFTMAX_LOG2_E 1.44269504f
#define SOFTMAX_LN_2 0.693147181f

enum {
  SOFTMAX_STRIP = 24,         /* queries whose scores stay in L1 until they are attention weights */
  SOFTMAX_QUERIES = 768,      /* queries per tile of keys in forward; multiple of SOFTMAX_STRIP */
  SOFTMAX_KEYS = 192,         /* keys per tile in forward; multiple of GEMM_COLUMNS */
  SOFTMAX_LD = 192 + 16,      /* an odd number of cache lines: the elements of a column are in different cache sets */
  SOFTMAX_BACKWARD_ROWS = 96, /* queries and keys per tile in backward; multiple of both */
  SOFTMAX_STEP_KEYS = 256     /* keys per tile of a step */
};

/* One head of one sequence. */
struct softmax_head {
  const struct linnet_attention *a;
  bool causal;
  float scale; /* s */
  size_t frames;
  const float *q, *k, *v;
};

/* Queries and keys of a tile, counted from the first frame of the sequence. */
struct softmax_tile {
  size_t query, queries, key, keys;
};

/* Scratch for tiles: dense matrices, (queries, SOFTMAX_LD) matrices of scores, and panels of GEMM_COLUMNS columns. */
struct softmax_work {
  float *queries;           /* dense s Q (queries, key_width) */
  float *scores;            /* S, P */
  float *key_columns;       /* panels K^T (key_width, keys) */
  float *values;            /* panels V (keys, width); from here on forward only */
  float *running_max, *sum; /* (SOFTMAX_QUERIES), running */
  float *slopes;            /* G, dS; from here on backward only */
  float *value_columns;     /* panels ln(2) V^T (width, keys) */
  float *keys;              /* panels s K (keys, key_width) */
  float *out_gradients;     /* dense dO (queries, width) */
  float *panels;            /* of Q or dO */
};

static float *softmax_take(struct linnet_arena *arena, size_t rows, size_t columns) {
  return linnet_arena_take(arena, rows * columns, sizeof(float));
}

static struct softmax_work softmax_plan(const struct linnet_attention *a, struct linnet_arena *arena) {
  size_t key_columns = gemm_padded(a->key_width), columns = gemm_padded(a->width);
  size_t more = columns > key_columns ? columns : key_columns;
  return (struct softmax_work){.queries = softmax_take(arena, SOFTMAX_QUERIES, a->key_width),
                               .scores = softmax_take(arena, SOFTMAX_BACKWARD_ROWS, SOFTMAX_LD),
                               .key_columns = softmax_take(arena, a->key_width, SOFTMAX_KEYS),
                               .values = softmax_take(arena, SOFTMAX_KEYS, columns),
                               .running_max = softmax_take(arena, SOFTMAX_QUERIES, 1),
                               .sum = softmax_take(arena, SOFTMAX_QUERIES, 1),
                               .slopes = softmax_take(arena, SOFTMAX_BACKWARD_ROWS, SOFTMAX_LD),
                               .value_columns = softmax_take(arena, a->width, SOFTMAX_KEYS),
                               .keys = softmax_take(arena, SOFTMAX_KEYS, key_columns),
                               .out_gradients = softmax_take(arena, SOFTMAX_BACKWARD_ROWS, a->width),
                               .panels = softmax_take(arena, SOFTMAX_BACKWARD_ROWS, more)};
}

static size_t softmax_work_bytes(const struct linnet_attention *a, size_t longest) {
  struct linnet_arena arena = {0};
  (void)longest;
  softmax_plan(a, &arena);
  return arena.used + 64; /* for alignment */
}

static struct softmax_work softmax_work(const struct linnet_attention *a, void *work) {
  struct linnet_arena arena = {.base = (unsigned char *)gemm_align(work), .size = SIZE_MAX};
  return softmax_plan(a, &arena);
}

static struct softmax_head softmax_head(const struct linnet_attention *a, bool causal, const struct linnet_pack *p,
                                        size_t sequence, size_t head, const float *q, const float *k, const float *v) {
  size_t first = p->offsets[sequence], in = first * a->key_ld + head * a->key_width;
  return (struct softmax_head){.a = a,
                               .causal = causal,
                               .scale = SOFTMAX_LOG2_E / sqrtf((float)a->key_width),
                               .frames = p->offsets[sequence + 1] - first,
                               .q = q + in,
                               .k = k + in,
                               .v = v + first * a->value_ld + head * a->width};
}

/* The number of keys from `key` on that the queries before `end` see, at most `max_keys`. */
static size_t softmax_keys(const struct softmax_head *h, size_t key, size_t end, size_t max_keys) {
  return linnet_min_size(max_keys, (h->causal ? end : h->frames) - key);
}

/* The number of keys of a tile that its query i sees. */
static size_t softmax_seen(const struct softmax_head *h, const struct softmax_tile *t, size_t i) {
  size_t end = t->query + i + 1;
  if (!h->causal || end >= t->key + t->keys)
    return t->keys;
  return end > t->key ? end - t->key : 0;
}

/* The start of the first tile of queries that sees the key. Tiles start at `from` (a multiple of `rows`) and every
 * `rows` queries after it. */
static size_t softmax_first_tile(const struct softmax_head *h, size_t from, size_t rows, size_t key) {
  return h->causal && key > from ? key / rows * rows : from;
}

/* `to` (queries, columns) [+]= weights (queries, keys) * panels, where the panels have `packed` >= keys rows. */
static void softmax_product(const struct softmax_tile *t, const float *weights, const float *panels, size_t packed,
                            size_t columns, struct gemm_right to) {
  const struct gemm_left left = gemm_left(weights, SOFTMAX_LD, 1);
  for (size_t j = 0; j < columns; j += GEMM_COLUMNS, to.c += GEMM_COLUMNS)
    gemm_block(t->queries, linnet_min_size(GEMM_COLUMNS, columns - j), t->keys, &left, panels + j * packed, &to);
}

/* scores (rows, keys) = x (rows, width) times packed columns. */
static void softmax_scores(size_t rows, size_t keys, const float *x, size_t width, const float *columns,
                           float *scores) {
  attention_product(rows, keys, width, gemm_left(x, width, 1), columns, scores, SOFTMAX_LD, false);
}

/* Gradient of keys or values: sum (keys, width) += weights (queries, keys)^T x (queries, width). */
static void softmax_sum(const struct softmax_tile *t, const float *weights, const float *x, size_t width,
                        float *scratch, float *sum_add, size_t ld) {
  const float *panels = x; /* x is a panel already if its width is that of a panel */
  if (width != GEMM_COLUMNS) {
    gemm_pack_panels(false, t->queries, width, x, width, scratch);
    panels = scratch;
  }
  attention_product(t->keys, width, t->queries, gemm_left(weights, 1, SOFTMAX_LD), panels, sum_add + t->key * ld, ld,
                    true);
}

static void softmax_copy(size_t rows, size_t width, float scale, const float *x, size_t ld, float *dense) {
  for (size_t t = 0; t < rows; t++, x += ld, dense += width)
    for (size_t j = 0; j < width; j += VW)
      vf_store_part(dense + j, vf_load_part(x + j, width - j) * scale, width - j);
}

/* --- Rows. A row of a tile has space for whole vectors; elements after the last key that is seen are not used. */

/* s = 2^(s - shift) for the first `seen`, 0 from there to `keys`. Returns the sum. */
static float softmax_row_exp(size_t seen, size_t keys, float shift, float *s) {
  vf sum = vf_set(0);
  size_t j = 0;
  for (; j + VW <= seen; j += VW) {
    vf p = vf_exp2_negative(vf_load(s + j) - shift);
    vf_store(s + j, p);
    sum += p;
  }
  if (j < seen) {
    vf p = vf_select(vi_first(seen - j), vf_exp2_negative(vf_load(s + j) - shift), vf_set(0));
    vf_store(s + j, p);
    sum += p;
    j += VW;
  }
  for (; j < keys; j += VW)
    vf_store(s + j, vf_set(0));
  return vf_sum(sum);
}

static void softmax_row_scale(size_t width, float scale, float *x) {
  for (size_t m = 0; m < width; m += VW)
    vf_store_part(x + m, vf_load_part(x + m, width - m) * scale, width - m);
}

/* Replaces the scores of a row by attention weights relative to the running maximum, which may grow. */
static void softmax_row_weights(size_t seen, size_t keys, size_t width, bool first, float *s, float *running_max,
                                float *sum, float *out) {
  if (seen == 0) {
    softmax_row_exp(0, keys, 0, s);
    return;
  }
  float largest = vf_row_largest(seen, s);
  if (first) {
    *running_max = largest;
    *sum = 0;
  } else if (largest > *running_max) {
    float shrink = exp2f(*running_max - largest);
    *running_max = largest;
    *sum *= shrink;
    softmax_row_scale(width, shrink, out);
  }
  *sum += softmax_row_exp(seen, keys, *running_max, s);
}

/* --- Forward. `out` and log_sums point to the first frame of the sequence, at the head. */

/* Q, running_max and sum point to the tile's first query. */
static void softmax_forward_tile(const struct softmax_head *h, const struct softmax_tile *t,
                                 const struct softmax_work *w, size_t packed, const float *queries, float *running_max,
                                 float *sum, float *out) {
  const struct linnet_attention *a = h->a;
  bool first = t->key == 0;
  out += t->query * a->out_ld;
  softmax_scores(t->queries, t->keys, queries, a->key_width, w->key_columns, w->scores);
  for (size_t i = 0; i < t->queries; i++)
    softmax_row_weights(softmax_seen(h, t, i), t->keys, a->width, first, w->scores + i * SOFTMAX_LD, running_max + i,
                        sum + i, out + i * a->out_ld);
  softmax_product(t, w->scores, w->values, packed, a->width,
                  (struct gemm_right){.c = out, .ldc = a->out_ld, .add = !first});
}

/* Queries from `query` to `end` against the keys from `key` on. */
static void softmax_forward_keys(const struct softmax_head *h, size_t query, size_t end, size_t key,
                                 const struct softmax_work *w, float *out) {
  const struct linnet_attention *a = h->a;
  size_t packed = softmax_keys(h, key, end, SOFTMAX_KEYS);
  gemm_pack_panels(true, a->key_width, packed, h->k + key * a->key_ld, a->key_ld, w->key_columns);
  gemm_pack_panels(false, packed, a->width, h->v + key * a->value_ld, a->value_ld, w->values);
  for (size_t i = softmax_first_tile(h, query, SOFTMAX_STRIP, key); i < end; i += SOFTMAX_STRIP) {
    size_t rows = linnet_min_size(SOFTMAX_STRIP, end - i);
    struct softmax_tile t = {i, rows, key, softmax_keys(h, key, i + rows, SOFTMAX_KEYS)};
    softmax_forward_tile(h, &t, w, packed, w->queries + (i - query) * a->key_width, w->running_max + i - query,
                         w->sum + i - query, out);
  }
}

static void softmax_forward_head(const struct softmax_head *h, const struct softmax_work *w, float *log_sums,
                                 float *out) {
  for (size_t query = 0; query < h->frames; query += SOFTMAX_QUERIES) {
    size_t end = linnet_min_size(query + SOFTMAX_QUERIES, h->frames);
    softmax_copy(end - query, h->a->key_width, h->scale, h->q + query * h->a->key_ld, h->a->key_ld, w->queries);
    for (size_t key = 0; key < (h->causal ? end : h->frames); key += SOFTMAX_KEYS) {
      if (linnet_stopped(h->a->poll))
        return;
      softmax_forward_keys(h, query, end, key, w, out);
    }
    for (size_t i = query; i < end; i++) {
      softmax_row_scale(h->a->width, 1 / w->sum[i - query], out + i * h->a->out_ld);
      log_sums[i * h->a->heads] = w->running_max[i - query] * SOFTMAX_LN_2 + logf(w->sum[i - query]);
    }
  }
}

static void softmax_forward_either(const struct linnet_attention_call *c, bool causal) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  float *log_sums = c->saved, *out = c->out;
  const struct softmax_work w = softmax_work(a, c->work);
  for (size_t s = 0; s < p->sequences; s++)
    for (size_t i = 0; i < a->heads; i++) {
      struct softmax_head h = softmax_head(a, causal, p, s, i, c->q, c->k, c->v);
      softmax_forward_head(&h, &w, log_sums + p->offsets[s] * a->heads + i,
                           out + p->offsets[s] * a->out_ld + i * a->width);
    }
}

/* --- Backward */

/* Pointers to the first frame of the sequence, at the head. */
struct softmax_gradient {
  const float *log_sums, *out, *dout;
  float *dq, *dk, *dv;
};

/* Replaces s by probabilities and g by gradients of scores. */
static void softmax_gradient_row(size_t seen, size_t keys, float log_sum, float d, float *s, float *g) {
  size_t j = 0;
  for (; j + VW <= seen; j += VW) {
    vf p = vf_exp2_negative(vf_load(s + j) - log_sum);
    vf_store(s + j, p);
    vf_store(g + j, p * (vf_load(g + j) - d));
  }
  if (j < seen) {
    const vi inside = vi_first(seen - j);
    vf p = vf_select(inside, vf_exp2_negative(vf_load(s + j) - log_sum), vf_set(0));
    vf_store(s + j, p);
    vf_store(g + j, vf_select(inside, p * (vf_load(g + j) - d), vf_set(0)));
    j += VW;
  }
  for (; j < keys; j += VW) {
    vf_store(s + j, vf_set(0));
    vf_store(g + j, vf_set(0));
  }
}

/* Computes probabilities and dS of the tile's queries from row `first` on. */
static void softmax_gradient_strip(const struct softmax_head *h, const struct softmax_tile *t,
                                   const struct softmax_work *w, size_t first, const struct softmax_gradient *g) {
  const struct linnet_attention *a = h->a;
  size_t end = linnet_min_size(first + SOFTMAX_STRIP, t->queries), query = t->query + first;
  size_t keys = softmax_keys(h, t->key, t->query + end, t->keys);
  const float *queries = w->queries + first * a->key_width, *dout = w->out_gradients + first * a->width;
  float *scores = w->scores + first * SOFTMAX_LD, *slopes = w->slopes + first * SOFTMAX_LD;
  softmax_scores(end - first, keys, queries, a->key_width, w->key_columns, scores);
  softmax_scores(end - first, keys, dout, a->width, w->value_columns, slopes);
  for (size_t i = first; i < end; i++, query++, dout += a->width, scores += SOFTMAX_LD, slopes += SOFTMAX_LD) {
    float d = attention_dot(a->width, dout, g->out + query * a->out_ld);
    softmax_gradient_row(softmax_seen(h, t, i), t->keys, g->log_sums[query * a->heads] * SOFTMAX_LOG2_E,
                         d * SOFTMAX_LN_2, scores, slopes);
  }
}

static void softmax_backward_tile(const struct softmax_head *h, const struct softmax_tile *t,
                                  const struct softmax_work *w, size_t packed, const struct softmax_gradient *g) {
  const struct linnet_attention *a = h->a;
  softmax_copy(t->queries, a->key_width, h->scale, h->q + t->query * a->key_ld, a->key_ld, w->queries);
  softmax_copy(t->queries, a->width, 1, g->dout + t->query * a->out_ld, a->out_ld, w->out_gradients);
  for (size_t i = 0; i < t->queries; i += SOFTMAX_STRIP)
    softmax_gradient_strip(h, t, w, i, g);
  softmax_sum(t, w->scores, w->out_gradients, a->width, w->panels, g->dv, a->value_ld);
  softmax_sum(t, w->slopes, w->queries, a->key_width, w->panels, g->dk, a->key_ld);
  softmax_product(t, w->slopes, w->keys, packed, a->key_width,
                  (struct gemm_right){.c = g->dq + t->query * a->key_ld, .ldc = a->key_ld, .add = t->key > 0});
}

static void softmax_backward_head(const struct softmax_head *h, const struct softmax_work *w,
                                  const struct softmax_gradient *g) {
  const struct linnet_attention *a = h->a;
  linnet_clear_rows(h->frames, a->key_width, a->key_ld, g->dk);
  linnet_clear_rows(h->frames, a->width, a->value_ld, g->dv);
  for (size_t key = 0; key < h->frames; key += SOFTMAX_BACKWARD_ROWS) {
    size_t packed = softmax_keys(h, key, h->frames, SOFTMAX_BACKWARD_ROWS);
    gemm_pack_panels(true, a->key_width, packed, h->k + key * a->key_ld, a->key_ld, w->key_columns);
    gemm_pack_panels(true, a->width, packed, h->v + key * a->value_ld, a->value_ld, w->value_columns);
    softmax_row_scale(a->width * gemm_padded(packed), SOFTMAX_LN_2, w->value_columns);
    gemm_pack_panels(false, packed, a->key_width, h->k + key * a->key_ld, a->key_ld, w->keys);
    softmax_row_scale(packed * gemm_padded(a->key_width), h->scale, w->keys);
    for (size_t i = h->causal ? key : 0; i < h->frames; i += SOFTMAX_BACKWARD_ROWS) {
      size_t rows = linnet_min_size(SOFTMAX_BACKWARD_ROWS, h->frames - i);
      struct softmax_tile t = {i, rows, key, softmax_keys(h, key, i + rows, SOFTMAX_BACKWARD_ROWS)};
      softmax_backward_tile(h, &t, w, packed, g);
    }
  }
}

static void softmax_backward_either(const struct linnet_attention_call *c, bool causal) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  const float *log_sums = c->saved, *out = c->out, *dout = c->dout;
  float *dq = c->dq, *dk = c->dk, *dv = c->dv;
  const struct softmax_work w = softmax_work(a, c->work);
  for (size_t s = 0; s < p->sequences; s++)
    for (size_t i = 0; i < a->heads; i++) {
      size_t first = p->offsets[s], in = first * a->key_ld + i * a->key_width, o = first * a->out_ld + i * a->width;
      struct softmax_head h = softmax_head(a, causal, p, s, i, c->q, c->k, c->v);
      const struct softmax_gradient g = {log_sums + first * a->heads + i,        out + o, dout + o, dq + in, dk + in,
                                         dv + first * a->value_ld + i * a->width};
      softmax_backward_head(&h, &w, &g);
    }
}

/* --- A step */

/* out += s (keys) * values */
static void softmax_row_values(size_t keys, size_t width, const float *s, const float *values, size_t ld, float *out) {
  for (size_t m = 0; m < width; m += VW) {
    vf sum = vf_load_part(out + m, width - m);
    for (size_t j = 0; j < keys; j++)
      sum += vf_load_part(values + j * ld + m, width - m) * s[j];
    vf_store_part(out + m, sum, width - m);
  }
}

/* One query against all frames so far. */
static void softmax_step_head(const struct softmax_head *h, float *out) {
  const struct linnet_attention *a = h->a;
  float s[SOFTMAX_STEP_KEYS], running_max = 0, sum = 0;
  memset(out, 0, a->width * sizeof *out);
  for (size_t key = 0; key < h->frames; key += SOFTMAX_STEP_KEYS) {
    size_t keys = linnet_min_size(SOFTMAX_STEP_KEYS, h->frames - key);
    for (size_t j = 0; j < keys; j++)
      s[j] = attention_dot(a->key_width, h->q, h->k + (key + j) * a->key_ld) * h->scale;
    softmax_row_weights(keys, keys, a->width, key == 0, s, &running_max, &sum, out);
    softmax_row_values(keys, a->width, s, h->v + key * a->value_ld, a->value_ld, out);
  }
  softmax_row_scale(a->width, 1 / sum, out);
}

static void softmax_step_vec(const struct linnet_attention *a, size_t steps, const float *q, const float *k,
                             const float *v, float *state, float *out) {
  const struct linnet_attention stored = linnet_softmax_append(a, steps, k, v, state);
  const size_t offsets[] = {0, steps + 1};
  const struct linnet_pack p = {1, offsets};
  for (size_t i = 0; i < a->heads; i++) {
    struct softmax_head h = softmax_head(&stored, true, &p, 0, i, q, state, state + a->heads * a->key_width);
    softmax_step_head(&h, out + i * a->width);
  }
}

/* --- The rows of the op table */

static void softmax_forward_vec(const struct linnet_attention_call *c) {
  softmax_forward_either(c, false);
}

static void causal_softmax_forward_vec(const struct linnet_attention_call *c) {
  softmax_forward_either(c, true);
}

static void softmax_backward_vec(const struct linnet_attention_call *c) {
  softmax_backward_either(c, false);
}

static void causal_softmax_backward_vec(const struct linnet_attention_call *c) {
  softmax_backward_either(c, true);
}

static const struct linnet_attention_ops softmax_attention_vec = {
    .saved_bytes = linnet_softmax_saved_bytes,
    .work_bytes = softmax_work_bytes,
    .forward = softmax_forward_vec,
    .backward = softmax_backward_vec,
};

static const struct linnet_attention_ops causal_softmax_attention_vec = {
    .saved_bytes = linnet_softmax_saved_bytes,
    .work_bytes = softmax_work_bytes,
    .forward = causal_softmax_forward_vec,
    .backward = causal_softmax_backward_vec,
    .state_size = linnet_softmax_state_size,
    .step = softmax_step_vec,
};

#endif
