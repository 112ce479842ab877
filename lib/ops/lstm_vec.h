/* The LSTM with all sequences of a step as one matrix (formulas: lstm.c). The longest sequences come first, so those
 * that still run in a step are the first ones. Data that passes from step to step is in separate rows, (sequences, H)
 * and (sequences, 4H), and the recurrent product of a step has as many rows as sequences run.
 *
 * For one sequence, this product reads every weight for a single multiply-add, so memory bandwidth limits it. Therefore
 * weights are stored as panels of products (gemm_vec.h) and read in order: forwards in one step and backwards in the
 * next, so that the weights at the start of a step are still in the cache. As pairs of bfloat16 numbers they need half
 * of the memory, as 8-bit integers a quarter.
 *
 * A row has the same bits for any number of other rows. */
#ifndef LINNET_LSTM_VEC_H
#define LINNET_LSTM_VEC_H

#include "ops/activation_vec.h"
#include "ops/gemm_bf16_vec.h"
#include "ops/gemm_int8_vec.h"
#include "ops/lstm.h"
#include "ops/vec.h"

enum { LSTM_PANELS = 4 }; /* per pass of a row: enough chains of multiply-adds to hide their latency */

/* --- Products */

/* c (m, n) = a (m, k) op(B) in words (gemm_vec.h), with B packed by gemm_pack. */
struct lstm_product {
  size_t m, n, k;
  size_t block, padded; /* of the packed words along k, and of n */
  const float *a, *packed;
  const float *scales; /* (m), of integers, or NULL */
  bool back;           /* a single row: from the last panels to the first */
  float *c;
};

/* A single row, in `count` panels from column j on. */
VEC_INLINE void lstm_row_panels(const enum gemm_kind kind, const size_t count, const struct lstm_product *p, size_t j) {
  const size_t k = p->k, block = p->block, columns = p->n - j, step = gemm_step(kind);
  const float *a = p->a;
  const float scale = p->scales ? p->scales[0] : 1;
  float *c = p->c + j;
  vf total[2 * LSTM_PANELS];
  VEC_UNROLL
  for (size_t i = 0; i < 2 * count; i++)
    total[i] = vf_set(0);
  for (size_t from = 0; from < k; from += block) {
    size_t depth = linnet_min_size(block, k - from), rows = gemm_panel_rows(kind, depth);
    const float *b = p->packed + gemm_block_at(kind, from, block, p->padded) + j * rows, *terms = b;
    vf sum[2 * LSTM_PANELS];
    VEC_UNROLL
    for (size_t i = 0; i < 2 * count; i++)
      sum[i] = kind == GEMM_INTEGERS ? vf_load(b + i / 2 * GEMM_COLUMNS * rows + i % 2 * VW) : vf_set(0);
    b += gemm_panel_rows(kind, 0) * GEMM_COLUMNS;
    for (size_t d = 0; d < depth; d += step, b += step * GEMM_COLUMNS) {
      vf x[2], column[2];
      VEC_UNROLL
      for (size_t w = 0; w < step; w++)
        x[w] = vf_set(a[from + d + w]);
      VEC_UNROLL
      for (size_t i = 0; i < 2 * count; i++) {
        VEC_UNROLL
        for (size_t w = 0; w < step; w++)
          column[w] = vf_load(b + (i / 2 * rows + w) * GEMM_COLUMNS + i % 2 * VW);
        sum[i] = gemm_multiply_add(kind, x, column, sum[i]);
      }
    }
    VEC_UNROLL
    for (size_t i = 0; i < 2 * count; i++) {
      const float *columns_at = terms + (i / 2 * rows + 1) * GEMM_COLUMNS + i % 2 * VW;
      total[i] += gemm_sum_of(kind, sum[i], scale, kind == GEMM_INTEGERS ? vf_load(columns_at) : vf_set(0));
    }
  }
  VEC_UNROLL
  for (size_t i = 0; i < 2 * count; i++)
    if (i * VW < columns)
      vf_store_part(c + i * VW, total[i], columns - i * VW);
}

VEC_INLINE void lstm_row_product(const enum gemm_kind kind, const struct lstm_product *p) {
  size_t panels = p->padded / GEMM_COLUMNS, groups = panels / LSTM_PANELS, rest = panels % LSTM_PANELS;
  for (size_t i = 0; i < groups; i++)
    lstm_row_panels(kind, LSTM_PANELS, p, (p->back ? groups - 1 - i : i) * LSTM_PANELS * GEMM_COLUMNS);
  for (size_t i = 0; i < rest; i++)
    lstm_row_panels(kind, 1, p, (groups * LSTM_PANELS + i) * GEMM_COLUMNS);
}

