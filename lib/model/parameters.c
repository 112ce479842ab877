/* Lists the tensors of a configuration with their offsets, and initialises them. */
#include "model/parameters.h"

#include <stdio.h>
#include <string.h>

#include "base/philox.h"
#include "model/layer.h"
#include "ops/feature_map.h"

/* At most 27 tensors per layer. Outside: two of the input or the embedding tables, and four. */
enum { TENSORS_PER_LAYER = 27, OTHER_TENSORS = LINNET_MAX_TABLES + 4 };

/* --- the table ------------------------------------------------------------------------------------------------ */

/* Appends tensors to the list; names are `prefix` and a suffix. */
struct builder {
  struct linnet_parameters *parameters;
  bool no_matrices; /* see linnet_parameters_create_without_matrices */
  char prefix[32];
};

static void align(struct linnet_parameters *parameters) {
  size_t rest = parameters->size % LINNET_PARAMETER_ALIGN;
  if (rest > 0)
    parameters->size += LINNET_PARAMETER_ALIGN - rest;
}

/* Adds a tensor directly behind the last one and returns its offset. Sizes cannot overflow: the configuration was
 * validated, so all tensors together have at most LINNET_MAX_PARAMETERS elements. */
static size_t put(struct builder *b, const char *suffix, size_t rows, size_t cols, size_t fan_in, double initial) {
  struct linnet_parameters *parameters = b->parameters;
  struct linnet_parameter *p = &parameters->list[parameters->count++];
  *p = (struct linnet_parameter){.offset = parameters->size,
                                 .rows = rows,
                                 .cols = cols,
                                 .count = cols > 0 ? rows * cols : rows,
                                 .fan_in = fan_in,
                                 .initial = initial};
  snprintf(p->name, sizeof p->name, "%s%s", b->prefix, suffix);
  parameters->size += p->count;
  parameters->trained += p->count;
  return p->offset;
}

/* A matrix of a linear layer or of a recurrence. */
static size_t put_matrix(struct builder *b, const char *suffix, size_t rows, size_t cols, size_t fan_in) {
  if (!b->no_matrices)
    return put(b, suffix, rows, cols, fan_in, 0);
  b->parameters->trained += rows * cols;
  return 0;
}

/* The same at the next aligned offset. */
static size_t put_aligned(struct builder *b, const char *suffix, size_t rows, size_t cols, size_t fan_in,
                          double initial) {
  align(b->parameters);
  return put(b, suffix, rows, cols, fan_in, initial);
}

/* Adds a matrix that is drawn once and never trained. */
static size_t put_fixed(struct builder *b, const char *suffix, size_t rows, size_t cols) {
  size_t offset = put_aligned(b, suffix, rows, cols, 0, 0);
  b->parameters->list[b->parameters->count - 1].fixed = true;
  b->parameters->trained -= rows * cols;
  return offset;
}

/* NAME.weight (outputs, inputs) and NAME.bias (outputs), both uniform by the inputs. */
static struct linnet_linear put_linear(struct builder *b, const char *name, size_t outputs, size_t inputs) {
  struct linnet_linear l = {.in = inputs, .out = outputs};
  char suffix[64];
  align(b->parameters);
  snprintf(suffix, sizeof suffix, "%s.weight", name);
  l.weight = put_matrix(b, suffix, outputs, inputs, inputs);
  snprintf(suffix, sizeof suffix, "%s.bias", name);
  l.bias = put_aligned(b, suffix, outputs, 0, inputs, 0);
  return l;
}

static struct linnet_norm put_norm(struct builder *b, const char *name, size_t width) {
  struct linnet_norm norm;
  char suffix[64];
  snprintf(suffix, sizeof suffix, "%s.weight", name);
  norm.gain = put_aligned(b, suffix, width, 0, 0, 1);
  snprintf(suffix, sizeof suffix, "%s.bias", name);
  norm.bias = put_aligned(b, suffix, width, 0, 0, 0);
  return norm;
}

/* --- a transformer ------------------------------------------------------------------------------------------------ */

static void put_attention(struct builder *b, const struct linnet_config *config, struct linnet_sublayer *s) {
  const struct linnet_attention_traits *traits = linnet_layer_traits(config, s->layer);
  const size_t width = config->width;
  s->parts = traits->one_state ? width : 0;
  s->first = (struct linnet_linear){.in = width, .out = linnet_attention_columns(config, s->layer)};
  align(b->parameters);
  s->first.weight = put_matrix(b, "attention.query.weight", width, width, width);
  if (!traits->shared_key)
    put_matrix(b, "attention.key.weight", width, width, width);
  put_matrix(b, "attention.value.weight", width, width, width);
  s->first.bias = put_aligned(b, "attention.query.bias", width, 0, width, 0);
  if (!traits->shared_key)
    put(b, "attention.key.bias", width, 0, width, 0);
  put(b, "attention.value.bias", width, 0, width, 0);
  s->last = put_linear(b, "attention.output", width, width);
  if (traits->mapped && linnet_feature_map_random(config->feature_map))
    s->directions = put_fixed(b, "attention.features.weight", config->features, width / config->heads);
  s->norm = put_norm(b, "norm1", width);
}

