/* Softmax attention in tiles of 64 rows against 64 (Dao et al. 2022): formulas as in softmax_attention.c. Forward runs
 * over the keys with a running maximum and sum; backward computes the probabilities again from the log-sum-exps. The
 * three gradients are the same product, with sums over the rows s that are paired with row t:
 *
 *   y_t = sum of w_ts b_s
 *
 *           rows t       rows s       w                b
 *   dq      queries      keys         ds_ts            k
 *   dk      keys         queries      ds_st            q
 *   dv      keys         queries      p_st             dout
 *
 * Each is computed separately, so that no two blocks add to the same memory. */
#include "backend/cuda/tile.h"

extern "C" {
#include "ops/softmax_attention.h"
}

namespace {

enum { WARPS = 8, THREADS = 32 * WARPS };

template <class P> struct attention {
  typedef typename P::activation number;
  struct linnet_cuda_pack pack;
  bool causal;
  float scale; /* of scores */
  operand<number> q, k, v, dout;
  const number *out;
  float *log_sums; /* (heads, T) */
  float *d;        /* (heads, T): dout . out */
};

static __device__ __forceinline__ size_t sequence_begin(const struct linnet_cuda_pack &p) {
  return p.offsets[p.table[blockIdx.x / PIECE_TILES].sequence];
}

static __device__ __forceinline__ size_t sequence_end(const struct linnet_cuda_pack &p) {
  return p.offsets[p.table[blockIdx.x / PIECE_TILES].sequence + 1];
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

/* Scores of queries t against keys s; -infinity where t does not see s. */
template <class P>
static __device__ void score(const attention<P> &a, const tile_rows &t, const tile_rows &s, float *weights,
                             float *scratch) {
  tile<4, 4> w = {};
  multiply_rows<P>(&w, a.q, t, a.k, s, scratch);
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 4; n++) {
      const int row = w.row(r), column = w.column(n);
      const bool seen = column < s.rows && !(a.causal && s.first + column > t.first + row);
      weights[row * WEIGHT_LD + weight_position(column)] = seen ? w.x[r][n] * a.scale : -INFINITY;
    }
  __syncthreads();
}

template <class T>
static __device__ void store_rows(const tile_rows &t, size_t width, size_t column, const tile<4, 2> &y, T *to,
                                  size_t ld) {
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++)
      if (y.row(r) < t.rows && column + y.column(n) < width)
        write(to + (t.first + y.row(r)) * ld + t.head * width + column + y.column(n), y.x[r][n]);
}

/* Block (tile of queries, tile of values' columns, head). Shared memory: two tiles, weights, a number per row. */
template <class P>
static __global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS)
    forward_kernel(attention<P> a, typename P::activation *out, size_t out_ld) {
  LINNET_SHARED(float, shared);
  float *weights = shared + 2 * TILE_SIZE, *per_row = weights + WEIGHT_SIZE;
  const tile_rows t = block_tile(a.pack, blockIdx.z);
  if (t.rows <= 0)
    return;
  const size_t column = blockIdx.y * TILE_COLUMNS, end = a.causal ? t.first + t.rows : sequence_end(a.pack);
  running_softmax row = {-INFINITY, 0};
  tile<4, 2> y = {};
  for (size_t j = sequence_begin(a.pack); j < end; j += TILE_ROWS) {
    const tile_rows s = rows_from(t, j, end);
    score(a, t, s, weights, shared);
    scale_rows(exponentials(&row, weights), &y, per_row);
    multiply_weights<P>(&y, weights, a.v, s, column, shared);
  }
  scale_rows(1 / row.sum, &y, per_row);
  store_rows(t, a.v.width, column, y, out, out_ld);
  if (blockIdx.y == 0 && threadIdx.x % 4 == 0 && quad_row() < t.rows)
    a.log_sums[t.head * t.frames + t.first + quad_row()] = row.largest + logf(row.sum);
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* d_t = dout_t . out_t; a warp processes a row of a head. */
template <class P> static __global__ void __launch_bounds__(THREADS) project_kernel(attention<P> a, size_t heads) {
  const size_t i = (size_t)blockIdx.x * WARPS + threadIdx.x / 32, t = i / heads, head = i % heads;
  if (i >= a.pack.rows * heads)
    return;
  float sum = 0;
  for (size_t m = threadIdx.x % 32; m < a.v.width; m += 32) {
    const size_t offset = t * a.dout.ld + head * a.v.width + m;
    sum = fmaf(widen(a.dout.x[offset]), widen(a.out[offset]), sum);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0)
    a.d[head * a.pack.rows + t] = sum;
}

enum role { QUERIES, KEYS, VALUES }; /* the operand whose gradient is computed */

template <class P> struct gradient {
  enum role role;
  operand<typename P::activation> b;
  typename P::activation *y;
  size_t ld;
};

/* The gradients of the scores of rows t against rows s; for VALUES, the attention weights. */
template <class P>
static __device__ void score_gradients(const attention<P> &a, enum role role, const tile_rows &t, const tile_rows &s,
                                       float *weights, float *scratch) {
  const bool queries = role == QUERIES;
  const size_t first = t.head * t.frames + (queries ? t.first : s.first);
  const float *log_sums = a.log_sums + first, *d = a.d + first;
  const int ahead = (int)(s.first - t.first);
  tile<4, 4> w = {}, dp = {};
  multiply_rows<P>(&w, queries ? a.q : a.k, t, queries ? a.k : a.q, s, scratch);
  if (role != VALUES)
    multiply_rows<P>(&dp, queries ? a.dout : a.v, t, queries ? a.v : a.dout, s, scratch);
  float log_sum[4], projected[4]; /* of the thread's queries; all read at once */
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int query = queries ? w.row(i) : w.column(i), count = queries ? t.rows : s.rows;
    log_sum[i] = log_sums[query < count ? query : 0];
    projected[i] = role == VALUES ? 0 : d[query < count ? query : 0];
  }
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int n = 0; n < 4; n++) {
      const int row = w.row(r), column = w.column(n);
      const int distance = queries ? column + ahead - row : row - column - ahead; /* from the query to the key */
      float value = expf(w.x[r][n] * a.scale - (queries ? log_sum[r] : log_sum[n]));
      if (role != VALUES)
        value *= (dp.x[r][n] - (queries ? projected[r] : projected[n])) * a.scale;
      const bool seen = row < t.rows && column < s.rows && !(a.causal && distance > 0);
      weights[row * WEIGHT_LD + weight_position(column)] = seen ? value : 0;
    }
}

