/* linnet transcribe: finds phonemes or words, with times, in audio files or in the utterances of a data folder. */

#include "common/collected.h"
#include "common/default_model.h"
#include "common/lattices.h"
#include "common/live.h"
#include "common/parallel.h"
#include "common/results.h"
#include "common/search_options.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *model_option;
static int endpoints_option, live_option;
static double speed_option = TOOL_NOT_GIVEN;

struct job {
  struct linnet_recognizer *recognizer;
  bool searches;  /* not greedy */
  bool divisible; /* --endpoints would recognise each segment by itself */
  struct inputs inputs;
  struct results results;
  struct lattices lattices;
};

static void put_result(struct job *job, struct linnet_context *context, size_t index,
                       struct linnet_recognizer_stream *stream, const struct collected *collected) {
  struct linnet_output output;
  const struct linnet_result *result;
  inputs_describe(&job->inputs, index, stream, &output);
  bool good = linnet_recognizer_stream_result(stream, &result) == LINNET_OK;
  if (!good)
    tool_fail("%s: %s", output.id, linnet_context_error(context));
  else if (endpoints_option)
    collected_describe(collected, &output);
  else
    linnet_result_describe(result, beam_options_nbest(), &output);
  output.seconds = linnet_recognizer_stream_seconds(stream);
  good = lattices_put(&job->lattices, context, index, output.id, linnet_recognizer_stream_search(stream)) && good;
  results_put(&job->results, index, good ? &output : NULL);
}

/* Once, after the first long recording that could be divided. */
static void advise(const struct job *job, const struct linnet_recognizer_stream *stream, size_t index) {
  static atomic_flag advised = ATOMIC_FLAG_INIT;
  const double long_recording = 300; /* seconds */
  const double seconds = linnet_recognizer_stream_seconds(stream);
  if (job->divisible && seconds > long_recording && !atomic_flag_test_and_set(&advised))
    tool_warn("%s: %.0f minutes are one segment: with --endpoints, several speakers are recognised better",
              inputs_id(&job->inputs, index), seconds / 60);
}

static int transcribe_item(void *user, size_t index, unsigned worker, struct linnet_context *context) {
  static const struct tool_stages greedy = {0.12, 0.97, 1, 1}, searched = {0.1, 0.7, 1, 1};
  struct job *job = user;
  struct linnet_recognizer_stream *stream = NULL;
  struct collected collected = {.words = {.spans = NULL}};
  (void)worker;
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  if (results_skip(&job->results, index))
    return 0;
  tool_progress_begin(&job->results.progress, job->searches ? &searched : &greedy);
  int code = 0;
  enum linnet_status status = linnet_recognizer_stream_create(context, job->recognizer, &stream);
  if (status == LINNET_OK && endpoints_option)
    status = linnet_recognizer_stream_set_hook(stream, collected_add, &collected);
  if (status == LINNET_OK)
    status = inputs_recognise(&job->inputs, context, index, stream);
  if (status == LINNET_OK) {
    put_result(job, context, index, stream, &collected);
    advise(job, stream, index);
  } else if ((code = tool_fail_context(context)) != TOOL_INTERRUPTED) {
    code = 0;
    lattices_put(&job->lattices, context, index, NULL, NULL);
    results_put(&job->results, index, NULL);
  }
  linnet_recognizer_stream_destroy(stream);
  collected_release(&collected);
  return code;
}

static int transcribe_inputs(struct linnet_context *context, struct job *job) {
  int code;
  if (results_open(&job->results, &job->inputs, "transcribing", &code))
    code = results_close(&job->results, tool_parallel(context, job->inputs.count, transcribe_item, job));
  return lattices_close(&job->lattices, code, job->results.published);
}

/* The search of the final results. */
static const struct linnet_search *final_search(const struct linnet_recognizer *recognizer) {
  const struct linnet_recognizer *second = linnet_recognizer_second_pass(recognizer);
  return linnet_recognizer_search(second ? second : recognizer);
}

