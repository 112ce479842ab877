/* Chooses between the search over symbols and the search for words, and applies the options to a recognizer. */
#include "search_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "default_model.h"
#include "lattices.h"
#include "separate.h"
#include "tool.h"

bool search_options_given(void) {
  return beam_options_given() || word_options_given() || lattices_path();
}

bool search_options_check(bool optional, bool recognizer) {
  const bool none = optional && !recognizer && !word_options_given() && !lattices_path();
  return beam_options_check(none, recognizer) && word_options_check(recognizer) &&
         (recognizer || beam_options_fit(word_options_given())) && lattices_check();
}

bool search_options_read(struct linnet_search_settings *settings, bool optional) {
  const bool greedy = settings->kind == LINNET_SEARCH_GREEDY;
  settings->lattice = lattices_path() != NULL;
  if (word_options_given())
    settings->kind = LINNET_SEARCH_WORDS;
  else if (greedy && (!optional || search_options_given()))
    settings->kind = LINNET_SEARCH_SYMBOLS;
  beam_options_read(settings);
  if (settings->kind == LINNET_SEARCH_WORDS)
    word_options_read(settings);
  const bool words = settings->kind == LINNET_SEARCH_WORDS;
  return word_options_fit(words) && beam_options_fit(words) && beam_options_fit_files(settings) &&
         word_options_fit_unknown(settings->unknown_penalty) && word_options_fit_g2p(settings) &&
         separate_check_again();
}

static const char *source_of(const char *key);

/* An error of a setting begins with its key. */
int search_options_fail(const struct linnet_context *context, const char *path) {
  const char *error = linnet_context_error(context);
  char key[32];
  snprintf(key, sizeof key, "%.*s", (int)strcspn(error, ":"), error);
  const char *source = tool_interrupted() ? NULL : source_of(key);
  if (source)
    return tool_fail("%s%s", source, error + strlen(key));
  return path ? tool_fail_recognizer(context, path) : tool_fail_context(context);
}

/* --- a recognizer with these options ------------------------------------------------------------------------------ */

#define NO_SECOND_PASS "none"

static int phones_option;
static char *second_pass_option;
static double blank_penalty = TOOL_NOT_GIVEN, ensemble_weight = TOOL_NOT_GIVEN;

struct poptOption recognizer_options_table[] = {
    {"phones", 0, POPT_ARG_NONE, &phones_option, 0,
     "recognise phones with the model of a recognizer (default: what the recognizer says)", NULL},
    {"blank-penalty", 0, POPT_ARG_DOUBLE, &blank_penalty, 0,
     "without a beam, subtract X from the log-posterior of the blank: more phones (default: what the recognizer says)",
     "X"},
    {"ensemble-weight", 0, POPT_ARG_DOUBLE, &ensemble_weight, 0,
     "share of the second model of an ensemble; 0: only the first model, which is faster (default: what the recognizer "
     "says)",
     "W"},
    {"second-pass", 0, TOOL_INPUT, &second_pass_option, 0,
     "folder of another recognizer, or the name of an installed one, which recognises each utterance or segment again "
     "when it has ended, and gives the final result; none: no second pass. Default: as the recognizer says. With "
     "listen and transcribe --live the installed live recognizer uses english, and with transcribe --endpoints a "
     "recognizer that is not causal is its own second pass, unless a search option other than --hotwords or --grammar "
     "is given",
     "PATH"},
    POPT_TABLEEND};

static const char *source_of(const char *key) {
  const char *source = beam_options_source(key);
  if (!source)
    source = word_options_source(key);
  return source || !second_pass_option || strcmp(key, "second_pass") != 0 ? source : "--second-pass";
}

bool recognizer_options_default(void) {
  return !second_pass_option && blank_penalty == TOOL_NOT_GIVEN && !beam_options_any() &&
         !word_options_change_search() && !lattices_path();
}

bool recognizer_options_ensemble(void) {
  return ensemble_weight != TOOL_NOT_GIVEN;
}

static bool blank_penalty_fits(bool greedy) {
  const bool fits = greedy || blank_penalty == TOOL_NOT_GIVEN;
  if (!fits)
    tool_usage("--blank-penalty %g: only greedy decoding has it; a search with a beam takes --priors FILE",
               blank_penalty);
  return fits;
}

