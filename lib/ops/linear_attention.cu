/* Linear attention of all frames, and causal: formulas and names as in linear_attention.c and
 * causal_linear_attention.c.
 *
 * Outputs and gradients are the same product in four roles. Row t of y is a sum over the rows s that it may attend to
 * ("sees"):
 *
 *   y_t = sum of (x_t . a_s + g_t f_s) b_s
 *
 *            x        a        b       g    f    state of a, b          sees
 *   out_t    phi(q)   phi(k)   v       -    -    S                      s <= t    then divided by d_t
 *   dq_t     n        v        phi(k)  e    1    S^T, z                 s <= t    then times phi'(q)
 *   dk_t     v        n        phi(q)  1    e    dS^T, dz               s >= t    then times phi'(k)
 *   dv_t     phi(k)   phi(q)   n       -    -    dS                     s >= t
 *
 * The condition on s is that of the causal kind; else row t sees all rows. A state is S (key_width, width), then z
 * (key_width), per head. First each piece of a sequence sums its own state. Then these are added in order: over the
 * whole sequence or, if causal, over the pieces before or after each piece. Finally a row adds the product with this
 * state and, if causal, the tiles of its own piece one by one. So no state is stored per step; the state of a piece
 * takes 3 % of the memory of its rows. */
#include "backend/cuda/tile.h"

extern "C" {
#include "ops/causal_linear_attention.h"
}

namespace {

enum { WARPS = 8, THREADS = 32 * WARPS };

enum order { TOTAL, BEFORE, BEHIND }; /* the pieces that a state sums over: all, those before, or those after */

/* --- states ------------------------------------------------------------------------------------------------------- */

template <class P> struct state_terms {
  struct linnet_cuda_pack pack;
  size_t heads, size;                   /* of a head's state */
  operand<typename P::activation> a, b; /* phi(k), v; or phi(q), n */
  const float *f;                       /* (heads, T): z is the sum of f a; NULL: 1 */
  float *state;                         /* (pieces, heads, size) */
};

/* Sums f_s a_s over the rows of a tile. Thread (g, c) sums rows 8 g ... 8 g + 7 of column c. */
template <class P> static __device__ float sum_rows(const state_terms<P> &t, const tile_rows &rows, const float *a) {
  const int c = (int)threadIdx.x % 32, g = (int)threadIdx.x / 32;
  float sum = 0;
  for (int row = 8 * g; row < 8 * g + 8 && row < rows.rows; row++)
    sum = fmaf(a[row * TILE_LD + c], t.f ? t.f[rows.head * rows.frames + rows.first + row] : 1, sum);
  return sum;
}

template <class P>
static __device__ void store_z(const state_terms<P> &t, float *state, size_t k, float sum, float *scratch) {
  scratch[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x < 32 && k + threadIdx.x < t.a.width) {
    float total = 0;
    for (int g = 0; g < TILE_THREADS / 32; g++)
      total += scratch[g * 32 + threadIdx.x];
    state[t.a.width * t.b.width + k + threadIdx.x] = total;
  }
}

/* Block (piece, tile of the state, head). Shared memory: two tiles. */
template <class P> static __global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS) state_kernel(state_terms<P> t) {
  LINNET_SHARED(float, shared);
  const size_t across = linnet_divide_up(t.b.width, TILE_COLUMNS), head = blockIdx.z;
  const size_t k = blockIdx.y / across * TILE_COLUMNS, m = blockIdx.y % across * TILE_COLUMNS;
  const struct linnet_cuda_piece piece = t.pack.table[blockIdx.x];
  const tile_rows like = {t.pack.rows, head, 0, 0, nullptr};
  float *state = t.state + (blockIdx.x * t.heads + head) * t.size, z = 0;
  tile<2, 2> sum = {};
  for (size_t first = piece.first; first < piece.first + piece.rows; first += TILE_ROWS) {
    const tile_rows rows = rows_from(like, first, piece.first + piece.rows);
    load_tile(t.a, rows, k, shared);
    load_tile(t.b, rows, m, shared + TILE_SIZE);
    __syncthreads();
    tile_multiply<P, TILE_ROWS, 1, TILE_LD, TILE_LD, 1>(&sum, shared, shared + TILE_SIZE);
    if (m == 0)
      z += sum_rows(t, rows, shared);
    __syncthreads();
  }
  for (int r = 0; r < 2; r++)
    for (int n = 0; n < 2; n++)
      if (k + sum.row(r) < t.a.width && m + sum.column(n) < t.b.width)
        state[(k + sum.row(r)) * t.b.width + m + sum.column(n)] = sum.x[r][n];
  if (m == 0)
    store_z(t, state, k, z, shared);
}

