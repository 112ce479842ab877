/* The CPU as a device: ops run immediately, in the calling thread, with the kernels of a table of backend.h. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "backend/device.h"
#include "base/arena.h"
#include "base/base.h"
#include "base/numbers.h"
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

static void cpu_copy(struct linnet_device *d, void *to, const void *from, size_t bytes) {
  (void)d;
  memcpy(to, from, bytes);
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

/* --- ops that call the kernels directly --------------------------------------------------------------------------- */

#define FORWARDER(name, arguments, ...)                                                                                \
  static void cpu_##name(struct linnet_device *device, __VA_ARGS__) {                                                  \
    kernels(device)->name arguments;                                                                                   \
  }
LINNET_OP_LIST(FORWARDER, void)

static size_t cpu_gemm_work(struct linnet_device *d) {
  return kernels(d)->gemm_work;
}

static size_t cpu_feature_map_work(struct linnet_device *d) {
  return kernels(d)->feature_map_work;
}

/* --- rows and elements -------------------------------------------------------------------------------------------- */

static void cpu_residual_norm(struct linnet_device *d, const struct linnet_residual_norm *r) {
  struct linnet_layernorm norm = r->norm;
  if (r->mask->rate > 0 || r->residual || r->x != r->sum)
    kernels(d)->dropout(r->mask, norm.rows, norm.width, r->x, r->residual, r->sum);
  norm.x = r->sum;
  kernels(d)->layernorm_forward(&norm);
}

