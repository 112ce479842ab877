/* linnet transcribe: audio files, or the utterances of a data folder, to phonemes, as text or as JSON lines with
 * times. */
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "beam_options.h"
#include "default_model.h"
#include "parallel.h"
#include "recognise.h"
#include "tool.h"

static struct { char *model, *format, *data, *output; } options;

/* One file's result, kept until all files before it were printed. */
struct result {
  char *line; /* NULL: failed, and said so */
  bool done;
};

struct job {
  const struct linnet_model *model;
  struct recognise_input input;
  bool json;
  FILE *output;
  pthread_mutex_t mutex; /* protects what follows */
  struct result *results;
  size_t printed, failures;
  double seconds; /* of audio */
  struct tool_progress progress;
};

/* --- one file ----------------------------------------------------------------------------------------------------- */

/* What was recognised: greedily, or by a beam search, which may have several hypotheses. */
struct recognised {
  const char *name;
  const struct linnet_stream *stream;
  struct linnet_beam *beam; /* NULL: greedy */
};

/* Hypothesis `index`; greedy decoding has one, without scores. */
static bool hypothesis_at(const struct recognised *r, size_t index, struct linnet_hypothesis *h) {
  if (r->beam)
    return linnet_beam_hypothesis(r->beam, index, h) == LINNET_OK;
  *h = (struct linnet_hypothesis){0};
  h->segments = linnet_stream_segments(r->stream, &h->count);
  return true;
}

static const char *symbol_name(const void *user, int symbol) {
  return linnet_model_symbol(user, symbol);
}

/* "AH N D", with the name in front where there are several files, or for a data folder: then it is a Kaldi text. Of
 * several hypotheses each has a line, with its rank behind the name. */
static bool write_text(const struct job *job, const struct recognised *r, FILE *out) {
  struct linnet_hypothesis h;
  size_t count = r->beam ? beam_options_count(r->beam) : 1;
  bool named = job->input.folder || job->input.count > 1 || beam_options_nbest();
  for (size_t i = 0; i < count; i++) {
    if (!hypothesis_at(r, i, &h))
      return false;
    if (named)
      fprintf(out, "%s", r->name);
    if (beam_options_nbest())
      fprintf(out, "-%zu", i + 1);
    if (named)
      fputc(job->input.folder ? ' ' : '\t', out);
    beam_options_write_symbols(out, &h, symbol_name, job->model);
    fputc('\n', out);
  }
  return true;
}

static char *format_text(const struct job *job, const struct recognised *r) {
  size_t bytes = 0;
  char *line = NULL;
  FILE *out = open_memstream(&line, &bytes);
  if (!out)
    return NULL;
  bool good = write_text(job, r, out);
  return fclose(out) == 0 && good ? line : (free(line), NULL);
}

/* {"file" (or "utterance"): ..., "seconds": ..., "phones": [{"symbol", "start", "end", "confidence"}, ...]}, and with
 * --nbest "hypotheses": [{"score", "acoustic", "language", "phones"}, ...]. */
static char *format_json(const struct job *job, const struct recognised *r) {
  struct linnet_hypothesis h;
  double frame = linnet_stream_frame_seconds(r->stream);
  if (!hypothesis_at(r, 0, &h))
    return NULL;
  json_t *object =
      json_pack("{s:s, s:f, s:o}", job->input.folder ? "utterance" : "file", r->name, "seconds",
                linnet_stream_seconds(r->stream), "phones", beam_options_segments(&h, symbol_name, job->model, frame));
  if (object && r->beam && beam_options_nbest())
    json_object_set_new(object, "hypotheses",
                        beam_options_hypotheses(r->beam, "phones", symbol_name, job->model, frame));
  char *line = beam_options_json_line(object);
  json_decref(object);
  return line;
}

/* --- all files ---------------------------------------------------------------------------------------------------- */

