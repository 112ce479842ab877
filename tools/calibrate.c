/* linnet calibrate: fits the map from posteriors to the probability of being right on recognised phones and their
 * references, prints the reliability curve before and after, and writes it into a copy of the model. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/calibration.h>
#include <linnet/lexicon.h>
#include <linnet/model.h>
#include <linnet/score.h>
#include <linnet/train.h>

#include "default_model.h"
#include "tool.h"

enum { BINS = 10, MAX_TOKENS = 1 << 20 };

static struct {
  char *model, *output;
  int half;
} options;

/* The phones of all utterances, and whether each is right. */
struct phones {
  float *confidence;
  unsigned char *correct;
  size_t count, capacity;
};

static bool add_phone(struct phones *phones, double confidence, bool correct) {
  if (phones->count == phones->capacity) {
    size_t capacity = 2 * phones->capacity + 1024;
    float *confidences = realloc(phones->confidence, capacity * sizeof *confidences);
    phones->confidence = confidences ? confidences : phones->confidence;
    unsigned char *corrects = realloc(phones->correct, capacity);
    phones->correct = corrects ? corrects : phones->correct;
    if (!confidences || !corrects)
      return false;
    phones->capacity = capacity;
  }
  phones->confidence[phones->count] = (float)confidence;
  phones->correct[phones->count++] = correct;
  return true;
}

/* --- one utterance ------------------------------------------------------------------------------------------------ */

/* Aligns hypothesis and reference, and notes which phones of the hypothesis are right. */
static bool judge(struct linnet_context *context, const char *id, const char *const *reference, size_t reference_count,
                  const char *const *hypothesis, const double *confidence, size_t count, struct phones *phones) {
  struct linnet_scorer *scorer = NULL;
  struct linnet_scorer_settings settings;
  linnet_scorer_settings_default(&settings);
  settings.strip_stress = 1;
  bool good = linnet_scorer_create(context, &settings, &scorer) == LINNET_OK &&
              linnet_scorer_add(scorer, id, NULL, reference, reference_count, hypothesis, count) == LINNET_OK;
  if (!good)
    tool_fail_context(context);
  size_t length = good ? linnet_scorer_utterance(scorer, 0).pairs : 0, next = 0;
  struct linnet_score_pair *pairs = calloc(length + 1, sizeof *pairs);
  if (good && pairs)
    linnet_scorer_alignment(scorer, 0, pairs);
  for (size_t i = 0; good && pairs && i < length; i++)
    if (pairs[i].hypothesis)
      good = add_phone(phones, confidence[next++],
                       pairs[i].reference && strcmp(pairs[i].reference, pairs[i].hypothesis) == 0);
  free(pairs);
  linnet_scorer_destroy(scorer);
  return good && pairs;
}

/* A line of `linnet transcribe --format json`. */
static bool read_line(struct linnet_context *context, const json_t *line, const struct linnet_transcripts *reference,
                      struct phones *phones) {
  const char *id = json_string_value(json_object_get(line, "utterance"));
  const json_t *list = json_object_get(line, "phones");
  size_t count = json_array_size(list), tokens, at = id ? linnet_transcripts_find(reference, id) : LINNET_NOT_FOUND;
  if (at == LINNET_NOT_FOUND || count > MAX_TOKENS) {
    tool_fail("utterance '%s' is not in the reference", id ? id : "?");
    return false;
  }
  const char *const *expected = linnet_transcripts_tokens(reference, at, &tokens);
  const char **symbols = calloc(count + 1, sizeof *symbols);
  double *confidence = calloc(count + 1, sizeof *confidence);
  bool good = symbols && confidence;
  for (size_t i = 0; good && i < count; i++) {
    const json_t *phone = json_array_get(list, i);
    symbols[i] = json_string_value(json_object_get(phone, "symbol"));
    confidence[i] = json_number_value(json_object_get(phone, "confidence"));
    good = symbols[i] != NULL;
  }
  good = good && judge(context, id, expected, tokens, symbols, confidence, count, phones);
  free(symbols);
  free(confidence);
  return good;
}

