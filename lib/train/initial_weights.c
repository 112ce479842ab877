/* The weights that a training starts from: random, or those of a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/numbers.h"
#include "model/format/feature_config.h"
#include "model/layer.h"
#include "train/trainer.h"

/* --- what differs between two objects of JSON on one line --------------------------------------------------------- */

/* A part of a text. */
struct span {
  const char *text;
  size_t length;
};

struct entry {
  struct span key, value;
};

static bool equal(struct span a, struct span b) {
  return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* The length of a value: up to the comma or bracket behind it. */
static size_t value_length(const char *text) {
  size_t depth = 0, i = 0;
  for (bool quoted = false; text[i] && (quoted || depth > 0 || !strchr(",}", text[i])); i++) {
    quoted ^= text[i] == '"';
    depth += !quoted && strchr("[{", text[i]);
    depth -= !quoted && strchr("]}", text[i]);
  }
  return i;
}

/* Reads the entry at *text, and moves *text behind it. False at the end. */
static bool next_entry(const char **text, struct entry *entry) {
  *text += strcspn(*text, "\"");
  if (!**text)
    return false;
  entry->key.text = *text + 1;
  entry->key.length = strcspn(entry->key.text, "\"");
  entry->value.text = entry->key.text + entry->key.length + 1;
  entry->value.text += strspn(entry->value.text, ": ");
  entry->value.length = value_length(entry->value.text);
  *text = entry->value.text + entry->value.length;
  return true;
}

/* The value of a key; if there is none, that is said. */
static struct span value_of(const char *text, struct span key) {
  static const char absent[] = "not given";
  struct entry entry;
  while (next_entry(&text, &entry))
    if (equal(entry.key, key))
      return entry.value;
  return (struct span){absent, sizeof absent - 1};
}

struct difference {
  char key[64], model[80], training[80];
};

static void copy_span(struct span span, char *text, size_t bytes) {
  linnet_format(text, bytes, "%.*s", (int)span.length, span.text);
}

/* Whether a key is in a list that ends with NULL. */
static bool is_listed(struct span key, const char *const *list) {
  for (; *list; list++)
    if (equal(key, (struct span){*list, strlen(*list)}))
      return true;
  return false;
}

/* The difference of this index among the keys of `keys`, which is one of both texts; those of `ignored` do not count.
 */
static bool find_difference(const char *keys, const char *model, const char *training, const char *const *ignored,
                            size_t index, struct difference *d) {
  struct entry entry;
  while (next_entry(&keys, &entry)) {
    const struct span theirs = value_of(model, entry.key), own = value_of(training, entry.key);
    if (equal(theirs, own) || is_listed(entry.key, ignored) || index-- > 0)
      continue;
    copy_span(entry.key, d->key, sizeof d->key);
    copy_span(theirs, d->model, sizeof d->model);
    copy_span(own, d->training, sizeof d->training);
    return true;
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
static enum linnet_status refuse_network(const struct linnet_trainer *t, const struct linnet_model *model,
                                         const char *path) {
  const char *const may_differ[] = {"attention",    "convolution_lookahead",           "dropout",
                                    "causal_chunk", grows(t, model) ? "layers" : NULL, NULL};
  static const char *const nothing[] = {NULL};
  struct difference d = {.key = "config", .model = "another", .training = "its own"};
  char *theirs = NULL, *own = NULL;
  enum linnet_status status = linnet_config_format(t->context, &model->config, &theirs);
  if (status == LINNET_OK)
    status = linnet_config_format(t->context, &t->config, &own);
  if (status == LINNET_OK) {
    if (!find_difference(own, theirs, own, may_differ, 0, &d) &&
        !find_difference(theirs, theirs, own, may_differ, 0, &d))
      find_difference(own, theirs, own, nothing, 0, &d);
    status = linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                         "%s: model.%s of this model is %s, that of the training is %s: only attention, "
                         "convolution_lookahead, dropout, causal_chunk and additional layers of a pre-norm network may "
                         "differ",
                         path, d.key, d.model, d.training);
  }
  linnet_free(t->context, theirs);
  linnet_free(t->context, own);
  return status;
}

static void warn_of_features(const struct linnet_trainer *t, const char *model, const char *own, const char *path) {
  static const char *const of_recognition[] = {"max_silence", "edge_silence", NULL};
  struct difference d;
  for (size_t i = 0; find_difference(own, model, own, of_recognition, i, &d); i++)
    linnet_log(t->context, LINNET_LOG_WARNING,
               "%s: features.%s of this model is %s, that of the training is %s: its weights know other features", path,
               d.key, d.model, d.training);
}

/* Weights fit features of any kind, but have been trained on one. */
static enum linnet_status compare_features(const struct linnet_trainer *t, const struct linnet_model *model,
                                           const char *path) {
  char *theirs = NULL, *own = NULL;
  enum linnet_status status = linnet_feature_config_format(t->context, &model->features, &theirs);
  if (status == LINNET_OK)
    status = linnet_feature_config_format(t->context, &t->features, &own);
  if (status == LINNET_OK)
    warn_of_features(t, theirs, own, path);
  linnet_free(t->context, theirs);
  linnet_free(t->context, own);
  return status;
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
    return refuse_network(t, model, path);
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
