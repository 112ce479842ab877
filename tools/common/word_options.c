/* Checks the options of a word search and opens what they name. */
#include "word_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "beam_options.h"
#include "lattices.h"

static struct {
  int words;
  char *lexicon, *hotwords, *grammar, *silence;
  double word_bonus, unknown_penalty;
} options = {.unknown_penalty = INFINITY};

struct poptOption word_options_table[] = {
    {"words", 'w', POPT_ARG_NONE, &options.words, 0, "search for words of a lexicon; --lm is over words then", NULL},
    {"lexicon", 'l', POPT_ARG_STRING, &options.lexicon, 0,
     "pronunciations, as in CMUdict or Kaldi's lexicon.txt (default: $LINNET_LEXICON)", "FILE"},
    {"grammar", 0, POPT_ARG_STRING, &options.grammar, 0, "find only these sentences: one a line, or JSGF", "FILE"},
    {"hotwords", 0, POPT_ARG_STRING, &options.hotwords, 0,
     "words and phrases to prefer, 'WORD[ WORD...] [weight]' a line", "FILE"},
    {"word-bonus", 0, POPT_ARG_DOUBLE, &options.word_bonus, 0, "added to the score for each word (0)", "X"},
    {"unknown-penalty", 0, POPT_ARG_DOUBLE, &options.unknown_penalty, 0,
     "let words be unknown, at this cost for each of their symbols (inf: none is)", "X"},
    {"silence", 0, POPT_ARG_STRING, &options.silence, 0, "symbols that may stand between words, such as SIL,SPN",
     "NAMES"},
    POPT_TABLEEND};

bool word_options_given(void) {
  return options.words != 0;
}

/* Options of a search for words, without one. */
static const char *useless_option(void) {
  if (options.lexicon)
    return "--lexicon";
  if (options.grammar)
    return "--grammar";
  if (options.hotwords)
    return "--hotwords";
  if (options.silence)
    return "--silence";
  if (options.unknown_penalty < INFINITY)
    return "--unknown-penalty";
  return options.word_bonus < 0 || options.word_bonus > 0 ? "--word-bonus" : NULL;
}

bool word_options_check(void) {
  const char *useless = options.words ? NULL : useless_option();
  if (useless) {
    tool_usage("%s is for words: add --words", useless);
    return false;
  }
  if (options.words && !vocabulary_lexicon(options.lexicon)) {
    tool_usage("words need pronunciations: name a lexicon with --lexicon FILE or in $LINNET_LEXICON, such as CMUdict "
               "(https://github.com/cmusphinx/cmudict)");
    return false;
  }
  if (options.grammar && beam_options_lm()) {
    tool_usage("--grammar and --lm: a grammar takes the place of a language model; choose one of them");
    return false;
  }
  if (!(fabs(options.word_bonus) <= 100) || !(options.unknown_penalty >= 0)) {
    tool_usage("--word-bonus must be -100 to 100, --unknown-penalty at least 0");
    return false;
  }
  return true;
}

/* --- what the options name ---------------------------------------------------------------------------------------- */

static void read_settings(struct linnet_word_search_settings *settings) {
  struct linnet_beam_settings beam;
  beam_options_read(&beam);
  linnet_word_search_settings_default(settings);
  settings->beam = beam.beam;
  settings->top_symbols = beam.top_symbols;
  settings->symbol_threshold = beam.symbol_threshold;
  settings->score_threshold = beam.score_threshold;
  settings->model_weight = beam.model_weight;
  settings->word_bonus = (float)options.word_bonus;
  settings->unknown_penalty = (float)options.unknown_penalty;
  settings->recombine = beam_options_count() == 1 && !lattices_given();
}

/* "SIL,SPN": changes the option's text. */
static bool read_silences(struct word_setup *setup) {
  setup->silences = options.silence ? calloc(strlen(options.silence) + 1, sizeof *setup->silences) : NULL;
  setup->settings.silences = setup->silences;
  for (char *name = setup->silences ? strtok(options.silence, ",") : NULL; name; name = strtok(NULL, ",")) {
    int symbol = linnet_symbols_find(setup->vocabulary.symbols, name);
    if (symbol < 1) {
      tool_fail(
          "--silence %s: not one of the symbols: 'linnet info --symbols MODEL' or the file of --symbols lists them",
          name);
      return false;
    }
    setup->silences[setup->settings.silence_count++] = symbol;
  }
  return setup->silences || !options.silence;
}

