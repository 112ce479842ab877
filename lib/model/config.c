/* Reads, checks and writes the configuration of a model; the keys are rows of one table. */
#include "model/config.h"

#include <string.h>

#include "model/format/bounded_json.h"
#include "ops/attention.h"
#include "ops/feature_map.h"

static const struct linnet_json_limits limits = {.bytes = 65536, .depth = 3, .values = 256};

/* --- names in JSON -------------------------------------------------------------------------------------------- */

static const char *const encoder_names[] = {
    [LINNET_ENCODER_TRANSFORMER] = "transformer", [LINNET_ENCODER_BLSTM] = "blstm"};
static const char *const activation_names[] = {[LINNET_RELU] = "relu", [LINNET_GELU] = "gelu"};
static const char *const norm_names[] = {[LINNET_NORM_POST] = "post", [LINNET_NORM_PRE] = "pre"};
static const char *const position_names[] = {
    [LINNET_POSITION_NONE] = "none", [LINNET_POSITION_SINUSOIDAL] = "sinusoidal"};
static const char *const output_names[] = {
    [LINNET_OUTPUT_POSTERIORS] = "posteriors", [LINNET_OUTPUT_LINEAR] = "linear"};
static const char *const map_names[] = {[LINNET_MAP_ELU] = "elu",
                                        [LINNET_MAP_RELU] = "relu",
                                        [LINNET_MAP_POLYNOMIAL] = "polynomial",
                                        [LINNET_MAP_FOURIER] = "fourier",
                                        [LINNET_MAP_POSITIVE] = "positive"};

/* The names of the table of kinds, as an array of names. */
struct attention_names {
  const char *names[LINNET_ATTENTION_KINDS];
};

static struct attention_names attention_names(void) {
  struct attention_names list;
  for (size_t i = 0; i < LINNET_ATTENTION_KINDS; i++)
    list.names[i] = linnet_attention_traits[i].name;
  return list;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct linnet_config, member)

static const struct linnet_json_key keys[] = {
    {"encoder", LINNET_JSON_NAME, AT(encoder), .names = LINNET_NAMES(encoder_names)},
    {"input_dim", LINNET_JSON_SIZE, AT(input_dim), .low = 1, .high = LINNET_MAX_INPUT_DIM},
    {"stack", LINNET_JSON_SIZE, AT(stack), .low = 1, .high = LINNET_MAX_STACK},
    {"width", LINNET_JSON_SIZE, AT(width), .low = 1, .high = LINNET_MAX_WIDTH},
    {"heads", LINNET_JSON_SIZE, AT(heads), .low = 1, .high = LINNET_MAX_WIDTH},
    {"layers", LINNET_JSON_SIZE, AT(layers), .low = 1, .high = LINNET_MAX_LAYERS},
    {"feed_forward", LINNET_JSON_SIZE, AT(feed_forward), .low = 1, .high = LINNET_MAX_FEED_FORWARD},
    {"activation", LINNET_JSON_NAME, AT(activation), .names = LINNET_NAMES(activation_names)},
    {"norm", LINNET_JSON_NAME, AT(norm), .names = LINNET_NAMES(norm_names)},
    {"dropout", LINNET_JSON_DOUBLE, AT(dropout), .low = 0, .high = 0.9},
    {"position", LINNET_JSON_NAME, AT(position), .names = LINNET_NAMES(position_names)},
    {.key = "attention"},
    {"convolution", LINNET_JSON_SIZE, AT(convolution), .low = 0, .high = LINNET_MAX_KERNEL},
    {"outputs", LINNET_JSON_SIZE, AT(outputs), .low = 2, .high = LINNET_MAX_OUTPUTS},
    {"feature_map", LINNET_JSON_NAME, AT(feature_map), .names = LINNET_NAMES(map_names)},
    {"features", LINNET_JSON_SIZE, AT(features), .low = 0, .high = LINNET_MAX_KEY_WIDTH},
    {"lsh_rounds", LINNET_JSON_SIZE, AT(lsh_rounds), .low = 1, .high = LINNET_MAX_LSH},
    {"lsh_buckets", LINNET_JSON_SIZE, AT(lsh_buckets), .low = 2, .high = LINNET_MAX_LSH},
    {"lsh_chunk", LINNET_JSON_SIZE, AT(lsh_chunk), .low = 1, .high = LINNET_MAX_LSH},
    {"causal_chunk", LINNET_JSON_SIZE_OR_AUTO, AT(causal_chunk), .low = 0, .high = LINNET_MAX_CAUSAL_CHUNK},
    {"output", LINNET_JSON_NAME, AT(output), .names = LINNET_NAMES(output_names)},
    {.key = "tokens"},
    {.key = "convolution_lookahead"}};
