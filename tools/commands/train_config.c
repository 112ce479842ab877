/* Reads the configuration of `linnet train` and applies KEY=VALUE settings from the command line. */
#include "train_parts.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/similar.h"

/* --- keys as table rows ------------------------------------------------------------------------------------------- */

enum key_kind { KEY_DOUBLE, KEY_UNSIGNED, KEY_SIZE, KEY_UINT64, KEY_INT, KEY_CHOICE, KEY_TEXT };

struct key {
  const char *name;
  enum key_kind kind;
  void *value;
  const char *const *choices; /* for KEY_CHOICE: names of 0, 1, ...; the value is an int-sized enum. KEY_TEXT: a char *,
                                 which is allocated */
  double low, high;           /* limits of a number, and `high` may be INFINITY; both 0: none but the type's */
};

/* Settings of the command line, whose values no file is to blame for. */
struct given {
  const char *const *settings;
  size_t count;
};
static struct given given;

/* Whether a setting begins with "SECTION." or, of training, with a key; with `name`, whether it sets this key. */
static bool is_given(const char *section, const char *name) {
  const size_t length = strlen(section), name_length = strlen(name);
  for (size_t i = 0; i < given.count; i++) {
    const char *key = given.settings[i], *equals = strchr(key, '=');
    if (strncmp(key, section, length) == 0 && key[length] == '.')
      key += length + 1;
    else if (strcmp(section, "training") != 0)
      continue;
    if (name_length == 0 || (equals - key == (ptrdiff_t)name_length && strncmp(key, name, name_length) == 0))
      return true;
  }
  return false;
}

/* What a key comes from. */
static const char *source_of(const char *path, const char *section, const char *name) {
  return is_given(section, name) ? "--set" : path;
}

static bool store_integer(const struct key *key, json_int_t number) {
  if (number < 0)
    return false;
  switch (key->kind) {
  case KEY_UNSIGNED:
    *(unsigned *)key->value = (unsigned)number;
    return number <= 1000000000;
  case KEY_SIZE:
    *(size_t *)key->value = (size_t)number;
    return true;
  case KEY_UINT64:
    *(uint64_t *)key->value = (uint64_t)number;
    return true;
  case KEY_INT:
    *(int *)key->value = (int)number;
    return number <= 1000000000;
  default:
    return false;
  }
}

static bool store_choice(const struct key *key, const char *text) {
  for (int i = 0; text && key->choices[i]; i++)
    if (strcmp(key->choices[i], text) == 0) {
      *(int *)key->value = i;
      return true;
    }
  return false;
}

static bool store_text(const struct key *key, const char *text) {
  char **value = key->value, *copy = text ? strdup(text) : NULL;
  if (!copy)
    return false;
  free(*value);
  *value = copy;
  return true;
}

static bool store(const struct key *key, const json_t *value) {
  const double number = json_number_value(value);
  if (json_is_number(value) && (key->low < key->high) && !(number >= key->low && number <= key->high))
    return false;
  if (key->kind == KEY_DOUBLE && json_is_number(value)) {
    *(double *)key->value = number;
    return true;
  }
  if (key->kind == KEY_CHOICE)
    return store_choice(key, json_string_value(value));
  if (key->kind == KEY_TEXT)
    return store_text(key, json_string_value(value));
  return json_is_integer(value) && store_integer(key, json_integer_value(value));
}

/* Writes what a key may be. */
static void describe(const struct key *key, char *text, size_t bytes) {
  size_t used = 0;
  if (key->kind == KEY_CHOICE)
    for (int i = 0; key->choices[i] && used < bytes; i++)
      used += (size_t)snprintf(text + used, bytes - used, "%s\"%s\"", i > 0 ? " or " : "", key->choices[i]);
  else if (key->kind == KEY_TEXT)
    snprintf(text, bytes, "the name of a file");
  else if (isinf(key->high))
    snprintf(text, bytes, "a number of at least %g", key->low);
  else if (key->low < key->high)
    snprintf(text, bytes, "a%s number of %g to %.10g", key->kind == KEY_DOUBLE ? "" : " whole", key->low, key->high);
  else
    snprintf(text, bytes, "a%s", key->kind == KEY_DOUBLE ? " number" : " whole number of at least 0");
}

static void refuse_value(const char *path, const char *section, const struct key *key, const json_t *value) {
  char allowed[160], *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
  describe(key, allowed, sizeof allowed);
  tool_fail("%s: %s.%s is %.60s; it must be %s", path, section, key->name, text ? text : "wrong", allowed);
  free(text);
}

