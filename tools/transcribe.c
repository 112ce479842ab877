/* linnet transcribe: audio files, or the utterances of a data folder, to phonemes, as text or as JSON lines with
 * times. */
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/kaldi.h>
#include <linnet/linnet.h>

#include "default_model.h"
#include "parallel.h"
#include "tool.h"

enum { CHUNK = 1 << 16 }; /* samples read at once */

static struct {
  char *model, *format, *raw_format, *data, *output;
  int channel, raw_channels;
  double raw_rate;
} options;

/* One file's result, kept until all files before it were printed. */
struct result {
  char *line; /* NULL: failed, and said so */
  bool done;
};

struct job {
  const struct linnet_model *model;
  const char **paths;                      /* (count), or NULL: */
  const struct linnet_data_folder *folder; /* its utterances */
  size_t count;
  bool json;
  FILE *output;
  struct linnet_audio_settings audio;
  pthread_mutex_t mutex; /* protects what follows */
  struct result *results;
  size_t printed, failures;
  double seconds; /* of audio */
  struct tool_progress progress;
};

/* --- one file ----------------------------------------------------------------------------------------------------- */

static enum linnet_status feed(struct linnet_audio *audio, struct linnet_stream *stream, float *samples) {
  for (;;) {
    size_t count = 0;
    enum linnet_status status = linnet_audio_read(audio, samples, CHUNK, &count);
    if (count > 0 && (status == LINNET_OK || status == LINNET_END)) {
      enum linnet_status accepted = linnet_stream_accept(stream, samples, count);
      if (accepted != LINNET_OK)
        return accepted;
    }
    if (status != LINNET_OK)
      return status == LINNET_END ? LINNET_OK : status;
  }
}

static enum linnet_status feed_file(struct linnet_context *context, const struct job *job, const char *path,
                                    struct linnet_stream *stream) {
  struct linnet_audio *audio = NULL;
  float *samples = malloc(CHUNK * sizeof *samples);
  enum linnet_status status = samples ? LINNET_OK : LINNET_ERROR_MEMORY;
  if (status == LINNET_OK)
    status = linnet_audio_open(context, path, &job->audio, &audio);
  if (status == LINNET_OK)
    status = feed(audio, stream, samples);
  linnet_audio_destroy(audio);
  free(samples);
  return status;
}

static enum linnet_status feed_utterance(struct linnet_context *context, const struct job *job, size_t utterance,
                                         struct linnet_stream *stream) {
  float *samples = NULL;
  size_t count = 0;
  enum linnet_status status = linnet_data_folder_audio(job->folder, context, utterance, &job->audio, &samples, &count);
  if (status == LINNET_OK)
    status = linnet_stream_accept(stream, samples, count);
  linnet_audio_release(context, samples);
  return status;
}

static const char *item_name(const struct job *job, size_t item) {
  return job->folder ? linnet_data_folder_id(job->folder, item) : job->paths[item];
}

static enum linnet_status recognise(struct linnet_context *context, const struct job *job, size_t item,
                                    struct linnet_stream *stream) {
  enum linnet_status status =
      job->folder ? feed_utterance(context, job, item, stream) : feed_file(context, job, job->paths[item], stream);
  return status == LINNET_OK ? linnet_stream_finish(stream) : status;
}

/* "AH N D", with the name in front where there are several files, or for a data folder: then it is a Kaldi text. */
static char *format_text(const struct job *job, const char *name, const struct linnet_stream *stream) {
  size_t count = 0, bytes = 0;
  char *line = NULL;
  const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
  FILE *out = open_memstream(&line, &bytes);
  if (!out)
    return NULL;
  if (job->folder)
    fprintf(out, "%s ", name);
  else if (job->count > 1)
    fprintf(out, "%s\t", name);
  for (size_t i = 0; i < count; i++)
    fprintf(out, "%s%s", i > 0 ? " " : "", linnet_model_symbol(job->model, segments[i].symbol));
  fputc('\n', out);
  return fclose(out) == 0 ? line : (free(line), NULL);
}

static json_t *segment_object(const struct job *job, const struct linnet_stream *stream,
                              const struct linnet_segment *segment) {
  double frame = linnet_stream_frame_seconds(stream);
  return json_pack("{s:s, s:f, s:f, s:f}", "symbol", linnet_model_symbol(job->model, segment->symbol), "start",
                   (double)segment->start * frame, "end", (double)segment->end * frame, "confidence",
                   (double)segment->confidence);
}

