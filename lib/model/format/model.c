/* Loads, checks and writes model files, and implements the getters of a model. */
#include "model/format/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/device.h"
#include "base/settings.h"
#include "base/utf8.h"
#include "model/format/bounded_json.h"
#include "model/format/feature_config.h"
#include "model/inference/linear_layers.h"

#define BLANK_SYMBOL "<blk>"

/* The tensors of global CMVN statistics. */
static const char *const cmvn_names[] = {"cmvn.count", "cmvn.sum", "cmvn.square"};
enum { CMVN_TENSORS = 3 };

/* Metadata that is written from the model itself. */
static const char *const own_keys[] = {"format", "config", "features", "symbols"};
enum { OWN_KEYS = 4 };

/* The end of a long path, so that the limited length of messages is enough for the rest. */
static const char *message_name(const char *path) {
  size_t length = strlen(path);
  return length > 200 ? path + length - 200 : path;
}

/* --- symbols -------------------------------------------------------------------------------------------------- */

static const struct linnet_json_limits symbol_limits = {
    .bytes = LINNET_MAX_HEADER_BYTES, .depth = 1, .values = LINNET_MAX_OUTPUTS + 2};

/* ASCII, and U+0080 to U+00A0: C1 controls, which terminals also interpret, and the no-break space. */
static bool has_blank_or_control(const char *text) {
  for (const unsigned char *c = (const unsigned char *)text; *c; c++)
    if (*c <= ' ' || *c == 0x7F || (*c == 0xC2 && c[1] <= 0xA0))
      return true;
  return false;
}

static int compare_text(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static enum linnet_status check_unique(struct linnet_context *context, const char *name, const char *const *symbols,
                                       size_t count) {
  const char **sorted = linnet_alloc(context, count, sizeof *sorted);
  if (!sorted)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for %zu symbols", name, count);
  memcpy(sorted, symbols, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_text);
  enum linnet_status status = LINNET_OK;
  for (size_t i = 1; i < count && status == LINNET_OK; i++)
    if (strcmp(sorted[i - 1], sorted[i]) == 0)
      status = linnet_fail(context, LINNET_ERROR_FORMAT, "%s: symbols: \"%s\" appears twice", name,
                           linnet_excerpt(sorted[i]).text);
  linnet_free(context, sorted);
  return status;
}

enum linnet_status linnet_symbols_validate(struct linnet_context *context, const char *name, const char *const *symbols,
                                           size_t count) {
  if (count < 2 || count > LINNET_MAX_OUTPUTS)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: symbols: there are %zu; there must be 2 to %d", name, count,
                       LINNET_MAX_OUTPUTS);
  if (strcmp(symbols[0], BLANK_SYMBOL) != 0)
    return linnet_fail(context, LINNET_ERROR_FORMAT, "%s: symbols: the first is \"%s\"; it must be the blank, %s", name,
                       linnet_excerpt(symbols[0]).text, BLANK_SYMBOL);
  for (size_t i = 0; i < count; i++) {
    if (symbols[i][0] == '\0')
      return linnet_fail(context, LINNET_ERROR_FORMAT, "%s: symbols: number %zu is empty", name, i);
    if (strlen(symbols[i]) > LINNET_MAX_SYMBOL_BYTES)
      return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: symbols: \"%s\" is longer than %d bytes", name,
                         linnet_excerpt(symbols[i]).text, LINNET_MAX_SYMBOL_BYTES);
    if (!linnet_is_utf8(symbols[i]))
      return linnet_fail(context, LINNET_ERROR_FORMAT,
                         "%s: symbols: \"%s\" is not UTF-8: convert the data, for example with "
                         "'iconv -f WINDOWS-1252 -t UTF-8' (give its own encoding after -f)",
                         name, linnet_excerpt(symbols[i]).text);
    if (has_blank_or_control(symbols[i]))
      return linnet_fail(context, LINNET_ERROR_FORMAT, "%s: symbols: \"%s\" holds whitespace or a control character",
                         name, linnet_excerpt(symbols[i]).text);
  }
  return check_unique(context, name, symbols, count);
}

/* Copies a text to *end and advances *end past its end. */
static const char *append_text(char **end, const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = memcpy(*end, text, bytes);
  *end += bytes;
  return copy;
}

