/* The products of gemm_bf16_vec.h and gemm_int8_vec.h with the matrix instructions of x86 (Advanced Matrix Extensions).
 *
 * Such an instruction multiplies two tiles of at most 16 rows of 64 bytes. A tile of A is 16 words of 16 rows, as they
 * are in the strips; a tile of B is 16 words of 16 columns, as they are in the panels. The sums of at most 32 rows and
 * a panel are four tiles: of bfloat16 in float32, of integers in 32 bits. Sums of integers are exact, so they are the
 * same as those of the vector kernels; sums of bfloat16 are rounded in another order. */
#ifndef LINNET_GEMM_AMX_VEC_H
#define LINNET_GEMM_AMX_VEC_H

#include "ops/gemm_bf16_vec.h"
#include "ops/gemm_int8_vec.h"

#ifdef LINNET_AMX

enum { AMX_ROWS = 16, AMX_WORDS = 16 /* of a row of a tile */, AMX_HEIGHT = 2 * AMX_ROWS };

/* The tiles by their numbers, which the instructions need as literals: sums (two of rows, two of columns), A, B. */
#define AMX_SUM_00 0
#define AMX_SUM_01 1
#define AMX_SUM_10 2
#define AMX_SUM_11 3
#define AMX_A_0 4
#define AMX_A_1 5
#define AMX_B_0 6
#define AMX_B_1 7

/* Everything that `address` points to is in memory. GCC 12 does not know that the instructions for tiles read it. */
#define AMX_WRITTEN(address) __asm__ volatile("" : : "r"(address) : "memory")

/* The shape of all tiles: AMX_ROWS rows of AMX_WORDS words. Others would save work where there are fewer rows of A, but
 * loading a configuration takes as long as several products of tiles. */
static const struct {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} amx_configuration = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

#define AMX_MULTIPLY_ADD(kind, sum, left, right)                                                                       \
  do {                                                                                                                 \
    if ((kind) == GEMM_PAIRS)                                                                                          \
      _tile_dpbf16ps(sum, left, right);                                                                                \
    else                                                                                                               \
      _tile_dpbusd(sum, left, right);                                                                                  \
  } while (0)

/* What a product of tiles reads. */
struct amx_operands {
  const float *a;
  size_t row; /* from row to row of A, in words */
  const float *b;
  size_t depth;      /* along k */
  const float *last; /* the words of B after the last whole tile, and zeros */
};

/* sums (rows, GEMM_COLUMNS) = A B, of AMX_ROWS rows, or of AMX_HEIGHT if `lower`. */
VEC_INLINE void amx_sums(const enum gemm_kind kind, const bool lower, const struct amx_operands *p, float *sums) {
  const int row = (int)(4 * p->row), column = 4 * GEMM_COLUMNS; /* in bytes */
  _tile_zero(AMX_SUM_00);
  _tile_zero(AMX_SUM_01);
  if (lower) {
    _tile_zero(AMX_SUM_10);
    _tile_zero(AMX_SUM_11);
  }
  for (size_t d = 0; d < p->depth; d += AMX_WORDS) {
    const float *b = d + AMX_WORDS <= p->depth ? p->b + d * GEMM_COLUMNS : p->last;
    _tile_loadd(AMX_B_0, b, column);
    _tile_loadd(AMX_A_0, p->a + d, row);
    AMX_MULTIPLY_ADD(kind, AMX_SUM_00, AMX_A_0, AMX_B_0);
    _tile_loadd(AMX_B_1, b + AMX_WORDS, column);
    AMX_MULTIPLY_ADD(kind, AMX_SUM_01, AMX_A_0, AMX_B_1);
    if (lower) {
      _tile_loadd(AMX_A_1, p->a + AMX_ROWS * p->row + d, row);
      AMX_MULTIPLY_ADD(kind, AMX_SUM_10, AMX_A_1, AMX_B_0);
      AMX_MULTIPLY_ADD(kind, AMX_SUM_11, AMX_A_1, AMX_B_1);
    }
  }
  _tile_stored(AMX_SUM_00, sums, column);
  _tile_stored(AMX_SUM_01, sums + AMX_WORDS, column);
  if (lower) {
    _tile_stored(AMX_SUM_10, sums + AMX_ROWS * GEMM_COLUMNS, column);
    _tile_stored(AMX_SUM_11, sums + AMX_ROWS * GEMM_COLUMNS + AMX_WORDS, column);
  }
}

/* Stores `rows` rows of C from their sums. */
VEC_INLINE void amx_store(const enum gemm_kind kind, const struct gemm_tile *t, size_t rows, const float *sums) {
  const float *scales = t->b + GEMM_COLUMNS; /* of the columns */
  const size_t vectors = t->columns > VW ? 2 : 1, last = t->columns - (vectors - 1) * VW;
  const vf floor = vf_set(t->floor);
  vf bias[2], scale[2], initial[2];
  for (size_t j = 0; j < 2; j++) {
    bias[j] = t->bias && j < vectors ? vf_load_part(t->bias + j * VW, t->columns - j * VW) : vf_set(0);
    initial[j] = kind == GEMM_INTEGERS ? vf_load(t->b + j * VW) : vf_set(0);
    scale[j] = kind == GEMM_INTEGERS ? vf_load(scales + j * VW) : vf_set(0);
  }
  for (size_t i = 0; i < rows; i++) {
    vf sum[2];
    VEC_UNROLL
    for (size_t j = 0; j < 2; j++) {
      sum[j] = vf_load(sums + i * GEMM_COLUMNS + j * VW);
      if (kind == GEMM_INTEGERS)
        sum[j] = gemm_sum_of(kind, (vf)((vi)sum[j] + (vi)initial[j]), t->scales[i], scale[j]);
    }
    float *c = t->c + i * t->ldc;
    if (t->columns == GEMM_COLUMNS)
      gemm_store_row(sum, bias, floor, 2, false, last, c, t->add);
    else if (vectors == 2)
      gemm_store_row(sum, bias, floor, 2, true, last, c, t->add);
    else
      gemm_store_row(sum, bias, floor, 1, true, last, c, t->add);
  }
}

