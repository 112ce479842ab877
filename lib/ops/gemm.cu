/* Matrix products for devices without cuBLASLt. A block computes 64 x 64 elements of C, and applies bias and
 * activation. */
#include "backend/cuda/kernel.h"
#include "backend/cuda/tile.h"

namespace {

/* op(X) as rows of a tile: element (row, k) of the (rows, depth) matrix. `transposed`: it is stored at x[k * ld + row].
 */
template <class T> struct factor {
  const T *x;
  size_t ld, rows, depth;
  bool transposed;
};

/* Loads the rows from `first` on and the columns from `k` on to `to` (TILE_ROWS, TILE_LD), with zeros outside.
 * Neighbouring threads read neighbouring elements. */
template <class T> static __device__ void load_factor(const factor<T> &f, size_t first, size_t k, float *to) {
  for (int i = (int)threadIdx.x; i < TILE_ROWS * TILE_COLUMNS; i += TILE_THREADS) {
    const int row = f.transposed ? i % TILE_ROWS : i / TILE_COLUMNS;
    const int column = f.transposed ? i / TILE_ROWS : i % TILE_COLUMNS;
    const size_t r = first + row, c = k + column;
    float value = 0;
    if (r < f.rows && c < f.depth)
      value = widen(f.transposed ? f.x[c * f.ld + r] : f.x[r * f.ld + c]);
    to[row * TILE_LD + column] = value;
  }
}

/* C and bias may differ in type from the operands. */
template <class P, class C> struct product {
  factor<typename P::activation> a, b;
  C *c;
  const C *bias; /* or NULL */
  size_t ldc;
  bool accumulate;
  enum linnet_activation activation;
};

/* Block (tile of rows, tile of columns). There may be more tiles of rows than a grid allows in y, so they are in x.
 * Shared memory: two tiles. */
template <class P, class C>
static __global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS) gemm_kernel(product<P, C> g) {
  LINNET_SHARED(float, shared);
  const size_t i = (size_t)blockIdx.x * TILE_ROWS, j = (size_t)blockIdx.y * TILE_ROWS;
  tile<4, 4> c = {};
  for (size_t k = 0; k < g.a.depth; k += TILE_COLUMNS) {
    load_factor(g.a, i, k, shared);
    load_factor(g.b, j, k, shared + TILE_SIZE);
    __syncthreads();
    tile_multiply<P, TILE_COLUMNS, TILE_LD, 1, 1, TILE_LD>(&c, shared, shared + TILE_SIZE);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int n = 0; n < 4; n++) {
      const size_t row = i + c.row(r), column = j + c.column(n);
      if (row >= g.a.rows || column >= g.b.rows)
        continue;
      C *to = g.c + row * g.ldc + column;
      const float sum = c.x[r][n] + (g.accumulate ? widen(*to) : 0) + (g.bias ? widen(g.bias[column]) : 0);
      write(to, activation_value(g.activation, sum));
    }
}

template <class P, class C>
void multiply(struct linnet_device *device, const struct linnet_gemm *g, P operands, C results) {
  const void *a = g->a, *b = g->b, *bias = g->bias; /* g carries pointers only */
  void *c = g->c;
  const product<P, typename C::activation> p = {{operands(a), g->lda, g->m, g->k, g->transpose_a},
                                                {operands(b), g->ldb, g->n, g->k, !g->transpose_b},
                                                results(c),
                                                results(bias),
                                                g->ldc,
                                                g->accumulate,
                                                g->activation};
  LINNET_LAUNCH(device, gemm_kernel, dim3((unsigned)linnet_divide_up(g->m, TILE_ROWS), linnet_blocks(g->n, TILE_ROWS)),
                TILE_THREADS, 2 * TILE_SIZE * sizeof(float), p);
}

} // namespace

void linnet_cuda_gemm_kernel(struct linnet_device *device, const struct linnet_gemm *g) {
  if (g->m == 0 || g->n == 0)
    return;
  for_products(device, [&](auto as) {
    if (g->result == LINNET_GEMM_REALS)
      multiply(device, g, as, activations<float>());
    else
      multiply(device, g, as, as);
  });
}
