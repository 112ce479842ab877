/* linnet transcribe: finds phonemes or words, with times, in audio files or in the utterances of a data folder. */

#include "common/beam_options.h"
#include "common/default_model.h"
#include "common/lattices.h"
#include "common/parallel.h"
#include "common/results.h"
#include "common/search_options.h"
#include "common/word_options.h"

#include <stdlib.h>

static char *model_option;
static int phones_option;

struct job {
  struct linnet_recognizer *recognizer;
  bool searches; /* not greedy */
  struct inputs inputs;
  struct results results;
  struct lattices lattices;
};

static void put_result(struct job *job, struct linnet_context *context, size_t index,
                       struct linnet_recognizer_stream *stream) {
  struct linnet_output output;
  const struct linnet_result *result;
  inputs_describe(&job->inputs, index, stream, &output);
  bool good = linnet_recognizer_stream_result(stream, &result) == LINNET_OK;
  if (good)
    linnet_result_describe(result, beam_options_nbest(), &output);
  else
    tool_fail("%s: %s", output.id, linnet_context_error(context));
  good = lattices_put(&job->lattices, context, index, output.id, linnet_recognizer_stream_search(stream)) && good;
  results_put(&job->results, index, good ? &output : NULL);
}

static int transcribe_item(void *user, size_t index, unsigned worker, struct linnet_context *context) {
  static const struct tool_stages greedy = {0.12, 0.97, 1, 1}, searched = {0.1, 0.7, 1, 1};
  struct job *job = user;
  struct linnet_recognizer_stream *stream = NULL;
  (void)worker;
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  if (results_skip(&job->results, index))
    return 0;
  tool_progress_begin(&job->results.progress, job->searches ? &searched : &greedy);
  int code = 0;
  enum linnet_status status = linnet_recognizer_stream_create(context, job->recognizer, &stream);
  if (status == LINNET_OK)
    status = inputs_recognise(&job->inputs, context, index, stream);
  if (status == LINNET_OK) {
    put_result(job, context, index, stream);
  } else if ((code = tool_fail_context(context)) != TOOL_INTERRUPTED) {
    code = 0;
    lattices_put(&job->lattices, context, index, NULL, NULL);
    results_put(&job->results, index, NULL);
  }
  linnet_recognizer_stream_destroy(stream);
  return code;
}

static int transcribe_all(struct linnet_context *context, struct job *job, const char **paths, size_t count) {
  int code;
  if (!inputs_open(&job->inputs, context, job->recognizer, paths, count, &code))
    return code;
  if (results_open(&job->results, &job->inputs, "transcribing", &code))
    code = results_close(&job->results, tool_parallel(context, job->inputs.count, transcribe_item, job));
  inputs_close(&job->inputs);
  return code;
}

/* Whether the options ask for words, or for other results of a recognizer. */
static bool takes_recognizer(const char *path) {
  return !phones_option && tool_names_recognizer(path);
}

static bool check_options(const char *path) {
  if (phones_option && word_options_given()) {
    tool_usage("only one of --phones and --words");
    return false;
  }
  return search_options_check(true, takes_recognizer(path)) && (!beam_options_nbest() || results_take_alternatives());
}

/* Loads the settings of the recognizer or model at `path` and applies the options. */
static bool read_settings(struct linnet_context *context, const char *path, struct linnet_recognizer_file **file,
                          struct linnet_recognizer_settings *settings, struct linnet_search_settings *search) {
  linnet_search_settings_default(search);
  if (!tool_load_settings(context, path, file, settings))
    return false;
  if (takes_recognizer(path))
    *search = *settings->search;
  settings->search = search;
  return search_options_read(search, true);
}

static int run(struct linnet_context *context, const char *path, const char **paths, size_t count) {
  struct linnet_recognizer_file *file = NULL;
  struct linnet_search_settings search;
  struct linnet_recognizer_settings settings;
  struct job job = {.recognizer = NULL};
  int code = TOOL_FAILURE;
  if (!read_settings(context, path, &file, &settings, &search))
    return code;
  job.searches = search.kind != LINNET_SEARCH_GREEDY;
  if (linnet_recognizer_create(context, &settings, &job.recognizer) != LINNET_OK)
    tool_fail_context(context);
  else if (lattices_open(&job.lattices, linnet_recognizer_search(job.recognizer)))
    code = lattices_close(&job.lattices, transcribe_all(context, &job, paths, count));
  linnet_recognizer_destroy(job.recognizer);
  linnet_recognizer_file_destroy(file);
  return code;
}

static int check_and_run(const char **paths, size_t count) {
  char *path = paths ? tool_find_recognizer(model_option) : NULL;
  int code = paths && !path ? TOOL_FAILURE : TOOL_USAGE;
  if (path && check_options(path)) {
    struct linnet_context *context = tool_context();
    code = context ? run(context, path, paths, count) : TOOL_FAILURE;
    linnet_context_destroy(context);
  }
  free(path);
  return code;
}

int tool_transcribe(int argc, const char **argv) {
  const struct poptOption table[] = {
      {"model", 'm', POPT_ARG_STRING, &model_option, 0,
       "model file (phones), or folder of a recognizer (default: the recognizer that ships)", "PATH"},
      {"phones", 0, POPT_ARG_NONE, &phones_option, 0, "recognise phones with the model of a recognizer", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, results_options(), 0, "Output:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, beam_options_table, 0,
       "Search (default: as the recognizer says; of a model alone greedy):", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, lattices_options, 0, "Lattices:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, word_options_table, 0, "Words:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, inputs_options, 0, "Input:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed = tool_parse(argc, argv, table, "[OPTIONS] FILE...   ('-' is standard input)", NULL, NULL);
  size_t count = 0;
  const char **paths = parsed ? inputs_arguments(parsed, &count) : NULL;
  int code = check_and_run(paths, count);
  poptFreeContext(parsed);
  return code;
}
