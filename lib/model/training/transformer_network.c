/* The transformer in training: a linear layer, sublayers, a linear layer. */
#include "base/numbers.h"
#include "model/layer.h"
#include "model/training/block.h"
#include "model/training/pass.h"

enum { SHARD_ROWS = 640 };

/* The output layer on the activations after an earlier layer; zeros: there is none. */
struct intermediate_output {
  void *final; /* (T, D): output of the final norm (pre-norm) */
  real *mean, *rstd;
  void *d; /* (T, D): in backward, the gradient of its input */
};

struct transformer {
  struct linnet_sublayer_pass sublayers[LINNET_BLOCK_KINDS * LINNET_MAX_LAYERS];
  size_t count;
  void *input;       /* (T, D): the first sublayer's input */
  void *final;       /* (T, D): output of the final norm (pre-norm) */
  real *mean, *rstd; /* ... and its statistics */
  struct intermediate_output intermediate;
};

/* --- the plan of a pass ----------------------------------------------------------------------------------------- */

static void plan_sublayer(struct linnet_pass *pass, struct linnet_arena *arena, struct linnet_sublayer_pass *s) {
  s->normed = linnet_take_activations(pass, arena, pass->width);
  s->mean = linnet_take_reals(arena, pass->frames, 1);
  s->rstd = linnet_take_reals(arena, pass->frames, 1);
  s->block->plan(pass, s, arena);
}

/* The maximum number of columns in a block's scratch: hidden units, or the gradients of qkv and of mapped queries and
 * keys. */
static size_t widest_row(const struct linnet_config *config) {
  size_t widest = config->feed_forward;
  for (size_t l = 0; l < config->layers; l++)
    widest = linnet_max_size(widest, linnet_attention_columns(config, l) + linnet_mapped_columns(config, l));
  return widest;
}

/* Bytes of scratch for ops. */
static size_t work_bytes(const struct linnet_pass *pass) {
  const struct linnet_config *config = pass->network->config;
  struct linnet_device *d = pass->network->device;
  size_t max_bytes = d->ops->gemm_work(d) * sizeof(real);
  for (size_t l = 0; l < config->layers; l++) {
    struct linnet_attention a = linnet_layer_attention(config, l);
    max_bytes =
        linnet_max_size(max_bytes, d->ops->attention_work_bytes(d, &a, pass->frames, pass->shard->pack.sequences));
    if (linnet_mapped_columns(config, l) > 0)
      max_bytes = linnet_max_size(max_bytes, d->ops->feature_map_work(d) * sizeof(real));
  }
  return max_bytes;
}

static const struct linnet_block *const blocks[LINNET_BLOCK_KINDS] = {
    [LINNET_BLOCK_ATTENTION] = &linnet_attention_block,
    [LINNET_BLOCK_CONVOLUTION] = &linnet_convolution_block,
    [LINNET_BLOCK_FEED_FORWARD] = &linnet_feed_forward_block};

static void take_sublayers(const struct linnet_parameters *p, struct transformer *t) {
  t->count = p->num_sublayers;
  for (size_t i = 0; i < t->count; i++)
    t->sublayers[i] =
        (struct linnet_sublayer_pass){.sublayer = &p->sublayers[i], .block = blocks[p->sublayers[i].kind]};
}

/* Every sublayer saves what its backward needs. */
static void plan_saving(struct linnet_pass *pass, struct linnet_arena *arena, struct transformer *t) {
  for (size_t i = 0; i < t->count; i++) {
    plan_sublayer(pass, arena, &t->sublayers[i]);
    t->sublayers[i].out = linnet_take_activations(pass, arena, pass->width);
  }
}

/* All sublayers share memory, except for an output that is the input of the next one. */
static void plan_passing(struct linnet_pass *pass, struct linnet_arena *arena, struct transformer *t) {
  void *out[2];
  size_t max_used = 0;
  for (size_t i = 0; i < 2; i++)
    out[i] = linnet_take_activations(pass, arena, pass->width);
  for (size_t i = 0; i < t->count; i++) {
    struct linnet_arena shared = *arena;
    plan_sublayer(pass, &shared, &t->sublayers[i]);
    t->sublayers[i].out = out[i % 2];
    max_used = linnet_max_size(max_used, shared.used);
  }
  arena->used = linnet_max_size(arena->used, max_used);
}

