#include "model/network.h"

#include <string.h>

#include "model/attention.h"
#include "model/block.h"
#include "model/position.h"

size_t linnet_stacked_frames(const struct linnet_config *config, size_t frames) {
  size_t stack = config->stack;
  return frames / stack + (frames % stack != 0);
}

void linnet_stack_frames(const struct linnet_config *config, const float *features, size_t frames, real *out) {
  size_t dim = config->input_dim, rows = linnet_stacked_frames(config, frames) * config->stack;
  for (size_t t = 0; t < rows; t++) {
    const float *row = features + (t < frames ? t : frames - 1) * dim;
    for (size_t c = 0; c < dim; c++)
      out[t * dim + c] = row[c];
  }
}

/* --- the plan of a pass ----------------------------------------------------------------------------------------- */

static void plan_sublayer(struct linnet_pass *pass, struct linnet_arena *arena, struct linnet_sublayer *s) {
  s->normed = linnet_take_reals(arena, pass->frames, pass->width);
  s->mean = linnet_take_reals(arena, pass->frames, 1);
  s->rstd = linnet_take_reals(arena, pass->frames, 1);
  s->block->plan(pass, s, arena);
  s->out = linnet_take_reals(arena, pass->frames, pass->width);
}

/* The sublayers of layer `l` in order; returns how many. */
static size_t describe_layer(const struct linnet_network *network, size_t l, struct linnet_sublayer s[3]) {
  const struct linnet_config *config = network->config;
  const struct linnet_layer_offsets *o = &network->parameters->layers[l];
  bool pre = config->norm == LINNET_NORM_PRE;
  uint32_t site = linnet_layer_site(l);
  size_t n = 0;
  s[n++] = (struct linnet_sublayer){.block = &linnet_attention_block,
                                    .offsets = o,
                                    .layer = l,
                                    .gain = o->norm1_gain,
                                    .bias = o->norm1_bias,
                                    .pre = pre,
                                    .site = site};
  if (config->convolution > 0)
    s[n++] = (struct linnet_sublayer){.block = &linnet_convolution_block,
                                      .offsets = o,
                                      .layer = l,
                                      .gain = o->conv_norm1_gain,
                                      .bias = o->conv_norm1_bias,
                                      .pre = true,
                                      .site = site + 2};
  s[n++] = (struct linnet_sublayer){.block = &linnet_feed_forward_block,
                                    .offsets = o,
                                    .layer = l,
                                    .gain = o->norm2_gain,
                                    .bias = o->norm2_bias,
                                    .pre = pre,
                                    .site = site + 4};
  return n;
}

static size_t widest_row(const struct linnet_config *config) {
  size_t qkv = 3 * config->width, hidden = config->feed_forward;
  return qkv > hidden ? qkv : hidden;
}

/* Bytes of scratch for ops on sequences of at most `frames`. */
static size_t work_bytes(const struct linnet_network *network, size_t frames) {
  const struct linnet_config *config = network->config;
  size_t most = network->ops->gemm_work * sizeof(real);
  for (size_t l = 0; l < config->layers; l++) {
    struct linnet_attention a = linnet_layer_attention(config, l);
    size_t bytes = network->ops->attention[config->attention[l]]->work_bytes(&a, frames);
    most = bytes > most ? bytes : most;
  }
  return most;
}

/* Takes everything from the arena; the pass itself first. With a measuring arena `pass` is only written to. */
static void plan_pass(struct linnet_pass *pass, struct linnet_arena *arena) {
  const struct linnet_network *network = pass->network;
  size_t layers = network->config->layers, wide = widest_row(network->config);
  struct linnet_sublayer *sublayers = linnet_arena_take(arena, layers * 3, sizeof *sublayers);
  pass->sublayers = sublayers;
  pass->num_sublayers = 0;
  pass->input = linnet_take_reals(arena, pass->frames, pass->width);
  for (size_t l = 0; l < layers; l++) {
    struct linnet_sublayer described[3];
    size_t count = describe_layer(network, l, described);
    for (size_t i = 0; i < count; i++) {
      plan_sublayer(pass, arena, &described[i]);
      if (sublayers)
        sublayers[pass->num_sublayers++] = described[i];
    }
  }
  pass->final = linnet_take_reals(arena, pass->frames, pass->width);
  pass->mean = linnet_take_reals(arena, pass->frames, 1);
  pass->rstd = linnet_take_reals(arena, pass->frames, 1);
  pass->wide = linnet_take_reals(arena, pass->frames, wide);
  pass->narrow = linnet_take_reals(arena, pass->frames, pass->width);
  pass->narrow2 = linnet_take_reals(arena, pass->frames, pass->width);
  pass->running = linnet_take_reals(arena, pass->frames, pass->width);
  pass->work = linnet_arena_take(arena, work_bytes(network, pass->frames), 1);
}

