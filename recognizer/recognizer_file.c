/* Settings of a recognizer from a JSON file. */
#include "recognizer/recognizer_parts.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/destination.h"
#include "base/file.h"
#include "base/settings.h"
#include "base/utf8.h"
#include "model/format/bounded_json.h"
#include "recognizer/silence.h"

static const struct linnet_json_limits limits = {.bytes = 65536, .depth = 4, .values = 512};

static const char *const kind_names[] = {
    [LINNET_SEARCH_GREEDY] = "greedy", [LINNET_SEARCH_SYMBOLS] = "symbols", [LINNET_SEARCH_WORDS] = "words"};

/* A key with the name of a member of the search settings. */
#define KEY(name, kind)                                                                                                \
  { .key = #name, .type = LINNET_JSON_##kind, .offset = offsetof(struct linnet_search_settings, name) }

static const struct linnet_json_key keys[] = {{.key = "model"},
                                              {.key = "search",
                                               .type = LINNET_JSON_NAME,
                                               .offset = offsetof(struct linnet_search_settings, kind),
                                               .names = LINNET_NAMES(kind_names)},
                                              {.key = "lexicon"},
                                              {.key = "language_model"},
                                              {.key = "grammar"},
                                              {.key = "hotwords"},
                                              {.key = "g2p"},
                                              {.key = "silences"},
                                              KEY(num_alternatives, SIZE),
                                              KEY(beam, SIZE),
                                              KEY(top_symbols, SIZE),
                                              KEY(symbol_threshold, FLOAT),
                                              KEY(score_threshold, FLOAT),
                                              KEY(language_model_weight, FLOAT),
                                              KEY(insertion_bonus, FLOAT),
                                              KEY(word_bonus, FLOAT),
                                              KEY(unknown_penalty, FLOAT),
                                              KEY(unknown_bonus, FLOAT),
                                              KEY(pronunciation_weight, FLOAT),
                                              {.key = "priors"},
                                              KEY(prior_scale, FLOAT),
                                              KEY(blank_penalty, FLOAT),
                                              KEY(emission_delay, FLOAT),
                                              {.key = "max_silence"},
                                              {.key = "edge_silence"},
                                              {.key = "partial_interval"},
                                              {.key = "endpoint"},
                                              {.key = "second_pass"},
                                              {.key = "ensemble_model"},
                                              {.key = "ensemble_weight"},
                                              {.key = "ensemble_delay"},
                                              {.key = LINNET_CALIBRATION_KEY},
                                              {.key = LINNET_WORD_CALIBRATION_KEY}};
static const struct linnet_json_table table = {"recognizer", keys, sizeof keys / sizeof *keys};
enum { REQUIRED_KEYS = 1 };

/* --- endpoints ---------------------------------------------------------------------------------------------------- */

#define RULE_KEY(name, kind)                                                                                           \
  { .key = #name, .type = LINNET_JSON_##kind, .offset = offsetof(struct linnet_endpoint_rule, name) }
#define SETTING_KEY(name, kind)                                                                                        \
  { .key = #name, .type = LINNET_JSON_##kind, .offset = offsetof(struct linnet_endpoint_settings, name) }

static const struct linnet_json_key rule_keys[] = {RULE_KEY(speech, FLAG), RULE_KEY(word, FLAG),
                                                   RULE_KEY(silence, DOUBLE), RULE_KEY(quiet, DOUBLE),
                                                   RULE_KEY(length, DOUBLE)};
static const struct linnet_json_table rule_table = {"a rule of endpoint", rule_keys,
                                                    sizeof rule_keys / sizeof *rule_keys};
static const struct linnet_json_key setting_keys[] = {{.key = "rules"},
                                                      SETTING_KEY(silence_probability, FLOAT),
                                                      SETTING_KEY(restart, FLAG),
                                                      SETTING_KEY(restart_seconds, DOUBLE)};
static const struct linnet_json_table setting_table = {"endpoint", setting_keys,
                                                       sizeof setting_keys / sizeof *setting_keys};

static enum linnet_status read_rules(const struct linnet_json_object *endpoint, const json_t *list,
                                     struct linnet_endpoint_rule *rules) {
  if (!json_is_array(list) || json_array_size(list) > LINNET_ENDPOINT_MAX_RULES)
    return linnet_fail(endpoint->context, LINNET_ERROR_FORMAT,
                       "%s: endpoint: \"rules\" is not a list of at most %d rules", endpoint->name,
                       LINNET_ENDPOINT_MAX_RULES);
  for (size_t i = 0; i < json_array_size(list); i++) {
    rules[i] = (struct linnet_endpoint_rule){.speech = 0};
    LINNET_TRY(
        linnet_json_read(endpoint->context, endpoint->name, json_array_get(list, i), &rule_table, 0, &rules[i]).status);
  }
  return LINNET_OK;
}

/* Reads the object at a key of `object`. Members without a key have their defaults; `rules`
 * (LINNET_ENDPOINT_MAX_RULES) holds the rules that the settings then point to. */
static enum linnet_status read_endpoint_settings(const struct linnet_json_object *object, const char *key,
                                                 struct linnet_endpoint_settings *settings,
                                                 struct linnet_endpoint_rule *rules) {
  linnet_endpoint_settings_default(settings);
  const struct linnet_json_object endpoint =
      linnet_json_read(object->context, object->name, json_object_get(object->value, key), &setting_table, 0, settings);
  const json_t *list = json_object_get(endpoint.value, "rules");
  if (endpoint.status != LINNET_OK || !list)
    return endpoint.status;
  LINNET_TRY(read_rules(&endpoint, list, rules));
  settings->rules = rules;
  settings->num_rules = json_array_size(list);
  return LINNET_OK;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static void read_silences(struct linnet_json_object *object, struct linnet_recognizer_file *file) {
  const json_t *list = json_object_get(object->value, "silences");
  const size_t count = json_array_size(list);
  if (object->status != LINNET_OK || !list)
    return;
  bool good = json_is_array(list) && count <= LINNET_RECOGNIZER_SILENCES;
  for (size_t i = 0; good && i < count; i++) {
    file->silences[i] = json_string_value(json_array_get(list, i));
    good = file->silences[i] != NULL;
  }
  file->search.silences = file->silences;
  file->search.num_silences = good ? count : 0;
  if (!good)
    object->status =
        linnet_fail(object->context, LINNET_ERROR_FORMAT, "%s: %s: \"silences\" is not a list of at most %d strings",
                    object->name, object->what, LINNET_RECOGNIZER_SILENCES);
}

static void read_calibration(struct linnet_json_object *object, const char *key, struct linnet_recognizer_file *file,
                             struct linnet_calibration *calibration) {
  static const char *const parts[] = {"slope", "offset", NULL};
  const json_t *value = json_object_get(object->value, key);
  if (object->status != LINNET_OK || !value)
    return;
  struct linnet_json_object map = linnet_json_object(object->context, object->name, key, value, parts, 2);
  linnet_json_read_double(&map, "slope", &calibration->slope);
  linnet_json_read_double(&map, "offset", &calibration->offset);
  if (map.status == LINNET_OK && (!(calibration->slope > 0) || !isfinite(calibration->slope)))
    map.status = linnet_fail(object->context, LINNET_ERROR_FORMAT, "%s: %s: \"slope\" is %g; it must be above 0",
                             object->name, key, calibration->slope);
  object->status = map.status;
  file->search.calibrations = &file->calibrations;
}

static void read_endpoint(struct linnet_json_object *object, struct linnet_recognizer_file *file) {
  linnet_json_read_double(object, "partial_interval", &file->settings.partial_interval);
  if (object->status != LINNET_OK || !json_object_get(object->value, "endpoint"))
    return;
  object->status = read_endpoint_settings(object, "endpoint", &file->endpoint, file->rules);
  file->settings.endpoint = &file->endpoint;
}

/* Returns the number of the key, or NULL if the key is missing. */
static const double *read_seconds(struct linnet_json_object *object, const char *key, double *seconds) {
  linnet_json_read_double(object, key, seconds);
  return json_object_get(object->value, key) ? seconds : NULL;
}

static void read_lengths(struct linnet_json_object *object, struct linnet_recognizer_file *file) {
  struct linnet_recognizer_settings *settings = &file->settings;
  if (object->status != LINNET_OK)
    return;
  settings->max_silence = read_seconds(object, "max_silence", &file->max_silence);
  settings->edge_silence = read_seconds(object, "edge_silence", &file->edge_silence);
  if (object->status == LINNET_OK)
    object->status =
        linnet_silence_lengths_check(object->context, object->name, settings->max_silence, settings->edge_silence);
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

/* Paths in the file are relative to the file's folder. */
static char *resolve(struct linnet_context *context, const char *name, const char *path) {
  const char *slash = strrchr(name, '/');
  const size_t folder = path[0] == '/' || !slash ? 0 : (size_t)(slash - name) + 1, length = strlen(path);
  char *resolved = linnet_alloc(context, folder + length + 1, 1);
  if (resolved) {
    memcpy(resolved, name, folder);
    memcpy(resolved + folder, path, length + 1);
  }
  return resolved;
}

static void read_paths(struct linnet_json_object *object, struct linnet_recognizer_file *file) {
  const struct {
    const char *key;
    const char **path;
  } paths[LINNET_RECOGNIZER_PATHS] = {{"model", &file->settings.model.path},
                                      {"lexicon", &file->search.lexicon.path},
                                      {"language_model", &file->search.language_model.path},
                                      {"grammar", &file->search.grammar.path},
                                      {"hotwords", &file->search.hotwords.path},
                                      {"g2p", &file->search.g2p.path},
                                      {"priors", &file->search.priors.path},
                                      {"second_pass", &file->settings.second_pass},
                                      {"ensemble_model", &file->settings.ensemble_model.path}};
  for (size_t i = 0; i < LINNET_RECOGNIZER_PATHS; i++) {
    const char *path = NULL;
    linnet_json_read_string(object, paths[i].key, &path);
    if (!path)
      continue;
    if (!*path) {
      object->status = linnet_fail(object->context, LINNET_ERROR_FORMAT,
                                   "%s: %s: \"%s\" is empty: name a file, or leave out the key", object->name,
                                   object->what, paths[i].key);
      return;
    }
    file->paths[i] = resolve(object->context, object->name, path);
    if (!file->paths[i])
      object->status = linnet_fail(object->context, LINNET_ERROR_MEMORY, "%s: out of memory", object->name);
    *paths[i].path = file->paths[i];
  }
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_recognizer_file_read(struct linnet_recognizer_file *file, struct linnet_context *context,
                                               const char *text, size_t bytes, const char *name) {
  json_t *root = NULL;
  *file = (struct linnet_recognizer_file){.context = context, .calibrations = {{1, 0}, {1, 0}}};
  linnet_recognizer_settings_default(&file->settings);
  linnet_search_settings_default(&file->search);
  linnet_endpoint_settings_default(&file->endpoint);
  file->settings.search = &file->search;
  file->name = linnet_strdup(context, name);
  if (!file->name)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", name);
  const size_t mark = linnet_utf8_mark(text, bytes);
  LINNET_TRY(linnet_json_parse(context, text + mark, bytes - mark, name, limits, &root));
  file->root = root;
  struct linnet_json_object object = linnet_json_read(context, name, root, &table, REQUIRED_KEYS, &file->search);
  read_silences(&object, file);
  read_calibration(&object, LINNET_CALIBRATION_KEY, file, &file->calibrations.phones);
  read_calibration(&object, LINNET_WORD_CALIBRATION_KEY, file, &file->calibrations.words);
  read_endpoint(&object, file);
  read_lengths(&object, file);
  linnet_json_read_double(&object, "ensemble_weight", &file->settings.ensemble_weight);
  linnet_json_read_double(&object, "ensemble_delay", &file->settings.ensemble_delay);
  read_paths(&object, file);
  return object.status;
}

void linnet_recognizer_file_release(struct linnet_recognizer_file *file) {
  for (size_t i = 0; i < LINNET_RECOGNIZER_PATHS; i++)
    linnet_free(file->context, file->paths[i]);
  linnet_free(file->context, file->name);
  json_decref(file->root);
}

static enum linnet_status read_text(struct linnet_recognizer_file *file, struct linnet_context *context,
                                    const char *path) {
  void *text = NULL;
  size_t bytes = 0;
  enum linnet_status status = linnet_file_read(context, path, limits.bytes, &text, &bytes);
  if (status == LINNET_ERROR_LIMIT)
    linnet_fail(context, status,
                "%s: is larger than the %zu bytes of a recognizer.json; a model file needs one that names it, such as "
                "{\"model\": \"model.safetensors\"}",
                path, limits.bytes);
  else if (status == LINNET_OK)
    status = linnet_recognizer_file_read(file, context, text, bytes, path);
  linnet_free(context, text);
  return status;
}

/* Writes the path of the settings into `name` (LINNET_PATH_BYTES): `path`, or "recognizer.json" in it if it is a
 * folder. */
static enum linnet_status find_file(struct linnet_context *context, const char *path, char *name) {
  struct stat found;
  const bool folder = stat(path, &found) == 0 && S_ISDIR(found.st_mode);
  if (snprintf(name, LINNET_PATH_BYTES, "%s%s", path, folder ? "/recognizer.json" : "") >= LINNET_PATH_BYTES)
    return linnet_fail(context, LINNET_ERROR_IO, "%s: the path is too long", path);
  return LINNET_OK;
}

enum linnet_status linnet_recognizer_file_load(struct linnet_context *context, const char *path,
                                               struct linnet_recognizer_file **result) {
  char name[LINNET_PATH_BYTES];
  if (result)
    *result = NULL;
  if (!context || !path || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recognizer_file_load: an argument is NULL");
  LINNET_TRY(find_file(context, path, name));
  struct linnet_recognizer_file *file = linnet_calloc(context, 1, sizeof *file);
  if (!file)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", name);
  file->context = context;
  enum linnet_status status = read_text(file, context, name);
  if (status == LINNET_OK)
    *result = file;
  else
    linnet_recognizer_file_destroy(file);
  return status;
}

void(linnet_recognizer_file_settings)(const struct linnet_recognizer_file *file,
                                      struct linnet_recognizer_settings *settings, size_t size) {
  linnet_settings_fill(settings, size, &file->settings, sizeof file->settings);
}

void(linnet_recognizer_file_search_settings)(const struct linnet_recognizer_file *file,
                                             struct linnet_search_settings *settings, size_t size) {
  linnet_settings_fill(settings, size, &file->search, sizeof file->search);
}

void(linnet_recognizer_file_endpoint_settings)(const struct linnet_recognizer_file *file,
                                               struct linnet_endpoint_settings *settings, size_t size) {
  linnet_settings_fill(settings, size, &file->endpoint, sizeof file->endpoint);
}

void linnet_recognizer_file_destroy(struct linnet_recognizer_file *file) {
  if (!file)
    return;
  linnet_recognizer_file_release(file);
  linnet_free(file->context, file);
}

/* Errors of the parts of a recognizer name the files of these parts; this function puts the settings file in front. */
enum linnet_status linnet_recognizer_load(struct linnet_context *context, const char *path,
                                          struct linnet_recognizer **recognizer) {
  struct linnet_recognizer_file *file;
  if (recognizer)
    *recognizer = NULL;
  if (!context || !path || !recognizer)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recognizer_load: an argument is NULL");
  LINNET_TRY(linnet_recognizer_file_load(context, path, &file));
  enum linnet_status status = linnet_recognizer_create(context, &file->settings, recognizer);
  if (status != LINNET_OK)
    linnet_fail_setting(context, file->name, status);
  linnet_recognizer_file_destroy(file);
  return status;
}
