/* LSH attention: formulas as in lsh_attention.c. A round consists of the rotation, the buckets, a stable counting sort
 * (one block per sequence), and the pairs of each chunk in tiles. Rounds are launches, one after the other, so that in
 * each round only one block adds to the sums of a row. Backward has one launch each for the gradients of rows as
 * queries, as keys, and as values. */
#include "backend/cuda/tile.h"

extern "C" {
#include "base/philox.h"
#include "ops/lsh_attention.h"
}

namespace {

enum { WARPS = 8, THREADS = 32 * WARPS };

template <class P> struct attention {
  typedef typename P::activation number;
  struct linnet_attention a;
  struct linnet_cuda_pack pack;
  bool causal;
  float scale; /* of scores: 1 / sqrt(C) */
  size_t this_round;
  operand<number> q, key, v, dout; /* key: q / |q| */
  float *largest, *sum;            /* (heads, T) */
  uint32_t *frame, *bucket;        /* (rounds, heads, T): the sorted order of each sequence */
  float *inverse, *d;              /* (heads, T): 1 / |q|, dout . out */
  float *rotation;                 /* (C, buckets / 2) */
  uint32_t *unsorted;              /* (heads, T): buckets in order of time */
  float *sums; /* (T, heads, C + M): sums over the rounds so far; the last round rounds them to activations */
};

template <class P>
static __device__ __forceinline__ size_t sorted_offset(const attention<P> &t, size_t head, size_t at) {
  return (t.this_round * t.a.heads + head) * t.pack.rows + at;
}

/* --- buckets ------------------------------------------------------------------------------------------------------ */

template <class P> static __global__ void __launch_bounds__(THREADS) rotation_kernel(attention<P> t) {
  const size_t count = t.a.key_width * (t.a.lsh.buckets / 2), pair = (size_t)blockIdx.x * THREADS + threadIdx.x;
  const struct linnet_philox random =
      linnet_philox(t.a.lsh.seed, (uint64_t)t.a.lsh.step << 32 | t.a.lsh.site, (uint64_t)t.this_round << 32 | pair / 2);
  const uint32_t first = pair % 2 ? random.word[2] : random.word[0];
  const uint32_t second = pair % 2 ? random.word[3] : random.word[1];
  const double pi = 3.14159265358979323846;
  const double radius = sqrt(-2 * log((first + 1.0) * 0x1p-32)), angle = 2 * pi * linnet_philox_uniform(second);
  if (2 * pair < count)
    t.rotation[2 * pair] = (float)(radius * cos(angle));
  if (2 * pair + 1 < count)
    t.rotation[2 * pair + 1] = (float)(radius * sin(angle));
}

/* The choice of linnet_lsh_bucket, the first maximum of x and -x, with the same rounding: no multiply-add is fused. A
 * warp processes a query, and its lanes columns of the rotation. */
template <class P> static __device__ uint32_t bucket_of(const attention<P> &t, const typename P::activation *q) {
  const uint32_t half = (uint32_t)(t.a.lsh.buckets / 2);
  uint32_t best = 0;
  float largest = -1;
  for (uint32_t b = threadIdx.x % 32; b < half; b += 32) {
    float x = 0;
    for (size_t c = 0; c < t.a.key_width; c++)
      x = __fadd_rn(x, __fmul_rn(widen(q[c]), t.rotation[c * half + b]));
    const uint32_t bucket = x < 0 ? b + half : b;
    if (fabsf(x) > largest || (fabsf(x) == largest && bucket < best))
      largest = fabsf(x), best = bucket;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const float x = __shfl_xor_sync(LINNET_ALL_LANES, largest, lanes);
    const uint32_t bucket = __shfl_xor_sync(LINNET_ALL_LANES, best, lanes);
    if (x > largest || (x == largest && bucket < best))
      largest = x, best = bucket;
  }
  return best;
}

template <class P> static __global__ void __launch_bounds__(THREADS) hash_kernel(attention<P> t) {
  const size_t i = (size_t)blockIdx.x * WARPS + threadIdx.x / 32, frame = i / t.a.heads, head = i % t.a.heads;
  if (i >= t.pack.rows * t.a.heads)
    return;
  const uint32_t bucket = bucket_of(t, t.q.x + frame * t.q.ld + head * t.q.width);
  if (threadIdx.x % 32 == 0)
    t.unsorted[head * t.pack.rows + frame] = bucket;
}

/* Replaces the counts of the buckets by the indices where they begin. One thread runs it, as there are few buckets. */
static __device__ void starts_of(size_t buckets, uint32_t *counts) {
  uint32_t start = 0;
  for (size_t b = 0; b < buckets; b++) {
    const uint32_t count = counts[b];
    counts[b] = start;
    start += count;
  }
}

/* Block (sequence, head). 256 rows at a time get their indices: each row counts the earlier ones of its bucket. Shared
 * memory: the buckets of these rows, then the next index of each bucket. */
template <class P> static __global__ void __launch_bounds__(THREADS) sort_kernel(attention<P> t) {
  LINNET_SHARED(uint32_t, own);
  uint32_t *next = own + THREADS;
  const size_t first = t.pack.offsets[blockIdx.x], rows = t.pack.offsets[blockIdx.x + 1] - first, head = blockIdx.y;
  const uint32_t *bucket = t.unsorted + head * t.pack.rows + first;
  for (size_t b = threadIdx.x; b < t.a.lsh.buckets; b += THREADS)
    next[b] = 0;
  __syncthreads();
  for (size_t i = threadIdx.x; i < rows; i += THREADS)
    atomicAdd(&next[bucket[i]], 1u);
  __syncthreads();
  if (threadIdx.x == 0)
    starts_of(t.a.lsh.buckets, next);
  for (size_t begin = 0; begin < rows; begin += THREADS) {
    const size_t count = linnet_min_size(THREADS, rows - begin);
    uint32_t before = 0, index = 0;
    bool last = true;
    if (threadIdx.x < count)
      own[threadIdx.x] = bucket[begin + threadIdx.x];
    __syncthreads();
    for (size_t i = 0; i < count && threadIdx.x < count; i++) {
      before += i < threadIdx.x && own[i] == own[threadIdx.x];
      last = last && !(i > threadIdx.x && own[i] == own[threadIdx.x]);
    }
    if (threadIdx.x < count) {
      index = next[own[threadIdx.x]] + before;
      t.frame[sorted_offset(t, head, first + index)] = (uint32_t)(first + begin + threadIdx.x);
      t.bucket[sorted_offset(t, head, first + index)] = own[threadIdx.x];
    }
    __syncthreads();
    if (threadIdx.x < count && last)
      next[own[threadIdx.x]] = index + 1;
    __syncthreads();
  }
}

/* 1 / |q|, or d = dout . out: a warp processes a row of a head. */
template <class P>
static __global__ void __launch_bounds__(THREADS)
    project_kernel(attention<P> t, const typename P::activation *x, const typename P::activation *y, size_t ld,
                   size_t width, bool norm, float *to) {
  const size_t i = (size_t)blockIdx.x * WARPS + threadIdx.x / 32, frame = i / t.a.heads, head = i % t.a.heads;
  if (i >= t.pack.rows * t.a.heads)
    return;
  float sum = 0;
  for (size_t c = threadIdx.x % 32; c < width; c += 32) {
    const size_t offset = frame * ld + head * width + c;
    sum = fmaf(widen(x[offset]), widen(y[offset]), sum);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0)
    to[head * t.pack.rows + frame] = norm ? 1 / sqrtf(sum + (float)LINNET_LSH_EPSILON) : sum;
}

/* --- the pairs of a chunk ----------------------------------------------------------------------------------------- */

/* The work of a block: indices [first, end) of the sorted order, and the range of indices that these are paired with.
 */
struct run {
  size_t head, column;
  size_t first, end, other_first, other_end;
};

/* Block (tile of a chunk, (head, tile of columns), sequence). The keys of a query are in its chunk and in the previous
 * one; the queries of a key are in its chunk and in the next one. Returns false if the tile does not exist. */
template <class P> static __device__ bool run_of(const attention<P> &t, size_t width, bool queries, run *r) {
  const size_t chunk = t.a.lsh.chunk, tiles = linnet_divide_up(chunk, TILE_ROWS);
  const size_t across = linnet_divide_up(width, TILE_COLUMNS);
  const size_t begin = t.pack.offsets[blockIdx.z], end = t.pack.offsets[blockIdx.z + 1];
  const size_t own = begin + blockIdx.x / tiles * chunk, own_end = linnet_min_size(own + chunk, end);
  r->head = blockIdx.y / across, r->column = blockIdx.y % across * TILE_COLUMNS;
  r->first = own + blockIdx.x % tiles * TILE_ROWS;
  r->end = linnet_min_size(r->first + TILE_ROWS, own_end);
  r->other_first = queries && own > begin ? own - chunk : own;
  r->other_end = queries ? own_end : linnet_min_size(own_end + chunk, end);
  return r->first < r->end;
}

template <class P>
static __device__ tile_rows sorted_rows(const attention<P> &t, size_t head, size_t first, size_t end) {
  const tile_rows rows = {t.pack.rows, head, first, (int)linnet_min_size(end - first, TILE_ROWS),
                          t.frame + sorted_offset(t, head, first)};
  return rows;
}

/* Buckets of the rows and columns of a thread in a tile of pairs. Beyond the tile, rows and columns get values that
 * never match. */
struct buckets {
  uint32_t row[4], column[4];
};

template <class P>
static __device__ __forceinline__ buckets buckets_of(const attention<P> &t, const tile_rows &i, const tile_rows &j,
                                                     const tile<4, 4> &w) {
  const uint32_t *rows = t.bucket + sorted_offset(t, i.head, i.first);
  const uint32_t *columns = t.bucket + sorted_offset(t, j.head, j.first);
  buckets b;
#pragma unroll
  for (int n = 0; n < 4; n++) {
    b.row[n] = w.row(n) < i.rows ? rows[w.row(n)] : UINT32_MAX;
    b.column[n] = w.column(n) < j.rows ? columns[w.column(n)] : UINT32_MAX - 1;
  }
  return b;
}

template <class P> static __device__ __forceinline__ float score(const attention<P> &t, float product, bool self) {
  return product * t.scale + (self ? (float)LINNET_LSH_SELF : 0);
}

template <class P>
static __device__ void score_tile(const attention<P> &t, const tile_rows &i, const tile_rows &j, float *weights,
                                  float *scratch) {
  const int ahead = (int)(j.first - i.first);
  tile<4, 4> w = {};
  multiply_rows<P>(&w, t.q, i, t.key, j, scratch);
  const buckets b = buckets_of(t, i, j, w);
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int n = 0; n < 4; n++) {
      const int row = w.row(r), column = w.column(n), distance = column + ahead - row;
      const bool seen = b.row[r] == b.column[n] && !(t.causal && distance > 0);
      weights[row * WEIGHT_LD + weight_position(column)] = seen ? score(t, w.x[r][n], distance == 0) : -INFINITY;
    }
  __syncthreads();
}