size_t linnet_network_bytes(const struct linnet_network *network, size_t frames, size_t sequences) {
  struct linnet_shard shard = {.pack = {.sequences = sequences}};
  struct linnet_pass pass = {.network = network, .shard = &shard, .frames = frames, .width = network->config->width};
  struct linnet_arena arena = {0};
  linnet_arena_take(&arena, 1, sizeof pass);
  plan_pass(&pass, &arena);
  return arena.used;
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

static void forward_sublayer(struct linnet_pass *pass, struct linnet_sublayer *s, const real *x) {
  const struct linnet_ops *ops = pass->network->ops;
  const real *gain = pass->weights + s->gain, *bias = pass->weights + s->bias;
  if (s->pre)
    ops->layernorm_forward(pass->frames, pass->width, x, gain, bias, s->normed, s->mean, s->rstd);
  s->block->forward(pass, s, s->pre ? s->normed : x, s->out);
  linnet_pass_dropout(pass, s->site, pass->width, s->out, x, s->pre ? s->out : s->normed);
  if (!s->pre)
    ops->layernorm_forward(pass->frames, pass->width, s->normed, gain, bias, s->out, s->mean, s->rstd);
}

static struct linnet_linear input_map(const struct linnet_network *network) {
  const struct linnet_config *config = network->config;
  return (struct linnet_linear){config->input_dim * config->stack, config->width, network->parameters->input,
                                network->parameters->input_bias};
}

static struct linnet_linear output_map(const struct linnet_network *network) {
  return (struct linnet_linear){network->config->width, network->config->outputs, network->parameters->output,
                                network->parameters->output_bias};
}

static void forward_input(struct linnet_pass *pass) {
  const struct linnet_shard *shard = pass->shard;
  struct linnet_linear in = input_map(pass->network);
  linnet_linear_forward(pass, &in, shard->features, LINNET_IDENTITY, pass->input);
  if (pass->network->config->position == LINNET_POSITION_SINUSOIDAL)
    for (size_t i = 0; i < shard->pack.sequences; i++) {
      size_t first = shard->pack.offsets[i];
      linnet_add_positions(0, shard->pack.offsets[i + 1] - first, pass->width, pass->input + first * pass->width);
    }
  linnet_pass_dropout(pass, 0, pass->width, pass->input, NULL, pass->input);
}

struct linnet_pass *linnet_network_forward(const struct linnet_network *network, const real *weights,
                                           const struct linnet_shard *shard, void *memory, size_t bytes, real *logits) {
  struct linnet_arena arena = {.base = memory, .size = bytes};
  struct linnet_pass *pass = linnet_arena_take(&arena, 1, sizeof *pass);
  *pass = (struct linnet_pass){.network = network,
                               .shard = shard,
                               .weights = weights,
                               .frames = linnet_shard_frames(shard),
                               .width = network->config->width};
  plan_pass(pass, &arena);
  forward_input(pass);
  const real *x = pass->input;
  for (size_t i = 0; i < pass->num_sublayers; i++) {
    forward_sublayer(pass, &pass->sublayers[i], x);
    x = pass->sublayers[i].out;
  }
  if (network->config->norm == LINNET_NORM_PRE) {
    network->ops->layernorm_forward(pass->frames, pass->width, x, weights + network->parameters->norm_gain,
                                    weights + network->parameters->norm_bias, pass->final, pass->mean, pass->rstd);
    x = pass->final;
  }
  struct linnet_linear out = output_map(network);
  linnet_linear_forward(pass, &out, x, LINNET_IDENTITY, logits);
  return pass;
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* d (T, D) holds the gradient of the sublayer's output and gets that of its input x. */
static void backward_sublayer(struct linnet_pass *pass, struct linnet_sublayer *s, const real *x, real *d) {
  const struct linnet_ops *ops = pass->network->ops;
  const real *gain = pass->weights + s->gain;
  real *dgain = pass->gradients + s->gain, *dbias = pass->gradients + s->bias, *dx = s->out;
  if (!s->pre)
    ops->layernorm_backward(pass->frames, pass->width, s->normed, gain, s->mean, s->rstd, d, d, dgain, dbias);
  real *dy = pass->narrow;
  linnet_pass_dropout(pass, s->site, pass->width, d, NULL, dy);
  s->block->backward(pass, s, s->pre ? s->normed : x, dy, dx);
  if (s->pre)
    ops->layernorm_backward(pass->frames, pass->width, x, gain, s->mean, s->rstd, dx, dx, dgain, dbias);
  ops->add(pass->frames * pass->width, dx, d);
}

void linnet_network_backward(struct linnet_pass *pass, const real *dlogits, real *gradients_add) {
  const struct linnet_network *network = pass->network;
  const struct linnet_parameters *p = network->parameters;
  pass->gradients = gradients_add;
  size_t n = pass->num_sublayers;
  const real *last = n > 0 ? pass->sublayers[n - 1].out : pass->input;
  bool pre = network->config->norm == LINNET_NORM_PRE;
  struct linnet_linear in = input_map(network), out = output_map(network);
  real *d = pass->running;
  linnet_linear_backward(pass, &out, pre ? pass->final : last, dlogits, d);
  if (pre)
    network->ops->layernorm_backward(pass->frames, pass->width, last, pass->weights + p->norm_gain, pass->mean,
                                     pass->rstd, d, d, gradients_add + p->norm_gain, gradients_add + p->norm_bias);
  for (size_t i = n; i-- > 0;)
    backward_sublayer(pass, &pass->sublayers[i], i > 0 ? pass->sublayers[i - 1].out : pass->input, d);
  linnet_pass_dropout(pass, 0, pass->width, d, NULL, d);
  linnet_linear_backward(pass, &in, pass->shard->features, d, NULL);
}
