/* Where the time of a network goes: a table of ops that times each call and hands it on to another table. One thread.
 */
#ifndef LINNET_BENCH_PROFILE_H
#define LINNET_BENCH_PROFILE_H

#include "bench.h"

enum bench_op {
  BENCH_GEMM_FORWARD,
  BENCH_GEMM_INPUT,
  BENCH_GEMM_WEIGHT,
  BENCH_COLUMN_SUM,
  BENCH_ATTENTION,
  BENCH_LSTM_FORWARD,
  BENCH_LSTM_BACKWARD,
  BENCH_LSTM_PACK,
  BENCH_LAYERNORM,
  BENCH_DROPOUT,
  BENCH_ACTIVATION,
  BENCH_CONV,
  BENCH_ADD,
  BENCH_CTC,
  BENCH_UPDATE,
  BENCH_OPS
};

static const char *const bench_op_names[BENCH_OPS] = {
    [BENCH_GEMM_FORWARD] = "product, forward",
    [BENCH_GEMM_INPUT] = "product, dX = dY W",
    [BENCH_GEMM_WEIGHT] = "product, dW += dY^T X",
    [BENCH_COLUMN_SUM] = "bias gradient",
    [BENCH_ATTENTION] = "attention",
    [BENCH_LSTM_FORWARD] = "LSTM, forward",
    [BENCH_LSTM_BACKWARD] = "LSTM, backward",
    [BENCH_LSTM_PACK] = "LSTM, weights laid out",
    [BENCH_LAYERNORM] = "layer norm",
    [BENCH_DROPOUT] = "dropout and residual",
    [BENCH_ACTIVATION] = "activation, gate",
    [BENCH_CONV] = "depthwise convolution",
    [BENCH_ADD] = "add, sum of squares",
    [BENCH_CTC] = "CTC",
    [BENCH_UPDATE] = "optimiser",
};

static struct bench_profile {
  const struct linnet_ops *inner;
  double seconds[BENCH_OPS], flops[BENCH_OPS];
  size_t calls[BENCH_OPS];
} bench_profile;

#define BENCH_TIMED(op, call)                                                                                          \
  do {                                                                                                                 \
    double bench_start_ = bench_now();                                                                                 \
    call;                                                                                                              \
    bench_profile.seconds[op] += bench_now() - bench_start_;                                                           \
    bench_profile.calls[op]++;                                                                                         \
  } while (0)
#define BENCH_INNER (bench_profile.inner)

static void bench_gemm(const struct linnet_gemm *g, real *work) {
  enum bench_op op = g->transpose_a ? BENCH_GEMM_WEIGHT : g->transpose_b ? BENCH_GEMM_FORWARD : BENCH_GEMM_INPUT;
  bench_profile.flops[op] += 2.0 * (double)g->m * (double)g->n * (double)g->k;
  BENCH_TIMED(op, BENCH_INNER->gemm(g, work));
}

static void bench_layernorm_forward(size_t rows, size_t width, const real *x, const real *gain, const real *bias,
                                    real *y, real *mean, real *rstd) {
  BENCH_TIMED(BENCH_LAYERNORM, BENCH_INNER->layernorm_forward(rows, width, x, gain, bias, y, mean, rstd));
}

static void bench_layernorm_backward(size_t rows, size_t width, const real *x, const real *gain, const real *mean,
                                     const real *rstd, const real *dy, real *dx, real *dgain_add, real *dbias_add) {
  BENCH_TIMED(BENCH_LAYERNORM,
              BENCH_INNER->layernorm_backward(rows, width, x, gain, mean, rstd, dy, dx, dgain_add, dbias_add));
}

static void bench_dropout(const struct linnet_dropout *d, size_t rows, size_t width, const real *x,
                          const real *residual, real *y) {
  BENCH_TIMED(BENCH_DROPOUT, BENCH_INNER->dropout(d, rows, width, x, residual, y));
}

static void bench_activation_forward(enum linnet_activation f, size_t n, const real *x, real *y) {
  BENCH_TIMED(BENCH_ACTIVATION, BENCH_INNER->activation_forward(f, n, x, y));
}

static void bench_activation_backward(enum linnet_activation f, size_t n, const real *x, const real *dy, real *dx) {
  BENCH_TIMED(BENCH_ACTIVATION, BENCH_INNER->activation_backward(f, n, x, dy, dx));
}

static void bench_glu_forward(size_t rows, size_t width, const real *x, real *y) {
  BENCH_TIMED(BENCH_ACTIVATION, BENCH_INNER->glu_forward(rows, width, x, y));
}

static void bench_glu_backward(size_t rows, size_t width, const real *x, const real *dy, real *dx) {
  BENCH_TIMED(BENCH_ACTIVATION, BENCH_INNER->glu_backward(rows, width, x, dy, dx));
}

static void bench_conv_forward(const struct linnet_conv *c, const struct linnet_pack *p, const real *x, const real *w,
                               const real *bias, real *y) {
  BENCH_TIMED(BENCH_CONV, BENCH_INNER->conv_forward(c, p, x, w, bias, y));
}

static void bench_conv_backward(const struct linnet_conv *c, const struct linnet_pack *p, const real *x, const real *w,
                                const real *dy, real *dx, real *dw_add, real *dbias_add) {
  BENCH_TIMED(BENCH_CONV, BENCH_INNER->conv_backward(c, p, x, w, dy, dx, dw_add, dbias_add));
}