/* Copies strings into one block: count pointers, then the text. *bytes is its size. NULL without memory. */
static const char **copy_strings(struct linnet_context *context, const char *const *strings, size_t count,
                                 size_t *bytes) {
  *bytes = count * sizeof *strings;
  for (size_t i = 0; i < count; i++)
    *bytes += strlen(strings[i]) + 1;
  const char **copies = linnet_alloc(context, *bytes, 1);
  if (!copies)
    return NULL;
  char *end = (char *)(copies + count);
  for (size_t i = 0; i < count; i++)
    copies[i] = append_text(&end, strings[i]);
  return copies;
}

/* The strings of a JSON array whose size is that of the outputs; they live as long as the array. */
static enum linnet_status list_symbols(const struct linnet_model *model, const char *name, const json_t *list,
                                       const char **symbols) {
  for (size_t i = 0; i < model->config.outputs; i++) {
    symbols[i] = json_string_value(json_array_get(list, i));
    if (!symbols[i])
      return linnet_fail(model->context, LINNET_ERROR_FORMAT, "%s: symbols: number %zu is not a string", name, i);
  }
  return linnet_symbols_validate(model->context, name, symbols, model->config.outputs);
}

static enum linnet_status copy_symbols(struct linnet_model *model, const char *name, const json_t *list) {
  struct linnet_context *context = model->context;
  if (!json_is_array(list) || json_array_size(list) != model->config.outputs)
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: symbols is not a JSON array of %zu strings, one for each of \"outputs\" of config", name,
                       model->config.outputs);
  const char **symbols = linnet_alloc(context, model->config.outputs, sizeof *symbols);
  if (!symbols)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for symbols", name);
  size_t bytes = 0;
  enum linnet_status status = list_symbols(model, name, list, symbols);
  if (status == LINNET_OK) {
    model->symbols = copy_strings(context, symbols, model->config.outputs, &bytes);
    if (!model->symbols)
      status = linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for symbols", name);
  }
  model->memory += bytes;
  linnet_free(context, symbols);
  return status;
}

static enum linnet_status load_symbols(struct linnet_model *model, const char *name, const char *text) {
  json_t *list = NULL;
  LINNET_TRY(linnet_json_parse(model->context, text, strlen(text), name, symbol_limits, &list));
  enum linnet_status status = copy_symbols(model, name, list);
  json_decref(list);
  return status;
}

/* --- metadata ------------------------------------------------------------------------------------------------- */

static enum linnet_status check_format(const struct linnet_safetensors *file) {
  static const char checkpoints[] = "linnet-checkpoint-"; /* train/checkpoint.c */
  const char *format = linnet_safetensors_metadata(file, "format");
  if (!format)
    return linnet_fail(file->context, LINNET_ERROR_FORMAT,
                       "%s: not a Linnet model: its metadata have no \"format\"; expected \"%s\"", file->name,
                       LINNET_MODEL_FORMAT);
  if (strcmp(format, LINNET_MODEL_FORMAT) == 0)
    return LINNET_OK;
  if (strncmp(format, checkpoints, sizeof checkpoints - 1) == 0)
    return linnet_fail(file->context, LINNET_ERROR_UNSUPPORTED,
                       "%s: this is a checkpoint of a training; name model.safetensors, or epoch-NNN.safetensors, in "
                       "its folder",
                       file->name);
  return linnet_fail(
      file->context, LINNET_ERROR_UNSUPPORTED,
      "%s: format is \"%s\"; this version reads \"%s\" only: use the version of Linnet that wrote the file", file->name,
      linnet_excerpt(format).text, LINNET_MODEL_FORMAT);
}

static enum linnet_status require_metadata(const struct linnet_safetensors *file, const char *key, const char **value) {
  *value = linnet_safetensors_metadata(file, key);
  if (*value)
    return LINNET_OK;
  return linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: the metadata have no \"%s\"", file->name, key);
}

static enum linnet_status load_calibration(const struct linnet_model *model, const struct linnet_safetensors *file,
                                           const char *key, struct linnet_calibration *calibration) {
  char name[256];
  snprintf(name, sizeof name, "%s: %s", file->name, key);
  return linnet_calibration_parse(model->context, linnet_safetensors_metadata(file, key), name, calibration);
}

static enum linnet_status load_calibrations(struct linnet_model *model, const struct linnet_safetensors *file) {
  LINNET_TRY(load_calibration(model, file, LINNET_CALIBRATION_KEY, &model->calibrations.phones));
  return load_calibration(model, file, LINNET_WORD_CALIBRATION_KEY, &model->calibrations.words);
}

