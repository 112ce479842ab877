/* Opens the inputs of a command, feeds each to a stream, and describes it for the output formats. */
#include "inputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/numbers.h"
#include "default_model.h"
#include "file_keys.h"
#include "separate.h"

enum { CHUNK = 1 << 16 }; /* samples read at once */

static struct {
  char *data;
  struct raw_options raw;
  int recursive, channel;
  double max_seconds;
} options = {.channel = TOOL_NO_INTEGER, .raw = RAW_DEFAULTS, .max_seconds = TOOL_NOT_GIVEN};

struct poptOption inputs_options[] = {
    {"data", 'd', TOOL_INPUT, &options.data, 0,
     "read the utterances of a Kaldi data folder (default: the files of the command line)", "DIR"},
    {"recursive", 'r', POPT_ARG_NONE, &options.recursive, 0,
     "search folders and their subfolders for audio files, by extension; with --raw all files (default: a folder is an "
     "error)",
     NULL},
    {"channel", 'c', POPT_ARG_INT, &options.channel, 0, "use channel N, counted from 0 (default: the mean of all)",
     "N"},
    RAW_FORMAT_ROW(options.raw),
    RAW_RATE_ROW(options.raw),
    RAW_CHANNELS_ROW(options.raw),
    {"max-seconds", 0, POPT_ARG_DOUBLE, &options.max_seconds, 0,
     "refuse longer audio; 0: no limit (default: 14400 for raw pipes if the model is not causal, else 0)", "S"},
    POPT_TABLEEND};

const char *inputs_data_folder(void) {
  return options.data;
}

const char **inputs_arguments(poptContext parsed, size_t *count) {
  if (options.data && options.recursive) {
    tool_usage("--recursive: searches folders of the command line, but --data names the files: omit one of them");
    return NULL;
  }
  const char **paths = tool_arguments(parsed, options.data ? "" : "FILE", options.data ? 0 : SIZE_MAX, count);
  return paths && separate_check_streams(paths, *count) ? paths : NULL;
}

bool inputs_are_many(void) {
  return options.data || options.recursive;
}

bool inputs_are_raw(void) {
  return options.raw.format;
}

const char *inputs_audio_option(void) {
  return options.raw.format                        ? "--raw"
         : options.raw.rate != TOOL_NOT_GIVEN      ? "--raw-rate"
         : options.raw.channels != TOOL_NO_INTEGER ? "--raw-channels"
         : options.channel != TOOL_NO_INTEGER      ? "--channel"
         : options.max_seconds != TOOL_NOT_GIVEN   ? "--max-seconds"
                                                   : NULL;
}

bool raw_options_check(const struct raw_options *raw) {
  const bool rate = raw->rate != TOOL_NOT_GIVEN, channels = raw->channels != TOOL_NO_INTEGER;
  if (!raw->format && (rate || channels))
    tool_usage("--raw-rate and --raw-channels are for audio without a header: add --raw FORMAT, or omit them");
  else if (raw->format && linnet_sample_format_find(raw->format) == LINNET_SAMPLE_NONE)
    tool_usage("--raw %s: must be " RAW_FORMATS, raw->format);
  else if (rate && !(raw->rate >= LINNET_AUDIO_MIN_RATE && raw->rate <= LINNET_AUDIO_MAX_RATE))
    tool_usage("--raw-rate %g: must be %g to %g", raw->rate, LINNET_AUDIO_MIN_RATE, LINNET_AUDIO_MAX_RATE);
  else if (channels && (raw->channels < 1 || raw->channels > LINNET_AUDIO_MAX_RAW_CHANNELS))
    tool_usage("--raw-channels %d: must be 1 to %d", raw->channels, LINNET_AUDIO_MAX_RAW_CHANNELS);
  else
    return true;
  return false;
}

void raw_options_read(const struct raw_options *raw, struct linnet_audio_settings *settings) {
  if (raw->rate != TOOL_NOT_GIVEN)
    settings->raw_rate = raw->rate;
  if (raw->channels != TOOL_NO_INTEGER)
    settings->num_raw_channels = (size_t)raw->channels;
  settings->raw_format = linnet_sample_format_find(raw->format);
}