/* Of words that the model does not have: false after saying so if it has none. */
static bool judge_missing(const struct linnet_ngram *ngram, const char *lexicon, size_t missing, size_t words) {
  bool unknown = linnet_ngram_find(ngram, LINNET_UNKNOWN_WORD) != LINNET_NGRAM_NO_WORD;
  if (missing >= words) {
    tool_fail("--lm %s: has none of the words of %s: is it over words, and in upper case?", beam_options_lm(), lexicon);
    return false;
  }
  if (missing > 0 && !unknown)
    tool_warn("--lm %s: lacks %zu of %zu words of %s, and has no %s: they cannot be recognised", beam_options_lm(),
              missing, words, lexicon, LINNET_UNKNOWN_WORD);
  return true;
}

static bool load_model(struct word_setup *setup, struct linnet_context *context, const char **names, size_t tokens) {
  size_t missing = 0;
  linnet_lexicon_tokens(setup->vocabulary.lexicon, names);
  if (linnet_ngram_load(context, beam_options_lm(), &setup->ngram) != LINNET_OK ||
      linnet_ngram_bind(context, setup->ngram, names, tokens, &missing, &setup->binding) != LINNET_OK) {
    tool_fail("--lm: %s; 'linnet ngram' makes models of text", linnet_context_error(context));
    return false;
  }
  missing -= linnet_ngram_find(setup->ngram, LINNET_UNKNOWN_WORD) == LINNET_NGRAM_NO_WORD;
  setup->model = linnet_ngram_language_model(setup->binding);
  linnet_ngram_unigrams(setup->binding, setup->lookahead);
  return judge_missing(setup->ngram, setup->vocabulary.lexicon_path, missing, tokens - 2);
}

static bool load_grammar(struct word_setup *setup, struct linnet_context *context) {
  if (linnet_grammar_load(context, options.grammar, setup->vocabulary.lexicon, &setup->grammar) != LINNET_OK) {
    tool_fail("--grammar: %s", linnet_context_error(context));
    return false;
  }
  setup->model = linnet_grammar_language_model(setup->grammar);
  linnet_grammar_lookahead(setup->grammar, setup->lookahead);
  return true;
}

/* Either gives a model and what it looks ahead. */
static bool load_language(struct word_setup *setup, struct linnet_context *context) {
  size_t tokens = linnet_lexicon_count(setup->vocabulary.lexicon) + 2;
  const char **names = calloc(tokens, sizeof *names);
  setup->lookahead = calloc(tokens, sizeof *setup->lookahead);
  setup->settings.model = &setup->model;
  setup->settings.lookahead = setup->lookahead;
  bool room = names && setup->lookahead;
  bool good = room && (options.grammar ? load_grammar(setup, context) : load_model(setup, context, names, tokens));
  if (!room)
    tool_fail("out of memory for %zu words", tokens);
  free(names);
  return good;
}

static bool load_hotwords(struct word_setup *setup, struct linnet_context *context) {
  if (linnet_hotwords_load(context, options.hotwords, setup->vocabulary.lexicon, &setup->hotwords) != LINNET_OK) {
    tool_fail("--hotwords: %s", linnet_context_error(context));
    return false;
  }
  setup->settings.hotwords = setup->hotwords;
  return true;
}

static bool create_search(struct word_setup *setup, struct linnet_context *context, int symbols) {
  if (linnet_word_search_create(context, setup->vocabulary.lexicon, symbols, &setup->settings, &setup->search) ==
      LINNET_OK)
    return true;
  tool_fail_context(context);
  return false;
}

bool word_setup_open(struct word_setup *setup, struct linnet_context *context, tool_symbol_fn name, const void *user,
                     int count, const struct linnet_calibrations *calibrations) {
  *setup = (struct word_setup){.ngram = NULL};
  read_settings(&setup->settings);
  setup->settings.calibrations = calibrations;
  return vocabulary_open(&setup->vocabulary, context, name, user, count, vocabulary_lexicon(options.lexicon)) &&
         read_silences(setup) && (!(options.grammar || beam_options_lm()) || load_language(setup, context)) &&
         (!options.hotwords || load_hotwords(setup, context)) && create_search(setup, context, count);
}

void word_setup_close(struct word_setup *setup) {
  linnet_word_search_destroy(setup->search);
  linnet_ngram_binding_destroy(setup->binding);
  linnet_ngram_destroy(setup->ngram);
  linnet_grammar_destroy(setup->grammar);
  linnet_hotwords_destroy(setup->hotwords);
  vocabulary_close(&setup->vocabulary);
  free(setup->lookahead);
  free(setup->silences);
}