/* {"file" (or "utterance"): ..., "seconds": ..., "phones": [{"symbol", "start", "end", "confidence"}, ...]} */
static char *format_json(const struct job *job, const char *name, const struct linnet_stream *stream) {
  size_t count = 0;
  const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
  json_t *phones = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(phones, segment_object(job, stream, &segments[i]));
  json_t *object = json_pack("{s:s, s:f, s:o}", job->folder ? "utterance" : "file", name, "seconds",
                             linnet_stream_seconds(stream), "phones", phones);
  char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
  json_decref(object);
  char *line = text ? malloc(strlen(text) + 2) : NULL;
  if (line)
    strcat(strcpy(line, text), "\n");
  free(text);
  return line;
}

/* --- all files ---------------------------------------------------------------------------------------------------- */

/* Prints the lines that are next in the order of the command line. */
static void print_ready(struct job *job) {
  while (job->printed < job->count && job->results[job->printed].done) {
    struct result *result = &job->results[job->printed++];
    if (result->line)
      fputs(result->line, job->output);
    free(result->line);
    result->line = NULL;
  }
  fflush(job->output);
}

static void finish_item(struct job *job, size_t item, char *line, double seconds) {
  pthread_mutex_lock(&job->mutex);
  job->results[item] = (struct result){.line = line, .done = true};
  job->failures += line == NULL;
  job->seconds += seconds;
  tool_progress_add(&job->progress, 1);
  print_ready(job);
  pthread_mutex_unlock(&job->mutex);
}

static int transcribe_item(void *user, size_t item, unsigned worker, struct linnet_context *context) {
  struct job *job = user;
  const char *name = item_name(job, item);
  char *line = NULL;
  double seconds = 0;
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  struct linnet_stream *stream = NULL;
  enum linnet_status status = linnet_stream_create(context, job->model, &stream);
  (void)worker;
  if (status == LINNET_OK)
    status = recognise(context, job, item, stream);
  if (status == LINNET_OK) {
    line = job->json ? format_json(job, name, stream) : format_text(job, name, stream);
    seconds = linnet_stream_seconds(stream);
    if (!line)
      tool_fail("%s: cannot print the result: its name is not UTF-8, or out of memory", name);
  } else {
    tool_fail_context(context);
  }
  linnet_stream_destroy(stream);
  finish_item(job, item, line, seconds);
  return 0;
}

static int report(const struct job *job, int result, double seconds) {
  if (result == TOOL_INTERRUPTED)
    return TOOL_INTERRUPTED;
  if (result != 0)
    return tool_fail("cannot start threads");
  if (job->count > 1 && job->seconds > 0)
    fprintf(stderr, "%zu files, %.1f s of audio in %.2f s (real-time factor %.4f)\n", job->count - job->failures,
            job->seconds, seconds, seconds / job->seconds);
  return job->failures > 0 ? tool_fail("%zu of %zu files failed", job->failures, job->count) : TOOL_OK;
}

