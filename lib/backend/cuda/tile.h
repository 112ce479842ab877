/* Products of tiles in shared memory; all kinds of attention consist of them. A block has 256 threads: 8 warps, 2 along
 * the rows and 4 along the columns of a product. Each lane has the elements that tensor cores assign to it, also when
 * the product does not use tensor cores. Operands are floats. Their leading dimensions are 1 mod 32, so that lanes read
 * different banks whether an operand is transposed or not. Sums are float32. */
#ifndef LINNET_CUDA_TILE_H
#define LINNET_CUDA_TILE_H

#include "backend/cuda/tensor_core.h"

enum {
  TILE_THREADS = 256,
  TILE_BLOCKS = 2, /* blocks that fit into a multiprocessor: 128 registers per thread */
  TILE_ROWS = 64,
  TILE_COLUMNS = 32,
  TILE_LD = TILE_COLUMNS + 1, /* of operands */
  WEIGHT_LD = TILE_ROWS + 1,  /* of weights, a matrix of rows against rows */
  TILE_SIZE = TILE_ROWS * TILE_LD,
  WEIGHT_SIZE = TILE_ROWS * WEIGHT_LD,
  PIECE_TILES = LINNET_CUDA_PIECE / TILE_ROWS
};

/* A (16 R, 16 N) tile, distributed over the threads of the block; R and N are even. */
template <int R, int N> struct tile {
  float x[R][N];

  static __device__ __forceinline__ int first_row() { return (int)threadIdx.x / 128 * 8 * R; }
  static __device__ __forceinline__ int first_column() { return (int)threadIdx.x / 32 % 4 * 4 * N; } /* of the warp */

  /* Row and column of x[r][n]. */
  static __device__ __forceinline__ int row(int r) { return first_row() + 8 * r + (int)threadIdx.x % 32 / 4; }
  static __device__ __forceinline__ int column(int n) {
    return first_column() + n / 2 * 8 + 2 * ((int)threadIdx.x % 4) + n % 2;
  }
};

template <int DEPTH, int AI, int AK, int BK, int BJ, int R, int N>
static __device__ __forceinline__ void multiply_floats(tile<R, N> *y, const float *a, const float *b) {
#pragma unroll 8
  for (int k = 0; k < DEPTH; k++) {
    float left[R], right[N];
    for (int r = 0; r < R; r++)
      left[r] = a[y->row(r) * AI + k * AK];
    for (int n = 0; n < N; n++)
      right[n] = b[k * BK + y->column(n) * BJ];
    for (int r = 0; r < R; r++)
      for (int n = 0; n < N; n++)
        y->x[r][n] = fmaf(left[r], right[n], y->x[r][n]);
  }
}

/* Tensor cores sum over k in steps of 8 PACKED. The order of k within 32 is free if a and b use the same one. Lane t of
 * a quad takes k = 8 t ... 8 t + 7, so that the lanes read different banks. */
template <class P, int DEPTH, int AI, int AK, int BK, int BJ, int R, int N>
static __device__ __forceinline__ void multiply_fragments(tile<R, N> *y, const float *a, const float *b) {
  const int lane = (int)threadIdx.x % 32;
  a += y->row(0) * AI + 8 * (lane % 4) * AK;
  b += (y->first_column() + lane / 4) * BJ + 8 * (lane % 4) * BK;
#pragma unroll
  for (int step = 0; step < DEPTH / 4; step += 2 * P::PACKED) {
    uint32_t left[R / 2][4], right[N / 2][2];
#pragma unroll
    for (int part = 0; part < 2; part++) {
      const int k = step / 8 * 32 + step % 8 + part * P::PACKED;
      for (int r = 0; r < R; r++)
        left[r / 2][2 * part + r % 2] = packed<AK>(P(), a + 8 * r * AI + k * AK);
      for (int n = 0; n < N / 2; n++)
        right[n][part] = packed<BK>(P(), b + k * BK + 8 * n * BJ);
    }
    for (int r = 0; r < R; r += 2)
      for (int n = 0; n < N; n += 2)
        mma<P>(y->x[r] + n, y->x[r + 1] + n, left[r / 2], right[n / 2]);
  }
}

