/* linnet transcribe: audio files to phonemes, as text or as JSON lines with times. */
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/linnet.h>

#include "default_model.h"
#include "parallel.h"
#include "tool.h"

enum { CHUNK = 1 << 16 }; /* samples read at once */

static struct {
  char *model, *format, *raw_format;
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
  const char **paths;
  size_t count;
  bool json;
  struct linnet_audio_settings audio;
  pthread_mutex_t mutex;          /* protects what follows */
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

static enum linnet_status recognise(struct linnet_context *context, const struct job *job, const char *path,
                                    struct linnet_stream *stream) {
  struct linnet_audio *audio = NULL;
  float *samples = malloc(CHUNK * sizeof *samples);
  enum linnet_status status = samples ? LINNET_OK : LINNET_ERROR_MEMORY;
  linnet_stream_reset(stream);
  if (status == LINNET_OK)
    status = linnet_audio_open(context, path, &job->audio, &audio);
  if (status == LINNET_OK)
    status = feed(audio, stream, samples);
  if (status == LINNET_OK)
    status = linnet_stream_finish(stream);
  linnet_audio_destroy(audio);
  free(samples);
  return status;
}

/* "AH N D", with the path in front where there are several files. */
static char *format_text(const struct job *job, const char *path, const struct linnet_stream *stream) {
  size_t count = 0, bytes = 0;
  char *line = NULL;
  const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
  FILE *out = open_memstream(&line, &bytes);
  if (!out)
    return NULL;
  if (job->count > 1)
    fprintf(out, "%s\t", path);
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

/* {"file": ..., "seconds": ..., "phones": [{"symbol", "start", "end", "confidence"}, ...]} */
static char *format_json(const struct job *job, const char *path, const struct linnet_stream *stream) {
  size_t count = 0;
  const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
  json_t *phones = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(phones, segment_object(job, stream, &segments[i]));
  json_t *object = json_pack("{s:s+, s:f, s:o}", "file", path, "", "seconds", linnet_stream_seconds(stream), "phones",
                             phones);
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
      fputs(result->line, stdout);
    free(result->line);
    result->line = NULL;
  }
  fflush(stdout);
}

static void finish_file(struct job *job, size_t file, char *line, double seconds) {
  pthread_mutex_lock(&job->mutex);
  job->results[file] = (struct result){.line = line, .done = true};
  job->failures += line == NULL;
  job->seconds += seconds;
  tool_progress_add(&job->progress, 1);
  print_ready(job);
  pthread_mutex_unlock(&job->mutex);
}

static int transcribe_file(void *user, size_t file, unsigned worker, struct linnet_context *context) {
  struct job *job = user;
  const char *path = job->paths[file];
  char *line = NULL;
  double seconds = 0;
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  struct linnet_stream *stream = NULL;
  enum linnet_status status = linnet_stream_create(context, job->model, &stream);
  (void)worker;
  if (status == LINNET_OK)
    status = recognise(context, job, path, stream);
  if (status == LINNET_OK) {
    line = job->json ? format_json(job, path, stream) : format_text(job, path, stream);
    seconds = linnet_stream_seconds(stream);
    if (!line)
      tool_fail("%s: cannot print the result: its name is not UTF-8, or out of memory", path);
  } else {
    tool_fail_context(context);
  }
  linnet_stream_destroy(stream);
  finish_file(job, file, line, seconds);
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
  int result = tool_parallel(context, job->count, transcribe_file, job);
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

static int run(struct linnet_context *context, const char *model_path, const char **paths, size_t count) {
  struct linnet_model *model = NULL;
  if (linnet_model_load(context, model_path, &model) != LINNET_OK)
    return tool_fail_context(context);
  struct job job = {.model = model, .paths = paths, .count = count};
  int code = read_options(&job) ? transcribe_all(context, &job) : TOOL_USAGE;
  linnet_model_destroy(model);
  return code;
}

int tool_transcribe(int argc, const char **argv) {
  options.format = "text";
  options.channel = LINNET_CHANNEL_MIX;
  options.raw_rate = 16000;
  options.raw_channels = 1;
  const struct poptOption table[] = {
      {"model", 'm', POPT_ARG_STRING, &options.model, 0, "model file (default: the one that ships)", "FILE"},
      {"format", 'f', POPT_ARG_STRING, &options.format, 0, "text (default) or json: one object per line, with times",
       "FORMAT"},
      {"channel", 'c', POPT_ARG_INT, &options.channel, 0, "channel to use, from 0 (default: the mean of all)", "N"},
      {"raw", 0, POPT_ARG_STRING, &options.raw_format, 0,
       "input without a header: s16le, s16be, s24le, s32le, f32le, u8, ulaw, alaw", "FORMAT"},
      {"raw-rate", 0, POPT_ARG_DOUBLE, &options.raw_rate, 0, "its sample rate (default 16000)", "HZ"},
      {"raw-channels", 0, POPT_ARG_INT, &options.raw_channels, 0, "its channels (default 1)", "N"},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed = tool_parse(argc, argv, table, "[OPTIONS] FILE...   ('-' is standard input)", NULL, NULL);
  size_t count = 0;
  const char **paths = parsed ? tool_arguments(parsed, 1, SIZE_MAX, &count) : NULL;
  struct linnet_context *context = paths ? tool_context() : NULL;
  char *model = context ? tool_find_model(options.model) : NULL;
  int code = model ? run(context, model, paths, count) : paths ? TOOL_FAILURE : TOOL_USAGE;
  free(model);
  linnet_context_destroy(context);
  poptFreeContext(parsed);
  return code;
}