/* The sums of a row so far are relative to exp(largest); the last round divides by the sum. Every tile of columns needs
 * `largest` and `sum` of the previous round: all read them from `before` (2, heads, T), and the first tile writes the
 * new ones. */
template <class P>
static __global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS)
    forward_kernel(attention<P> t, const float *before, typename P::activation *out) {
  LINNET_SHARED(float, shared);
  float *weights = shared + 2 * TILE_SIZE, *per_row = weights + WEIGHT_SIZE;
  run run;
  if (!run_of(t, t.v.width, true, &run))
    return;
  const tile_rows i = sorted_rows(t, run.head, run.first, run.end);
  const size_t all = t.a.heads * t.pack.rows;
  const bool inside = quad_row() < i.rows, first = t.this_round == 0, last = t.this_round + 1 == t.a.lsh.rounds;
  const size_t offset = run.head * t.pack.rows + (inside ? frame_of(i, quad_row()) : 0);
  running_softmax row = {first || !inside ? -INFINITY : before[offset], first || !inside ? 0 : before[all + offset]};
  const float largest_before = row.largest;
  tile<4, 2> y = {};
  for (size_t j = run.other_first; j < run.other_end; j += TILE_ROWS) {
    const tile_rows keys = sorted_rows(t, run.head, j, run.other_end);
    score_tile(t, i, keys, weights, shared);
    scale_rows(exponentials(&row, weights), &y, per_row);
    multiply_weights<P>(&y, weights, t.v, keys, run.column, shared);
  }
  if (threadIdx.x % 4 == 0) {
    per_row[quad_row()] = expf(largest_before - row.largest);
    shared[quad_row()] = last ? 1 / row.sum : 1;
    if (inside && run.column == 0)
      t.largest[offset] = row.largest, t.sum[offset] = row.sum;
  }
  __syncthreads();
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++) {
      const int row = y.row(r);
      const size_t column = run.column + y.column(n);
      if (row >= i.rows || column >= t.v.width)
        continue;
      const size_t frame = frame_of(i, row);
      float *sum = t.sums + (frame * t.a.heads + run.head) * t.v.width + column;
      const float value = ((first ? 0 : *sum * per_row[row]) + y.x[r][n]) * shared[row];
      if (last)
        write(out + frame * t.a.out_ld + run.head * t.v.width + column, value);
      else
        *sum = value;
    }
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

