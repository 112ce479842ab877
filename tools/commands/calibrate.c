/* linnet calibrate: compares recognised phones or words with their references, fits the function from confidence to the
 * probability of being right, prints the reliability curve before and after, and writes the function into a copy of the
 * model. */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/calibration.h>
#include <linnet/lexicon.h>
#include <linnet/model.h>
#include <linnet/score.h>
#include <linnet/train.h>

#include "common/default_model.h"
#include "common/separate.h"
#include "common/tool.h"

enum { BINS = 10, MAX_TOKENS = 1 << 20 };

static struct {
  char *model, *output;
  int half, words;
} options;

/* What is calibrated: its key in the JSON, and its entry in a model file. */
static const struct unit {
  const char *list, *name, *key;
  int strip_stress;
} units[] = {{"phones", "symbol", LINNET_CALIBRATION_KEY, 1}, {"words", "word", LINNET_WORD_CALIBRATION_KEY, 0}};

static const struct unit *unit(void) {
  return &units[!!options.words];
}

/* The phones, or words, of all utterances, and whether each is right. */
struct tokens {
  float *confidence;
  unsigned char *correct;
  size_t count, capacity;
};

static bool add_token(struct tokens *tokens, double confidence, bool correct) {
  if (tokens->count == tokens->capacity) {
    size_t capacity = 2 * tokens->capacity + 1024;
    float *confidences = realloc(tokens->confidence, capacity * sizeof *confidences);
    tokens->confidence = confidences ? confidences : tokens->confidence;
    unsigned char *corrects = realloc(tokens->correct, capacity);
    tokens->correct = corrects ? corrects : tokens->correct;
    if (!confidences || !corrects)
      return false;
    tokens->capacity = capacity;
  }
  tokens->confidence[tokens->count] = (float)confidence;
  tokens->correct[tokens->count++] = correct;
  return true;
}

/* --- one utterance ------------------------------------------------------------------------------------------------ */

/* Aligns hypothesis and reference, and notes which tokens of the hypothesis are right. */
static bool judge(struct linnet_context *context, const char *id, const char *const *reference, size_t num_reference,
                  const char *const *hypothesis, const double *confidence, size_t count, struct tokens *tokens) {
  struct linnet_scorer *scorer = NULL;
  struct linnet_scorer_settings settings;
  linnet_scorer_settings_default(&settings);
  settings.strip_stress = unit()->strip_stress;
  bool good = linnet_scorer_create(context, &settings, &scorer) == LINNET_OK &&
              linnet_scorer_add(scorer, id, NULL, reference, num_reference, hypothesis, count) == LINNET_OK;
  if (!good)
    tool_fail_context(context);
  size_t length = good ? linnet_scorer_utterance(scorer, 0).num_pairs : 0, next = 0;
  struct linnet_score_pair *pairs = calloc(length + 1, sizeof *pairs);
  if (good && pairs)
    linnet_scorer_alignment(scorer, 0, pairs);
  for (size_t i = 0; good && pairs && i < length; i++)
    if (pairs[i].hypothesis)
      good = add_token(tokens, confidence[next++],
                       pairs[i].reference && strcmp(pairs[i].reference, pairs[i].hypothesis) == 0);
  free(pairs);
  linnet_scorer_destroy(scorer);
  return good && pairs;
}

/* A token of a list, such as {"symbol": "AH", "start": 0, "end": 1, "confidence": 0.9}. */
static bool read_token(const char *place, size_t index, const json_t *token, const char **symbol, double *confidence) {
  const json_t *number = json_object_get(token, "confidence");
  *symbol = json_string_value(json_object_get(token, unit()->name));
  *confidence = json_number_value(number);
  if (!*symbol)
    tool_fail("%s: token %zu of \"%s\" has no \"%s\", a text", place, index + 1, unit()->list, unit()->name);
  else if (!json_is_number(number) || !(*confidence >= 0 && *confidence <= 1))
    tool_fail("%s: token %zu of \"%s\", '%s': \"confidence\" must be a number of 0 to 1", place, index + 1,
              unit()->list, *symbol);
  else
    return true;
  return false;
}

static bool check_list(const char *place, const json_t *list) {
  if (!json_is_array(list))
    tool_fail("%s: has no list \"%s\"%s", place, unit()->list,
              options.words ? ": recognise words (linnet transcribe --words), or omit --words" : "");
  else if (json_array_size(list) > MAX_TOKENS)
    tool_fail("%s: has %zu %s, more than %d: divide the recording", place, json_array_size(list), unit()->list,
              MAX_TOKENS);
  else
    return true;
  return false;
}