/* m rows of a panel of C, from its first row `c` on. Reads up to AMX_HEIGHT - 1 rows of the strips after the last. */
VEC_INLINE void amx_panel(const enum gemm_kind kind, size_t m, struct gemm_tile *t, enum linnet_activation f,
                          float *c) {
  float sums[AMX_HEIGHT * GEMM_COLUMNS] __attribute__((aligned(64)));
  float last[AMX_WORDS * GEMM_COLUMNS] __attribute__((aligned(64)));
  const size_t whole = t->depth / AMX_WORDS * AMX_WORDS;
  struct amx_operands p = {.row = t->left->row, .b = t->b + gemm_panel_rows(kind, 0) * GEMM_COLUMNS, .depth = t->depth};
  if (whole < t->depth) {
    memset(last, 0, sizeof last);
    memcpy(last, p.b + whole * GEMM_COLUMNS, (t->depth - whole) * GEMM_COLUMNS * sizeof(float));
    p.last = last;
  }
  for (size_t i = 0, rows; i < m; i += rows) {
    rows = linnet_min_size(m - i, AMX_HEIGHT);
    p.a = gemm_row(t->left, i);
    AMX_WRITTEN(&p);
    if (rows > AMX_ROWS)
      amx_sums(kind, true, &p, sums);
    else
      amx_sums(kind, false, &p, sums);
    t->c = c + i * t->ldc;
    t->scales = kind == GEMM_INTEGERS ? t->left->scales + i : NULL;
    amx_store(kind, t, rows, sums);
    if (f != LINNET_IDENTITY && f != LINNET_RELU)
      gemm_activate(f, rows, t->columns, t->c, t->ldc);
  }
}

/* As gemm_blocks. The rows of A have a multiple of AMX_WORDS words. */
VEC_INLINE void amx_blocks(const enum gemm_kind kind, size_t m, size_t n, size_t depth, const struct gemm_left *left,
                           const float *panels, const struct gemm_right *to) {
  const bool few = kind == GEMM_INTEGERS && m <= AMX_ROWS / 2; /* for which vectors are faster, with the same results */
  if (few || left->kind != kind) {                             /* or k = 0 */
    gemm_blocks(m, n, depth, left, panels, to);
    return;
  }
  _tile_loadconfig(&amx_configuration);
  for (size_t i = 0; i < m; i += GEMM_HEIGHT) {
    struct gemm_left part = *left;
    part.a = gemm_row(left, i);
    part.scales = left->scales ? left->scales + i : NULL;
    for (size_t j = 0; j < n; j += GEMM_COLUMNS) {
      struct gemm_tile t = gemm_panel_tile(&part, n, j, depth, panels, to);
      amx_panel(kind, linnet_min_size(m - i, GEMM_HEIGHT), &t, to->activation, to->c + i * to->ldc + j);
    }
  }
  _tile_release(); /* so that the system need not keep the tiles of this thread */
}

static void amx_blocks_bf16(size_t m, size_t n, size_t depth, const struct gemm_left *left, const float *panels,
                            const struct gemm_right *to) {
  amx_blocks(GEMM_PAIRS, m, n, depth, left, panels, to);
}

static void amx_blocks_int8(size_t m, size_t n, size_t depth, const struct gemm_left *left, const float *panels,
                            const struct gemm_right *to) {
  amx_blocks(GEMM_INTEGERS, m, n, depth, left, panels, to);
}

/* As gemm_left_pairs, but the words of a row follow each other if A is transposed, too. */
static struct gemm_left amx_left_pairs(const struct linnet_gemm *g, size_t i, size_t m, size_t from, size_t to,
                                       float *strips) {
  if (!g->transpose_a)
    return gemm_left_pairs(g, i, m, from, to, strips);
  const size_t k = to - from, ld = gemm_pair_stride(k);
  float band[AMX_WORDS * VW];
  for (size_t r = 0; r < m; r += VW)
    for (size_t p = 0; p < ld; p += AMX_WORDS) {
      for (size_t w = 0; w < AMX_WORDS; w++) {
        const size_t number = 2 * (p + w);
        vf words = vf_set(0);
        if (number < k)
          words = gemm_pairs_across(k, number, g->a + (from + number) * g->lda + i + r, g->lda, m - r);
        vf_store(band + w * VW, words);
      }
      for (size_t w = 0; w < AMX_WORDS; w += 4)
        for (size_t v = 0; v < VW; v += 4)
          gemm_transpose4(band + w * VW + v, VW, strips + (r + v) * ld + p + w, ld);
    }
  struct gemm_left left = gemm_left(strips, ld, 1);
  left.kind = GEMM_PAIRS;
  return left;
}

static const struct gemm_operands amx_pairs = {GEMM_PAIRS, 2, amx_left_pairs, gemm_pack_pairs, amx_blocks_bf16};
static const struct gemm_operands amx_integers = {GEMM_INTEGERS, 4, gemm_left_integers, gemm_pack_integers,
                                                  amx_blocks_int8};

GEMM_PRODUCT(amx_bf16, &amx_pairs)
GEMM_PRODUCT(amx_int8, &amx_integers)

#endif /* LINNET_AMX */

#endif
