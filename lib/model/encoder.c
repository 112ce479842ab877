/* Recognition: one utterance through the network in blocks of rows that stay in the cache, all threads sharing each
 * layer's blocks. What lives through the run is x (T, D), changed in place; per layer:
 *
 *   1 keys         linear attention: per group of blocks, keys and values of x summed into the group's state (S, z);
 *                  then the groups' states are summed in order
 *                  other kinds: per block, queries, keys and values of x, kept whole; then per head, its attention
 *   2 attend       per block: linear attention reads the state with the queries of x, other kinds have their rows
 *                  already; output map, residual and norm; the rows at the block's edges are saved if a convolution
 *                  follows
 *   3 finish       per block: convolution module (neighbours' rows from the saved edges), feed-forward
 *
 * How T rows are cut into blocks and groups depends on T alone, so results do not depend on the number of threads. */
#include <string.h>

#include "model/encoder.h"
#include "model/position.h"

/* --- memory ------------------------------------------------------------------------------------------------------- */

static size_t scratch_widest(const struct linnet_config *config) {
  return config->feed_forward > 2 * config->width ? config->feed_forward : 2 * config->width;
}

static enum linnet_status create_scratch(struct linnet_encoder *e) {
  const struct linnet_config *config = &e->model->config;
  unsigned threads = linnet_context_threads(e->context);
  size_t rows = BLOCK_ROWS + config->convolution, narrow = rows * config->width;
  size_t wide = rows * scratch_widest(config), work = e->ops->gemm_work + 16384;
  narrow = (narrow + 15) / 16 * 16;
  wide = (wide + 15) / 16 * 16;
  size_t each = 3 * narrow + wide + work;
  e->scratch = linnet_calloc(e->context, threads, sizeof *e->scratch);
  e->scratch_memory = linnet_alloc(e->context, threads * each, sizeof(real));
  struct linnet_attention a = linnet_layer_attention(config, 0);
  e->states = linnet_alloc(e->context, MAX_GROUPS * linnet_linear_state_size(&a), sizeof(real));
  e->padded = linnet_alloc(e->context, config->stack * config->input_dim, sizeof(real));
  e->log_p = linnet_alloc(e->context, (size_t)OUTPUT_BLOCKS * BLOCK_ROWS * config->outputs, sizeof(real));
  if (!e->scratch || !e->scratch_memory || !e->states || !e->padded || !e->log_p)
    return linnet_fail(e->context, LINNET_ERROR_MEMORY, "out of memory for an encoder");
  for (unsigned i = 0; i < threads; i++) {
    real *base = e->scratch_memory + i * each;
    e->scratch[i] =
        (struct scratch){base, base + narrow, base + 2 * narrow, base + 3 * narrow, base + 3 * narrow + wide};
  }
  return LINNET_OK;
}

enum linnet_status linnet_encoder_create(struct linnet_context *context, const struct linnet_model *model,
                                         struct linnet_encoder **encoder) {
  if (!context || !model || !encoder)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_encoder_create: NULL argument");
  struct linnet_encoder *e = *encoder = linnet_calloc(context, 1, sizeof *e);
  if (!e)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for an encoder");
  e->context = context;
  e->model = model;
  e->ops = linnet_context_ops(model->context);
  enum linnet_status status = create_scratch(e);
  if (status != LINNET_OK) {
    linnet_encoder_destroy(e);
    *encoder = NULL;
  }
  return status;
}

void linnet_encoder_destroy(struct linnet_encoder *e) {
  if (!e)
    return;
  void *blocks[] = {e->scratch,        e->scratch_memory, e->states,         e->padded,           e->log_p,
                    e->x.data,         e->edges.data,     e->whole.qkv.data, e->whole.heads.data, e->whole.kept.data,
                    e->whole.work.data};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(e->context, blocks[i]);
  linnet_free(e->context, e);
}

enum linnet_status linnet_encoder_reserve(struct linnet_encoder *e, struct linnet_buffer *buffer, size_t count,
                                          size_t bytes) {
  size_t needed;
  if (!linnet_mul_size(count, bytes, &needed))
    needed = SIZE_MAX;
  if (needed <= buffer->bytes)
    return LINNET_OK;
  linnet_free(e->context, buffer->data);
  *buffer = (struct linnet_buffer){.data = linnet_alloc(e->context, needed, 1)};
  if (!buffer->data)
    return linnet_fail(e->context, LINNET_ERROR_MEMORY, "out of memory for an utterance of %zu frames", e->in_frames);
  buffer->bytes = needed;
  return LINNET_OK;
}

static size_t divide_up(size_t a, size_t b) {
  return a / b + (a % b != 0);
}

