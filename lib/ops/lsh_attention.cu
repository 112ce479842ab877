/* LSH attention: formulas as in lsh_attention.c. Per round: the rotation, buckets, a stable counting sort of each
 * sequence by a block, and the pairs of each chunk in tiles. Rounds are launches, one behind the other, so that a row's
 * sums are its own block's in each; backward has a launch for what a row gets as a query, as a key, and as a value. */
#include "backend/cuda/running_softmax.h"

extern "C" {
#include "base/philox.h"
#include "ops/lsh_attention.h"
}

namespace {

enum { WARPS = 8, THREADS = 32 * WARPS };

struct attention {
  struct linnet_attention a;
  struct linnet_cuda_pack pack;
  bool causal;
  float scale; /* of scores: 1 / sqrt(C) */
  size_t this_round;
  operand q, key, v, dout;  /* key: q / |q| */
  float *largest, *sum;     /* (heads, T) */
  uint32_t *frame, *bucket; /* (rounds, heads, T): the sorted order of each sequence */
  float *inverse, *d;       /* (heads, T): 1 / |q|, dout . out */
  float *rotation;          /* (C, buckets / 2) */
  uint32_t *unsorted;       /* (heads, T): buckets in order of time */
  float *out;
};

static __device__ __forceinline__ size_t sorted_place(const attention &t, size_t head, size_t at) {
  return (t.this_round * t.a.heads + head) * t.pack.rows + at;
}

/* --- buckets ------------------------------------------------------------------------------------------------------ */

static __global__ void __launch_bounds__(THREADS) rotation_kernel(attention t) {
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

/* The choice of linnet_lsh_bucket, with its rounding: no multiply-add is fused. */
static __device__ uint32_t bucket_of(const attention &t, const float *q) {
  const size_t half = t.a.lsh.buckets / 2;
  size_t best = 0;
  float largest = -1;
  bool negative = false;
  for (size_t b = 0; b < half; b++) {
    float x = 0;
    for (size_t c = 0; c < t.a.key_width; c++)
      x = __fadd_rn(x, __fmul_rn(q[c], t.rotation[c * half + b]));
    if (fabsf(x) > largest || (fabsf(x) == largest && negative && x > 0))
      largest = fabsf(x), negative = x < 0, best = b;
  }
  return (uint32_t)(negative ? best + half : best);
}

static __global__ void __launch_bounds__(THREADS) hash_kernel(attention t) {
  const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, frame = i / t.a.heads, head = i % t.a.heads;
  if (i < t.pack.rows * t.a.heads)
    t.unsorted[head * t.pack.rows + frame] = bucket_of(t, t.q.x + frame * t.q.ld + head * t.q.width);
}

/* Counts of buckets (buckets) to the places where they begin; one thread, as they are few. */
static __device__ void starts_of(size_t buckets, uint32_t *counts) {
  uint32_t start = 0;
  for (size_t b = 0; b < buckets; b++) {
    const uint32_t count = counts[b];
    counts[b] = start;
    start += count;
  }
}

/* Block (sequence, head). Rows are placed 256 at a time: each counts those of its bucket before it. Shared: buckets of
 * these rows, then a place for each bucket. */
static __global__ void __launch_bounds__(THREADS) sort_kernel(attention t) {
  LINNET_SHARED(uint32_t, own);
  uint32_t *places = own + THREADS;
  const size_t first = t.pack.offsets[blockIdx.x], rows = t.pack.offsets[blockIdx.x + 1] - first, head = blockIdx.y;
  const uint32_t *bucket = t.unsorted + head * t.pack.rows + first;
  for (size_t b = threadIdx.x; b < t.a.lsh.buckets; b += THREADS)
    places[b] = 0;
  __syncthreads();
  for (size_t i = threadIdx.x; i < rows; i += THREADS)
    atomicAdd(&places[bucket[i]], 1u);
  __syncthreads();
  if (threadIdx.x == 0)
    starts_of(t.a.lsh.buckets, places);
  for (size_t begin = 0; begin < rows; begin += THREADS) {
    const size_t count = smaller(THREADS, rows - begin);
    uint32_t before = 0, place = 0;
    bool last = true;
    if (threadIdx.x < count)
      own[threadIdx.x] = bucket[begin + threadIdx.x];
    __syncthreads();
    for (size_t i = 0; i < count && threadIdx.x < count; i++) {
      before += i < threadIdx.x && own[i] == own[threadIdx.x];
      last = last && !(i > threadIdx.x && own[i] == own[threadIdx.x]);
    }
    if (threadIdx.x < count) {
      place = places[own[threadIdx.x]] + before;
      t.frame[sorted_place(t, head, first + place)] = (uint32_t)(first + begin + threadIdx.x);
      t.bucket[sorted_place(t, head, first + place)] = own[threadIdx.x];
    }
    __syncthreads();
    if (threadIdx.x < count && last)
      places[own[threadIdx.x]] = place + 1;
    __syncthreads();
  }
}

/* 1 / |q|, or d = dout . out: a warp has a row of a head. */
static __global__ void __launch_bounds__(THREADS)
    project_kernel(attention t, const float *x, const float *y, size_t ld, size_t width, bool norm, float *to) {
  const size_t i = (size_t)blockIdx.x * WARPS + threadIdx.x / 32, frame = i / t.a.heads, head = i % t.a.heads;
  if (i >= t.pack.rows * t.a.heads)
    return;
  float sum = 0;
  for (size_t c = threadIdx.x % 32; c < width; c += 32)
    sum = fmaf(x[frame * ld + head * width + c], y[frame * ld + head * width + c], sum);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0)
    to[head * t.pack.rows + frame] = norm ? 1 / sqrtf(sum + (float)LINNET_LSH_EPSILON) : sum;
}

/* --- the pairs of a chunk ----------------------------------------------------------------------------------------- */

/* What a block has: places [first, end) of the sorted order, and the places that have to do with them. */
struct run {
  size_t head, column;
  size_t first, end, other_first, other_end;
};

/* Block (tile of a chunk, (head, tile of columns), sequence). Keys of a query lie in its chunk and the one before,
 * queries of a key in its chunk and the one behind. False: there is no such tile. */
static __device__ bool run_of(const attention &t, size_t width, bool queries, run *r) {
  const size_t chunk = t.a.lsh.chunk, tiles = (chunk + TILE_ROWS - 1) / TILE_ROWS;
  const size_t across = (width + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const size_t begin = t.pack.offsets[blockIdx.z], end = t.pack.offsets[blockIdx.z + 1];
  const size_t own = begin + blockIdx.x / tiles * chunk, own_end = smaller(own + chunk, end);
  r->head = blockIdx.y / across, r->column = blockIdx.y % across * TILE_COLUMNS;
  r->first = own + blockIdx.x % tiles * TILE_ROWS;
  r->end = smaller(r->first + TILE_ROWS, own_end);
  r->other_first = queries && own > begin ? own - chunk : own;
  r->other_end = queries ? own_end : smaller(own_end + chunk, end);
  return r->first < r->end;
}

static __device__ tile_rows sorted_rows(const attention &t, size_t head, size_t first, size_t end) {
  const tile_rows rows = {t.pack.rows, head, first, (int)smaller(end - first, TILE_ROWS),
                          t.frame + sorted_place(t, head, first)};
  return rows;
}

/* Whether the query at place i attends to the key at place j. */
static __device__ __forceinline__ bool attends(const attention &t, size_t head, size_t i, size_t j) {
  return t.bucket[sorted_place(t, head, i)] == t.bucket[sorted_place(t, head, j)] && !(t.causal && j > i);
}

static __device__ __forceinline__ float score(const attention &t, float product, bool self) {
  return product * t.scale + (self ? (float)LINNET_LSH_SELF : 0);
}

static __device__ void score_tile(const attention &t, const tile_rows &i, const tile_rows &j, float *weights,
                                  float *room) {
  tile<4, 4> w = {};
  multiply_rows(&w, t.q, i, t.key, j, room);
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 4; n++) {
      const int row = tile_row(r), column = tile_column(n);
      const bool seen = row < i.rows && column < j.rows && attends(t, i.head, i.first + row, j.first + column);
      weights[row * WEIGHT_LD + column] = seen ? score(t, w.x[r][n], i.first + row == j.first + column) : -INFINITY;
    }
  __syncthreads();
}

/* out of a row is its sum so far, relative to exp(largest); the last round divides by the sum. Each tile of columns
 * needs largest and sum as they were: they are read from `before` (2, heads, T) and written by the first one. */
static __global__ void __launch_bounds__(TILE_THREADS) forward_kernel(attention t, const float *before) {
  LINNET_SHARED(float, room);
  float *weights = room + 2 * TILE_SIZE, *per_row = weights + WEIGHT_SIZE;
  run run;
  if (!run_of(t, t.v.width, true, &run))
    return;
  const tile_rows i = sorted_rows(t, run.head, run.first, run.end);
  const size_t all = t.a.heads * t.pack.rows;
  const bool inside = quad_row() < i.rows, first = t.this_round == 0, last = t.this_round + 1 == t.a.lsh.rounds;
  const size_t place = run.head * t.pack.rows + (inside ? frame_of(i, quad_row()) : 0);
  running_softmax row = {first || !inside ? -INFINITY : before[place], first || !inside ? 0 : before[all + place]};
  const float largest_before = row.largest;
  tile<4, 2> y = {};
  for (size_t j = run.other_first; j < run.other_end; j += TILE_ROWS) {
    const tile_rows keys = sorted_rows(t, run.head, j, run.other_end);
    score_tile(t, i, keys, weights, room);
    scale_rows(exponentials(&row, weights), &y, per_row);
    multiply_weights(&y, weights, t.v, keys, run.column, room);
  }
  if (threadIdx.x % 4 == 0) {
    per_row[quad_row()] = expf(largest_before - row.largest);
    room[quad_row()] = last ? 1 / row.sum : 1;
    if (inside && run.column == 0)
      t.largest[place] = row.largest, t.sum[place] = row.sum;
  }
  __syncthreads();
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++) {
      const size_t column = run.column + tile_column(n);
      if (tile_row(r) >= i.rows || column >= t.v.width)
        continue;
      float *out = t.out + frame_of(i, tile_row(r)) * t.a.out_ld + run.head * t.v.width + column;
      *out = ((first ? 0 : *out * per_row[tile_row(r)]) + y.x[r][n]) * room[tile_row(r)];
    }
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

enum role { QUERIES, KEYS, VALUES };

/* ds of rows t against rows s, or p for values; along: a thread's shares of the sums of ds (q . key), for keys. */
static __device__ void weigh(const attention &t, enum role role, const tile_rows &rows, const tile_rows &others,
                             float *weights, float *along, float *room) {
  const bool queries = role == QUERIES;
  tile<4, 4> w = {}, dp = {};
  multiply_rows(&w, queries ? t.q : t.key, rows, queries ? t.key : t.q, others, room);
  if (role != VALUES)
    multiply_rows(&dp, queries ? t.dout : t.v, rows, queries ? t.v : t.dout, others, room);
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 4; n++) {
      const int row = tile_row(r), column = tile_column(n);
      const size_t own = rows.first + row, other = others.first + column, i = queries ? own : other;
      float value = 0;
      if (row < rows.rows && column < others.rows && attends(t, rows.head, i, queries ? other : own)) {
        const size_t frame = queries ? frame_of(rows, row) : frame_of(others, column);
        const size_t place = rows.head * t.pack.rows + frame;
        value = expf(score(t, w.x[r][n], own == other) - t.largest[place]) / t.sum[place];
        if (role != VALUES)
          value *= (dp.x[r][n] - t.d[place]) * t.scale;
      }
      along[r] = fmaf(value, w.x[r][n], along[r]);
      weights[row * WEIGHT_LD + column] = value;
    }
}