static void cpu_residual_norm_backward(struct linnet_device *d, const struct linnet_residual_norm *r) {
  kernels(d)->layernorm_backward(&r->norm);
  kernels(d)->dropout(r->mask, r->norm.rows, r->norm.width, r->norm.dx, NULL, r->dx);
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

static const struct linnet_attention_ops *attention_ops(const struct linnet_device *d,
                                                        const struct linnet_attention *a) {
  return kernels(d)->attention[a->kind];
}

static size_t cpu_attention_saved_bytes(struct linnet_device *d, const struct linnet_attention *a, size_t frames,
                                        size_t sequences) {
  return attention_ops(d, a)->saved_bytes(a, frames, sequences);
}

/* The op asks for the length of the longest sequence. The number of frames of the batch is an upper bound. */
static size_t cpu_attention_work_bytes(struct linnet_device *d, const struct linnet_attention *a, size_t frames,
                                       size_t sequences) {
  (void)sequences;
  return attention_ops(d, a)->work_bytes(a, frames);
}

static void cpu_attention_forward(struct linnet_device *d, const struct linnet_attention_call *c) {
  attention_ops(d, c->attention)->forward(c);
}

static void cpu_attention_backward(struct linnet_device *d, const struct linnet_attention_call *c) {
  attention_ops(d, c->attention)->backward(c);
}

/* --- LSTM --------------------------------------------------------------------------------------------------------- */

struct lstm_work {
  real *packed;                       /* the recurrent weights in the kernels' layout */
  real *state;                        /* (2, sequences, H) */
  struct linnet_sequence_span *spans; /* (sequences) */
  real *work;                         /* workspace of the op */
};

static struct lstm_work plan_lstm(const struct linnet_device *d, size_t width, size_t sequences,
                                  struct linnet_arena *arena) {
  const struct linnet_ops *ops = kernels(d);
  size_t state, packed = linnet_max_size(ops->lstm_pack_size(width, LINNET_LSTM_FORWARD),
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

/* The op, with its weights and spans copied to `memory`. */
static struct linnet_lstm prepare_lstm(struct linnet_device *d, const struct linnet_lstm *l, enum linnet_lstm_use use,
                                       const struct linnet_pack *p, void *memory, struct lstm_work *w) {
  struct linnet_arena arena = {.base = memory, .size = SIZE_MAX};
  struct linnet_lstm prepared = *l;
  *w = plan_lstm(d, l->width, p->sequences, &arena);
  assert(w->packed && w->state && w->spans && w->work);
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
  size_t max_bytes = 0;
  (void)d;
  for (size_t s = 0; s < c->pack->sequences; s++)
    max_bytes = linnet_max_size(
        max_bytes, linnet_ctc_work_bytes(c->pack->offsets[s + 1] - c->pack->offsets[s], c->symbols, c->num_labels[s]));
  return max_bytes;
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

static void cpu_consistency(struct linnet_device *d, const struct linnet_batch_consistency *c) {
  for (size_t s = 0; s + 1 < c->pack->sequences; s += 2) {
    size_t a = c->pack->offsets[s], b = c->pack->offsets[s + 1];
    struct linnet_consistency pair = {.frames = b - a,
                                      .symbols = c->symbols,
                                      .a = c->logits + a * c->symbols,
                                      .b = c->logits + b * c->symbols,
                                      .scale = c->scale,
                                      .gradient_a_add = c->gradient_add + a * c->symbols,
                                      .gradient_b_add = c->gradient_add + b * c->symbols};
    c->loss[s / 2] = kernels(d)->consistency(&pair);
  }
}

static void cpu_distillation(struct linnet_device *d, const struct linnet_batch_distillation *b) {
  const size_t *offsets = b->pack->offsets;
  for (size_t s = 0; s < b->pack->sequences; s++) {
    size_t row = offsets[s] * b->symbols;
    struct linnet_distillation one = {.frames = offsets[s + 1] - offsets[s],
                                      .symbols = b->symbols,
                                      .teacher = b->teacher + offsets[s - s % b->views] / b->views * b->symbols,
                                      .student = b->logits + row,
                                      .scale = b->scale,
                                      .gradient_add = b->gradient_add + row};
    b->loss[s] = kernels(d)->distillation(&one);
  }
}

static void cpu_frame_targets(struct linnet_device *d, const struct linnet_batch_frame_targets *b) {
  const size_t *offsets = b->pack->offsets;
  for (size_t s = 0; s < b->pack->sequences; s++) {
    size_t row = offsets[s] * b->symbols;
    struct linnet_frame_targets one = {.frames = offsets[s + 1] - offsets[s],
                                       .symbols = b->symbols,
                                       .targets = b->targets[s],
                                       .logits = b->logits + row,
                                       .scale = b->scale,
                                       .gradient_add = b->gradient_add + row};
    b->loss[s] = kernels(d)->frame_targets(&one);
  }
}

static size_t cpu_denominator_work_bytes(struct linnet_device *d, const struct linnet_batch_denominator *b) {
  size_t frames = 0;
  (void)d;
  for (size_t s = 0; s < b->pack->sequences; s++)
    frames = linnet_max_size(frames, b->pack->offsets[s + 1] - b->pack->offsets[s]);
  return linnet_denominator_work_bytes(b->graph, frames);
}

static void cpu_denominator(struct linnet_device *d, const struct linnet_batch_denominator *b, void *work) {
  for (size_t s = 0; s < b->pack->sequences; s++) {
    size_t first = b->pack->offsets[s], row = first * b->graph->symbols;
    struct linnet_denominator one = {.graph = b->graph,
                                     .frames = b->pack->offsets[s + 1] - first,
                                     .logits = b->logits + row,
                                     .scale = b->scale,
                                     .gradient_add = b->gradient_add + row};
    b->loss[s] = b->ctc[s];
    if (b->ctc[s] != INFINITY)
      b->loss[s] += kernels(d)->denominator(&one, work) -
                    linnet_denominator_label_score(b->graph, b->labels[s], b->num_labels[s]);
  }
}

static real expand(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return (real)value;
}

static void cpu_round_bfloat16(struct linnet_device *d, size_t n, real *x) {
  (void)d;
  for (size_t i = 0; i < n; i++)
    x[i] = expand(linnet_bfloat16_bits((float)x[i]));
}

static void cpu_pack_bfloat16(struct linnet_device *d, size_t n, const real *x, uint16_t *halves) {
  (void)d;
  for (size_t i = 0; i < n; i++)
    halves[i] = linnet_bfloat16_bits((float)x[i]);
}

/* From the last number to the first, because the halves are at the beginning of the reals. */
static void cpu_expand_bfloat16(struct linnet_device *d, size_t n, real *x) {
  const unsigned char *halves = (const unsigned char *)x;
  (void)d;
  for (size_t i = n; i-- > 0;) {
    uint16_t half;
    memcpy(&half, halves + i * sizeof half, sizeof half);
    x[i] = expand(half);
  }
}

static void cpu_sum_of_squares(struct linnet_device *d, size_t n, const real *x, double *sum) {
  *sum = kernels(d)->sum_of_squares(n, x);
}

static void cpu_update(struct linnet_device *d, const struct linnet_update *u, double clip, const double *squares,
                       const struct linnet_update_arrays *a) {
  struct linnet_update scaled = *u;
  if (!isfinite(*squares))
    return;
  if (clip > 0)
    scaled.gradient_scale *= fmin(1, clip / (sqrt(*squares) * u->gradient_scale + 1e-6));
  kernels(d)->update(&scaled, a->n, a->parameters, a->gradients, a->m, a->v);
}

#define ROW(name, arguments, ...) .name = cpu_##name,

const struct linnet_device_ops linnet_cpu_device_ops = {
    .host = true,
    LINNET_OP_LIST(ROW, void).alloc = cpu_alloc,
    .free = cpu_free,
    .upload = cpu_upload,
    .download = cpu_download,
    .zero = cpu_zero,
    .copy = cpu_copy,
    .wait = cpu_wait,
    .upload_batch = cpu_upload_batch,
    .gemm_work = cpu_gemm_work,
    .residual_norm = cpu_residual_norm,
    .residual_norm_backward = cpu_residual_norm_backward,
    .activation_forward = cpu_activation_forward,
    .activation_backward = cpu_activation_backward,
    .feature_map_work = cpu_feature_map_work,
    .spec_augment = cpu_spec_augment,
    .add_positions = cpu_add_positions,
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
    .consistency = cpu_consistency,
    .distillation = cpu_distillation,
    .frame_targets = cpu_frame_targets,
    .denominator_work_bytes = cpu_denominator_work_bytes,
    .denominator = cpu_denominator,
    .round_bfloat16 = cpu_round_bfloat16,
    .pack_bfloat16 = cpu_pack_bfloat16,
    .expand_bfloat16 = cpu_expand_bfloat16,
    .sum_of_squares = cpu_sum_of_squares,
    .update = cpu_update,
};
