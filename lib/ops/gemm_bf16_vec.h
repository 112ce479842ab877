/* The matrix product with operands rounded to bfloat16 (to nearest, ties to even) and sums in float32: twice as many
 * multiply-adds per instruction. Subnormal operands and products count as zero.
 *
 * A word is a pair of numbers that follow each other along k: the even one is the low half, the odd one the high half.
 * If k is odd, zero completes the last pair. */
#ifndef LINNET_GEMM_BF16_VEC_H
#define LINNET_GEMM_BF16_VEC_H

#include "ops/gemm_vec.h"
#include "ops/vec.h"

#ifdef VEC_BF16

enum { GEMM_PAIR_BAND = VW }; /* words along k that are rounded at a time */

static inline size_t gemm_pairs_of(size_t numbers) {
  return (numbers + 1) / 2;
}

/* From row to row of words in strips: whole vectors. */
static inline size_t gemm_pair_stride(size_t numbers) {
  return linnet_round_up(gemm_pairs_of(numbers), VW);
}

/* Writes words (rows, ceil(k / 2)) from x (rows, k). If there is room in a row after them, writes zeros up to the end
 * of a vector. */
static void gemm_pair_rows(size_t rows, size_t k, const float *x, size_t ldx, float *words, size_t ld) {
  for (size_t i = 0; i < rows; i++, x += ldx, words += ld)
    for (size_t p = 0; p < k; p += 2 * VW)
      vf_store_part(words + p / 2, vf_pairs_along(x + p, k - p), ld - p / 2);
}

/* The pairs of rows p and p + 1 of a (k, n) matrix, for `columns` columns, at most VW. If row p + 1 is beyond k, it
 * counts as zero. */
VEC_INLINE vf gemm_pairs_across(size_t k, size_t p, const float *x, size_t ld, size_t columns) {
  return vf_pairs_across(vf_load_part(x, columns), p + 1 < k ? vf_load_part(x + ld, columns) : vf_set(0));
}

/* Writes panels of `panel` columns (GEMM_COLUMNS or GEMM_ROWS) from the (k, n) matrix `from`. */
VEC_INLINE void gemm_pack_pairs_straight(size_t k, size_t n, const size_t panel, const float *from, size_t ld,
                                         float *to) {
  size_t depth = gemm_pairs_of(k);
  for (size_t p = 0; p < k; p += 2, from += 2 * ld, to += panel)
    for (size_t j = 0; j < n; j += panel)
      for (size_t v = 0; v < panel; v += VW) {
        size_t columns = n > j + v ? n - j - v : 0;
        vf words = gemm_pairs_across(k, p, from + j + v, ld, linnet_min_size(columns, panel - v));
        vf_store_part(to + j * depth + v, words, panel - v);
      }
}

static void gemm_pack_pairs(bool transposed, size_t k, size_t n, const float *b, size_t ldb, float *packed) {
  if (!transposed) {
    gemm_pack_pairs_straight(k, n, GEMM_COLUMNS, b, ldb, packed);
    return;
  }
  float band[GEMM_COLUMNS * GEMM_PAIR_BAND];
  for (size_t j = 0; j < n; j += GEMM_COLUMNS, b += GEMM_COLUMNS * ldb)
    for (size_t p = 0; p < k; p += 2 * GEMM_PAIR_BAND) {
      size_t numbers = linnet_min_size(2 * GEMM_PAIR_BAND, k - p), columns = linnet_min_size(GEMM_COLUMNS, n - j);
      gemm_pair_rows(columns, numbers, b + p, ldb, band, GEMM_PAIR_BAND);
      gemm_pack_transposed(gemm_pairs_of(numbers), columns, band, GEMM_PAIR_BAND, packed);
      packed += gemm_pairs_of(numbers) * GEMM_COLUMNS;
    }
}

static struct gemm_left gemm_left_pairs(const struct linnet_gemm *g, size_t i, size_t m, size_t from, size_t to,
                                        float *strips) {
  size_t k = to - from, depth = gemm_pairs_of(k), ld = gemm_pair_stride(k);
  struct gemm_left left = gemm_left(strips, ld, 1);
  if (g->transpose_a) {
    gemm_pack_pairs_straight(k, m, GEMM_ROWS, g->a + from * g->lda + i, g->lda, strips);
    left = (struct gemm_left){.a = strips, .row = 1, .depth = GEMM_ROWS, .strip = GEMM_ROWS * depth};
  } else {
    gemm_pair_rows(m, k, g->a + i * g->lda + from, g->lda, strips, ld);
  }
  left.kind = GEMM_PAIRS;
  return left;
}

static const struct gemm_operands gemm_pairs = {GEMM_PAIRS, 2, gemm_left_pairs, gemm_pack_pairs, gemm_blocks};

GEMM_SLOTS(bf16, &gemm_pairs)

#endif /* VEC_BF16 */

#endif
