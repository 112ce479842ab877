/* Profiles the ops of a network on a device: a table of ops that counts the bytes and the floating point operations of
 * each call, measures its time on request, and forwards it to the device's own table. One device at a time, one thread.
 *
 * Bytes are those of arguments and results, each counted once; the scratch of an op, and weights in a cache, do not
 * count. Operations are those of products, attention, LSTM and convolution; a multiply-add counts as two. */
#ifndef LINNET_BENCH_PROFILE_H
#define LINNET_BENCH_PROFILE_H

#include "backend/device.h"
#include "bench.h"
#include "ops/attention.h"

enum bench_op {
  BENCH_GEMM_FORWARD,
  BENCH_GEMM_INPUT,
  BENCH_GEMM_WEIGHT,
  BENCH_COLUMN_SUM,
  BENCH_ATTENTION_FORWARD,
  BENCH_ATTENTION_BACKWARD,
  BENCH_LSTM_FORWARD,
  BENCH_LSTM_BACKWARD,
  BENCH_LAYERNORM,
  BENCH_DROPOUT,
  BENCH_ACTIVATION,
  BENCH_CONV,
  BENCH_ADD,
  BENCH_CTC,
  BENCH_UPDATE,
  BENCH_BATCH,
  BENCH_OPS
};

static const char *const bench_op_names[BENCH_OPS] = {
    [BENCH_GEMM_FORWARD] = "product, forward",
    [BENCH_GEMM_INPUT] = "product, dX = dY W",
    [BENCH_GEMM_WEIGHT] = "product, dW += dY^T X",
    [BENCH_COLUMN_SUM] = "bias gradient",
    [BENCH_ATTENTION_FORWARD] = "attention, forward",
    [BENCH_ATTENTION_BACKWARD] = "attention, backward",
    [BENCH_LSTM_FORWARD] = "LSTM, forward",
    [BENCH_LSTM_BACKWARD] = "LSTM, backward",
    [BENCH_LAYERNORM] = "layer norm",
    [BENCH_DROPOUT] = "dropout and residual",
    [BENCH_ACTIVATION] = "activation, gate, map",
    [BENCH_CONV] = "depthwise convolution",
    [BENCH_ADD] = "add, shift, zero",
    [BENCH_CTC] = "CTC",
    [BENCH_UPDATE] = "norm and update",
    [BENCH_BATCH] = "batch to the device",
};

/* The limits of the device. */
struct bench_limits {
  double bandwidth; /* bytes a second */
  double flops;     /* of a large product, a second */
};

struct bench_work {
  double bytes, flops;
  double floor; /* seconds: each op at the limit that it meets first; 0 without limits */
};

static struct bench_profile {
  const struct linnet_device_ops *inner;
  bool timed; /* wait before and after each op */
  struct bench_limits limits;
  struct bench_work work[BENCH_OPS];
  double seconds[BENCH_OPS];
  size_t calls[BENCH_OPS];
} bench_profile;

