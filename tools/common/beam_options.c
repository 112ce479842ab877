/* Checks the options of a beam search and opens what they name. */
#include "beam_options.h"

#include <math.h>
#include <stdlib.h>

#define NOT_GIVEN (-(double)INFINITY)

static struct {
  int beam, nbest, top_symbols;
  double symbol_threshold, score_threshold, insertion_bonus, lm_weight;
  char *lm;
} options = {.beam = -1, .nbest = 1, .symbol_threshold = INFINITY, .score_threshold = INFINITY, .lm_weight = NOT_GIVEN};

struct poptOption beam_options_table[] = {
    {"beam", 'b', POPT_ARG_INT, &options.beam, 0, "prefixes kept (50)", "N"},
    {"nbest", 'n', POPT_ARG_INT, &options.nbest, 0, "hypotheses to write (1)", "N"},
    {"top-symbols", 0, POPT_ARG_INT, &options.top_symbols, 0, "a frame appends only its most probable ones (0: all)",
     "N"},
    {"symbol-threshold", 0, POPT_ARG_DOUBLE, &options.symbol_threshold, 0,
     "nor any so far below its best, in natural logarithms (inf)", "X"},
    {"score-threshold", 0, POPT_ARG_DOUBLE, &options.score_threshold, 0,
     "prefixes so far below the best are dropped (inf)", "X"},
    {"insertion-bonus", 0, POPT_ARG_DOUBLE, &options.insertion_bonus, 0, "added to the score for each symbol (0)", "X"},
    {"lm", 0, POPT_ARG_STRING, &options.lm, 0,
     "n-gram model over the symbols, or words, as of 'linnet ngram': ARPA, ARPA.gz, binary (none)", "FILE"},
    {"lm-weight", 0, POPT_ARG_DOUBLE, &options.lm_weight, 0, "its logarithms are multiplied by this (1)", "X"},
    POPT_TABLEEND};

/* Options of a search, without one. */
static const char *useless_option(void) {
  if (options.top_symbols > 0)
    return "--top-symbols";
  if (options.symbol_threshold < INFINITY)
    return "--symbol-threshold";
  return options.score_threshold < INFINITY ? "--score-threshold" : NULL;
}

static bool check_model(bool optional) {
  bool given = options.lm_weight != NOT_GIVEN;
  if (given && !options.lm) {
    tool_usage("--lm-weight %g: of which language model? Name it with --lm FILE", options.lm_weight);
    return false;
  }
  if (given && !(options.lm_weight >= 0 && options.lm_weight <= 100)) {
    tool_usage("--lm-weight %g: must be 0 to 100", options.lm_weight);
    return false;
  }
  if (options.lm && optional && !beam_options_given()) {
    tool_usage("--lm %s: greedy decoding takes no language model: add --beam N, such as --beam 50", options.lm);
    return false;
  }
  return true;
}

static bool check_pruning(bool optional) {
  const char *useless = optional && !beam_options_given() ? useless_option() : NULL;
  if (useless)
    tool_usage("%s: greedy decoding drops nothing: add --beam N, such as --beam 50", useless);
  return !useless;
}

bool beam_options_check(bool optional) {
  if (options.beam != -1 && (options.beam < 1 || options.beam > LINNET_BEAM_MAX)) {
    tool_usage("--beam %d: must be 1 to %d", options.beam, LINNET_BEAM_MAX);
    return false;
  }
  if (options.nbest < 1) {
    tool_usage("--nbest %d: must be at least 1", options.nbest);
    return false;
  }
  if (options.top_symbols < 0) {
    tool_usage("--top-symbols %d: must be at least 0", options.top_symbols);
    return false;
  }
  if (!(options.symbol_threshold >= 0) || !(options.score_threshold >= 0)) {
    tool_usage("--symbol-threshold and --score-threshold must be at least 0");
    return false;
  }
  if (!(fabs(options.insertion_bonus) <= 100)) {
    tool_usage("--insertion-bonus %g: must be -100 to 100", options.insertion_bonus);
    return false;
  }
  return check_pruning(optional) && check_model(optional);
}

bool beam_options_given(void) {
  return options.beam != -1 || options.nbest > 1 || options.insertion_bonus != 0;
}

bool beam_options_nbest(void) {
  return options.nbest > 1;
}

/* As many prefixes as hypotheses are wanted, at least. */
void beam_options_read(struct linnet_beam_settings *settings) {
  linnet_beam_settings_default(settings);
  if (options.beam != -1)
    settings->beam = (size_t)options.beam;
  else if ((size_t)options.nbest > settings->beam)
    settings->beam = options.nbest < LINNET_BEAM_MAX ? (size_t)options.nbest : LINNET_BEAM_MAX;
  settings->top_symbols = (size_t)options.top_symbols;
  settings->symbol_threshold = (float)options.symbol_threshold;
  settings->score_threshold = (float)options.score_threshold;
  settings->insertion_bonus = (float)options.insertion_bonus;
  if (options.lm_weight != NOT_GIVEN)
    settings->model_weight = (float)options.lm_weight;
}

const char *beam_options_lm(void) {
  return options.lm;
}

size_t beam_options_count(void) {
  return (size_t)options.nbest;
}

/* --- the language model ------------------------------------------------------------------------------------------- */

/* Of symbols that the model does not have: false after saying so if it has none, else a warning. */
static bool judge_missing(const struct linnet_ngram *ngram, const char *const *names, size_t count, size_t missing) {
  size_t first = 1;
  if (missing == 0)
    return true;
  if (missing == count - 1) {
    tool_fail("--lm %s: its words are not the symbols, such as '%s': estimate it over sequences of symbols with "
              "'linnet ngram'",
              options.lm, names[1]);
    return false;
  }
  while (first + 1 < count && linnet_ngram_find(ngram, names[first]) != LINNET_NGRAM_NO_WORD)
    first++;
  tool_warn("--lm %s: lacks %zu of %zu symbols, such as '%s': %s", options.lm, missing, count - 1, names[first],
            linnet_ngram_find(ngram, "<unk>") == LINNET_NGRAM_NO_WORD ? "they cannot be recognised"
                                                                      : "they count as <unk>");
  return true;
}

static bool bind(struct beam_setup *setup, struct linnet_context *context, const char *const *names, size_t count) {
  size_t missing = 0;
  if (linnet_ngram_load(context, options.lm, &setup->ngram) != LINNET_OK ||
      linnet_ngram_bind(context, setup->ngram, names, count, &missing, &setup->binding) != LINNET_OK) {
    tool_fail("--lm: %s; 'linnet ngram' makes models of text", linnet_context_error(context));
    return false;
  }
  setup->model = linnet_ngram_language_model(setup->binding);
  setup->settings.model = &setup->model;
  return judge_missing(setup->ngram, names, count, missing);
}

bool beam_setup_open(struct beam_setup *setup, struct linnet_context *context, tool_symbol_fn name, const void *user,
                     int count, const struct linnet_calibrations *calibrations) {
  *setup = (struct beam_setup){.ngram = NULL};
  beam_options_read(&setup->settings);
  setup->settings.calibrations = calibrations;
  if (!options.lm)
    return true;
  const char **names = calloc((size_t)count, sizeof *names);
  for (int i = 0; names && i < count; i++)
    names[i] = name(user, i);
  if (!names)
    tool_fail("out of memory for the names of %d symbols", count);
  bool good = names && bind(setup, context, names, (size_t)count);
  free(names);
  return good;
}

void beam_setup_close(struct beam_setup *setup) {
  linnet_ngram_binding_destroy(setup->binding);
  linnet_ngram_destroy(setup->ngram);
}
