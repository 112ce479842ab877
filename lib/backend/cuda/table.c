/* The op table of a CUDA device: the functions of launch.h directly, or wrappers that add the arguments that these
 * need. */
#include <assert.h>

#include "backend/cuda/cuda_device.h"
#include "base/base.h"
#include "ops/position.h"

/* The device's tables of a batch. */
static const struct linnet_cuda_pack *pack_of(const struct linnet_device *d, const struct linnet_pack *p) {
  const struct linnet_cuda_batch *batch = &linnet_cuda_device(d)->batch;
  assert(batch->offsets == p->offsets);
  (void)p;
  return &batch->pack;
}

/* --- products ----------------------------------------------------------------------------------------------------- */

static void use_weights(struct linnet_device *d, size_t size, const float *weights, const void *rounded) {
  linnet_cuda_device(d)->weights = (struct linnet_cuda_weights){weights, rounded, size};
}

/* Replaces a pointer into the weights by one to the rounded weights. Returns other pointers unchanged. */
static const float *operand_of(const struct linnet_device *d, const float *x) {
  const struct linnet_cuda_weights *w = &linnet_cuda_device(d)->weights;
  const uintptr_t address = (uintptr_t)x, first = (uintptr_t)w->from;
  if (d->activation_bytes == sizeof *x || address < first || address - first >= w->size * sizeof *x)
    return x;
  return (const float *)(const void *)(w->rounded + (address - first) / sizeof *x);
}

static void gemm(struct linnet_device *d, const struct linnet_gemm *g, float *work) {
  struct linnet_gemm product = *g;
  (void)work;
  product.a = operand_of(d, g->a), product.b = operand_of(d, g->b);
  if (g->bias && g->result == LINNET_GEMM_ACTIVATIONS)
    product.bias = operand_of(d, g->bias);
  linnet_cuda_gemm(d, &product);
}

static size_t no_work(struct linnet_device *d) {
  (void)d;
  return 0;
}

/* --- rows and elements -------------------------------------------------------------------------------------------- */

static void feature_map_forward(struct linnet_device *d, const struct linnet_feature_map_terms *m, size_t rows,
                                const void *x, void *phi, float *work) {
  (void)work;
  linnet_cuda_feature_map_forward(d, m, rows, x, phi);
}

static void feature_map_backward(struct linnet_device *d, const struct linnet_feature_map_terms *m, size_t rows,
                                 const void *x, const void *phi, const void *dphi, void *dx, float *work) {
  (void)work;
  linnet_cuda_feature_map_backward(d, m, rows, x, phi, dphi, dx);
}

/* --- sequences ---------------------------------------------------------------------------------------------------- */

/* Uses the masks that were uploaded with the batch. */
static void spec_augment(struct linnet_device *d, const struct linnet_pack *p, const struct linnet_masks *m, void *x) {
  struct linnet_masks uploaded = *m;
  uploaded.masks = linnet_cuda_device(d)->batch.masks;
  linnet_cuda_spec_augment(d, pack_of(d, p), &uploaded, x);
}

/* Extends the table of positions to at least `rows` rows. */
static bool reserve_positions(struct linnet_cuda_device *c, size_t rows, size_t width) {
  if (rows <= c->position_rows && width == c->position_width)
    return true;
  rows += rows / 2;
  float *table = linnet_calloc(c->context, rows, width * sizeof *table);
  linnet_cuda_free(&c->base, c->positions);
  c->positions = table ? linnet_cuda_alloc(&c->base, rows * width * sizeof *table) : NULL;
  c->position_rows = c->positions ? rows : 0;
  c->position_width = width;
  if (c->positions) {
    linnet_add_positions(0, rows, width, table);
    linnet_cuda_upload(&c->base, c->positions, table, rows * width * sizeof *table);
    linnet_cuda_wait(&c->base, NULL);
  }
  linnet_free(c->context, table);
  return c->positions != NULL;
}

static void add_positions(struct linnet_device *d, const struct linnet_pack *p, size_t width, void *x) {
  struct linnet_cuda_device *c = linnet_cuda_device(d);
  const struct linnet_cuda_pack *pack = pack_of(d, p);
  if (reserve_positions(c, pack->longest, width))
    linnet_cuda_add_table(d, pack, width, c->positions, x);
  else
    linnet_cuda_out_of_memory(d);
}