static const struct linnet_json_table table = {"config", keys, sizeof keys / sizeof *keys};

enum { REQUIRED_KEYS = 14 }; /* the first, in model files */

_Static_assert(LINNET_CAUSAL_CHUNK_AUTO == SIZE_MAX, "as linnet_json_read reads \"auto\"");

/* --- reading -------------------------------------------------------------------------------------------------- */

void linnet_config_default(struct linnet_config *config) {
  *config = (struct linnet_config){.encoder = LINNET_ENCODER_TRANSFORMER,
                                   .input_dim = 40,
                                   .stack = 1,
                                   .width = 192,
                                   .heads = 6,
                                   .layers = 9,
                                   .feed_forward = 768,
                                   .activation = LINNET_RELU,
                                   .norm = LINNET_NORM_POST,
                                   .dropout = 0.1,
                                   .position = LINNET_POSITION_SINUSOIDAL,
                                   .convolution = 0,
                                   .outputs = 0,
                                   .feature_map = LINNET_MAP_ELU,
                                   .features = 0,
                                   .lsh_rounds = 4,
                                   .lsh_buckets = 64,
                                   .lsh_chunk = 32};
  memset(config->lookahead, LINNET_CENTRED, sizeof config->lookahead);
}

/* --- one value for all layers, or a list with one value per layer ------------------------------------------------- */

struct layer_key {
  const char *name;
  enum linnet_status (*read)(const struct linnet_json_object *object, const char *key, const json_t *value,
                             unsigned char *result);
  unsigned char rest; /* the value behind the last layer */
};

static enum linnet_status read_kind(const struct linnet_json_object *object, const char *key, const json_t *value,
                                    unsigned char *result) {
  struct attention_names list = attention_names();
  unsigned kind = 0;
  LINNET_TRY(linnet_json_name_index(object, key, value, (struct linnet_names)LINNET_NAMES(list.names), &kind));
  *result = (unsigned char)kind;
  return LINNET_OK;
}

static enum linnet_status read_lookahead(const struct linnet_json_object *object, const char *key, const json_t *value,
                                         unsigned char *result) {
  size_t frames = 0;
  if (!linnet_json_size(value, &frames))
    return linnet_fail(object->context, LINNET_ERROR_FORMAT,
                       "%s: %s: \"%s\" must be a number of frames, or a list of one number per layer", object->name,
                       object->what, key);
  if (frames >= LINNET_MAX_KERNEL)
    return linnet_fail(object->context, LINNET_ERROR_LIMIT, "%s: %s: \"%s\" is %zu; it must be 0 to %d", object->name,
                       object->what, key, frames, LINNET_MAX_KERNEL - 1);
  *result = (unsigned char)frames;
  return LINNET_OK;
}

static const struct layer_key attention_key = {"attention", read_kind, 0};
static const struct layer_key lookahead_key = {"convolution_lookahead", read_lookahead, LINNET_CENTRED};

