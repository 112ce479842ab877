/* The matrix product, packed and blocked (Goto and van de Geijn 2008; BLIS).
 *
 * The kernels multiply words of 32 bits. A word is a float, a pair of bfloat16 numbers (gemm_bf16_vec.h), or four 8-bit
 * integers (gemm_int8_vec.h); the numbers of a word follow each other along k. op(B) is copied into panels of
 * GEMM_COLUMNS columns, in blocks of at most GEMM_DEPTH words along k:
 *
 *   packed = for each block of depth d: for each panel: (d, GEMM_COLUMNS) words, columns beyond n zero
 *
 * A panel of integers has GEMM_TERMS more rows before the words: the initial values of the sums, and the scales of the
 * columns.
 *
 * A tile of GEMM_ROWS x GEMM_COLUMNS of C stays in registers for a whole block along k. op(A) is read in place
 * (strides: a_row from row to row, a_depth along k), or from strips of rows if it is transposed or its words are not
 * floats.
 *
 * An element of C is a chain of multiply-adds along k per block, and the blocks are added in order. Neither the height
 * of a tile nor the division of C changes this: a row has the same bits for every m, packed or not. */
#ifndef LINNET_GEMM_VEC_H
#define LINNET_GEMM_VEC_H

#include "ops/activation_vec.h"
#include "ops/gemm.h"
#include "ops/vec.h"

#if VW == 16
enum { GEMM_ROWS = 12 };
#elif VW == 8
enum { GEMM_ROWS = 6 };
#elif defined(__aarch64__)
enum { GEMM_ROWS = 12 };
#else
enum { GEMM_ROWS = 4 };
#endif
enum {
  GEMM_COLUMNS = 2 * VW,
  GEMM_DEPTH = 256,  /* words along k in a block: a panel of them stays in L1 while GEMM_HEIGHT rows of A pass */
  GEMM_HEIGHT = 96,  /* multiple of GEMM_ROWS */
  GEMM_WIDTH = 768,  /* columns of B packed at a time, multiple of GEMM_COLUMNS */
  GEMM_STRIPS = 192, /* rows of A packed at a time, multiple of GEMM_HEIGHT */
  GEMM_TERMS = 2,
  GEMM_WORK = (GEMM_DEPTH + GEMM_TERMS) * GEMM_WIDTH + (GEMM_DEPTH + 1) * GEMM_STRIPS + 16
};

/* The content of a word. */
enum gemm_kind { GEMM_FLOATS, GEMM_PAIRS, GEMM_INTEGERS };

/* The number of rows of a panel. */
VEC_INLINE size_t gemm_panel_rows(const enum gemm_kind kind, size_t depth) {
  return depth + (kind == GEMM_INTEGERS ? GEMM_TERMS : 0);
}

/* The number of words along k that are multiplied at a time. */
VEC_INLINE size_t gemm_step(const enum gemm_kind kind) {
  return kind == GEMM_INTEGERS ? VEC_INT8_WORDS : 1;
}

/* The size of the blocks that k is divided into: equal, at most `largest`, and multiples of `step` except the last. */
static inline size_t gemm_block_size(size_t k, size_t largest, size_t step) {
  size_t blocks = linnet_divide_up(k, largest);
  size_t size = blocks ? linnet_divide_up(k, blocks) : 0;
  return linnet_round_up(size, step);
}

/* The offset of the block of packed panels that begins at word p of k, where blocks have `block` words along k and
 * `padded` columns. For the end of k this is the size of the whole. */
VEC_INLINE size_t gemm_block_at(const enum gemm_kind kind, size_t p, size_t block, size_t padded) {
  size_t blocks = block ? linnet_divide_up(p, block) : 0;
  return (p + blocks * gemm_panel_rows(kind, 0)) * padded;
}

/* --- Packing */