enum { AHEAD = 8 }; /* pieces that are read at once */

/* A thread computes one element of the state of one sequence. TOTAL: writes `total` (sequences, size). Else: replaces
 * the states of the pieces. */
static __global__ void __launch_bounds__(THREADS)
    add_states_kernel(struct linnet_cuda_pack p, enum order order, size_t size, float *pieces, float *total) {
  const size_t element = (size_t)blockIdx.x * THREADS + threadIdx.x, s = blockIdx.y;
  const size_t first = p.first_piece[s], count = p.first_piece[s + 1] - first;
  double sum = 0;
  if (element >= size)
    return;
  const auto piece = [=](size_t i) {
    return pieces + (first + (order == BEHIND ? count - 1 - i : i)) * size + element;
  };
  for (size_t done = 0; done < count; done += AHEAD) {
    float own[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
      own[i] = done + i < count ? *piece(done + i) : 0;
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      if (order != TOTAL && done + i < count)
        *piece(done + i) = (float)sum;
      sum += own[i];
    }
  }
  if (order == TOTAL)
    total[s * size + element] = (float)sum;
}

/* Computes the states that rows use: per sequence in `total` if order is TOTAL, else per piece in `pieces`. */
template <class P>
void sum_states(struct linnet_device *device, const state_terms<P> &t, enum order order, float *total) {
  const unsigned tiles = column_tiles(t.a.width) * column_tiles(t.b.width);
  const size_t size = t.heads * t.size;
  LINNET_LAUNCH(device, state_kernel, dim3((unsigned)t.pack.pieces, tiles, (unsigned)t.heads), TILE_THREADS,
                2 * TILE_SIZE * sizeof(float), t);
  LINNET_LAUNCH(device, add_states_kernel, dim3(linnet_blocks(size, THREADS), (unsigned)t.pack.sequences), THREADS, 0,
                t.pack, order, size, t.state, total);
}

/* --- the product -------------------------------------------------------------------------------------------------- */

template <class P> struct product {
  typedef typename P::activation number;
  struct linnet_cuda_pack pack;
  enum order order;
  size_t heads, size;
  operand<number> x, a, b;
  bool pairs_extra;   /* whether the product has the term g_t f_s */
  const float *g, *f; /* (heads, T); NULL: 1 */
  const float *state; /* (sequences or pieces, heads, size) */
  bool transposed;    /* whether the state is transposed */
  bool normalised;    /* whether the result is divided by d */
  float min_normaliser;
  float *scale;        /* (heads, T): 1 / d; written if `normalised` */
  const number *slope; /* (T, heads * width) with the leading dimension of y: multiply by phi'(slope); NULL: do not */
  number *y;
  size_t y_ld;
};

static __device__ __forceinline__ float at(const float *per_row, const tile_rows &t, int row) {
  if (!per_row || row >= t.rows)
    return 1;
  return per_row[t.head * t.frames + t.first + row];
}

/* A (32, 32) tile of the state: rows from `k` on (columns of x), columns from `m` on (columns of y). */
template <class P>
static __device__ void load_state(const product<P> &p, const float *state, size_t k, size_t m, float *to) {
  enum { EACH = TILE_COLUMNS * TILE_COLUMNS / TILE_THREADS, APART = TILE_THREADS / TILE_COLUMNS };
  const size_t fast = threadIdx.x % TILE_COLUMNS; /* neighbouring threads read neighbouring elements */
  const size_t ld = p.transposed ? p.x.width : p.b.width;
  const size_t rows = p.transposed ? p.b.width - m : p.x.width - k,
               columns = p.transposed ? p.x.width - k : p.b.width - m;
  float value[EACH];
  state += p.transposed ? m * ld + k : k * ld + m;
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const size_t slow = threadIdx.x / TILE_COLUMNS + i * APART;
    value[i] = slow < rows && fast < columns ? state[slow * ld + fast] : 0;
  }
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const size_t slow = threadIdx.x / TILE_COLUMNS + i * APART;
    to[p.transposed ? fast * TILE_LD + slow : slow * TILE_LD + fast] = value[i];
  }
}

