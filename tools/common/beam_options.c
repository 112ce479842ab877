/* Checks the options of a beam search and opens what they name. */
#include "search_options.h"

#include <math.h>
#include <string.h>

#include "tool.h"

static struct {
  int beam, nbest, top_symbols;
  double symbol_threshold, score_threshold, insertion_bonus, lm_weight, prior_scale;
  char *lm, *priors;
} options = {.beam = TOOL_NO_INTEGER,
             .nbest = TOOL_NO_INTEGER,
             .top_symbols = TOOL_NO_INTEGER,
             .symbol_threshold = TOOL_NOT_GIVEN,
             .score_threshold = TOOL_NOT_GIVEN,
             .insertion_bonus = TOOL_NOT_GIVEN,
             .lm_weight = TOOL_NOT_GIVEN,
             .prior_scale = TOOL_NOT_GIVEN};

struct poptOption beam_nbest_table[] = {
    {"nbest", 'n', POPT_ARG_INT, &options.nbest, 0,
     "number of hypotheses to write; more than one changes the result as --lattice does (default 1)", "N"},
    POPT_TABLEEND};

struct poptOption beam_options_table[] = {
    {"beam", 'b', POPT_ARG_INT, &options.beam, 0,
     "use a beam search with at most N hypotheses (default: the model folder's, else 50)", "N"},
    {"top-symbols", 0, POPT_ARG_INT, &options.top_symbols, 0,
     "in each frame, extend hypotheses by the N most probable symbols only (default: the model folder's, else 0: all)",
     "N"},
    {"symbol-threshold", 0, POPT_ARG_DOUBLE, &options.symbol_threshold, 0,
     "extend hypotheses only by symbols whose log-posterior is at most X below the best one (default: the "
     "model folder's, else inf: all)",
     "X"},
    {"score-threshold", 0, POPT_ARG_DOUBLE, &options.score_threshold, 0,
     "drop hypotheses whose score is more than X below the best one (default: the model folder's, else inf: none)",
     "X"},
    {"insertion-bonus", 0, POPT_ARG_DOUBLE, &options.insertion_bonus, 0,
     "add X to the score for each symbol (default: the model folder's, else 0)", "X"},
    {"lm", 0, TOOL_INPUT, &options.lm, 0,
     "n-gram model over symbols, or over words in a search for words: ARPA, ARPA.gz or binary (default: the "
     "model folder's, else none); none: without one",
     "FILE"},
    {"lm-weight", 0, POPT_ARG_DOUBLE, &options.lm_weight, 0,
     "multiply the logarithms of the n-gram model by X (default: the model folder's, else 1)", "X"},
    {"priors", 0, TOOL_INPUT, &options.priors, 0,
     "divide the posteriors by these priors, as 'linnet posteriors --estimate-priors' writes them (default: the "
     "model folder's, else none)",
     "FILE"},
    {"prior-scale", 0, POPT_ARG_DOUBLE, &options.prior_scale, 0,
     "exponent of the priors, 0 to 2 (default: the model folder's, else 0.5)", "X"},
    POPT_TABLEEND};

/* Options of a search, without one. */
static const char *useless_option(void) {
  if (options.top_symbols != TOOL_NO_INTEGER)
    return "--top-symbols";
  if (options.symbol_threshold != TOOL_NOT_GIVEN)
    return "--symbol-threshold";
  return options.score_threshold != TOOL_NOT_GIVEN ? "--score-threshold" : NULL;
}

/* Whether --lm leaves the language model of a recognizer out. */
static bool leaves_model_out(void) {
  return options.lm && strcmp(options.lm, "none") == 0;
}

/* `grammar`: the search has one. */
static bool check_model(bool optional, bool recognizer, bool grammar) {
  bool given = options.lm_weight != TOOL_NOT_GIVEN;
  if (given && grammar && !options.lm) {
    tool_usage("--lm-weight %g: the search has a grammar, which replaces a language model: omit it", options.lm_weight);
    return false;
  }
  if (given && (leaves_model_out() || (!options.lm && !recognizer))) {
    tool_usage("--lm-weight %g: the language model is missing: name it with --lm FILE", options.lm_weight);
    return false;
  }
  if (given && !(options.lm_weight >= 0 && options.lm_weight <= 100)) {
    tool_usage("--lm-weight %g: must be 0 to 100", options.lm_weight);
    return false;
  }
  if (options.lm && !leaves_model_out() && optional && !beam_options_given()) {
    tool_usage("--lm %s: greedy decoding has no language model: add --beam N, such as --beam 50", options.lm);
    return false;
  }
  return true;
}

static bool check_priors(bool optional, bool recognizer) {
  bool given = options.prior_scale != TOOL_NOT_GIVEN;
  if (given && !options.priors && !recognizer) {
    tool_usage("--prior-scale %g: the priors are missing: name them with --priors FILE", options.prior_scale);
    return false;
  }
  if (given && !(options.prior_scale >= 0 && options.prior_scale <= 2)) {
    tool_usage("--prior-scale %g: must be 0 to 2", options.prior_scale);
    return false;
  }
  if (options.priors && optional && !beam_options_given()) {
    tool_usage("--priors %s: greedy decoding takes no priors: add --beam N, such as --beam 50", options.priors);
    return false;
  }
  return true;
}

