/* Inference: what all kinds of network share. One utterance is divided into blocks of rows that stay in the cache; the
 * kind of network runs its layers, then the last linear layer and the softmax run block by block, and the encoder
 * passes the posteriors to the sink.
 *
 * The division of T rows depends only on T, so results do not depend on the number of threads. */
#include "model/inference/encoder.h"

#include <string.h>

#include "base/numbers.h"

static const struct linnet_encoder_ops *const kinds[] = {
    [LINNET_ENCODER_TRANSFORMER] = &linnet_transformer_encoder, [LINNET_ENCODER_BLSTM] = &linnet_blstm_encoder};

/* --- memory ------------------------------------------------------------------------------------------------------- */

static size_t aligned(size_t elements) {
  return linnet_round_up(elements, 16);
}

enum linnet_status linnet_encoder_create_scratch(struct linnet_encoder *e, unsigned threads, size_t rows) {
  const struct linnet_encoder_sizes sizes = e->kind->sizes(e);
  size_t narrow = aligned(rows * sizes.narrow), wide = aligned(rows * sizes.wide);
  size_t phi = aligned(rows * sizes.phi), each = 3 * narrow + wide + phi + aligned(sizes.work);
  e->scratch = linnet_calloc(e->context, threads, sizeof *e->scratch);
  e->scratch_memory = linnet_alloc(e->context, threads * each, sizeof(real));
  if (!e->scratch || !e->scratch_memory)
    return linnet_fail(e->context, LINNET_ERROR_MEMORY, "out of memory for an encoder");
  for (unsigned i = 0; i < threads; i++) {
    real *base = e->scratch_memory + i * each;
    e->scratch[i] = (struct scratch){.normed = base,
                                     .narrow = base + narrow,
                                     .narrow2 = base + 2 * narrow,
                                     .wide = base + 3 * narrow,
                                     .phi = base + 3 * narrow + wide,
                                     .work = base + 3 * narrow + wide + phi};
  }
  return LINNET_OK;
}

static enum linnet_status create_buffers(struct linnet_encoder *e) {
  const struct linnet_config *config = &e->model->config;
  const struct linnet_encoder_sizes sizes = e->kind->sizes(e);
  LINNET_TRY(linnet_encoder_create_scratch(e, linnet_context_num_threads(e->context), sizes.rows));
  e->padded = linnet_alloc(e->context, config->stack * config->input_dim, sizeof(real));
  e->log_p = linnet_alloc(e->context, (size_t)OUTPUT_BLOCKS * BLOCK_ROWS * config->outputs, sizeof(real));
  if (!e->padded || !e->log_p)
    return linnet_fail(e->context, LINNET_ERROR_MEMORY, "out of memory for an encoder");
  return LINNET_OK;
}

enum linnet_status linnet_encoder_create(struct linnet_context *context, const struct linnet_model *model,
                                         struct linnet_encoder **encoder) {
  if (encoder)
    *encoder = NULL;
  if (!context || !model || !encoder)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_encoder_create: an argument is NULL");
  struct linnet_encoder *e = *encoder = linnet_calloc(context, 1, sizeof *e);
  if (!e)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for an encoder");
  e->context = context;
  e->model = model;
  e->ops = linnet_context_ops(model->context);
  e->kind = kinds[model->config.encoder];
  e->width = e->model->linear_layers->output.in;
  bool host = linnet_device_of(context)->ops->host;
  enum linnet_status status = host ? create_buffers(e) : linnet_device_encoder_create(context, model, &e->on_device);
  if (status != LINNET_OK) {
    linnet_encoder_destroy(e);
    *encoder = NULL;
  }
  return status;
}

void linnet_encoder_destroy(struct linnet_encoder *e) {
  if (!e)
    return;
  void *blocks[] = {e->scratch,          e->scratch_memory,   e->states.data,    e->padded,         e->log_p,
                    e->x.data,           e->y.data,           e->edges.data,     e->whole.qkv.data, e->whole.phi.data,
                    e->whole.heads.data, e->whole.saved.data, e->whole.work.data};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(e->context, blocks[i]);
  linnet_device_encoder_destroy(e->on_device);
  linnet_free(e->context, e);
}