enum role { QUERIES, KEYS, VALUES }; /* a template parameter, to save registers */

/* Computes ds of rows t against rows s; for VALUES, p. along: a thread's part of the sums of ds (q . key), which KEYS
 * needs. */
template <role ROLE, class P>
static __device__ void score_gradients(const attention<P> &t, const tile_rows &rows, const tile_rows &others,
                                       float *weights, float *along, float *scratch) {
  constexpr bool queries = ROLE == QUERIES;
  const size_t first = rows.head * rows.frames;
  const float *largest = t.largest + first, *sum = t.sum + first, *d = t.d + first;
  const int ahead = (int)(others.first - rows.first);
  tile<4, 4> w = {}, dp = {};
  multiply_rows<P>(&w, queries ? t.q : t.key, rows, queries ? t.key : t.q, others, scratch);
  if (ROLE != VALUES)
    multiply_rows<P>(&dp, queries ? t.dout : t.v, rows, queries ? t.v : t.dout, others, scratch);
  const buckets b = buckets_of(t, rows, others, w);
  float row_largest[4], share[4], projected[4]; /* of the thread's queries; all read at once */
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const tile_rows &tile = queries ? rows : others;
    const int row = queries ? w.row(i) : w.column(i);
    const uint32_t query = tile.index[row < tile.rows ? row : 0];
    row_largest[i] = largest[query], share[i] = 1 / sum[query], projected[i] = ROLE == VALUES ? 0 : d[query];
  }
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int n = 0; n < 4; n++) {
      const int row = w.row(r), column = w.column(n), query = queries ? r : n;
      const int distance = queries ? column + ahead - row : row - column - ahead;
      float value = 0;
      if (b.row[r] == b.column[n] && !(t.causal && distance > 0)) {
        value = expf(score(t, w.x[r][n], distance == 0) - row_largest[query]) * share[query];
        if (ROLE != VALUES)
          value *= (dp.x[r][n] - projected[query]) * t.scale;
      }
      along[r] = fmaf(value, w.x[r][n], along[r]);
      weights[row * WEIGHT_LD + weight_position(column)] = value;
    }
}