/* A file of the other kind is refused here, so that no recogniser gets a model without features and symbols. */
static enum linnet_status check_kind(const struct linnet_model *model, const char *name, bool tokens) {
  const struct linnet_config *config = &model->config;
  if (linnet_config_reads_tokens(config) != tokens)
    return linnet_fail(model->context, LINNET_ERROR_UNSUPPORTED,
                       tokens ? "%s: the model reads features of audio; load it with linnet_model_load"
                              : "%s: the model reads tokens, not features of audio, so it cannot recognise speech; "
                                "load it with linnet_model_load_tokens",
                       name);
  if (!tokens && config->output != LINNET_OUTPUT_POSTERIORS)
    return linnet_fail(model->context, LINNET_ERROR_UNSUPPORTED,
                       "%s: config: \"output\" is linear; a model that reads features of audio must have posteriors",
                       name);
  return LINNET_OK;
}

/* What a model that reads features of audio has besides its configuration. */
static enum linnet_status load_speech(struct linnet_model *model, const struct linnet_safetensors *file) {
  struct linnet_context *context = model->context;
  const char *features, *symbols;
  LINNET_TRY(require_metadata(file, "features", &features));
  LINNET_TRY(require_metadata(file, "symbols", &symbols));
  LINNET_TRY(linnet_feature_config_parse_complete(context, features, file->name, &model->features));
  if (model->features.fbank.num_mel != model->config.input_dim)
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: \"num_mel\" of features is %zu, but \"input_dim\" of config is %zu", file->name,
                       model->features.fbank.num_mel, model->config.input_dim);
  LINNET_TRY(load_calibrations(model, file));
  return load_symbols(model, file->name, symbols);
}

static enum linnet_status load_metadata(struct linnet_model *model, const struct linnet_safetensors *file,
                                        bool tokens) {
  const char *config;
  LINNET_TRY(check_format(file));
  LINNET_TRY(require_metadata(file, "config", &config));
  LINNET_TRY(linnet_config_parse_complete(model->context, config, file->name, &model->config));
  LINNET_TRY(check_kind(model, file->name, tokens));
  return tokens ? LINNET_OK : load_speech(model, file);
}

/* One block: the entries, then their text. */
static enum linnet_status copy_metadata(struct linnet_model *model, const struct linnet_safetensors *file) {
  size_t count = file->metadata_count, bytes = count * sizeof *file->metadata;
  for (size_t i = 0; i < count; i++)
    bytes += strlen(file->metadata[i].key) + strlen(file->metadata[i].value) + 2;
  model->metadata = linnet_alloc(model->context, bytes, 1);
  if (!model->metadata)
    return linnet_fail(model->context, LINNET_ERROR_MEMORY, "%s: out of memory for metadata", file->name);
  char *end = (char *)(model->metadata + count);
  for (size_t i = 0; i < count; i++) {
    model->metadata[i].key = append_text(&end, file->metadata[i].key);
    model->metadata[i].value = append_text(&end, file->metadata[i].value);
  }
  model->num_metadata = count;
  model->memory += bytes;
  return LINNET_OK;
}

/* --- tensors -------------------------------------------------------------------------------------------------- */

/* (rows, cols), or (rows) if cols is 0. */
static bool has_shape(const struct linnet_tensor *tensor, size_t rows, size_t cols) {
  return tensor->rank == (cols > 0 ? 2 : 1) && tensor->shape[0] == rows && (cols == 0 || tensor->shape[1] == cols);
}

static enum linnet_status fail_shape(const struct linnet_safetensors *file, const char *name, size_t rows,
                                     size_t cols) {
  char wanted[64];
  if (cols > 0)
    snprintf(wanted, sizeof wanted, "(%zu, %zu)", rows, cols);
  else
    snprintf(wanted, sizeof wanted, "(%zu)", rows);
  return linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: tensor \"%s\" must have the shape %s by its config",
                     file->name, name, wanted);
}

static enum linnet_status find_tensor(const struct linnet_safetensors *file, const char *name, size_t rows, size_t cols,
                                      const struct linnet_tensor **tensor) {
  *tensor = linnet_safetensors_find(file, name);
  if (!*tensor)
    return linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: tensor \"%s\" is missing", file->name, name);
  return has_shape(*tensor, rows, cols) ? LINNET_OK : fail_shape(file, name, rows, cols);
}