bool audio_options_check(const struct raw_options *raw, int channel, double max_seconds) {
  if (channel != TOOL_NO_INTEGER && channel < 0)
    tool_usage("--channel %d: must be 0 or more", channel);
  else if (max_seconds != TOOL_NOT_GIVEN && !(max_seconds >= 0))
    tool_usage("--max-seconds %g: must be 0 (no limit) or more", max_seconds);
  else
    return raw_options_check(raw);
  return false;
}

/* The option in place of the setting that an error about the length of audio names. */
static enum linnet_status name_limit(struct linnet_context *context) {
  static const char setting[] = "max_seconds", option[] = "--max-seconds";
  char sentence[LINNET_ERROR_BYTES];
  const char *error = linnet_context_error(context), *rest = strstr(error, setting);
  for (const char *next = rest; next && (next = strstr(next + 1, setting));)
    rest = next; /* a file may have that name, too */
  if (!rest)
    return LINNET_ERROR_LIMIT;
  snprintf(sentence, sizeof sentence, "%.*s%s%s", (int)(rest - error), error, option, rest + strlen(setting));
  return linnet_context_fail(context, LINNET_ERROR_LIMIT, sentence);
}

/* The options after the advice to give what raw audio does not say about itself. */
static enum linnet_status name_raw_options(struct linnet_context *context) {
  static const char advice[] = "give its sample format, rate and channels";
  char sentence[LINNET_ERROR_BYTES];
  const char *error = linnet_context_error(context);
  if (!tool_ends_in(error, advice))
    return LINNET_ERROR_FORMAT;
  snprintf(sentence, sizeof sentence, "%s: --raw s16le --raw-rate HZ --raw-channels N", error);
  return linnet_context_fail(context, LINNET_ERROR_FORMAT, sentence);
}

enum linnet_status audio_options_name(struct linnet_context *context, enum linnet_status status) {
  return status == LINNET_ERROR_LIMIT    ? name_limit(context)
         : status == LINNET_ERROR_FORMAT ? name_raw_options(context)
                                         : status;
}

static bool read_audio_options(struct linnet_audio_settings *audio, double sample_rate) {
  linnet_audio_settings_default(audio);
  if (!audio_options_check(&options.raw, options.channel, options.max_seconds))
    return false;
  audio->sample_rate = sample_rate;
  if (options.channel != TOOL_NO_INTEGER)
    audio->channel = options.channel;
  if (options.max_seconds != TOOL_NOT_GIVEN)
    audio->max_seconds = options.max_seconds;
  raw_options_read(&options.raw, audio);
  return true;
}

/* "walked/folder/name.wav" is "folder/name". */
static char *walked_id(const char *path, size_t root) {
  const char *name = path + root, *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
  return strndup(name, dot ? (size_t)(dot - name) : strlen(name));
}

bool inputs_is_walked(const struct inputs *inputs, size_t item) {
  return inputs->paths && inputs->walk.roots[item] > 0;
}

bool inputs_is_bare(const struct inputs *inputs) {
  return inputs->paths && inputs->count == 1 && !inputs_is_walked(inputs, 0);
}

static bool name_files(struct inputs *inputs) {
  inputs->ids = calloc(inputs->count, sizeof *inputs->ids);
  for (size_t i = 0; inputs->ids && i < inputs->count; i++) {
    const char *path = inputs->paths[i];
    inputs->ids[i] = inputs_is_walked(inputs, i) ? walked_id(path, inputs->walk.roots[i]) : file_id(path);
    if (!inputs->ids[i])
      break;
  }
  if (inputs->count > 0 && inputs->ids && inputs->ids[inputs->count - 1])
    return true;
  tool_fail("out of memory for %zu files", inputs->count);
  return false;
}