/* The gradient of a key through its norm: (y - key along) / |q|. Four warps share a row. Before the call, all threads
 * have passed a barrier since the last read of `scratch`. */
template <class P>
static __device__ void through_norm(const attention<P> &t, const tile_rows &rows, size_t column, const float *along,
                                    tile<4, 2> *y, float *scratch) {
  const int across = (int)threadIdx.x / 32 % 4;
  for (int r = 0; r < 4; r++) {
    const float sum = quad_sum(along[r]);
    if (threadIdx.x % 4 == 0)
      scratch[across * TILE_ROWS + y->row(r)] = sum;
  }
  __syncthreads();
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++) {
      const int row = y->row(r);
      const size_t c = column + y->column(n);
      if (row >= rows.rows || c >= t.q.width)
        continue;
      const size_t frame = frame_of(rows, row);
      const float sum =
          scratch[row] + scratch[TILE_ROWS + row] + scratch[2 * TILE_ROWS + row] + scratch[3 * TILE_ROWS + row];
      const float inverse = t.inverse[rows.head * t.pack.rows + frame];
      const float key = widen(t.q.x[frame * t.q.ld + rows.head * t.q.width + c]) * inverse;
      y->x[r][n] = (y->x[r][n] - key * sum) * inverse;
    }
}

template <class P, role ROLE> struct gradient {
  bool first, last; /* whether this is the first or last launch that adds to it */
  operand<typename P::activation> b;
  float *sums; /* (T, heads, width) */
  typename P::activation *y;
  size_t ld;
};