/* Adds x W to y, and the quad's part of x . z to `sum`. */
template <class P>
static __device__ void apply_state(const product<P> &p, const float *state, const tile_rows &t, size_t m, tile<4, 2> *y,
                                   float *sum, float *scratch) {
  const float *z = state + p.x.width * p.b.width;
  for (size_t k = 0; k < p.x.width; k += TILE_COLUMNS) {
    load_tile(p.x, t, k, scratch);
    load_state(p, state, k, m, scratch + TILE_SIZE);
    __syncthreads();
    tile_multiply<P, TILE_COLUMNS, TILE_LD, 1, TILE_LD, 1>(y, scratch, scratch + TILE_SIZE);
    for (int i = 0; p.normalised && i < TILE_COLUMNS / 4; i++)
      if (k + quad_column(i) < p.x.width)
        *sum = fmaf(scratch[quad_row() * TILE_LD + quad_column(i)], z[k + quad_column(i)], *sum);
    __syncthreads();
  }
}

/* y_t += g_t z: the part of the extra term that comes from the state. */
template <class P>
static __device__ void apply_extra(const product<P> &p, const float *state, const tile_rows &t, size_t m,
                                   tile<4, 2> *y) {
  const float *z = state + p.x.width * p.b.width;
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++)
      if (m + y->column(n) < p.b.width)
        y->x[r][n] = fmaf(at(p.g, t, y->row(r)), z[m + y->column(n)], y->x[r][n]);
}

/* Attention weights of rows t against rows s of the same piece; zero where t does not see s. */
template <class P>
static __device__ void attention_weights(const product<P> &p, const tile_rows &t, const tile_rows &s, float *weights,
                                         float *scratch) {
  tile<4, 4> w = {};
  multiply_rows<P>(&w, p.x, t, p.a, s, scratch);
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 4; n++) {
      const int row = w.row(r), column = w.column(n);
      const size_t i = t.first + row, j = s.first + column;
      const bool seen = p.order == BEFORE ? j <= i : j >= i;
      const float extra = p.pairs_extra ? at(p.g, t, row) * at(p.f, s, column) : 0;
      weights[row * WEIGHT_LD + weight_position(column)] = seen && column < s.rows ? w.x[r][n] + extra : 0;
    }
}

/* Adds the rows of the same piece that rows t see. */
template <class P>
static __device__ void apply_piece(const product<P> &p, const tile_rows &t, size_t m, tile<4, 2> *y, float *sum,
                                   float *weights, float *scratch) {
  const struct linnet_cuda_piece piece = p.pack.table[blockIdx.x / PIECE_TILES];
  const size_t first = p.order == BEFORE ? piece.first : t.first;
  const size_t end = p.order == BEFORE ? t.first + t.rows : piece.first + piece.rows;
  for (size_t j = first; j < end; j += TILE_ROWS) {
    const tile_rows s = rows_from(t, j, end);
    attention_weights(p, t, s, weights, scratch);
    multiply_weights<P>(y, weights, p.b, s, m, scratch);
    for (int i = 0; p.normalised && i < TILE_ROWS / 4; i++)
      *sum += weights[quad_row() * WEIGHT_LD + quad_column(i)];
  }
}

/* Multiplies y by 1 / d; `sum` is the quad's part of phi(q) . z. */
template <class P>
static __device__ void normalise(const product<P> &p, const tile_rows &t, float sum, tile<4, 2> *y, float *scales) {
  const float d = quad_sum(sum),
              scale = 1 / ((d < p.min_normaliser ? p.min_normaliser : d) + (float)LINNET_ATTENTION_EPSILON);
  if (threadIdx.x % 4 == 0) {
    scales[quad_row()] = scale;
    if (blockIdx.y == 0 && quad_row() < t.rows)
      p.scale[t.head * t.frames + t.first + quad_row()] = scale;
  }
  __syncthreads();
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++)
      y->x[r][n] *= scales[y->row(r)];
}

template <class P>
static __device__ void store_rows(const product<P> &p, const tile_rows &t, size_t m, const tile<4, 2> &y) {
  const size_t corner = t.first * p.y_ld + t.head * p.b.width + m;
  float slope[4][2]; /* read before anything is written */
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int n = 0; n < 2; n++) {
      const bool inside = y.row(r) < t.rows && m + y.column(n) < p.b.width;
      slope[r][n] = p.slope && inside ? widen(p.slope[corner + y.row(r) * p.y_ld + y.column(n)]) : 1;
    }
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int n = 0; n < 2; n++)
      if (y.row(r) < t.rows && m + y.column(n) < p.b.width)
        write(p.y + corner + y.row(r) * p.y_ld + y.column(n),
              slope[r][n] > 0 ? y.x[r][n] : y.x[r][n] * expf(slope[r][n]));
}