/* The list of utterance `at` of the reference. */
static bool read_list(struct linnet_context *context, const char *place, const json_t *list,
                      const struct linnet_transcripts *reference, size_t at, struct tokens *tokens) {
  size_t count = json_array_size(list), length;
  const char *const *expected = linnet_transcripts_tokens(reference, at, &length);
  const char **symbols = calloc(count + 1, sizeof *symbols);
  double *confidence = calloc(count + 1, sizeof *confidence);
  bool good = symbols && confidence;
  if (!good)
    tool_fail("%s: out of memory", place);
  for (size_t i = 0; good && i < count; i++)
    good = read_token(place, i, json_array_get(list, i), &symbols[i], &confidence[i]);
  good = good &&
         judge(context, linnet_transcripts_id(reference, at), expected, length, symbols, confidence, count, tokens);
  free(symbols);
  free(confidence);
  return good;
}

/* A line of `linnet transcribe --format json`. */
static bool read_line(struct linnet_context *context, const char *path, const json_t *line,
                      const struct linnet_transcripts *reference, struct tokens *tokens) {
  const char *id = json_string_value(json_object_get(line, "utterance"));
  const json_t *list = json_object_get(line, unit()->list);
  size_t at = id ? linnet_transcripts_find(reference, id) : LINNET_NOT_FOUND;
  char place[512];
  if (!id) {
    tool_fail(
        "%.256s: a line names no utterance: HYP must come from 'linnet transcribe --data DIR --format json', since "
        "results of single files have no ids",
        path);
    return false;
  }
  snprintf(place, sizeof place, "%.256s: utterance '%.128s'", path, id);
  if (at == LINNET_NOT_FOUND) {
    tool_fail("%s is missing in the reference", place);
    return false;
  }
  return check_list(place, list) && read_list(context, place, list, reference, at, tokens);
}

static bool read_hypotheses(struct linnet_context *context, const char *path,
                            const struct linnet_transcripts *reference, struct tokens *tokens) {
  FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  bool good = file != NULL;
  if (!file)
    tool_fail("%s: %s", path, strerror(errno));
  for (int c; good && (c = getc(file)) != EOF;) {
    if (isspace(c))
      continue;
    ungetc(c, file);
    json_error_t error;
    json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error);
    good = line && read_line(context, path, line, reference, tokens);
    if (!line)
      tool_fail("%s: must hold lines of 'linnet transcribe --data --format json': %s", path, error.text);
    json_decref(line);
  }
  if (good && ferror(file)) {
    tool_fail("%s: %s", path, strerror(errno));
    good = false;
  }
  if (file && file != stdin)
    fclose(file);
  return good;
}

/* --- the reliability curve ---------------------------------------------------------------------------------------- */

/* Prints "mean confidence, share right, number" per tenth of confidence, and the expected calibration error: the mean
 * difference of confidence and share (Naeini et al. 2015). */