/* y(i, j) += sum over k < DEPTH of a(i, k) b(k, j), where a(i, k) = a[i * AI + k * AK] and b(k, j) = b[k * BK + j *
 * BJ]. DEPTH is a multiple of 32. */
template <class P, int DEPTH, int AI, int AK, int BK, int BJ, int R, int N>
static __device__ __forceinline__ void tile_multiply(tile<R, N> *y, const float *a, const float *b) {
  if constexpr (LINNET_TENSOR_CORES && P::PACKED > 0)
    multiply_fragments<P, DEPTH, AI, AK, BK, BJ>(y, a, b);
  else
    multiply_floats<DEPTH, AI, AK, BK, BJ>(y, a, b);
}

/* A matrix (T, heads * width) whose rows are operands, optionally mapped by phi(x) = elu(x) + 1 and multiplied by a
 * number per row. */
template <class T> struct operand {
  const T *x;
  size_t ld, width;
  bool elu;
  const float *scale; /* (heads, T) or NULL */
};

template <class T>
static inline operand<T> operand_of(const T *x, size_t ld, size_t width, bool elu, const float *scale) {
  return operand<T>{x, ld, width, elu, scale};
}

static __device__ __forceinline__ float elu_map(float x) {
  return x > 0 ? x + 1 : expf(x);
}

/* Rows of a head: the rows first ... first + rows - 1 of the batch, or those that `index` names. */
struct tile_rows {
  size_t frames, head, first;
  int rows;
  const uint32_t *index; /* (rows) or NULL */
};

static __device__ __forceinline__ size_t frame_of(const tile_rows &t, int row) {
  return t.index ? t.index[row] : t.first + row;
}

/* The position of a column in a row of weights. Columns are permuted so that the lanes of a warp, which write eight
 * rows and four pairs of columns at a time, write to different banks. The matrix that is multiplied by the weights has
 * its rows in the same order. */
static __device__ __forceinline__ int weight_position(int column) {
  return (column & ~31) | (column >> 1 & 3) << 3 | (column >> 3 & 3) << 1 | (column & 1);
}

/* Loads the columns from `column` on to `to` (TILE_ROWS, TILE_LD), with zeros outside the matrix. All reads come before
 * the first write, so that they do not wait for each other. */
template <bool BY_WEIGHTS = false, class T>
static __device__ __forceinline__ void load_tile(const operand<T> &o, const tile_rows &t, size_t column, float *to) {
  enum { EACH = TILE_ROWS * TILE_COLUMNS / TILE_THREADS, APART = TILE_THREADS / TILE_COLUMNS };
  const int lane = (int)threadIdx.x % TILE_COLUMNS, first = (int)threadIdx.x / TILE_COLUMNS;
  const bool inside = column + lane < o.width;
  const T *x = o.x + t.head * o.width + column + lane;
  float value[EACH], scale[EACH];
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const int row = first + i * APART;
    const bool there = inside && row < t.rows;
    const size_t frame = there ? frame_of(t, row) : 0;
    value[i] = there ? widen(x[frame * o.ld]) : 0;
    scale[i] = there && o.scale ? o.scale[t.head * t.frames + frame] : 1;
  }
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const int row = first + i * APART;
    const float mapped = o.elu ? elu_map(value[i]) : value[i];
    const int position = BY_WEIGHTS ? weight_position(row) : row;
    to[position * TILE_LD + lane] = inside && row < t.rows ? mapped * scale[i] : 0;
  }
}

/* y(i, j) += x_i . a_j over all columns. `scratch` holds two tiles. Before the call, all threads have passed a
 * barrier since the last read of `scratch`; the function ends with a barrier. */
template <class P, class T>
static __device__ __forceinline__ void multiply_rows(tile<4, 4> *y, const operand<T> &x, const tile_rows &i,
                                                     const operand<T> &a, const tile_rows &j, float *scratch) {
  for (size_t k = 0; k < x.width; k += TILE_COLUMNS) {
    load_tile(x, i, k, scratch);
    load_tile(a, j, k, scratch + TILE_SIZE);
    __syncthreads();
    tile_multiply<P, TILE_COLUMNS, TILE_LD, 1, 1, TILE_LD>(y, scratch, scratch + TILE_SIZE);
    __syncthreads();
  }
}