static enum linnet_status check_finite(const struct linnet_safetensors *file, const struct linnet_tensor *tensor) {
  if (linnet_tensor_finite(tensor))
    return LINNET_OK;
  return linnet_fail(file->context, LINNET_ERROR_NUMERIC, "%s: tensor \"%s\" holds values that are not finite",
                     file->name, tensor->name);
}

static enum linnet_status check_weight(const struct linnet_safetensors *file, const struct linnet_parameter *p) {
  const struct linnet_tensor *tensor;
  LINNET_TRY(find_tensor(file, p->name, p->rows, p->cols, &tensor));
  if (tensor->dtype != LINNET_F32 && tensor->dtype != LINNET_F16)
    return linnet_fail(file->context, LINNET_ERROR_UNSUPPORTED,
                       "%s: tensor \"%s\" has dtype %s; convert it to F32 or F16", file->name, p->name,
                       linnet_dtype_name(tensor->dtype));
  return check_finite(file, tensor);
}

static bool is_expected(const struct linnet_model *model, const char *name) {
  for (size_t i = 0; linnet_cmvn_is_stored(model->features.cmvn) && i < CMVN_TENSORS; i++)
    if (strcmp(name, cmvn_names[i]) == 0)
      return true;
  return linnet_parameters_find(model->parameters, name) != NULL;
}

/* Called after all expected tensors were found: if the file has more, some are unexpected. */
static enum linnet_status check_unexpected(const struct linnet_model *model, const struct linnet_safetensors *file) {
  size_t expected = model->parameters->count + (linnet_cmvn_is_stored(model->features.cmvn) ? CMVN_TENSORS : 0);
  if (file->count == expected)
    return LINNET_OK;
  size_t i = 0;
  while (i + 1 < file->count && is_expected(model, file->tensors[i].name))
    i++;
  return linnet_fail(file->context, LINNET_ERROR_FORMAT,
                     "%s: tensor \"%s\" does not belong to the network of its config", file->name,
                     linnet_excerpt(file->tensors[i].name).text);
}

static enum linnet_status read_statistics(const struct linnet_safetensors *file, const char *name, size_t dim,
                                          double *values) {
  const struct linnet_tensor *tensor;
  LINNET_TRY(find_tensor(file, name, dim, 0, &tensor));
  if (tensor->dtype != LINNET_F64)
    return linnet_fail(file->context, LINNET_ERROR_UNSUPPORTED, "%s: tensor \"%s\" has dtype %s; it must be F64",
                       file->name, name, linnet_dtype_name(tensor->dtype));
  LINNET_TRY(check_finite(file, tensor));
  linnet_tensor_doubles(tensor, 0, dim, values);
  return LINNET_OK;
}

static enum linnet_status check_cmvn(struct linnet_context *context, const char *name, const struct linnet_cmvn *cmvn) {
  bool good = cmvn->count >= 1 && isfinite(cmvn->count);
  for (size_t i = 0; i < cmvn->dim; i++)
    good = good && isfinite(cmvn->sum[i]) && isfinite(cmvn->square[i]) && cmvn->square[i] >= 0;
  return good ? LINNET_OK : linnet_fail(context, LINNET_ERROR_FORMAT, "%s: the statistics cmvn.* are invalid", name);
}

static enum linnet_status load_cmvn(struct linnet_model *model, const struct linnet_safetensors *file) {
  if (!linnet_cmvn_is_stored(model->features.cmvn))
    return LINNET_OK;
  struct linnet_cmvn *cmvn = model->cmvn = linnet_calloc(model->context, 1, sizeof *cmvn);
  if (!cmvn)
    return linnet_fail(model->context, LINNET_ERROR_MEMORY, "%s: out of memory for CMVN statistics", file->name);
  cmvn->dim = model->features.fbank.num_mel;
  LINNET_TRY(read_statistics(file, cmvn_names[0], 1, &cmvn->count));
  LINNET_TRY(read_statistics(file, cmvn_names[1], cmvn->dim, cmvn->sum));
  LINNET_TRY(read_statistics(file, cmvn_names[2], cmvn->dim, cmvn->square));
  model->memory += sizeof *cmvn;
  return check_cmvn(model->context, file->name, cmvn);
}

