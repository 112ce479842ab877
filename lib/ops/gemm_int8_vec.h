/* The matrix product with 8-bit operands and 32-bit sums, for inference. Within a block along k, each row of A and each
 * column of B has a scale; its numbers are integers of at most VEC_INT8_LARGEST in size times this scale (dynamic
 * quantisation; Jacob et al. 2018, equation 2, with zero points of 0).
 *
 * A word is four numbers that follow each other along k, with zeros after the last. Those of A have VEC_INT8_OFFSET
 * added; each sum starts with a number that cancels it. */
#ifndef LINNET_GEMM_INT8_VEC_H
#define LINNET_GEMM_INT8_VEC_H

#include "ops/gemm_vec.h"
#include "ops/vec.h"

#ifdef VEC_INT8

enum { GEMM_BAND = 64 /* numbers along k that are rounded at a time */ };

static inline size_t gemm_integer_words(size_t numbers) {
  return linnet_round_up(linnet_divide_up(numbers, 4), VEC_INT8_WORDS);
}

/* The scale for numbers whose maximum size is `largest`. *inverse: the factor that the numbers are multiplied by; 0 if
 * all are zero. */
VEC_INLINE vf gemm_integer_scale(vf largest, vf *inverse) {
  *inverse = vf_select(largest > 0, (float)VEC_INT8_LARGEST / largest, vf_set(0));
  return largest * (1.0f / VEC_INT8_LARGEST);
}

/* The maximum size in the row. NaN if the row has a NaN or an infinite number; then all products of the row are NaN. */
static float gemm_integer_largest(size_t k, const float *x) {
  vf largest = vf_set(0), odd = vf_set(0), others = vf_set(0);
  size_t p = 0;
  for (; p + 2 * VW <= k; p += 2 * VW) { /* two sums, so that an addition need not wait for the one before */
    const vf v = vf_load(x + p), w = vf_load(x + p + VW);
    largest = vf_max(vf_max(vf_abs(v), vf_abs(w)), largest);
    odd += v * 0.0f;
    others += w * 0.0f;
  }
  for (; p < k; p += VW) {
    const vf v = vf_load_part(x + p, k - p);
    largest = vf_max(vf_abs(v), largest);
    odd += v * 0.0f;
  }
  return vf_largest(largest) + vf_sum(odd + others);
}

/* The lowest bytes are the nearest integers to x * inverse, with VEC_INT8_OFFSET added: beyond 2^23 the last bit of a
 * float counts ones. */
VEC_INLINE vi gemm_integer_round(vf x, vf inverse) {
  return (vi)(x * inverse + vf_set(0x1.8p23f + VEC_INT8_OFFSET));
}

/* Writes words (gemm_integer_words(k)) from x (k). Returns their scale. */
static float gemm_integer_row(size_t k, const float *x, float *words) {
  vf inverse, scale = gemm_integer_scale(vf_set(gemm_integer_largest(k, x)), &inverse);
  unsigned char *bytes = (unsigned char *)words, last[VW];
  size_t p = 0;
  for (; p + VW <= k; p += VW)
    vi_store_bytes(bytes + p, gemm_integer_round(vf_load(x + p), inverse));
  if (p < k) {
    vi_store_bytes(last, gemm_integer_round(vf_load_part(x + p, k - p), inverse));
    memcpy(bytes + p, last, 4 * gemm_integer_words(k) - p);
  }
  return scale[0];
}

/* Writes words (rows, gemm_integer_words(k)) and their scales from x (rows, k). */
static void gemm_integer_rows(size_t rows, size_t k, const float *x, float *words, float *scales) {
  for (size_t i = 0; i < rows; i++)
    scales[i] = gemm_integer_row(k, x + i * k, words + i * gemm_integer_words(k));
}

/* Copies `numbers` rows of a panel's columns as floats, with zeros beyond `columns`. */
static void gemm_integer_band(bool transposed, size_t numbers, size_t columns, const float *b, size_t ldb,
                              float *band) {
  if (transposed)
    gemm_pack_transposed(numbers, columns, b, ldb, band);
  else
    gemm_pack_straight(numbers, columns, GEMM_COLUMNS, b, ldb, band);
}

/* Returns words of VW columns from `count` <= 4 rows of a band, which have leading dimension `ld`. Adds their numbers
 * to `sum`. */