/* CPU time of the thread on the host, which other programs may also use. */
static double bench_profile_clock(struct linnet_device *d) {
  struct timespec t;
  if (d->ops->host)
    return bench_now();
  bench_profile.inner->wait(d, NULL);
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bench_count(enum bench_op op, double bytes, double flops) {
  const struct bench_limits *limits = &bench_profile.limits;
  struct bench_work *work = &bench_profile.work[op];
  work->bytes += bytes;
  work->flops += flops;
  if (limits->bandwidth > 0 && limits->flops > 0)
    work->floor += fmax(bytes / limits->bandwidth, flops / limits->flops);
  bench_profile.calls[op]++;
}

/* Counts the bytes and operations, and makes the call. */
#define BENCH_COUNTED_BYTES(d, op, bytes, flops, call)                                                                 \
  do {                                                                                                                 \
    double bench_start_ = bench_profile.timed ? bench_profile_clock(d) : 0;                                            \
    bench_profile.inner->call;                                                                                         \
    if (bench_profile.timed)                                                                                           \
      bench_profile.seconds[op] += bench_profile_clock(d) - bench_start_;                                              \
    bench_count(op, (double)(bytes), flops);                                                                           \
  } while (0)
#define BENCH_COUNTED(d, op, activations, flops, call)                                                                 \
  BENCH_COUNTED_BYTES(d, op, (activations) * (d)->activation_bytes, flops, call)
#define BENCH_COUNTED_REALS(d, op, reals, flops, call) BENCH_COUNTED_BYTES(d, op, (reals) * sizeof(real), flops, call)

/* --- rows and elements -------------------------------------------------------------------------------------------- */

static void bench_gemm(struct linnet_device *d, const struct linnet_gemm *g, real *work) {
  enum bench_op op = g->transpose_a ? BENCH_GEMM_WEIGHT : g->transpose_b ? BENCH_GEMM_FORWARD : BENCH_GEMM_INPUT;
  size_t bytes = (g->m * g->k + g->k * g->n) * d->activation_bytes;
  bytes +=
      g->m * g->n * (g->accumulate ? 2 : 1) * (g->result == LINNET_GEMM_REALS ? sizeof(real) : d->activation_bytes);
  BENCH_COUNTED_BYTES(d, op, bytes, 2.0 * (double)g->m * (double)g->n * (double)g->k, gemm(d, g, work));
}

static void bench_activations_of(struct linnet_device *d, size_t n, const real *x, void *y) {
  BENCH_COUNTED_BYTES(d, BENCH_ADD, n * (sizeof(real) + d->activation_bytes), 0, activations_of(d, n, x, y));
}

static void bench_layernorm_forward(struct linnet_device *d, const struct linnet_layernorm *n) {
  BENCH_COUNTED(d, BENCH_LAYERNORM, n->rows * (2 * n->width + 2), 0, layernorm_forward(d, n));
}

static void bench_layernorm_backward(struct linnet_device *d, const struct linnet_layernorm *n) {
  BENCH_COUNTED(d, BENCH_LAYERNORM, n->rows * ((n->residual ? 4 : 3) * n->width + 2), 0, layernorm_backward(d, n));
}

static void bench_dropout(struct linnet_device *d, const struct linnet_dropout *mask, size_t rows, size_t width,
                          const void *x, const void *residual, void *y) {
  BENCH_COUNTED(d, BENCH_DROPOUT, rows * width * (residual ? 3 : 2), 0, dropout(d, mask, rows, width, x, residual, y));
}

static void bench_residual_norm(struct linnet_device *d, const struct linnet_residual_norm *r) {
  BENCH_COUNTED(d, BENCH_LAYERNORM, r->norm.rows * ((r->residual ? 4 : 3) * r->norm.width + 2), 0, residual_norm(d, r));
}

static void bench_residual_norm_backward(struct linnet_device *d, const struct linnet_residual_norm *r) {
  BENCH_COUNTED(d, BENCH_LAYERNORM, r->norm.rows * ((r->norm.residual ? 5 : 4) * r->norm.width + 2), 0,
                residual_norm_backward(d, r));
}

static void bench_activation_forward(struct linnet_device *d, enum linnet_activation f,
                                     const struct linnet_dropout *mask, size_t rows, size_t width, const void *x,
                                     void *y) {
  BENCH_COUNTED(d, BENCH_ACTIVATION, 2 * rows * width, 0, activation_forward(d, f, mask, rows, width, x, y));
}

static void bench_activation_backward(struct linnet_device *d, enum linnet_activation f,
                                      const struct linnet_dropout *mask, size_t rows, size_t width, const void *x,
                                      const void *dy, void *dx) {
  BENCH_COUNTED(d, BENCH_ACTIVATION, 3 * rows * width, 0, activation_backward(d, f, mask, rows, width, x, dy, dx));
}

static void bench_glu_forward(struct linnet_device *d, size_t rows, size_t width, const void *x, void *y) {
  BENCH_COUNTED(d, BENCH_ACTIVATION, 3 * rows * width, 0, glu_forward(d, rows, width, x, y));
}

static void bench_glu_backward(struct linnet_device *d, size_t rows, size_t width, const void *x, const void *dy,
                               void *dx) {
  BENCH_COUNTED(d, BENCH_ACTIVATION, 5 * rows * width, 0, glu_backward(d, rows, width, x, dy, dx));
}

/* The numbers of x and phi(x) in a row. */
static size_t bench_map_columns(const struct linnet_feature_map_terms *m) {
  return m->heads * m->width + m->phi_ld / 2;
}

static void bench_feature_map_forward(struct linnet_device *d, const struct linnet_feature_map_terms *m, size_t rows,
                                      const void *x, void *phi, real *work) {
  BENCH_COUNTED(d, BENCH_ACTIVATION, rows * bench_map_columns(m), 0, feature_map_forward(d, m, rows, x, phi, work));
}

static void bench_feature_map_backward(struct linnet_device *d, const struct linnet_feature_map_terms *m, size_t rows,
                                       const void *x, const void *phi, const void *dphi, void *dx, real *work) {
  BENCH_COUNTED(d, BENCH_ACTIVATION, 2 * rows * bench_map_columns(m), 0,
                feature_map_backward(d, m, rows, x, phi, dphi, dx, work));
}

static void bench_add(struct linnet_device *d, size_t n, const real *x, real *y_add) {
  BENCH_COUNTED_REALS(d, BENCH_ADD, 3 * n, 0, add(d, n, x, y_add));
}

static void bench_zero(struct linnet_device *d, void *memory, size_t bytes) {
  BENCH_COUNTED_REALS(d, BENCH_ADD, bytes / sizeof(real), 0, zero(d, memory, bytes));
}

static void bench_column_sum(struct linnet_device *d, size_t rows, size_t width, const void *x, real *sums_add) {
  BENCH_COUNTED(d, BENCH_COLUMN_SUM, rows * width, 0, column_sum(d, rows, width, x, sums_add));
}

/* --- sequences ---------------------------------------------------------------------------------------------------- */

static size_t bench_pack_rows(const struct linnet_pack *p) {
  return p->offsets[p->sequences];
}

static void bench_spec_augment(struct linnet_device *d, const struct linnet_pack *p, const struct linnet_masks *m,
                               void *x) {
  BENCH_COUNTED(d, BENCH_ADD, bench_pack_rows(p) * m->stack * m->channels, 0, spec_augment(d, p, m, x));
}

static void bench_add_positions(struct linnet_device *d, const struct linnet_pack *p, size_t width, void *x) {
  BENCH_COUNTED(d, BENCH_ADD, 2 * bench_pack_rows(p) * width, 0, add_positions(d, p, width, x));
}

static double bench_conv_flops(const struct linnet_conv *c, const struct linnet_pack *p) {
  return 2 * (double)bench_pack_rows(p) * (double)(c->channels * c->kernel);
}

static void bench_conv_forward(struct linnet_device *d, const struct linnet_conv *c, const struct linnet_pack *p,
                               const void *x, const real *w, const real *bias, void *y) {
  BENCH_COUNTED(d, BENCH_CONV, 2 * bench_pack_rows(p) * c->channels, bench_conv_flops(c, p),
                conv_forward(d, c, p, x, w, bias, y));
}

static void bench_conv_backward(struct linnet_device *d, const struct linnet_conv *c, const struct linnet_pack *p,
                                const struct linnet_conv_gradients *g) {
  BENCH_COUNTED(d, BENCH_CONV, 3 * bench_pack_rows(p) * c->channels, 2 * bench_conv_flops(c, p),
                conv_backward(d, c, p, g));
}

/* Pairs of frames of a head that attention compares; 0 for linear kinds. In each round of LSH attention, a frame is
 * compared with two chunks, and for its hash with all buckets; a column of a rotation counts as two. */
static double bench_pairs(const struct linnet_attention *a, const struct linnet_pack *p) {
  const struct linnet_lsh *lsh = &a->lsh;
  double pairs = 0;
  if (linnet_attention_traits[a->kind].mapped)
    return 0;
  if (linnet_attention_traits[a->kind].shared_key)
    return (double)bench_pack_rows(p) * (double)(lsh->rounds * (2 * lsh->chunk + lsh->buckets / 4));
  for (size_t s = 0; s < p->sequences; s++) {
    double n = (double)(p->offsets[s + 1] - p->offsets[s]);
    pairs += linnet_attention_traits[a->kind].causal ? n * (n + 1) / 2 : n * n;
  }
  return pairs;
}

/* Operations of all heads: of products with a state, `linear` a frame, and of those of pairs, `square` a pair, times
 * head widths. Backward of the latter with its scores, which it computes again. */
static double bench_attention_flops(const struct linnet_attention_call *c, double linear, double square) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  double width = (double)(a->heads * a->width);
  if (linnet_attention_traits[a->kind].mapped)
    return linear * (double)bench_pack_rows(p) * width * (double)a->key_width;
  return square * bench_pairs(a, p) * width;
}