/* The gradient of a key through its norm: (y - key along) / |q|. */
static __device__ void through_norm(const attention &t, const tile_rows &rows, size_t column, float *along,
                                    tile<4, 2> *y) {
  for (int r = 0; r < 4; r++) {
    float sum = along[r];
    for (int lanes = 8; lanes > 0; lanes /= 2) /* the 16 threads of a row */
      sum += __shfl_xor_sync(LINNET_ALL_LANES, sum, lanes);
    for (int n = 0; n < 2; n++) {
      const size_t c = column + tile_column(n);
      if (tile_row(r) >= rows.rows || c >= t.q.width)
        continue;
      const size_t frame = frame_of(rows, tile_row(r));
      const float inverse = t.inverse[rows.head * t.pack.rows + frame];
      const float key = t.q.x[frame * t.q.ld + rows.head * t.q.width + c] * inverse;
      y->x[r][n] = (y->x[r][n] - key * sum) * inverse;
    }
  }
}

struct gradient {
  enum role role;
  bool first; /* overwrites */
  operand b;
  float *y;
  size_t ld;
};

static __global__ void __launch_bounds__(TILE_THREADS) backward_kernel(attention t, gradient g) {
  LINNET_SHARED(float, room);
  float *weights = room + 2 * TILE_SIZE, along[4] = {0, 0, 0, 0};
  run run;
  if (!run_of(t, g.b.width, g.role == QUERIES, &run))
    return;
  const tile_rows rows = sorted_rows(t, run.head, run.first, run.end);
  tile<4, 2> y = {};
  for (size_t j = run.other_first; j < run.other_end; j += TILE_ROWS) {
    const tile_rows others = sorted_rows(t, run.head, j, run.other_end);
    weigh(t, g.role, rows, others, weights, along, room);
    multiply_weights(&y, weights, g.b, others, run.column, room);
  }
  if (g.role == KEYS)
    through_norm(t, rows, run.column, along, &y);
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++) {
      const size_t column = run.column + tile_column(n);
      if (tile_row(r) >= rows.rows || column >= g.b.width)
        continue;
      float *to = g.y + frame_of(rows, tile_row(r)) * g.ld + run.head * g.b.width + column;
      *to = g.first ? y.x[r][n] : *to + y.x[r][n];
    }
}