static void print_keys(const char *section, const struct key *keys) {
  fprintf(stderr, "known keys of %s:", section);
  for (; keys->name; keys++)
    fprintf(stderr, " %s", keys->name);
  fputc('\n', stderr);
}

static bool set_key(const char *path, const char *section, const struct key *keys, const char *name,
                    const json_t *value) {
  const char *source = source_of(path, section, name);
  struct suggestion meant = {.word = name};
  for (const struct key *key = keys; key->name; key++) {
    suggest(&meant, key->name);
    if (strcmp(key->name, name) != 0)
      continue;
    if (store(key, value))
      return true;
    refuse_value(source, section, key, value);
    return false;
  }
  if (meant.best)
    tool_fail("%s: %s has no key \"%s\"; did you mean \"%s\"?", source, section, name, meant.best);
  else
    tool_fail("%s: %s has no key \"%s\"", source, section, name);
  print_keys(section, keys);
  return false;
}

static bool read_section(const char *path, const char *section, const json_t *object, const struct key *keys) {
  const char *name;
  json_t *value;
  if (object && !json_is_object(object)) {
    tool_fail("%s: %s is not an object", path, section);
    return false;
  }
  json_object_foreach((json_t *)(uintptr_t)object, name, value)
    if (!set_key(path, section, keys, name, value))
      return false;
  return true;
}

/* --- the sections ------------------------------------------------------------------------------------------------- */

static const char *const optimizers[] = {"adam", "radam", NULL};
static const char *const schedules[] = {"plateau", "cosine", NULL};
static const char *const objectives[] = {"ctc", "ctc-crf", NULL};
static const char *const precisions[] = {"float32", "bfloat16", NULL};

static const char *const gpu_exchanges[] = {"auto", "host", "nccl", NULL};

/* What belongs to CTC-CRF. */
static bool check_objective(const char *path, const json_t *object, const struct train_config *config) {
  if (config->objective == TRAIN_CTC_CRF && config->denominator)
    return true;
  if (config->objective == TRAIN_CTC_CRF)
    tool_fail("%s: training.objective \"ctc-crf\" needs training.denominator, an n-gram over the symbols: linnet ngram",
              path);
  else if (config->denominator || json_object_get(object, "ctc_weight"))
    tool_fail("%s: training.denominator and training.ctc_weight need \"objective\": \"ctc-crf\"", path);
  else
    return true;
  return false;
}

static bool check_teacher(const char *path, const json_t *object, const struct train_config *config, double weight) {
  if (!config->teacher && json_object_get(object, "teacher_weight"))
    tool_fail("%s: training.teacher_weight needs training.teacher, a model file", path);
  else if (config->teacher && !(weight > 0 && weight <= 100))
    tool_fail("%s: training.teacher_weight is %g; it must be above 0, up to 100", path, weight);
  else
    return true;
  return false;
}

static bool check_frame_targets(const char *path, const json_t *object, const struct train_config *config,
                                double weight) {
  if (!config->frame_targets && json_object_get(object, "frame_weight"))
    tool_fail("%s: training.frame_weight needs training.frame_targets, a file of alignments in CTM", path);
  else if (config->frame_targets && !(weight > 0 && weight <= 100))
    tool_fail("%s: training.frame_weight is %g; it must be above 0, up to 100", path, weight);
  else
    return true;
  return false;
}

/* Keys of a method that is off; a file may have them for several trainings. */
static void warn_of_keys(const char *path, const json_t *object, const struct train_config *config) {
  static const char *const keys[] = {"plateau_factor", "plateau_patience"};
  for (size_t i = 0; config->training.schedule != LINNET_TRAIN_PLATEAU && i < sizeof keys / sizeof *keys; i++)
    if (json_object_get(object, keys[i]))
      tool_warn("%s: training.%s has no effect: training.schedule is \"%s\"", source_of(path, "training", keys[i]),
                keys[i], schedules[config->training.schedule]);
  if (config->training.intermediate_ctc == 0 && json_object_get(object, "intermediate_weight"))
    tool_warn("%s: training.intermediate_weight has no effect: training.intermediate_ctc is 0",
              source_of(path, "training", "intermediate_weight"));
}

