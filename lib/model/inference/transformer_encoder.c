/* The transformer in inference: the sublayers of the network one after the other; all threads share the blocks of rows
 * of each. Only x (T, D) is stored for the whole run, and changed in place.
 *
 * Sublayers whose rows see no others run on a block while it is in the cache, right behind the sublayer before them: a
 * stage is a sublayer with all of those that follow it. In a stage
 *
 *   prepare   attention computes sums over all rows (encoder_attention.c)
 *   run       per block: its sublayers; the rows at the block's edges are saved if a convolution follows */
#include <string.h>

#include "base/numbers.h"
#include "model/inference/encoder.h"
#include "model/layer.h"
#include "ops/position.h"

static const struct linnet_block_rows *const blocks[LINNET_BLOCK_KINDS] = {
    [LINNET_BLOCK_ATTENTION] = &linnet_attention_rows,
    [LINNET_BLOCK_CONVOLUTION] = &linnet_convolution_rows,
    [LINNET_BLOCK_FEED_FORWARD] = &linnet_feed_forward_rows};

static size_t count_sublayers(const struct linnet_encoder *e) {
  return e->model->parameters->num_sublayers;
}

static const struct linnet_block_rows *block_of(const struct linnet_encoder *e, size_t i) {
  return blocks[sublayer(e, i)->kind];
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static size_t scratch_wide(const struct linnet_config *config) {
  return config->feed_forward > 2 * config->width ? config->feed_forward : 2 * config->width;
}

/* The maximum number of columns of mapped queries or keys. */
static size_t scratch_mapped(const struct linnet_config *config) {
  size_t maximum = 0;
  for (size_t l = 0; l < config->layers; l++) {
    size_t columns = linnet_mapped_columns(config, l) / 2;
    maximum = columns > maximum ? columns : maximum;
  }
  return maximum;
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
                                       .wide = scratch_wide(config),
                                       .phi = scratch_mapped(config),
                                       .work = scratch_work(e),
                                       .minimum_rows = num_edges(e)};
}

static enum linnet_status plan(struct linnet_encoder *e) {
  e->groups = e->blocks < MAX_GROUPS ? e->blocks : MAX_GROUPS;
  if (num_edges(e) > 0)
    LINNET_TRY(linnet_encoder_reserve(e, &e->edges, e->blocks * num_edges(e), row_bytes(e)));
  for (size_t i = 0; i < count_sublayers(e); i++)
    if (block_of(e, i)->plan)
      LINNET_TRY(block_of(e, i)->plan(e, i));
  return LINNET_OK;
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

/* For the convolution of `layer`. Only the last block may have fewer rows; no block follows it. */
static void save_edges(const struct linnet_encoder *e, size_t layer, size_t block, struct rows r) {
  const struct linnet_conv conv = linnet_layer_convolution(&e->model->config, layer);
  const size_t width = conv.channels, ahead = conv.kernel - 1 - conv.left;
  const size_t begin = linnet_min_size(ahead, r.count), end = linnet_min_size(conv.left, r.count);
  real *first = (real *)e->edges.data + block * (conv.kernel - 1) * width, *last = first + ahead * width;
  memcpy(first, row(e, r.first), begin * width * sizeof *first);
  memcpy(last, row(e, r.first + r.count - end), end * width * sizeof *last);
}

/* Called when a block's rows are ready for sublayer i, or for the output. */
static void reach(const struct linnet_encoder *e, size_t i, size_t block) {
  if (i < count_sublayers(e) && block_of(e, i)->edges)
    save_edges(e, sublayer(e, i)->layer, block, block_rows(e, block));
}

static void task_input(void *user, size_t block, unsigned worker) {
  const struct linnet_encoder *e = user;
  struct rows r = block_rows(e, block);
  if (linnet_encoder_stopped(e))
    return;
  if (linnet_config_reads_tokens(&e->model->config))
    linnet_encoder_embed(e, r.count, e->features + r.first * e->model->config.input_dim, row(e, r.first));
  else
    linnet_encoder_input(e, &e->scratch[worker], &e->model->linear_layers->input, r, row(e, r.first));
  if (e->model->config.position == LINNET_POSITION_SINUSOIDAL)
    linnet_add_positions(r.first, r.count, e->width, row(e, r.first));
  reach(e, 0, block);
}

static void task_stage(void *user, size_t block, unsigned worker) {
  struct linnet_encoder *e = user;
  if (!linnet_encoder_unit(e, worker))
    return;
  for (size_t i = e->stage.first; i < e->stage.end; i++)
    block_of(e, i)->run(e, &e->scratch[worker], i, block);
  reach(e, e->stage.end, block);
}

void linnet_encoder_stage_loop(struct linnet_encoder *e, double from, double to, size_t units, size_t tasks,
                               linnet_task_fn body) {
  double first = e->stage.from, part = e->stage.to - e->stage.from;
  linnet_encoder_loop(e, first + from * part, first + to * part, units, tasks, body);
}

/* The stage that begins with sublayer `first`. */
static void begin_stage(struct linnet_encoder *e, size_t first) {
  const size_t count = count_sublayers(e), per_layer = count / e->model->config.layers;
  size_t end = first + 1;
  while (end < count && !block_of(e, end)->neighbours)
    end++;
  e->layer = sublayer(e, first)->layer;
  e->stage.first = first;
  e->stage.end = end;
  e->stage.from = (double)(first % per_layer) / (double)per_layer;
  e->stage.to = e->stage.from + (double)(end - first) / (double)per_layer;
}

static void run_stage(struct linnet_encoder *e) {
  const struct linnet_block_rows *first = block_of(e, e->stage.first);
  if (first->prepare)
    first->prepare(e, e->stage.first);
  linnet_encoder_stage_loop(e, first->prepare ? 0.3 : 0, 1, e->blocks, e->blocks, task_stage);
}

static void run(struct linnet_encoder *e) {
  linnet_parallel(e->context, e->blocks, task_input, e);
  for (size_t i = 0; i < count_sublayers(e) && !linnet_encoder_stopped(e); i = e->stage.end) {
    begin_stage(e, i);
    run_stage(e);
  }
}

static const real *output(const struct linnet_encoder *e, const struct scratch *s, struct rows r) {
  const real *x = row(e, r.first);
  if (e->model->config.norm == LINNET_NORM_POST)
    return x;
  norm(e, &e->model->parameters->norm, r.count, x, s->normed);
  return s->normed;
}

const struct linnet_encoder_ops linnet_transformer_encoder = {sizes, plan, run, output};