/* `layers` was read before and is at most LINNET_MAX_LAYERS. */
static enum linnet_status read_layer_list(const struct linnet_json_object *object, const struct layer_key *key,
                                          const json_t *list, size_t layers, unsigned char *values) {
  if (json_array_size(list) != layers)
    return linnet_fail(object->context, LINNET_ERROR_FORMAT, "%s: %s: \"%s\" names %zu layers, but \"layers\" is %zu",
                       object->name, object->what, key->name, json_array_size(list), layers);
  for (size_t i = 0; i < layers; i++)
    LINNET_TRY(key->read(object, key->name, json_array_get(list, i), &values[i]));
  return LINNET_OK;
}

/* If the key is missing, layers keep their value, and additional layers get that of the first layer. */
static enum linnet_status read_layer_values(const struct linnet_json_object *object, const struct layer_key *key,
                                            size_t layers_before, size_t layers, unsigned char *values) {
  const json_t *value = json_object_get(object->value, key->name);
  if (json_is_array(value)) {
    LINNET_TRY(read_layer_list(object, key, value, layers, values));
  } else {
    if (value)
      LINNET_TRY(key->read(object, key->name, value, &values[0]));
    for (size_t i = value ? 1 : layers_before; i < layers; i++)
      values[i] = values[0];
  }
  memset(values + layers, key->rest, LINNET_MAX_LAYERS - layers);
  return LINNET_OK;
}

/* Whether `list` has 1 to LINNET_MAX_TABLES whole numbers above 0, which it then copies to `sizes`. */
static bool read_sizes(const json_t *list, size_t sizes[LINNET_MAX_TABLES]) {
  bool good = json_is_array(list) && json_array_size(list) >= 1 && json_array_size(list) <= LINNET_MAX_TABLES;
  for (size_t i = 0; good && i < json_array_size(list); i++)
    good = linnet_json_size(json_array_get(list, i), &sizes[i]) && sizes[i] > 0;
  return good;
}

static enum linnet_status read_tokens(const struct linnet_json_object *object, struct linnet_config *config) {
  const json_t *list = json_object_get(object->value, "tokens");
  size_t sizes[LINNET_MAX_TABLES] = {0};
  if (!list)
    return LINNET_OK;
  if (!read_sizes(list, sizes))
    return linnet_fail(object->context, LINNET_ERROR_FORMAT,
                       "%s: %s: \"tokens\" must be a list of the sizes of 1 to %d embedding tables", object->name,
                       object->what, LINNET_MAX_TABLES);
  memcpy(config->tokens, sizes, sizeof sizes);
  return LINNET_OK;
}

static enum linnet_status check_layers(struct linnet_context *context, const char *name, size_t layers) {
  if (layers >= 1 && layers <= LINNET_MAX_LAYERS)
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: config: \"layers\" is %zu; it must be 1 to %d", name, layers,
                     LINNET_MAX_LAYERS);
}

static enum linnet_status read_layers(const struct linnet_json_object *object, size_t layers_before,
                                      struct linnet_config *config) {
  LINNET_TRY(object->status);
  LINNET_TRY(check_layers(object->context, object->name, config->layers));
  LINNET_TRY(read_layer_values(object, &attention_key, layers_before, config->layers, config->attention));
  return read_layer_values(object, &lookahead_key, layers_before, config->layers, config->lookahead);
}

/* --- the object ------------------------------------------------------------------------------------------------- */

static enum linnet_status read_object(struct linnet_context *context, const json_t *root, const char *name,
                                      bool complete, struct linnet_config *config) {
  struct linnet_config read = *config;
  struct linnet_json_object object = linnet_json_read(context, name, root, &table, complete ? REQUIRED_KEYS : 0, &read);
  LINNET_TRY(read_layers(&object, config->layers, &read));
  LINNET_TRY(read_tokens(&object, &read));
  *config = read;
  return LINNET_OK;
}

static enum linnet_status parse(struct linnet_context *context, const char *text, const char *name, bool complete,
                                struct linnet_config *config) {
  json_t *root = NULL;
  LINNET_TRY(linnet_json_parse(context, text, strlen(text), name, limits, &root));
  enum linnet_status status = read_object(context, root, name, complete, config);
  json_decref(root);
  return status;
}

