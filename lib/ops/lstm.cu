/* LSTM without cuDNN: one launch per step. The longest sequences come first, so the sequences that still run in a step
 * are the first ones. A block processes 64 of them and some units: it computes their recurrent product and then the
 * gates, with the formulas of lstm.c. */
#include "backend/cuda/kernel.h"
#include "backend/cuda/tile.h"

extern "C" {
#include "ops/lstm.h"
}

namespace {

enum { GATES = 4, UNITS = TILE_COLUMNS / GATES }; /* units of a block in forward: a block has all gates of a unit */

template <class P> struct step_terms {
  size_t width, ld, step, sequences; /* sequences: number that run in this step */
  bool reverse;
  const struct linnet_sequence_span *spans;
  const float *weights, *bias;
  typename P::activation *gates;
};

template <class P>
static __device__ __forceinline__ size_t frame_of_step(const step_terms<P> &t, size_t sequence, size_t step) {
  const struct linnet_sequence_span span = t.spans[sequence];
  return span.first + (t.reverse ? span.frames - 1 - step : step);
}

/* The tile of sequences that block y processes. */
static __device__ __forceinline__ tile_rows block_sequences(size_t sequences) {
  const size_t first = (size_t)blockIdx.y * TILE_ROWS;
  const tile_rows all = {sequences, 0, 0, 0, nullptr};
  return first < sequences ? rows_from(all, first, sequences) : all;
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

template <class P> struct forward_terms {
  step_terms<P> s;
  size_t all; /* number of sequences in the batch */
  const float *before;
  float *after;         /* h of each sequence, (sequences, H), before and after the step */
  float *cells, *state; /* cells may be NULL */
  typename P::activation *h;
};

/* One unit of one sequence; sums: of its gates, without inputs and bias. */
template <class P>
static __device__ void forward_unit(const forward_terms<P> &f, size_t sequence, size_t unit, const float *sums) {
  const step_terms<P> &t = f.s;
  const size_t width = t.width, frame = frame_of_step(t, sequence, t.step), own = sequence * width + unit;
  typename P::activation *gates = t.gates + frame * GATES * width + unit;
  float *c = f.state + f.all * width + own, x[GATES];
  for (int g = 0; g < GATES; g++)
    x[g] = widen(gates[g * width]) + (sums[g] + t.bias[g * width + unit]);
  const float i = logistic(x[0]), forget = logistic(x[1]), cell = tanhf(x[2]), o = logistic(x[3]);
  const float updated = forget * *c + i * cell, out = o * tanhf(updated);
  write(gates, i), write(gates + width, forget), write(gates + 2 * width, cell), write(gates + 3 * width, o);
  *c = updated;
  if (f.cells)
    f.cells[frame * width + unit] = updated;
  f.after[own] = out;
  write(f.h + frame * t.ld + unit, out);
  if (t.step + 1 == t.spans[sequence].frames)
    f.state[own] = out;
}

/* Block (units, sequences). Shared memory: two tiles, and the indices (TILE_COLUMNS) of rows of W. Columns: the gates
 * of a unit side by side. */
template <class P>
static __global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS) forward_kernel(forward_terms<P> f) {
  LINNET_SHARED(float, shared);
  uint32_t *index = reinterpret_cast<uint32_t *>(shared + 2 * TILE_SIZE);
  const size_t width = f.s.width, unit = (size_t)blockIdx.x * UNITS;
  const tile_rows rows = block_sequences(f.s.sequences);
  if (threadIdx.x < TILE_COLUMNS)
    index[threadIdx.x] = (uint32_t)(threadIdx.x % GATES * width + unit + threadIdx.x / GATES);
  const tile_rows columns = {0, 0, 0, (int)(GATES * linnet_min_size(UNITS, width - unit)), index};
  const operand<float> h = {f.before, width, width, false, nullptr};
  const operand<float> w = {f.s.weights, width, width, false, nullptr};
  tile<4, 2> sums = {};
  __syncthreads();
  for (size_t k = 0; k < width; k += TILE_COLUMNS) {
    load_tile(h, rows, k, shared);
    load_tile(w, columns, k, shared + TILE_SIZE);
    __syncthreads();
    tile_multiply<P, TILE_COLUMNS, TILE_LD, 1, 1, TILE_LD>(&sums, shared, shared + TILE_SIZE);
    __syncthreads();
  }
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++)
      shared[sums.row(r) * TILE_LD + sums.column(n)] = sums.x[r][n];
  __syncthreads();
  for (int i = (int)threadIdx.x; i < TILE_ROWS * UNITS; i += TILE_THREADS)
    if (i / UNITS < rows.rows && unit + i % UNITS < width)
      forward_unit(f, rows.first + i / UNITS, unit + i % UNITS, shared + i / UNITS * TILE_LD + i % UNITS * GATES);
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

template <class P> struct backward_terms {
  step_terms<P> s;
  size_t later; /* number of sequences that also run in the next step */
  const float *cells;
  const typename P::activation *dh;
  float *dc; /* (sequences, H): gradient of c from later steps; replaced by that for the previous step */
};

/* One unit of one sequence; e: the gradient of h from the later step. */
template <class P>
static __device__ void backward_unit(const backward_terms<P> &b, size_t sequence, size_t unit, float e) {
  const step_terms<P> &t = b.s;
  const size_t width = t.width, frame = frame_of_step(t, sequence, t.step);
  typename P::activation *gates = t.gates + frame * GATES * width + unit;
  float *dc = b.dc + sequence * width + unit;
  const float i = widen(gates[0]), f = widen(gates[width]), g = widen(gates[2 * width]), o = widen(gates[3 * width]);
  const float squashed = tanhf(b.cells[frame * width + unit]), all = e + widen(b.dh[frame * t.ld + unit]);
  const float later = t.step + 1 < t.spans[sequence].frames ? *dc : 0;
  const float before = t.step > 0 ? b.cells[frame_of_step(t, sequence, t.step - 1) * width + unit] : 0;
  const float d = later + all * o * (1 - squashed * squashed);
  write(gates, d * g * i * (1 - i));
  write(gates + width, d * before * f * (1 - f));
  write(gates + 2 * width, d * i * (1 - g * g));
  write(gates + 3 * width, all * squashed * o * (1 - o));
  *dc = d * f;
}

/* Block (units, sequences). Shared memory: two tiles, and the frames (TILE_ROWS) of the later step. */
template <class P>
static __global__ void __launch_bounds__(TILE_THREADS, TILE_BLOCKS) backward_kernel(backward_terms<P> b) {
  LINNET_SHARED(float, shared);
  uint32_t *index = reinterpret_cast<uint32_t *>(shared + 2 * TILE_SIZE);
  const size_t width = b.s.width, unit = (size_t)blockIdx.x * TILE_COLUMNS;
  const tile_rows rows = block_sequences(b.s.sequences), weight_rows = {0, 0, 0, 0, nullptr};
  tile_rows later = block_sequences(b.later);
  if ((int)threadIdx.x < later.rows)
    index[threadIdx.x] = (uint32_t)frame_of_step(b.s, later.first + threadIdx.x, b.s.step + 1);
  later.index = index;
  const operand<typename P::activation> da = {b.s.gates, GATES * width, GATES * width, false, nullptr};
  const operand<float> w = {b.s.weights, width, width, false, nullptr};
  tile<4, 2> e = {};
  __syncthreads();
  for (size_t k = 0; later.rows > 0 && k < GATES * width; k += TILE_COLUMNS) {
    load_tile(da, later, k, shared);
    load_tile(w, rows_from(weight_rows, k, linnet_min_size(k + TILE_COLUMNS, GATES * width)), unit, shared + TILE_SIZE);
    __syncthreads();
    tile_multiply<P, TILE_COLUMNS, TILE_LD, 1, TILE_LD, 1>(&e, shared, shared + TILE_SIZE);
    __syncthreads();
  }
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++)
      if (e.row(r) < rows.rows && unit + e.column(n) < width)
        backward_unit(b, rows.first + e.row(r), unit + e.column(n), e.x[r][n]);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* The number of sequences that run in a step; `bound` is an upper bound. */
size_t running(const struct linnet_lstm *l, size_t step, size_t bound) {
  while (bound > 0 && l->spans[bound - 1].frames <= step)
    bound--;
  return bound;
}

template <class P>
step_terms<P> terms_of(P as, const struct linnet_lstm *l, const struct linnet_sequence_span *spans, void *gates,
                       size_t step, size_t sequences) {
  return step_terms<P>{l->width, l->ld, step, sequences, l->reverse, spans, l->weights, l->bias, as(gates)};
}

} // namespace