/* y (64, 32) += weights (64, 64) times rows j of b, columns from `column` on. Barriers as above, except that none is
 * needed between writing the weights and the call. */
template <class P, class T>
static __device__ __forceinline__ void multiply_weights(tile<4, 2> *y, const float *weights, const operand<T> &b,
                                                        const tile_rows &j, size_t column, float *scratch) {
  load_tile<true>(b, j, column, scratch);
  __syncthreads();
  tile_multiply<P, TILE_ROWS, WEIGHT_LD, 1, TILE_LD, 1>(y, weights, scratch);
  __syncthreads();
}

/* For loops over a row of weights: four lanes share a row, and each has a quarter of its columns. */
static __device__ __forceinline__ int quad_row() {
  return (int)threadIdx.x / 4;
}

/* Column i of a lane's quarter. The lanes of a warp read different banks. */
static __device__ __forceinline__ int quad_column(int i) {
  return i / 8 * 32 + 8 * ((int)threadIdx.x % 4) + i % 8;
}

static __device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(LINNET_ALL_LANES, x, 1);
  return x + __shfl_xor_sync(LINNET_ALL_LANES, x, 2);
}

static __device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(LINNET_ALL_LANES, x, 1));
  return fmaxf(x, __shfl_xor_sync(LINNET_ALL_LANES, x, 2));
}

/* The tile that block x processes; PIECE_TILES blocks share a piece. rows <= 0: the piece has no rows for this block.
 */
static __device__ __forceinline__ tile_rows block_tile(const struct linnet_cuda_pack &p, size_t head) {
  const struct linnet_cuda_piece piece = p.table[blockIdx.x / PIECE_TILES];
  const int skipped = (int)(blockIdx.x % PIECE_TILES) * TILE_ROWS, rows = (int)piece.rows - skipped;
  const tile_rows t = {p.rows, head, piece.first + (size_t)skipped, rows < TILE_ROWS ? rows : TILE_ROWS, nullptr};
  return t;
}

static __device__ __forceinline__ tile_rows rows_from(const tile_rows &like, size_t first, size_t end) {
  const tile_rows t = {like.frames, like.head, first, (int)linnet_min_size(end - first, TILE_ROWS), nullptr};
  return t;
}

static inline unsigned column_tiles(size_t width) {
  return (unsigned)linnet_divide_up(width, TILE_COLUMNS);
}

/* --- softmax over tiles of keys ----------------------------------------------------------------------------------- */

/* With a running maximum and sum (Milakov, Gimelshein 2018). Four lanes (a quad) process a row. */

struct running_softmax {
  float largest, sum;
};

/* Replaces scores by exp(score - largest). Returns the factor for earlier sums. A row may have seen no key yet. */
static __device__ __forceinline__ float exponentials(running_softmax *row, float *weights) {
  float *own = weights + quad_row() * WEIGHT_LD, largest = row->largest, sum = 0;
  for (int i = 0; i < TILE_ROWS / 4; i++)
    largest = fmaxf(largest, own[quad_column(i)]);
  largest = quad_max(largest);
  const float from = largest == -INFINITY ? 0 : largest;
  for (int i = 0; i < TILE_ROWS / 4; i++)
    sum += own[quad_column(i)] = expf(own[quad_column(i)] - from);
  const float shrink = expf(row->largest - from);
  row->sum = row->sum * shrink + quad_sum(sum);
  row->largest = largest;
  return shrink;
}

/* Multiplies each row of y by its number, which the first lane of each quad passes. */
static __device__ __forceinline__ void scale_rows(float by, tile<4, 2> *y, float *shared) {
  if (threadIdx.x % 4 == 0)
    shared[quad_row()] = by;
  __syncthreads();
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++)
      y->x[r][n] *= shared[y->row(r)];
}

#endif
