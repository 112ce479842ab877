/* linnet posteriors: writes log-posteriors of audio or stored features to Kaldi archives, for `linnet decode` and other
 * decoders. It can divide them by label priors, as the WFST decoders of Kaldi and EESEN expect. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "common/default_model.h"
#include "common/file_keys.h"
#include "common/inputs.h"
#include "common/matrix_source.h"
#include "common/separate.h"

/* The minimum prior of a symbol that was seen: dividing by a smaller one would let the symbol win by noise alone. A
 * symbol with prior 0 was never seen and is impossible: all of its log-posteriors become HTK's logarithm of 0, which
 * every reader of numbers accepts. */
#define MIN_PRIOR 1e-8
#define LOG_ZERO (-1e10F)

static struct {
  char *model, *ark, *scp, *priors, *estimate;
  const char *features;
  double prior_scale;
  int text, run_commands;
} options = {.prior_scale = TOOL_NOT_GIVEN};

struct posteriors {
  struct linnet_recognizer *recognizer;
  const struct linnet_model *model; /* of the recognizer */
  struct inputs inputs;             /* none with --features */
  char **keys;                      /* (inputs): in the archive; NULL without one */
  struct matrix_source source;      /* of --features */
  struct linnet_ark_writer *writer; /* NULL: only priors are wanted */
  size_t symbols;
  float *log_priors; /* (symbols), scaled: subtracted from the log-posteriors; -LOG_ZERO makes the result LOG_ZERO */
  double *sums;      /* (symbols): of the posteriors, over all frames */
  float *values;     /* (frames, symbols) of one utterance */
  size_t frames, capacity, all_frames; /* capacity in frames */
  size_t utterances, failures;         /* so far */
};

/* --- one utterance ------------------------------------------------------------------------------------------------ */

static bool reserve(struct posteriors *p, size_t frames) {
  if (p->frames + frames <= p->capacity)
    return true;
  size_t capacity = 2 * p->capacity + frames;
  float *grown = realloc(p->values, capacity * p->symbols * sizeof *grown);
  if (!grown)
    return false;
  p->values = grown;
  p->capacity = capacity;
  return true;
}

static int take(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct posteriors *p = user;
  (void)first;
  if (!reserve(p, frames))
    return tool_fail("out of memory for %zu frames", p->frames + frames);
  memcpy(p->values + p->frames * p->symbols, log_posteriors, frames * p->symbols * sizeof *log_posteriors);
  p->frames += frames;
  return 0;
}

/* Adds the posteriors of an utterance to the sums, then divides them by the priors. */
static void complete(struct posteriors *p) {
  for (size_t i = 0; i < p->frames * p->symbols; i++) {
    p->sums[i % p->symbols] += exp((double)p->values[i]);
    p->values[i] -= p->log_priors[i % p->symbols];
  }
  p->all_frames += p->frames;
}

/* False if writing failed. */
static bool put(struct linnet_context *context, struct posteriors *p, const char *name) {
  complete(p);
  if (!p->writer || linnet_ark_write(p->writer, name, p->values, p->frames, p->symbols) == LINNET_OK)
    return true;
  tool_fail_context(context);
  return false;
}

static void begin(struct posteriors *p, struct linnet_recognizer_stream *stream) {
  p->frames = 0;
  p->utterances++;
  linnet_recognizer_stream_reset(stream);
}

/* False if writing failed. Utterances that fail are reported and skipped. */
static bool process(struct linnet_context *context, struct posteriors *p, size_t item,
                    struct linnet_recognizer_stream *stream) {
  tool_note("%s: started", inputs_name(&p->inputs, item));
  begin(p, stream);
  if (inputs_recognise(&p->inputs, context, item, stream) == LINNET_OK)
    return put(context, p, p->keys ? p->keys[item] : inputs_name(&p->inputs, item));
  p->failures += tool_fail_context(context) != TOOL_INTERRUPTED;
  return true;
}

