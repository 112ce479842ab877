/* The weights that a training starts from: random, or those of a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "model/layer.h"
#include "train/trainer.h"

/* The layer of the model with the weights of layer `layer` of a training. A deeper training repeats layers, evenly
 * spread: 4 layers from 3 begin as 0, 1, 2, 2. */
static size_t source_layer(const struct linnet_trainer *t, const struct linnet_model *model, size_t layer) {
  return linnet_divide_up((layer + 1) * model->config.layers, t->config.layers) - 1;
}

static bool is_repeated(const struct linnet_trainer *t, const struct linnet_model *model, size_t layer) {
  return layer > 0 && source_layer(t, model, layer) == source_layer(t, model, layer - 1);
}

/* The tensor of the model that the tensor p of the training begins with, or NULL. */
static const struct linnet_parameter *source_of(const struct linnet_trainer *t, const struct linnet_model *model,
                                                const struct linnet_parameter *p) {
  static const char prefix[] = "layers.";
  char name[sizeof p->name], *rest;
  if (strncmp(p->name, prefix, sizeof prefix - 1) != 0)
    return linnet_parameters_find(model->parameters, p->name);
  const size_t layer = strtoul(p->name + sizeof prefix - 1, &rest, 10);
  snprintf(name, sizeof name, "%s%zu%s", prefix, source_layer(t, model, layer), rest);
  return linnet_parameters_find(model->parameters, name);
}

/* Whether both networks have tensors of the same shapes and differ in attention, look-ahead and depth at most. */
static bool fits(const struct linnet_trainer *t, const struct linnet_model *model) {
  struct linnet_config config = model->config;
  const bool may_grow = config.encoder == LINNET_ENCODER_TRANSFORMER && config.norm == LINNET_NORM_PRE;
  if (may_grow && config.layers < t->config.layers)
    config.layers = t->config.layers;
  memcpy(config.lookahead, t->config.lookahead, sizeof config.lookahead);
  memcpy(config.attention, t->config.attention, sizeof config.attention);
  bool same = linnet_config_same_network(&config, &t->config);
  for (size_t i = 0; same && i < t->parameters->count; i++)
    same = source_of(t, model, &t->parameters->list[i]);
  return same;
}

static enum linnet_status check_symbols(const struct linnet_trainer *t, const struct linnet_model *model,
                                        const char *path) {
  for (size_t i = 0; i < t->config.outputs; i++)
    if (strcmp(t->symbols[i], model->symbols[i]) != 0)
      return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                         "%s: its symbol %zu is %s, that of the training is %s: give the training the symbols of the "
                         "model (linnet info --symbols), in their order",
                         path, i, model->symbols[i], t->symbols[i]);
  return LINNET_OK;
}

/* Moves the taps (kernel, channels) by `shift` rows, to the front if `earlier`, otherwise to the end. Other rows become
 * 0. */
static void shift_taps(real *taps, size_t kernel, size_t channels, size_t shift, bool earlier) {
  const size_t remaining = (kernel - shift) * channels, moved = shift * channels;
  memmove(earlier ? taps : taps + moved, earlier ? taps + moved : taps, remaining * sizeof *taps);
  memset(earlier ? taps + remaining : taps, 0, moved * sizeof *taps);
}

/* Tap j of a convolution reads frame t + j - left for the output of frame t. With another look-ahead the taps move, so
 * that each still reads the same frame; those that would lie outside the kernel are dropped. */
static void realign_convolutions(const struct linnet_trainer *t, const struct linnet_model *model) {
  for (size_t i = 0; i < t->parameters->num_sublayers; i++) {
    const struct linnet_sublayer *sublayer = &t->parameters->sublayers[i];
    if (sublayer->kind != LINNET_BLOCK_CONVOLUTION)
      continue;
    const struct linnet_conv old = linnet_layer_convolution(&model->config, source_layer(t, model, sublayer->layer));
    const struct linnet_conv new = linnet_layer_convolution(&t->config, sublayer->layer);
    const bool earlier = new.left < old.left;
    shift_taps(t->weights + sublayer->depthwise, new.kernel, new.channels,
               earlier ? old.left - new.left : new.left - old.left, earlier);
  }
}

/* Makes repeated layers the identity: their sublayers add 0 to the residual connection, until training changes it. */
static void clear_repeated_layers(const struct linnet_trainer *t, const struct linnet_model *model) {
  for (size_t i = 0; i < t->parameters->num_sublayers; i++) {
    const struct linnet_sublayer *sublayer = &t->parameters->sublayers[i];
    const struct linnet_linear *last = &sublayer->last;
    if (!is_repeated(t, model, sublayer->layer))
      continue;
    memset(t->weights + last->weight, 0, last->in * last->out * sizeof *t->weights);
    memset(t->weights + last->bias, 0, last->out * sizeof *t->weights);
  }
}

static enum linnet_status copy_weights(struct linnet_trainer *t, const struct linnet_model *model, const char *path) {
  if (!fits(t, model))
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "%s: its config differs from the one to be trained, in more than the kind of attention, "
                       "convolution_lookahead, and additional layers of a pre-norm network: see linnet info",
                       path);
  LINNET_TRY(check_symbols(t, model, path));
  for (size_t i = 0; i < t->parameters->count; i++) {
    const struct linnet_parameter *p = &t->parameters->list[i];
    memcpy(t->weights + p->offset, model->weights + source_of(t, model, p)->offset, p->count * sizeof *t->weights);
  }
  realign_convolutions(t, model);
  clear_repeated_layers(t, model);
  return LINNET_OK;
}

enum linnet_status linnet_trainer_initial_weights(struct linnet_trainer *t, const char *path) {
  if (!path) {
    linnet_parameters_initialise(t->parameters, t->settings.seed, t->weights);
    return LINNET_OK;
  }
  struct linnet_model *model = NULL;
  LINNET_TRY(linnet_model_load_whole(t->context, path, &model));
  const enum linnet_status status = copy_weights(t, model, path);
  linnet_model_destroy(model);
  return status;
}