/* Block (tile of rows, tile of y's columns, head). Shared memory: two tiles and, if causal, weights. */
template <class P> static __global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS) product_kernel(product<P> p) {
  LINNET_SHARED(float, shared);
  const tile_rows t = block_tile(p.pack, blockIdx.z);
  if (t.rows <= 0)
    return;
  const size_t piece = blockIdx.x / PIECE_TILES, m = blockIdx.y * TILE_COLUMNS;
  const size_t state_index = p.order == TOTAL ? p.pack.table[piece].sequence : piece;
  const float *state = p.state + (state_index * p.heads + t.head) * p.size;
  tile<4, 2> y = {};
  float sum = 0;
  apply_state(p, state, t, m, &y, &sum, shared);
  if (p.pairs_extra)
    apply_extra(p, state, t, m, &y);
  if (p.order != TOTAL)
    apply_piece(p, t, m, &y, &sum, shared + 2 * TILE_SIZE, shared);
  if (p.normalised)
    normalise(p, t, sum, &y, shared);
  store_rows(p, t, m, y);
}

template <class P> void multiply(struct linnet_device *device, const product<P> &p) {
  const dim3 grid((unsigned)p.pack.pieces * PIECE_TILES, column_tiles(p.b.width), (unsigned)p.heads);
  const size_t weights = p.order == TOTAL ? 0 : WEIGHT_SIZE;
  LINNET_LAUNCH(device, product_kernel, grid, TILE_THREADS, (2 * TILE_SIZE + weights) * sizeof(float), p);
}

/* --- e ------------------------------------------------------------------------------------------------------------ */

/* e_t = -(dout_t . out_t) / d_t, or 0 where d_t has its minimum. A warp processes a row of a head. */
template <class T>
static __global__ void __launch_bounds__(THREADS)
    project_kernel(struct linnet_attention a, size_t frames, const T *out, const T *dout, const float *scale,
                   float largest, float *e) {
  const size_t i = (size_t)blockIdx.x * WARPS + threadIdx.x / 32, t = i / a.heads, head = i % a.heads;
  if (i >= frames * a.heads)
    return;
  float sum = 0;
  for (size_t m = threadIdx.x % 32; m < a.width; m += 32) {
    const size_t offset = t * a.out_ld + head * a.width + m;
    sum = fmaf(widen(dout[offset]), widen(out[offset]), sum);
  }
  sum = warp_sum(sum);
  const float own = scale[head * frames + t];
  if (threadIdx.x % 32 == 0)
    e[head * frames + t] = own == largest ? 0 : -sum * own;
}

/* --- the rows of the table ---------------------------------------------------------------------------------------- */

size_t head_state(const struct linnet_attention *a) {
  return a->key_width * (a->width + 1);
}

/* Saved for backward: the states that the rows used, then 1 / d. */
struct saved {
  float *states, *scale;
};

size_t max_pieces(size_t frames, size_t sequences) {
  return frames / LINNET_CUDA_PIECE + sequences;
}

saved saved_of(const struct linnet_attention *a, size_t states, const void *memory) {
  float *first = static_cast<float *>(const_cast<void *>(memory));
  return saved{first, first + states * linnet_linear_state_size(a)};
}

size_t saved_size(const struct linnet_attention *a, size_t frames, size_t states) {
  return (states * linnet_linear_state_size(a) + frames * a->heads) * sizeof(float);
}

size_t saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  return saved_size(a, frames, sequences);
}

size_t causal_saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  return saved_size(a, frames, max_pieces(frames, sequences));
}

/* States of pieces and of sequences, and e. */
size_t work_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  return ((max_pieces(frames, sequences) + sequences) * linnet_linear_state_size(a) + frames * a->heads) *
         sizeof(float);
}

/* The operands: queries, keys, values, and n, the gradient divided by d. */
template <class T> struct operands { operand<T> q, k, v, n; };

template <class T>
operands<T> operands_of(const struct linnet_attention *a, const T *q, const T *k, const T *v, const T *dout,
                        const float *scale) {
  const bool elu = a->map == LINNET_MAP_ELU;
  return operands<T>{
      operand_of(q, a->key_ld, a->key_width, elu, nullptr), operand_of(k, a->key_ld, a->key_width, elu, nullptr),
      operand_of(v, a->value_ld, a->width, false, nullptr), operand_of(dout, a->out_ld, a->width, false, scale)};
}

