/* linnet decode: log-posteriors in Kaldi archives, of any system, to symbols by a prefix beam search, or to words. */
#define _GNU_SOURCE /* tdestroy */
#include <math.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/kaldi.h>
#include <linnet/lexicon.h>

#include "base/numbers.h"
#include "common/journal.h"
#include "common/lattices.h"
#include "common/matrix_source.h"
#include "common/parallel.h"
#include "common/results.h"
#include "common/search_options.h"
#include "common/separate.h"

static struct {
  char *symbols, *format, *output;
  int resume, run_commands;
  double frame_shift; /* ms */
} options = {.frame_shift = TOOL_NOT_GIVEN};

/* --- decoding ----------------------------------------------------------------------------------------------------- */

struct decoding {
  const struct linnet_symbols *symbols;
  struct linnet_search *search;
  const struct linnet_output_format *format;
  bool json;       /* writes scores also if there is only one hypothesis */
  bool journalled; /* writes results to `journal` at once, else to `ordered` */
  struct journal journal;
  struct ordered ordered;
  struct lattices lattices;
  pthread_mutex_t mutex; /* protects what follows */
  struct matrix_source source;
  void *keys;   /* of the utterances so far: a tree of tsearch */
  bool stopped; /* a thread failed */
  size_t utterances, frames, skipped;
  double seconds; /* of searching, summed over threads */
};

/* The search of a thread, and its current utterance. */
struct worker {
  struct decoding *decoding;
  struct linnet_context *context;
  struct linnet_search_stream *search;
  struct linnet_matrix matrix;
  double frame_seconds; /* 0: unknown and not needed */
  char *key;            /* NULL: there are no more */
  size_t item;
};

/* --- one utterance ------------------------------------------------------------------------------------------------ */

static enum linnet_status write_hypotheses(struct worker *w, FILE *stream) {
  const struct decoding *d = w->decoding;
  const struct linnet_result *result;
  struct linnet_output output = {.size = sizeof output, .id = w->key};
  enum linnet_status status = linnet_search_stream_result(w->search, w->frame_seconds, &result);
  if (status != LINNET_OK)
    return status;
  linnet_result_describe(result, beam_options_nbest() || d->json, &output);
  return linnet_output_write(d->format, &output, tool_write_piece, stream);
}

static int put_result(struct worker *w) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *stream = open_memstream(&text, &bytes);
  enum linnet_status status = stream ? write_hypotheses(w, stream) : LINNET_ERROR_MEMORY;
  if (stream && fclose(stream) != 0)
    status = LINNET_ERROR_MEMORY;
  if (status == LINNET_OK && !w->decoding->journalled)
    return ordered_put(&w->decoding->ordered, w->item, text, bytes) ? TOOL_OK : TOOL_FAILURE;
  bool good = status == LINNET_OK && journal_put(&w->decoding->journal, w->item, text, bytes);
  free(text);
  if (status == LINNET_OK)
    return good ? TOOL_OK : TOOL_FAILURE;
  return tool_fail("%s: cannot write the result: %s", w->key, linnet_status_string(status));
}

static void add_seconds(struct decoding *d, double seconds) {
  pthread_mutex_lock(&d->mutex);
  d->seconds += seconds;
  pthread_mutex_unlock(&d->mutex);
}

/* Whether an earlier run has already written the result of the utterance. */
static bool skip(struct worker *w) {
  struct decoding *d = w->decoding;
  char *key = options.resume ? journal_key(&d->journal, w->key) : NULL;
  bool found = key && journal_claim(&d->journal, key, w->item);
  free(key);
  pthread_mutex_lock(&d->mutex);
  d->skipped += found;
  pthread_mutex_unlock(&d->mutex);
  return found;
}

/* Whether each row sums to 1, as probabilities do whose logarithms were not taken. */
static bool are_probabilities(const struct linnet_matrix *matrix) {
  for (size_t i = 0; i < matrix->rows; i++) {
    double sum = 0;
    for (size_t k = 0; k < matrix->cols; k++) {
      const float value = matrix->values[i * matrix->cols + k];
      if (!(value >= 0))
        return false;
      sum += (double)value;
    }
    if (!(fabs(sum - 1) < 0.01))
      return false;
  }
  return matrix->rows > 0;
}

