/* The bidirectional LSTM in training: layers of two directions, whose outputs are side by side as (T, 2H), dropout
 * between layers, and a linear layer. In forward, each direction computes the inputs of all gates for all frames in one
 * product. In backward, it computes the gradients of input weights, of recurrent weights and of inputs in one product
 * each. A device may run whole layers with a library; if that fails, the directions run separately. */
#include "base/numbers.h"
#include "model/layer.h"
#include "model/training/pass.h"

/* A step reads the recurrent weights once, so that more sequences per step make it more efficient. */
enum { SHARD_ROWS = 2560 };

struct direction {
  void *gates; /* (T, 4H): activated; in backward, the gradients of their sums */
  real *cells; /* (T, H) */
};

struct layer {
  struct direction directions[2]; /* forward, reverse */
  bool whole;                     /* lstm_layer_forward runs both directions together */
  void *saved;                    /* if `whole`: saved for backward, in the memory that `directions` use otherwise */
  void *input;                    /* (T, 2H): except for the first layer: the output of the layer before, after
                                     dropout */
  void *out;                      /* (T, 2H) */
};

struct blstm {
  struct layer layers[LINNET_MAX_LAYERS];
};

static size_t units(const struct linnet_pass *pass) {
  return pass->network->config->width;
}

/* --- the plan of a pass ----------------------------------------------------------------------------------------- */

static struct linnet_lstm_layer whole_layer(const struct linnet_pass *pass, size_t l) {
  return (struct linnet_lstm_layer){.inputs =
                                        linnet_lstm_input(pass->network->config, pass->network->parameters, l, 0).in,
                                    .width = units(pass),
                                    .forward_only = pass->shard->forward_only,
                                    .directions = pass->network->parameters->lstm[l],
                                    .weights = pass->weights};
}

/* Plans the memory for what the directions save for backward; the whole layer uses the same memory. `work` becomes at
 * least as large as the whole layer needs. */
static void plan_saved(const struct linnet_pass *pass, size_t l, struct linnet_arena *arena, struct layer *layer,
                       size_t *work) {
  struct linnet_device *device = pass->network->device;
  struct linnet_lstm_layer whole = whole_layer(pass, l);
  size_t start = arena->used, saved_bytes = 0, work_bytes = 0;
  for (size_t d = 0; d < 2; d++) {
    layer->directions[d].gates = linnet_take_activations(pass, arena, 4 * units(pass));
    layer->directions[d].cells = linnet_take_reals(arena, pass->frames, units(pass));
  }
  size_t end = arena->used;
  layer->whole = device->ops->lstm_layer_bytes &&
                 device->ops->lstm_layer_bytes(device, &whole, &pass->shard->pack, &saved_bytes, &work_bytes);
  arena->used = start;
  layer->saved = linnet_arena_take(arena, saved_bytes, 1);
  arena->used = linnet_max_size(arena->used, end);
  *work = linnet_max_size(*work, work_bytes);
}

static void plan_layer(const struct linnet_pass *pass, size_t l, struct linnet_arena *arena, struct layer *layer,
                       size_t *work) {
  plan_saved(pass, l, arena, layer, work);
  layer->input = l > 0 ? linnet_take_activations(pass, arena, pass->width) : NULL;
  layer->out = linnet_take_activations(pass, arena, pass->width);
}

static void plan(struct linnet_pass *pass, struct linnet_arena *arena) {
  struct linnet_device *device = pass->network->device;
  const struct linnet_config *config = pass->network->config;
  size_t sequences = pass->shard->pack.sequences, width = config->width;
  size_t work = linnet_max_size(device->ops->gemm_work(device) * sizeof(real),
                                device->ops->lstm_work_bytes(device, width, sequences));
  struct blstm *b = pass->layers;
  pass->width = 2 * width;
  for (size_t l = 0; l < config->layers; l++)
    plan_layer(pass, l, arena, &b->layers[l], &work);
  pass->wide = linnet_take_activations(pass, arena, width);
  pass->narrow = linnet_take_activations(pass, arena, pass->width);
  pass->running = linnet_take_activations(pass, arena, pass->width);
  pass->work = linnet_arena_take(arena, work, 1);
}

/* --- one direction of a layer ----------------------------------------------------------------------------------- */

static const struct linnet_lstm_offsets *offsets_of(const struct linnet_pass *pass, size_t l, size_t d) {
  return &pass->network->parameters->lstm[l][d];
}

static struct linnet_linear input_layer(const struct linnet_pass *pass, size_t l, size_t d) {
  return linnet_lstm_input(pass->network->config, pass->network->parameters, l, d);
}

static struct linnet_linear recurrent_layer(const struct linnet_pass *pass, size_t l, size_t d) {
  const struct linnet_lstm_offsets *o = offsets_of(pass, l, d);
  return (struct linnet_linear){units(pass), 4 * units(pass), o->weight_hh, o->bias_hh};
}

static struct linnet_lstm lstm_of(const struct linnet_pass *pass, size_t l, size_t d) {
  const struct linnet_lstm_offsets *o = offsets_of(pass, l, d);
  return (struct linnet_lstm){.width = units(pass),
                              .ld = pass->width,
                              .reverse = d == 1,
                              .weights = pass->weights + o->weight_hh,
                              .bias = pass->weights + o->bias_hh};
}