enum linnet_status linnet_buffer_reserve(struct linnet_context *context, struct linnet_buffer *buffer, size_t count,
                                         size_t bytes) {
  size_t needed;
  if (!linnet_mul_size(count, bytes, &needed))
    needed = SIZE_MAX;
  if (needed <= buffer->bytes)
    return LINNET_OK;
  linnet_free(context, buffer->data);
  *buffer = (struct linnet_buffer){.data = linnet_alloc(context, needed, 1)};
  if (!buffer->data)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for an utterance: %zu rows of %zu bytes", count,
                       bytes);
  buffer->bytes = needed;
  return LINNET_OK;
}

enum linnet_status linnet_encoder_reserve(struct linnet_encoder *e, struct linnet_buffer *buffer, size_t count,
                                          size_t bytes) {
  return linnet_buffer_reserve(e->context, buffer, count, bytes);
}

/* Divides the rows into an even number of blocks (two threads share them evenly) of a multiple of 12 rows. */
static void divide_blocks(struct linnet_encoder *e) {
  size_t pairs = linnet_divide_up(e->frames, 2 * BLOCK_ROWS);
  e->block_rows = linnet_round_up(linnet_divide_up(e->frames, 2 * pairs), 12);
  if (e->block_rows < e->kind->sizes(e).minimum_rows)
    e->block_rows = BLOCK_ROWS;
  e->blocks = linnet_divide_up(e->frames, e->block_rows);
}

/* Stacks the last, incomplete stack of frames. */
static void pad_features(struct linnet_encoder *e) {
  const struct linnet_config *config = &e->model->config;
  size_t whole = e->in_frames / config->stack * config->stack, dim = config->input_dim;
  for (size_t i = 0; whole < e->in_frames && i < config->stack; i++) {
    size_t t = whole + i < e->in_frames ? whole + i : e->in_frames - 1;
    memcpy(e->padded + i * dim, e->features + t * dim, dim * sizeof *e->padded);
  }
}

static enum linnet_status plan(struct linnet_encoder *e, const float *features, size_t frames) {
  e->features = features;
  e->in_frames = frames;
  e->frames = linnet_model_num_output_frames(e->model, frames);
  divide_blocks(e);
  pad_features(e);
  LINNET_TRY(linnet_encoder_reserve(e, &e->x, e->frames, row_bytes(e)));
  return e->kind->plan(e);
}

/* --- the ends of the network -------------------------------------------------------------------------------------- */

void linnet_encoder_input(const struct linnet_encoder *e, const struct scratch *s, const struct linnet_packed_linear *l,
                          struct rows r, real *y) {
  /* Stacked rows are input rows side by side; the last is copied if frames are missing. */
  size_t whole = e->in_frames / e->model->config.stack;
  size_t direct = r.first + r.count <= whole ? r.count : whole - r.first;
  apply(e, s, l, direct, e->features + r.first * l->in, LINNET_IDENTITY, y);
  if (direct < r.count)
    apply(e, s, l, 1, e->padded, LINNET_IDENTITY, y + direct * l->out);
}

enum linnet_status linnet_encoder_check_frames(struct linnet_context *context, const struct linnet_config *config,
                                               const float *frames, size_t num_frames) {
  const struct linnet_embedding e = linnet_config_embedding(config);
  size_t bad = 0;
  if (!linnet_config_reads_tokens(config) || linnet_embedding_check(&e, num_frames, frames, &bad))
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                     "frame %zu: %g is not an index of embedding table %zu, which has %zu rows", bad / e.tables,
                     (double)frames[bad], bad % e.tables + 1, e.sizes[bad % e.tables]);
}

void linnet_encoder_posteriors(const struct linnet_encoder *e, const struct scratch *s, size_t rows, const real *h,
                               real *log_p) {
  apply(e, s, &e->model->linear_layers->output, rows, h, LINNET_IDENTITY, log_p);
  if (e->model->config.output == LINNET_OUTPUT_POSTERIORS)
    e->ops->log_softmax(rows, e->model->config.outputs, log_p, log_p);
}

