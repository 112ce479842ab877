/* Checks the options of a word search and opens what they name. */
#include "search_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "separate.h"
#include "tool.h"

enum { MAX_SILENCES = 1024 };

static struct {
  int words;
  char *lexicon, *hotwords, *grammar, *g2p, *silence;
  double word_bonus, unknown_penalty, unknown_bonus, pronunciation_weight;
} options = {.word_bonus = TOOL_NOT_GIVEN,
             .unknown_penalty = TOOL_NOT_GIVEN,
             .unknown_bonus = TOOL_NOT_GIVEN,
             .pronunciation_weight = TOOL_NOT_GIVEN};

struct poptOption word_options_table[] = {
    {"words", 'w', POPT_ARG_NONE, &options.words, 0,
     "search for words of a lexicon (default: as the recognizer says; without a recognizer, for symbols)", NULL},
    {"lexicon", 'l', TOOL_INPUT, &options.lexicon, 0,
     "pronunciations, as in CMUdict or Kaldi's lexicon.txt or lexiconp.txt (default: those of the recognizer; without "
     "one, $LINNET_LEXICON)",
     "FILE"},
    {"grammar", 0, TOOL_INPUT, &options.grammar, 0,
     "find only sentences of this grammar: JSGF, or one phrase per line (default: the model folder's, else any "
     "sentence)",
     "FILE"},
    {"hotwords", 0, TOOL_INPUT, &options.hotwords, 0,
     "words and phrases to prefer, lines 'WORD[ WORD...] [weight]' (default: the model folder's, else none)", "FILE"},
    {"g2p", 0, TOOL_INPUT, &options.g2p, 0,
     "guess the pronunciations of hotwords and words of the grammar that the lexicon lacks, with this model of 'linnet "
     "g2p' (default: that of the recognizer; without one, such a word is an error)",
     "FILE"},
    {"word-bonus", 0, POPT_ARG_DOUBLE, &options.word_bonus, 0,
     "add X to the score for each word (default: the model folder's, else 0)", "X"},
    {"unknown-penalty", 0, POPT_ARG_DOUBLE, &options.unknown_penalty, 0,
     "also find unknown words, and subtract X for each of their symbols (default: the model folder's, else inf: find "
     "none)",
     "X"},
    {"unknown-bonus", 0, POPT_ARG_DOUBLE, &options.unknown_bonus, 0,
     "add X to the score for each unknown word (default: the model folder's, else 0)", "X"},
    {"pronunciation-weight", 0, POPT_ARG_DOUBLE, &options.pronunciation_weight, 0,
     "multiply the logarithms of the probabilities of a lexiconp.txt by X (default: the model folder's, else 1)", "X"},
    {"silence", 0, POPT_ARG_STRING, &options.silence, 0,
     "symbols that may stand between words, such as SIL,SPN (default: the model folder's, else none)", "NAMES"},
    POPT_TABLEEND};

void word_options_without_recognizer(void) {
  static const struct {
    const char *name, *help;
  } texts[] = {{"words", "search for words of a lexicon (default: for symbols)"},
               {"lexicon", "pronunciations, as in CMUdict or Kaldi's lexicon.txt or lexiconp.txt (default: "
                           "$LINNET_LEXICON)"},
               {"g2p",
                "guess the pronunciations of hotwords and words of the grammar that the lexicon lacks, with this "
                "model of 'linnet g2p' (default: such a word is an error)"}};
  for (struct poptOption *option = word_options_table; option->longName; option++)
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
      if (strcmp(option->longName, texts[i].name) == 0)
        option->descrip = texts[i].help;
}

static bool lexicon_from_variable; /* also the search's lexicon comes from $LINNET_LEXICON */

static const char *find_lexicon(void) {
  return options.lexicon ? options.lexicon : tool_variable("LINNET_LEXICON");
}

const char *word_options_source(const char *key) {
  const struct {
    const char *key, *source;
    bool given;
  } sources[] = {{"lexicon", "--lexicon", options.lexicon != NULL},
                 {"lexicon", "$LINNET_LEXICON", lexicon_from_variable},
                 {"grammar", "--grammar", options.grammar != NULL},
                 {"hotwords", "--hotwords", options.hotwords != NULL},
                 {"g2p", "--g2p", options.g2p != NULL},
                 {"silences", "--silence", options.silence != NULL}};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
    if (sources[i].given && strcmp(sources[i].key, key) == 0)
      return sources[i].source;
  return NULL;
}

bool word_options_given(void) {
  return options.words != 0;
}

/* Options of a search for words but --hotwords and --grammar. */
static const char *option_of_search(void) {
  if (options.lexicon)
    return "--lexicon";
  if (options.g2p)
    return "--g2p";
  if (options.silence)
    return "--silence";
  if (options.unknown_penalty != TOOL_NOT_GIVEN)
    return "--unknown-penalty";
  if (options.unknown_bonus != TOOL_NOT_GIVEN)
    return "--unknown-bonus";
  if (options.pronunciation_weight != TOOL_NOT_GIVEN)
    return "--pronunciation-weight";
  return options.word_bonus != TOOL_NOT_GIVEN ? "--word-bonus" : NULL;
}