enum linnet_status linnet_config_parse(struct linnet_context *context, const char *text, const char *name,
                                       struct linnet_config *config) {
  return parse(context, text, name, false, config);
}

enum linnet_status linnet_config_parse_complete(struct linnet_context *context, const char *text, const char *name,
                                                struct linnet_config *config) {
  struct linnet_config read;
  linnet_config_default(&read);
  LINNET_TRY(parse(context, text, name, true, &read));
  LINNET_TRY(linnet_config_validate(context, name, &read));
  *config = read;
  return LINNET_OK;
}

/* --- checks --------------------------------------------------------------------------------------------------- */

static enum linnet_status check_keys(struct linnet_context *context, const char *name,
                                     const struct linnet_config *config) {
  if (config->causal_chunk == LINNET_CAUSAL_CHUNK_AUTO)
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: config: \"causal_chunk\" is auto; only training accepts this value", name);
  return linnet_json_check(context, name, &table, config);
}

/* Values outside their enum cannot come from JSON, only from a program. */
static enum linnet_status check_attention(struct linnet_context *context, const char *name,
                                          const struct linnet_config *config) {
  for (size_t i = 0; i < config->layers; i++)
    if (config->attention[i] >= LINNET_ATTENTION_KINDS || !linnet_attention_traits[config->attention[i]].name)
      return linnet_fail(context, LINNET_ERROR_ARGUMENT, "%s: config: the value of \"attention\" is unknown", name);
  return LINNET_OK;
}

static enum linnet_status check_map(struct linnet_context *context, const char *name,
                                    const struct linnet_config *config) {
  bool random = linnet_feature_map_random(config->feature_map);
  size_t size = linnet_feature_map_size(config->feature_map, config->width / config->heads, config->features);
  if (random != (config->features > 0))
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: config: \"features\" is %zu; it must be above 0 with a random \"feature_map\" and 0 with "
                       "others",
                       name, config->features);
  if (size > LINNET_MAX_KEY_WIDTH)
    return linnet_fail(
        context, LINNET_ERROR_LIMIT,
        "%s: config: \"feature_map\" %s makes %zu features of a head, more than %d; use more \"heads\" or "
        "fewer \"features\"",
        name, map_names[config->feature_map], size, LINNET_MAX_KEY_WIDTH);
  if (size * config->heads > LINNET_MAX_MAPPED_WIDTH)
    return linnet_fail(context, LINNET_ERROR_LIMIT,
                       "%s: config: \"feature_map\" %s makes %zu features of %zu heads, more than %d in all; use fewer "
                       "\"features\" or smaller heads",
                       name, map_names[config->feature_map], size, config->heads, LINNET_MAX_MAPPED_WIDTH);
  return LINNET_OK;
}

static enum linnet_status check_convolution(struct linnet_context *context, const char *name,
                                            const struct linnet_config *config) {
  const size_t kernel = config->convolution;
  if (kernel > 0 && (kernel < 3 || kernel % 2 == 0))
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: config: \"convolution\" is %zu; it must be 0 or an odd kernel of 3 to %d", name, kernel,
                       LINNET_MAX_KERNEL);
  for (size_t i = 0; i < config->layers; i++) {
    const size_t frames = config->lookahead[i];
    if (frames == LINNET_CENTRED || frames == 0 || frames < kernel)
      continue;
    if (kernel == 0)
      return linnet_fail(context, LINNET_ERROR_FORMAT,
                         "%s: config: \"convolution_lookahead\" of layer %zu is %zu, but \"convolution\" is 0, which "
                         "means no convolution modules",
                         name, i + 1, frames);
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: config: \"convolution_lookahead\" of layer %zu is %zu; it must be below the kernel "
                       "\"convolution\", which is %zu",
                       name, i + 1, frames, kernel);
  }
  return LINNET_OK;
}

