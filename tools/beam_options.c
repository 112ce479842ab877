#include "beam_options.h"

#include <math.h>

static struct {
  int beam, nbest, top_symbols;
  double symbol_threshold, score_threshold, insertion_bonus;
} options = {.beam = -1, .nbest = 1, .symbol_threshold = INFINITY, .score_threshold = INFINITY};

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
    POPT_TABLEEND};

bool beam_options_check(void) {
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
  return true;
}

bool beam_options_given(void) {
  return options.beam != -1 || options.nbest > 1 || options.insertion_bonus != 0;
}

bool beam_options_nbest(void) {
  return options.nbest > 1;
}

/* As many prefixes as hypotheses are wanted, at least. */
void beam_options_settings(struct linnet_beam_settings *settings) {
  linnet_beam_settings_default(settings);
  if (options.beam != -1)
    settings->beam = (size_t)options.beam;
  else if ((size_t)options.nbest > settings->beam)
    settings->beam = options.nbest < LINNET_BEAM_MAX ? (size_t)options.nbest : LINNET_BEAM_MAX;
  settings->top_symbols = (size_t)options.top_symbols;
  settings->symbol_threshold = (float)options.symbol_threshold;
  settings->score_threshold = (float)options.score_threshold;
  settings->insertion_bonus = (float)options.insertion_bonus;
}

size_t beam_options_count(void) {
  return (size_t)options.nbest;
}