/* Transposes a (4, 4) block. */
VEC_INLINE void gemm_transpose4(const float *from, size_t from_ld, float *to, size_t to_ld) {
  typedef float loose __attribute__((vector_size(16), aligned(4), may_alias));
  vf4 r0 = *(const loose *)from, r1 = *(const loose *)(from + from_ld);
  vf4 r2 = *(const loose *)(from + 2 * from_ld), r3 = *(const loose *)(from + 3 * from_ld);
  vf4 t0 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), t1 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  vf4 t2 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7), t3 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  *(loose *)to = __builtin_shufflevector(t0, t1, 0, 1, 4, 5);
  *(loose *)(to + to_ld) = __builtin_shufflevector(t0, t1, 2, 3, 6, 7);
  *(loose *)(to + 2 * to_ld) = __builtin_shufflevector(t2, t3, 0, 1, 4, 5);
  *(loose *)(to + 3 * to_ld) = __builtin_shufflevector(t2, t3, 2, 3, 6, 7);
}

/* to (depth, GEMM_COLUMNS) = from (columns, depth) transposed, columns <= GEMM_COLUMNS; the remaining columns are zero.
 * Runs in bands of 16 steps of depth: a band uses whole cache lines of each row of `from`, and its output stays in L1.
 */
static void gemm_pack_transposed(size_t depth, size_t columns, const float *from, size_t ld, float *to) {
  const size_t panel = GEMM_COLUMNS;
  size_t squares = columns / 4 * 4;
  if (columns < panel)
    memset(to, 0, depth * panel * sizeof(float));
  for (size_t band = 0; band < depth; band += 16) {
    size_t end = linnet_min_size(band + 16, depth), whole = band + (end - band) / 4 * 4;
    for (size_t c = 0; c < squares; c += 4)
      for (size_t d = band; d < whole; d += 4)
        gemm_transpose4(from + c * ld + d, ld, to + d * panel + c, panel);
    for (size_t d = band; d < end; d++)
      for (size_t c = d < whole ? squares : 0; c < columns; c++)
        to[d * panel + c] = from[c * ld + d];
  }
}

/* Writes panels of `panel` columns from the (depth, n) matrix `from`, row by row, so that reads are contiguous. */
VEC_INLINE void gemm_pack_straight(size_t depth, size_t n, const size_t panel, const float *from, size_t ld,
                                   float *to) {
  size_t full = n / panel * panel;
  for (size_t d = 0; d < depth; d++, from += ld, to += panel) {
    for (size_t j = 0; j < full; j += panel)
      memcpy(to + j * depth, from + j, panel * sizeof(float));
    for (size_t j = full; j < n; j++)
      to[full * depth + j - full] = from[j];
    if (n > full)
      memset(to + full * depth + n - full, 0, (full + panel - n) * sizeof(float));
  }
}

/* Writes the panels of the (depth, n) part of op(B) that starts at `b`. */
static void gemm_pack_panels(bool transposed, size_t depth, size_t n, const float *b, size_t ldb, float *packed) {
  if (!transposed)
    gemm_pack_straight(depth, n, GEMM_COLUMNS, b, ldb, packed);
  else
    for (size_t j = 0; j < n; j += GEMM_COLUMNS)
      gemm_pack_transposed(depth, linnet_min_size(GEMM_COLUMNS, n - j), b + j * ldb, ldb, packed + j * depth);
}

static inline size_t gemm_padded(size_t n) {
  return linnet_round_up(n, GEMM_COLUMNS);
}

/* --- One tile */

/* op(A) as tiles read it, in place or in strips: word (i, p) of the tile that starts at row r (a multiple of GEMM_ROWS)
 * is a[r / GEMM_ROWS * strip + i * row + p * depth]. */
struct gemm_left {
  const float *a;
  size_t row, depth, strip;
  enum gemm_kind kind; /* of the words of A and of the panels */
  const float *scales; /* the scale of each row of integers, from the first row on */
};

/* A matrix whose elements are `row` apart from row to row, and `depth` apart along k. */
static inline struct gemm_left gemm_left(const float *a, size_t row, size_t depth) {
  return (struct gemm_left){.a = a, .row = row, .depth = depth, .strip = GEMM_ROWS * row};
}

static inline const float *gemm_row(const struct gemm_left *left, size_t i) {
  return left->a + i / GEMM_ROWS * left->strip + i % GEMM_ROWS * left->row;
}