/* `input_dim` is in range. */
static enum linnet_status check_tokens(struct linnet_context *context, const char *name,
                                       const struct linnet_config *config) {
  size_t tables = 0;
  while (tables < LINNET_MAX_TABLES && config->tokens[tables] > 0)
    tables++;
  for (size_t i = 0; i < LINNET_MAX_TABLES; i++)
    if (config->tokens[i] > LINNET_MAX_TOKENS || (i >= tables && config->tokens[i] > 0))
      return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: config: \"tokens\": table %zu must have 1 to %d rows", name,
                         i + 1, LINNET_MAX_TOKENS);
  if (tables > 0 && tables != config->input_dim)
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: config: \"input_dim\" is %zu; it must be the number of tables of \"tokens\", %zu", name,
                       config->input_dim, tables);
  if (tables > 0 && (config->stack != 1 || config->encoder != LINNET_ENCODER_TRANSFORMER))
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: config: \"tokens\" need the \"encoder\" transformer and the \"stack\" 1", name);
  return LINNET_OK;
}

/* Of a transformer. */
static enum linnet_status check_relations(struct linnet_context *context, const char *name,
                                          const struct linnet_config *config) {
  if (config->width % config->heads != 0)
    return linnet_fail(context, LINNET_ERROR_FORMAT, "%s: config: \"width\" %zu is not a multiple of \"heads\" %zu",
                       name, config->width, config->heads);
  if (config->position == LINNET_POSITION_SINUSOIDAL && config->width % 2 != 0)
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: config: \"width\" %zu must be even with \"position\" sinusoidal", name, config->width);
  LINNET_TRY(check_convolution(context, name, config));
  if (config->lsh_buckets % 2 != 0)
    return linnet_fail(context, LINNET_ERROR_FORMAT, "%s: config: \"lsh_buckets\" is %zu; it must be even", name,
                       config->lsh_buckets);
  return check_map(context, name, config);
}

/* Of a Bi-LSTM. It ignores the keys of the transformer, except "convolution", which would add layers. */
static enum linnet_status check_blstm(struct linnet_context *context, const char *name,
                                      const struct linnet_config *config) {
  if (config->convolution > 0)
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: config: \"convolution\" is %zu; a Bi-LSTM (\"encoder\" blstm) has no convolution modules: "
                       "it must be 0",
                       name, config->convolution);
  return LINNET_OK;
}

/* Elements of the fixed tensors of random feature maps; cannot overflow after the check of ranges. */
static size_t count_directions(const struct linnet_config *config) {
  size_t layers = 0;
  if (config->encoder != LINNET_ENCODER_TRANSFORMER)
    return 0;
  for (size_t i = 0; i < config->layers; i++)
    layers += linnet_attention_traits[config->attention[i]].mapped;
  return layers * config->features * (config->width / config->heads);
}

enum linnet_status linnet_config_validate(struct linnet_context *context, const char *name,
                                          const struct linnet_config *config) {
  LINNET_TRY(check_keys(context, name, config));
  LINNET_TRY(check_attention(context, name, config));
  LINNET_TRY(check_tokens(context, name, config));
  LINNET_TRY(config->encoder == LINNET_ENCODER_BLSTM ? check_blstm(context, name, config)
                                                     : check_relations(context, name, config));
  size_t count = 0;
  if (!linnet_config_count_parameters(config, &count) || !linnet_add_size(count, count_directions(config), &count) ||
      count > LINNET_MAX_PARAMETERS)
    return linnet_fail(context, LINNET_ERROR_LIMIT,
                       "%s: config: the network would have more than %d parameters; lower \"width\", \"layers\" or "
                       "\"feed_forward\"",
                       name, LINNET_MAX_PARAMETERS);
  return LINNET_OK;
}

/* *total += rows * (columns + 1): a linear layer with its bias. */
static bool add_linear(size_t *total, size_t rows, size_t columns) {
  size_t product;
  return linnet_mul_size(rows, columns + 1, &product) && linnet_add_size(*total, product, total);
}