/* Prints the lines that are next in the order of the command line. */
static void print_ready(struct job *job) {
  while (job->printed < job->input.count && job->results[job->printed].done) {
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

static int search_frames(void *beam, const float *log_posteriors, size_t first, size_t frames) {
  (void)first;
  return linnet_beam_accept(beam, log_posteriors, frames) != LINNET_OK;
}

/* A beam search that gets the stream's posteriors. */
static enum linnet_status search_along(struct linnet_context *context, const struct linnet_model *model,
                                       struct linnet_stream *stream, struct linnet_beam **beam) {
  struct linnet_beam_settings settings;
  beam_options_settings(&settings);
  enum linnet_status status = linnet_beam_create(context, linnet_model_num_symbols(model), &settings, beam);
  if (status == LINNET_OK)
    linnet_stream_set_sink(stream, search_frames, *beam);
  return status;
}

static int transcribe_item(void *user, size_t item, unsigned worker, struct linnet_context *context) {
  struct job *job = user;
  char *line = NULL;
  double seconds = 0;
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  struct linnet_stream *stream = NULL;
  struct linnet_beam *beam = NULL;
  enum linnet_status status = linnet_stream_create(context, job->model, &stream);
  (void)worker;
  if (status == LINNET_OK && beam_options_given())
    status = search_along(context, job->model, stream, &beam);
  if (status == LINNET_OK)
    status = recognise(context, &job->input, item, stream);
  if (status == LINNET_OK && beam)
    status = linnet_beam_finish(beam);
  if (status == LINNET_OK) {
    struct recognised recognised = {recognise_name(&job->input, item), stream, beam};
    line = job->json ? format_json(job, &recognised) : format_text(job, &recognised);
    seconds = linnet_stream_seconds(stream);
    if (!line)
      tool_fail("%s: cannot print the result: its name is not UTF-8, or out of memory", recognised.name);
  } else {
    tool_fail_context(context);
  }
  linnet_beam_destroy(beam);
  linnet_stream_destroy(stream);
  finish_item(job, item, line, seconds);
  return 0;
}

static int report(const struct job *job, int result, double seconds) {
  if (result == TOOL_INTERRUPTED)
    return TOOL_INTERRUPTED;
  if (result != 0)
    return tool_fail("cannot start threads");
  if (job->input.count > 1 && job->seconds > 0)
    fprintf(stderr, "%zu files, %.1f s of audio in %.2f s (real-time factor %.4f)\n", job->input.count - job->failures,
            job->seconds, seconds, seconds / job->seconds);
  return job->failures > 0 ? tool_fail("%zu of %zu files failed", job->failures, job->input.count) : TOOL_OK;
}

static int transcribe_all(struct linnet_context *context, struct job *job) {
  job->results = calloc(job->input.count, sizeof *job->results);
  if (!job->results)
    return tool_fail("out of memory for %zu files", job->input.count);
  pthread_mutex_init(&job->mutex, NULL);
  tool_catch_interrupt();
  double started = tool_clock();
  tool_progress_start(&job->progress, "transcribing", "files", (double)job->input.count);
  int result = tool_parallel(context, job->input.count, transcribe_item, job);
  tool_progress_finish(&job->progress);
  pthread_mutex_destroy(&job->mutex);
  free(job->results);
  return report(job, result, tool_clock() - started);
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static bool read_options(struct job *job) {
  if (!recognise_audio(job->model, &job->input.audio) || !beam_options_check())
    return false;
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
    struct job job = {.model = model, .input = {.paths = paths, .folder = folder, .count = count}};
    if (folder)
      job.input.count = linnet_data_folder_count(folder);
    code = transcribe_to_output(context, &job);
  }
  linnet_data_folder_destroy(folder);
  linnet_model_destroy(model);
  return code;
}

int tool_transcribe(int argc, const char **argv) {
  options.format = "text";
  options.output = "-";
  const struct poptOption table[] = {
      {"model", 'm', POPT_ARG_STRING, &options.model, 0, "model file (default: the one that ships)", "FILE"},
      {"format", 'f', POPT_ARG_STRING, &options.format, 0, "text (default) or json: one object per line, with times",
       "FORMAT"},
      {"output", 'o', POPT_ARG_STRING, &options.output, 0, "where results go (default: standard output)", "FILE"},
      {"data", 'd', POPT_ARG_STRING, &options.data, 0, "instead of files: the utterances of a Kaldi data folder",
       "DIR"},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, beam_options_table, 0, "Beam search (default: greedy decoding):", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, recognise_audio_options, 0, "Audio:", NULL},
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
