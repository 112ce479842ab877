/* Products of tiles in shared memory, which all kinds of attention consist of. A block has 256 threads as 16 x 16;
 * thread (i, j) has rows i + 16 r and columns j + 16 n of a product, so that with odd leading dimensions no two lanes
 * read different words of one bank, whichever way an operand lies. Products are summed in float32 with fused
 * multiply-adds. */
#ifndef LINNET_CUDA_TILE_H
#define LINNET_CUDA_TILE_H

#include "backend/cuda/kernel.h"

enum {
  TILE_THREADS = 256,
  TILE_ROWS = 64,
  TILE_COLUMNS = 32,
  TILE_LD = TILE_COLUMNS + 1, /* of operands */
  WEIGHT_LD = TILE_ROWS + 1,  /* of weights: a matrix of rows against rows */
  TILE_SIZE = TILE_ROWS * TILE_LD,
  WEIGHT_SIZE = TILE_ROWS * WEIGHT_LD,
  PIECE_TILES = LINNET_CUDA_PIECE / TILE_ROWS
};

static __device__ __forceinline__ int tile_row(int r) {
  return (int)threadIdx.x / 16 + 16 * r;
}

static __device__ __forceinline__ int tile_column(int n) {
  return (int)threadIdx.x % 16 + 16 * n;
}

/* (16 R, 16 N), spread over the block. */
template <int R, int N> struct tile { float x[R][N]; };

/* y(i, j) += sum over k < DEPTH of a(i, k) b(k, j), where a(i, k) = a[i * AI + k * AK] and b(k, j) = b[k * BK + j *
 * BJ].
 */
template <int DEPTH, int AI, int AK, int BK, int BJ, int R, int N>
static __device__ __forceinline__ void tile_multiply(tile<R, N> *y, const float *a, const float *b) {
#pragma unroll 8
  for (int k = 0; k < DEPTH; k++) {
    float left[R], right[N];
    for (int r = 0; r < R; r++)
      left[r] = a[tile_row(r) * AI + k * AK];
    for (int n = 0; n < N; n++)
      right[n] = b[k * BK + tile_column(n) * BJ];
    for (int r = 0; r < R; r++)
      for (int n = 0; n < N; n++)
        y->x[r][n] = fmaf(left[r], right[n], y->x[r][n]);
  }
}

/* A matrix (T, heads * width) whose rows are operands, perhaps after phi(x) = elu(x) + 1 and times a number per row. */
struct operand {
  const float *x;
  size_t ld, width;
  bool elu;
  const float *scale; /* (heads, T) or NULL */
};

static inline operand operand_of(const float *x, size_t ld, size_t width, bool elu, const float *scale) {
  const operand o = {x, ld, width, elu, scale};
  return o;
}

static __device__ __forceinline__ float elu_map(float x) {
  return x > 0 ? x + 1 : expf(x);
}

/* Rows of a head: the batch's rows first ... first + rows - 1, or those that `index` names. */
struct tile_rows {
  size_t frames, head, first;
  int rows;
  const uint32_t *index; /* (rows) or NULL */
};

static __device__ __forceinline__ size_t frame_of(const tile_rows &t, int row) {
  return t.index ? t.index[row] : t.first + row;
}

/* Columns from `column` on to `to` (TILE_ROWS, TILE_LD); zeros beyond rows and width. */
static __device__ __forceinline__ void load_tile(const operand &o, const tile_rows &t, size_t column, float *to) {
  const int lane = (int)threadIdx.x % TILE_COLUMNS;
  const bool inside = column + lane < o.width;
  const float *x = o.x + t.head * o.width + column + lane;
#pragma unroll
  for (int row = (int)threadIdx.x / TILE_COLUMNS; row < TILE_ROWS; row += TILE_THREADS / TILE_COLUMNS) {
    float value = 0;
    if (inside && row < t.rows) {
      const size_t frame = frame_of(t, row);
      value = x[frame * o.ld];
      value = o.elu ? elu_map(value) : value;
      value = o.scale ? value * o.scale[t.head * t.frames + frame] : value;
    }
    to[row * TILE_LD + lane] = value;
  }
}

/* y(i, j) += x_i . a_j over all columns. `room` holds two tiles; all threads have passed a barrier since it was last
 * read, and pass one before it returns. */
static __device__ __forceinline__ void multiply_rows(tile<4, 4> *y, const operand &x, const tile_rows &i,
                                                     const operand &a, const tile_rows &j, float *room) {
  for (size_t k = 0; k < x.width; k += TILE_COLUMNS) {
    load_tile(x, i, k, room);
    load_tile(a, j, k, room + TILE_SIZE);
    __syncthreads();
    tile_multiply<TILE_COLUMNS, TILE_LD, 1, 1, TILE_LD>(y, room, room + TILE_SIZE);
    __syncthreads();
  }
}

/* y (64, 32) += weights (64, 64) times rows j of b, columns from `column` on. Barriers as above; the caller has passed
 * none since it wrote the weights. */
static __device__ __forceinline__ void multiply_weights(tile<4, 2> *y, const float *weights, const operand &b,
                                                        const tile_rows &j, size_t column, float *room) {
  load_tile(b, j, column, room);
  __syncthreads();
  tile_multiply<TILE_ROWS, WEIGHT_LD, 1, TILE_LD, 1>(y, weights, room);
  __syncthreads();
}

/* What goes over a row of weights: four lanes have a row, each a quarter of the columns. */
static __device__ __forceinline__ int quad_row() {
  return (int)threadIdx.x / 4;
}

static __device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(LINNET_ALL_LANES, x, 1);
  return x + __shfl_xor_sync(LINNET_ALL_LANES, x, 2);
}

static __device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(LINNET_ALL_LANES, x, 1));
  return fmaxf(x, __shfl_xor_sync(LINNET_ALL_LANES, x, 2));
}

/* The tile of a piece that block x has: PIECE_TILES blocks go over a piece. rows <= 0: nothing is left for it. */
static __device__ __forceinline__ tile_rows block_tile(const struct linnet_cuda_pack &p, size_t head) {
  const struct linnet_cuda_piece piece = p.table[blockIdx.x / PIECE_TILES];
  const int skipped = (int)(blockIdx.x % PIECE_TILES) * TILE_ROWS, rows = (int)piece.rows - skipped;
  const tile_rows t = {p.rows, head, piece.first + (size_t)skipped, rows < TILE_ROWS ? rows : TILE_ROWS, nullptr};
  return t;
}

static __device__ __forceinline__ tile_rows rows_from(const tile_rows &like, size_t first, size_t end) {
  const tile_rows t = {like.frames, like.head, first, (int)smaller(end - first, TILE_ROWS), nullptr};
  return t;
}

static inline unsigned column_tiles(size_t width) {
  return (unsigned)((width + TILE_COLUMNS - 1) / TILE_COLUMNS);
}

#endif
