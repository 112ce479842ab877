/* What all kinds of network share, and the choice among them. */
#include "model/training/network.h"

#include "model/layer.h"
#include "model/training/pass.h"

static const struct linnet_network_kind *const kinds[] = {
    [LINNET_ENCODER_TRANSFORMER] = &linnet_transformer_network, [LINNET_ENCODER_BLSTM] = &linnet_blstm_network};

static const struct linnet_network_kind *kind_of(const struct linnet_network *network) {
  return kinds[network->config->encoder];
}

size_t linnet_network_shard_rows(const struct linnet_network *network) {
  return kind_of(network)->shard_rows;
}

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

/* Refuses what a device other than the CPU lacks. */
static enum linnet_status check_device(struct linnet_context *context, const struct linnet_network *network) {
  const struct linnet_config *config = network->config;
  const char *name = network->device->name;
  if (network->device->ops->host)
    return LINNET_OK;
  if (linnet_config_reads_tokens(config))
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "%s: embedding tables are not on a GPU yet; use the CPU",
                       name);
  for (size_t i = 0; i < config->layers && config->encoder == LINNET_ENCODER_TRANSFORMER; i++)
    if (linnet_layer_traits(config, i)->host_only)
      return linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                         "%s: the \"attention\" %s of layer %zu is not on a GPU yet; use the CPU", name,
                         linnet_layer_traits(config, i)->name, i + 1);
  return LINNET_OK;
}

enum linnet_status linnet_pass_create(struct linnet_context *context, const struct linnet_network *network,
                                      struct linnet_pass **pass) {
  *pass = NULL;
  LINNET_TRY(check_device(context, network));
  struct linnet_pass *p = *pass = linnet_calloc(context, 1, sizeof *p + kind_of(network)->layers_bytes);
  if (!p)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a pass through the network");
  p->context = context;
  p->network = network;
  p->layers = p + 1;
  return LINNET_OK;
}

void linnet_pass_destroy(struct linnet_pass *pass) {
  if (pass)
    linnet_free(pass->context, pass);
}

/* If activations are not reals, products need copies of the weights and of the gradient of the logits in the type of
 * activations. */
static void plan(struct linnet_pass *pass, struct linnet_arena *arena) {
  const struct linnet_network *network = pass->network;
  kind_of(network)->plan(pass, arena);
  pass->rounded = pass->dlogits = NULL;
  if (network->device->activation_bytes == sizeof(real))
    return;
  pass->rounded = linnet_arena_take(arena, network->parameters->size, network->device->activation_bytes);
  if (!pass->shard->forward_only)
    pass->dlogits = linnet_take_activations(pass, arena, network->config->outputs);
}

static void use_weights(const struct linnet_pass *pass) {
  struct linnet_device *device = pass->network->device;
  if (pass->rounded)
    device->ops->use_weights(device, pass->network->parameters->size, pass->weights, pass->rounded);
}

size_t linnet_pass_bytes(struct linnet_pass *pass, const struct linnet_pack *pack, bool forward_only) {
  struct linnet_shard shard = {.pack = *pack, .forward_only = forward_only};
  struct linnet_arena arena = {0};
  pass->shard = &shard;
  pass->frames = linnet_shard_frames(&shard);
  plan(pass, &arena);
  return arena.used;
}

void linnet_pass_forward(struct linnet_pass *pass, const real *weights, const struct linnet_shard *shard, void *memory,
                         size_t bytes, real *logits) {
  struct linnet_arena arena = {.base = memory, .size = bytes};
  pass->shard = shard;
  pass->weights = weights;
  pass->frames = linnet_shard_frames(shard);
  plan(pass, &arena);
  struct linnet_device *device = pass->network->device;
  if (pass->rounded)
    device->ops->activations_of(device, pass->network->parameters->size, weights, pass->rounded);
  use_weights(pass);
  kind_of(pass->network)->forward(pass, logits);
}

void linnet_pass_set_intermediate(struct linnet_pass *pass, size_t layer) {
  pass->intermediate = layer;
}

real *linnet_pass_intermediate(const struct linnet_pass *pass) {
  return pass->intermediate_logits;
}

void linnet_pass_backward(struct linnet_pass *pass, const real *dlogits, real *gradients_add) {
  struct linnet_device *device = pass->network->device;
  pass->gradients = gradients_add;
  use_weights(pass);
  if (pass->dlogits)
    device->ops->activations_of(device, pass->frames * pass->network->config->outputs, dlogits, pass->dlogits);
  kind_of(pass->network)->backward(pass, pass->dlogits ? pass->dlogits : dlogits);
}
