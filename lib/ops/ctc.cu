/* CTC of all sequences of a batch, with the formulas of ctc.c. There are three launches, none of which limits the
 * number of labels:
 *
 *   rows       per frame, the logarithm (base 2) of the sum that normalises its logits
 *   sweeps     per sequence, two blocks at the same time: alpha from the first frame on, beta from the last
 *   gradients  per frame, a warp: alpha beta / P, summed for each symbol in the order of the labels
 *
 * Probabilities are pairs m 2^e with a float m in [1, 2), or 0, and an integer e. Like logarithms, they allow sums and
 * products of any length. They need no logarithm in the loop and have a relative error of 2^-24 per step, while the
 * logarithm of a long sequence would leave 10 bits. */
#include "backend/cuda/kernel.h"

namespace {

enum {
  WARPS = 8,
  THREADS = 32 * WARPS,
  MAX_SWEEPERS = 1024, /* maximum of the threads of a sweep */
  AHEAD = 8,           /* frames whose symbols are read at once */
  MAX_SHARED = 48 * 1024
};

/* --- numbers of any size ------------------------------------------------------------------------------------------ */

struct __align__(8) number { /* one load or store */
  float m;
  int e;
};

enum { NOTHING = -(1 << 30) }; /* exponent of 0 */

/* 2^e for e in [-126, 127]; 0 for smaller e. */
static __device__ __forceinline__ float power(int e) {
  return e < -126 ? 0 : __int_as_float((e + 127) << 23);
}

/* Normalises m 2^e, for m >= 0 of moderate size: brings m to [1, 2). */
static __device__ __forceinline__ number normal(float m, int e) {
  const int bits = __float_as_int(m), own = (bits >> 23) - 127;
  number n = {__int_as_float((bits & 0x7fffff) | 0x3f800000), e + own};
  if (m < FLT_MIN)
    n.m = 0, n.e = NOTHING;
  return n;
}

static __device__ __forceinline__ number add(number a, number b, number c) {
  const int e = max(a.e, max(b.e, c.e));
  if (e == NOTHING)
    return a;
  return normal(a.m * power(a.e - e) + b.m * power(b.e - e) + c.m * power(c.e - e), e);
}

/* Smaller exponents become 0, so that no sum of exponents overflows. The limits suffice for 20 000 frames whose logits
 * differ by 15 000. */
enum { MIN_EXPONENT = -(1 << 29), MIN_FRAME_EXPONENT = -100000000 };

static __device__ __forceinline__ number multiply(number a, number b) {
  const number zero = {0, NOTHING};
  return a.e == NOTHING || b.e == NOTHING || a.e + b.e < MIN_EXPONENT ? zero : normal(a.m * b.m, a.e + b.e);
}

/* 2^x for x up to about 0; 0 for x = -infinity. */
static __device__ __forceinline__ number exponential(double x) {
  const number zero = {0, NOTHING};
  if (!(x > MIN_FRAME_EXPONENT))
    return zero;
  const double whole = floor(x);
  return normal(exp2f((float)(x - whole)), (int)whole);
}

/* --- a batch ------------------------------------------------------------------------------------------------------ */

struct batch {
  struct linnet_cuda_pack pack;
  size_t symbols, ld; /* ld: number of states of a frame in memory */
  const uint32_t *label_offsets;
  const int *labels;
  const float *logits;
  float scale;
  float *gradient;
  double *loss;
  double *shift;                /* (T): log2 of the sum of exp(logits); NaN if the frame has no distribution */
  number *alpha, *beta, *total; /* (T, ld), beta without the symbol of its own frame; total (sequences): P */
  number *rows;                 /* (sequences, 2, 2, ld): for sweeps whose rows do not fit into shared memory */
  int *next;                    /* (labels): index of the next equal label in the sequence; 0: none */
  int *leads;                   /* (labels): whether no earlier label of the sequence is equal */
};

#define LOG2_E 1.4426950408889634074
#define LN_2 0.69314718055994530942

static __global__ void __launch_bounds__(THREADS) row_kernel(batch b) {
  const size_t lane = threadIdx.x % 32;
  for (size_t t = (size_t)blockIdx.x * WARPS + threadIdx.x / 32; t < b.pack.rows; t += (size_t)gridDim.x * WARPS) {
    const float *x = b.logits + t * b.symbols;
    float largest = -INFINITY, sum = 0;
    for (size_t k = lane; k < b.symbols; k += 32)
      largest = fmaxf(largest, x[k]); /* NaN reaches the sum */
    largest = warp_max(largest);
    for (size_t k = lane; k < b.symbols; k += 32)
      sum += expf(x[k] - largest);
    sum = warp_sum(sum);
    if (lane == 0)
      b.shift[t] = largest * LOG2_E + log2((double)sum); /* NaN if largest is infinite */
  }
}

/* --- sweeps ------------------------------------------------------------------------------------------------------- */

/* One sequence in one direction: +1 for alpha, -1 for beta. Both directions compute the same, if states are counted
 * from their own end. A step computes, from after() of the previous step:
 *   before(s) = sum of after(s), after(s - d) [, after(s - 2 d)],   after(s) = before(s) p(symbol of s)
 */
struct sweep {
  int direction, states;
  size_t first, frames; /* rows of the batch */
  const int *label;
  number *stored; /* (frames, ld) */
};

static __device__ sweep sweep_of(const batch &b, size_t s, int direction) {
  sweep w;
  w.direction = direction;
  w.first = b.pack.offsets[s], w.frames = b.pack.offsets[s + 1] - w.first;
  w.label = b.labels + b.label_offsets[s];
  w.states = 2 * (int)(b.label_offsets[s + 1] - b.label_offsets[s]) + 1;
  w.stored = (direction > 0 ? b.alpha : b.beta) + w.first * b.ld;
  return w;
}

static __device__ __forceinline__ size_t frame_at(const sweep &w, size_t step) {
  return w.direction > 0 ? step : w.frames - 1 - step;
}

static __device__ __forceinline__ number probability(const batch &b, const sweep &w, size_t step, int s) {
  const size_t t = w.first + frame_at(w, step);
  const int symbol = s % 2 ? w.label[s / 2] : 0;
  return exponential(b.logits[t * b.symbols + symbol] * LOG2_E - b.shift[t]);
}

/* Whether a path may go from the previous label directly to state s (alpha), or from state s to the next label (beta).
 */
static __device__ __forceinline__ bool may_skip(const sweep &w, int s) {
  const int upper = w.direction > 0 ? s : s + 2;
  return s % 2 && upper >= 3 && upper < w.states && w.label[upper / 2] != w.label[upper / 2 - 1];
}

static __device__ __forceinline__ number step_before(const sweep &w, size_t step, int s, const number *last) {
  const number zero = {0, NOTHING}, one = {1, 0};
  const int d = w.direction, neighbour = s - d;
  if (step == 0)
    return (d > 0 ? s < 2 : s + 2 >= w.states) ? one : zero;
  return add(last[s], neighbour >= 0 && neighbour < w.states ? last[neighbour] : zero,
             may_skip(w, s) ? last[s - 2 * d] : zero);
}

/* Runs `count` steps from `step` on. `rows` holds the previous and the current step, alternately. symbols (AHEAD, ld)
 * may be NULL; a thread reads only what it wrote there itself. */
static __device__ void walk(const batch &b, const sweep &w, size_t step, size_t count, number *rows, number *symbols) {
  for (int s = (int)threadIdx.x; symbols && s < w.states; s += (int)blockDim.x) {
    const int symbol = s % 2 ? w.label[s / 2] : 0;
    float x[AHEAD];
    double shift[AHEAD];
#pragma unroll
    for (size_t i = 0; i < AHEAD; i++) {
      const size_t t = w.first + frame_at(w, linnet_min_size(step + i, w.frames - 1));
      x[i] = b.logits[t * b.symbols + symbol], shift[i] = b.shift[t];
    }
#pragma unroll
    for (size_t i = 0; i < AHEAD; i++)
      symbols[i * b.ld + s] = exponential(x[i] * LOG2_E - shift[i]);
  }
  for (size_t i = 0; i < count; i++) {
    const number *last = rows + (step + i + 1) % 2 * b.ld;
    for (int s = (int)threadIdx.x; s < w.states; s += (int)blockDim.x) {
      const number before = step_before(w, step + i, s, last);
      const number after = multiply(before, symbols ? symbols[i * b.ld + s] : probability(b, w, step + i, s));
      rows[(step + i) % 2 * b.ld + s] = after;
      w.stored[frame_at(w, step + i) * b.ld + s] = w.direction > 0 ? after : before;
    }
    __syncthreads();
  }
}

/* For each label: finds the next equal label of the sequence, and whether an earlier one exists. */
static __device__ void link_labels(const batch &b, const sweep &w, size_t first_label) {
  const int labels = w.states / 2;
  for (int i = (int)threadIdx.x; i < labels; i += (int)blockDim.x) {
    int next = i + 1, before = i - 1;
    while (next < labels && w.label[next] != w.label[i])
      next++;
    while (before >= 0 && w.label[before] != w.label[i])
      before--;
    b.next[first_label + i] = next < labels ? next : 0;
    b.leads[first_label + i] = before < 0;
  }
}

/* Computes P and the loss from the last step of alpha. Called by thread 0. */
static __device__ void finish(const batch &b, const sweep &w, size_t s, bool good, const number *last) {
  const number zero = {0, NOTHING}, one = {1, 0};
  number total = w.states == 1 ? one : zero;
  if (w.frames > 0)
    total = add(last[w.states - 1], w.states > 1 ? last[w.states - 2] : zero, zero);
  b.loss[s] = total.e == NOTHING ? INFINITY : -LN_2 * (total.e + log2((double)total.m));
  if (!good) {
    b.loss[s] = NAN;
    total = zero;
  }
  b.total[s] = total;
}

/* Whether all frames have a distribution. Called by all threads. */
static __device__ bool check_frames(const batch &b, const sweep &w, unsigned *bad) {
  if (threadIdx.x == 0)
    *bad = 0;
  __syncthreads();
  for (size_t t = threadIdx.x; t < w.frames; t += blockDim.x)
    if (isnan(b.shift[w.first + t]) || isinf(b.shift[w.first + t]))
      atomicAdd(bad, 1u);
  __syncthreads();
  return !*bad;
}

/* Block (sequence, direction). Shared memory: a counter in 16 bytes; if SMALL, also rows (2, ld) and symbols (AHEAD,
 * ld). */
template <bool SMALL> static __global__ void __launch_bounds__(MAX_SWEEPERS) sweep_kernel(batch b) {
  LINNET_SHARED(number, shared);
  const size_t s = blockIdx.x;
  const sweep w = sweep_of(b, s, blockIdx.y == 0 ? 1 : -1);
  number *rows = SMALL ? shared + 2 : b.rows + (2 * s + blockIdx.y) * 2 * b.ld;
  number *symbols = SMALL ? rows + 2 * b.ld : nullptr;
  const bool good = check_frames(b, w, reinterpret_cast<unsigned *>(shared));
  for (size_t step = 0; step < w.frames; step += AHEAD)
    walk(b, w, step, linnet_min_size(AHEAD, w.frames - step), rows, symbols);
  if (w.direction < 0)
    return;
  link_labels(b, w, b.label_offsets[s]);
  if (threadIdx.x == 0)
    finish(b, w, s, good, rows + (w.frames + 1) % 2 * b.ld);
}

/* --- gradients ---------------------------------------------------------------------------------------------------- */

/* The state probabilities of one frame. */
struct posterior {
  const number *alpha, *beta; /* (states) */
  number total;
};

/* alpha beta / P of a state. */
static __device__ __forceinline__ float posterior_of(const posterior &p, int s) {
  const number a = p.alpha[s], b = p.beta[s];
  if (a.e == NOTHING || b.e == NOTHING)
    return 0;
  return a.m * b.m / p.total.m * power(a.e + b.e - p.total.e);
}

/* gradient (symbols) -= scale times the posteriors of the labels. All labels with the same symbol are summed by one
 * lane, that of the first of them. */
static __device__ void subtract_labels(const batch &b, const posterior &p, size_t first_label, int labels,
                                       float *gradient) {
  for (int i = (int)threadIdx.x % 32; i < labels; i += 32) {
    if (!b.leads[first_label + i])
      continue;
    float sum = posterior_of(p, 2 * i + 1);
    for (int next = b.next[first_label + i]; next > 0; next = b.next[first_label + next])
      sum += posterior_of(p, 2 * next + 1);
    gradient[b.labels[first_label + i]] -= b.scale * sum;
  }
}

static __device__ void frame_gradient(const batch &b, size_t s, size_t t) {
  const posterior p = {b.alpha + t * b.ld, b.beta + t * b.ld, b.total[s]};
  const size_t first_label = b.label_offsets[s];
  const int labels = (int)(b.label_offsets[s + 1] - first_label), lane = (int)threadIdx.x % 32;
  const float *x = b.logits + t * b.symbols;
  float *gradient = b.gradient + t * b.symbols;
  const bool feasible = p.total.e != NOTHING;
  for (size_t k = lane; k < b.symbols; k += 32)
    gradient[k] = feasible ? b.scale * exp2f((float)(x[k] * LOG2_E - b.shift[t])) : 0;
  if (!feasible)
    return;
  float blank = 0;
  for (int i = lane; i <= labels; i += 32)
    blank += posterior_of(p, 2 * i);
  blank = warp_sum(blank);
  __syncwarp();
  subtract_labels(b, p, first_label, labels, gradient);
  if (lane == 0)
    gradient[0] -= b.scale * blank;
}

/* Block: a piece. */
static __global__ void __launch_bounds__(THREADS) gradient_kernel(batch b) {
  const struct linnet_cuda_piece piece = b.pack.table[blockIdx.x];
  for (size_t row = threadIdx.x / 32; row < piece.rows; row += WARPS)
    frame_gradient(b, piece.sequence, piece.first + row);
}

/* --- the op ------------------------------------------------------------------------------------------------------- */

size_t states_of(const struct linnet_cuda_ctc *c) {
  return 2 * c->max_labels + 1;
}

batch batch_of(const struct linnet_cuda_ctc *c, void *work) {
  batch b = {};
  b.pack = *c->pack;
  b.symbols = c->symbols, b.ld = states_of(c);
  b.label_offsets = c->label_offsets, b.labels = c->labels;
  b.logits = c->logits, b.scale = c->scale, b.gradient = c->gradient, b.loss = c->loss;
  b.shift = static_cast<double *>(work);
  b.alpha = reinterpret_cast<number *>(b.shift + c->pack->rows);
  b.beta = b.alpha + c->pack->rows * b.ld;
  b.total = b.beta + c->pack->rows * b.ld;
  b.rows = b.total + c->pack->sequences;
  b.next = reinterpret_cast<int *>(b.rows + 4 * c->pack->sequences * b.ld);
  b.leads = b.next + c->total_labels;
  return b;
}

} // namespace