/* Cuts the rows into an even number of blocks (two threads share them evenly) of a multiple of 12 rows. */
static enum linnet_status plan(struct linnet_encoder *e, const float *features, size_t frames) {
  e->features = features;
  e->in_frames = frames;
  e->frames = linnet_model_output_frames(e->model, frames);
  size_t pairs = divide_up(e->frames, 2 * BLOCK_ROWS);
  e->block_rows = divide_up(divide_up(e->frames, 2 * pairs), 12) * 12;
  if (e->block_rows < 2 * half_kernel(e))
    e->block_rows = BLOCK_ROWS;
  e->blocks = divide_up(e->frames, e->block_rows);
  e->groups = e->blocks < MAX_GROUPS ? e->blocks : MAX_GROUPS;
  LINNET_TRY(linnet_encoder_reserve(e, &e->x, e->frames, row_bytes(e)));
  if (half_kernel(e) > 0)
    LINNET_TRY(linnet_encoder_reserve(e, &e->edges, e->blocks * 2 * half_kernel(e), row_bytes(e)));
  for (size_t l = 0; l < e->model->config.layers; l++)
    LINNET_TRY(linnet_encoder_plan_attention(e, l));
  return LINNET_OK;
}

/* --- the steps of a layer ----------------------------------------------------------------------------------------- */

/* x += y, and post-norm's norm. */
static void residual(const struct linnet_encoder *e, size_t rows, const real *y, size_t gain, size_t bias, real *x) {
  e->ops->add(rows * e->model->config.width, y, x);
  if (e->model->config.norm == LINNET_NORM_POST)
    norm(e, rows, x, gain, bias, x);
}

static void task_input(void *user, size_t block, unsigned worker) {
  const struct linnet_encoder *e = user;
  const struct linnet_config *config = &e->model->config;
  const struct linnet_map *map = &e->model->maps->input;
  struct rows r = block_rows(e, block);
  /* Stacked rows are input rows side by side; the last is copied if frames lack. */
  size_t whole = e->in_frames / config->stack;
  size_t direct = r.first + r.count <= whole ? r.count : whole - r.first;
  linnet_map_apply(e->ops, map, direct, e->features + r.first * map->in, map->in, LINNET_IDENTITY, row(e, r.first),
                   config->width, e->scratch[worker].work);
  if (direct < r.count)
    linnet_map_apply(e->ops, map, 1, e->padded, map->in, LINNET_IDENTITY, row(e, r.first + direct), config->width,
                     e->scratch[worker].work);
  if (config->position == LINNET_POSITION_SINUSOIDAL)
    linnet_add_positions(r.first, r.count, config->width, row(e, r.first));
}

static real *edges(const struct linnet_encoder *e) {
  return e->edges.data;
}

static void save_edges(const struct linnet_encoder *e, size_t block, struct rows r) {
  size_t half = half_kernel(e), width = e->model->config.width, n = r.count < half ? r.count : half;
  real *first = edges(e) + block * 2 * half * width, *last = first + half * width;
  memcpy(first, row(e, r.first), n * width * sizeof *first);
  memcpy(last, row(e, r.first + r.count - n), n * width * sizeof *last);
}

static void feed_forward(const struct linnet_encoder *e, const struct scratch *s, size_t rows, real *x) {
  const struct linnet_layer_offsets *o = layer_offsets(e);
  const struct linnet_layer_maps *maps = layer_maps(e);
  const real *h = block_input(e, s, rows, x, o->norm2_gain, o->norm2_bias);
  apply(e, s, &maps->linear1, rows, h, e->model->config.activation, s->wide);
  apply(e, s, &maps->linear2, rows, s->wide, LINNET_IDENTITY, s->narrow);
  residual(e, rows, s->narrow, o->norm2_gain, o->norm2_bias, x);
}

static void task_attend(void *user, size_t block, unsigned worker) {
  const struct linnet_encoder *e = user;
  const struct scratch *s = &e->scratch[worker];
  const struct linnet_layer_offsets *o = layer_offsets(e);
  struct rows r = block_rows(e, block);
  real *x = row(e, r.first);
  const real *heads = linnet_encoder_heads(e, s, r);
  apply(e, s, &layer_maps(e)->attention_output, r.count, heads, LINNET_IDENTITY, s->narrow);
  residual(e, r.count, s->narrow, o->norm1_gain, o->norm1_bias, x);
  if (half_kernel(e) > 0)
    save_edges(e, block, r);
  else
    feed_forward(e, s, r.count, x);
}

/* The block's rows with up to half a kernel of its neighbours' on each side, as they were before the convolution;
 * returns the rows on the left. */
static size_t gather(const struct linnet_encoder *e, size_t block, struct rows r, real *out, size_t *total) {
  size_t half = half_kernel(e), width = e->model->config.width;
  size_t left = block > 0 ? half : 0;
  size_t after = e->frames - r.first - r.count, right = after < half ? after : half;
  if (left > 0)
    memcpy(out, edges(e) + ((block - 1) * 2 + 1) * half * width, left * width * sizeof *out);
  memcpy(out + left * width, row(e, r.first), r.count * width * sizeof *out);
  if (right > 0)
    memcpy(out + (left + r.count) * width, edges(e) + (block + 1) * 2 * half * width, right * width * sizeof *out);
  *total = left + r.count + right;
  return left;
}