/* Numbers of queries, keys if they are apart, values and outputs. */
static size_t bench_attention_numbers(const struct linnet_attention_call *c) {
  const struct linnet_attention *a = c->attention;
  bool keys = !linnet_attention_traits[a->kind].shared_key;
  return bench_pack_rows(c->pack) * a->heads * (a->key_width * (keys ? 2 : 1) + 2 * a->width);
}

static void bench_attention_forward(struct linnet_device *d, const struct linnet_attention_call *c) {
  BENCH_COUNTED(d, BENCH_ATTENTION_FORWARD, bench_attention_numbers(c), bench_attention_flops(c, 4, 4),
                attention_forward(d, c));
}

static void bench_attention_backward(struct linnet_device *d, const struct linnet_attention_call *c) {
  BENCH_COUNTED(d, BENCH_ATTENTION_BACKWARD, 2 * bench_attention_numbers(c), bench_attention_flops(c, 8, 10),
                attention_backward(d, c));
}

static double bench_lstm_flops(const struct linnet_lstm *l, const struct linnet_pack *p) {
  return 8 * (double)bench_pack_rows(p) * (double)(l->width * l->width);
}

static void bench_lstm_forward(struct linnet_device *d, const struct linnet_lstm *l, const struct linnet_pack *p,
                               void *gates, real *cells, void *h, void *work) {
  BENCH_COUNTED(d, BENCH_LSTM_FORWARD, 10 * bench_pack_rows(p) * l->width, bench_lstm_flops(l, p),
                lstm_forward(d, l, p, gates, cells, h, work));
}