static void plan_intermediate(struct linnet_pass *pass, struct linnet_arena *arena, struct transformer *t) {
  t->intermediate = (struct intermediate_output){0};
  pass->intermediate_logits = NULL;
  if (pass->intermediate == 0 || pass->shard->forward_only)
    return;
  pass->intermediate_logits = linnet_take_reals(arena, pass->frames, pass->network->config->outputs);
  t->intermediate.final = linnet_take_activations(pass, arena, pass->width);
  t->intermediate.mean = linnet_take_reals(arena, pass->frames, 1);
  t->intermediate.rstd = linnet_take_reals(arena, pass->frames, 1);
  t->intermediate.d = linnet_take_activations(pass, arena, pass->width);
}

static void plan(struct linnet_pass *pass, struct linnet_arena *arena) {
  const struct linnet_network *network = pass->network;
  struct transformer *t = pass->layers;
  pass->width = network->config->width;
  take_sublayers(network->parameters, t);
  t->input = linnet_take_activations(pass, arena, pass->width);
  t->final = linnet_take_activations(pass, arena, pass->width);
  t->mean = linnet_take_reals(arena, pass->frames, 1);
  t->rstd = linnet_take_reals(arena, pass->frames, 1);
  (pass->shard->forward_only ? plan_passing : plan_saving)(pass, arena, t);
  plan_intermediate(pass, arena, t);
  pass->wide = linnet_take_activations(pass, arena, widest_row(network->config));
  pass->narrow = linnet_take_activations(pass, arena, pass->width);
  pass->narrow2 = linnet_take_activations(pass, arena, pass->width);
  pass->running = linnet_take_activations(pass, arena, pass->width);
  pass->work = linnet_arena_take(arena, work_bytes(pass), 1);
}

/* The input of sublayer i on the residual path, or the output of the last sublayer. */
static const void *running(const struct transformer *t, size_t i) {
  return i > 0 ? t->sublayers[i - 1].out : t->input;
}

struct norm {
  struct linnet_norm at;
  void *y;
  real *mean, *rstd;
};

/* The arguments of the norm of x with these parameters; with those of its backward from dy if the pass has
 * gradients. */
static struct linnet_layernorm norm_of(const struct linnet_pass *pass, const struct norm *n, const void *x) {
  struct linnet_layernorm norm = {.rows = pass->frames,
                                  .width = pass->width,
                                  .x = x,
                                  .gain = pass->weights + n->at.gain,
                                  .bias = pass->weights + n->at.bias,
                                  .y = n->y,
                                  .mean = n->mean,
                                  .rstd = n->rstd};
  if (pass->gradients)
    norm.dgain_add = pass->gradients + n->at.gain, norm.dbias_add = pass->gradients + n->at.bias;
  return norm;
}

/* The norm between the residual path and the block of sublayer i, or the output. Returns false if there is none. */
static bool norm_before(const struct linnet_pass *pass, size_t i, struct norm *norm) {
  const struct transformer *t = pass->layers;
  const struct linnet_parameters *p = pass->network->parameters;
  if (i == t->count) {
    *norm = (struct norm){p->norm, t->final, t->mean, t->rstd};
    return pass->network->config->norm == LINNET_NORM_PRE;
  }
  const struct linnet_sublayer_pass *s = &t->sublayers[i];
  *norm = (struct norm){s->sublayer->norm, s->normed, s->mean, s->rstd};
  return s->sublayer->pre;
}

/* The norm at the end of a post-norm sublayer: from `normed` to `out`. */
static struct norm norm_behind(const struct linnet_sublayer_pass *s) {
  return (struct norm){s->sublayer->norm, s->out, s->mean, s->rstd};
}

/* --- the intermediate output -------------------------------------------------------------------------------------- */

/* The sublayers before it. */
static size_t intermediate_sublayers(const struct linnet_pass *pass) {
  const struct transformer *t = pass->layers;
  return pass->intermediate * (t->count / pass->network->config->layers);
}

/* The final norm of the activations there. Returns false if the network has none. */
static bool norm_intermediate(const struct linnet_pass *pass, struct linnet_layernorm *norm) {
  const struct transformer *t = pass->layers;
  const struct norm n = {pass->network->parameters->norm, t->intermediate.final, t->intermediate.mean,
                         t->intermediate.rstd};
  *norm = norm_of(pass, &n, running(t, intermediate_sublayers(pass)));
  return pass->network->config->norm == LINNET_NORM_PRE;
}

static void forward_intermediate(struct linnet_pass *pass) {
  struct linnet_device *device = pass->network->device;
  struct linnet_layernorm norm;
  const bool normed = norm_intermediate(pass, &norm);
  if (normed)
    device->ops->layernorm_forward(device, &norm);
  linnet_linear_logits(pass, &pass->network->parameters->output, normed ? norm.y : norm.x, pass->intermediate_logits);
}