/* The output: C, and the operations on the sums before they are stored. */
struct gemm_right {
  float *c;
  size_t ldc;
  bool add;                       /* add to C */
  bool prefetch;                  /* the panels that follow: they may be in no cache yet */
  struct linnet_prefetch *others; /* what else to prefetch, or NULL */
  const float *bias;              /* of the first column, or NULL */
  enum linnet_activation activation;
};

/* Applies activations that need more than one instruction, after a tile is stored and while it is in L1. */
static void gemm_activate(enum linnet_activation f, size_t rows, size_t columns, float *c, size_t ldc) {
  for (size_t i = 0; i < rows; i++, c += ldc)
    for (size_t j = 0; j < columns; j += VW)
      vf_store_part(c + j, activation_value(f, vf_load_part(c + j, columns - j)), columns - j);
}

/* Stops the compiler from computing a pointer from others, and from computing the addresses of all rows in advance:
 * they would not fit into registers. */
#define GEMM_FORGET(pointer) __asm__("" : "+r"(pointer))

/* What a tile multiplies and stores. Before it stores its sums, it adds C, adds the bias, and takes the maximum with
 * `floor` (ReLU). */
struct gemm_tile {
  const struct gemm_left *left;
  const float *a;      /* the tile's first row of A, in `left` */
  const float *b;      /* the panel */
  size_t ahead;        /* from a word of the panel to the one that goes into the second-level cache; 0: none */
  const char *other;   /* if `ahead` > 0: memory of which each step fetches a line into the second-level cache */
  size_t depth;        /* along k */
  float *c;            /* (rows of the tile, columns) */
  size_t columns, ldc; /* of C */
  bool add;
  const float *bias; /* or NULL */
  float floor;
  const float *scales; /* the scales of the tile's rows, for integers */
};

/* Stores a row of `vectors` vectors of C; if `partial`, only `last` lanes of the last vector. */
VEC_INLINE void gemm_store_row(const vf *sum, const vf *bias, vf floor, const size_t vectors, const bool partial,
                               size_t last, float *c, bool add) {
  VEC_UNROLL
  for (size_t j = 0; j < vectors; j++, c += VW) {
    size_t n = partial && j + 1 == vectors ? last : VW;
    vf x = sum[j];
    if (add)
      x += n == VW ? vf_load(c) : vf_load_n(c, n);
    x = vf_max(floor, x + bias[j]);
    if (n == VW)
      vf_store(c, x);
    else
      vf_store_n(c, x, n);
  }
}

/* sum + x * y, for gemm_step(kind) words: the products of all their numbers. Sums of integers are integers. */
VEC_INLINE vf gemm_multiply_add(const enum gemm_kind kind, const vf *x, const vf *y, vf sum) {
#ifdef VEC_BF16
  if (kind == GEMM_PAIRS)
    return vf_dot_pairs(*x, *y, sum);
#endif
#ifdef VEC_INT8
  if (kind == GEMM_INTEGERS)
    return vf_dot_integers(x, y, sum);
#endif
  (void)kind;
  return sum + *x * *y;
}

/* The floating-point value of a sum. For integers it needs the scales of the row and the column. */
VEC_INLINE vf gemm_sum_of(const enum gemm_kind kind, vf sum, float row, vf column) {
  return kind == GEMM_INTEGERS ? vf_from((vi)sum) * (column * row) : sum;
}

/* From a word of a panel to the one that goes into the first-level cache. */
enum { GEMM_NEAR = 512 /* words */ };

enum { GEMM_LINE = 64 /* bytes that a processor fetches at once */ };

/* Fetches the row of a panel at `near` into the first-level cache, and that at `far` into the second-level cache. */
VEC_INLINE void gemm_prefetch(const float *near, const float *far) {
  VEC_UNROLL
  for (size_t j = 0; j < GEMM_COLUMNS; j += 16) {
    __builtin_prefetch(near + j, 0, 3);
    __builtin_prefetch(far + j, 0, 2);
  }
}

/* With fewer rows prefetching costs more than it saves; no panel follows a partial one. */
VEC_INLINE bool gemm_may_prefetch(const size_t rows, const bool partial) {
  return rows >= 4 && !partial;
}