static void print_curve(const char *title, const struct tokens *tokens, const struct linnet_calibration *calibration) {
  double sum[BINS] = {0}, right[BINS] = {0}, count[BINS] = {0}, error = 0;
  for (size_t i = 0; i < tokens->count; i++) {
    double p = (double)linnet_calibrate(calibration, tokens->confidence[i]);
    int bin = p < 1 ? (int)(p * BINS) : BINS - 1;
    sum[bin] += p;
    right[bin] += tokens->correct[i];
    count[bin]++;
  }
  printf("%s\nconfidence  right  %6s\n", title, unit()->list);
  for (int b = 0; b < BINS; b++) {
    error += fabs(sum[b] - right[b]) / (double)tokens->count;
    if (count[b] > 0)
      printf("%10.3f  %5.3f  %6.0f\n", sum[b] / count[b], right[b] / count[b], count[b]);
  }
  printf("expected calibration error %.4f\n", error);
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* What a recognizer's file says, whose calibration replaces that of its model. */
struct of_file {
  bool calibrated, ensemble;
  struct linnet_calibration calibration;
};

/* For a model alone, nothing. Returns the exit code. */
static int read_file(struct linnet_context *context, const char *path, struct of_file *of_file) {
  struct linnet_recognizer_file *file;
  struct linnet_recognizer_settings settings;
  struct linnet_search_settings search;
  *of_file = (struct of_file){.calibration = {1, 0}};
  const int code = tool_load_settings(context, path, &file, &settings);
  if (code != TOOL_OK || !file)
    return code;
  linnet_recognizer_file_search_settings(file, &search);
  of_file->ensemble = settings.ensemble_model.path && settings.ensemble_weight > 0;
  of_file->calibrated = search.calibrations != NULL;
  if (of_file->calibrated)
    of_file->calibration = options.words ? search.calibrations->words : search.calibrations->phones;
  linnet_recognizer_file_destroy(file);
  return code;
}

/* A model file cannot hold the calibration of an ensemble, and the keys of a recognizer's file come before it. */
static int check_output(const char *path, const struct of_file *of_file) {
  if (options.output && (of_file->ensemble || of_file->calibrated))
    return tool_usage("--output %s: %s %s: omit --output, and put the line that is then printed in recognizer.json, as "
                      "\"%s\"",
                      options.output, path,
                      of_file->ensemble ? "is an ensemble, and the calibration is of both models together"
                                        : "has calibrations of its own, which come before those of its model",
                      unit()->key);
  return TOOL_OK;
}

static bool refuse_calibrated(struct linnet_context *context, const char *path, const char *model_path,
                              const struct of_file *of_file) {
  if (of_file->calibrated) {
    const bool unchanged = of_file->calibration.slope == 1 && of_file->calibration.offset == 0;
    if (!unchanged)
      tool_fail("%s already has a calibration of %s (\"%s\"). Copy the recognizer's folder, set the key there to "
                "{\"slope\": 1, \"offset\": 0}, make HYP.json again with that folder, and name it with --model.",
                path, unit()->list, unit()->key);
    return unchanged;
  }
  struct linnet_model *model = NULL;
  bool loaded = linnet_model_load(context, model_path, &model) == LINNET_OK;
  bool good = loaded && !linnet_model_metadata(model, unit()->key);
  if (!loaded)
    tool_fail_context(context);
  else if (!good)
    tool_fail("%s: has a calibration of %s already: start from a model without one", model_path, unit()->list);
  linnet_model_destroy(model);
  return good;
}

static int fit(struct linnet_context *context, const char *model, const struct tokens *tokens) {
  static const struct linnet_calibration unchanged = {1, 0};
  struct linnet_calibration calibration;
  char text[128];
  if (linnet_calibration_fit(context, tokens->confidence, tokens->correct, tokens->count, &calibration) != LINNET_OK)
    return tool_fail_context(context);
  print_curve("posteriors", tokens, &unchanged);
  print_curve("calibrated", tokens, &calibration);
  snprintf(text, sizeof text, "{\"slope\": %.4f, \"offset\": %.4f}", calibration.slope, calibration.offset);
  printf("%s\n", text);
  if (!options.output)
    return TOOL_OK;
  tool_catch_interrupt();
  if (linnet_model_annotate(context, model, unit()->key, text, options.half, options.output) != LINNET_OK)
    return tool_fail_context(context);
  return tool_interrupted() ? TOOL_INTERRUPTED : TOOL_OK;
}

static int check_options(void) {
  if (options.half && !options.output)
    return tool_usage("--half: is for the model that is written: add --output FILE");
  if (options.output && separate_is_standard(options.output))
    return tool_usage("--output %s: the report goes to standard output; name a file for the model", options.output);
  return TOOL_OK;
}

static int calibrate(struct linnet_context *context, const char *path, const char *model, const char **paths) {
  struct linnet_transcripts *reference = NULL;
  struct tokens tokens = {.count = 0};
  struct of_file of_file;
  int code = check_options();
  separate_exempt(model);
  if (code == TOOL_OK)
    code = read_file(context, path, &of_file);
  if (code == TOOL_OK)
    code = check_output(path, &of_file);
  if (code != TOOL_OK)
    return code;
  code = TOOL_FAILURE;
  if (linnet_transcripts_load(context, paths[0], &reference) != LINNET_OK)
    tool_fail_context(context);
  else if (refuse_calibrated(context, path, model, &of_file) && read_hypotheses(context, paths[1], reference, &tokens))
    code = fit(context, model, &tokens);
  free(tokens.confidence);
  free(tokens.correct);
  linnet_transcripts_destroy(reference);
  return code;
}

static int run(struct linnet_context *context, const char *path, const char **paths, size_t count) {
  (void)count;
  char *model = tool_find_model(context, path);
  int code = model ? calibrate(context, path, model, paths) : TOOL_FAILURE;
  free(model);
  return code;
}

int tool_calibrate(int argc, const char **argv) {
  const struct poptOption table[] = {
      /* --output may replace this model: only the calibration changes. */
      {"model", 'm', POPT_ARG_STRING, &options.model, 0,
       "model that made HYP: its file, a recognizer's folder, or the name of an installed one (default: $LINNET_MODEL, "
       "else the one that ships)",
       "FILE"},
      {"output", 'o', TOOL_OUTPUT, &options.output, 0, "write the model with the calibration (default: report only)",
       "FILE"},
      {"words", 0, POPT_ARG_NONE, &options.words, 0,
       "calibrate the confidences of words; REF is then a text (default: those of phones)", NULL},
      {"half", 0, POPT_ARG_NONE, &options.half, 0, "store weights as float16 (default: float32)", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_plain_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed = tool_parse(argc, argv, table,
                                  "[OPTIONS] REF HYP.json   (HYP: linnet transcribe --data --format json)", NULL, NULL);
  size_t count = 0;
  const char **paths = parsed ? tool_arguments(parsed, "REF HYP.json", 2, &count) : NULL;
  int code = tool_with_recognizer(options.model, paths, count, run);
  poptFreeContext(parsed);
  return code;
}
