/* Matrix products where cuBLASLt is not there: float32, 64 x 64 of C to a block. Bias and activation are part of it. */
#include "backend/cuda/activation_value.h"
#include "backend/cuda/tile.h"

namespace {

/* op(X) as rows of a tile: element (row, k) of the (rows, depth) matrix; stored transposed: at x[k * ld + row]. */
struct factor {
  const float *x;
  size_t ld, rows, depth;
  bool transposed;
};

/* Rows first ..., columns k ... into to (TILE_ROWS, TILE_LD); zeros outside. Neighbouring threads read neighbours. */
static __device__ void load_factor(const factor &f, size_t first, size_t k, float *to) {
  for (int i = (int)threadIdx.x; i < TILE_ROWS * TILE_COLUMNS; i += TILE_THREADS) {
    const int row = f.transposed ? i % TILE_ROWS : i / TILE_COLUMNS;
    const int column = f.transposed ? i / TILE_ROWS : i % TILE_COLUMNS;
    const size_t r = first + row, c = k + column;
    float value = 0;
    if (r < f.rows && c < f.depth)
      value = f.transposed ? f.x[c * f.ld + r] : f.x[r * f.ld + c];
    to[row * TILE_LD + column] = value;
  }
}

/* Block (tile of columns, tile of rows). Shared: two tiles. */
static __global__ void __launch_bounds__(TILE_THREADS) gemm_kernel(struct linnet_gemm g, factor a, factor b) {
  LINNET_SHARED(float, room);
  const size_t i = (size_t)blockIdx.y * TILE_ROWS, j = (size_t)blockIdx.x * TILE_ROWS;
  tile<4, 4> c = {};
  for (size_t k = 0; k < g.k; k += TILE_COLUMNS) {
    load_factor(a, i, k, room);
    load_factor(b, j, k, room + TILE_SIZE);
    __syncthreads();
    tile_multiply<TILE_COLUMNS, TILE_LD, 1, 1, TILE_LD>(&c, room, room + TILE_SIZE);
    __syncthreads();
  }
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 4; n++) {
      const size_t row = i + tile_row(r), column = j + tile_column(n);
      if (row >= g.m || column >= g.n)
        continue;
      float *to = g.c + row * g.ldc + column;
      const float sum = c.x[r][n] + (g.accumulate ? *to : 0) + (g.bias ? g.bias[column] : 0);
      *to = activation_value(g.activation, sum);
    }
}

} // namespace

void linnet_cuda_gemm_kernel(struct linnet_device *device, const struct linnet_gemm *g) {
  const factor a = {g->a, g->lda, g->m, g->k, g->transpose_a}, b = {g->b, g->ldb, g->n, g->k, !g->transpose_b};
  if (g->m == 0 || g->n == 0)
    return;
  LINNET_LAUNCH(device, gemm_kernel, dim3(linnet_blocks(g->n, TILE_ROWS), linnet_blocks(g->m, TILE_ROWS)), TILE_THREADS,
                2 * TILE_SIZE * sizeof(float), *g, a, b);
}