static void forward_direction(struct linnet_pass *pass, size_t l, size_t d, const void *x) {
  const struct blstm *b = pass->layers;
  const struct layer *layer = &b->layers[l];
  const struct direction *direction = &layer->directions[d];
  struct linnet_linear in = input_layer(pass, l, d);
  struct linnet_device *device = pass->network->device;
  struct linnet_lstm lstm = lstm_of(pass, l, d);
  linnet_linear_forward(pass, &in, x, LINNET_IDENTITY, direction->gates);
  device->ops->lstm_forward(device, &lstm, &pass->shard->pack, direction->gates, direction->cells,
                            linnet_activation_at(device, layer->out, d * lstm.width), pass->work);
}

/* Computes dx (T, inputs), or nothing if it is NULL, from dy (T, 2H). The reverse direction adds to dx. */
static void backward_direction(struct linnet_pass *pass, size_t l, size_t d, const void *x, const void *dy, void *dx) {
  const struct blstm *b = pass->layers;
  const struct layer *layer = &b->layers[l];
  const struct direction *direction = &layer->directions[d];
  size_t column = d * units(pass);
  struct linnet_linear in = input_layer(pass, l, d), recurrent = recurrent_layer(pass, l, d);
  struct linnet_device *device = pass->network->device;
  const struct linnet_pack *pack = &pass->shard->pack;
  struct linnet_lstm lstm = lstm_of(pass, l, d);
  device->ops->lstm_backward(device, &lstm, pack, direction->cells, linnet_activation_at(device, dy, column),
                             direction->gates, pass->work);
  device->ops->steps_before(device, pack, d == 1, units(pass), linnet_activation_at(device, layer->out, column),
                            pass->width, pass->wide);
  linnet_linear_backward(pass, &recurrent, pass->wide, direction->gates, NULL, false);
  linnet_linear_backward(pass, &in, x, direction->gates, dx, d == 1);
}

/* --- a layer ---------------------------------------------------------------------------------------------------- */

static void forward_directions(struct linnet_pass *pass, size_t l, const void *x) {
  for (size_t d = 0; d < 2; d++)
    forward_direction(pass, l, d, x);
}

static void forward_layer(struct linnet_pass *pass, size_t l, const void *x) {
  struct blstm *b = pass->layers;
  struct layer *layer = &b->layers[l];
  struct linnet_device *device = pass->network->device;
  struct linnet_lstm_layer whole = whole_layer(pass, l);
  layer->whole = layer->whole && device->ops->lstm_layer_forward(device, &whole, &pass->shard->pack, x, layer->saved,
                                                                 layer->out, pass->work);
  if (!layer->whole)
    forward_directions(pass, l, x);
}

/* dx (T, inputs), or NULL, from dy (T, 2H). */
static void backward_layer(struct linnet_pass *pass, size_t l, const void *x, const void *dy, void *dx) {
  const struct blstm *b = pass->layers;
  const struct layer *layer = &b->layers[l];
  struct linnet_device *device = pass->network->device;
  struct linnet_lstm_layer whole = whole_layer(pass, l);
  const struct linnet_lstm_layer_gradients gradients = {
      .x = x, .dout = dy, .saved = layer->saved, .dx = dx, .gradients_add = pass->gradients};
  if (layer->whole && device->ops->lstm_layer_backward(device, &whole, &pass->shard->pack, &gradients, pass->work))
    return;
  if (layer->whole)
    forward_directions(pass, l, x);
  for (size_t d = 0; d < 2; d++)
    backward_direction(pass, l, d, x, dy, dx);
}

/* --- forward and backward --------------------------------------------------------------------------------------- */

static const void *layer_input(const struct linnet_pass *pass, size_t l) {
  const struct blstm *b = pass->layers;
  return l > 0 ? b->layers[l].input : pass->shard->features;
}

static void forward(struct linnet_pass *pass, real *logits) {
  struct blstm *b = pass->layers;
  size_t layers = pass->network->config->layers;
  for (size_t l = 0; l < layers && !linnet_stopped(pass->shard->poll); l++) {
    if (l > 0)
      linnet_pass_dropout(pass, linnet_layer_site(l), pass->width, b->layers[l - 1].out, NULL, b->layers[l].input);
    forward_layer(pass, l, layer_input(pass, l));
  }
  linnet_linear_logits(pass, &pass->network->parameters->output, b->layers[layers - 1].out, logits);
}

static void backward(struct linnet_pass *pass, const void *dlogits) {
  const struct blstm *b = pass->layers;
  size_t layers = pass->network->config->layers;
  void *dy = pass->running, *dx = pass->narrow;
  linnet_linear_backward(pass, &pass->network->parameters->output, b->layers[layers - 1].out, dlogits, dy, false);
  for (size_t l = layers; l-- > 0;) {
    backward_layer(pass, l, layer_input(pass, l), dy, l > 0 ? dx : NULL);
    linnet_pass_passed(pass, pass->network->parameters->lstm[l][0].weight_ih);
    if (l > 0)
      linnet_pass_dropout(pass, linnet_layer_site(l), pass->width, dx, NULL, dy);
  }
}

const struct linnet_network_kind linnet_blstm_network = {SHARD_ROWS, sizeof(struct blstm), plan, forward, backward};