/* Adds the products of gemm_step(kind) words along k: `base` has the address in A of every third row, `b` is the row of
 * the panel. */
VEC_INLINE void gemm_tile_step(const struct gemm_tile *t, const enum gemm_kind kind, const size_t rows,
                               const size_t vectors, const bool prefetch, const float *const *base, const float *b,
                               vf (*sum)[2]) {
  const size_t a_row = t->left->row, a_depth = t->left->depth, words = gemm_step(kind);
  vf column[2][2], x[2];
  VEC_UNROLL
  for (size_t w = 0; w < words; w++, b += GEMM_COLUMNS) {
    if (prefetch)
      gemm_prefetch(b + GEMM_NEAR, b + t->ahead);
    VEC_UNROLL
    for (size_t j = 0; j < vectors; j++)
      column[j][w] = vf_load(b + j * VW);
  }
  VEC_UNROLL
  for (size_t i = 0; i < rows; i++) {
    VEC_UNROLL
    for (size_t w = 0; w < words; w++)
      x[w] = vf_set(base[i / 3][i % 3 * a_row + w * a_depth]);
    VEC_UNROLL
    for (size_t j = 0; j < vectors; j++)
      sum[i][j] = gemm_multiply_add(kind, x, column[j], sum[i][j]);
  }
}

/* Adds the products of all words along k. `prefetch` is a constant, so that the loop has no branch for it. */
VEC_INLINE void gemm_tile_steps(const struct gemm_tile *t, const enum gemm_kind kind, const size_t rows,
                                const size_t vectors, const bool prefetch, const float **base, const float *b,
                                vf (*sum)[2]) {
  const size_t step = gemm_step(kind), a_depth = t->left->depth, depth = t->depth;
  const char *other = t->other;
  for (size_t d = 0; d < depth; d += step, b += step * GEMM_COLUMNS) {
    if (prefetch) {
      __builtin_prefetch(other, 0, 2);
      other += GEMM_LINE;
    }
    gemm_tile_step(t, kind, rows, vectors, prefetch, base, b, sum);
    VEC_UNROLL
    for (size_t i = 0; i < rows; i += 3)
      base[i / 3] += step * a_depth;
  }
}

/* The arguments after the first are constants at each inlined call, so that `sum` stays in registers. */
VEC_INLINE void gemm_tile(const struct gemm_tile *t, const enum gemm_kind kind, const size_t rows, const size_t vectors,
                          const bool partial) {
  vf sum[GEMM_ROWS][2], bias[2], column_scale[2];
  const float *b = t->b, *scales = b + GEMM_COLUMNS; /* of the columns */
  const size_t a_row = t->left->row, columns = t->columns, ldc = t->ldc;
  float *c = t->c;
  const float *row = c, *base[(GEMM_ROWS + 2) / 3]; /* address of every third row */
  VEC_UNROLL
  for (size_t i = 0; i < rows; i++, row += ldc) {
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + vectors * VW - 1, 1);
    GEMM_FORGET(row);
    VEC_UNROLL
    for (size_t j = 0; j < vectors; j++)
      sum[i][j] = kind == GEMM_INTEGERS ? vf_load(b + j * VW) : (vf){0};
  }
  b += gemm_panel_rows(kind, 0) * GEMM_COLUMNS;
  VEC_UNROLL
  for (size_t i = 0; i < rows; i += 3) {
    base[i / 3] = t->a + i * a_row;
    GEMM_FORGET(base[i / 3]);
  }
  if (gemm_may_prefetch(rows, partial) && t->ahead > 0)
    gemm_tile_steps(t, kind, rows, vectors, true, base, b, sum);
  else
    gemm_tile_steps(t, kind, rows, vectors, false, base, b, sum);
  size_t last = columns - (vectors - 1) * VW;
  VEC_UNROLL
  for (size_t j = 0; j < vectors; j++) {
    bias[j] = t->bias ? vf_load_part(t->bias + j * VW, columns - j * VW) : vf_set(0);
    column_scale[j] = kind == GEMM_INTEGERS ? vf_load(scales + j * VW) : vf_set(0);
  }
  const vf floor = vf_set(t->floor);
  VEC_UNROLL
  for (size_t i = 0; i < rows; i++, c += ldc) {
    GEMM_FORGET(c);
    VEC_UNROLL
    for (size_t j = 0; j < vectors; j++)
      sum[i][j] = gemm_sum_of(kind, sum[i][j], kind == GEMM_INTEGERS ? t->scales[i] : 1, column_scale[j]);
    gemm_store_row(sum[i], bias, floor, vectors, partial, last, c, t->add);
  }
}