static int transcribe_all(struct linnet_context *context, struct job *job, const char **paths, size_t count) {
  int code;
  if (!inputs_open(&job->inputs, context, job->recognizer, paths, count, &code))
    return code;
  code = TOOL_FAILURE;
  if ((!lattices_path() || results_check_ids(&job->inputs, "--lattice")) &&
      lattices_open(&job->lattices, final_search(job->recognizer)))
    code = transcribe_inputs(context, job);
  inputs_close(&job->inputs);
  return code;
}

static bool check_options(const char *path) {
  if (speed_option != TOOL_NOT_GIVEN) {
    tool_usage("--live-speed %g: needs --live", speed_option);
    return false;
  }
  if (endpoints_option && (beam_options_nbest() || lattices_path())) {
    tool_usage("--endpoints: it joins the best hypotheses of the segments: omit --nbest and --lattice");
    return false;
  }
  return results_check_standard() && recognizer_options_check(path) &&
         (!beam_options_nbest() || results_take_alternatives());
}

/* A file is one segment unless the options say otherwise; nobody sees partial results. */
static void set_endpoints(struct linnet_recognizer_settings *settings, struct linnet_endpoint_settings *defaults) {
  linnet_endpoint_settings_default(defaults);
  if (!endpoints_option)
    settings->endpoint = NULL;
  else if (!settings->endpoint)
    settings->endpoint = defaults;
  settings->partial_interval = endpoints_option ? (double)INFINITY : 0;
}

/* The features and the network of a model that is not causal depend on all of a recording, on other speakers, too. With
 * --endpoints, such a recognizer therefore recognises each segment again, with some seconds before it. The pauses are
 * found in a first pass, by another recognizer or itself. */
static bool fits_passes(const char *path) {
  return tool_names_recognizer(path) && recognizer_options_default() && !recognizer_options_ensemble();
}

static bool takes_passes(const char *path) {
  return endpoints_option && fits_passes(path);
}

/* Whether results come only at the end of the audio; false after printing an error, with *code. */
static bool hears_all_first(struct linnet_context *context, const char *path, int *code) {
  struct linnet_recognizer *greedy = tool_open_recognizer(context, path, NULL, NULL, code);
  const bool all = greedy && !linnet_recognizer_is_incremental(greedy);
  linnet_recognizer_destroy(greedy);
  return all;
}

/* Whether --words changes the search of a recognizer for phones. */
static bool changes_search(const struct recognizer_options *options) {
  struct linnet_search_settings search;
  linnet_recognizer_file_search_settings(options->file, &search);
  return word_options_given() && search.kind != LINNET_SEARCH_WORDS;
}

/* `first` is the recognizer of the options, `path` the one that gives the results. */
static int choose_passes(struct linnet_context *context, struct recognizer_options *options, const char *first,
                         const char *path) {
  int code = TOOL_OK;
  if (takes_passes(path) && !options->settings.second_pass && !changes_search(options) &&
      (strcmp(first, path) != 0 || hears_all_first(context, path, &code)))
    options->settings.second_pass = path;
  return code;
}

static int run_passes(struct linnet_context *context, const char *first, const char *path, const char **paths,
                      size_t count) {
  struct recognizer_options options;
  struct linnet_endpoint_settings endpoint;
  struct job job = {.recognizer = NULL};
  int code = recognizer_options_read(&options, context, first);
  if (code == TOOL_OK)
    code = choose_passes(context, &options, first, path);
  if (code == TOOL_OK) {
    set_endpoints(&options.settings, &endpoint);
    job.searches = options.search.kind != LINNET_SEARCH_GREEDY;
    job.recognizer = recognizer_options_create(&options, context, first);
    job.divisible = job.recognizer && !endpoints_option && fits_passes(path) && !beam_options_nbest() &&
                    !linnet_recognizer_is_incremental(job.recognizer);
    code = job.recognizer ? transcribe_all(context, &job, paths, count) : TOOL_FAILURE;
  }
  linnet_recognizer_destroy(job.recognizer);
  recognizer_options_release(&options);
  return code;
}

static int run(struct linnet_context *context, const char *path, const char **paths, size_t count) {
  char *first = takes_passes(path) ? tool_find_first_pass(path) : strdup(path);
  if (!first)
    return tool_fail("out of memory for a path");
  if (strcmp(first, path) != 0)
    tool_add_recognizer_inputs(context, path);
  const int code = run_passes(context, first, path, paths, count);
  free(first);
  return code;
}