static void put_convolution(struct builder *b, const struct linnet_config *config, struct linnet_sublayer *s) {
  const size_t width = config->width, kernel = config->convolution;
  s->pre = true;
  s->norm = put_norm(b, "convolution.norm1", width);
  s->first = put_linear(b, "convolution.pointwise1", 2 * width, width);
  s->depthwise = put_aligned(b, "convolution.depthwise.weight", kernel, width, kernel, 0);
  s->depthwise_bias = put_aligned(b, "convolution.depthwise.bias", width, 0, kernel, 0);
  s->depthwise_norm = put_norm(b, "convolution.norm2", width);
  s->last = put_linear(b, "convolution.pointwise2", width, width);
}

static void put_feed_forward(struct builder *b, const struct linnet_config *config, struct linnet_sublayer *s) {
  s->first = put_linear(b, "feed_forward.linear1", config->feed_forward, config->width);
  s->last = put_linear(b, "feed_forward.linear2", config->width, config->feed_forward);
  s->norm = put_norm(b, "norm2", config->width);
}

static void (*const put_block[LINNET_BLOCK_KINDS])(struct builder *b, const struct linnet_config *config,
                                                   struct linnet_sublayer *s) = {
    [LINNET_BLOCK_ATTENTION] = put_attention,
    [LINNET_BLOCK_CONVOLUTION] = put_convolution,
    [LINNET_BLOCK_FEED_FORWARD] = put_feed_forward};

static bool has_block(const struct linnet_config *config, enum linnet_block_kind kind) {
  return kind != LINNET_BLOCK_CONVOLUTION || config->convolution > 0;
}

/* A layer's sublayers are its blocks in the order of their kinds. */
static void put_layer(struct builder *b, const struct linnet_config *config, size_t layer) {
  struct linnet_parameters *p = b->parameters;
  snprintf(b->prefix, sizeof b->prefix, "layers.%zu.", layer);
  for (unsigned kind = 0; kind < LINNET_BLOCK_KINDS; kind++)
    if (has_block(config, (enum linnet_block_kind)kind)) {
      struct linnet_sublayer *s = &p->sublayers[p->num_sublayers++];
      *s = (struct linnet_sublayer){.kind = (enum linnet_block_kind)kind,
                                    .layer = layer,
                                    .pre = config->norm == LINNET_NORM_PRE,
                                    .site = linnet_layer_site(layer) + 2 * kind};
      put_block[kind](b, config, s);
    }
  b->prefix[0] = '\0';
}

static void put_tables(struct builder *b, const struct linnet_config *config) {
  align(b->parameters);
  b->parameters->tables = b->parameters->size;
  for (size_t i = 0; i < config->input_dim; i++) {
    char name[64];
    snprintf(name, sizeof name, "input.%zu.weight", i);
    put(b, name, config->tokens[i], config->width, 1, 0);
  }
}

static void put_transformer(struct builder *b, const struct linnet_config *config) {
  struct linnet_parameters *p = b->parameters;
  if (linnet_config_reads_tokens(config))
    put_tables(b, config);
  else
    p->input = put_linear(b, "input", config->width, config->input_dim * config->stack);
  for (size_t i = 0; i < config->layers; i++)
    put_layer(b, config, i);
  if (config->norm == LINNET_NORM_PRE)
    p->norm = put_norm(b, "norm", config->width);
  p->output = put_linear(b, "output", config->outputs, config->width);
}

/* --- a Bi-LSTM ---------------------------------------------------------------------------------------------------- */

static size_t lstm_inputs(const struct linnet_config *config, size_t layer) {
  return layer > 0 ? 2 * config->width : config->input_dim * config->stack;
}

struct linnet_linear linnet_lstm_input(const struct linnet_config *config, const struct linnet_parameters *parameters,
                                       size_t layer, size_t direction) {
  const struct linnet_lstm_offsets *o = &parameters->lstm[layer][direction];
  return (struct linnet_linear){lstm_inputs(config, layer), 4 * config->width, o->weight_ih, o->bias_ih};
}

/* Names as in torch.nn.LSTM, such as "lstm.weight_ih_l0_reverse", so that PyTorch can load them. */
static void put_direction(struct builder *b, size_t layer, bool reverse, size_t inputs, size_t width,
                          struct linnet_lstm_offsets *o) {
  const struct {
    const char *name;
    size_t cols, *offset;
  } tensors[] = {{"weight_ih", inputs, &o->weight_ih},
                 {"weight_hh", width, &o->weight_hh},
                 {"bias_ih", 0, &o->bias_ih},
                 {"bias_hh", 0, &o->bias_hh}};
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
    char suffix[64];
    snprintf(suffix, sizeof suffix, "lstm.%s_l%zu%s", tensors[i].name, layer, reverse ? "_reverse" : "");
    align(b->parameters);
    *tensors[i].offset = tensors[i].cols > 0 ? put_matrix(b, suffix, 4 * width, tensors[i].cols, width)
                                             : put(b, suffix, 4 * width, 0, width, 0);
  }
}