static void task_output(void *user, size_t task, unsigned worker) {
  const struct linnet_encoder *e = user;
  if (linnet_encoder_stopped(e))
    return;
  const struct scratch *s = &e->scratch[worker];
  struct rows r = block_rows(e, e->first_output + task), chunk = block_rows(e, e->first_output);
  linnet_encoder_posteriors(e, s, r.count, e->kind->output(e, s, r),
                            e->log_p + (r.first - chunk.first) * e->model->config.outputs);
}

/* --- loops that can be cancelled ---------------------------------------------------------------------------------- */

void linnet_encoder_loop(struct linnet_encoder *e, double from, double to, size_t units, size_t tasks,
                         linnet_task_fn body) {
  e->loop.from = from;
  e->loop.to = to;
  e->loop.units = units;
  e->loop.done = 0;
  linnet_parallel(e->context, tasks, body, e);
}

/* Worker 0 is the thread that made the call. */
bool linnet_encoder_unit(struct linnet_encoder *e, unsigned worker) {
  size_t done = __atomic_fetch_add(&e->loop.done, 1, __ATOMIC_RELAXED);
  double part = (double)done / (double)e->loop.units;
  if (worker == 0)
    linnet_progress(e->context, LINNET_STAGE_NETWORK,
                    ((double)e->layer + e->loop.from + part * (e->loop.to - e->loop.from)) /
                        (double)e->model->config.layers);
  return !linnet_encoder_stopped(e);
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

static enum linnet_status run_output(struct linnet_encoder *e, linnet_posterior_fn sink, void *user) {
  for (e->first_output = 0; e->first_output < e->blocks; e->first_output += OUTPUT_BLOCKS) {
    size_t left = e->blocks - e->first_output, count = left < OUTPUT_BLOCKS ? left : OUTPUT_BLOCKS;
    struct rows first = block_rows(e, e->first_output), last = block_rows(e, e->first_output + count - 1);
    linnet_progress(e->context, LINNET_STAGE_POSTERIORS, (double)e->first_output / (double)e->blocks);
    linnet_parallel(e->context, count, task_output, e);
    LINNET_TRY(linnet_poll_check(e->context));
    if (sink(user, e->log_p, first.first, last.first + last.count - first.first) != 0)
      return linnet_fail(e->context, LINNET_ERROR_CANCELLED, "the receiver of the posteriors asked to stop");
  }
  return LINNET_OK;
}

enum linnet_status linnet_encoder_run(struct linnet_encoder *e, const float *features, size_t frames,
                                      linnet_posterior_fn sink, void *user) {
  if (!e || !sink || (!features && frames > 0))
    return linnet_fail(e ? e->context : NULL, LINNET_ERROR_ARGUMENT, "linnet_encoder_run: an argument is NULL");
  if (frames == 0)
    return LINNET_OK;
  LINNET_TRY(linnet_encoder_check_frames(e->context, &e->model->config, features, frames));
  linnet_poll_begin(e->context);
  if (e->on_device)
    return linnet_device_encoder_run(e->on_device, features, frames, sink, user);
  LINNET_TRY(plan(e, features, frames));
  e->kind->run(e);
  LINNET_TRY(linnet_poll_check(e->context));
  return run_output(e, sink, user);
}

struct matrix_sink {
  float *out;
  size_t symbols;
};

static int copy_rows(void *user, const float *log_posteriors, size_t first, size_t frames) {
  const struct matrix_sink *sink = user;
  memcpy(sink->out + first * sink->symbols, log_posteriors, frames * sink->symbols * sizeof *sink->out);
  return 0;
}

enum linnet_status linnet_encoder_compute(struct linnet_encoder *e, const float *features, size_t frames,
                                          float *log_posteriors) {
  if (!e || (!log_posteriors && frames > 0))
    return linnet_fail(e ? e->context : NULL, LINNET_ERROR_ARGUMENT, "linnet_encoder_compute: an argument is NULL");
  struct matrix_sink sink = {log_posteriors, e->model->config.outputs};
  return linnet_encoder_run(e, features, frames, copy_rows, &sink);
}