#define GEMM_TILE_OF(name, kind, height)                                                                               \
  static void name(const struct gemm_tile *t) {                                                                        \
    if (t->columns == GEMM_COLUMNS)                                                                                    \
      gemm_tile(t, kind, height, 2, false);                                                                            \
    else if (t->columns > VW)                                                                                          \
      gemm_tile(t, kind, height, 2, true);                                                                             \
    else                                                                                                               \
      gemm_tile(t, kind, height, 1, true);                                                                             \
  }
#ifdef VEC_BF16
#define GEMM_TILE_PAIRS(height) GEMM_TILE_OF(gemm_tile_pairs_##height, GEMM_PAIRS, height)
#define GEMM_PAIRS_SLOT(height) gemm_tile_pairs_##height
#else
#define GEMM_TILE_PAIRS(height)
#define GEMM_PAIRS_SLOT(height) NULL
#endif
#ifdef VEC_INT8
#define GEMM_TILE_INTEGERS(height) GEMM_TILE_OF(gemm_tile_integers_##height, GEMM_INTEGERS, height)
#define GEMM_INTEGERS_SLOT(height) gemm_tile_integers_##height
#else
#define GEMM_TILE_INTEGERS(height)
#define GEMM_INTEGERS_SLOT(height) NULL
#endif
#define GEMM_TILE(height)                                                                                              \
  GEMM_TILE_OF(gemm_tile_##height, GEMM_FLOATS, height)                                                                \
  GEMM_TILE_PAIRS(height)                                                                                              \
  GEMM_TILE_INTEGERS(height)
#define GEMM_TILE_ROW(height)                                                                                          \
  {                                                                                                                    \
    height, {                                                                                                          \
      [GEMM_FLOATS] = gemm_tile_##height, [GEMM_PAIRS] = GEMM_PAIRS_SLOT(height),                                      \
      [GEMM_INTEGERS] = GEMM_INTEGERS_SLOT(height)                                                                     \
    }                                                                                                                  \
  }

typedef void gemm_tile_fn(const struct gemm_tile *t);

#if VW == 16 || defined(__aarch64__)
GEMM_TILE(12)
GEMM_TILE(10)
GEMM_TILE(8)
#elif VW == 8
GEMM_TILE(6)
#endif
GEMM_TILE(4)
GEMM_TILE(2)
GEMM_TILE(1)

/* Tallest first. */
static const struct gemm_tile_row {
  size_t rows;
  gemm_tile_fn *tile[3]; /* by gemm_kind */
} gemm_tiles[] = {
#if VW == 16 || defined(__aarch64__)
    GEMM_TILE_ROW(12), GEMM_TILE_ROW(10), GEMM_TILE_ROW(8),
#elif VW == 8
    GEMM_TILE_ROW(6),
#endif
    GEMM_TILE_ROW(4),  GEMM_TILE_ROW(2),  GEMM_TILE_ROW(1)};

/* The tallest tile with at most `rows` rows; at least 1. */
static const struct gemm_tile_row *gemm_tile_for(size_t rows) {
  const struct gemm_tile_row *tile = gemm_tiles;
  while (tile->rows > rows)
    tile++;
  return tile;
}

/* --- Blocks */

/* The tile of the panel that starts at column j of n, without its rows. */
static inline struct gemm_tile gemm_panel_tile(const struct gemm_left *left, size_t n, size_t j, size_t depth,
                                               const float *panels, const struct gemm_right *to) {
  return (struct gemm_tile){.left = left,
                            .b = panels + j * gemm_panel_rows(left->kind, depth),
                            .depth = depth,
                            .columns = linnet_min_size(GEMM_COLUMNS, n - j),
                            .ldc = to->ldc,
                            .add = to->add,
                            .bias = to->bias ? to->bias + j : NULL,
                            .floor = to->activation == LINNET_RELU ? 0 : -INFINITY,
                            .scales = left->scales};
}

/* Sets what the first tile of a panel of m rows prefetches. If no other memory is left, the panel takes its place, so
 * that both cases have the same loop. */
static inline void gemm_plan_prefetch(struct gemm_tile *t, size_t m, const struct gemm_right *to) {
  const enum gemm_kind kind = t->left->kind;
  if (!to->prefetch || !gemm_may_prefetch(m, t->columns < GEMM_COLUMNS))
    return;
  t->ahead = GEMM_COLUMNS * gemm_panel_rows(kind, t->depth);
  if (to->others)
    t->other = linnet_prefetch_next(to->others, t->depth / gemm_step(kind) * GEMM_LINE);
  if (!t->other)
    t->other = (const char *)t->b;
}

/* n columns of m <= GEMM_HEIGHT rows of C, from one block of k. `left` starts at the first row. */
static void gemm_block(size_t m, size_t n, size_t depth, const struct gemm_left *left, const float *panels,
                       const struct gemm_right *to) {
  enum linnet_activation f = to->activation;
  for (size_t j = 0; j < n; j += GEMM_COLUMNS) {
    struct gemm_tile t = gemm_panel_tile(left, n, j, depth, panels, to);
    const struct gemm_tile_row *tile;
    gemm_plan_prefetch(&t, m, to);
    for (size_t i = 0; i < m; i += tile->rows) {
      tile = gemm_tile_for(m - i);
      t.a = gemm_row(left, i);
      t.c = to->c + i * to->ldc + j;
      tile->tile[left->kind](&t);
      t.ahead = 0;
      if (t.scales)
        t.scales += tile->rows;
      if (f != LINNET_IDENTITY && f != LINNET_RELU)
        gemm_activate(f, tile->rows, t.columns, t.c, t.ldc);
    }
  }
}

/* The same for any number m of rows. */
static void gemm_blocks(size_t m, size_t n, size_t depth, const struct gemm_left *left, const float *panels,
                        const struct gemm_right *to) {
  for (size_t i = 0; i < m; i += GEMM_HEIGHT) {
    struct gemm_left part_left = *left;
    struct gemm_right part_to = *to;
    part_left.a = gemm_row(left, i);
    if (part_left.scales)
      part_left.scales += i;
    part_to.c += i * to->ldc;
    gemm_block(linnet_min_size(GEMM_HEIGHT, m - i), n, depth, &part_left, panels, &part_to);
  }
}

/* --- Products */

/* The functions that convert the operands of a product to words. `from` and `to` are indices of numbers along k. */
struct gemm_operands {
  enum gemm_kind kind;
  size_t numbers; /* in a word */
  /* Rows [i, i + m) of op(A), m <= GEMM_STRIPS; `strips` is scratch of GEMM_STRIPS * (GEMM_DEPTH + 1) words. */
  struct gemm_left (*left)(const struct linnet_gemm *g, size_t i, size_t m, size_t from, size_t to, float *strips);
  /* Panels of the (k, n) part of op(B) that starts at `b`. */
  void (*panels)(bool transposed, size_t k, size_t n, const float *b, size_t ldb, float *packed);
  /* n columns of m rows of C, from one block of k, as gemm_blocks. */
  void (*blocks)(size_t m, size_t n, size_t depth, const struct gemm_left *left, const float *panels,
                 const struct gemm_right *to);
};

/* The number of words for k numbers. */
static size_t gemm_words(const struct gemm_operands *operands, size_t k) {
  return linnet_round_up(linnet_divide_up(k, operands->numbers), gemm_step(operands->kind));
}

/* The number of words along k in a block. */
static size_t gemm_depth(const struct gemm_operands *operands, size_t k) {
  return gemm_block_size(gemm_words(operands, k), GEMM_DEPTH, 4);
}

static size_t gemm_pack_size(const struct gemm_operands *operands, size_t k, size_t n) {
  return gemm_block_at(operands->kind, gemm_words(operands, k), gemm_depth(operands, k), gemm_padded(n));
}

static void gemm_pack(const struct gemm_operands *operands, bool transpose_b, size_t k, size_t n, const float *b,
                      size_t ldb, float *packed) {
  size_t depth = gemm_depth(operands, k), block = depth * operands->numbers;
  for (size_t p = 0; p < k; p += block)
    operands->panels(transpose_b, linnet_min_size(block, k - p), n, b + (transpose_b ? p : p * ldb), ldb,
                     packed + gemm_block_at(operands->kind, p / operands->numbers, depth, gemm_padded(n)));
}

static float *gemm_align(float *work) {
  return linnet_align_up(work, 64);
}

static void gemm_multiply(const struct gemm_operands *operands, const struct linnet_gemm *g, float *work) {
  float *scratch = gemm_align(work), *strips = scratch + (GEMM_DEPTH + GEMM_TERMS) * GEMM_WIDTH;
  size_t width = g->b ? gemm_block_size(g->n, GEMM_WIDTH, GEMM_COLUMNS) : g->n, numbers = operands->numbers;
  size_t block = gemm_depth(operands, g->k), padded = gemm_padded(g->n);
  for (size_t j = 0; j < g->n; j += width) {
    size_t n = linnet_min_size(width, g->n - j), p = 0;
    do {
      size_t end = linnet_min_size(p + block * numbers, g->k), depth = gemm_words(operands, end - p);
      const float *panels = scratch;
      if (g->b)
        operands->panels(g->transpose_b, end - p, n, g->b + (g->transpose_b ? j * g->ldb + p : p * g->ldb + j), g->ldb,
                         scratch);
      else
        panels = g->packed + gemm_block_at(operands->kind, p / numbers, block, padded) +
                 j * gemm_panel_rows(operands->kind, depth);
      struct gemm_right to = {.ldc = g->ldc, .add = g->accumulate || p > 0, .prefetch = !g->b, .others = g->prefetch};
      if (end == g->k) {
        to.bias = g->bias ? g->bias + j : NULL;
        to.activation = g->activation;
      }
      for (size_t i = 0; i < g->m; i += GEMM_STRIPS) {
        size_t m = linnet_min_size(GEMM_STRIPS, g->m - i);
        struct gemm_left left = operands->left(g, i, m, p, end, strips);
        to.c = g->c + i * g->ldc + j;
        operands->blocks(m, n, depth, &left, panels, &to);
      }
      p = end;
    } while (p < g->k);
  }
}

/* --- Floats */

static struct gemm_left gemm_left_floats(const struct linnet_gemm *g, size_t i, size_t m, size_t from, size_t to,
                                         float *strips) {
  size_t depth = to - from;
  if (!g->transpose_a)
    return gemm_left(g->a + i * g->lda + from, g->lda, 1);
  gemm_pack_straight(depth, m, GEMM_ROWS, g->a + from * g->lda + i, g->lda, strips);
  return (struct gemm_left){.a = strips, .row = 1, .depth = GEMM_ROWS, .strip = GEMM_ROWS * depth};
}

static const struct gemm_operands gemm_floats = {GEMM_FLOATS, 1, gemm_left_floats, gemm_pack_panels, gemm_blocks};

#define GEMM_PRODUCT(suffix, operands)                                                                                 \
  static void gemm_##suffix(const struct linnet_gemm *g, float *work) {                                                \
    gemm_multiply(operands, g, work);                                                                                  \
  }

/* The functions of the op table for products, for one kind of words. */
#define GEMM_SLOTS(suffix, operands)                                                                                   \
  static size_t pack_b_size_##suffix(size_t k, size_t n) {                                                             \
    return gemm_pack_size(operands, k, n);                                                                             \
  }                                                                                                                    \
  static void pack_b_##suffix(bool transpose_b, size_t k, size_t n, const float *b, size_t ldb, float *packed) {       \
    gemm_pack(operands, transpose_b, k, n, b, ldb, packed);                                                            \
  }                                                                                                                    \
  GEMM_PRODUCT(suffix, operands)

GEMM_SLOTS(vec, &gemm_floats)

#endif