static void put_blstm(struct builder *b, const struct linnet_config *config) {
  struct linnet_parameters *p = b->parameters;
  for (size_t l = 0; l < config->layers; l++)
    for (size_t d = 0; d < 2; d++)
      put_direction(b, l, d == 1, lstm_inputs(config, l), config->width, &p->lstm[l][d]);
  p->output = put_linear(b, "output", config->outputs, 2 * config->width);
}

/* --- the table of either ------------------------------------------------------------------------------------------ */

static void (*const put_all[])(struct builder *b, const struct linnet_config *config) = {
    [LINNET_ENCODER_TRANSFORMER] = put_transformer, [LINNET_ENCODER_BLSTM] = put_blstm};

static enum linnet_status create(struct linnet_context *context, const struct linnet_config *config, bool no_matrices,
                                 struct linnet_parameters **parameters) {
  *parameters = NULL;
  LINNET_TRY(linnet_config_validate(context, "parameters", config));
  struct linnet_parameters *p = linnet_calloc(context, 1, sizeof *p);
  if (!p)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the table of parameters");
  p->context = context;
  p->num_layers = config->layers;
  p->list = linnet_alloc(context, config->layers * TENSORS_PER_LAYER + OTHER_TENSORS, sizeof *p->list);
  p->sublayers = linnet_calloc(context, config->layers * LINNET_BLOCK_KINDS, sizeof *p->sublayers);
  p->lstm = linnet_calloc(context, config->layers, sizeof *p->lstm);
  if (!p->list || !p->sublayers || !p->lstm) {
    linnet_parameters_destroy(p);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the table of parameters");
  }
  put_all[config->encoder](&(struct builder){.parameters = p, .no_matrices = no_matrices}, config);
  align(p);
  *parameters = p;
  return LINNET_OK;
}

enum linnet_status linnet_parameters_create(struct linnet_context *context, const struct linnet_config *config,
                                            struct linnet_parameters **parameters) {
  return create(context, config, false, parameters);
}

enum linnet_status linnet_parameters_create_without_matrices(struct linnet_context *context,
                                                             const struct linnet_config *config,
                                                             struct linnet_parameters **parameters) {
  return create(context, config, true, parameters);
}

void linnet_parameters_destroy(struct linnet_parameters *parameters) {
  if (!parameters)
    return;
  linnet_free(parameters->context, parameters->list);
  linnet_free(parameters->context, parameters->sublayers);
  linnet_free(parameters->context, parameters->lstm);
  linnet_free(parameters->context, parameters);
}

const struct linnet_parameter *linnet_parameters_find(const struct linnet_parameters *parameters, const char *name) {
  for (size_t i = 0; i < parameters->count; i++)
    if (strcmp(parameters->list[i].name, name) == 0)
      return &parameters->list[i];
  return NULL;
}

/* --- initial values ------------------------------------------------------------------------------------------- */

/* Separates these random numbers from those of dropout and shuffling with the same seed. */
static const uint64_t init_stream = (uint64_t)0x696E6974 << 32; /* "init" */

static void initialise_one(const struct linnet_parameter *p, uint64_t seed, size_t index, real *values) {
  double bound = p->fan_in > 0 ? 1 / sqrt((double)p->fan_in) : 0;
  struct linnet_philox draw = {{0}};
  for (size_t i = 0; i < p->count; i++) {
    if (i % 4 == 0)
      draw = linnet_philox(seed, init_stream | index, i / 4);
    double u = 2 * linnet_philox_uniform(draw.word[i % 4]) - 1;
    values[i] = p->fan_in > 0 ? (real)(bound * u) : (real)p->initial;
  }
}

/* Box, Muller 1958: a draw of four words makes two pairs. */
static void initialise_normal(const struct linnet_parameter *p, uint64_t seed, size_t index, real *values) {
  const double circle = 6.283185307179586;
  struct linnet_philox draw = {{0}};
  for (size_t i = 0; i < p->count; i++) {
    if (i % 4 == 0)
      draw = linnet_philox(seed, init_stream | index, i / 4);
    const uint32_t *pair = draw.word + i % 4 / 2 * 2;
    double radius = sqrt(-2 * log(1 - linnet_philox_uniform(pair[0])));
    double angle = circle * linnet_philox_uniform(pair[1]);
    values[i] = (real)(radius * (i % 2 ? sin(angle) : cos(angle)));
  }
}

void linnet_parameters_initialise(const struct linnet_parameters *parameters, uint64_t seed, real *buffer) {
  memset(buffer, 0, parameters->size * sizeof *buffer);
  for (size_t i = 0; i < parameters->count; i++) {
    const struct linnet_parameter *p = &parameters->list[i];
    (p->fixed ? initialise_normal : initialise_one)(p, seed, i, buffer + p->offset);
  }
}