static enum linnet_status check_tensors(struct linnet_model *model, const struct linnet_safetensors *file) {
  for (size_t i = 0; i < model->parameters->count; i++)
    LINNET_TRY(check_weight(file, &model->parameters->list[i]));
  LINNET_TRY(load_cmvn(model, file));
  return check_unexpected(model, file);
}

/* Elements first ... first + count - 1 of a tensor as `real`. */
static void copy_values(const struct linnet_tensor *tensor, size_t first, size_t count, real *values) {
  float block[1024];
  for (size_t done = 0, n; done < count; done += n) {
    n = count - done < 1024 ? count - done : 1024;
    linnet_tensor_floats(tensor, first + done, n, block);
    for (size_t i = 0; i < n; i++)
      values[done + i] = block[i];
  }
}

/* The tensors of a checked file, which linear layers read. */
struct tensors {
  const struct linnet_safetensors *file;
  const struct linnet_parameters *parameters;
};

/* See linnet_weight_source. A matrix may be several tensors without gaps between them, or a part of one. */
static void read_weights(const void *user, size_t offset, size_t count, real *values) {
  const struct tensors *t = user;
  for (size_t i = 0; i < t->parameters->count && count > 0; i++) {
    const struct linnet_parameter *p = &t->parameters->list[i];
    if (offset < p->offset || offset >= p->offset + p->count)
      continue;
    size_t first = offset - p->offset, n = p->count - first < count ? p->count - first : count;
    copy_values(linnet_safetensors_find(t->file, p->name), first, n, values);
    offset += n, count -= n, values += n;
  }
}

static enum linnet_status pack_layers(struct linnet_model *model, const struct linnet_safetensors *file) {
  const struct tensors tensors = {file, model->parameters};
  const struct linnet_weight_source source = {read_weights, &tensors};
  LINNET_TRY(
      linnet_linear_layers_create(model->context, &model->config, model->parameters, &source, &model->linear_layers));
  model->memory += model->linear_layers->packed_size * sizeof(real);
  return LINNET_OK;
}

/* The layers have the matrices, so the model needs the other weights only. */
static enum linnet_status forget_matrices(struct linnet_model *model) {
  linnet_parameters_destroy(model->parameters);
  return linnet_parameters_create_without_matrices(model->context, &model->config, &model->parameters);
}

static enum linnet_status load_weights(struct linnet_model *model, const struct linnet_safetensors *file) {
  const struct linnet_parameters *parameters = model->parameters;
  model->weights = linnet_calloc(model->context, parameters->size, sizeof *model->weights);
  if (!model->weights)
    return linnet_fail(model->context, LINNET_ERROR_MEMORY, "%s: out of memory for %zu parameters", file->name,
                       parameters->trained);
  for (size_t i = 0; i < parameters->count; i++) {
    const struct linnet_parameter *p = &parameters->list[i];
    copy_values(linnet_safetensors_find(file, p->name), 0, p->count, model->weights + p->offset);
  }
  model->memory += parameters->size * sizeof *model->weights + parameters->count * sizeof *parameters->list;
  return LINNET_OK;
}

/* --- loading -------------------------------------------------------------------------------------------------- */

static enum linnet_status load_all(struct linnet_model *model, const struct linnet_safetensors *file,
                                   struct linnet_model_use use) {
  model->memory = sizeof *model;
  model->whole = use.whole || !linnet_device_of(model->context)->ops->host;
  LINNET_TRY(load_metadata(model, file, use.tokens));
  LINNET_TRY(linnet_parameters_create(model->context, &model->config, &model->parameters));
  LINNET_TRY(check_tensors(model, file));
  LINNET_TRY(copy_metadata(model, file));
  if (linnet_model_is_causal(model) || model->whole)
    model->fingerprint = linnet_model_fingerprint(model, file);
  LINNET_TRY(pack_layers(model, file));
  if (!model->whole)
    LINNET_TRY(forget_matrices(model));
  return load_weights(model, file);
}

static enum linnet_status load(struct linnet_context *context, const struct linnet_safetensors *file,
                               struct linnet_model_use use, struct linnet_model **result) {
  struct linnet_model *model = linnet_calloc(context, 1, sizeof *model);
  if (!model)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for a model", file->name);
  model->context = context;
  enum linnet_status status = load_all(model, file, use);
  if (status == LINNET_OK)
    *result = model;
  else
    linnet_model_destroy(model);
  return status;
}