size_t linnet_cuda_lstm_work(size_t width, size_t sequences) {
  return 2 * width * sequences;
}

void linnet_cuda_lstm_forward(struct linnet_device *device, const struct linnet_lstm *l,
                              const struct linnet_sequence_span *spans, void *gates, float *cells, float *state,
                              void *h, float *work) {
  const size_t size = l->sequences * l->width, shared = (2 * TILE_SIZE + TILE_COLUMNS) * sizeof(float);
  linnet_cuda_copy(device, work, state, size * sizeof(float));
  for_products(device, [&](auto as) {
    size_t count = l->sequences;
    for (size_t step = 0; (count = running(l, step, count)) > 0; step++) {
      const forward_terms<decltype(as)> f = {terms_of(as, l, spans, gates, step, count),
                                             l->sequences,
                                             work + step % 2 * size,
                                             work + (step + 1) % 2 * size,
                                             cells,
                                             state,
                                             as(h)};
      const dim3 grid(linnet_blocks(l->width, UNITS), linnet_blocks(count, TILE_ROWS));
      LINNET_LAUNCH(device, forward_kernel, grid, TILE_THREADS, shared, f);
    }
  });
}

void linnet_cuda_lstm_backward(struct linnet_device *device, const struct linnet_lstm *l,
                               const struct linnet_sequence_span *spans, const float *cells, const void *dh,
                               void *gates, float *work) {
  const size_t shared = (2 * TILE_SIZE + TILE_ROWS) * sizeof(float);
  for_products(device, [&](auto as) {
    size_t later = 0;
    for (size_t step = l->sequences > 0 ? l->spans[0].frames : 0; step-- > 0;) {
      const size_t count = running(l, step, l->sequences);
      const backward_terms<decltype(as)> b = {terms_of(as, l, spans, gates, step, count), later, cells, as(dh), work};
      const dim3 grid(linnet_blocks(l->width, TILE_COLUMNS), linnet_blocks(count, TILE_ROWS));
      LINNET_LAUNCH(device, backward_kernel, grid, TILE_THREADS, shared, b);
      later = count;
    }
  });
}
