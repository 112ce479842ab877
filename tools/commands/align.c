/* linnet align: where the words and phones of a known text lie in audio files or in the utterances of a data folder. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "align_text.h"
#include "base/numbers.h"
#include "common/collected.h"
#include "common/default_model.h"
#include "common/parallel.h"
#include "common/results.h"
#include "common/search_options.h"
#include "common/separate.h"

static struct {
  char *model, *text, *text_file, *phones, *lexicon, *unit;
  bool unit_word; /* --unit word was given */
  int jumps, skip_unknown;
  double jump_cost, frame_cost;
} options = {.jump_cost = TOOL_NOT_GIVEN, .frame_cost = TOOL_NOT_GIVEN};
static char word[] = "word"; /* the default of --unit */

struct job {
  struct linnet_recognizer *recognizer;
  const struct linnet_model *model;        /* its */
  struct linnet_calibrations calibrations; /* of its confidences */
  const char *text;                        /* of the only file; NULL: each input has its own */
  bool words;                              /* texts are words, else phones */
  struct align_words_source source;        /* of their pronunciations */
  struct linnet_text_aligner *aligner;
  struct inputs inputs;
  struct results results;
};

/* One input under way. */
struct item {
  struct job *job;
  const char *name;
  struct linnet_recognizer_stream *stream;
  struct rows posteriors; /* (frames, symbols) */
  char *path, *beside;    /* of the file of words beside the audio, and what it holds; NULL: the text is elsewhere */
  struct linnet_aligned_text *text;
};

/* --- posteriors and alignment ------------------------------------------------------------------------------------- */

static enum linnet_status compute_posteriors(struct item *item, struct linnet_context *context, size_t index) {
  enum linnet_status status = linnet_recognizer_stream_create(context, item->job->recognizer, &item->stream);
  if (status != LINNET_OK)
    return status;
  item->posteriors.cols = linnet_model_num_symbols(item->job->model);
  linnet_recognizer_stream_set_sink(item->stream, rows_keep, &item->posteriors);
  return inputs_recognise(&item->job->inputs, context, index, item->stream);
}

/* Whether the text of each audio file is a file beside it. */
static bool texts_are_beside(void) {
  return !inputs_data_folder() && !options.text && !options.text_file && !options.phones;
}

/* The name of an input's text in messages. */
static void name_text(const struct item *item, char *name, size_t bytes) {
  if (item->path)
    snprintf(name, bytes, "%s", item->path);
  else if (options.text_file)
    snprintf(name, bytes, "%s", strcmp(options.text_file, "-") == 0 ? "standard input" : options.text_file);
  else if (options.text)
    snprintf(name, bytes, "--text");
  else
    snprintf(name, bytes, "text of %s", item->name);
}

/* What happens to words without a pronunciation; NULL: they are errors. */
static const char *fate_of_unknown(void) {
  return !options.skip_unknown ? NULL
         : options.jumps       ? "its time is interpolated, unless the words around it are not spoken"
                               : "its time is interpolated";
}

/* The text of an input as it is written; NULL after printing why there is none. */
static const char *find_text(struct item *item, size_t index) {
  const struct job *job = item->job;
  if (job->text)
    return job->text;
  if (!job->inputs.folder) {
    item->path = align_find_beside(item->name);
    return item->beside = item->path ? align_read_text(item->path) : NULL;
  }
  const char *text = job->words ? linnet_data_folder_text(job->inputs.folder, index)
                                : linnet_data_folder_phones(job->inputs.folder, index);
  if (!text)
    tool_fail("%s: has no text: its line is missing in the data folder's file '%s'", item->name,
              job->words ? "text" : "phones");
  return text;
}

static bool read_text(struct item *item, struct linnet_context *context, size_t index) {
  const struct job *job = item->job;
  const char *text = find_text(item, index);
  char source[4096];
  if (!text)
    return false;
  name_text(item, source, sizeof source);
  if ((job->words
           ? linnet_aligned_text_create(context, job->aligner, text, source, &item->text)
           : linnet_aligned_text_create_phones(context, job->aligner, text, item->name, &item->text)) == LINNET_OK)
    return !job->words || align_text_check(item->text, &job->source, fate_of_unknown(), item->name, source);
  tool_fail_context(context);
  return false;
}