/* --- the rows of the table ---------------------------------------------------------------------------------------- */

size_t saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  (void)sequences;
  return a->heads * frames * (2 * sizeof(float) + 2 * a->lsh.rounds * sizeof(uint32_t));
}

/* 1 / |q|, d, buckets, largest and sum before a round, the rotation. */
size_t work_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  (void)sequences;
  return (5 * a->heads * frames + a->key_width * (a->lsh.buckets / 2)) * sizeof(float);
}

attention attention_of(const struct linnet_attention *a, const struct linnet_cuda_pack *p, bool causal, const float *q,
                       const float *v, const void *saved, void *work) {
  attention t = {};
  const size_t n = a->heads * p->rows;
  t.a = *a, t.pack = *p, t.causal = causal, t.scale = 1 / sqrtf((float)a->key_width);
  t.largest = static_cast<float *>(const_cast<void *>(saved)), t.sum = t.largest + n;
  t.frame = reinterpret_cast<uint32_t *>(t.sum + n), t.bucket = t.frame + a->lsh.rounds * n;
  t.inverse = static_cast<float *>(work), t.d = t.inverse + n;
  t.unsorted = reinterpret_cast<uint32_t *>(t.d + n);
  t.rotation = t.d + 4 * n;
  t.q = operand_of(q, a->key_ld, a->key_width, false, nullptr);
  t.key = operand_of(q, a->key_ld, a->key_width, false, t.inverse);
  t.v = operand_of(v, a->value_ld, a->width, false, nullptr);
  return t;
}