static void conv_forward(struct linnet_device *d, const struct linnet_conv *c, const struct linnet_pack *p,
                         const void *x, const float *w, const float *bias, void *y) {
  linnet_cuda_conv_forward(d, c, pack_of(d, p), x, w, bias, y);
}

static void conv_backward(struct linnet_device *d, const struct linnet_conv *c, const struct linnet_pack *p,
                          const struct linnet_conv_gradients *g) {
  linnet_cuda_conv_backward(d, c, pack_of(d, p), g);
}

const struct linnet_cuda_attention_ops *const linnet_cuda_attention[LINNET_ATTENTION_KINDS] = {
    [LINNET_ATTENTION_LINEAR] = &linnet_cuda_linear_attention,
    [LINNET_ATTENTION_CAUSAL_LINEAR] = &linnet_cuda_causal_linear_attention,
    [LINNET_ATTENTION_SOFTMAX] = &linnet_cuda_softmax_attention,
    [LINNET_ATTENTION_CAUSAL_SOFTMAX] = &linnet_cuda_causal_softmax_attention,
    [LINNET_ATTENTION_LSH] = &linnet_cuda_lsh_attention,
    [LINNET_ATTENTION_CAUSAL_LSH] = &linnet_cuda_causal_lsh_attention};

static size_t attention_saved_bytes(struct linnet_device *d, const struct linnet_attention *a, size_t frames,
                                    size_t sequences) {
  (void)d;
  return linnet_cuda_attention[a->kind]->saved_bytes(a, frames, sequences);
}

static size_t attention_work_bytes(struct linnet_device *d, const struct linnet_attention *a, size_t frames,
                                   size_t sequences) {
  (void)d;
  return linnet_cuda_attention[a->kind]->work_bytes(a, frames, sequences);
}

static void attention_forward(struct linnet_device *d, const struct linnet_attention_call *c) {
  linnet_cuda_attention[c->attention->kind]->forward(d, c, pack_of(d, c->pack));
}

static void attention_backward(struct linnet_device *d, const struct linnet_attention_call *c) {
  linnet_cuda_attention[c->attention->kind]->backward(d, c, pack_of(d, c->pack));
}

/* --- LSTM: the workspace begins with the state -------------------------------------------------------------------- */

static size_t state_size(size_t width, size_t sequences) {
  return 2 * width * sequences;
}

static size_t lstm_work_bytes(struct linnet_device *d, size_t width, size_t sequences) {
  (void)d;
  return (state_size(width, sequences) + linnet_cuda_lstm_work(width, sequences)) * sizeof(float);
}

static struct linnet_lstm lstm_of(const struct linnet_device *d, const struct linnet_lstm *l,
                                  const struct linnet_pack *p) {
  struct linnet_lstm lstm = *l;
  lstm.sequences = pack_of(d, p)->sequences;
  lstm.spans = linnet_cuda_device(d)->batch.host_spans;
  return lstm;
}

static void lstm_forward(struct linnet_device *d, const struct linnet_lstm *l, const struct linnet_pack *p, void *gates,
                         float *cells, void *h, void *work) {
  struct linnet_lstm lstm = lstm_of(d, l, p);
  float *state = work;
  size_t size = state_size(lstm.width, lstm.sequences);
  linnet_cuda_zero(d, state, size * sizeof *state);
  linnet_cuda_lstm_forward(d, &lstm, linnet_cuda_device(d)->batch.spans, gates, cells, state, h, state + size);
}

static void lstm_backward(struct linnet_device *d, const struct linnet_lstm *l, const struct linnet_pack *p,
                          const float *cells, const void *dh, void *gates, void *work) {
  struct linnet_lstm lstm = lstm_of(d, l, p);
  linnet_cuda_lstm_backward(d, &lstm, linnet_cuda_device(d)->batch.spans, cells, dh, gates, work);
}

static void steps_before(struct linnet_device *d, const struct linnet_pack *p, bool reverse, size_t width,
                         const void *h, size_t ld, void *before) {
  linnet_cuda_steps_before(d, pack_of(d, p), reverse, width, h, ld, before);
}

/* --- the loss ----------------------------------------------------------------------------------------------------- */