static void bench_lstm_backward(struct linnet_device *d, const struct linnet_lstm *l, const struct linnet_pack *p,
                                const real *cells, const void *dh, void *gates, void *work) {
  BENCH_COUNTED(d, BENCH_LSTM_BACKWARD, 10 * bench_pack_rows(p) * l->width, bench_lstm_flops(l, p),
                lstm_backward(d, l, p, cells, dh, gates, work));
}

/* A layer that its directions run by themselves is counted there. Inputs and recurrences, as products count. */
static bool bench_lstm_layer(struct linnet_device *d, enum bench_op op, const struct linnet_lstm_layer *l,
                             const struct linnet_pack *p, double start, double passes, bool done) {
  double rows = (double)bench_pack_rows(p), columns = (double)(l->inputs + 2 * l->width);
  if (!done)
    return false;
  if (bench_profile.timed)
    bench_profile.seconds[op] += bench_profile_clock(d) - start;
  bench_count(op, passes * rows * columns * (double)d->activation_bytes,
              passes * 16 * rows * (double)(l->width * (l->inputs + l->width)));
  return true;
}

static bool bench_lstm_layer_forward(struct linnet_device *d, const struct linnet_lstm_layer *l,
                                     const struct linnet_pack *p, const void *x, void *saved, void *out, void *work) {
  double start = bench_profile.timed ? bench_profile_clock(d) : 0;
  bool done = bench_profile.inner->lstm_layer_forward(d, l, p, x, saved, out, work);
  return bench_lstm_layer(d, BENCH_LSTM_FORWARD, l, p, start, 1, done);
}

static bool bench_lstm_layer_backward(struct linnet_device *d, const struct linnet_lstm_layer *l,
                                      const struct linnet_pack *p, const struct linnet_lstm_layer_gradients *g,
                                      void *work) {
  double start = bench_profile.timed ? bench_profile_clock(d) : 0;
  bool done = bench_profile.inner->lstm_layer_backward(d, l, p, g, work);
  return bench_lstm_layer(d, BENCH_LSTM_BACKWARD, l, p, start, 2, done);
}

static void bench_steps_before(struct linnet_device *d, const struct linnet_pack *p, bool reverse, size_t width,
                               const void *h, size_t ld, void *before) {
  BENCH_COUNTED(d, BENCH_ADD, 2 * bench_pack_rows(p) * width, 0, steps_before(d, p, reverse, width, h, ld, before));
}

/* --- the loss, the update, the batch ------------------------------------------------------------------------------ */

static void bench_ctc(struct linnet_device *d, const struct linnet_batch_ctc *c, void *work) {
  BENCH_COUNTED_REALS(d, BENCH_CTC, bench_pack_rows(c->pack) * c->symbols * (c->gradient ? 2 : 1), 0, ctc(d, c, work));
}

static void bench_sum_of_squares(struct linnet_device *d, size_t n, const real *x, double *sum) {
  BENCH_COUNTED_REALS(d, BENCH_UPDATE, n, 0, sum_of_squares(d, n, x, sum));
}

