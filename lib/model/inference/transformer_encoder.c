/* The transformer in recognition: all threads share each layer's blocks of rows. What lives through the run is x (T,
 * D), changed in place; per layer:
 *
 *   1 keys         linear attention: per group of blocks, keys and values of x summed into the group's state (S, z);
 *                  then the groups' states are summed in order
 *                  other kinds: per block, queries, keys and values of x, kept whole; then per head, its attention
 *   2 attend       per block: linear attention reads the state with the queries of x, other kinds have their rows
 *                  already; output map, residual and norm; the rows at the block's edges are saved if a convolution
 *                  follows
 *   3 finish       per block: convolution module (neighbours' rows from the saved edges), feed-forward */
#include <string.h>

#include "model/inference/encoder.h"
#include "ops/position.h"

/* --- memory ------------------------------------------------------------------------------------------------------- */

static size_t scratch_widest(const struct linnet_config *config) {
  return config->feed_forward > 2 * config->width ? config->feed_forward : 2 * config->width;
}

/* The most columns of mapped queries or keys. */
static size_t scratch_mapped(const struct linnet_config *config) {
  size_t most = 0;
  for (size_t l = 0; l < config->layers; l++) {
    size_t columns = linnet_mapped_columns(config, l) / 2;
    most = columns > most ? columns : most;
  }
  return most;
}

static size_t scratch_work(const struct linnet_encoder *e) {
  size_t work = e->ops->gemm_work + 16384;
  bool maps = scratch_mapped(&e->model->config) > 0;
  return maps && e->ops->feature_map_work > work ? e->ops->feature_map_work : work;
}

static struct linnet_encoder_sizes sizes(const struct linnet_encoder *e) {
  const struct linnet_config *config = &e->model->config;
  return (struct linnet_encoder_sizes){.rows = BLOCK_ROWS + config->convolution,
                                       .narrow = config->width,
                                       .wide = scratch_widest(config),
                                       .phi = scratch_mapped(config),
                                       .work = scratch_work(e),
                                       .least_rows = 2 * half_kernel(e)};
}

static enum linnet_status plan(struct linnet_encoder *e) {
  e->groups = e->blocks < MAX_GROUPS ? e->blocks : MAX_GROUPS;
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
  struct rows r = block_rows(e, block);
  if (linnet_encoder_stopped(e))
    return;
  linnet_encoder_input(e, &e->scratch[worker], &e->model->maps->input, r, row(e, r.first));
  if (e->model->config.position == LINNET_POSITION_SINUSOIDAL)
    linnet_add_positions(r.first, r.count, e->width, row(e, r.first));
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

void linnet_encoder_feed_forward(const struct linnet_encoder *e, const struct scratch *s, size_t rows, real *x) {
  const struct linnet_layer_offsets *o = layer_offsets(e);
  const struct linnet_layer_maps *maps = layer_maps(e);
  const real *h = block_input(e, s, rows, x, o->norm2_gain, o->norm2_bias);
  apply(e, s, &maps->linear1, rows, h, e->model->config.activation, s->wide);
  apply(e, s, &maps->linear2, rows, s->wide, LINNET_IDENTITY, s->narrow);
  residual(e, rows, s->narrow, o->norm2_gain, o->norm2_bias, x);
}

void linnet_encoder_add_heads(const struct linnet_encoder *e, const struct scratch *s, size_t rows, const real *heads,
                              real *x) {
  const struct linnet_layer_offsets *o = layer_offsets(e);
  apply(e, s, &layer_maps(e)->attention_output, rows, heads, LINNET_IDENTITY, s->narrow);
  residual(e, rows, s->narrow, o->norm1_gain, o->norm1_bias, x);
}

static void task_attend(void *user, size_t block, unsigned worker) {
  struct linnet_encoder *e = user;
  const struct scratch *s = &e->scratch[worker];
  struct rows r = block_rows(e, block);
  real *x = row(e, r.first);
  if (!linnet_encoder_unit(e, worker))
    return;
  linnet_encoder_add_heads(e, s, r.count, linnet_encoder_heads(e, s, r), x);
  if (half_kernel(e) > 0)
    save_edges(e, block, r);
  else
    linnet_encoder_feed_forward(e, s, r.count, x);
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

static void finish_block(const struct linnet_encoder *e, size_t block, unsigned worker) {
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
  linnet_encoder_feed_forward(e, s, r.count, row(e, r.first));
}

static void task_finish(void *user, size_t block, unsigned worker) {
  if (linnet_encoder_unit(user, worker))
    finish_block(user, block, worker);
}

static void run_layer(struct linnet_encoder *e) {
  bool convolution = half_kernel(e) > 0;
  linnet_encoder_keys(e);
  linnet_encoder_loop(e, 0.3, convolution ? 0.5 : 1, e->blocks, e->blocks, task_attend);
  if (convolution)
    linnet_encoder_loop(e, 0.5, 1, e->blocks, e->blocks, task_finish);
}

static void run(struct linnet_encoder *e) {
  linnet_parallel(e->context, e->blocks, task_input, e);
  for (e->layer = 0; e->layer < e->model->config.layers && !linnet_encoder_stopped(e); e->layer++)
    run_layer(e);
}

static const real *output(const struct linnet_encoder *e, const struct scratch *s, struct rows r) {
  const struct linnet_parameters *p = e->model->parameters;
  return block_input(e, s, r.count, row(e, r.first), p->norm_gain, p->norm_bias);
}

const struct linnet_encoder_ops linnet_transformer_encoder = {sizes, plan, run, output};