/* --- live ------------------------------------------------------------------------------------------------------- */

static int listen_to_file(struct live *live, const char **paths) {
  struct inputs inputs;
  struct linnet_audio *audio = NULL;
  int code;
  if (!inputs_open(&inputs, live->context, live->recognizer, paths, 1, &code))
    return code;
  if (audio_options_name(live->reading, inputs_open_audio(&inputs, live->reading, 0, &audio)) == LINNET_OK)
    code = live_run(live, audio, paths[0], true);
  else
    code = tool_fail_context(live->reading);
  linnet_audio_destroy(audio);
  inputs_close(&inputs);
  return code;
}

static bool is_pipe(const char *path) {
  struct stat status;
  return stat(strcmp(path, "-") == 0 ? "/dev/stdin" : path, &status) == 0 &&
         (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

static bool check_live_options(const char **paths, size_t count, bool *json) {
  if (!results_are_lines(json))
    return false;
  if (count != 1 || inputs_are_many())
    tool_usage("--live: one file at a time");
  else if (is_pipe(paths[0]) && !inputs_are_raw())
    tool_usage(INPUTS_NEED_RAW, paths[0]);
  else if (endpoints_option)
    tool_usage("only one of --live and --endpoints: live results always have endpoints");
  else if (speed_option != TOOL_NOT_GIVEN && !(speed_option >= 0))
    tool_usage("--live-speed %g: must be at least 0", speed_option);
  else if (beam_options_nbest() || lattices_path())
    tool_usage("--live: results hold only the best hypothesis: omit --nbest and --lattice");
  else
    return true;
  return false;
}

static int run_live(const char **paths, size_t count) {
  struct live live = {.speed = speed_option == TOOL_NOT_GIVEN ? 1 : speed_option};
  if (!check_live_options(paths, count, &live.json))
    return TOOL_USAGE;
  char *path = tool_find_live_recognizer(model_option);
  int code = path ? TOOL_USAGE : TOOL_FAILURE;
  if (path && recognizer_options_check(path)) {
    code = live_open(&live, path);
    if (code == TOOL_OK)
      code = listen_to_file(&live, paths);
    live_close(&live);
  }
  free(path);
  return code;
}

/* ------------------------------------------------------------------------------------------------------------------ */

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
      {"model", 'm', TOOL_INPUT, &model_option, 0,
       "model file (phones), folder of a recognizer, or the name of an installed one, such as english-live (default: "
       "$LINNET_MODEL, else the recognizer that ships: english, with --live english-live)",
       "PATH"},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, recognizer_options_table, 0, NULL, NULL},
      {"endpoints", 0, POPT_ARG_NONE, &endpoints_option, 0,
       "divide recordings at pauses, as live audio; a model that is not causal recognises each segment again, with at "
       "most 10 s before it: for long recordings, several speakers and little memory (default: a recording is one "
       "segment)",
       NULL},
      {"live", 0, POPT_ARG_NONE, &live_option, 0,
       "recognise one file as if it were spoken now, and print results as they come; needs a causal model (default: "
       "print a result at the end of each file)",
       NULL},
      {"live-speed", 0, POPT_ARG_DOUBLE, &speed_option, 0,
       "with --live: X times as fast as speech; 0: without waiting (default 1)", "X"},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, results_options(), 0, "Output:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, beam_nbest_table, 0, NULL, NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, beam_options_table, 0,
       "Search (default: as the recognizer says; with --phones, and of a model alone, greedy):", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, lattices_options, 0, "Lattices:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, word_options_table, 0, "Words (default: as the recognizer says):", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, inputs_options, 0, "Input:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed = tool_parse(argc, argv, table, "[OPTIONS] FILE...   ('-' is standard input)", NULL, NULL);
  size_t count = 0;
  const char **paths = parsed ? inputs_arguments(parsed, &count) : NULL;
  int code = live_option && paths ? run_live(paths, count) : check_and_run(paths, count);
  poptFreeContext(parsed);
  return code;
}