/* The files that the arguments name: some at least. */
static bool find_files(struct inputs *inputs, const char **paths, size_t count, int *code) {
  if (!walk_paths(&inputs->walk, paths, count, options.recursive, options.raw.format != NULL)) {
    *code = inputs->walk.misused ? TOOL_USAGE : TOOL_FAILURE;
    return false;
  }
  if (inputs->walk.count == 0)
    return false;
  inputs->paths = (const char *const *)inputs->walk.paths;
  inputs->count = inputs->walk.count;
  return name_files(inputs);
}

/* Non-causal models store the whole utterance, and a raw pipe may have no end. */
static double stream_seconds(const struct linnet_recognizer *recognizer) {
  return options.max_seconds != TOOL_NOT_GIVEN          ? options.max_seconds
         : linnet_recognizer_is_incremental(recognizer) ? 0
                                                        : TOOL_RAW_SECONDS;
}

/* The features of the first model that normalises by speaker, among those of both passes and their ensembles. False:
 * none does. A warning says if a later one counts different frames: it gets the statistics of the first. */
static bool find_speaker_features(const struct linnet_recognizer *recognizer, struct linnet_feature_config *config) {
  const struct linnet_recognizer *second = linnet_recognizer_second_pass(recognizer);
  const struct linnet_model *models[] = {
      linnet_recognizer_model(recognizer), linnet_recognizer_ensemble_model(recognizer),
      second ? linnet_recognizer_model(second) : NULL, second ? linnet_recognizer_ensemble_model(second) : NULL};
  bool found = false;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    struct linnet_feature_config own = {.cmvn = LINNET_CMVN_NONE};
    if (models[i])
      linnet_model_features(models[i], &own);
    if (own.cmvn != LINNET_CMVN_SPEAKER)
      continue;
    if (found && own.cmvn_frames != config->cmvn_frames)
      tool_warn(
          "the models count different frames for the statistics of speakers (cmvn_frames): all use those of the first");
    *config = found ? *config : own;
    found = true;
  }
  return found;
}

static bool open_folder(struct inputs *inputs, struct linnet_context *context,
                        const struct linnet_recognizer *recognizer) {
  struct linnet_feature_config config;
  if (linnet_data_folder_open(context, options.data, &inputs->folder) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  inputs->count = linnet_data_folder_num_utterances(inputs->folder);
  if (inputs->count == 0)
    tool_warn("%s: has no utterances", options.data);
  if (linnet_data_folder_has_cmvn(inputs->folder) || !find_speaker_features(recognizer, &config))
    return true;
  inputs->speakers = speakers_open(inputs->folder, &config, &inputs->audio);
  if (!inputs->speakers)
    tool_fail("%s: out of memory for its speakers", options.data);
  return inputs->speakers != NULL;
}

bool inputs_open(struct inputs *inputs, struct linnet_context *context, const struct linnet_recognizer *recognizer,
                 const char **paths, size_t count, int *code) {
  *inputs = (struct inputs){.paths = NULL};
  *code = TOOL_USAGE;
  if (!read_audio_options(&inputs->audio, tool_sample_rate(linnet_recognizer_model(recognizer))))
    return false;
  inputs->stream_seconds = stream_seconds(recognizer);
  *code = TOOL_FAILURE;
  bool good = options.data ? open_folder(inputs, context, recognizer) : find_files(inputs, paths, count, code);
  if (good && (!options.recursive || separate_check_inputs(inputs->paths, inputs->count)))
    return true;
  if (good)
    *code = TOOL_USAGE;
  inputs_close(inputs);
  return false;
}

void inputs_close(struct inputs *inputs) {
  for (size_t i = 0; inputs->ids && i < inputs->count; i++)
    free(inputs->ids[i]);
  free(inputs->ids);
  walk_release(&inputs->walk);
  speakers_close(inputs->speakers);
  linnet_data_folder_destroy(inputs->folder);
  *inputs = (struct inputs){.paths = NULL};
}

int inputs_report_folders(const struct inputs *inputs) {
  const size_t count = inputs->walk.num_failed;
  return count > 0 ? tool_fail("%zu folder%s could not be read or had no audio", count, linnet_plural(count)) : TOOL_OK;
}

const char *inputs_name(const struct inputs *inputs, size_t item) {
  return inputs->folder ? linnet_data_folder_id(inputs->folder, item) : inputs->paths[item];
}

const char *inputs_id(const struct inputs *inputs, size_t item) {
  return inputs->folder ? linnet_data_folder_id(inputs->folder, item) : inputs->ids[item];
}

/* The settings for one file. */
static struct linnet_audio_settings settings_of(const struct inputs *inputs, const char *path) {
  struct linnet_audio_settings settings = inputs->audio;
  struct stat status;
  int found = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &status) : stat(path, &status);
  if (settings.raw_format != LINNET_SAMPLE_NONE && found == 0 && !S_ISREG(status.st_mode))
    settings.max_seconds = inputs->stream_seconds;
  return settings;
}