static bool check_pruning(bool optional) {
  const char *useless = optional && !beam_options_given() ? useless_option() : NULL;
  if (useless)
    tool_usage("%s: greedy decoding drops no hypotheses: add --beam N, such as --beam 50", useless);
  return !useless;
}

static bool is_threshold(double value) {
  return value == TOOL_NOT_GIVEN || value >= 0;
}

bool beam_options_check(bool optional, bool recognizer) {
  if (options.beam != TOOL_NO_INTEGER && (options.beam < 1 || options.beam > LINNET_BEAM_MAX)) {
    tool_usage("--beam %d: must be 1 to %d", options.beam, LINNET_BEAM_MAX);
    return false;
  }
  if (options.nbest != TOOL_NO_INTEGER && options.nbest < 1) {
    tool_usage("--nbest %d: must be at least 1", options.nbest);
    return false;
  }
  if (options.top_symbols != TOOL_NO_INTEGER && options.top_symbols < 0) {
    tool_usage("--top-symbols %d: must be at least 0", options.top_symbols);
    return false;
  }
  if (!is_threshold(options.symbol_threshold) || !is_threshold(options.score_threshold)) {
    tool_usage("--symbol-threshold and --score-threshold must be at least 0");
    return false;
  }
  if (options.insertion_bonus != TOOL_NOT_GIVEN && !(fabs(options.insertion_bonus) <= 100)) {
    tool_usage("--insertion-bonus %g: must be -100 to 100", options.insertion_bonus);
    return false;
  }
  return check_pruning(optional) && check_model(optional, recognizer, word_options_grammar()) &&
         check_priors(optional, recognizer);
}

static bool has_bonus(void) {
  return options.insertion_bonus != TOOL_NOT_GIVEN && options.insertion_bonus != 0;
}

bool beam_options_fit(bool words) {
  const bool useless = words && has_bonus();
  if (useless)
    tool_usage("--insertion-bonus: counts symbols, but this search is for words: use --word-bonus, or --phones");
  return !useless;
}

static bool is_given(const struct linnet_source *source) {
  return source->path || source->data;
}

bool beam_options_fit_files(const struct linnet_search_settings *settings) {
  const bool greedy = settings->kind == LINNET_SEARCH_GREEDY;
  return check_pruning(greedy) &&
         check_model(greedy, !greedy && is_given(&settings->language_model), !greedy && is_given(&settings->grammar)) &&
         check_priors(greedy, !greedy && is_given(&settings->priors));
}

const char *beam_options_source(const char *key) {
  if (options.lm && strcmp(key, "language_model") == 0)
    return "--lm";
  return options.priors && strcmp(key, "priors") == 0 ? "--priors" : NULL;
}

bool beam_options_given(void) {
  return options.beam != TOOL_NO_INTEGER || options.nbest > 1 || has_bonus();
}

bool beam_options_any(void) {
  return beam_options_given() || useless_option() || options.lm || options.lm_weight != TOOL_NOT_GIVEN ||
         options.priors || options.prior_scale != TOOL_NOT_GIVEN;
}

bool beam_options_nbest(void) {
  return options.nbest > 1;
}

static void read_limits(struct linnet_search_settings *settings) {
  if (options.beam != TOOL_NO_INTEGER)
    settings->beam = (size_t)options.beam;
  if (options.nbest != TOOL_NO_INTEGER)
    settings->num_alternatives = (size_t)options.nbest;
  if (options.top_symbols != TOOL_NO_INTEGER)
    settings->top_symbols = (size_t)options.top_symbols;
  if (options.symbol_threshold != TOOL_NOT_GIVEN)
    settings->symbol_threshold = (float)options.symbol_threshold;
  if (options.score_threshold != TOOL_NOT_GIVEN)
    settings->score_threshold = (float)options.score_threshold;
}

void beam_options_read(struct linnet_search_settings *settings) {
  read_limits(settings);
  if (options.insertion_bonus != TOOL_NOT_GIVEN)
    settings->insertion_bonus = (float)options.insertion_bonus;
  if (options.lm_weight != TOOL_NOT_GIVEN)
    settings->language_model_weight = (float)options.lm_weight;
  if (options.prior_scale != TOOL_NOT_GIVEN)
    settings->prior_scale = (float)options.prior_scale;
  if (options.priors)
    settings->priors = (struct linnet_source){.path = options.priors};
  if (options.lm)
    settings->language_model = (struct linnet_source){.path = leaves_model_out() ? NULL : options.lm};
  if (options.lm && !leaves_model_out())
    settings->grammar = (struct linnet_source){.path = NULL};
}

const char *beam_options_lm(void) {
  return leaves_model_out() ? NULL : options.lm;
}
