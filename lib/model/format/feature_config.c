/* Reads, checks and writes the feature configuration of a model; the keys are rows of one table. */
#include "model/format/feature_config.h"

#include <math.h>
#include <string.h>

#include "base/settings.h"
#include "model/format/bounded_json.h"

static const struct linnet_json_limits limits = {.bytes = 65536, .depth = 2, .values = 64};

static const char *const keys[] = {"kind",          "sample_rate",    "frame_length", "frame_shift", "num_mel",
                                   "low_frequency", "high_frequency", "preemphasis",  "cmvn",        "cmvn_variance",
                                   "cmvn_frames",   "max_silence",    "cmvn_prior",   NULL};

/* The last keys may be missing in older files. */
enum { REQUIRED_KEYS = sizeof keys / sizeof *keys - 4 };

static const char *const kind_names[] = {"fbank"};
static const char *const cmvn_names[] = {[LINNET_CMVN_NONE] = "none",
                                         [LINNET_CMVN_UTTERANCE] = "utterance",
                                         [LINNET_CMVN_SPEAKER] = "speaker",
                                         [LINNET_CMVN_GLOBAL] = "global",
                                         [LINNET_CMVN_RUNNING] = "running"};
static const char *const cmvn_frames_names[] = {
    [LINNET_CMVN_ALL_FRAMES] = "all", [LINNET_CMVN_SPEECH_FRAMES] = "speech"};

#define NAMES(table) ((struct linnet_names){(table), sizeof(table) / sizeof *(table)})

enum { MAX_MEL = 512, MIN_WINDOW = 4, MAX_WINDOW = 65536 /* samples */ };

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

static void read_fbank(struct linnet_json_object *object, struct linnet_fbank_settings *fbank) {
  linnet_json_read_double(object, "sample_rate", &fbank->sample_rate);
  linnet_json_read_double(object, "frame_length", &fbank->frame_length);
  linnet_json_read_double(object, "frame_shift", &fbank->frame_shift);
  linnet_json_read_double(object, "low_frequency", &fbank->low_frequency);
  linnet_json_read_double(object, "high_frequency", &fbank->high_frequency);
  linnet_json_read_double(object, "preemphasis", &fbank->preemphasis);
  linnet_json_read_size(object, "num_mel", &fbank->num_mel);
  fbank->dither = 0;
  fbank->dither_seed = 0;
}

static enum linnet_status read_object(struct linnet_context *context, const json_t *root, const char *name,
                                      bool complete, struct linnet_feature_config *features) {
  struct linnet_json_object object =
      linnet_json_object(context, name, "features", root, keys, complete ? REQUIRED_KEYS : 0);
  struct linnet_feature_config read = *features;
  unsigned kind = 0, cmvn = read.cmvn, cmvn_frames = read.cmvn_frames;
  bool variance = read.cmvn_variance != 0;
  linnet_json_read_name(&object, "kind", NAMES(kind_names), &kind);
  read_fbank(&object, &read.fbank);
  linnet_json_read_name(&object, "cmvn", NAMES(cmvn_names), &cmvn);
  linnet_json_read_bool(&object, "cmvn_variance", &variance);
  linnet_json_read_name(&object, "cmvn_frames", NAMES(cmvn_frames_names), &cmvn_frames);
  linnet_json_read_double(&object, "max_silence", &read.max_silence);
  linnet_json_read_double(&object, "cmvn_prior", &read.cmvn_prior);
  LINNET_TRY(object.status);
  read.cmvn = (enum linnet_cmvn_kind)cmvn;
  read.cmvn_variance = variance;
  read.cmvn_frames = (enum linnet_cmvn_frames)cmvn_frames;
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
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_feature_config_parse: NULL argument");
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

static enum linnet_status check_ranges(struct linnet_context *context, const char *name,
                                       const struct linnet_fbank_settings *fbank) {
  const struct {
    const char *key;
    double value, low, high;
  } ranges[] = {
      {"sample_rate", fbank->sample_rate, 1000, 384000},  {"frame_length", fbank->frame_length, 1, 1000},
      {"frame_shift", fbank->frame_shift, 1, 1000},       {"num_mel", (double)fbank->num_mel, 1, MAX_MEL},
      {"low_frequency", fbank->low_frequency, 0, 192000}, {"high_frequency", fbank->high_frequency, -192000, 192000},
      {"preemphasis", fbank->preemphasis, 0, 1},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (!(ranges[i].value >= ranges[i].low && ranges[i].value <= ranges[i].high))
      return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: features: \"%s\" is %g; it must be %g to %g", name,
                         ranges[i].key, ranges[i].value, ranges[i].low, ranges[i].high);
  return LINNET_OK;
}

static enum linnet_status check_relations(struct linnet_context *context, const char *name,
                                          const struct linnet_fbank_settings *fbank) {
  double nyquist = fbank->sample_rate / 2;
  double high = fbank->high_frequency > 0 ? fbank->high_frequency : nyquist + fbank->high_frequency;
  if (!(fbank->low_frequency < high && high <= nyquist))
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "%s: features: \"low_frequency\" %g and \"high_frequency\" %g are no band below %g Hz", name,
                       fbank->low_frequency, fbank->high_frequency, nyquist);
  double window = fbank->sample_rate * fbank->frame_length / 1000;
  if (window < MIN_WINDOW || window > MAX_WINDOW)
    return linnet_fail(context, LINNET_ERROR_LIMIT,
                       "%s: features: \"frame_length\" %g ms is %g samples; it must be %d to %d", name,
                       fbank->frame_length, window, MIN_WINDOW, MAX_WINDOW);
  return LINNET_OK;
}

enum linnet_status linnet_feature_config_validate(struct linnet_context *context, const char *name,
                                                  const struct linnet_feature_config *features) {
  LINNET_TRY(check_ranges(context, name, &features->fbank));
  LINNET_TRY(check_relations(context, name, &features->fbank));
  if (!(features->max_silence >= 0 && features->max_silence <= 3600))
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: features: \"max_silence\" is %g; it must be 0 to 3600", name,
                       features->max_silence);
  if (features->cmvn == LINNET_CMVN_RUNNING && !(features->cmvn_prior >= 1 && features->cmvn_prior <= 1e6))
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: features: \"cmvn_prior\" is %g; it must be 1 to 1e6 frames",
                       name, features->cmvn_prior);
  if ((unsigned)features->cmvn >= NAMES(cmvn_names).count)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "%s: features: \"cmvn\" has an unknown value", name);
  if ((unsigned)features->cmvn_frames >= NAMES(cmvn_frames_names).count)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "%s: features: \"cmvn_frames\" has an unknown value", name);
  return LINNET_OK;
}

/* --- writing -------------------------------------------------------------------------------------------------- */

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
  if (root && features->max_silence > 0 &&
      json_object_set_new(root, "max_silence", linnet_json_number(features->max_silence)) != 0)
    json_decref(root), root = NULL;
  if (root && features->cmvn == LINNET_CMVN_RUNNING &&
      json_object_set_new(root, "cmvn_prior", linnet_json_number(features->cmvn_prior)) != 0)
    json_decref(root), root = NULL;
  enum linnet_status status = linnet_json_format(context, root, false, text, NULL);
  json_decref(root);
  return status;
}