/* Fails for posteriors that are no logarithms: probabilities, NaN, or plus infinity. */
static int check_posteriors(const struct worker *w) {
  const struct linnet_matrix *matrix = &w->matrix;
  if (are_probabilities(matrix))
    return tool_fail("%s: has probabilities: write their natural logarithms (Kaldi: copy-matrix --apply-log=true)",
                     w->key);
  for (size_t i = 0; i < matrix->rows * matrix->cols; i++)
    if (!(matrix->values[i] < INFINITY))
      return tool_fail("%s: row %zu, column %zu ('%s') is %g, which is no log-posterior: make the archive again",
                       w->key, i / matrix->cols, i % matrix->cols,
                       linnet_symbols_name(w->decoding->symbols, (int)(i % matrix->cols)), (double)matrix->values[i]);
  return TOOL_OK;
}

static int decode_matrix(struct worker *w) {
  struct decoding *d = w->decoding;
  const struct linnet_matrix *matrix = &w->matrix;
  size_t symbols = linnet_symbols_num_symbols(d->symbols);
  if (matrix->rows > 0 && matrix->cols != symbols)
    return tool_fail("%s: the rows have %zu posteriors, but %s has %zu symbols with the blank: its first line must be "
                     "the blank, as <blk> or any name with index 0",
                     w->key, matrix->cols, options.symbols, symbols);
  if (check_posteriors(w) != TOOL_OK)
    return TOOL_FAILURE;
  if (skip(w))
    return TOOL_OK;
  double started = tool_clock();
  linnet_search_stream_reset(w->search);
  if (linnet_search_stream_accept(w->search, matrix->values, matrix->rows) != LINNET_OK ||
      linnet_search_stream_finish(w->search) != LINNET_OK)
    return tool_fail_context(w->context);
  add_seconds(d, tool_clock() - started);
  return lattices_put(&d->lattices, w->context, w->item, w->key, w->search) ? put_result(w) : TOOL_FAILURE;
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

/* Gets the frame shift of the matrix that was read last, if the format has times. The caller holds the mutex. */
static int find_frame_shift(struct decoding *d, const char *key, double *seconds) {
  *seconds = 0;
  if (!linnet_output_format_has_times(d->format))
    return TOOL_OK;
  if (options.frame_shift != TOOL_NOT_GIVEN)
    *seconds = options.frame_shift / 1000;
  else if (matrix_source_frame_shift(&d->source, seconds) != LINNET_OK)
    return tool_fail_context(d->source.context);
  if (*seconds > 0)
    return TOOL_OK;
  return tool_usage("%s: %s: the times of --format %s need the frame shift: ARK.frame_shift, which 'linnet posteriors' "
                    "writes beside the archive, is missing; give --frame-shift MS",
                    d->source.inputs[d->source.input], key, options.format);
}

static int compare_keys(const void *a, const void *b) {
  return strcmp(a, b);
}

/* Two results with the same name could not be scored. The caller holds the mutex. */
static int remember(struct decoding *d, const char *key) {
  char *copy = strdup(key), **node = copy ? tsearch(copy, &d->keys, compare_keys) : NULL;
  const bool fresh = node && *node == copy;
  if (!fresh)
    free(copy);
  return fresh   ? TOOL_OK
         : !node ? tool_fail("%s: out of memory", key)
                 : tool_fail("%s: %s: an utterance of this name came before: name each archive once",
                             d->source.inputs[d->source.input], key);
}

/* Gives the next utterance to the worker. The caller holds the mutex. */
static int take_next(struct decoding *d, struct worker *w) {
  const char *key;
  if (d->stopped)
    return TOOL_OK;
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  enum linnet_status status = matrix_source_next(&d->source, &key, &w->matrix);
  if (status == LINNET_END)
    return TOOL_OK;
  if (status != LINNET_OK)
    return tool_interrupted() ? TOOL_INTERRUPTED : TOOL_FAILURE;
  int code = remember(d, key);
  if (code == TOOL_OK)
    code = find_frame_shift(d, key, &w->frame_seconds);
  if (code != TOOL_OK)
    return code;
  tool_note("%s: %zu frames", key, w->matrix.rows);
  w->key = strdup(key);
  w->item = d->utterances++;
  d->frames += w->matrix.rows;
  return w->key ? TOOL_OK : tool_fail("%s: out of memory", key);
}

static int next(struct worker *w) {
  struct decoding *d = w->decoding;
  free(w->key);
  w->key = NULL;
  pthread_mutex_lock(&d->mutex);
  int code = take_next(d, w);
  d->stopped = d->stopped || code != TOOL_OK;
  pthread_mutex_unlock(&d->mutex);
  return code;
}

/* Matrices belong to the context of the source, which all threads share. */
static void release(struct worker *w, bool failed) {
  struct decoding *d = w->decoding;
  pthread_mutex_lock(&d->mutex);
  linnet_matrix_release(d->source.context, &w->matrix);
  d->stopped = d->stopped || failed;
  pthread_mutex_unlock(&d->mutex);
  linnet_search_stream_destroy(w->search);
  free(w->key);
}

/* The body of a thread: it takes one utterance after another, because their number is unknown. */
static int work(void *user, size_t task, unsigned number, struct linnet_context *context) {
  struct worker w = {.decoding = user, .context = context};
  (void)task;
  (void)number;
  int code = linnet_search_stream_create(context, w.decoding->search, &w.search) == LINNET_OK
                 ? TOOL_OK
                 : tool_fail_context(context);
  while (code == TOOL_OK && (code = next(&w)) == TOOL_OK && w.key)
    code = decode_matrix(&w);
  release(&w, code != TOOL_OK);
  return code;
}

static bool open_output(struct decoding *d, struct tool_output *output) {
  const struct journal_form form = journal_form(options.format, false, beam_options_nbest());
  *output = (struct tool_output){.path = NULL};
  d->journalled = journal_possible(options.output);
  return d->journalled ? journal_open(&d->journal, options.output, &form, options.resume)
                       : tool_output_open(output, options.output);
}

/* Completes the output, or leaves it for a later run with --resume. */
static int close_output(struct decoding *d, struct tool_output *output, int code) {
  ordered_close(&d->ordered);
  if (!d->journalled && code != TOOL_OK)
    tool_output_abandon(output);
  else if (!d->journalled)
    return tool_output_commit(output) ? code : TOOL_FAILURE;
  else if (code == TOOL_OK && journal_is_claimed(&d->journal))
    return journal_commit(&d->journal) ? code : TOOL_FAILURE;
  if (!d->journalled)
    return code;
  size_t kept = journal_keep(&d->journal);
  if (kept > 0)
    tool_fail("%zu results are in %s.partial%s", kept, options.output,
              lattices_path() ? "" : "; to continue, run the same command with --resume");
  return code == TOOL_OK ? TOOL_FAILURE : code;
}

static int decode_all(struct linnet_context *context, struct decoding *d) {
  struct tool_output output;
  if (!open_output(d, &output))
    return TOOL_FAILURE;
  ordered_open(&d->ordered, output.stream);
  pthread_mutex_init(&d->mutex, NULL);
  tool_catch_interrupt();
  int code = tool_parallel(context, linnet_context_num_threads(context), work, d);
  if (code < 0)
    code = tool_fail("cannot start threads");
  matrix_source_close(&d->source);
  tdestroy(d->keys, free);
  pthread_mutex_destroy(&d->mutex);
  code = close_output(d, &output, code);
  if (code == TOOL_OK && d->skipped > 0)
    fprintf(stderr, "skipped %zu of %zu input%s, which have results\n", d->skipped, d->utterances,
            linnet_plural(d->utterances));
  if (code == TOOL_OK)
    fprintf(stderr, "%zu utterance%s, %zu frame%s in %.3f s of all threads\n", d->utterances,
            linnet_plural(d->utterances), d->frames, linnet_plural(d->frames), d->seconds);
  return code;
}

/* --- command line ------------------------------------------------------------------------------------------------- */

static bool read_options(struct decoding *d) {
  d->format = linnet_output_format_find(options.format);
  d->json = strcmp(options.format, "json") == 0;
  if (!options.symbols) {
    tool_usage("--symbols FILE is missing: it names the columns");
    return false;
  }
  if (!d->format || linnet_output_format_is_single(d->format)) {
    tool_usage("--format %s: must be one of %s", options.format, format_names(false));
    return false;
  }
  if (beam_options_nbest() && !linnet_output_format_has_alternatives(d->format)) {
    tool_usage("--format %s writes the best hypothesis only: omit --nbest, or choose text or json", options.format);
    return false;
  }
  if (options.resume && (!journal_possible(options.output) || lattices_path())) {
    tool_usage("--resume needs --output FILE, and cannot be used with --lattice");
    return false;
  }
  if (options.frame_shift != TOOL_NOT_GIVEN && !(options.frame_shift > 0 && isfinite(options.frame_shift))) {
    tool_usage("--frame-shift %g: must be above 0", options.frame_shift);
    return false;
  }
  return search_options_check(false, false);
}

static int create_search(struct linnet_context *context, struct decoding *d, const char *const *names, size_t count) {
  struct linnet_search_settings settings;
  linnet_search_settings_default(&settings);
  if (!search_options_read(&settings, false))
    return TOOL_USAGE;
  if (linnet_search_create(context, names, count, &settings, &d->search) != LINNET_OK)
    return search_options_fail(context, NULL);
  return TOOL_OK;
}

/* Creates the search that the options describe, over the symbols of their file. Returns the exit code. */
static int open_search(struct linnet_context *context, struct decoding *d) {
  const size_t count = linnet_symbols_num_symbols(d->symbols);
  const char **names = calloc(count, sizeof *names);
  for (size_t i = 0; names && i < count; i++)
    names[i] = linnet_symbols_name(d->symbols, (int)i);
  int code =
      names ? create_search(context, d, names, count) : tool_fail("out of memory for the names of %zu symbols", count);
  free(names);
  return code;
}

/* The results, and the lattices if there are all of them. */
static int write_outputs(struct linnet_context *context, struct decoding *d) {
  if (!lattices_open(&d->lattices, d->search))
    return TOOL_FAILURE;
  const int code = decode_all(context, d);
  return lattices_close(&d->lattices, code, code == TOOL_OK);
}

static int run(struct linnet_context *context, const char **inputs, size_t count) {
  struct decoding d = {
      .source = {.context = context, .inputs = inputs, .count = count, .run_commands = options.run_commands}};
  struct linnet_symbols *symbols = NULL;
  int code = TOOL_FAILURE;
  if (!separate_check_streams(inputs, count) || !read_options(&d))
    return TOOL_USAGE;
  if (linnet_symbols_load(context, options.symbols, &symbols) != LINNET_OK) {
    tool_fail_context(context);
  } else {
    d.symbols = symbols;
    code = open_search(context, &d);
    if (code == TOOL_OK)
      code = write_outputs(context, &d);
  }
  linnet_search_destroy(d.search);
  linnet_symbols_destroy(symbols);
  return code;
}

int tool_decode(int argc, const char **argv) {
  options.format = "text";
  options.output = "-";
  word_options_without_recognizer();
  const struct poptOption table[] = {
      {"symbols", 's', TOOL_INPUT, &options.symbols, 0,
       "names of the columns, one per line, or Kaldi's lines 'name index'; index 0 is the blank (required)", "FILE"},
      {"format", 'f', POPT_ARG_STRING, &options.format, 0, format_help(false, "utterance"), "FORMAT"},
      {"output", 'o', TOOL_RESULTS, &options.output, 0, "where to write results (default: standard output)", "FILE"},
      {"resume", 0, POPT_ARG_NONE, &options.resume, 0,
       "continue an interrupted run with the same options: skip utterances that have a result (default: decode all)",
       NULL},
      {"frame-shift", 0, POPT_ARG_DOUBLE, &options.frame_shift, 0,
       "time from one row to the next (default: from the file ARK.frame_shift beside the archive)", "MS"},
      {"run-commands", 0, POPT_ARG_NONE, &options.run_commands, 0,
       "run commands ('ark:COMMAND |'); use it only for commands that you trust (default: refuse them)", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, beam_nbest_table, 0, NULL, NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, beam_options_table, 0,
       "Beam search (the defaults are those after 'else'):", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, lattices_options, 0, "Lattices:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, word_options_table, 0, "Words (defaults as above):", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_thread_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  const struct tool_command command = {
      .options = table,
      .usage = "[OPTIONS] ark:FILE|scp:FILE|FILE...  (log-posteriors; 'ark:-': standard input)",
      .needed = "FILE",
      .max_arguments = SIZE_MAX,
      .run = run};
  return tool_run(argc, argv, &command);
}