static bool read_training(const char *path, const json_t *object, struct train_config *config) {
  struct linnet_train_settings *s = &config->training;
  double ctc_weight = 0.1, teacher_weight = 0.5, frame_weight = 0.1;
  const struct key keys[] = {{"optimizer", KEY_CHOICE, &s->optimizer, .choices = optimizers},
                             {"schedule", KEY_CHOICE, &s->schedule, .choices = schedules},
                             {"learning_rate", KEY_DOUBLE, &s->learning_rate, .low = 1e-12, .high = 10},
                             {"min_learning_rate", KEY_DOUBLE, &s->min_learning_rate, .low = 0, .high = 10},
                             {"clip_norm", KEY_DOUBLE, &s->clip_norm, .low = 0, .high = 1e9},
                             {"consistency", KEY_DOUBLE, &s->consistency, .low = 0, .high = 100},
                             {"objective", KEY_CHOICE, &config->objective, .choices = objectives},
                             {"denominator", KEY_TEXT, .value = &config->denominator},
                             {"ctc_weight", KEY_DOUBLE, &ctc_weight, .low = 0, .high = 100},
                             {"intermediate_ctc", KEY_SIZE, .value = &s->intermediate_ctc},
                             {"intermediate_weight", KEY_DOUBLE, &s->intermediate_weight, .low = 0, .high = 100},
                             {"teacher", KEY_TEXT, .value = &config->teacher},
                             {"teacher_weight", KEY_DOUBLE, .value = &teacher_weight},
                             {"frame_targets", KEY_TEXT, .value = &config->frame_targets},
                             {"frame_weight", KEY_DOUBLE, .value = &frame_weight},
                             {"average_decay", KEY_DOUBLE, &s->average_decay, .low = 0, .high = 0.9999999},
                             {"batch_frames", KEY_SIZE, &s->num_batch_frames, .low = 1, .high = 1e8},
                             {"epochs", KEY_SIZE, &s->num_epochs, .low = 1, .high = 1e6},
                             {"warmup_steps", KEY_SIZE, .value = &s->num_warmup_steps},
                             {"plateau_factor", KEY_DOUBLE, &s->plateau_factor, .low = 0.001, .high = 1},
                             {"plateau_patience", KEY_UNSIGNED, &s->plateau_patience, .low = 1, .high = 1e6},
                             {"patience", KEY_UNSIGNED, &s->patience, .low = 0, .high = 1e9},
                             {"keep_models", KEY_SIZE, &s->num_kept_models, .low = 0, .high = 63},
                             {"checkpoint_seconds", KEY_DOUBLE, &s->checkpoint_seconds, .low = 0, .high = INFINITY},
                             {"seed", KEY_UINT64, .value = &s->seed},
                             {"shuffle_block", KEY_SIZE, .value = &s->num_block_utterances},
                             {"shards", KEY_SIZE, &s->num_shards, .low = 0, .high = 4096},
                             {"wire_precision", KEY_CHOICE, &s->wire_precision, .choices = precisions},
                             {"gpu_exchange", KEY_CHOICE, &s->gpu_exchange, .choices = gpu_exchanges},
                             {0}};
  if (!read_section(path, "training", object, keys) || !check_objective(path, object, config) ||
      !check_teacher(path, object, config, teacher_weight) || !check_frame_targets(path, object, config, frame_weight))
    return false;
  warn_of_keys(path, object, config);
  s->ctc_weight = config->objective == TRAIN_CTC_CRF ? ctc_weight : 0;
  s->teacher_weight = config->teacher ? teacher_weight : 0;
  s->frame_weight = config->frame_targets ? frame_weight : 0;
  return true;
}

static bool read_speeds(const char *path, const json_t *list, struct train_config *config) {
  size_t count = json_array_size(list);
  bool good = json_is_array(list) && count <= MAX_SPEEDS;
  for (size_t i = 0; good && i < count; i++) {
    config->speeds[i] = json_number_value(json_array_get(list, i));
    good = config->speeds[i] >= 0.8 && config->speeds[i] <= 1.25;
  }
  config->num_speeds = count;
  if (!good)
    tool_fail("%s: augment.speeds must be a list of at most %d numbers of 0.8 to 1.25",
              source_of(path, "augment", "speeds"), MAX_SPEEDS);
  return good;
}

/* An end of a range. */
struct end {
  const char *key;
  double value;
};

