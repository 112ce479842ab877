/* Reads, checks and writes the feature configuration of a model; the keys are rows of one table. */
#include "model/format/feature_config.h"

#include <math.h>
#include <string.h>

#include "base/settings.h"
#include "model/format/bounded_json.h"

static const struct linnet_json_limits limits = {.bytes = 65536, .depth = 2, .values = 64};

static const char *const kind_names[] = {"fbank"};
static const char *const cmvn_names[] = {[LINNET_CMVN_NONE] = "none",
                                         [LINNET_CMVN_UTTERANCE] = "utterance",
                                         [LINNET_CMVN_SPEAKER] = "speaker",
                                         [LINNET_CMVN_GLOBAL] = "global",
                                         [LINNET_CMVN_RUNNING] = "running"};
static const char *const cmvn_frames_names[] = {
    [LINNET_CMVN_ALL_FRAMES] = "all", [LINNET_CMVN_SPEECH_FRAMES] = "speech"};

#define AT(member) offsetof(struct linnet_feature_config, member)

enum { MAX_MEL = 512, MIN_WINDOW = 4, MAX_WINDOW = 65536 /* samples */ };

static const struct linnet_json_key keys[] = {
    {.key = "kind"},
    {"sample_rate", LINNET_JSON_DOUBLE, AT(fbank.sample_rate), .low = 1000, .high = 384000},
    {"frame_length", LINNET_JSON_DOUBLE, AT(fbank.frame_length), .low = 1, .high = 1000},
    {"frame_shift", LINNET_JSON_DOUBLE, AT(fbank.frame_shift), .low = 1, .high = 1000},
    {"num_mel", LINNET_JSON_SIZE, AT(fbank.num_mel), .low = 1, .high = MAX_MEL},
    {"low_frequency", LINNET_JSON_DOUBLE, AT(fbank.low_frequency), .low = 0, .high = 192000},
    {"high_frequency", LINNET_JSON_DOUBLE, AT(fbank.high_frequency), .low = -192000, .high = 192000},
    {"preemphasis", LINNET_JSON_DOUBLE, AT(fbank.preemphasis), .low = 0, .high = 1},
    {"cmvn", LINNET_JSON_NAME, AT(cmvn), .names = LINNET_NAMES(cmvn_names)},
    {.key = "cmvn_variance", .type = LINNET_JSON_FLAG, .offset = AT(cmvn_variance)},
    {"cmvn_frames", LINNET_JSON_NAME, AT(cmvn_frames), .names = LINNET_NAMES(cmvn_frames_names)},
    {"max_silence", LINNET_JSON_DOUBLE, AT(max_silence), .low = 0, .high = LINNET_MAX_SILENCE},
    {"edge_silence", LINNET_JSON_DOUBLE, AT(edge_silence), .low = 0, .high = LINNET_MAX_SILENCE},
    {"cmvn_prior", LINNET_JSON_DOUBLE, AT(cmvn_prior), .low = 0, .high = 1e6},
    {"cmvn_memory", LINNET_JSON_DOUBLE, AT(cmvn_memory), .low = 0, .high = 1e6}};
static const struct linnet_json_table table = {"features", keys, sizeof keys / sizeof *keys};

/* The last keys may be missing in older files. */
enum { REQUIRED_KEYS = sizeof keys / sizeof *keys - 5 };

void(linnet_feature_config_default)(struct linnet_feature_config *features, size_t size) {
  const struct linnet_feature_config defaults = {.size = sizeof(struct linnet_feature_config),
                                                 .fbank = {.size = sizeof(struct linnet_fbank_settings),
                                                           .sample_rate = 16000,
                                                           .frame_length = 25,
                                                           .frame_shift = 10,
                                                           .num_mel = 40,
                                                           .low_frequency = 20,
                                                           .high_frequency = 0,
                                                           .preemphasis = 0.97},
                                                 .cmvn = LINNET_CMVN_UTTERANCE,
                                                 .cmvn_variance = 1,
                                                 .cmvn_frames = LINNET_CMVN_SPEECH_FRAMES,
                                                 .cmvn_prior = 100};
  linnet_settings_fill(features, size, &defaults, sizeof defaults);
}

/* --- reading -------------------------------------------------------------------------------------------------- */

static enum linnet_status read_object(struct linnet_context *context, const json_t *root, const char *name,
                                      bool complete, struct linnet_feature_config *features) {
  struct linnet_feature_config read = *features;
  unsigned kind = 0;
  struct linnet_json_object object = linnet_json_read(context, name, root, &table, complete ? REQUIRED_KEYS : 0, &read);
  linnet_json_read_name(&object, "kind", (struct linnet_names)LINNET_NAMES(kind_names), &kind);
  LINNET_TRY(object.status);
  read.fbank.dither = 0;
  read.fbank.dither_seed = 0;
  LINNET_TRY(linnet_feature_config_validate(context, name, &read));
  *features = read;
  return LINNET_OK;
}

static enum linnet_status parse(struct linnet_context *context, const char *text, const char *name, bool complete,
                                struct linnet_feature_config *features) {
  json_t *root = NULL;
  LINNET_TRY(linnet_json_parse(context, text, strlen(text), name, limits, &root));
  enum linnet_status status = read_object(context, root, name, complete, features);
  json_decref(root);
  return status;
}