/* The same for stored features. */
static bool process_features(struct linnet_context *context, struct posteriors *p, const char *key,
                             const struct linnet_matrix *matrix, struct linnet_recognizer_stream *stream) {
  begin(p, stream);
  if (linnet_recognizer_stream_accept_features(stream, matrix->values, matrix->rows, matrix->cols) == LINNET_OK &&
      linnet_recognizer_stream_finish(stream) == LINNET_OK)
    return put(context, p, key);
  if (!tool_interrupted()) {
    tool_fail("%s: %s", key, linnet_context_error(context));
    p->failures++;
  }
  return true;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

/* Writes the mean posteriors, a line of each symbol (linnet_priors_load). */
static int write_priors(const struct posteriors *p) {
  struct tool_output output;
  if (!tool_output_open(&output, options.estimate))
    return TOOL_FAILURE;
  for (size_t v = 0; v < p->symbols; v++)
    fprintf(output.stream, "%s %.9g\n", linnet_model_symbol(p->model, (int)v), p->sums[v] / (double)p->all_frames);
  return tool_output_commit(&output) ? TOOL_OK : TOOL_FAILURE;
}

static int finish(struct linnet_context *context, const struct posteriors *p) {
  if (p->all_frames == 0)
    return tool_fail("none of %zu utterance%s could be used, the first is %s: all failed or are shorter than a frame",
                     p->utterances, linnet_plural(p->utterances),
                     options.features ? options.features : inputs_name(&p->inputs, 0));
  if (p->writer && linnet_ark_writer_commit(p->writer) != LINNET_OK)
    return tool_fail_context(context);
  if (options.estimate && write_priors(p) != TOOL_OK)
    return TOOL_FAILURE;
  fprintf(stderr, "%zu utterance%s, %zu frame%s, one every %g ms\n", p->utterances - p->failures,
          linnet_plural(p->utterances - p->failures), p->all_frames, linnet_plural(p->all_frames),
          1000 * linnet_model_frame_seconds(p->model));
  const int folders = inputs_report_folders(&p->inputs);
  return p->failures > 0
             ? tool_fail("%zu of %zu utterance%s failed", p->failures, p->utterances, linnet_plural(p->utterances))
             : folders;
}

/* False if reading the archives or writing failed. */
static bool process_archives(struct linnet_context *context, struct posteriors *p,
                             struct linnet_recognizer_stream *stream) {
  struct linnet_matrix matrix = {0};
  const char *key;
  enum linnet_status status = LINNET_OK;
  while (!tool_interrupted() && (status = matrix_source_next(&p->source, &key, &matrix)) == LINNET_OK)
    if (!process_features(context, p, key, &matrix, stream))
      break;
  const bool good = tool_interrupted() || status == LINNET_END;
  linnet_matrix_release(context, &matrix);
  matrix_source_close(&p->source);
  return good;
}

/* False if writing failed. */
static bool process_inputs(struct linnet_context *context, struct posteriors *p,
                           struct linnet_recognizer_stream *stream) {
  static const struct tool_stages stages = {0.12, 0.97, 1, 1};
  struct tool_progress progress;
  bool good = true;
  tool_progress_start(&progress, "posteriors", "utterances", (double)p->inputs.count);
  for (size_t i = 0; i < p->inputs.count && good && !tool_interrupted(); i++) {
    tool_progress_begin(&progress, &stages);
    good = process(context, p, i, stream);
    tool_progress_add(&progress, 1);
  }
  tool_progress_finish(&progress);
  return good;
}

static int process_all(struct linnet_context *context, struct posteriors *p) {
  struct linnet_recognizer_stream *stream = NULL;
  if (linnet_recognizer_stream_create(context, p->recognizer, &stream) != LINNET_OK)
    return tool_fail_context(context);
  linnet_recognizer_stream_set_sink(stream, take, p);
  tool_catch_interrupt();
  const bool good = (options.features ? process_archives : process_inputs)(context, p, stream);
  linnet_recognizer_stream_destroy(stream);
  return tool_interrupted() ? TOOL_INTERRUPTED : good ? finish(context, p) : TOOL_FAILURE;
}

/* --- priors ------------------------------------------------------------------------------------------------------- */

static void warn_of_impossible(const struct posteriors *p) {
  size_t count = 0, first = 0;
  for (size_t v = p->symbols; v-- > 0;)
    if (p->log_priors[v] == -LOG_ZERO) {
      count++;
      first = v;
    }
  if (count > 0)
    tool_warn("%s: %zu symbol%s with prior 0 cannot be recognised, such as '%s'", options.priors, count,
              linnet_plural(count), linnet_model_symbol(p->model, (int)first));
}

/* Converts probabilities or counts (symbols) to scaled log-probabilities. */
static bool take_priors(struct posteriors *p, const float *priors) {
  const double scale = options.prior_scale == TOOL_NOT_GIVEN ? 1 : options.prior_scale;
  double sum = 0;
  for (size_t v = 0; v < p->symbols; v++)
    sum += priors[v] >= 0 ? (double)priors[v] : (double)NAN;
  if (!(sum > 0) || !isfinite(sum)) {
    tool_fail("%s: priors must be numbers of at least 0, and not all 0", options.priors);
    return false;
  }
  for (size_t v = 0; v < p->symbols; v++) {
    double prior = (double)priors[v] / sum;
    p->log_priors[v] = prior > 0 ? (float)(scale * log(fmax(prior, MIN_PRIOR))) : -LOG_ZERO;
  }
  warn_of_impossible(p);
  return true;
}

/* A vector of Kaldi. */
static bool take_vector(struct posteriors *p, const struct linnet_matrix *vector) {
  if (vector->rows == 1 && vector->cols == p->symbols)
    return take_priors(p, vector->values);
  tool_fail("%s: %zu x %zu numbers, but the model has %zu symbols with the blank", options.priors, vector->rows,
            vector->cols, p->symbols);
  return false;
}

/* Lines of symbols. */
static bool read_lines(struct linnet_context *context, struct posteriors *p) {
  const struct linnet_source source = {.path = options.priors};
  float *priors = calloc(p->symbols, sizeof *priors);
  bool good = false;
  if (!priors)
    tool_fail("out of memory for %zu symbols", p->symbols);
  else if (linnet_priors_load(context, &source, linnet_model_symbols(p->model), p->symbols, priors) != LINNET_OK)
    tool_fail_context(context);
  else
    good = take_priors(p, priors);
  free(priors);
  return good;
}

/* From a vector of Kaldi or, if the file is none, from lines of symbols. */
static bool read_priors(struct linnet_context *context, struct posteriors *p) {
  struct linnet_matrix vector = {0};
  if (!options.priors)
    return true;
  enum linnet_status status = linnet_matrix_read(context, options.priors, &vector);
  if (status == LINNET_ERROR_FORMAT)
    return read_lines(context, p);
  if (status != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  bool good = take_vector(p, &vector);
  linnet_matrix_release(context, &vector);
  return good;
}

/* --- command line ------------------------------------------------------------------------------------------------- */

static bool open_archive(struct linnet_context *context, struct posteriors *p) {
  enum linnet_kaldi_form form = options.text ? LINNET_KALDI_TEXT : LINNET_KALDI_FLOAT;
  if (linnet_ark_writer_create(context, options.ark, tool_output_path(options.scp), form, &p->writer) == LINNET_OK &&
      linnet_ark_writer_set_frame_shift(p->writer, linnet_model_frame_seconds(p->model)) == LINNET_OK)
    return true;
  tool_fail_context(context);
  return false;
}

/* A file's key is its name in the output formats; utterances keep their ids. Returns the exit code. */
static int make_keys(struct posteriors *p) {
  const struct inputs *inputs = &p->inputs;
  if (!options.ark || options.features || inputs->folder)
    return TOOL_OK;
  p->keys = calloc(inputs->count, sizeof *p->keys);
  for (size_t i = 0; i < inputs->count; i++) {
    if (!p->keys || !(p->keys[i] = strdup(inputs_id(inputs, i))))
      return tool_fail("out of memory for %zu files", inputs->count);
    file_key(p->keys[i]);
  }
  return file_keys_check(p->keys, inputs->paths, inputs->count);
}

static void release_keys(struct posteriors *p) {
  for (size_t i = 0; p->keys && i < p->inputs.count; i++)
    free(p->keys[i]);
  free(p->keys);
}

static int run_job(struct linnet_context *context, struct posteriors *p) {
  p->symbols = linnet_model_num_symbols(p->model);
  p->log_priors = calloc(p->symbols, sizeof *p->log_priors);
  p->sums = calloc(p->symbols, sizeof *p->sums);
  if (!p->log_priors || !p->sums)
    return tool_fail("out of memory for %zu symbols", p->symbols);
  if (!read_priors(context, p))
    return TOOL_FAILURE;
  return options.ark && !open_archive(context, p) ? TOOL_FAILURE : process_all(context, p);
}

/* False after printing what is wrong. */
static bool check_options(void) {
  const bool scaled = options.prior_scale != TOOL_NOT_GIVEN;
  const char *audio = inputs_audio_option();
  if (!options.ark && !options.estimate)
    tool_usage("--out FILE or --estimate-priors FILE is missing");
  else if (options.features && inputs_are_many())
    tool_usage("--features %s: takes the place of --data and of files", options.features);
  else if (options.features && audio)
    tool_usage("%s: --features reads no audio: omit %s", audio, audio);
  else if (options.run_commands && !options.features)
    tool_usage("--run-commands: needs --features");
  else if (!options.ark && (options.scp || options.text || options.priors))
    tool_usage("%s: needs --out FILE", options.scp ? "--scp" : options.text ? "--text" : "--priors");
  else if (scaled && !options.priors)
    tool_usage("--prior-scale %g: the priors are missing: name them with --priors FILE", options.prior_scale);
  else if (scaled && !(options.prior_scale >= 0 && options.prior_scale <= 100))
    tool_usage("--prior-scale %g: must be 0 to 100", options.prior_scale);
  else
    return tool_check_regular("--priors", options.priors) && tool_check_script(options.ark, options.scp);
  return false;
}

/* This command does not read the priors of the recognizer, so it can estimate them again. */
static void exempt_priors(struct linnet_context *context, const char *path) {
  struct linnet_recognizer_file *file;
  struct linnet_search_settings search;
  if (!options.estimate || linnet_recognizer_file_load(context, path, &file) != LINNET_OK)
    return; /* a model, or opening it will say what is wrong */
  linnet_recognizer_file_search_settings(file, &search);
  if (search.priors.path)
    separate_exempt(search.priors.path);
  linnet_recognizer_file_destroy(file);
}

static int run(struct linnet_context *context, const char *path, const char **paths, size_t count) {
  struct posteriors p = {
      .source = {.context = context, .inputs = &options.features, .count = 1, .run_commands = options.run_commands}};
  int code = TOOL_USAGE;
  if (!check_options())
    return code;
  exempt_priors(context, path);
  p.recognizer = tool_open_recognizer(context, path, NULL, NULL, &code);
  if (p.recognizer && (options.features || inputs_open(&p.inputs, context, p.recognizer, paths, count, &code))) {
    p.model = linnet_recognizer_model(p.recognizer);
    code = make_keys(&p);
    if (code == TOOL_OK)
      code = run_job(context, &p);
    release_keys(&p);
    inputs_close(&p.inputs);
  }
  linnet_ark_writer_destroy(p.writer);
  free(p.log_priors);
  free(p.sums);
  free(p.values);
  linnet_recognizer_destroy(p.recognizer);
  return code;
}

int tool_posteriors(int argc, const char **argv) {
  const struct poptOption table[] = {
      TOOL_MODEL_ROW(options.model),
      {"out", 'o', TOOL_ARCHIVE, &options.ark, 0,
       "archive to write, and FILE.frame_shift beside it; '-': standard output; keys are the names of files, without "
       "folder and extension, and with '_' for spaces (default: none)",
       "FILE"},
      {"scp", 0, TOOL_OUTPUT, &options.scp, 0,
       "script file to write: the position of each utterance in the archive (default: none)", "FILE"},
      {"text", 0, POPT_ARG_NONE, &options.text, 0, "write the archive as text (default: binary)", NULL},
      {"priors", 0, TOOL_INPUT, &options.priors, 0,
       "divide by these probabilities or counts, lines 'SYMBOL NUMBER' or a vector of Kaldi; 0 makes a symbol "
       "impossible (default: no division)",
       "FILE"},
      {"prior-scale", 0, POPT_ARG_DOUBLE, &options.prior_scale, 0, "with --priors: their exponent (default 1)", "X"},
      {"estimate-priors", 0, TOOL_OUTPUT, &options.estimate, 0,
       "write the mean posteriors of the symbols, which --priors of all commands takes (default: none)", "FILE"},
      {"features", 0, TOOL_INPUT, &options.features, 0,
       "read features in sequence from archives, as 'linnet decode' reads posteriors: ark:FILE, ark:- or scp:FILE "
       "(default: audio, or the data folder)",
       "INPUT"},
      {"run-commands", 0, POPT_ARG_NONE, &options.run_commands, 0,
       "run the command of --features 'ark:COMMAND |'; use it only for commands that you trust (default: refuse it)",
       NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, inputs_options, 0, "Input:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed = tool_parse(argc, argv, table, "[OPTIONS] FILE...   ('-' is standard input)", NULL, NULL);
  size_t count = 0;
  const char **paths = NULL;
  if (parsed)
    paths = options.features ? tool_arguments(parsed, "", 0, &count) : inputs_arguments(parsed, &count);
  int code = tool_with_recognizer(options.model, paths, count, run);
  poptFreeContext(parsed);
  return code;
}