struct linnet_embedding linnet_config_embedding(const struct linnet_config *config) {
  struct linnet_embedding e = {.tables = config->input_dim, .width = config->width};
  memcpy(e.sizes, config->tokens, sizeof e.sizes);
  return e;
}

/* *total += the elements of the embedding tables, or of the linear layer behind the features. */
static bool add_input(size_t *total, const struct linnet_config *config) {
  if (!linnet_config_reads_tokens(config))
    return add_linear(total, config->width, config->input_dim * config->stack);
  const struct linnet_embedding e = linnet_config_embedding(config);
  return linnet_add_size(*total, linnet_embedding_rows(&e) * e.width, total);
}

static bool count_transformer(const struct linnet_config *config, size_t *count) {
  const size_t width = config->width, norm = 2 * width;
  size_t layer = 2 * norm, total = config->norm == LINNET_NORM_PRE ? norm : 0;
  size_t maps = 0; /* rows of the linear layers before attention */
  for (size_t i = 0; i < config->layers; i++)
    maps += (linnet_attention_traits[config->attention[i]].shared_key ? 2 : 3) * width;
  bool good = add_linear(&layer, width, width) && add_linear(&layer, config->feed_forward, width) &&
              add_linear(&layer, width, config->feed_forward) && add_linear(&total, maps, width);
  if (config->convolution > 0) {
    layer += 2 * norm;
    good = good && add_linear(&layer, 3 * width, width) && add_linear(&layer, width, config->convolution);
  }
  good = good && linnet_mul_size(layer, config->layers, &layer) && linnet_add_size(total, layer, &total) &&
         add_input(&total, config) && add_linear(&total, config->outputs, width);
  *count = good ? total : 0;
  return good;
}

static bool count_blstm(const struct linnet_config *config, size_t *count) {
  const size_t width = config->width;
  size_t recurrent = 0, first = 0, later = 0,
         total = 0; /* of one direction: the input layers of the first and of later LSTM layers */
  bool good = add_linear(&recurrent, 4 * width, width) &&
              add_linear(&first, 4 * width, config->input_dim * config->stack) &&
              add_linear(&later, 4 * width, 2 * width) && add_linear(&total, config->outputs, 2 * width);
  for (size_t l = 0; good && l < config->layers; l++)
    for (size_t direction = 0; good && direction < 2; direction++)
      good = linnet_add_size(total, recurrent, &total) && linnet_add_size(total, l > 0 ? later : first, &total);
  *count = good ? total : 0;
  return good;
}

bool linnet_config_count_parameters(const struct linnet_config *config, size_t *count) {
  return config->encoder == LINNET_ENCODER_BLSTM ? count_blstm(config, count) : count_transformer(config, count);
}

/* --- writing -------------------------------------------------------------------------------------------------- */

static json_t *kind_value(const struct linnet_config *config, size_t layer) {
  return json_string(linnet_attention_traits[config->attention[layer]].name);
}

static json_t *lookahead_value(const struct linnet_config *config, size_t layer) {
  return json_integer((json_int_t)linnet_layer_lookahead(config, layer));
}

/* One value if all layers have the same, otherwise a list. NULL: out of memory. */
static json_t *layer_values(const struct linnet_config *config,
                            json_t *(*value)(const struct linnet_config *config, size_t layer)) {
  json_t *list = json_array();
  bool good = list, same = true;
  for (size_t i = 0; good && i < config->layers; i++) {
    good = json_array_append_new(list, value(config, i)) == 0;
    same = same && good && json_equal(json_array_get(list, i), json_array_get(list, 0));
  }
  json_t *values = !good ? NULL : same ? json_incref(json_array_get(list, 0)) : json_incref(list);
  json_decref(list);
  return values;
}

static bool centred(const struct linnet_config *config) {
  bool all = true;
  for (size_t i = 0; i < config->layers; i++)
    all = all && config->lookahead[i] == LINNET_CENTRED;
  return all;
}