template <class P, role ROLE>
static __global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS)
    backward_kernel(attention<P> t, gradient<P, ROLE> g) {
  LINNET_SHARED(float, shared);
  float *weights = shared + 2 * TILE_SIZE, along[4] = {0, 0, 0, 0};
  run run;
  if (!run_of(t, g.b.width, ROLE == QUERIES, &run))
    return;
  const tile_rows rows = sorted_rows(t, run.head, run.first, run.end);
  tile<4, 2> y = {};
  for (size_t j = run.other_first; j < run.other_end; j += TILE_ROWS) {
    const tile_rows others = sorted_rows(t, run.head, j, run.other_end);
    score_gradients<ROLE>(t, rows, others, weights, along, shared);
    multiply_weights<P>(&y, weights, g.b, others, run.column, shared);
  }
  if (ROLE == KEYS)
    through_norm(t, rows, run.column, along, &y, shared);
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++) {
      const size_t column = run.column + y.column(n);
      if (y.row(r) >= rows.rows || column >= g.b.width)
        continue;
      const size_t frame = frame_of(rows, y.row(r));
      float *sum = g.sums + (frame * t.a.heads + run.head) * g.b.width + column;
      const float value = g.first ? y.x[r][n] : *sum + y.x[r][n];
      if (g.last)
        write(g.y + frame * g.ld + run.head * g.b.width + column, value);
      else
        *sum = value;
    }
}

/* --- the functions of the table ----------------------------------------------------------------------------------- */

size_t saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  (void)sequences;
  return a->heads * frames * (2 * sizeof(float) + 2 * a->lsh.rounds * sizeof(uint32_t));
}

/* 1 / |q|, d, buckets, `largest` and `sum` before a round, the rotation, sums. */
size_t work_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  (void)sequences;
  return ((5 + a->key_width + a->width) * a->heads * frames + a->key_width * (a->lsh.buckets / 2)) * sizeof(float);
}

template <class P>
attention<P> attention_of(P as, const struct linnet_attention_call *c, const struct linnet_cuda_pack *p, bool causal) {
  const struct linnet_attention *a = c->attention;
  attention<P> t = {};
  const size_t n = a->heads * p->rows;
  t.a = *a, t.pack = *p, t.causal = causal, t.scale = 1 / sqrtf((float)a->key_width);
  t.largest = static_cast<float *>(c->saved), t.sum = t.largest + n;
  t.frame = reinterpret_cast<uint32_t *>(t.sum + n), t.bucket = t.frame + a->lsh.rounds * n;
  t.inverse = static_cast<float *>(c->work), t.d = t.inverse + n;
  t.unsorted = reinterpret_cast<uint32_t *>(t.d + n);
  t.rotation = t.d + 4 * n, t.sums = t.rotation + a->key_width * (a->lsh.buckets / 2);
  t.q = operand_of(as(c->q), a->key_ld, a->key_width, false, nullptr);
  t.key = operand_of(as(c->q), a->key_ld, a->key_width, false, t.inverse);
  t.v = operand_of(as(c->v), a->value_ld, a->width, false, nullptr);
  return t;
}

/* `largest` and `sum` before a round. */
template <class P> float *before_of(const attention<P> &t) {
  return t.d + 2 * t.a.heads * t.pack.rows;
}

template <class P>
void project(struct linnet_device *device, const attention<P> &t, const operand<typename P::activation> &x,
             const typename P::activation *y, bool norm, float *to) {
  LINNET_LAUNCH(device, project_kernel, (unsigned)linnet_divide_up(t.pack.rows * t.a.heads, WARPS), THREADS, 0, t, x.x,
                y, x.ld, x.width, norm, to);
}

