/* linnet transcribe: audio files, or the utterances of a data folder, to phonemes, or words, with their times. */

#include "common/default_model.h"
#include "common/lattices.h"
#include "common/parallel.h"
#include "common/results.h"
#include "common/search.h"

static char *model_option;

struct job {
  const struct linnet_model *model;
  struct search_setup search; /* if there is one */
  struct inputs inputs;
  struct results results;
  struct lattices lattices;
};

/* One input under way: decoded greedily, or by a beam search. */
struct item {
  struct job *job;
  struct linnet_stream *stream;
  struct search search; /* none: greedy */
};

static const char *symbol_name(const void *user, int symbol) {
  return linnet_model_symbol(user, symbol);
}

static bool collect(struct item *item, struct hypotheses *hypotheses) {
  const struct segment_rule rule = {
      .name = symbol_name, .user = item->job->model, .frame_seconds = linnet_stream_frame_seconds(item->stream)};
  size_t count;
  const struct linnet_segment *segments = linnet_stream_segments(item->stream, &count);
  return search_options_given() ? search_hypotheses(&item->search, &rule, hypotheses)
                                : hypotheses_of_greedy(hypotheses, &rule, segments, count);
}

static void put_result(struct item *item, struct linnet_context *context, size_t index) {
  struct job *job = item->job;
  struct linnet_output output;
  struct hypotheses hypotheses;
  inputs_describe(&job->inputs, index, item->stream, &output);
  bool good = collect(item, &hypotheses);
  if (good)
    hypotheses_describe(&hypotheses, beam_options_nbest(), &output);
  else
    tool_fail("%s: out of memory for the result", output.id);
  good = lattices_put(&job->lattices, context, index, output.id, &item->search) && good;
  results_put(&job->results, index, good ? &output : NULL);
  hypotheses_release(&hypotheses);
}

static int search_frames(void *search, const float *log_posteriors, size_t first, size_t frames) {
  (void)first;
  return search_accept(search, log_posteriors, frames) != LINNET_OK;
}

/* A beam search gets the stream's posteriors. */
static enum linnet_status recognise(struct item *item, struct linnet_context *context, size_t index) {
  const struct job *job = item->job;
  enum linnet_status status = linnet_stream_create(context, job->model, &item->stream);
  if (status == LINNET_OK && search_options_given())
    status = search_create(&item->search, context, &job->search);
  if (status == LINNET_OK && search_options_given())
    linnet_stream_set_sink(item->stream, search_frames, &item->search);
  if (status == LINNET_OK)
    status = inputs_recognise(&job->inputs, context, index, item->stream);
  return status == LINNET_OK && search_options_given() ? search_finish(&item->search) : status;
}

static int transcribe_item(void *user, size_t index, unsigned worker, struct linnet_context *context) {
  static const struct tool_stages greedy = {0.12, 0.97, 1, 1}, searched = {0.1, 0.7, 1, 1};
  struct item item = {.job = user};
  (void)worker;
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  if (results_skip(&item.job->results, index))
    return 0;
  tool_progress_begin(&item.job->results.progress, search_options_given() ? &searched : &greedy);
  int code = 0;
  if (recognise(&item, context, index) == LINNET_OK) {
    put_result(&item, context, index);
  } else if ((code = tool_fail_context(context)) != TOOL_INTERRUPTED) {
    code = 0;
    lattices_put(&item.job->lattices, context, index, NULL, NULL);
    results_put(&item.job->results, index, NULL);
  }
  search_destroy(&item.search);
  linnet_stream_destroy(item.stream);
  return code;
}

static int transcribe_all(struct linnet_context *context, struct job *job, const char **paths, size_t count) {
  int code;
  if (!inputs_open(&job->inputs, context, job->model, paths, count, &code))
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
  struct linnet_model *model = NULL;
  struct job job = {.model = NULL};
  int code = TOOL_FAILURE;
  if (linnet_model_load(context, model_path, &model) != LINNET_OK) {
    tool_fail_context(context);
  } else if (search_setup_open(&job.search, context, symbol_name, model, linnet_model_num_symbols(model),
                               linnet_model_calibrations(model))) {
    job.model = model;
    if (search_open_lattices(&job.search, &job.lattices, symbol_name, model))
      code = lattices_close(&job.lattices, transcribe_all(context, &job, paths, count));
  }
  search_setup_close(&job.search);
  linnet_model_destroy(model);
  return code;
}

int tool_transcribe(int argc, const char **argv) {
  const struct poptOption table[] = {
      {"model", 'm', POPT_ARG_STRING, &model_option, 0, "model file (default: the model that ships)", "FILE"},
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
