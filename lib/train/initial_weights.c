/* The weights that a training starts from: random, or those of a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "model/format/bounded_json.h"
#include "model/format/feature_config.h"
#include "model/layer.h"
#include "train/trainer.h"

/* --- differences -------------------------------------------------------------------------------------------------- */

/* What describes the model, and the same of the training. */
struct descriptions {
  json_t *model, *training;
  bool grows; /* whether the training may have more layers */
};

struct difference {
  const char *key;
  char model[80], training[80];
};

static enum linnet_status parse(struct linnet_context *context, const char *text, json_t **root) {
  const struct linnet_json_limits limits = {.bytes = 1 << 20, .depth = 8, .values = 1 << 16};
  return linnet_json_parse(context, text, strlen(text), "description of a model", limits, root);
}

static void print_value(const json_t *value, char *text, size_t bytes) {
  const size_t length = value ? json_dumpb(value, text, bytes - 1, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : 0;
  text[length < bytes ? length : bytes - 1] = '\0';
  if (length == 0)
    snprintf(text, bytes, "not given");
}

/* Whether a key is in a list that ends with NULL. */
static bool is_listed(const char *key, const char *const *list) {
  while (*list && strcmp(*list, key) != 0)
    list++;
  return *list != NULL;
}

/* The difference of this index; keys of `ignored` do not count. Keys of the training come first. */
static bool find_difference(const struct descriptions *d, const char *const *ignored, size_t index,
                            struct difference *found) {
  const json_t *const objects[] = {d->training, d->model};
  for (size_t i = 0; i < 2; i++) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)objects[i], key, value) {
      const json_t *model = json_object_get(d->model, key), *training = json_object_get(d->training, key);
      const bool again = i > 0 && training;
      if (again || json_equal(model, training) || is_listed(key, ignored) || index-- > 0)
        continue;
      found->key = key;
      print_value(model, found->model, sizeof found->model);
      print_value(training, found->training, sizeof found->training);
      return true;
    }
  }
  return false;
}

/* --- copying ------------------------------------------------------------------------------------------------------ */

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

/* Whether layers can be added to the model that add nothing at first. */
static bool grows(const struct linnet_trainer *t, const struct linnet_model *model) {
  const struct linnet_config *config = &model->config;
  return config->encoder == LINNET_ENCODER_TRANSFORMER && config->norm == LINNET_NORM_PRE &&
         config->layers < t->config.layers;
}

/* Whether both networks have tensors of the same shapes and differ in attention, look-ahead and depth at most. */
static bool fits(const struct linnet_trainer *t, const struct linnet_model *model) {
  struct linnet_config config = model->config;
  if (grows(t, model))
    config.layers = t->config.layers;
  memcpy(config.lookahead, t->config.lookahead, sizeof config.lookahead);
  memcpy(config.attention, t->config.attention, sizeof config.attention);
  bool same = linnet_config_same_network(&config, &t->config);
  for (size_t i = 0; same && i < t->parameters->count; i++)
    same = source_of(t, model, &t->parameters->list[i]);
  return same;
}

/* Says in which key the networks differ that do not fit. */
static enum linnet_status refuse_network(const struct linnet_trainer *t, const struct descriptions *d,
                                         const char *path) {
  const char *const may_differ[] = {"attention",    "convolution_lookahead",    "dropout",
                                    "causal_chunk", d->grows ? "layers" : NULL, NULL};
  static const char *const nothing[] = {NULL};
  struct difference found = {.key = "config", .model = "another", .training = "its own"};
  if (!find_difference(d, may_differ, 0, &found))
    find_difference(d, nothing, 0, &found);
  return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                     "%s: model.%s of this model is %s, that of the training is %s: only attention, "
                     "convolution_lookahead, dropout, causal_chunk and additional layers of a pre-norm network may "
                     "differ",
                     path, found.key, found.model, found.training);
}

/* Weights fit features of any kind, but have been trained on one. */
static enum linnet_status warn_of_features(const struct linnet_trainer *t, const struct descriptions *d,
                                           const char *path) {
  static const char *const of_recognition[] = {"max_silence", "edge_silence", NULL};
  struct difference found;
  for (size_t i = 0; find_difference(d, of_recognition, i, &found); i++)
    linnet_log(t->context, LINNET_LOG_WARNING,
               "%s: features.%s of this model is %s, that of the training is %s: its weights know other features", path,
               found.key, found.model, found.training);
  return LINNET_OK;
}

/* Parses both texts, which it releases, and calls one of the functions above. `status` is that of making the texts. */
static enum linnet_status compare(const struct linnet_trainer *t, const struct linnet_model *model, const char *path,
                                  enum linnet_status status, char *theirs, char *own,
                                  enum linnet_status (*judge)(const struct linnet_trainer *t,
                                                              const struct descriptions *d, const char *path)) {
  struct descriptions d = {.grows = grows(t, model)};
  if (status == LINNET_OK)
    status = parse(t->context, theirs, &d.model);
  if (status == LINNET_OK)
    status = parse(t->context, own, &d.training);
  if (status == LINNET_OK)
    status = judge(t, &d, path);
  json_decref(d.model);
  json_decref(d.training);
  linnet_free(t->context, theirs);
  linnet_free(t->context, own);
  return status;
}

static enum linnet_status compare_networks(const struct linnet_trainer *t, const struct linnet_model *model,
                                           const char *path) {
  char *theirs = NULL, *own = NULL;
  enum linnet_status status = linnet_config_format(t->context, &model->config, &theirs);
  if (status == LINNET_OK)
    status = linnet_config_format(t->context, &t->config, &own);
  return compare(t, model, path, status, theirs, own, refuse_network);
}

static enum linnet_status compare_features(const struct linnet_trainer *t, const struct linnet_model *model,
                                           const char *path) {
  char *theirs = NULL, *own = NULL;
  enum linnet_status status = linnet_feature_config_format(t->context, &model->features, &theirs);
  if (status == LINNET_OK)
    status = linnet_feature_config_format(t->context, &t->features, &own);
  return compare(t, model, path, status, theirs, own, warn_of_features);
}

static enum linnet_status check_symbols(const struct linnet_trainer *t, const struct linnet_model *model,
                                        const char *path) {
  if (model->config.outputs != t->config.outputs)
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "%s: it has %zu symbols, the training %zu: give the training the symbols of the model (linnet "
                       "info --symbols)",
                       path, model->config.outputs, t->config.outputs);
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
  LINNET_TRY(check_symbols(t, model, path));
  if (!fits(t, model))
    return compare_networks(t, model, path);
  LINNET_TRY(compare_features(t, model, path));
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