/* Whether the options ask for words, or for other results of a recognizer. */
static bool takes_recognizer(const char *path) {
  return !phones_option && tool_names_recognizer(path);
}

static bool check_blank_penalty(void) {
  const bool good = fabs(blank_penalty) <= 100;
  if (!good)
    tool_usage("--blank-penalty %g: must be -100 to 100", blank_penalty);
  return good && blank_penalty_fits(!search_options_given());
}

bool recognizer_options_check(const char *path) {
  if (ensemble_weight != TOOL_NOT_GIVEN && !(ensemble_weight >= 0 && ensemble_weight < 1)) {
    tool_usage("--ensemble-weight %g: must be 0 or more, and less than 1", ensemble_weight);
    return false;
  }
  if (phones_option && word_options_given()) {
    tool_usage("only one of --phones and --words");
    return false;
  }
  if (blank_penalty != TOOL_NOT_GIVEN && !check_blank_penalty())
    return false;
  return search_options_check(true, takes_recognizer(path));
}

/* What belongs to the model: a search for phones takes it also from a recognizer whose search is for words. */
static void read_model_settings(struct recognizer_options *options) {
  struct linnet_search_settings search;
  if (options->file) {
    linnet_recognizer_file_search_settings(options->file, &search);
    options->search.blank_penalty = search.blank_penalty;
    options->search.emission_delay = search.emission_delay;
    options->search.calibrations = search.calibrations;
  }
  if (blank_penalty != TOOL_NOT_GIVEN)
    options->search.blank_penalty = (float)blank_penalty;
}

static int read_ensemble_weight(struct recognizer_options *options, const char *path) {
  if (ensemble_weight == TOOL_NOT_GIVEN)
    return TOOL_OK;
  if (ensemble_weight != 0 && !options->settings.ensemble_model.path)
    return tool_fail("--ensemble-weight %g: %s has no second model", ensemble_weight, path);
  options->settings.ensemble_weight = ensemble_weight;
  if (ensemble_weight == 0 && options->settings.ensemble_model.path)
    options->search.calibrations = NULL; /* those of the file are of both models together */
  return TOOL_OK;
}

static int read_second_pass(struct recognizer_options *options, struct linnet_context *context) {
  if (!second_pass_option)
    return TOOL_OK;
  const bool none = strcmp(second_pass_option, NO_SECOND_PASS) == 0;
  options->second_pass = none ? NULL : tool_find_given("--second-pass: ", second_pass_option);
  options->settings.second_pass = options->second_pass;
  if (options->second_pass)
    tool_add_recognizer_inputs(context, options->second_pass);
  return none || options->second_pass ? TOOL_OK : TOOL_FAILURE;
}

int recognizer_options_read(struct recognizer_options *options, struct linnet_context *context, const char *path) {
  linnet_search_settings_default(&options->search);
  options->second_pass = NULL;
  int code = tool_load_settings(context, path, &options->file, &options->settings);
  if (code != TOOL_OK)
    return code;
  if (takes_recognizer(path))
    linnet_recognizer_file_search_settings(options->file, &options->search);
  read_model_settings(options);
  options->settings.search = &options->search;
  code = read_second_pass(options, context);
  if (code == TOOL_OK)
    code = read_ensemble_weight(options, path);
  if (code != TOOL_OK)
    return code;
  const bool good =
      search_options_read(&options->search, true) && blank_penalty_fits(options->search.kind == LINNET_SEARCH_GREEDY);
  return good ? TOOL_OK : TOOL_USAGE;
}

struct linnet_recognizer *recognizer_options_create(const struct recognizer_options *options,
                                                    struct linnet_context *context, const char *path) {
  struct linnet_recognizer *recognizer = NULL;
  if (linnet_recognizer_create(context, &options->settings, &recognizer) != LINNET_OK)
    search_options_fail(context, path);
  return recognizer;
}

void recognizer_options_release(struct recognizer_options *options) {
  linnet_recognizer_file_destroy(options->file);
  free(options->second_pass);
}