static void task_finish(void *user, size_t block, unsigned worker) {
  const struct linnet_encoder *e = user;
  const struct scratch *s = &e->scratch[worker];
  const struct linnet_layer_offsets *o = layer_offsets(e);
  const struct linnet_layer_maps *maps = layer_maps(e);
  const struct linnet_conv conv = {e->model->config.width, e->model->config.convolution};
  struct rows r = block_rows(e, block);
  size_t width = conv.channels, total, left = gather(e, block, r, s->narrow, &total);
  size_t offsets[2] = {0, total};
  struct linnet_pack pack = {1, offsets};
  norm(e, total, s->narrow, o->conv_norm1_gain, o->conv_norm1_bias, s->narrow);
  apply(e, s, &maps->pointwise1, total, s->narrow, LINNET_IDENTITY, s->wide);
  e->ops->glu_forward(total, width, s->wide, s->narrow);
  e->ops->conv_forward(&conv, &pack, s->narrow, weight(e, o->conv_depthwise), weight(e, o->conv_depthwise_bias),
                       s->narrow2);
  real *own = s->narrow2 + left * width;
  norm(e, r.count, own, o->conv_norm2_gain, o->conv_norm2_bias, own);
  e->ops->activation_forward(LINNET_SILU, r.count * width, own, own);
  apply(e, s, &maps->pointwise2, r.count, own, LINNET_IDENTITY, s->narrow);
  e->ops->add(r.count * width, s->narrow, row(e, r.first));
  feed_forward(e, s, r.count, row(e, r.first));
}

static void task_output(void *user, size_t task, unsigned worker) {
  const struct linnet_encoder *e = user;
  const struct scratch *s = &e->scratch[worker];
  const struct linnet_config *config = &e->model->config;
  struct rows r = block_rows(e, e->first_output + task), chunk = block_rows(e, e->first_output);
  const real *h =
      block_input(e, s, r.count, row(e, r.first), e->model->parameters->norm_gain, e->model->parameters->norm_bias);
  real *out = e->log_p + (r.first - chunk.first) * config->outputs;
  apply(e, s, &e->model->maps->output, r.count, h, LINNET_IDENTITY, out);
  e->ops->log_softmax(r.count, config->outputs, out, out);
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

static void run_input(struct linnet_encoder *e) {
  const struct linnet_config *config = &e->model->config;
  size_t whole = e->in_frames / config->stack * config->stack, dim = config->input_dim;
  for (size_t i = 0; whole < e->in_frames && i < config->stack; i++) {
    size_t t = whole + i < e->in_frames ? whole + i : e->in_frames - 1;
    memcpy(e->padded + i * dim, e->features + t * dim, dim * sizeof *e->padded);
  }
  linnet_parallel(e->context, e->blocks, task_input, e);
}

static void run_layer(struct linnet_encoder *e) {
  linnet_encoder_keys(e);
  linnet_parallel(e->context, e->blocks, task_attend, e);
  if (half_kernel(e) > 0)
    linnet_parallel(e->context, e->blocks, task_finish, e);
}

static enum linnet_status run_output(struct linnet_encoder *e, linnet_posterior_fn sink, void *user) {
  for (e->first_output = 0; e->first_output < e->blocks; e->first_output += OUTPUT_BLOCKS) {
    size_t left = e->blocks - e->first_output, count = left < OUTPUT_BLOCKS ? left : OUTPUT_BLOCKS;
    struct rows first = block_rows(e, e->first_output), last = block_rows(e, e->first_output + count - 1);
    linnet_parallel(e->context, count, task_output, e);
    if (sink(user, e->log_p, first.first, last.first + last.count - first.first) != 0)
      return linnet_fail(e->context, LINNET_ERROR_CANCELLED, "the receiver of the posteriors asked to stop");
  }
  return LINNET_OK;
}

enum linnet_status linnet_encoder_run(struct linnet_encoder *e, const float *features, size_t frames,
                                      linnet_posterior_fn sink, void *user) {
  if (!e || !sink || (!features && frames > 0))
    return linnet_fail(e ? e->context : NULL, LINNET_ERROR_ARGUMENT, "linnet_encoder_run: NULL argument");
  if (frames == 0)
    return LINNET_OK;
  LINNET_TRY(plan(e, features, frames));
  run_input(e);
  for (e->layer = 0; e->layer < e->model->config.layers; e->layer++)
    run_layer(e);
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
    return linnet_fail(e ? e->context : NULL, LINNET_ERROR_ARGUMENT, "linnet_encoder_compute: NULL argument");
  struct matrix_sink sink = {log_posteriors, e->model->config.outputs};
  return linnet_encoder_run(e, features, frames, copy_rows, &sink);
}
