/* Checks what can be known of a training before its corpus is read, which may take hours: the files that it names, its
 * settings and its network. */
#include "train_parts.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linnet/language_model.h>

/* --- files -------------------------------------------------------------------------------------------------------- */

static bool check_readable(const char *path, const char *key) {
  if (!path || access(path, R_OK) == 0)
    return true;
  tool_fail("%s: %s (%s)", path, strerror(errno), key);
  return false;
}

bool train_check_files(struct linnet_context *context, const struct train_config *config, const char *initial) {
  struct linnet_model *model = NULL;
  struct stat status;
  if (!check_readable(config->noise, "augment.noise.scp") ||
      !check_readable(config->denominator, "training.denominator") ||
      !check_readable(config->frame_targets, "training.frame_targets"))
    return false;
  const bool is_file = initial && (stat(initial, &status) != 0 || S_ISREG(status.st_mode)); /* a pipe is read once */
  if (is_file && linnet_model_load_whole(context, initial, &model) != LINNET_OK)
    return tool_fail_context(context) == TOOL_OK;
  linnet_model_destroy(model);
  return true;
}

bool train_check_folders(const char *const *folders, size_t count, const char *option) {
  char inside[4096];
  for (size_t i = 0; i < count; i++) {
    snprintf(inside, sizeof inside, "%s/.", folders[i]);
    if (access(inside, R_OK | X_OK) != 0) {
      tool_fail("%s: cannot be read as a folder: %s (%s)", folders[i], strerror(errno), option);
      return false;
    }
  }
  return true;
}

/* --- settings and network ----------------------------------------------------------------------------------------- */

/* A stand-in for a corpus: one utterance without frames. linnet_trainer_create asks for its frames as soon as it has
 * found settings and network good, and then refuses it. */

static size_t frames_of_stand_in(void *user, size_t utterance) {
  (void)utterance;
  *(bool *)user = true;
  return 0;
}

static const char *id_of_stand_in(void *user, size_t utterance) {
  (void)user, (void)utterance;
  return "";
}

static const int *labels_of_stand_in(void *user, size_t utterance, size_t *count) {
  (void)user, (void)utterance;
  *count = 0;
  return NULL;
}

static enum linnet_status both_features_of_stand_in(void *user, struct linnet_context *context, size_t utterance,
                                                    uint64_t epoch, float *features, float *teacher, size_t capacity,
                                                    size_t *frames) {
  (void)user, (void)utterance, (void)epoch, (void)features, (void)teacher, (void)capacity, (void)frames;
  return linnet_context_fail(context, LINNET_ERROR_STATE, "the stand-in for a corpus has no features");
}

static enum linnet_status features_of_stand_in(void *user, struct linnet_context *context, size_t utterance,
                                               uint64_t epoch, float *features, size_t capacity, size_t *frames) {
  return both_features_of_stand_in(user, context, utterance, epoch, features, NULL, capacity, frames);
}

static void targets_of_stand_in(void *user, size_t utterance, uint64_t epoch, size_t frames, int *targets) {
  (void)user, (void)utterance, (void)epoch, (void)frames, (void)targets;
}

static struct linnet_corpus stand_in(bool *reached) {
  return (struct linnet_corpus){.size = sizeof(struct linnet_corpus),
                                .user = reached,
                                .num_utterances = 1,
                                .id = id_of_stand_in,
                                .frames = frames_of_stand_in,
                                .labels = labels_of_stand_in,
                                .features = features_of_stand_in,
                                .both_features = both_features_of_stand_in,
                                .targets = targets_of_stand_in};
}

/* The network without what the corpus or a measurement decides: its outputs, unless the symbols are known, and the
 * chunk. NULL without memory. */
static char *network_of(const struct train_config *config, bool known) {
  json_error_t error;
  json_t *model = json_loads(config->model, 0, &error);
  if (!known && json_is_integer(json_object_get(model, "outputs")))
    json_object_del(model, "outputs");
  const char *chunk = json_string_value(json_object_get(model, "causal_chunk"));
  if (chunk && strcmp(chunk, "auto") == 0)
    json_object_del(model, "causal_chunk");
  char *text = json_dumps(model, JSON_COMPACT);
  json_decref(model);
  return text;
}

bool train_check_settings(struct linnet_context *context, const struct train_config *config,
                          const struct linnet_symbols *symbols) {
  static const char *const any[] = {"<blk>", "a"};
  const size_t count = symbols ? linnet_symbols_num_symbols(symbols) : 2;
  const bool has_statistics =
      config->feature_config.cmvn == LINNET_CMVN_GLOBAL || config->feature_config.cmvn == LINNET_CMVN_RUNNING;
  const struct linnet_cmvn statistics = {0};
  const struct linnet_language_model denominator = {.size = sizeof denominator}; /* a stand-in that is not called */
  struct linnet_train_settings settings = config->training;
  settings.denominator = config->denominator ? &denominator : NULL;
  static const char nowhere[] = "/.linnet-none"; /* a folder that no machine has, so without a checkpoint */
  bool reached = false;
  const struct linnet_corpus corpus = stand_in(&reached);
  char *network = network_of(config, symbols != NULL);
  const char **names = calloc(count, sizeof *names);
  for (size_t i = 0; names && i < count; i++)
    names[i] = symbols ? linnet_symbols_name(symbols, (int)i) : any[i];
  const struct linnet_train_model model = {.size = sizeof model,
                                           .source = config->source,
                                           .config = network,
                                           .features = config->features,
                                           .symbols = names,
                                           .num_symbols = count,
                                           .cmvn = has_statistics ? &statistics : NULL};
  struct linnet_trainer *trainer = NULL;
  if (!network || !names)
    tool_fail("out of memory for the settings");
  else if (linnet_trainer_create(context, nowhere, &settings, &model, &corpus, &corpus, &trainer) != LINNET_OK &&
           !reached)
    tool_fail_context(context);
  linnet_trainer_destroy(trainer);
  free(names);
  free(network);
  return reached;
}