static void bench_update(struct linnet_device *d, const struct linnet_update *u, double clip, const double *squares,
                         const struct linnet_update_arrays *a) {
  BENCH_COUNTED_REALS(d, BENCH_UPDATE, 7 * a->n, 0, update(d, u, clip, squares, a));
}

/* Its way from the host is no bandwidth of the device. */
static enum linnet_status bench_upload_batch(struct linnet_device *d, struct linnet_context *context,
                                             const struct linnet_host_batch *batch, void **features) {
  enum linnet_status status;
  double start = bench_profile.timed ? bench_profile_clock(d) : 0;
  status = bench_profile.inner->upload_batch(d, context, batch, features);
  if (bench_profile.timed)
    bench_profile.seconds[BENCH_BATCH] += bench_profile_clock(d) - start;
  bench_count(BENCH_BATCH, 0, 0);
  return status;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* From here on `device` runs its ops through the profile, until bench_profile_end. With limits: also floors. */
static inline void bench_profile_begin(struct linnet_device *device, bool timed, struct bench_limits limits) {
  static struct linnet_device_ops ops;
  bench_profile = (struct bench_profile){.inner = device->ops, .timed = timed, .limits = limits};
  ops = *device->ops;
  ops.gemm = bench_gemm;
  ops.activations_of = bench_activations_of;
  ops.layernorm_forward = bench_layernorm_forward;
  ops.layernorm_backward = bench_layernorm_backward;
  ops.dropout = bench_dropout;
  ops.residual_norm = bench_residual_norm;
  ops.residual_norm_backward = bench_residual_norm_backward;
  ops.activation_forward = bench_activation_forward;
  ops.activation_backward = bench_activation_backward;
  ops.glu_forward = bench_glu_forward;
  ops.glu_backward = bench_glu_backward;
  ops.feature_map_forward = bench_feature_map_forward;
  ops.feature_map_backward = bench_feature_map_backward;
  ops.add = bench_add;
  ops.zero = bench_zero;
  ops.column_sum = bench_column_sum;
  ops.spec_augment = bench_spec_augment;
  ops.add_positions = bench_add_positions;
  ops.conv_forward = bench_conv_forward;
  ops.conv_backward = bench_conv_backward;
  ops.attention_forward = bench_attention_forward;
  ops.attention_backward = bench_attention_backward;
  ops.lstm_forward = bench_lstm_forward;
  ops.lstm_backward = bench_lstm_backward;
  if (ops.lstm_layer_bytes) {
    ops.lstm_layer_forward = bench_lstm_layer_forward;
    ops.lstm_layer_backward = bench_lstm_layer_backward;
  }
  ops.steps_before = bench_steps_before;
  ops.ctc = bench_ctc;
  ops.sum_of_squares = bench_sum_of_squares;
  ops.update = bench_update;
  ops.upload_batch = bench_upload_batch;
  device->ops = &ops;
}

/* Sums over all ops since then. */
static inline struct bench_work bench_profile_end(struct linnet_device *device) {
  struct bench_work sum = {0};
  device->ops = bench_profile.inner;
  for (size_t i = 0; i < BENCH_OPS; i++) {
    sum.bytes += bench_profile.work[i].bytes;
    sum.flops += bench_profile.work[i].flops;
    sum.floor += bench_profile.work[i].floor;
  }
  return sum;
}

/* Per op, for one of `runs` runs: milliseconds, share of the time `total` of all, operations, bytes, and the share
 * of its time that it would need at the limits. */
static inline void bench_profile_print(size_t runs, double total) {
  double known = 0;
  for (size_t i = 0; i < BENCH_OPS; i++) {
    double seconds = bench_profile.seconds[i];
    const struct bench_work *work = &bench_profile.work[i];
    known += seconds;
    if (bench_profile.calls[i] == 0)
      continue;
    printf("  %-22s %6zu calls %9.3f ms %6.2f %%  %8.1f GFLOP/s %8.1f GB/s", bench_op_names[i],
           bench_profile.calls[i] / runs, seconds / (double)runs * 1e3, 100 * seconds / total,
           work->flops / seconds * 1e-9, work->bytes / seconds * 1e-9);
    if (work->floor > 0)
      printf("  %5.1f %% of the limit", 100 * work->floor / seconds);
    printf("\n");
  }
  printf("  %-22s %6s       %9.3f ms %6.2f %%\n", "the rest", "", (total - known) / (double)runs * 1e3,
         100 * (total - known) / total);
}

#endif