/* m rows at once. */
static void lstm_rows_product(enum gemm_kind kind, const struct lstm_product *p) {
  for (size_t from = 0; from < p->k; from += p->block) {
    size_t depth = linnet_min_size(p->block, p->k - from);
    struct gemm_left left = gemm_left(p->a + from, p->k, 1);
    struct gemm_right to = {.c = p->c, .ldc = p->n, .add = from > 0};
    left.kind = kind;
    left.scales = p->scales;
    gemm_blocks(p->m, p->n, depth, &left, p->packed + gemm_block_at(kind, from, p->block, p->padded), &to);
  }
}

/* The product for an `a` of k numbers per row; `words` is scratch for its words and their scales. Only m, n, k, a,
 * packed, back and c are set. */
VEC_INLINE void lstm_product(const enum gemm_kind kind, struct lstm_product p, float *words) {
#ifdef VEC_BF16
  if (kind == GEMM_PAIRS) {
    size_t depth = gemm_pairs_of(p.k);
    gemm_pair_rows(p.m, p.k, p.a, p.k, words, depth);
    p.a = words, p.k = depth;
  }
#endif
#ifdef VEC_INT8
  if (kind == GEMM_INTEGERS) {
    size_t depth = gemm_integer_words(p.k);
    gemm_integer_rows(p.m, p.k, p.a, words, words + p.m * depth);
    p.a = words, p.scales = words + p.m * depth, p.k = depth;
  }
#endif
  (void)words;
  p.block = gemm_block_size(p.k, GEMM_DEPTH, 4), p.padded = gemm_padded(p.n);
  if (p.m == 1)
    lstm_row_product(kind, &p);
  else
    lstm_rows_product(kind, &p);
}

/* --- Steps */

/* The number of sequences that run in a step, given the number in the previous or next step. */
static size_t lstm_running(const struct linnet_lstm *l, size_t step, size_t near) {
  while (near > 0 && l->spans[near - 1].frames <= step)
    near--;
  while (near < l->sequences && l->spans[near].frames > step)
    near++;
  return near;
}

VEC_INLINE vf lstm_tanh(vf x) {
  return 1.0f - 2.0f / (1.0f + vf_exp(x + x));
}

/* One step of one sequence: `gates` (4H), and the recurrent product and bias that are added to them; replaces c and h
 * (H). */
static void lstm_step(size_t width, const float *recurrent, const float *bias, float *gates, float *c, float *h) {
  for (size_t u = 0; u < width; u += VW) {
    size_t n = width - u;
    vf a[4];
    VEC_UNROLL
    for (size_t j = 0; j < 4; j++)
      a[j] = vf_load_part(gates + j * width + u, n) + vf_load_part(bias + j * width + u, n) +
             vf_load_part(recurrent + j * width + u, n);
    a[0] = sigmoid_value(a[0]), a[1] = sigmoid_value(a[1]), a[2] = lstm_tanh(a[2]), a[3] = sigmoid_value(a[3]);
    VEC_UNROLL
    for (size_t j = 0; j < 4; j++)
      vf_store_part(gates + j * width + u, a[j], n);
    vf cell = a[1] * vf_load_part(c + u, n) + a[0] * a[2];
    vf_store_part(c + u, cell, n);
    vf_store_part(h + u, a[3] * lstm_tanh(cell), n);
  }
}

/* work: the recurrent product (sequences, 4H), then scratch for words. */
VEC_INLINE void lstm_forward(const enum gemm_kind kind, const struct linnet_lstm *l, float *gates, float *cells,
                             float *state, float *h, float *work) {
  size_t width = l->width, steps = l->sequences ? l->spans[0].frames : 0, running = l->sequences;
  float *h_state = state, *c_state = state + l->sequences * width, *words = work + l->sequences * 4 * width;
  for (size_t step = 0; step < steps; step++) {
    running = lstm_running(l, step, running);
    const struct lstm_product recurrent = {
        .m = running, .n = 4 * width, .k = width, .a = h_state, .packed = l->weights, .back = step % 2, .c = work};
    lstm_product(kind, recurrent, words);
    for (size_t s = 0; s < running; s++) {
      size_t t = linnet_lstm_row(l, &l->spans[s], step);
      lstm_step(width, work + s * 4 * width, l->bias, gates + t * 4 * width, c_state + s * width, h_state + s * width);
      memcpy(h + t * l->ld, h_state + s * width, width * sizeof(float));
      if (cells)
        memcpy(cells + t * width, c_state + s * width, width * sizeof(float));
    }
  }
}