static void bench_attention_forward(const struct linnet_attention *a, const struct linnet_pack *p, const real *q,
                                    const real *k, const real *v, void *saved, real *out, void *work) {
  BENCH_TIMED(BENCH_ATTENTION,
              BENCH_INNER->attention[LINNET_ATTENTION_LINEAR]->forward(a, p, q, k, v, saved, out, work));
}

static void bench_attention_backward(const struct linnet_attention *a, const struct linnet_pack *p, const real *q,
                                     const real *k, const real *v, const void *saved, const real *out, const real *dout,
                                     real *dq, real *dk, real *dv, void *work) {
  BENCH_TIMED(BENCH_ATTENTION, BENCH_INNER->attention[LINNET_ATTENTION_LINEAR]->backward(a, p, q, k, v, saved, out,
                                                                                         dout, dq, dk, dv, work));
}

static double bench_lstm_flops(const struct linnet_lstm *l) {
  double frames = 0;
  for (size_t s = 0; s < l->sequences; s++)
    frames += (double)l->spans[s].frames;
  return 8 * frames * (double)(l->width * l->width);
}

static void bench_lstm_pack(size_t width, enum linnet_lstm_use use, const real *weights, real *packed) {
  BENCH_TIMED(BENCH_LSTM_PACK, BENCH_INNER->lstm_pack(width, use, weights, packed));
}

static void bench_lstm_forward(const struct linnet_lstm *l, real *gates, real *cells, real *state, real *h,
                               real *work) {
  bench_profile.flops[BENCH_LSTM_FORWARD] += bench_lstm_flops(l);
  BENCH_TIMED(BENCH_LSTM_FORWARD, BENCH_INNER->lstm_forward(l, gates, cells, state, h, work));
}

static void bench_lstm_backward(const struct linnet_lstm *l, const real *cells, const real *dh, real *gates,
                                real *work) {
  bench_profile.flops[BENCH_LSTM_BACKWARD] += bench_lstm_flops(l);
  BENCH_TIMED(BENCH_LSTM_BACKWARD, BENCH_INNER->lstm_backward(l, cells, dh, gates, work));
}

static double bench_ctc(const struct linnet_ctc *c, void *work) {
  double loss;
  BENCH_TIMED(BENCH_CTC, loss = BENCH_INNER->ctc(c, work));
  return loss;
}

static void bench_update(const struct linnet_update *u, size_t n, real *parameters, const real *gradients, real *m,
                         real *v) {
  BENCH_TIMED(BENCH_UPDATE, BENCH_INNER->update(u, n, parameters, gradients, m, v));
}

static double bench_sum_of_squares(size_t n, const real *x) {
  double sum;
  BENCH_TIMED(BENCH_ADD, sum = BENCH_INNER->sum_of_squares(n, x));
  return sum;
}

static void bench_add(size_t n, const real *x, real *y_add) {
  BENCH_TIMED(BENCH_ADD, BENCH_INNER->add(n, x, y_add));
}

static void bench_column_sum(size_t rows, size_t width, const real *x, real *sums_add) {
  BENCH_TIMED(BENCH_COLUMN_SUM, BENCH_INNER->column_sum(rows, width, x, sums_add));
}

static inline struct linnet_ops bench_profiled(const struct linnet_ops *inner) {
  struct linnet_ops ops = *inner;
  bench_profile = (struct bench_profile){.inner = inner};
  ops.gemm = bench_gemm;
  ops.layernorm_forward = bench_layernorm_forward;
  ops.layernorm_backward = bench_layernorm_backward;
  ops.dropout = bench_dropout;
  ops.activation_forward = bench_activation_forward;
  ops.activation_backward = bench_activation_backward;
  ops.glu_forward = bench_glu_forward;
  ops.glu_backward = bench_glu_backward;
  ops.conv_forward = bench_conv_forward;
  ops.conv_backward = bench_conv_backward;
  static struct linnet_attention_ops attention;
  attention = *inner->attention[LINNET_ATTENTION_LINEAR];
  attention.forward = bench_attention_forward;
  attention.backward = bench_attention_backward;
  ops.attention[LINNET_ATTENTION_LINEAR] = &attention;
  ops.lstm_pack = bench_lstm_pack;
  ops.lstm_forward = bench_lstm_forward;
  ops.lstm_backward = bench_lstm_backward;
  ops.ctc = bench_ctc;
  ops.update = bench_update;
  ops.sum_of_squares = bench_sum_of_squares;
  ops.add = bench_add;
  ops.column_sum = bench_column_sum;
  return ops;
}

/* Per op: milliseconds of one of `runs` runs, its share of their CPU time `total`, GFLOP/s of products. */
static inline void bench_profile_print(size_t runs, double total) {
  double known = 0;
  for (size_t i = 0; i < BENCH_OPS; i++) {
    double seconds = bench_profile.seconds[i];
    known += seconds;
    if (bench_profile.calls[i] == 0)
      continue;
    printf("  %-22s %6zu calls %9.2f ms %6.2f %%", bench_op_names[i], bench_profile.calls[i] / runs,
           seconds / (double)runs * 1e3, 100 * seconds / total);
    if (bench_profile.flops[i] > 0)
      printf("  %6.1f GFLOP/s", bench_profile.flops[i] / seconds * 1e-9);
    printf("\n");
  }
  printf("  %-22s %6s       %9.2f ms %6.2f %%\n", "the rest", "", (total - known) / (double)runs * 1e3,
         100 * (total - known) / total);
}

#endif