/* largest and sum before a round. */
float *before_of(const attention &t) {
  return t.d + 2 * t.a.heads * t.pack.rows;
}

void project(struct linnet_device *device, const attention &t, const float *x, const float *y, size_t ld, size_t width,
             bool norm, float *to) {
  LINNET_LAUNCH(device, project_kernel, (unsigned)((t.pack.rows * t.a.heads + WARPS - 1) / WARPS), THREADS, 0, t, x, y,
                ld, width, norm, to);
}

void sort_round(struct linnet_device *device, const attention &t) {
  const size_t pairs = (t.a.key_width * (t.a.lsh.buckets / 2) + 1) / 2;
  LINNET_LAUNCH(device, rotation_kernel, linnet_blocks(pairs, THREADS), THREADS, 0, t);
  LINNET_LAUNCH(device, hash_kernel, (unsigned)((t.pack.rows * t.a.heads + THREADS - 1) / THREADS), THREADS, 0, t);
  LINNET_LAUNCH(device, sort_kernel, dim3((unsigned)t.pack.sequences, (unsigned)t.a.heads), THREADS,
                (THREADS + t.a.lsh.buckets) * sizeof(uint32_t), t);
}

dim3 grid_of(const attention &t, size_t width) {
  const size_t chunk = t.a.lsh.chunk, tiles = (chunk + TILE_ROWS - 1) / TILE_ROWS;
  return dim3((unsigned)((t.pack.longest + chunk - 1) / chunk * tiles), (unsigned)t.a.heads * column_tiles(width),
              (unsigned)t.pack.sequences);
}