template <class P>
product<P> product_of(const struct linnet_attention *a, const struct linnet_cuda_pack *p, enum order order) {
  product<P> t = {};
  t.pack = *p, t.order = order, t.heads = a->heads, t.size = head_state(a), t.min_normaliser = a->min_normaliser;
  return t;
}

template <class P>
void forward_as(P as, struct linnet_device *device, const struct linnet_attention_call *c,
                const struct linnet_cuda_pack *p, enum order order) {
  const struct linnet_attention *a = c->attention;
  const void *none = nullptr;
  const saved s = saved_of(a, order == TOTAL ? p->sequences : p->pieces, c->saved);
  const auto o = operands_of(a, as(c->q), as(c->k), as(c->v), as(none), nullptr);
  float *pieces = order == TOTAL ? static_cast<float *>(c->work) : s.states;
  const state_terms<P> state = {*p, a->heads, head_state(a), o.k, o.v, nullptr, pieces};
  sum_states(device, state, order, s.states);
  product<P> y = product_of<P>(a, p, order);
  y.x = o.q, y.a = o.k, y.b = o.v;
  y.state = s.states, y.normalised = true, y.scale = s.scale;
  y.y = as(c->out), y.y_ld = a->out_ld;
  multiply(device, y);
}

/* The gradient of queries or keys, which uses transposed states and the extra term. */
template <class P>
void key_gradient(struct linnet_device *device, product<P> y, const operand<typename P::activation> &of,
                  typename P::activation *to) {
  y.transposed = y.pairs_extra = true;
  y.slope = of.elu ? of.x : nullptr;
  y.y = to, y.y_ld = of.ld;
  multiply(device, y);
}

template <class P>
void backward_as(P as, struct linnet_device *device, const struct linnet_attention_call *c,
                 const struct linnet_cuda_pack *p, enum order before, enum order behind) {
  const struct linnet_attention *a = c->attention;
  const void *out = c->out;
  const saved s = saved_of(a, before == TOTAL ? p->sequences : p->pieces, c->saved);
  const auto o = operands_of(a, as(c->q), as(c->k), as(c->v), as(c->dout), s.scale);
  const size_t size = linnet_linear_state_size(a);
  float *pieces = static_cast<float *>(c->work), *total = pieces + p->pieces * size, *e = total + p->sequences * size;
  LINNET_LAUNCH(device, project_kernel, (unsigned)linnet_divide_up(p->rows * a->heads, WARPS), THREADS, 0, *a, p->rows,
                as(out), as(c->dout), s.scale, linnet_causal_linear_scale(a->min_normaliser, a->min_normaliser), e);
  const state_terms<P> state = {*p, a->heads, head_state(a), o.q, o.n, e, pieces};
  sum_states(device, state, behind, total);
  product<P> y = product_of<P>(a, p, before);
  y.x = o.n, y.a = o.v, y.b = o.k, y.g = e, y.state = s.states;
  key_gradient(device, y, o.q, as(c->dq));
  y = product_of<P>(a, p, behind);
  y.state = behind == TOTAL ? total : pieces;
  y.x = o.v, y.a = o.n, y.b = o.q, y.f = e;
  key_gradient(device, y, o.k, as(c->dk));
  y.x = o.k, y.a = o.q, y.b = o.n, y.y = as(c->dv), y.y_ld = a->value_ld;
  multiply(device, y);
}

template <order ORDER>
void forward(struct linnet_device *device, const struct linnet_attention_call *c, const struct linnet_cuda_pack *p) {
  if (p->rows > 0)
    for_products(device, [&](auto as) { forward_as(as, device, c, p, ORDER); });
}

template <order ORDER, order BACK>
void backward(struct linnet_device *device, const struct linnet_attention_call *c, const struct linnet_cuda_pack *p) {
  if (p->rows > 0)
    for_products(device, [&](auto as) { backward_as(as, device, c, p, ORDER, BACK); });
}

} // namespace

const struct linnet_cuda_attention_ops linnet_cuda_linear_attention = {saved_bytes, work_bytes, forward<TOTAL>,
                                                                       backward<TOTAL, TOTAL>};

const struct linnet_cuda_attention_ops linnet_cuda_causal_linear_attention = {
    causal_saved_bytes, work_bytes, forward<BEFORE>, backward<BEFORE, BEHIND>};