/* Whether two keys of a section are in order; `apart`: they may not be equal. */
static bool check_order(const char *path, const char *section, struct end low, struct end high, bool apart) {
  if (low.value < high.value || (!apart && low.value <= high.value))
    return true;
  tool_fail("%s: %s.%s is %g; it must be %s %s.%s, which is %g",
            source_of(source_of(path, section, high.key), section, low.key), section, low.key, low.value,
            apart ? "below" : "at most", section, high.key, high.value);
  return false;
}

/* Reports what the library finds wrong with a section beyond that. */
static bool check_section(const char *path, const char *section, enum linnet_status status) {
  if (status != LINNET_OK)
    tool_fail("%s: augment.%s is out of range; see docs/training.md", path, section);
  return status == LINNET_OK;
}

static bool read_noise(const char *path, const json_t *object, struct train_config *config) {
  struct linnet_noise_settings *s = &config->mixing;
  const char *scp = json_string_value(json_object_get(object, "scp"));
  json_t *rest = json_copy((json_t *)(uintptr_t)object);
  const struct key keys[] = {{"probability", KEY_DOUBLE, &s->probability, .low = 0, .high = 1},
                             {"snr_low", KEY_DOUBLE, &s->snr_low, .low = -100, .high = 100},
                             {"snr_high", KEY_DOUBLE, &s->snr_high, .low = -100, .high = 100},
                             {0}};
  json_object_del(rest, "scp");
  bool good = read_section(path, "augment.noise", rest, keys);
  json_decref(rest);
  if (good && !scp)
    tool_fail("%s: augment.noise needs \"scp\", a file with lines \"name path\"", path);
  good = good && scp &&
         check_order(path, "augment.noise", (struct end){"snr_low", s->snr_low}, (struct end){"snr_high", s->snr_high},
                     false) &&
         check_section(path, "noise", linnet_augment_noise(s, (struct linnet_augment_key){0}, NULL, 0, NULL, 0));
  config->noise = good ? strdup(scp) : NULL;
  return good;
}

static bool read_masks(const char *path, const json_t *object, struct train_config *config) {
  struct linnet_specaugment_settings *s = &config->masks;
  const struct key keys[] = {{"frequency_masks", KEY_SIZE, &s->num_frequency_masks, .low = 0, .high = 1000},
                             {"max_frequency", KEY_SIZE, &s->max_frequency, .low = 0, .high = 1e9},
                             {"time_masks", KEY_SIZE, &s->num_time_masks, .low = 0, .high = 1000},
                             {"max_time", KEY_SIZE, &s->max_time, .low = 0, .high = 1e9},
                             {"max_time_part", KEY_DOUBLE, &s->max_time_part, .low = 0, .high = 1},
                             {0}};
  config->specaugment = true;
  return read_section(path, "augment.specaugment", object, keys) &&
         check_section(path, "specaugment", linnet_specaugment(s, (struct linnet_augment_key){0}, NULL, 0, 1));
}

static bool read_level(const char *path, const json_t *object, struct train_config *config) {
  struct linnet_level_settings *s = &config->level;
  const struct key keys[] = {{"probability", KEY_DOUBLE, &s->probability, .low = 0, .high = 1},
                             {"gain_low", KEY_DOUBLE, &s->gain_low, .low = -100, .high = 100},
                             {"gain_high", KEY_DOUBLE, &s->gain_high, .low = -100, .high = 100},
                             {0}};
  linnet_level_settings_default(s);
  return read_section(path, "augment.level", object, keys) &&
         check_order(path, "augment.level", (struct end){"gain_low", s->gain_low},
                     (struct end){"gain_high", s->gain_high}, false) &&
         check_section(path, "level", linnet_augment_level(s, (struct linnet_augment_key){0}, NULL, 0));
}

static bool read_band(const char *path, const json_t *object, struct train_config *config) {
  struct linnet_band_settings *s = &config->band;
  const struct key keys[] = {{"probability", KEY_DOUBLE, &s->probability, .low = 0, .high = 1},
                             {"max_low", KEY_DOUBLE, &s->max_low, .low = 0, .high = INFINITY},
                             {"min_high", KEY_DOUBLE, &s->min_high, .low = 0, .high = INFINITY},
                             {"max_high", KEY_DOUBLE, &s->max_high, .low = 0, .high = INFINITY},
                             {0}};
  linnet_band_settings_default(s);
  return read_section(path, "augment.band", object, keys) &&
         check_order(path, "augment.band", (struct end){"max_low", s->max_low}, (struct end){"min_high", s->min_high},
                     true) &&
         check_order(path, "augment.band", (struct end){"min_high", s->min_high}, (struct end){"max_high", s->max_high},
                     false) &&
         check_section(path, "band", linnet_augment_band(s, (struct linnet_augment_key){0}, 16000, NULL, 0));
}