/* Block (tile of rows, tile of y's columns, head). Shared memory: two tiles, weights. */
template <class P>
static __global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS) backward_kernel(attention<P> a, gradient<P> g) {
  LINNET_SHARED(float, shared);
  float *weights = shared + 2 * TILE_SIZE;
  const tile_rows t = block_tile(a.pack, blockIdx.z);
  if (t.rows <= 0)
    return;
  const size_t column = blockIdx.y * TILE_COLUMNS;
  const size_t first = a.causal && g.role != QUERIES ? t.first : sequence_begin(a.pack);
  const size_t end = a.causal && g.role == QUERIES ? t.first + t.rows : sequence_end(a.pack);
  tile<4, 2> y = {};
  for (size_t j = first; j < end; j += TILE_ROWS) {
    const tile_rows s = rows_from(t, j, end);
    score_gradients(a, g.role, t, s, weights, shared);
    multiply_weights<P>(&y, weights, g.b, s, column, shared);
  }
  store_rows(t, g.b.width, column, y, g.y, g.ld);
}

/* --- the functions of the table ----------------------------------------------------------------------------------- */

size_t saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  (void)sequences;
  return frames * a->heads * sizeof(float);
}

size_t work_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  return saved_bytes(a, frames, sequences);
}

template <class P>
attention<P> attention_of(P as, const struct linnet_attention_call *c, const struct linnet_cuda_pack *p, bool causal) {
  const struct linnet_attention *a = c->attention;
  attention<P> t = {};
  t.pack = *p, t.causal = causal, t.scale = 1 / sqrtf((float)a->key_width);
  t.q = operand_of(as(c->q), a->key_ld, a->key_width, false, nullptr);
  t.k = operand_of(as(c->k), a->key_ld, a->key_width, false, nullptr);
  t.v = operand_of(as(c->v), a->value_ld, a->width, false, nullptr);
  t.log_sums = static_cast<float *>(c->saved);
  return t;
}

dim3 grid_of(const struct linnet_cuda_pack &p, size_t width, size_t heads) {
  return dim3((unsigned)p.pieces * PIECE_TILES, column_tiles(width), (unsigned)heads);
}

template <class P>
void gradient_of(struct linnet_device *device, const attention<P> &a, size_t heads, enum role role,
                 const operand<typename P::activation> &b, typename P::activation *y, size_t ld) {
  const gradient<P> g = {role, b, y, ld};
  LINNET_LAUNCH(device, backward_kernel, grid_of(a.pack, b.width, heads), TILE_THREADS,
                (2 * TILE_SIZE + WEIGHT_SIZE) * sizeof(float), a, g);
}

template <bool CAUSAL>
void forward(struct linnet_device *device, const struct linnet_attention_call *c, const struct linnet_cuda_pack *p) {
  const struct linnet_attention *a = c->attention;
  const size_t shared = (2 * TILE_SIZE + WEIGHT_SIZE + TILE_ROWS) * sizeof(float);
  if (p->rows == 0)
    return;
  for_products(device, [&](auto as) {
    LINNET_LAUNCH(device, forward_kernel, grid_of(*p, a->width, a->heads), TILE_THREADS, shared,
                  attention_of(as, c, p, CAUSAL), as(c->out), a->out_ld);
  });
}

template <class P>
void backward_as(P as, struct linnet_device *device, attention<P> t, const struct linnet_attention_call *c) {
  const struct linnet_attention *a = c->attention;
  const void *out = c->out;
  t.dout = operand_of(as(c->dout), a->out_ld, a->width, false, nullptr);
  t.out = as(out), t.d = static_cast<float *>(c->work);
  LINNET_LAUNCH(device, project_kernel, (unsigned)linnet_divide_up(t.pack.rows * a->heads, WARPS), THREADS, 0, t,
                a->heads);
  gradient_of(device, t, a->heads, QUERIES, t.k, as(c->dq), a->key_ld);
  gradient_of(device, t, a->heads, KEYS, t.q, as(c->dk), a->key_ld);
  gradient_of(device, t, a->heads, VALUES, t.dout, as(c->dv), a->value_ld);
}

template <bool CAUSAL>
void backward(struct linnet_device *device, const struct linnet_attention_call *c, const struct linnet_cuda_pack *p) {
  if (p->rows > 0)
    for_products(device, [&](auto as) { backward_as(as, device, attention_of(as, c, p, CAUSAL), c); });
}

} // namespace

const struct linnet_cuda_attention_ops linnet_cuda_softmax_attention = {saved_bytes, work_bytes, forward<false>,
                                                                        backward<false>};

const struct linnet_cuda_attention_ops linnet_cuda_causal_softmax_attention = {saved_bytes, work_bytes, forward<true>,
                                                                               backward<true>};
