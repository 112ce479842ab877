/* The weights that a training starts from: random, or those of a model. */
#include <string.h>

#include "model/layer.h"
#include "train/trainer.h"

/* Whether both networks have the same tensors and differ in attention and look-ahead at most. */
static bool fits(const struct linnet_trainer *t, const struct linnet_model *model) {
  struct linnet_config config = model->config;
  memcpy(config.lookahead, t->config.lookahead, sizeof config.lookahead);
  memcpy(config.attention, t->config.attention, sizeof config.attention);
  bool same = linnet_config_same_network(&config, &t->config) && model->parameters->count == t->parameters->count;
  for (size_t i = 0; same && i < t->parameters->count; i++)
    same = strcmp(model->parameters->list[i].name, t->parameters->list[i].name) == 0;
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
static void realign_convolutions(const struct linnet_trainer *t, const struct linnet_config *from) {
  for (size_t i = 0; i < t->parameters->num_sublayers; i++) {
    const struct linnet_sublayer *sublayer = &t->parameters->sublayers[i];
    if (sublayer->kind != LINNET_BLOCK_CONVOLUTION)
      continue;
    const struct linnet_conv old = linnet_layer_convolution(from, sublayer->layer);
    const struct linnet_conv new = linnet_layer_convolution(&t->config, sublayer->layer);
    const bool earlier = new.left < old.left;
    shift_taps(t->weights + sublayer->depthwise, new.kernel, new.channels,
               earlier ? old.left - new.left : new.left - old.left, earlier);
  }
}

static enum linnet_status copy_weights(struct linnet_trainer *t, const struct linnet_model *model, const char *path) {
  if (!fits(t, model))
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "%s: its config differs from the one to be trained, in more than the kind of attention and "
                       "convolution_lookahead: see linnet info",
                       path);
  LINNET_TRY(check_symbols(t, model, path));
  memcpy(t->weights, model->weights, t->parameters->size * sizeof *t->weights);
  realign_convolutions(t, &model->config);
  return LINNET_OK;
}

enum linnet_status linnet_trainer_initial_weights(struct linnet_trainer *t, const char *path) {
  if (!path) {
    linnet_parameters_initialise(t->parameters, t->settings.seed, t->weights);
    return LINNET_OK;
  }
  struct linnet_model *model = NULL;
  LINNET_TRY(linnet_model_load(t->context, path, &model));
  const enum linnet_status status = copy_weights(t, model, path);
  linnet_model_destroy(model);
  return status;
}