/* One step back of one sequence. The gradient of h is dh + later (H). Replaces dc (H). gates (4H) become their
 * gradients, with a copy in da. */
static void lstm_step_back(size_t width, const float *c, const float *c_before, const float *dh, const float *later,
                           float *dc, float *gates, float *da) {
  for (size_t u = 0; u < width; u += VW) {
    size_t n = width - u;
    vf i = vf_load_part(gates + u, n), f = vf_load_part(gates + width + u, n);
    vf g = vf_load_part(gates + 2 * width + u, n), o = vf_load_part(gates + 3 * width + u, n);
    vf squashed = lstm_tanh(vf_load_part(c + u, n)), e = vf_load_part(dh + u, n) + vf_load_part(later + u, n);
    vf d = vf_load_part(dc + u, n) + e * o * (1.0f - squashed * squashed);
    vf a[4] = {d * g * i * (1.0f - i), d * vf_load_part(c_before + u, n) * f * (1.0f - f), d * i * (1.0f - g * g),
               e * squashed * o * (1.0f - o)};
    vf_store_part(dc + u, d * f, n);
    VEC_UNROLL
    for (size_t j = 0; j < 4; j++) {
      vf_store_part(gates + j * width + u, a[j], n);
      vf_store_part(da + j * width + u, a[j], n);
    }
  }
}

/* work: da (sequences, 4H), zero where a sequence has not begun yet; W^T da and dc (sequences, H); H zeros; scratch for
 * words. */
VEC_INLINE void lstm_backward(const enum gemm_kind kind, const struct linnet_lstm *l, const float *cells,
                              const float *dh, float *gates, float *work) {
  size_t width = l->width, n = l->sequences * width, running = 0;
  float *da = work, *later = da + 4 * n, *dc = later + n, *zero = dc + n, *words = zero + width;
  memset(work, 0, linnet_lstm_work(width, l->sequences) * sizeof(float));
  for (size_t step = l->sequences ? l->spans[0].frames : 0; step-- > 0;) {
    running = lstm_running(l, step, running);
    const struct lstm_product recurrent = {
        .m = running, .n = width, .k = 4 * width, .a = da, .packed = l->weights, .back = step % 2, .c = later};
    lstm_product(kind, recurrent, words);
    for (size_t s = 0; s < running; s++) {
      size_t t = linnet_lstm_row(l, &l->spans[s], step), own = s * width;
      const float *before = step > 0 ? cells + linnet_lstm_row(l, &l->spans[s], step - 1) * width : zero;
      lstm_step_back(width, cells + t * width, before, dh + t * l->ld, later + own, dc + own, gates + t * 4 * width,
                     da + 4 * own);
    }
  }
}

/* --- The functions of the op table, for each kind of words */

static size_t lstm_pack_size(const struct gemm_operands *operands, size_t width, enum linnet_lstm_use use) {
  return use == LINNET_LSTM_BACKWARD ? gemm_pack_size(operands, 4 * width, width)
                                     : gemm_pack_size(operands, width, 4 * width);
}

static void lstm_pack(const struct gemm_operands *operands, size_t width, enum linnet_lstm_use use,
                      const float *weights, float *packed) {
  if (use == LINNET_LSTM_BACKWARD)
    gemm_pack(operands, false, 4 * width, width, weights, width, packed);
  else
    gemm_pack(operands, true, width, 4 * width, weights, width, packed);
}

#define LSTM_SLOTS(suffix, operands)                                                                                   \
  static size_t lstm_pack_size_##suffix(size_t width, enum linnet_lstm_use use) {                                      \
    return lstm_pack_size(operands, width, use);                                                                       \
  }                                                                                                                    \
  static void lstm_pack_##suffix(size_t width, enum linnet_lstm_use use, const float *weights, float *packed) {        \
    lstm_pack(operands, width, use, weights, packed);                                                                  \
  }                                                                                                                    \
  static void lstm_forward_##suffix(const struct linnet_lstm *l, float *gates, float *cells, float *state, float *h,   \
                                    float *work) {                                                                     \
    lstm_forward((operands)->kind, l, gates, cells, state, h, work);                                                   \
  }                                                                                                                    \
  static void lstm_backward_##suffix(const struct linnet_lstm *l, const float *cells, const float *dh, float *gates,   \
                                     float *work) {                                                                    \
    lstm_backward((operands)->kind, l, cells, dh, gates, work);                                                        \
  }

LSTM_SLOTS(vec, &gemm_floats)
#ifdef VEC_BF16
LSTM_SLOTS(bf16, &gemm_pairs)
#endif
#ifdef VEC_INT8
LSTM_SLOTS(int8, &gemm_integers)
#endif

#endif