static struct linnet_cuda_ctc ctc_of(const struct linnet_device *d, const struct linnet_batch_ctc *c) {
  const struct linnet_cuda_batch *batch = &linnet_cuda_device(d)->batch;
  struct linnet_cuda_ctc ctc = {.pack = pack_of(d, c->pack),
                                .symbols = c->symbols,
                                .label_offsets = batch->label_offsets,
                                .labels = batch->labels,
                                .logits = c->logits,
                                .scale = c->scale,
                                .gradient = c->gradient,
                                .loss = c->loss};
  for (size_t s = 0; s < c->pack->sequences; s++) {
    ctc.total_labels += c->num_labels[s];
    ctc.max_labels = c->num_labels[s] > ctc.max_labels ? c->num_labels[s] : ctc.max_labels;
  }
  return ctc;
}

static size_t ctc_work_bytes(struct linnet_device *d, const struct linnet_batch_ctc *c) {
  struct linnet_cuda_ctc ctc = ctc_of(d, c);
  return linnet_cuda_ctc_work_bytes(&ctc);
}

static void ctc(struct linnet_device *d, const struct linnet_batch_ctc *c, void *work) {
  struct linnet_cuda_ctc terms = ctc_of(d, c);
  linnet_cuda_ctc(d, &terms, work);
}

static void consistency(struct linnet_device *d, const struct linnet_batch_consistency *c) {
  linnet_cuda_consistency(d, c, pack_of(d, c->pack));
}

struct linnet_device linnet_cuda_base(const char *name, enum linnet_precision precision) {
  return (struct linnet_device){&linnet_cuda_device_ops, name,
                                precision == LINNET_BFLOAT16 ? sizeof(uint16_t) : sizeof(float)};
}

const struct linnet_device_ops linnet_cuda_device_ops = {
    .close = linnet_cuda_close,
    .lock = linnet_cuda_lock,
    .unlock = linnet_cuda_unlock,
    .free_bytes = linnet_cuda_free_bytes,
    .peak_bytes = linnet_cuda_peak_bytes,
    .alloc = linnet_cuda_alloc,
    .free = linnet_cuda_free,
    .upload = linnet_cuda_upload,
    .download = linnet_cuda_download,
    .zero = linnet_cuda_zero,
    .copy = linnet_cuda_copy,
    .wait = linnet_cuda_wait,
    .upload_batch = linnet_cuda_upload_batch,
    .use_weights = use_weights,
    .gemm = gemm,
    .gemm_work = no_work,
    .activations_of = linnet_cuda_activations_of,
    .layernorm_forward = linnet_cuda_layernorm_forward,
    .layernorm_backward = linnet_cuda_layernorm_backward,
    .dropout = linnet_cuda_dropout,
    .residual_norm = linnet_cuda_residual_norm,
    .residual_norm_backward = linnet_cuda_residual_norm_backward,
    .activation_forward = linnet_cuda_activation_forward,
    .activation_backward = linnet_cuda_activation_backward,
    .glu_forward = linnet_cuda_glu_forward,
    .glu_backward = linnet_cuda_glu_backward,
    .log_softmax = linnet_cuda_log_softmax,
    .feature_map_forward = feature_map_forward,
    .feature_map_backward = feature_map_backward,
    .feature_map_work = no_work,
    .add = linnet_cuda_add,
    .round_bfloat16 = linnet_cuda_round_bfloat16,
    .pack_bfloat16 = linnet_cuda_pack_bfloat16,
    .expand_bfloat16 = linnet_cuda_expand_bfloat16,
    .average = linnet_cuda_average,
    .column_sum = linnet_cuda_column_sum,
    .spec_augment = spec_augment,
    .add_positions = add_positions,
    .conv_forward = conv_forward,
    .conv_backward = conv_backward,
    .attention_saved_bytes = attention_saved_bytes,
    .attention_work_bytes = attention_work_bytes,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
    .lstm_work_bytes = lstm_work_bytes,
    .lstm_forward = lstm_forward,
    .lstm_backward = lstm_backward,
    .steps_before = steps_before,
    .lstm_layer_bytes = linnet_cuda_lstm_layer_bytes,
    .lstm_layer_forward = linnet_cuda_lstm_layer_forward,
    .lstm_layer_backward = linnet_cuda_lstm_layer_backward,
    .ctc_work_bytes = ctc_work_bytes,
    .ctc = ctc,
    .consistency = consistency,
    .sum_of_squares = linnet_cuda_sum_of_squares,
    .update = linnet_cuda_update,
    .link = &linnet_cuda_link_ops,
};