static bool read_hypotheses(struct linnet_context *context, const char *path,
                            const struct linnet_transcripts *reference, struct phones *phones) {
  FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  bool good = file != NULL;
  if (!file)
    tool_fail("%s: cannot read", path);
  for (int c; good && (c = getc(file)) != EOF;) {
    if (c == '\n')
      continue;
    ungetc(c, file);
    json_error_t error;
    json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error);
    good = line && read_line(context, line, reference, phones);
    if (!line)
      tool_fail("%s: not lines of 'linnet transcribe --data --format json': %s", path, error.text);
    json_decref(line);
  }
  if (file && file != stdin)
    fclose(file);
  return good;
}

/* --- the reliability curve ---------------------------------------------------------------------------------------- */

/* Prints "mean confidence, share right, phones" per tenth of confidence, and the expected calibration error: the mean
 * distance of the two (Naeini et al. 2015). */
static void print_curve(const char *title, const struct phones *phones, const struct linnet_calibration *calibration) {
  double sum[BINS] = {0}, right[BINS] = {0}, count[BINS] = {0}, error = 0;
  for (size_t i = 0; i < phones->count; i++) {
    double p = (double)linnet_calibrate(calibration, phones->confidence[i]);
    int bin = p < 1 ? (int)(p * BINS) : BINS - 1;
    sum[bin] += p;
    right[bin] += phones->correct[i];
    count[bin]++;
  }
  printf("%s\nconfidence  right  phones\n", title);
  for (int b = 0; b < BINS; b++) {
    error += fabs(sum[b] - right[b]) / (double)phones->count;
    if (count[b] > 0)
      printf("%10.3f  %5.3f  %6.0f\n", sum[b] / count[b], right[b] / count[b], count[b]);
  }
  printf("expected calibration error %.4f\n", error);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static bool refuse_calibrated(struct linnet_context *context, const char *model_path) {
  struct linnet_model *model = NULL;
  bool loaded = linnet_model_load(context, model_path, &model) == LINNET_OK;
  bool good = loaded && !linnet_model_metadata(model, LINNET_CALIBRATION_KEY);
  if (!loaded)
    tool_fail_context(context);
  else if (!good)
    tool_fail("%s: is calibrated already: start from the model without", model_path);
  linnet_model_destroy(model);
  return good;
}

static int fit(struct linnet_context *context, const char *model, const struct phones *phones) {
  static const struct linnet_calibration unchanged = {1, 0};
  struct linnet_calibration calibration;
  char text[128];
  if (linnet_calibration_fit(context, phones->confidence, phones->correct, phones->count, &calibration) != LINNET_OK)
    return tool_fail_context(context);
  print_curve("posteriors", phones, &unchanged);
  print_curve("calibrated", phones, &calibration);
  snprintf(text, sizeof text, "{\"slope\": %.4f, \"offset\": %.4f}", calibration.slope, calibration.offset);
  printf("%s\n", text);
  if (options.output &&
      linnet_model_annotate(context, model, LINNET_CALIBRATION_KEY, text, options.half, options.output) != LINNET_OK)
    return tool_fail_context(context);
  return TOOL_OK;
}

static int run(struct linnet_context *context, const char *model, const char **paths, size_t count) {
  (void)count;
  struct linnet_transcripts *reference = NULL;
  struct phones phones = {.count = 0};
  int code = TOOL_FAILURE;
  if (linnet_transcripts_load(context, paths[0], &reference) != LINNET_OK)
    tool_fail_context(context);
  else if (refuse_calibrated(context, model) && read_hypotheses(context, paths[1], reference, &phones))
    code = fit(context, model, &phones);
  free(phones.confidence);
  free(phones.correct);
  linnet_transcripts_destroy(reference);
  return code;
}

int tool_calibrate(int argc, const char **argv) {
  const struct poptOption table[] = {{"model", 'm', POPT_ARG_STRING, &options.model, 0,
                                      "the model that recognised (default: the one that ships)", "FILE"},
                                     {"output", 'o', POPT_ARG_STRING, &options.output, 0,
                                      "the model with the calibration (default: only report)", "FILE"},
                                     {"half", 0, POPT_ARG_NONE, &options.half, 0, "store the weights as float16", NULL},
                                     {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
                                     POPT_TABLEEND};
  poptContext parsed = tool_parse(argc, argv, table,
                                  "[OPTIONS] REF HYP.json   (HYP: linnet transcribe --data --format json)", NULL, NULL);
  size_t count = 0;
  const char **paths = parsed ? tool_arguments(parsed, 2, 2, &count) : NULL;
  int code = tool_with_model(options.model, paths, count, run);
  poptFreeContext(parsed);
  return code;
}