enum linnet_status linnet_model_load_bytes(struct linnet_context *context, const void *data, size_t bytes,
                                           const char *name, struct linnet_model_use use, struct linnet_model **model) {
  struct linnet_safetensors file;
  LINNET_TRY(linnet_safetensors_open(context, data, bytes, message_name(name), &file));
  enum linnet_status status = load(context, &file, use, model);
  linnet_safetensors_close(&file);
  return status;
}

enum linnet_status linnet_model_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                            const char *name, struct linnet_model **model) {
  if (model)
    *model = NULL;
  if (!context || !model || (!data && bytes > 0))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_model_load_memory: an argument is NULL");
  return linnet_model_load_bytes(context, data, bytes, name ? name : "model", (struct linnet_model_use){0}, model);
}

/* For the public function of this name. */
static enum linnet_status load_path(const char *function, struct linnet_context *context, const char *path,
                                    struct linnet_model_use use, struct linnet_model **model) {
  if (model)
    *model = NULL;
  if (!context || !path || !model)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "%s: an argument is NULL", function);
  const uint64_t cap = (uint64_t)LINNET_MAX_MODEL_GIBIBYTES << 30;
  void *data = NULL;
  size_t bytes = 0;
  LINNET_TRY(linnet_file_read_checked(context, path, cap < SIZE_MAX / 2 ? (size_t)cap : SIZE_MAX / 2,
                                      linnet_safetensors_check, &data, &bytes));
  enum linnet_status status = linnet_model_load_bytes(context, data, bytes, path, use, model);
  linnet_free(context, data);
  if (status == LINNET_OK)
    linnet_log(context, LINNET_LOG_INFO, "%s: a %smodel of %zu parameters", path,
               linnet_model_is_causal(*model) ? "causal " : "", linnet_model_num_parameters(*model));
  return status;
}

enum linnet_status linnet_model_load(struct linnet_context *context, const char *path, struct linnet_model **model) {
  return load_path("linnet_model_load", context, path, (struct linnet_model_use){0}, model);
}

enum linnet_status linnet_model_load_whole(struct linnet_context *context, const char *path,
                                           struct linnet_model **model) {
  return load_path("linnet_model_load_whole", context, path, (struct linnet_model_use){.whole = true}, model);
}

enum linnet_status linnet_model_load_tokens(struct linnet_context *context, const char *path,
                                            struct linnet_model **model) {
  return load_path("linnet_model_load_tokens", context, path, (struct linnet_model_use){.tokens = true}, model);
}

void linnet_model_destroy(struct linnet_model *model) {
  if (!model)
    return;
  linnet_linear_layers_destroy(model->linear_layers);
  linnet_parameters_destroy(model->parameters);
  linnet_free(model->context, model->weights);
  linnet_free(model->context, model->cmvn);
  linnet_free(model->context, model->symbols);
  linnet_free(model->context, model->metadata);
  linnet_free(model->context, model);
}

/* --- getters -------------------------------------------------------------------------------------------------- */

void(linnet_model_features)(const struct linnet_model *model, struct linnet_feature_config *features, size_t size) {
  linnet_settings_fill(features, size, &model->features, sizeof model->features);
}

const struct linnet_cmvn *linnet_model_cmvn(const struct linnet_model *model) {
  return model->cmvn;
}

const struct linnet_calibrations *linnet_model_calibrations(const struct linnet_model *model) {
  return &model->calibrations;
}

size_t linnet_model_num_symbols(const struct linnet_model *model) {
  return model->config.outputs;
}

const char *linnet_model_symbol(const struct linnet_model *model, int index) {
  return model->symbols && index >= 0 && (size_t)index < model->config.outputs ? model->symbols[index] : NULL;
}

const char *const *linnet_model_symbols(const struct linnet_model *model) {
  return (const char *const *)model->symbols;
}

size_t linnet_model_stride(const struct linnet_model *model) {
  return model->config.stack;
}

size_t linnet_model_num_output_frames(const struct linnet_model *model, size_t frames) {
  return frames / model->config.stack + (frames % model->config.stack > 0);
}

double linnet_model_frame_seconds(const struct linnet_model *model) {
  const struct linnet_fbank_settings *fbank = &model->features.fbank;
  return floor(fbank->frame_shift * fbank->sample_rate / 1000) / fbank->sample_rate *
         (double)linnet_model_stride(model);
}