enum linnet_status inputs_open_audio(const struct inputs *inputs, struct linnet_context *context, size_t item,
                                     struct linnet_audio **audio) {
  const struct linnet_audio_settings settings = settings_of(inputs, inputs->paths[item]);
  return linnet_audio_open(context, inputs->paths[item], &settings, audio);
}

/* --- audio to a stream -------------------------------------------------------------------------------------------- */

static enum linnet_status feed(struct linnet_audio *audio, struct linnet_recognizer_stream *stream, float *samples) {
  for (;;) {
    size_t count = 0;
    enum linnet_status status = linnet_audio_read(audio, samples, CHUNK, &count);
    if (count > 0 && (status == LINNET_OK || status == LINNET_END)) {
      enum linnet_status accepted = linnet_recognizer_stream_accept(stream, samples, count);
      if (accepted != LINNET_OK)
        return accepted;
    }
    if (status != LINNET_OK)
      return status == LINNET_END ? LINNET_OK : status;
    if (linnet_audio_seconds(audio) > 0)
      tool_progress_input(linnet_recognizer_stream_seconds(stream) / linnet_audio_seconds(audio));
  }
}

static enum linnet_status feed_file(struct linnet_context *context, const struct inputs *inputs, size_t item,
                                    struct linnet_recognizer_stream *stream) {
  struct linnet_audio *audio = NULL;
  float *samples = malloc(CHUNK * sizeof *samples);
  enum linnet_status status = samples ? inputs_open_audio(inputs, context, item, &audio)
                                      : linnet_context_fail(context, LINNET_ERROR_MEMORY, "out of memory for samples");
  if (status == LINNET_OK)
    status = feed(audio, stream, samples);
  if (status == LINNET_OK && !(linnet_recognizer_stream_seconds(stream) > 0))
    tool_warn("%s: has no samples", inputs_name(inputs, item));
  linnet_audio_destroy(audio);
  free(samples);
  return status;
}

/* Statistics of the speaker of the utterance: those of the folder, or over the utterances of the speaker. */
static enum linnet_status set_speaker(struct linnet_context *context, const struct inputs *inputs, size_t utterance,
                                      struct linnet_recognizer_stream *stream) {
  struct linnet_cmvn stored;
  const struct linnet_cmvn *cmvn = &stored;
  size_t speaker = linnet_data_folder_speaker(inputs->folder, utterance);
  enum linnet_status status = LINNET_OK;
  if (inputs->speakers)
    status = speakers_find(inputs->speakers, context, speaker, &cmvn);
  else if (linnet_data_folder_has_cmvn(inputs->folder))
    status = linnet_data_folder_cmvn(inputs->folder, context, speaker, &stored);
  else
    return LINNET_OK;
  return status == LINNET_OK ? linnet_recognizer_stream_set_speaker(stream, cmvn) : status;
}

/* Puts the name of the utterance before the sentence of a failure. */
static enum linnet_status fail_named(struct linnet_context *context, const struct inputs *inputs, size_t utterance,
                                     enum linnet_status status) {
  char sentence[LINNET_ERROR_BYTES];
  snprintf(sentence, sizeof sentence, "%s: %s", linnet_data_folder_id(inputs->folder, utterance),
           linnet_context_error(context));
  return linnet_context_fail(context, status, sentence);
}