static int transcribe_all(struct linnet_context *context, struct job *job) {
  job->results = calloc(job->count, sizeof *job->results);
  if (!job->results)
    return tool_fail("out of memory for %zu files", job->count);
  pthread_mutex_init(&job->mutex, NULL);
  tool_catch_interrupt();
  double started = tool_clock();
  tool_progress_start(&job->progress, "transcribing", "files", (double)job->count);
  int result = tool_parallel(context, job->count, transcribe_item, job);
  tool_progress_finish(&job->progress);
  pthread_mutex_destroy(&job->mutex);
  free(job->results);
  return report(job, result, tool_clock() - started);
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static const struct {
  const char *name;
  enum linnet_sample_format format;
} raw_formats[] = {{"s16le", LINNET_SAMPLE_S16LE}, {"s16be", LINNET_SAMPLE_S16BE}, {"s24le", LINNET_SAMPLE_S24LE},
                   {"s32le", LINNET_SAMPLE_S32LE}, {"f32le", LINNET_SAMPLE_F32LE}, {"u8", LINNET_SAMPLE_U8},
                   {"ulaw", LINNET_SAMPLE_ULAW},   {"alaw", LINNET_SAMPLE_ALAW}};

static bool read_options(struct job *job) {
  linnet_audio_settings_default(&job->audio);
  job->audio.sample_rate = linnet_model_features(job->model)->fbank.sample_rate;
  job->audio.channel = options.channel;
  job->audio.raw_rate = options.raw_rate;
  job->audio.raw_channels = options.raw_channels;
  for (size_t i = 0; options.raw_format && i < sizeof raw_formats / sizeof *raw_formats; i++)
    if (strcmp(options.raw_format, raw_formats[i].name) == 0)
      job->audio.raw_format = raw_formats[i].format;
  if (options.raw_format && job->audio.raw_format == LINNET_SAMPLE_NONE) {
    tool_fail("--raw %s: not one of s16le, s16be, s24le, s32le, f32le, u8, ulaw, alaw", options.raw_format);
    return false;
  }
  job->json = strcmp(options.format, "json") == 0;
  if (!job->json && strcmp(options.format, "text") != 0) {
    tool_fail("--format %s: not one of text, json", options.format);
    return false;
  }
  return true;
}

static int transcribe_to_output(struct linnet_context *context, struct job *job) {
  struct tool_output output;
  if (!read_options(job))
    return TOOL_USAGE;
  if (!tool_output_open(&output, options.output))
    return TOOL_FAILURE;
  job->output = output.stream;
  int code = transcribe_all(context, job);
  /* What failed was named; the rest is worth keeping. */
  if (code == TOOL_INTERRUPTED)
    tool_output_abandon(&output);
  else if (!tool_output_commit(&output))
    code = TOOL_FAILURE;
  return code;
}

static int run(struct linnet_context *context, const char *model_path, const char **paths, size_t count) {
  struct linnet_model *model = NULL;
  struct linnet_data_folder *folder = NULL;
  int code = TOOL_FAILURE;
  if (linnet_model_load(context, model_path, &model) != LINNET_OK ||
      (options.data && linnet_data_folder_open(context, options.data, &folder) != LINNET_OK)) {
    code = tool_fail_context(context);
  } else {
    struct job job = {.model = model, .paths = paths, .folder = folder, .count = count};
    if (folder)
      job.count = linnet_data_folder_count(folder);
    code = transcribe_to_output(context, &job);
  }
  linnet_data_folder_destroy(folder);
  linnet_model_destroy(model);
  return code;
}

int tool_transcribe(int argc, const char **argv) {
  options.format = "text";
  options.output = "-";
  options.channel = LINNET_CHANNEL_MIX;
  options.raw_rate = 16000;
  options.raw_channels = 1;
  const struct poptOption table[] = {
      {"model", 'm', POPT_ARG_STRING, &options.model, 0, "model file (default: the one that ships)", "FILE"},
      {"format", 'f', POPT_ARG_STRING, &options.format, 0, "text (default) or json: one object per line, with times",
       "FORMAT"},
      {"output", 'o', POPT_ARG_STRING, &options.output, 0, "where results go (default: standard output)", "FILE"},
      {"data", 'd', POPT_ARG_STRING, &options.data, 0, "instead of files: the utterances of a Kaldi data folder",
       "DIR"},
      {"channel", 'c', POPT_ARG_INT, &options.channel, 0, "channel to use, from 0 (default: the mean of all)", "N"},
      {"raw", 0, POPT_ARG_STRING, &options.raw_format, 0,
       "input without a header: s16le, s16be, s24le, s32le, f32le, u8, ulaw, alaw", "FORMAT"},
      {"raw-rate", 0, POPT_ARG_DOUBLE, &options.raw_rate, 0, "its sample rate (default 16000)", "HZ"},
      {"raw-channels", 0, POPT_ARG_INT, &options.raw_channels, 0, "its channels (default 1)", "N"},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed = tool_parse(argc, argv, table, "[OPTIONS] FILE...   ('-' is standard input)", NULL, NULL);
  size_t count = 0;
  const char **paths =
      parsed ? tool_arguments(parsed, options.data ? 0 : 1, options.data ? 0 : SIZE_MAX, &count) : NULL;
  struct linnet_context *context = paths ? tool_context() : NULL;
  char *model = context ? tool_find_model(options.model) : NULL;
  int code = model ? run(context, model, paths, count) : paths ? TOOL_FAILURE : TOOL_USAGE;
  free(model);
  linnet_context_destroy(context);
  poptFreeContext(parsed);
  return code;
}
