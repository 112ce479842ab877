/* The CPU as a device: ops run at once in the calling thread on the kernels of a table of backend.h. */
#include <math.h>
#include <string.h>

#include "backend/device.h"
#include "base/arena.h"
#include "base/base.h"
#include "ops/dropout.h"
#include "ops/position.h"
#include "ops/spec_augment.h"

static const struct linnet_ops *kernels(const struct linnet_device *d) {
  return ((const struct linnet_cpu_device *)d)->kernels;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static struct linnet_context *context_of(const struct linnet_device *d) {
  return ((const struct linnet_cpu_device *)d)->context;
}

static void *cpu_alloc(struct linnet_device *d, size_t bytes) {
  return linnet_alloc(context_of(d), bytes, 1);
}

static void cpu_free(struct linnet_device *d, void *memory) {
  linnet_free(context_of(d), memory);
}

static void cpu_upload(struct linnet_device *d, void *to, const void *host, size_t bytes) {
  (void)d;
  if (to != host)
    memcpy(to, host, bytes);
}

static void cpu_download(struct linnet_device *d, void *host, const void *from, size_t bytes) {
  cpu_upload(d, host, from, bytes);
}

static void cpu_zero(struct linnet_device *d, void *memory, size_t bytes) {
  (void)d;
  memset(memory, 0, bytes);
}

static enum linnet_status cpu_wait(struct linnet_device *d, struct linnet_context *context) {
  (void)d, (void)context;
  return LINNET_OK;
}

static enum linnet_status cpu_upload_batch(struct linnet_device *d, struct linnet_context *context,
                                           const struct linnet_host_batch *batch, void **features) {
  (void)d, (void)context;
  *features = batch->features;
  return LINNET_OK;
}

/* --- rows and elements -------------------------------------------------------------------------------------------- */

static void cpu_gemm(struct linnet_device *d, enum linnet_gemm_result result, const struct linnet_gemm *g, real *work) {
  (void)result;
  kernels(d)->gemm(g, work);
}

static size_t cpu_gemm_work(struct linnet_device *d) {
  return kernels(d)->gemm_work;
}

static void cpu_layernorm_forward(struct linnet_device *d, size_t rows, size_t width, const void *x, const real *gain,
                                  const real *bias, void *y, real *mean, real *rstd) {
  kernels(d)->layernorm_forward(rows, width, x, gain, bias, y, mean, rstd);
}

static void cpu_layernorm_backward(struct linnet_device *d, size_t rows, size_t width, const void *x, const real *gain,
                                   const real *mean, const real *rstd, const void *dy, const void *residual, void *dx,
                                   real *dgain_add, real *dbias_add) {
  kernels(d)->layernorm_backward(rows, width, x, gain, mean, rstd, dy, residual, dx, dgain_add, dbias_add);
}

static void cpu_dropout(struct linnet_device *d, const struct linnet_dropout *mask, size_t rows, size_t width,
                        const void *x, const void *residual, void *y) {
  kernels(d)->dropout(mask, rows, width, x, residual, y);
}

static void cpu_residual_norm(struct linnet_device *d, const struct linnet_dropout *mask, size_t rows, size_t width,
                              const void *x, const void *residual, const real *gain, const real *bias, void *sum,
                              void *y, real *mean, real *rstd) {
  if (mask->rate > 0 || residual || x != sum)
    kernels(d)->dropout(mask, rows, width, x, residual, sum);
  kernels(d)->layernorm_forward(rows, width, sum, gain, bias, y, mean, rstd);
}

static void cpu_residual_norm_backward(struct linnet_device *d, const struct linnet_dropout *mask, size_t rows,
                                       size_t width, const void *sum, const real *gain, const real *mean,
                                       const real *rstd, const void *dy, const void *residual, void *dsum, void *dx,
                                       real *dgain_add, real *dbias_add) {
  kernels(d)->layernorm_backward(rows, width, sum, gain, mean, rstd, dy, residual, dsum, dgain_add, dbias_add);
  kernels(d)->dropout(mask, rows, width, dsum, NULL, dx);
}

static void cpu_activation_forward(struct linnet_device *d, enum linnet_activation f, const struct linnet_dropout *mask,
                                   size_t rows, size_t width, const void *x, void *y) {
  kernels(d)->activation_forward(f, rows * width, x, y);
  if (mask->rate > 0)
    kernels(d)->dropout(mask, rows, width, y, NULL, y);
}

static void cpu_activation_backward(struct linnet_device *d, enum linnet_activation f,
                                    const struct linnet_dropout *mask, size_t rows, size_t width, const void *x,
                                    const void *dy, void *dx) {
  bool drawn = mask->rate > 0 && f != LINNET_RELU;
  if (drawn)
    kernels(d)->dropout(mask, rows, width, dy, NULL, dx);
  kernels(d)->activation_backward(f, rows * width, drawn ? 1 : (real)linnet_dropout_scale(mask->rate), x,
                                  drawn ? dx : dy, dx);
}

static void cpu_glu_forward(struct linnet_device *d, size_t rows, size_t width, const void *x, void *y) {
  kernels(d)->glu_forward(rows, width, x, y);
}

static void cpu_glu_backward(struct linnet_device *d, size_t rows, size_t width, const void *x, const void *dy,
                             void *dx) {
  kernels(d)->glu_backward(rows, width, x, dy, dx);
}

static void cpu_log_softmax(struct linnet_device *d, size_t rows, size_t width, const real *x, real *y) {
  kernels(d)->log_softmax(rows, width, x, y);
}

static void cpu_feature_map_forward(struct linnet_device *d, const struct linnet_feature_map_terms *m, size_t rows,
                                    const void *x, void *phi, real *work) {
  kernels(d)->feature_map_forward(m, rows, x, phi, work);
}

static void cpu_feature_map_backward(struct linnet_device *d, const struct linnet_feature_map_terms *m, size_t rows,
                                     const void *x, const void *phi, const void *dphi, void *dx, real *work) {
  kernels(d)->feature_map_backward(m, rows, x, phi, dphi, dx, work);
}

static size_t cpu_feature_map_work(struct linnet_device *d) {
  return kernels(d)->feature_map_work;
}

static void cpu_add(struct linnet_device *d, size_t n, const real *x, real *y_add) {
  kernels(d)->add(n, x, y_add);
}

static void cpu_column_sum(struct linnet_device *d, size_t rows, size_t width, const void *x, real *sums_add) {
  kernels(d)->column_sum(rows, width, x, sums_add);
}

/* --- sequences ---------------------------------------------------------------------------------------------------- */

static void cpu_spec_augment(struct linnet_device *d, const struct linnet_pack *p, const struct linnet_masks *m,
                             void *x) {
  (void)d;
  linnet_spec_augment_reference(p, m, x);
}

static void cpu_add_positions(struct linnet_device *d, const struct linnet_pack *p, size_t width, void *x) {
  real *rows = x;
  (void)d;
  for (size_t s = 0; s < p->sequences; s++)
    linnet_add_positions(0, p->offsets[s + 1] - p->offsets[s], width, rows + p->offsets[s] * width);
}

static void cpu_conv_forward(struct linnet_device *d, const struct linnet_conv *c, const struct linnet_pack *p,
                             const void *x, const real *w, const real *bias, void *y) {
  kernels(d)->conv_forward(c, p, x, w, bias, y);
}

static void cpu_conv_backward(struct linnet_device *d, const struct linnet_conv *c, const struct linnet_pack *p,
                              const void *x, const real *w, const void *dy, void *dx, real *dw_add, real *dbias_add) {
  kernels(d)->conv_backward(c, p, x, w, dy, dx, dw_add, dbias_add);
}

static size_t cpu_attention_saved_bytes(struct linnet_device *d, enum linnet_attention_kind kind,
                                        const struct linnet_attention *a, size_t frames, size_t sequences) {
  return kernels(d)->attention[kind]->saved_bytes(a, frames, sequences);
}

/* The op asks for the longest sequence; no sequence is longer than the batch. */
static size_t cpu_attention_work_bytes(struct linnet_device *d, enum linnet_attention_kind kind,
                                       const struct linnet_attention *a, size_t frames, size_t sequences) {
  (void)sequences;
  return kernels(d)->attention[kind]->work_bytes(a, frames);
}

static void cpu_attention_forward(struct linnet_device *d, enum linnet_attention_kind kind,
                                  const struct linnet_attention *a, const struct linnet_pack *p, const void *q,
                                  const void *k, const void *v, void *saved, void *out, void *work) {
  kernels(d)->attention[kind]->forward(a, p, q, k, v, saved, out, work);
}

static void cpu_attention_backward(struct linnet_device *d, enum linnet_attention_kind kind,
                                   const struct linnet_attention *a, const struct linnet_pack *p, const void *q,
                                   const void *k, const void *v, const void *saved, const void *out, const void *dout,
                                   void *dq, void *dk, void *dv, void *work) {
  kernels(d)->attention[kind]->backward(a, p, q, k, v, saved, out, dout, dq, dk, dv, work);
}

/* --- LSTM --------------------------------------------------------------------------------------------------------- */

struct lstm_work {
  real *packed;              /* the recurrent weights as the kernels read them */
  real *state;               /* (2, sequences, H) */
  struct linnet_span *spans; /* (sequences) */
  real *work;                /* of the op */
};

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static struct lstm_work plan_lstm(const struct linnet_device *d, size_t width, size_t sequences,
                                  struct linnet_arena *arena) {
  const struct linnet_ops *ops = kernels(d);
  size_t state, packed = larger(ops->lstm_pack_size(width, LINNET_LSTM_FORWARD),
                                ops->lstm_pack_size(width, LINNET_LSTM_BACKWARD));
  state = linnet_mul_size(sequences, 2 * width, &state) ? state : SIZE_MAX;
  struct lstm_work w = {.packed = linnet_arena_take(arena, packed, sizeof(real))};
  w.state = linnet_arena_take(arena, state, sizeof(real));
  w.spans = linnet_arena_take(arena, sequences, sizeof *w.spans);
  w.work = linnet_arena_take(arena, linnet_lstm_work(width, sequences), sizeof(real));
  return w;
}

static size_t cpu_lstm_work_bytes(struct linnet_device *d, size_t width, size_t sequences) {
  struct linnet_arena arena = {0};
  plan_lstm(d, width, sequences, &arena);
  return arena.used;
}

/* The op with its weights and spans laid out in `memory`. */
static struct linnet_lstm prepare_lstm(struct linnet_device *d, const struct linnet_lstm *l, enum linnet_lstm_use use,
                                       const struct linnet_pack *p, void *memory, struct lstm_work *w) {
  struct linnet_arena arena = {.base = memory, .size = SIZE_MAX};
  struct linnet_lstm prepared = *l;
  *w = plan_lstm(d, l->width, p->sequences, &arena);
  kernels(d)->lstm_pack(l->width, use, l->weights, w->packed);
  linnet_spans_longest_first(p, w->spans);
  prepared.weights = w->packed;
  prepared.sequences = p->sequences;
  prepared.spans = w->spans;
  return prepared;
}

static void cpu_lstm_forward(struct linnet_device *d, const struct linnet_lstm *l, const struct linnet_pack *p,
                             void *gates, real *cells, void *h, void *work) {
  struct lstm_work w;
  struct linnet_lstm lstm = prepare_lstm(d, l, LINNET_LSTM_FORWARD, p, work, &w);
  memset(w.state, 0, 2 * p->sequences * l->width * sizeof *w.state);
  kernels(d)->lstm_forward(&lstm, gates, cells, w.state, h, w.work);
}

static void cpu_lstm_backward(struct linnet_device *d, const struct linnet_lstm *l, const struct linnet_pack *p,
                              const real *cells, const void *dh, void *gates, void *work) {
  struct lstm_work w;
  struct linnet_lstm lstm = prepare_lstm(d, l, LINNET_LSTM_BACKWARD, p, work, &w);
  kernels(d)->lstm_backward(&lstm, cells, dh, gates, w.work);
}

static void cpu_steps_before(struct linnet_device *d, const struct linnet_pack *p, bool reverse, size_t width,
                             const void *h, size_t ld, void *before) {
  const real *from = h;
  real *to = before;
  (void)d;
  for (size_t s = 0; s < p->sequences; s++)
    for (size_t t = p->offsets[s]; t < p->offsets[s + 1]; t++) {
      bool first = t == (reverse ? p->offsets[s + 1] - 1 : p->offsets[s]);
      if (first)
        memset(to + t * width, 0, width * sizeof *to);
      else
        memcpy(to + t * width, from + (reverse ? t + 1 : t - 1) * ld, width * sizeof *to);
    }
}

/* --- the loss and the update -------------------------------------------------------------------------------------- */

static size_t cpu_ctc_work_bytes(struct linnet_device *d, const struct linnet_batch_ctc *c) {
  size_t most = 0;
  (void)d;
  for (size_t s = 0; s < c->pack->sequences; s++)
    most = larger(most,
                  linnet_ctc_work_bytes(c->pack->offsets[s + 1] - c->pack->offsets[s], c->symbols, c->num_labels[s]));
  return most;
}

static void cpu_ctc(struct linnet_device *d, const struct linnet_batch_ctc *c, void *work) {
  for (size_t s = 0; s < c->pack->sequences; s++) {
    size_t first = c->pack->offsets[s];
    struct linnet_ctc one = {.frames = c->pack->offsets[s + 1] - first,
                             .symbols = c->symbols,
                             .labels = c->num_labels[s],
                             .logits = c->logits + first * c->symbols,
                             .label = c->labels[s],
                             .scale = c->scale,
                             .gradient = c->gradient ? c->gradient + first * c->symbols : NULL};
    c->loss[s] = kernels(d)->ctc(&one, work);
  }
}

static void cpu_sum_of_squares(struct linnet_device *d, size_t n, const real *x, double *sum) {
  *sum = kernels(d)->sum_of_squares(n, x);
}

static void cpu_update(struct linnet_device *d, const struct linnet_update *u, double clip, const double *squares,
                       size_t n, real *parameters, const real *gradients, real *m, real *v) {
  struct linnet_update scaled = *u;
  if (!isfinite(*squares))
    return;
  if (clip > 0)
    scaled.gradient_scale *= fmin(1, clip / (sqrt(*squares) * u->gradient_scale + 1e-6));
  kernels(d)->update(&scaled, n, parameters, gradients, m, v);
}

const struct linnet_device_ops linnet_cpu_device_ops = {
    .host = true,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .upload = cpu_upload,
    .download = cpu_download,
    .zero = cpu_zero,
    .wait = cpu_wait,
    .upload_batch = cpu_upload_batch,
    .gemm = cpu_gemm,
    .gemm_work = cpu_gemm_work,
    .layernorm_forward = cpu_layernorm_forward,
    .layernorm_backward = cpu_layernorm_backward,
    .dropout = cpu_dropout,
    .residual_norm = cpu_residual_norm,
    .residual_norm_backward = cpu_residual_norm_backward,
    .activation_forward = cpu_activation_forward,
    .activation_backward = cpu_activation_backward,
    .glu_forward = cpu_glu_forward,
    .glu_backward = cpu_glu_backward,
    .log_softmax = cpu_log_softmax,
    .feature_map_forward = cpu_feature_map_forward,
    .feature_map_backward = cpu_feature_map_backward,
    .feature_map_work = cpu_feature_map_work,
    .add = cpu_add,
    .column_sum = cpu_column_sum,
    .spec_augment = cpu_spec_augment,
    .add_positions = cpu_add_positions,
    .conv_forward = cpu_conv_forward,
    .conv_backward = cpu_conv_backward,
    .attention_saved_bytes = cpu_attention_saved_bytes,
    .attention_work_bytes = cpu_attention_work_bytes,
    .attention_forward = cpu_attention_forward,
    .attention_backward = cpu_attention_backward,
    .lstm_work_bytes = cpu_lstm_work_bytes,
    .lstm_forward = cpu_lstm_forward,
    .lstm_backward = cpu_lstm_backward,
    .steps_before = cpu_steps_before,
    .ctc_work_bytes = cpu_ctc_work_bytes,
    .ctc = cpu_ctc,
    .sum_of_squares = cpu_sum_of_squares,
    .update = cpu_update,
};