bool word_options_change_search(void) {
  return option_of_search() != NULL;
}

/* Options of a search for words, without one. */
static const char *option_of_words(void) {
  if (options.grammar)
    return "--grammar";
  return options.hotwords ? "--hotwords" : option_of_search();
}

bool word_options_fit(bool words) {
  const char *useless = words ? NULL : option_of_words();
  if (useless)
    tool_usage("%s: needs --words", useless);
  return !useless;
}

bool word_options_fit_unknown(float unknown_penalty) {
  const bool useless = options.unknown_bonus != TOOL_NOT_GIVEN && !(unknown_penalty < INFINITY);
  if (useless)
    tool_usage("--unknown-bonus: needs --unknown-penalty, without which there are no unknown words");
  return !useless;
}

bool word_options_fit_g2p(const struct linnet_search_settings *settings) {
  const bool useless = options.g2p && !settings->hotwords.path && !settings->grammar.path;
  if (useless)
    tool_usage("--g2p %s: guesses only words of --hotwords and --grammar: add one of them, or omit it", options.g2p);
  return !useless;
}

const char *word_options_grammar(void) {
  return options.grammar;
}

static size_t count_silences(void) {
  size_t count = 0;
  for (const char *at = options.silence; at && *at; at += strcspn(at, ",")) {
    at += strspn(at, ",");
    count += *at != '\0';
  }
  return count;
}

bool word_options_check(bool recognizer) {
  if (count_silences() > MAX_SILENCES) {
    tool_usage("--silence: names %zu symbols; at most %d can stand between words", count_silences(), MAX_SILENCES);
    return false;
  }
  if (options.silence && *options.silence && count_silences() == 0) {
    tool_usage("--silence %s: names no symbol", options.silence);
    return false;
  }
  if (!recognizer && !word_options_fit(options.words))
    return false;
  if (!recognizer &&
      !word_options_fit_unknown(options.unknown_penalty == TOOL_NOT_GIVEN ? INFINITY : (float)options.unknown_penalty))
    return false;
  if (options.words && !recognizer && !find_lexicon()) {
    tool_usage("words need pronunciations: name a lexicon with --lexicon FILE or in $LINNET_LEXICON, such as CMUdict "
               "(https://github.com/cmusphinx/cmudict)");
    return false;
  }
  if (options.grammar && beam_options_lm()) {
    tool_usage("only one of --grammar and --lm: a grammar replaces a language model");
    return false;
  }
  if ((options.word_bonus != TOOL_NOT_GIVEN && !(fabs(options.word_bonus) <= 100)) ||
      (options.unknown_penalty != TOOL_NOT_GIVEN && !(options.unknown_penalty >= 0))) {
    tool_usage("--word-bonus must be -100 to 100, --unknown-penalty at least 0");
    return false;
  }
  if (options.unknown_bonus != TOOL_NOT_GIVEN && !(fabs(options.unknown_bonus) <= 100)) {
    tool_usage("--unknown-bonus must be -100 to 100");
    return false;
  }
  if (options.pronunciation_weight != TOOL_NOT_GIVEN &&
      !(options.pronunciation_weight >= 0 && options.pronunciation_weight <= 1000)) {
    tool_usage("--pronunciation-weight must be 0 to 1000");
    return false;
  }
  return true;
}

/* "SIL,SPN": changes the option's text. word_options_check has counted the names. */
static void read_silences(struct linnet_search_settings *settings) {
  static const char *names[MAX_SILENCES];
  settings->silences = names;
  settings->num_silences = 0;
  for (char *name = strtok(options.silence, ","); name && settings->num_silences < MAX_SILENCES;
       name = strtok(NULL, ","))
    names[settings->num_silences++] = name;
}

void word_options_read(struct linnet_search_settings *settings) {
  if (options.lexicon || !settings->lexicon.path) {
    settings->lexicon = (struct linnet_source){.path = find_lexicon()};
    lexicon_from_variable = !options.lexicon && settings->lexicon.path;
    if (lexicon_from_variable)
      separate_add_input(settings->lexicon.path);
  }
  if (options.grammar) {
    settings->grammar = (struct linnet_source){.path = options.grammar};
    settings->language_model = (struct linnet_source){.path = NULL};
  }
  if (options.hotwords)
    settings->hotwords = (struct linnet_source){.path = options.hotwords};
  if (options.g2p)
    settings->g2p = (struct linnet_source){.path = options.g2p};
  if (options.word_bonus != TOOL_NOT_GIVEN)
    settings->word_bonus = (float)options.word_bonus;
  if (options.unknown_penalty != TOOL_NOT_GIVEN)
    settings->unknown_penalty = (float)options.unknown_penalty;
  if (options.unknown_bonus != TOOL_NOT_GIVEN)
    settings->unknown_bonus = (float)options.unknown_bonus;
  if (options.pronunciation_weight != TOOL_NOT_GIVEN)
    settings->pronunciation_weight = (float)options.pronunciation_weight;
  if (options.silence)
    read_silences(settings);
}