size_t linnet_model_num_parameters(const struct linnet_model *model) {
  return model->parameters->trained;
}

size_t linnet_model_memory_bytes(const struct linnet_model *model) {
  return model->memory;
}

const char *linnet_model_metadata(const struct linnet_model *model, const char *key) {
  for (size_t i = 0; key && i < model->num_metadata; i++)
    if (strcmp(model->metadata[i].key, key) == 0)
      return model->metadata[i].value;
  return NULL;
}

const char *linnet_model_metadata_key(const struct linnet_model *model, size_t index) {
  return index < model->num_metadata ? model->metadata[index].key : NULL;
}

/* --- saving --------------------------------------------------------------------------------------------------- */

/* The arguments for the writer. */
struct plan {
  struct linnet_tensor_entry *entries; /* CMVN first: the largest elements stay aligned in the file */
  size_t num_entries;
  struct linnet_metadata *metadata;
  size_t num_metadata;
  char *config, *features, *symbols; /* JSON */
};

/* What a model that reads features of audio has besides its network. */
static enum linnet_status check_speech(struct linnet_context *context, const char *name,
                                       const struct linnet_model_contents *c) {
  LINNET_TRY(linnet_feature_config_validate(context, name, c->features));
  LINNET_TRY(linnet_symbols_validate(context, name, c->symbols, c->config->outputs));
  if (c->features->fbank.num_mel != c->config->input_dim)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "%s: \"num_mel\" %zu of features is not \"input_dim\" %zu", name,
                       c->features->fbank.num_mel, c->config->input_dim);
  if (!linnet_cmvn_is_stored(c->features->cmvn))
    return LINNET_OK;
  if (!c->cmvn || c->cmvn->dim != c->features->fbank.num_mel)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "%s: global or running CMVN needs statistics of \"num_mel\" values", name);
  return check_cmvn(context, name, c->cmvn);
}

static bool reads_tokens(const struct linnet_model_contents *c) {
  return linnet_config_reads_tokens(c->config);
}

static enum linnet_status check_contents(struct linnet_context *context, const char *name,
                                         const struct linnet_model_contents *c) {
  size_t count = 0;
  LINNET_TRY(linnet_config_validate(context, name, c->config));
  if (c->dtype != LINNET_F32 && c->dtype != LINNET_F16)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "%s: weights can be written as F32 or F16 only", name);
  if (!linnet_config_count_parameters(c->config, &count) || count != c->parameters->trained)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "%s: the table of parameters does not match the config", name);
  return reads_tokens(c) ? LINNET_OK : check_speech(context, name, c);
}

/* Whether the file has statistics of CMVN. */
static bool stores_cmvn(const struct linnet_model_contents *c) {
  return !reads_tokens(c) && linnet_cmvn_is_stored(c->features->cmvn);
}

static enum linnet_status format_symbols(struct linnet_context *context, const struct linnet_model_contents *c,
                                         char **text) {
  LINNET_TRY(linnet_json_reserve(context, "symbols to write", c->config->outputs, 0));
  json_t *list = json_array();
  for (size_t i = 0; i < c->config->outputs; i++)
    if (json_array_append_new(list, json_string(c->symbols[i])) != 0) {
      json_decref(list);
      return linnet_fail(context, LINNET_ERROR_FORMAT, "symbols: \"%s\" is not UTF-8, or memory ran out",
                         linnet_excerpt(c->symbols[i]).text);
    }
  enum linnet_status status = linnet_json_format(context, list, false, text, NULL);
  json_decref(list);
  return status;
}

static bool is_own_key(const char *key) {
  for (size_t i = 0; i < OWN_KEYS; i++)
    if (strcmp(key, own_keys[i]) == 0)
      return true;
  return false;
}

enum linnet_status linnet_model_check_key(struct linnet_context *context, const char *key) {
  return is_own_key(key) ? linnet_fail(context, LINNET_ERROR_ARGUMENT,
                                       "the metadata key \"%s\" describes the network: choose another", key)
                         : LINNET_OK;
}

static void plan_metadata(const struct linnet_model_contents *c, struct plan *plan) {
  const char *const own[OWN_KEYS] = {LINNET_MODEL_FORMAT, plan->config, plan->features, plan->symbols};
  for (size_t i = 0; i < OWN_KEYS && own[i]; i++)
    plan->metadata[plan->num_metadata++] = (struct linnet_metadata){own_keys[i], own[i]};
  for (size_t i = 0; i < c->num_metadata; i++)
    if (!is_own_key(c->metadata[i].key))
      plan->metadata[plan->num_metadata++] = c->metadata[i];
}