static json_t *token_sizes(const struct linnet_config *config) {
  json_t *list = json_array();
  bool good = list;
  for (size_t i = 0; good && i < config->input_dim; i++)
    good = json_array_append_new(list, json_integer((json_int_t)config->tokens[i])) == 0;
  if (good)
    return list;
  json_decref(list);
  return NULL;
}

/* Adds the keys that are written only if they do not have their default. */
static bool add_rare_keys(const struct linnet_config *config, json_t *root) {
  return root &&
         (centred(config) ||
          json_object_set_new(root, lookahead_key.name, layer_values(config, lookahead_value)) == 0) &&
         (config->output == LINNET_OUTPUT_POSTERIORS ||
          json_object_set_new(root, "output", json_string(output_names[config->output])) == 0) &&
         (!linnet_config_reads_tokens(config) || json_object_set_new(root, "tokens", token_sizes(config)) == 0);
}

enum linnet_status linnet_config_format(struct linnet_context *context, const struct linnet_config *config,
                                        char **text) {
  *text = NULL;
  LINNET_TRY(linnet_config_validate(context, "configuration to write", config));
  LINNET_TRY(linnet_json_reserve(context, "configuration to write", 2 * LINNET_MAX_LAYERS + 64, 0));
  json_t *root = json_pack(
      "{ss sI sI sI sI sI sI ss ss so ss so sI sI ss sI sI sI sI sI}", "encoder", encoder_names[config->encoder],
      "input_dim", (json_int_t)config->input_dim, "stack", (json_int_t)config->stack, "width",
      (json_int_t)config->width, "heads", (json_int_t)config->heads, "layers", (json_int_t)config->layers,
      "feed_forward", (json_int_t)config->feed_forward, "activation", activation_names[config->activation], "norm",
      norm_names[config->norm], "dropout", linnet_json_number(config->dropout), "position",
      position_names[config->position], "attention", layer_values(config, kind_value), "convolution",
      (json_int_t)config->convolution, "outputs", (json_int_t)config->outputs, "feature_map",
      map_names[config->feature_map], "features", (json_int_t)config->features, "lsh_rounds",
      (json_int_t)config->lsh_rounds, "lsh_buckets", (json_int_t)config->lsh_buckets, "lsh_chunk",
      (json_int_t)config->lsh_chunk, "causal_chunk", (json_int_t)config->causal_chunk);
  if (!add_rare_keys(config, root)) {
    json_decref(root);
    root = NULL;
  }
  enum linnet_status status = linnet_json_format(context, root, false, text, NULL);
  json_decref(root);
  return status;
}

size_t linnet_layer_lookahead(const struct linnet_config *config, size_t layer) {
  return config->lookahead[layer] == LINNET_CENTRED ? config->convolution / 2 : config->lookahead[layer];
}

static bool same_lookahead(const struct linnet_config *a, const struct linnet_config *b) {
  bool same = true;
  for (size_t i = 0; i < a->layers; i++)
    same = same && linnet_layer_lookahead(a, i) == linnet_layer_lookahead(b, i);
  return same;
}

bool linnet_config_same_network(const struct linnet_config *a, const struct linnet_config *b) {
  return a->encoder == b->encoder && a->input_dim == b->input_dim && a->stack == b->stack && a->width == b->width &&
         a->heads == b->heads && a->layers == b->layers && a->feed_forward == b->feed_forward &&
         a->activation == b->activation && a->norm == b->norm && a->position == b->position &&
         memcmp(a->attention, b->attention, sizeof a->attention) == 0 && a->convolution == b->convolution &&
         a->outputs == b->outputs && a->feature_map == b->feature_map && a->features == b->features &&
         a->lsh_rounds == b->lsh_rounds && a->lsh_buckets == b->lsh_buckets && a->lsh_chunk == b->lsh_chunk &&
         same_lookahead(a, b) && a->output == b->output && memcmp(a->tokens, b->tokens, sizeof a->tokens) == 0;
}
