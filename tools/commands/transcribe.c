/* linnet transcribe: audio files, or the utterances of a data folder, to phonemes, or words, with their times. */

#include "common/beam_options.h"
#include "common/default_model.h"
#include "common/lattices.h"
#include "common/parallel.h"
#include "common/results.h"
#include "common/search.h"
#include "common/word_options.h"

static char *model_option;

struct job {
  struct linnet_recognizer *recognizer;
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
  tool_progress_begin(&job->results.progress, search_options_given() ? &searched : &greedy);
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

static bool check_options(void) {
  return search_options_check(true) && (!beam_options_nbest() || results_take_alternatives());
}

static int run(struct linnet_context *context, const char *model_path, const char **paths, size_t count) {
  struct linnet_search_settings search;
  struct linnet_recognizer_settings settings;
  struct job job = {.recognizer = NULL};
  int code = TOOL_FAILURE;
  search_options_read(&search, true);
  linnet_recognizer_settings_default(&settings);
  settings.model.path = model_path;
  settings.search = &search;
  if (linnet_recognizer_create(context, &settings, &job.recognizer) != LINNET_OK)
    tool_fail_context(context);
  else if (lattices_open(&job.lattices, linnet_recognizer_search(job.recognizer)))
    code = lattices_close(&job.lattices, transcribe_all(context, &job, paths, count));
  linnet_recognizer_destroy(job.recognizer);
  return code;
}

int tool_transcribe(int argc, const char **argv) {
  const struct poptOption table[] = {
      {"model", 'm', POPT_ARG_STRING, &model_option, 0, "model file (default: the one that ships)", "FILE"},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, results_options, 0, "Output:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, beam_options_table, 0, "Beam search (default: greedy decoding):", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, lattices_options, 0, "Lattices:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, word_options_table, 0, "Words:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, inputs_options, 0, "Input:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed = tool_parse(argc, argv, table, "[OPTIONS] FILE...   ('-' is standard input)", NULL, NULL);
  size_t count = 0;
  const char **paths = parsed ? inputs_arguments(parsed, &count) : NULL;
  int code = tool_with_model(model_option, paths && check_options() ? paths : NULL, count, run);
  poptFreeContext(parsed);
  return code;
}