static bool read_padding(const char *path, const json_t *object, struct train_config *config) {
  struct linnet_padding_settings *s = &config->padding;
  const struct key keys[] = {{"probability", KEY_DOUBLE, &s->probability, .low = 0, .high = 1},
                             {"max_seconds", KEY_DOUBLE, &s->max_seconds, .low = 0, .high = 600},
                             {"level_low", KEY_DOUBLE, &s->level_low, .low = -100, .high = 100},
                             {"level_high", KEY_DOUBLE, &s->level_high, .low = -100, .high = 100},
                             {0}};
  linnet_padding_settings_default(s);
  return read_section(path, "augment.padding", object, keys) &&
         check_order(path, "augment.padding", (struct end){"level_low", s->level_low},
                     (struct end){"level_high", s->level_high}, false) &&
         check_section(path, "padding", linnet_padding_check(s));
}

static bool read_room(const char *path, const json_t *object, struct train_config *config) {
  struct linnet_room_settings *s = &config->room;
  const struct key keys[] = {{"probability", KEY_DOUBLE, &s->probability, .low = 0, .high = 1},
                             {"time_low", KEY_DOUBLE, &s->time_low, .low = 0.05, .high = 2},
                             {"time_high", KEY_DOUBLE, &s->time_high, .low = 0.05, .high = 2},
                             {0}};
  linnet_room_settings_default(s);
  return read_section(path, "augment.room", object, keys) &&
         check_order(path, "augment.room", (struct end){"time_low", s->time_low},
                     (struct end){"time_high", s->time_high}, false) &&
         check_section(path, "room", linnet_room_check(s));
}

static const struct {
  const char *name;
  bool (*read)(const char *path, const json_t *value, struct train_config *config);
} augmentations[] = {{"speeds", read_speeds}, {"noise", read_noise}, {"specaugment", read_masks},
                     {"level", read_level},   {"band", read_band},   {"padding", read_padding},
                     {"room", read_room}};

static bool read_augmentation(const char *path, const char *name, const json_t *value, struct train_config *config) {
  for (size_t i = 0; i < sizeof augmentations / sizeof *augmentations; i++)
    if (strcmp(augmentations[i].name, name) == 0)
      return augmentations[i].read(path, value, config);
  tool_fail("%s: augment has no key \"%s\"; known: speeds, noise, specaugment, level, band, padding, room",
            source_of(path, "augment", name), name);
  return false;
}

static bool read_augment(const char *path, const json_t *object, struct train_config *config) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)object, name, value)
    if (!read_augmentation(path, name, value, config))
      return false;
  return true;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* A section as JSON text, "{}" if it is absent. */
static char *section_text(const json_t *root, const char *name) {
  const json_t *object = json_object_get(root, name);
  return object ? json_dumps(object, JSON_COMPACT) : strdup("{}");
}

static bool check_sections(const char *path, const json_t *root) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)root, name, value) {
    if (strcmp(name, "model") != 0 && strcmp(name, "features") != 0 && strcmp(name, "training") != 0 &&
        strcmp(name, "augment") != 0) {
      tool_fail("%s: no section \"%s\"; known: model, features, training, augment", is_given(name, "") ? "--set" : path,
                name);
      return false;
    }
    if (!json_is_object(value)) {
      tool_fail("%s: %s is not an object", path, name);
      return false;
    }
  }
  return true;
}

/* The member of `object` with this name, created if missing; NULL: `object` is not a JSON object. */
static json_t *member(json_t *object, const char *key, size_t length) {
  char *name = strndup(key, length);
  json_t *value = json_object_get(object, name);
  if (!value && json_object_set_new(object, name, json_object()) == 0)
    value = json_object_get(object, name);
  free(name);
  return value;
}

/* "epochs=3" on the command line is {"training": {"epochs": 3}} in the file, "model.attention=lsh" is
 * {"model": {"attention": "lsh"}}. */