static enum linnet_status feed_features(struct linnet_context *context, const struct inputs *inputs, size_t utterance,
                                        struct linnet_recognizer_stream *stream) {
  struct linnet_matrix matrix = {0};
  enum linnet_status status = linnet_data_folder_features(inputs->folder, context, utterance, &matrix);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_accept_features(stream, matrix.values, matrix.rows, matrix.cols);
  if (status == LINNET_ERROR_ARGUMENT)
    fail_named(context, inputs, utterance, status);
  linnet_matrix_release(context, &matrix);
  return status;
}

static enum linnet_status feed_samples(struct linnet_context *context, const struct inputs *inputs, size_t utterance,
                                       struct linnet_recognizer_stream *stream) {
  float *samples = NULL;
  size_t count = 0;
  enum linnet_status status =
      linnet_data_folder_audio(inputs->folder, context, utterance, &inputs->audio, &samples, &count);
  if (status == LINNET_OK && count == 0)
    tool_warn("%s: has no samples", inputs_name(inputs, utterance));
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_accept(stream, samples, count);
  linnet_audio_release(context, samples);
  return status;
}

/* Uses audio if there is any, else stored features, as `linnet train` does. */
static enum linnet_status feed_utterance(struct linnet_context *context, const struct inputs *inputs, size_t utterance,
                                         struct linnet_recognizer_stream *stream) {
  const struct linnet_data_folder *folder = inputs->folder;
  bool audio = linnet_data_folder_path(folder, utterance) || !linnet_data_folder_has_features(folder);
  enum linnet_status status = set_speaker(context, inputs, utterance, stream);
  return status == LINNET_OK ? (audio ? feed_samples : feed_features)(context, inputs, utterance, stream) : status;
}

enum linnet_status inputs_recognise(const struct inputs *inputs, struct linnet_context *context, size_t item,
                                    struct linnet_recognizer_stream *stream) {
  enum linnet_status status =
      inputs->folder ? feed_utterance(context, inputs, item, stream) : feed_file(context, inputs, item, stream);
  return status == LINNET_OK ? linnet_recognizer_stream_finish(stream) : audio_options_name(context, status);
}

enum linnet_status inputs_read(const struct inputs *inputs, struct linnet_context *context, size_t item,
                               float **samples, size_t *count) {
  struct linnet_audio *audio = NULL;
  enum linnet_status status = LINNET_OK;
  if (inputs->folder)
    status = linnet_data_folder_audio(inputs->folder, context, item, &inputs->audio, samples, count);
  else if ((status = inputs_open_audio(inputs, context, item, &audio)) == LINNET_OK)
    status = linnet_audio_read_all(audio, samples, count);
  linnet_audio_destroy(audio);
  return audio_options_name(context, status);
}

static const char *speaker_of(const struct linnet_data_folder *folder, size_t utterance) {
  return linnet_data_folder_speaker_name(folder, linnet_data_folder_speaker(folder, utterance));
}

/* Where in a longer recording an utterance begins. */
static void describe_segment(const struct linnet_data_folder *folder, size_t utterance, struct linnet_output *output) {
  double start, end;
  linnet_data_folder_segment(folder, utterance, &start, &end);
  if (start == 0 && end < 0)
    return;
  output->recording = linnet_data_folder_recording(folder, utterance);
  output->begins = start;
}

void inputs_describe(const struct inputs *inputs, size_t item, const struct linnet_recognizer_stream *stream,
                     struct linnet_output *output) {
  *output = (struct linnet_output){.size = sizeof *output,
                                   .seconds = linnet_recognizer_stream_seconds(stream),
                                   .channel = options.channel >= 0 ? options.channel + 1 : 1};
  output->id = inputs_id(inputs, item);
  output->file = inputs->folder ? NULL : inputs->paths[item];
  output->speaker = inputs->folder ? speaker_of(inputs->folder, item) : NULL;
  output->bare = inputs_is_bare(inputs);
  if (inputs->folder)
    describe_segment(inputs->folder, item, output);
}