void forward_either(struct linnet_device *device, bool causal, const struct linnet_attention *a,
                    const struct linnet_cuda_pack *p, const float *q, const float *v, void *saved, float *out,
                    void *work) {
  attention t = attention_of(a, p, causal, q, v, saved, work);
  const size_t shared = (2 * TILE_SIZE + WEIGHT_SIZE + TILE_ROWS) * sizeof(float);
  if (p->rows == 0)
    return;
  t.out = out;
  project(device, t, q, q, a->key_ld, a->key_width, true, t.inverse);
  for (t.this_round = 0; t.this_round < a->lsh.rounds; t.this_round++) {
    sort_round(device, t);
    if (t.this_round > 0)
      linnet_cuda_copy(device, before_of(t), t.largest, 2 * a->heads * p->rows * sizeof(float));
    LINNET_LAUNCH(device, forward_kernel, grid_of(t, a->width), TILE_THREADS, shared, t, before_of(t));
  }
}

void gradient_of(struct linnet_device *device, const attention &t, enum role role, bool first, const operand &b,
                 float *y, size_t ld) {
  const gradient g = {role, first, b, y, ld};
  LINNET_LAUNCH(device, backward_kernel, grid_of(t, b.width), TILE_THREADS,
                (2 * TILE_SIZE + WEIGHT_SIZE) * sizeof(float), t, g);
}

void backward_either(struct linnet_device *device, bool causal, const struct linnet_attention *a,
                     const struct linnet_cuda_pack *p, const float *q, const float *v, const void *saved,
                     const float *out, const float *dout, float *dq, float *dv, void *work) {
  attention t = attention_of(a, p, causal, q, v, saved, work);
  if (p->rows == 0)
    return;
  t.dout = operand_of(dout, a->out_ld, a->width, false, nullptr);
  project(device, t, q, q, a->key_ld, a->key_width, true, t.inverse);
  project(device, t, dout, out, a->out_ld, a->width, false, t.d);
  for (t.this_round = 0; t.this_round < a->lsh.rounds; t.this_round++) {
    gradient_of(device, t, QUERIES, t.this_round == 0, t.key, dq, a->key_ld);
    gradient_of(device, t, KEYS, false, t.q, dq, a->key_ld);
    gradient_of(device, t, VALUES, t.this_round == 0, t.dout, dv, a->value_ld);
  }
}

template <bool CAUSAL>
void forward(struct linnet_device *device, const struct linnet_attention *a, const struct linnet_cuda_pack *p,
             const float *q, const float *, const float *v, void *saved, float *out, void *work) {
  forward_either(device, CAUSAL, a, p, q, v, saved, out, work);
}

template <bool CAUSAL>
void backward(struct linnet_device *device, const struct linnet_attention *a, const struct linnet_cuda_pack *p,
              const float *q, const float *, const float *v, const void *saved, const float *out, const float *dout,
              float *dq, float *, float *dv, void *work) {
  backward_either(device, CAUSAL, a, p, q, v, saved, out, dout, dq, dv, work);
}

} // namespace

const struct linnet_cuda_attention_ops linnet_cuda_lsh_attention = {saved_bytes, work_bytes, forward<false>,
                                                                    backward<false>};
const struct linnet_cuda_attention_ops linnet_cuda_causal_lsh_attention = {saved_bytes, work_bytes, forward<true>,
                                                                           backward<true>};