template <class P> void sort_round(struct linnet_device *device, const attention<P> &t) {
  const size_t pairs = (t.a.key_width * (t.a.lsh.buckets / 2) + 1) / 2;
  LINNET_LAUNCH(device, rotation_kernel, linnet_blocks(pairs, THREADS), THREADS, 0, t);
  LINNET_LAUNCH(device, hash_kernel, (unsigned)linnet_divide_up(t.pack.rows * t.a.heads, WARPS), THREADS, 0, t);
  LINNET_LAUNCH(device, sort_kernel, dim3((unsigned)t.pack.sequences, (unsigned)t.a.heads), THREADS,
                (THREADS + t.a.lsh.buckets) * sizeof(uint32_t), t);
}

template <class P> dim3 grid_of(const attention<P> &t, size_t width) {
  const size_t chunk = t.a.lsh.chunk, tiles = linnet_divide_up(chunk, TILE_ROWS);
  return dim3((unsigned)(linnet_divide_up(t.pack.longest, chunk) * tiles), (unsigned)t.a.heads * column_tiles(width),
              (unsigned)t.pack.sequences);
}

template <class P> void run_forward(struct linnet_device *device, attention<P> t, typename P::activation *out) {
  const size_t shared = (2 * TILE_SIZE + WEIGHT_SIZE + TILE_ROWS) * sizeof(float);
  project(device, t, t.q, t.q.x, true, t.inverse);
  for (t.this_round = 0; t.this_round < t.a.lsh.rounds; t.this_round++) {
    sort_round(device, t);
    if (t.this_round > 0)
      linnet_cuda_copy(device, before_of(t), t.largest, 2 * t.a.heads * t.pack.rows * sizeof(float));
    LINNET_LAUNCH(device, forward_kernel, grid_of(t, t.v.width), TILE_THREADS, shared, t, before_of(t), out);
  }
}

template <class P, role ROLE>
void add_gradient(struct linnet_device *device, const attention<P> &t, const gradient<P, ROLE> &g) {
  LINNET_LAUNCH(device, backward_kernel, grid_of(t, g.b.width), TILE_THREADS,
                (2 * TILE_SIZE + WEIGHT_SIZE) * sizeof(float), t, g);
}

template <class P>
void run_backward(struct linnet_device *device, attention<P> t, const typename P::activation *out,
                  const typename P::activation *dout, typename P::activation *dq, typename P::activation *dv) {
  float *dq_sums = t.sums, *dv_sums = dq_sums + t.pack.rows * t.a.heads * t.a.key_width;
  t.dout = operand_of(dout, t.a.out_ld, t.a.width, false, nullptr);
  project(device, t, t.q, t.q.x, true, t.inverse);
  project(device, t, t.dout, out, false, t.d);
  for (t.this_round = 0; t.this_round < t.a.lsh.rounds; t.this_round++) {
    const bool first = t.this_round == 0, last = t.this_round + 1 == t.a.lsh.rounds;
    add_gradient(device, t, gradient<P, QUERIES>{first, false, t.key, dq_sums, dq, t.a.key_ld});
    add_gradient(device, t, gradient<P, KEYS>{false, last, t.q, dq_sums, dq, t.a.key_ld});
    add_gradient(device, t, gradient<P, VALUES>{first, last, t.dout, dv_sums, dv, t.a.value_ld});
  }
}

template <bool CAUSAL>
void forward(struct linnet_device *device, const struct linnet_attention_call *c, const struct linnet_cuda_pack *p) {
  if (p->rows > 0)
    for_products(device, [&](auto as) { run_forward(device, attention_of(as, c, p, CAUSAL), as(c->out)); });
}

template <bool CAUSAL>
void backward(struct linnet_device *device, const struct linnet_attention_call *c, const struct linnet_cuda_pack *p) {
  const void *out = c->out;
  if (p->rows > 0)
    for_products(device, [&](auto as) {
      run_backward(device, attention_of(as, c, p, CAUSAL), as(out), as(c->dout), as(c->dq), as(c->dv));
    });
}

} // namespace

const struct linnet_cuda_attention_ops linnet_cuda_lsh_attention = {saved_bytes, work_bytes, forward<false>,
                                                                    backward<false>};
const struct linnet_cuda_attention_ops linnet_cuda_causal_lsh_attention = {saved_bytes, work_bytes, forward<true>,
                                                                           backward<true>};