static void warn_nothing_aligned(const struct item *item) {
  size_t count;
  linnet_aligned_text_words(item->text, &count);
  tool_warn("%s: %s", item->name,
            count > 0 ? "no word of the text has a pronunciation, so all times are interpolated"
                      : "the text has no words, so nothing is aligned");
}

static bool align(struct item *item, struct linnet_context *context, size_t index) {
  struct linnet_align_settings settings;
  linnet_align_settings_default(&settings);
  settings.jumps = options.jumps;
  if (options.jump_cost != TOOL_NOT_GIVEN)
    settings.jump_cost = (float)options.jump_cost;
  if (options.frame_cost != TOOL_NOT_GIVEN)
    settings.frame_cost = (float)options.frame_cost;
  settings.calibrations = &item->job->calibrations;
  if (!read_text(item, context, index))
    return false;
  if (linnet_aligned_text_num_aligned(item->text) == 0)
    warn_nothing_aligned(item);
  if (compute_posteriors(item, context, index) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  if (linnet_aligned_text_align(item->text, item->posteriors.values, item->posteriors.count,
                                linnet_model_frame_seconds(item->job->model),
                                linnet_recognizer_stream_seconds(item->stream), &settings) == LINNET_OK)
    return true;
  if (!tool_interrupted())
    tool_fail("%s: %s", item->name, linnet_context_error(context));
  return false;
}

/* --- warnings --------------------------------------------------------------------------------------------------- */

static void warn_of_jumps(const char *name, const struct linnet_output *output) {
  for (size_t i = 0; i < output->num_jumps; i++) {
    const struct linnet_output_jump *jump = &output->jumps[i];
    if (strcmp(jump->kind, "inserted") == 0)
      tool_warn("%s: %.2f to %.2f s: the audio is not in the text", name, jump->start, jump->end);
    else
      tool_warn("%s: %.2f to %.2f s: %s words %zu to %zu, '%s' ... '%s'", name, jump->start, jump->end,
                strcmp(jump->kind, "skipped") == 0 ? "the audio omits" : "after this the audio repeats", jump->word + 1,
                jump->word + jump->num_words, jump->words[0], jump->words[jump->num_words - 1]);
  }
}

static void warn_of_doubts(const char *name, const struct linnet_output *output) {
  const struct linnet_span *spans = output->words ? output->words : output->phones;
  size_t count = output->words ? output->num_words : output->num_phones, doubtful = 0, first = 0;
  for (size_t i = count; i-- > 0;)
    if (spans[i].doubtful) {
      doubtful++;
      first = i;
    }
  if (doubtful > 0)
    tool_warn("%s: doubtful: %zu of %zu %s%s, the first is '%s' at %.2f s%s", name, doubtful, count,
              output->words ? "word" : "phone", linnet_plural(count), spans[first].text, spans[first].start,
              options.jumps ? "" : "; --jumps allows text and audio to differ");
}

/* --- the result --------------------------------------------------------------------------------------------------- */

static void put_result(const struct item *item, size_t index) {
  struct linnet_output output;
  inputs_describe(&item->job->inputs, index, item->stream, &output);
  linnet_aligned_text_describe(item->text, &output);
  warn_of_jumps(item->name, &output);
  warn_of_doubts(item->name, &output);
  if (strcmp(options.unit, "word") != 0)
    output.words = NULL, output.num_words = 0, output.segment_ends = NULL;
  results_put(&item->job->results, index, &output);
}

/* --- all inputs --------------------------------------------------------------------------------------------------- */

static int align_item(void *user, size_t index, unsigned worker, struct linnet_context *context) {
  static const struct tool_stages stages = {0.08, 0.42, 0.43, 1};
  struct job *job = user;
  struct item item = {.job = job, .name = inputs_name(&job->inputs, index)};
  (void)worker;
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  if (results_skip(&job->results, index))
    return 0;
  tool_progress_begin(&job->results.progress, &stages);
  bool good = align(&item, context, index), stopped = !good && tool_interrupted();
  if (good)
    put_result(&item, index);
  else if (!stopped)
    results_put(&job->results, index, NULL);
  linnet_aligned_text_destroy(item.text);
  linnet_recognizer_stream_destroy(item.stream);
  free(item.posteriors.values);
  free(item.path);
  free(item.beside);
  return stopped ? TOOL_INTERRUPTED : 0;
}

/* TOOL_USAGE after printing that texts and inputs do not fit, or that an output would replace a text. */
static int check_inputs(const struct job *job) {
  const struct inputs *inputs = &job->inputs;
  if (job->text && inputs->count != 1)
    return tool_usage("one text is for one file, but there are %zu: omit it, and write NAME.txt beside each file, or "
                      "make a data folder",
                      inputs->count);
  if (!texts_are_beside())
    return TOOL_OK;
  for (size_t i = 0; i < inputs->count; i++)
    align_add_beside(inputs->paths[i]);
  return separate_check_again() ? TOOL_OK : TOOL_USAGE;
}

static int align_all(struct linnet_context *context, struct job *job, const char **paths, size_t count) {
  int code;
  if (!inputs_open(&job->inputs, context, job->recognizer, paths, count, &code))
    return code;
  code = check_inputs(job);
  if (code == TOOL_OK && results_open(&job->results, &job->inputs, "aligning", &code))
    code = results_close(&job->results, tool_parallel(context, job->inputs.count, align_item, job));
  inputs_close(&job->inputs);
  return code;
}

static bool data_has_phones(void) {
  char path[4096];
  const char *folder = inputs_data_folder();
  return folder && snprintf(path, sizeof path, "%s/phones", folder) < (int)sizeof path && access(path, F_OK) == 0;
}

/* An option that --phones does not need, because its text has no words; NULL: there is none. */
static const char *option_of_words(void) {
  return options.lexicon ? "--lexicon" : options.skip_unknown ? "--skip-unknown" : align_words_given();
}

/* Decides whether texts are words, and finds their lexicon. Phones of a data folder come before pronunciations that
 * were not named, unless --unit asks for words. Returns the exit code, after printing what is missing or useless. */
static int choose_words(struct linnet_context *context, struct job *job) {
  const bool wanted = options.text || options.text_file || options.unit_word || texts_are_beside();
  job->source.files = tool_find_word_files(context, options.model);
  job->source.named = tool_choose_lexicon(options.lexicon, &job->source.files);
  job->words =
      !options.phones && (align_words_pronounced(&job->source, false) ||
                          (align_words_pronounced(&job->source, true) && (options.unit_word || !data_has_phones())));
  if (wanted && !job->words)
    return align_words_fail();
  const char *useless = !job->words && inputs_data_folder() ? align_words_given() : NULL; /* phones are all known */
  return useless ? tool_usage("%s: the texts of %s are phones, without words: add --unit word or --lexicon FILE, or "
                              "omit %s",
                              useless, inputs_data_folder(), useless)
                 : TOOL_OK;
}

static int run(struct linnet_context *context, const char *path, const char **paths, size_t count) {
  char *file = options.text_file ? align_read_text(options.text_file) : NULL;
  struct job job = {.text = options.text_file ? file : options.text ? options.text : options.phones};
  int code = file || !options.text_file ? choose_words(context, &job) : TOOL_FAILURE;
  if (code == TOOL_OK)
    job.recognizer = tool_open_recognizer(context, path, NULL, &job.calibrations, &code);
  if (job.recognizer) {
    job.model = linnet_recognizer_model(job.recognizer);
    job.aligner = align_text_open(context, job.recognizer, job.words ? &job.source : NULL);
  }
  if (job.recognizer)
    code = job.aligner ? align_all(context, &job, paths, count) : TOOL_FAILURE;
  linnet_text_aligner_destroy(job.aligner);
  linnet_recognizer_destroy(job.recognizer);
  tool_free_word_files(&job.source.files);
  free(file);
  return code;
}

static bool check_cost(const char *option, double cost) {
  if (cost == TOOL_NOT_GIVEN)
    return true;
  if (!options.jumps)
    tool_usage("%s: needs --jumps", option);
  else if (!(cost >= 0))
    tool_usage("%s %g: must be at least 0", option, cost);
  else
    return true;
  return false;
}

/* Standard input is a file alone, and can be read once. */
static bool check_streams(const char **paths, size_t count, int texts) {
  const bool text = options.text_file && strcmp(options.text_file, "-") == 0;
  for (size_t i = 0; i < count; i++)
    if (strcmp(paths[i], "-") == 0 && (text || texts == 0)) {
      tool_usage(text ? "only one of text and audio can be standard input"
                      : "standard input has no text beside it: give --text, --text-file or --phones");
      return false;
    }
  return true;
}

/* One text is for one file. Otherwise a file has its text beside it, and a data folder contains its texts. */
static bool check_texts(const char **paths, size_t count) {
  options.unit_word = options.unit && strcmp(options.unit, "word") == 0;
  if (paths && options.phones && options.unit_word) {
    tool_usage("--unit word: --phones is a text without words; give --text, or omit --unit");
    return false;
  }
  const char *useless = options.phones ? option_of_words() : NULL;
  if (paths && useless) {
    tool_usage("%s: --phones is a text without words; give --text, or omit %s", useless, useless);
    return false;
  }
  if (!options.unit)
    options.unit = word;
  int texts = !!options.text + !!options.text_file + !!options.phones;
  bool folder = count == 0;
  if (paths && !(check_cost("--jump-cost", options.jump_cost) && check_cost("--frame-cost", options.frame_cost)))
    return false;
  if (strcmp(options.unit, "word") != 0 && strcmp(options.unit, "phone") != 0) {
    tool_usage("--unit %s: must be phone or word", options.unit);
    return false;
  }
  if (paths && folder && texts > 0) {
    tool_usage("--text, --text-file and --phones are for one file: a data folder has its own texts");
    return false;
  }
  if (paths && texts > 1) {
    tool_usage("give only one of --text, --text-file and --phones");
    return false;
  }
  if (paths && texts == 1 && count > 1) {
    tool_usage("--text, --text-file and --phones are for one file: to align many files, write NAME.txt beside each of "
               "them, or make a data folder");
    return false;
  }
  return paths && check_streams(paths, count, texts);
}

int tool_align(int argc, const char **argv) {
  const struct poptOption table[] = {
      {"text", 't', POPT_ARG_STRING, &options.text, 0,
       "the words that are spoken in one file (default: those in NAME.txt or NAME.lab beside each file, or of --data)",
       "WORDS"},
      {"text-file", 'T', TOOL_INPUT, &options.text_file, 0,
       "file with the words that are spoken in one file (default: as for --text)", "FILE"},
      {"phones", 'p', POPT_ARG_STRING, &options.phones, 0,
       "the phones that are spoken, separated by spaces (default: words)", "PHONES"},
      {"lexicon", 'l', TOOL_INPUT, &options.lexicon, 0,
       "pronunciations, as in CMUdict or Kaldi's lexicon.txt (default: those of the recognizer, or the phones of "
       "--data; without a recognizer, $LINNET_LEXICON)",
       "FILE"},
      {"unit", 'u', POPT_ARG_STRING, &options.unit, 0, "what to write: phone, or word (default if the text has words)",
       "UNIT"},
      {"skip-unknown", 0, POPT_ARG_NONE, &options.skip_unknown, 0,
       "interpolate the times of words without a pronunciation (default: an error)", NULL},
      {"jumps", 0, POPT_ARG_NONE, &options.jumps, 0,
       "audio and text may differ: find omitted and repeated words, and sound without text (default: every word is "
       "spoken, in order)",
       NULL},
      {"jump-cost", 0, POPT_ARG_DOUBLE, &options.jump_cost, 0,
       "with --jumps: cost of leaving and reentering the text, a natural logarithm (default 60)", "X"},
      {"frame-cost", 0, POPT_ARG_DOUBLE, &options.frame_cost, 0,
       "with --jumps: cost of each frame of sound outside the text (default 2)", "X"},
      TOOL_MODEL_ROW(options.model),
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, align_words_options, 0, "Words of the text:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, results_options(), 0, "Output:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, inputs_options, 0, "Input:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed =
      tool_parse(argc, argv, table, "[OPTIONS] FILE..., or --data DIR   ('-' is standard input)", NULL, NULL);
  size_t count = 0;
  const char **paths = parsed ? inputs_arguments(parsed, &count) : NULL;
  int code = tool_with_recognizer(options.model, check_texts(paths, count) ? paths : NULL, count, run);
  poptFreeContext(parsed);
  return code;
}