static bool apply_setting(const char *setting, json_t *root) {
  const char *equals = strchr(setting, '='), *key = setting, *dot;
  json_error_t error;
  if (!equals) {
    tool_usage("--set %s: must have the form KEY=VALUE", setting);
    return false;
  }
  json_t *object = memchr(setting, '.', (size_t)(equals - setting)) ? root : member(root, "training", 8);
  for (; object && (dot = memchr(key, '.', (size_t)(equals - key))); key = dot + 1)
    object = member(object, key, (size_t)(dot - key));
  json_t *value = json_loads(equals + 1, JSON_DECODE_ANY, &error);
  char *name = strndup(key, (size_t)(equals - key));
  bool good = name && json_object_set_new(object, name, value ? value : json_string(equals + 1)) == 0;
  free(name);
  if (!good)
    tool_fail("--set %s: there is no such key", setting);
  return good;
}

static bool read_root(struct linnet_context *context, const char *path, const json_t *root,
                      struct train_config *config) {
  config->model = section_text(root, "model");
  config->features = section_text(root, "features");
  char *augment = section_text(root, "augment");
  config->recipe = augment;
  if (!check_sections(path, root) || !read_training(path, json_object_get(root, "training"), config) ||
      !read_augment(path, json_object_get(root, "augment"), config))
    return false;
  linnet_feature_config_default(&config->feature_config);
  if (linnet_feature_config_parse(context, config->features, config->source, &config->feature_config) == LINNET_OK)
    return true;
  tool_fail_context(context);
  return false;
}

/* Skips the byte order mark of UTF-8, with which no JSON begins. */
static void skip_mark(FILE *stream) {
  const int first = getc(stream);
  if (first != 0xEF) {
    ungetc(first, stream);
    return;
  }
  getc(stream);
  getc(stream);
}

/* NULL after a message. */
static json_t *load_root(const char *path) {
  struct stat status;
  json_error_t error;
  if (!path) {
    json_t *empty = json_object();
    if (!empty)
      tool_fail("out of memory for the settings");
    return empty;
  }
  if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
    tool_fail("%s: is a folder; --config needs a file of JSON", path);
    return NULL;
  }
  FILE *stream = fopen(path, "rb");
  if (!stream) {
    tool_fail("%s: %s", path, strerror(errno));
    return NULL;
  }
  skip_mark(stream);
  json_t *root = json_loadf(stream, JSON_REJECT_DUPLICATES, &error);
  fclose(stream);
  if (json_is_object(root))
    return root;
  tool_fail("%s:%d: %s", path, root ? 1 : error.line, root ? "not a JSON object" : error.text);
  json_decref(root);
  return NULL;
}

bool train_config_load(struct linnet_context *context, const char *path, const char *const *settings, size_t count,
                       struct train_config *config) {
  json_t *root = load_root(path);
  given = (struct given){settings, count};
  *config = (struct train_config){0};
  linnet_noise_settings_default(&config->mixing);
  linnet_train_settings_default(&config->training);
  linnet_specaugment_settings_default(&config->masks);
  const bool changed = path && (is_given("model", "") || is_given("features", ""));
  const char *source = path ? path : count > 0 ? "--set" : "the defaults";
  snprintf(config->source, sizeof config->source, "%s%s", source, changed ? " with --set" : "");
  bool good = root;
  for (size_t i = 0; good && i < count; i++)
    good = apply_setting(settings[i], root);
  good = good && read_root(context, source, root, config);
  config->text = good ? json_dumps(root, JSON_INDENT(2)) : NULL;
  json_decref(root);
  return good && (config->text || tool_fail("out of memory for the configuration") == TOOL_OK);
}

bool train_config_describe_noise(struct train_config *config, const char *text) {
  json_error_t error;
  json_t *augment = json_loads(config->recipe, 0, &error);
  const bool good = json_object_set_new(json_object_get(augment, "noise"), "scp", json_string(text)) == 0;
  char *recipe = good ? json_dumps(augment, JSON_COMPACT) : NULL;
  json_decref(augment);
  if (!recipe) {
    tool_fail("out of memory for the configuration");
    return false;
  }
  free(config->path_recipe);
  config->path_recipe = config->recipe;
  config->recipe = recipe;
  return true;
}

bool train_config_save(const struct train_config *config, const char *folder) {
  char path[4096];
  struct tool_output output;
  snprintf(path, sizeof path, "%s/config.json", folder);
  if (!tool_output_open(&output, path))
    return false;
  fprintf(output.stream, "%s\n", config->text);
  return tool_output_commit(&output);
}

void train_config_free(struct train_config *config) {
  free(config->model);
  free(config->features);
  free(config->noise);
  free(config->denominator);
  free(config->teacher);
  free(config->frame_targets);
  free(config->recipe);
  free(config->path_recipe);
  free(config->text);
}