enum linnet_status linnet_feature_config_parse(struct linnet_context *context, const char *text, const char *name,
                                               struct linnet_feature_config *features) {
  if (!text || !name || !features)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_feature_config_parse: an argument is NULL");
  struct linnet_feature_config own;
  linnet_feature_config_default(&own);
  LINNET_TRY(linnet_settings_read(context, "struct linnet_feature_config", features, &own, sizeof own));
  LINNET_TRY(parse(context, text, name, false, &own));
  linnet_settings_fill(features, features->size, &own, sizeof own);
  return LINNET_OK;
}

enum linnet_status linnet_feature_config_parse_complete(struct linnet_context *context, const char *text,
                                                        const char *name, struct linnet_feature_config *features) {
  struct linnet_feature_config read;
  linnet_feature_config_default(&read);
  read.cmvn_frames = LINNET_CMVN_ALL_FRAMES;
  LINNET_TRY(parse(context, text, name, true, &read));
  *features = read;
  return LINNET_OK;
}

bool linnet_cmvn_is_stored(enum linnet_cmvn_kind kind) {
  return kind == LINNET_CMVN_GLOBAL || kind == LINNET_CMVN_RUNNING;
}

/* --- checks --------------------------------------------------------------------------------------------------- */

static enum linnet_status check_relations(struct linnet_context *context, const char *name,
                                          const struct linnet_fbank_settings *fbank) {
  double nyquist = fbank->sample_rate / 2;
  double high = fbank->high_frequency > 0 ? fbank->high_frequency : nyquist + fbank->high_frequency;
  if (!(fbank->low_frequency < high && high <= nyquist))
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: features: \"low_frequency\" %g and \"high_frequency\" %g give an empty band, or a band "
                       "that ends above %g Hz",
                       name, fbank->low_frequency, fbank->high_frequency, nyquist);
  double window = fbank->sample_rate * fbank->frame_length / 1000;
  if (window < MIN_WINDOW || window > MAX_WINDOW)
    return linnet_fail(context, LINNET_ERROR_LIMIT,
                       "%s: features: \"frame_length\" %g ms is %g samples; it must be %d to %d", name,
                       fbank->frame_length, window, MIN_WINDOW, MAX_WINDOW);
  return LINNET_OK;
}

enum linnet_status linnet_feature_config_validate(struct linnet_context *context, const char *name,
                                                  const struct linnet_feature_config *features) {
  LINNET_TRY(linnet_json_check(context, name, &table, features));
  if (features->cmvn == LINNET_CMVN_RUNNING && features->cmvn_prior < 1)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: features: \"cmvn_prior\" is %g; it must be 1 to 1e+06", name,
                       features->cmvn_prior);
  if (features->cmvn_memory > 0 && features->cmvn_memory < 1)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: features: \"cmvn_memory\" is %g; it must be 0, or 1 to 1e+06",
                       name, features->cmvn_memory);
  return check_relations(context, name, &features->fbank);
}

/* --- writing -------------------------------------------------------------------------------------------------- */

/* Sets a key that files of before lack, unless it is 0, which a missing key means. */
static bool set_above_0(json_t *root, const char *key, double value) {
  return value <= 0 || json_object_set_new(root, key, linnet_json_number(value)) == 0;
}

enum linnet_status linnet_feature_config_format(struct linnet_context *context,
                                                const struct linnet_feature_config *features, char **text) {
  const struct linnet_fbank_settings *fbank = &features->fbank;
  *text = NULL;
  LINNET_TRY(linnet_feature_config_validate(context, "feature configuration to write", features));
  LINNET_TRY(linnet_json_reserve(context, "feature configuration to write", 64, 0));
  json_t *root = json_pack(
      "{ss so so so si so so so ss sb}", "kind", kind_names[0], "sample_rate", linnet_json_number(fbank->sample_rate),
      "frame_length", linnet_json_number(fbank->frame_length), "frame_shift", linnet_json_number(fbank->frame_shift),
      "num_mel", (int)fbank->num_mel, "low_frequency", linnet_json_number(fbank->low_frequency), "high_frequency",
      linnet_json_number(fbank->high_frequency), "preemphasis", linnet_json_number(fbank->preemphasis), "cmvn",
      cmvn_names[features->cmvn], "cmvn_variance", features->cmvn_variance != 0);
  if (root && features->cmvn_frames != LINNET_CMVN_ALL_FRAMES &&
      json_object_set_new(root, "cmvn_frames", json_string(cmvn_frames_names[features->cmvn_frames])) != 0)
    json_decref(root), root = NULL;
  if (root && !(set_above_0(root, "max_silence", features->max_silence) &&
                set_above_0(root, "edge_silence", features->edge_silence)))
    json_decref(root), root = NULL;
  if (root && features->cmvn == LINNET_CMVN_RUNNING &&
      !(set_above_0(root, "cmvn_prior", features->cmvn_prior) &&
        set_above_0(root, "cmvn_memory", features->cmvn_memory)))
    json_decref(root), root = NULL;
  enum linnet_status status = linnet_json_format(context, root, false, text, NULL);
  json_decref(root);
  return status;
}