/* Backward to its input. It comes before all other gradients, because `passed` says after each layer that those of the
 * output layer are complete. */
static void backward_intermediate(struct linnet_pass *pass) {
  struct linnet_device *device = pass->network->device;
  const struct transformer *t = pass->layers;
  struct linnet_layernorm norm;
  const bool normed = norm_intermediate(pass, &norm);
  linnet_linear_backward(pass, &pass->network->parameters->output, normed ? norm.y : norm.x, pass->intermediate_logits,
                         t->intermediate.d, false);
  norm.dy = norm.dx = t->intermediate.d;
  if (normed)
    device->ops->layernorm_backward(device, &norm);
}

/* If the input of sublayer i is also that of the intermediate output: adds the gradient from there to d (T, D). */
static void add_intermediate(const struct linnet_pass *pass, size_t i, void *d) {
  const struct transformer *t = pass->layers;
  struct linnet_device *device = pass->network->device;
  const struct linnet_dropout none = {0};
  if (pass->intermediate_logits && i == intermediate_sublayers(pass))
    device->ops->dropout(device, &none, pass->frames, pass->width, t->intermediate.d, d, d);
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

/* Computes sum = residual + dropout(x), the input of sublayer i, and the norm before that sublayer. `sum` may be x. */
static void run_on(struct linnet_pass *pass, size_t i, uint32_t site, const void *x, const void *residual, void *sum) {
  struct linnet_device *device = pass->network->device;
  struct linnet_dropout mask = linnet_pass_mask(pass, site);
  struct norm n;
  if (norm_before(pass, i, &n)) {
    const struct linnet_residual_norm r = {
        .mask = &mask, .x = x, .residual = residual, .sum = sum, .norm = norm_of(pass, &n, sum)};
    device->ops->residual_norm(device, &r);
  } else {
    linnet_pass_dropout(pass, site, pass->width, x, residual, sum);
  }
}

/* The end of a post-norm sublayer: out = norm(x + dropout(out)). */
static void end_post(struct linnet_pass *pass, size_t i, const void *x) {
  struct linnet_device *device = pass->network->device;
  const struct linnet_sublayer_pass *s = &((struct transformer *)pass->layers)->sublayers[i];
  struct linnet_dropout mask = linnet_pass_mask(pass, s->sublayer->site);
  struct norm n = norm_behind(s);
  const struct linnet_residual_norm r = {
      .mask = &mask, .x = s->out, .residual = x, .sum = s->normed, .norm = norm_of(pass, &n, s->normed)};
  device->ops->residual_norm(device, &r);
  if (norm_before(pass, i + 1, &n)) {
    const struct linnet_layernorm next = norm_of(pass, &n, s->out);
    device->ops->layernorm_forward(device, &next);
  }
}

static void forward_sublayer(struct linnet_pass *pass, size_t i) {
  struct transformer *t = pass->layers;
  struct linnet_sublayer_pass *s = &t->sublayers[i];
  const void *x = running(t, i);
  s->block->forward(pass, s, s->sublayer->pre ? s->normed : x, s->out);
  if (s->sublayer->pre)
    run_on(pass, i + 1, s->sublayer->site, s->out, x, s->out);
  else
    end_post(pass, i, x);
}

/* Embeddings are on the host only (linnet_pass_create). */
static void embed(const struct linnet_pass *pass, void *x) {
  const struct linnet_embedding e = linnet_config_embedding(pass->network->config);
  linnet_embedding_forward(&e, pass->frames, pass->shard->features, pass->weights + pass->network->parameters->tables,
                           x);
}

static void forward_input(struct linnet_pass *pass, void *x) {
  const struct linnet_shard *shard = pass->shard;
  struct linnet_device *device = pass->network->device;
  if (linnet_config_reads_tokens(pass->network->config))
    embed(pass, x);
  else
    linnet_linear_forward(pass, &pass->network->parameters->input, shard->features, LINNET_IDENTITY, x);
  if (pass->network->config->position == LINNET_POSITION_SINUSOIDAL)
    device->ops->add_positions(device, &shard->pack, pass->width, x);
  run_on(pass, 0, 0, x, NULL, x);
}

static void forward(struct linnet_pass *pass, real *logits) {
  struct transformer *t = pass->layers;
  forward_input(pass, t->input);
  for (size_t i = 0; i < t->count && !linnet_stopped(pass->shard->poll); i++)
    forward_sublayer(pass, i);
  struct norm n;
  linnet_linear_logits(pass, &pass->network->parameters->output,
                       norm_before(pass, t->count, &n) ? n.y : running(t, t->count), logits);
  if (pass->intermediate_logits)
    forward_intermediate(pass);
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* Whether the input of sublayer i comes directly from a dropout: not if it is the output of a norm. */
static bool dropped_before(const struct transformer *t, size_t i, uint32_t *site) {
  *site = i > 0 ? t->sublayers[i - 1].sublayer->site : 0;
  return i == 0 || t->sublayers[i - 1].sublayer->pre;
}

/* Backward of run_on, from the block of sublayer i or from the output. d (T, D) becomes the gradient of the sublayer's
 * input: the gradient dy, through the norm if there is one, plus `residual` (NULL: 0). `narrow` becomes the gradient of
 * the input of the dropout before it. dy and residual may be d. */
static void run_back(struct linnet_pass *pass, size_t i, const void *dy, const void *residual, void *d) {
  struct linnet_device *device = pass->network->device;
  const struct transformer *t = pass->layers;
  struct norm n;
  uint32_t site;
  bool normed = norm_before(pass, i, &n), dropped = dropped_before(t, i, &site);
  struct linnet_dropout mask = linnet_pass_mask(pass, site);
  struct linnet_layernorm norm = {0};
  if (normed) {
    norm = norm_of(pass, &n, running(t, i));
    norm.dy = dy, norm.residual = residual, norm.dx = d;
  }
  if (normed && dropped)
    device->ops->residual_norm_backward(
        device, &(struct linnet_residual_norm){.mask = &mask, .dx = pass->narrow, .norm = norm});
  else if (normed)
    device->ops->layernorm_backward(device, &norm);
  else if (dropped)
    linnet_pass_dropout(pass, site, pass->width, d, NULL, pass->narrow);
}

/* Backward of the end of a post-norm sublayer, from d to d. `narrow` becomes the gradient of the block's output. */
static void back_post(struct linnet_pass *pass, const struct linnet_sublayer_pass *s, void *d) {
  struct linnet_device *device = pass->network->device;
  struct linnet_dropout mask = linnet_pass_mask(pass, s->sublayer->site);
  const struct norm n = norm_behind(s);
  struct linnet_residual_norm r = {.mask = &mask, .dx = pass->narrow, .norm = norm_of(pass, &n, s->normed)};
  r.norm.dy = r.norm.dx = d;
  device->ops->residual_norm_backward(device, &r);
}

/* Backward of a sublayer: d (T, D) contains the gradient of its output, and becomes that of its input. */
static void backward_sublayer(struct linnet_pass *pass, size_t i, void *d) {
  struct transformer *t = pass->layers;
  struct linnet_sublayer_pass *s = &t->sublayers[i];
  if (s->sublayer->pre) {
    s->block->backward(pass, s, s->normed, pass->narrow, s->out);
    add_intermediate(pass, i, d);
    run_back(pass, i, s->out, d, d);
  } else {
    back_post(pass, s, d);
    s->block->backward(pass, s, running(t, i), pass->narrow, d);
    add_intermediate(pass, i, d);
    run_back(pass, i, d, NULL, d);
  }
}

static size_t first_parameter(const struct linnet_sublayer *s) {
  return s->first.weight < s->norm.gain ? s->first.weight : s->norm.gain;
}

/* Backward of the input, from its gradient in `narrow`. */
static void backward_input(struct linnet_pass *pass) {
  const struct linnet_parameters *p = pass->network->parameters;
  if (linnet_config_reads_tokens(pass->network->config)) {
    const struct linnet_embedding e = linnet_config_embedding(pass->network->config);
    linnet_embedding_backward(&e, pass->frames, pass->shard->features, pass->narrow, pass->gradients + p->tables);
  } else {
    linnet_linear_backward(pass, &p->input, pass->shard->features, pass->narrow, NULL, false);
  }
}

static void backward(struct linnet_pass *pass, const void *dlogits) {
  struct transformer *t = pass->layers;
  const struct linnet_parameters *p = pass->network->parameters;
  struct norm n;
  void *d = pass->running;
  if (pass->intermediate_logits)
    backward_intermediate(pass);
  linnet_linear_backward(pass, &p->output, norm_before(pass, t->count, &n) ? n.y : running(t, t->count), dlogits, d,
                         false);
  run_back(pass, t->count, d, NULL, d);
  for (size_t i = t->count; i-- > 0;) {
    backward_sublayer(pass, i, d);
    linnet_pass_passed(pass, first_parameter(t->sublayers[i].sublayer));
  }
  backward_input(pass);
}

const struct linnet_network_kind linnet_transformer_network = {SHARD_ROWS, sizeof(struct transformer), plan, forward,
                                                               backward};