static void plan_entries(const struct linnet_model_contents *c, struct plan *plan) {
  for (size_t i = 0; stores_cmvn(c) && i < CMVN_TENSORS; i++)
    plan->entries[plan->num_entries++] = (struct linnet_tensor_entry){
        .name = cmvn_names[i], .dtype = LINNET_F64, .rank = 1, .shape = {i > 0 ? c->features->fbank.num_mel : 1}};
  for (size_t i = 0; i < c->parameters->count; i++) {
    const struct linnet_parameter *p = &c->parameters->list[i];
    plan->entries[plan->num_entries++] = (struct linnet_tensor_entry){
        .name = p->name, .dtype = c->dtype, .rank = p->cols > 0 ? 2 : 1, .shape = {p->rows, p->cols}};
  }
}

static enum linnet_status make_plan(struct linnet_context *context, const struct linnet_model_contents *c,
                                    struct plan *plan) {
  LINNET_TRY(linnet_config_format(context, c->config, &plan->config));
  if (!reads_tokens(c)) {
    LINNET_TRY(linnet_feature_config_format(context, c->features, &plan->features));
    LINNET_TRY(format_symbols(context, c, &plan->symbols));
  }
  plan->entries = linnet_alloc(context, c->parameters->count + CMVN_TENSORS, sizeof *plan->entries);
  plan->metadata = linnet_alloc(context, c->num_metadata + OWN_KEYS, sizeof *plan->metadata);
  if (!plan->entries || !plan->metadata)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for writing a model");
  plan_metadata(c, plan);
  plan_entries(c, plan);
  return LINNET_OK;
}

static void destroy_plan(struct linnet_context *context, struct plan *plan) {
  linnet_free(context, plan->config);
  linnet_free(context, plan->features);
  linnet_free(context, plan->symbols);
  linnet_free(context, plan->entries);
  linnet_free(context, plan->metadata);
}

static enum linnet_status write_values(struct linnet_writer *writer, const real *values, size_t count) {
  float block[1024];
  for (size_t first = 0, n; first < count; first += n) {
    n = count - first < 1024 ? count - first : 1024;
    for (size_t i = 0; i < n; i++)
      block[i] = (float)values[first + i];
    LINNET_TRY(linnet_writer_floats(writer, block, n));
  }
  return LINNET_OK;
}

static enum linnet_status write_tensors(struct linnet_writer *writer, const struct linnet_model_contents *c) {
  if (stores_cmvn(c)) {
    LINNET_TRY(linnet_writer_doubles(writer, &c->cmvn->count, 1));
    LINNET_TRY(linnet_writer_doubles(writer, c->cmvn->sum, c->cmvn->dim));
    LINNET_TRY(linnet_writer_doubles(writer, c->cmvn->square, c->cmvn->dim));
  }
  for (size_t i = 0; i < c->parameters->count; i++)
    LINNET_TRY(write_values(writer, c->weights + c->parameters->list[i].offset, c->parameters->list[i].count));
  return linnet_writer_end(writer);
}

static enum linnet_status write_file(struct linnet_context *context, const char *path, const struct plan *plan,
                                     const struct linnet_model_contents *c) {
  struct linnet_output_file output;
  struct linnet_writer writer;
  LINNET_TRY(linnet_output_file_open(context, path, &output));
  enum linnet_status status = linnet_writer_begin(context, &output, plan->entries, plan->num_entries, plan->metadata,
                                                  plan->num_metadata, true, &writer);
  if (status == LINNET_OK)
    status = write_tensors(&writer, c);
  if (status == LINNET_OK)
    return linnet_output_file_commit(&output);
  linnet_output_file_abandon(&output);
  return status;
}

enum linnet_status linnet_model_save(struct linnet_context *context, const char *path,
                                     const struct linnet_model_contents *contents) {
  struct plan plan = {0};
  LINNET_TRY(check_contents(context, message_name(path), contents));
  enum linnet_status status = make_plan(context, contents, &plan);
  if (status == LINNET_OK)
    status = write_file(context, path, &plan, contents);
  destroy_plan(context, &plan);
  return status;
}