size_t linnet_cuda_ctc_work_bytes(const struct linnet_cuda_ctc *c) {
  const size_t numbers = states_of(c) * (2 * c->pack->rows + 4 * c->pack->sequences) + c->pack->sequences;
  return c->pack->rows * sizeof(double) + numbers * sizeof(number) + 2 * c->total_labels * sizeof(int);
}

void linnet_cuda_ctc(struct linnet_device *device, const struct linnet_cuda_ctc *c, void *work) {
  const batch b = batch_of(c, work);
  const size_t shared = (2 + (2 + AHEAD) * b.ld) * sizeof(number), threads = (b.ld + 31) / 32 * 32;
  const unsigned sweepers = (unsigned)linnet_min_size(threads, MAX_SWEEPERS);
  const dim3 grid((unsigned)b.pack.sequences, b.gradient ? 2 : 1);
  if (b.pack.sequences == 0)
    return;
  if (b.pack.rows > 0)
    LINNET_LAUNCH(device, row_kernel, linnet_blocks(b.pack.rows, WARPS), THREADS, 0, b);
  if (shared <= MAX_SHARED)
    LINNET_LAUNCH(device, sweep_kernel<true>, grid, sweepers, shared, b);
  else
    LINNET_LAUNCH(device, sweep_kernel<false>, grid, sweepers, 2 * sizeof(number), b);
  if (b.gradient && b.pack.pieces > 0)
    LINNET_LAUNCH(device, gradient_kernel, (unsigned)b.pack.pieces, THREADS, 0, b);
}