VEC_INLINE vi gemm_integers_across(const float *rows, size_t ld, size_t count, vf inverse, vi *sum) {
  vi word = vi_set(0);
  for (size_t i = 0; i < count; i++) {
    vi rounded = vi_from(vf_round(vf_load(rows + i * ld) * inverse));
    *sum += rounded;
    word |= (rounded & 0xff) << (int)(8 * i);
  }
  return word;
}

static void gemm_pack_integer_panel(bool transposed, size_t k, size_t columns, const float *b, size_t ldb,
                                    float *packed) {
  float band[GEMM_BAND * GEMM_COLUMNS];
  vf largest[2] = {vf_set(0), vf_set(0)}, odd[2] = {vf_set(0), vf_set(0)}, inverse[2];
  vi sum[2] = {vi_set(0), vi_set(0)};
  for (size_t p = 0; p < k; p += GEMM_BAND) {
    size_t numbers = linnet_min_size(GEMM_BAND, k - p);
    gemm_integer_band(transposed, numbers, columns, b + (transposed ? p : p * ldb), ldb, band);
    for (size_t i = 0; i < numbers * 2; i++) {
      vf v = vf_load(band + i * VW);
      largest[i % 2] = vf_max(vf_abs(v), largest[i % 2]);
      odd[i % 2] += v * 0.0f;
    }
  }
  for (size_t v = 0; v < 2; v++)
    vf_store(packed + GEMM_COLUMNS + v * VW, gemm_integer_scale(largest[v] + odd[v], &inverse[v]));
  float *words = packed + GEMM_TERMS * GEMM_COLUMNS;
  for (size_t p = 0; p < k; p += GEMM_BAND) {
    size_t numbers = linnet_min_size(GEMM_BAND, k - p);
    gemm_integer_band(transposed, numbers, columns, b + (transposed ? p : p * ldb), ldb, band);
    for (size_t i = 0; i < 4 * gemm_integer_words(numbers); i += 4, words += GEMM_COLUMNS) {
      size_t count = linnet_min_size(4, numbers - linnet_min_size(i, numbers));
      for (size_t v = 0; v < 2; v++)
        vf_store(words + v * VW,
                 (vf)gemm_integers_across(band + i * GEMM_COLUMNS + v * VW, GEMM_COLUMNS, count, inverse[v], &sum[v]));
    }
  }
  for (size_t v = 0; v < 2; v++)
    vf_store(packed + v * VW, (vf)(sum[v] * -VEC_INT8_OFFSET));
}

static void gemm_pack_integers(bool transposed, size_t k, size_t n, const float *b, size_t ldb, float *packed) {
  for (size_t j = 0; j < n;
       j += GEMM_COLUMNS, packed += gemm_panel_rows(GEMM_INTEGERS, gemm_integer_words(k)) * GEMM_COLUMNS)
    gemm_pack_integer_panel(transposed, k, linnet_min_size(GEMM_COLUMNS, n - j), b + (transposed ? j * ldb : j), ldb,
                            packed);
}

/* Row i of op(A): a pointer into A, or a copy in `row`. */
static const float *gemm_left_row(const struct linnet_gemm *g, size_t i, size_t from, size_t to, float *row) {
  if (!g->transpose_a)
    return g->a + i * g->lda + from;
  for (size_t p = from; p < to; p++)
    row[p - from] = g->a[p * g->lda + i];
  return row;
}

static struct gemm_left gemm_left_integers(const struct linnet_gemm *g, size_t i, size_t m, size_t from, size_t to,
                                           float *strips) {
  size_t ld = linnet_round_up(gemm_integer_words(to - from), VW); /* whole vectors */
  float row[4 * GEMM_DEPTH], *scales = strips + GEMM_STRIPS * ld;
  for (size_t r = 0; r < m; r++)
    scales[r] = gemm_integer_row(to - from, gemm_left_row(g, i + r, from, to, row), strips + r * ld);
  struct gemm_left left = gemm_left(strips, ld, 1);
  left.kind = ld > 0 ? GEMM_INTEGERS : GEMM_FLOATS; /* with k = 0 nothing was packed, so there are no terms either */
  left.scales = scales;
  return left;
}

static const struct gemm_operands gemm_integers = {GEMM_INTEGERS, 4, gemm_left_integers, gemm_pack_integers,
                                                   gemm_blocks};

GEMM_SLOTS(int8, &gemm_integers)

#endif /* VEC_INT8 */

#endif
