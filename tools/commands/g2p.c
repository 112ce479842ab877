/* linnet g2p: pronunciations of words that no lexicon has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/utf8.h"
#include "common/separate.h"
#include "g2p_tasks.h"

enum { MAX_WORDS = 100000 };

static struct {
  char *train, *output, *model, *words, *test, *complete, *text;
  int order, iterations, nbest, scores, stress, hold_out, guess;
  double prune;
} options = {.nbest = 1, .order = TOOL_NO_INTEGER, .iterations = TOOL_NO_INTEGER, .prune = TOOL_NOT_GIVEN};

struct linnet_lexicon *g2p_open_lexicon(struct linnet_context *context, const char *path, bool stress) {
  struct linnet_lexicon_settings settings;
  struct linnet_lexicon *lexicon = NULL;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = !stress;
  if (linnet_lexicon_load(context, path, &settings, NULL, &lexicon) != LINNET_OK)
    tool_fail_context(context);
  return lexicon;
}

/* The phones of a pronunciation; release them with free. NULL: out of memory. */
static const char **name_phones(const struct linnet_lexicon *lexicon, size_t word, size_t variant, size_t *count) {
  const struct linnet_symbols *symbols = linnet_lexicon_phones(lexicon);
  const int *labels = linnet_lexicon_pronunciation(lexicon, word, variant, count);
  const char **phones = calloc(*count + 1, sizeof *phones);
  for (size_t i = 0; phones && i < *count; i++)
    phones[i] = linnet_symbols_name(symbols, labels[i]);
  return phones;
}

/* --- training ---------------------------------------------------------------------------------------------------- */

static bool add_word(struct linnet_g2p_trainer *trainer, const struct linnet_lexicon *lexicon, size_t word) {
  bool good = true;
  for (size_t v = 0; good && v < linnet_lexicon_num_variants(lexicon, word); v++) {
    size_t count;
    const char **phones = name_phones(lexicon, word, v, &count);
    good = phones && linnet_g2p_trainer_add(trainer, linnet_lexicon_word(lexicon, word), phones, count) == LINNET_OK;
    free(phones);
  }
  return good;
}

static bool held_out(size_t word) {
  return options.hold_out > 0 && word % (size_t)options.hold_out == (size_t)options.hold_out - 1;
}

static struct linnet_g2p *train(struct linnet_context *context, const struct linnet_lexicon *lexicon) {
  struct linnet_g2p_settings settings;
  linnet_g2p_settings_default(&settings);
  settings.order = options.order != TOOL_NO_INTEGER ? (unsigned)options.order : settings.order;
  settings.num_iterations =
      options.iterations != TOOL_NO_INTEGER ? (unsigned)options.iterations : settings.num_iterations;
  settings.prune = options.prune != TOOL_NOT_GIVEN ? options.prune : settings.prune;
  struct linnet_g2p_trainer *trainer = NULL;
  struct linnet_g2p *g2p = NULL;
  bool good = linnet_g2p_trainer_create(context, &settings, &trainer) == LINNET_OK;
  for (size_t word = 0; good && word < linnet_lexicon_num_words(lexicon); word++)
    good = held_out(word) || add_word(trainer, lexicon, word);
  if (good && linnet_g2p_trainer_finish(trainer, &g2p) == LINNET_OK)
    printf("pronunciations %zu\nomitted %zu\nunits %zu\nn-grams %zu\n", linnet_g2p_trainer_num_pronunciations(trainer),
           linnet_g2p_trainer_num_omitted(trainer), linnet_g2p_num_units(g2p), linnet_g2p_num_ngrams(g2p));
  else
    tool_fail_context(context);
  linnet_g2p_trainer_destroy(trainer);
  return g2p;
}

/* False, after printing why, if no word would be held out. */
static bool check_hold_out(const struct linnet_lexicon *lexicon) {
  const size_t words = linnet_lexicon_num_words(lexicon);
  if ((size_t)options.hold_out <= words)
    return true;
  tool_fail("%s: has %zu words, so --hold-out %d leaves none to test: choose a smaller number", options.train, words,
            options.hold_out);
  return false;
}

static bool run_training(struct linnet_context *context) {
  if (!tool_output_check(options.output))
    return false;
  struct linnet_lexicon *lexicon = g2p_open_lexicon(context, options.train, options.stress);
  struct linnet_g2p *g2p = lexicon && check_hold_out(lexicon) ? train(context, lexicon) : NULL;
  bool good = g2p != NULL;
  if (options.output)
    tool_catch_interrupt();
  if (good && options.output && linnet_g2p_save(context, g2p, options.output) != LINNET_OK)
    good = tool_fail_context(context) == TOOL_OK;
  if (good && options.hold_out > 0)
    good = g2p_measure(context, g2p, lexicon, (size_t)options.hold_out, (size_t)options.nbest);
  linnet_g2p_destroy(g2p);
  linnet_lexicon_destroy(lexicon);
  return good;
}

/* --- words ------------------------------------------------------------------------------------------------------- */

static void print_phones(const char *word, double probability, const char *const *phones, size_t count) {
  printf("%s\t", word);
  if (options.scores)
    printf("%.6f\t", probability);
  for (size_t i = 0; i < count; i++)
    printf("%s%s", i > 0 ? " " : "", phones[i]);
  putchar('\n');
}

/* All pronunciations that a lexicon has of a word. */
static bool print_known(const struct linnet_lexicon *lexicon, size_t index, const char *word) {
  bool good = true;
  for (size_t v = 0; good && v < linnet_lexicon_num_variants(lexicon, index); v++) {
    size_t count;
    const char **phones = name_phones(lexicon, index, v, &count);
    good = phones || tool_fail("out of memory for a pronunciation") == TOOL_OK;
    if (good)
      print_phones(word, linnet_lexicon_probability(lexicon, index, v), phones, count);
    free(phones);
  }
  return good;
}

/* Reports and skips words that the model cannot pronounce. */
static bool guess(struct linnet_context *context, const struct linnet_g2p *g2p, const char *word) {
  struct linnet_g2p_result *result;
  enum linnet_status status = linnet_g2p_pronounce(g2p, context, word, (size_t)options.nbest, &result);
  if (status == LINNET_ERROR_LIMIT) {
    tool_warn("'%.40s...': %s", word, linnet_context_error(context));
    return true;
  }
  if (status != LINNET_OK)
    return tool_fail_context(context) == TOOL_OK;
  if (linnet_g2p_result_num_pronunciations(result) == 0)
    tool_warn("'%s': has no pronunciation: the model has none of its letters", word);
  else if (linnet_g2p_result_num_ignored(result) > 0)
    tool_warn("'%s': the model ignores %zu letter%s that it does not know", word, linnet_g2p_result_num_ignored(result),
              linnet_plural(linnet_g2p_result_num_ignored(result)));
  for (size_t i = 0; i < linnet_g2p_result_num_pronunciations(result); i++) {
    size_t count;
    const char *const *phones = linnet_g2p_result_phones(result, i, &count);
    print_phones(word, linnet_g2p_result_probability(result, i), phones, count);
  }
  linnet_g2p_result_destroy(result);
  return true;
}

static bool pronounce(struct linnet_context *context, const struct g2p_source *source, const char *word) {
  const size_t index = source->lexicon ? linnet_lexicon_find(source->lexicon, word) : LINNET_NOT_FOUND;
  return index != LINNET_NOT_FOUND ? print_known(source->lexicon, index, word) : guess(context, source->g2p, word);
}

/* Words of a text, separated by white space. */
static bool pronounce_file(struct linnet_context *context, const struct g2p_source *source, const char *path) {
  bool standard = strcmp(path, "-") == 0;
  FILE *file = standard ? stdin : fopen(path, "r");
  if (!file)
    return tool_fail("%s: %s", path, strerror(errno)) == TOOL_OK;
  char *line = NULL, *rest = NULL;
  size_t capacity = 0;
  ssize_t bytes;
  bool good = true, first = true;
  for (; good && (bytes = getline(&line, &capacity, file)) >= 0; first = false) {
    const size_t mark = first ? linnet_utf8_mark(line, (size_t)bytes) : 0;
    if (memchr(line, '\0', (size_t)bytes))
      good = tool_fail("%s: holds a NUL byte; is this a text file?", path) == TOOL_OK;
    for (char *word = strtok_r(line + mark, " \t\r\n\v\f", &rest); good && word;
         word = strtok_r(NULL, " \t\r\n\v\f", &rest))
      good = pronounce(context, source, word);
  }
  if (good && ferror(file))
    good = tool_fail("%s: %s", path, strerror(errno)) == TOOL_OK;
  free(line);
  if (!standard)
    fclose(file);
  return good;
}

bool g2p_has_stress(const struct linnet_g2p *g2p) {
  for (size_t i = 0; i < linnet_g2p_num_phones(g2p); i++) {
    const char *phone = linnet_g2p_phone(g2p, i);
    const size_t length = strlen(phone);
    if (length > 1 && strchr("012", phone[length - 1]))
      return true;
  }
  return false;
}

static bool run_test(struct linnet_context *context, const struct linnet_g2p *g2p) {
  struct linnet_lexicon *lexicon = g2p_open_lexicon(context, options.test, g2p_has_stress(g2p));
  bool good = lexicon && g2p_measure(context, g2p, lexicon, 0, (size_t)options.nbest);
  linnet_lexicon_destroy(lexicon);
  return good;
}

static bool run_words(struct linnet_context *context, const struct g2p_source *source, const char **words,
                      size_t count) {
  bool good = true;
  if (options.words || count == 0)
    good = pronounce_file(context, source, options.words ? options.words : "-");
  for (size_t i = 0; good && i < count; i++)
    good = strcmp(words[i], "-") == 0 ? pronounce_file(context, source, "-") : pronounce(context, source, words[i]);
  return good;
}

static int run_model(struct linnet_context *context, const char **words, size_t count) {
  const struct g2p_words texts = {options.text, options.words};
  struct g2p_source source;
  bool good = true;
  int code = g2p_open_source(context, options.model, !options.guess && !options.test && !options.complete, &source);
  if (code == TOOL_OK && options.test)
    good = run_test(context, source.g2p);
  else if (code == TOOL_OK && options.complete)
    good = g2p_complete(context, source.g2p, options.complete, &texts, options.output);
  else if (code == TOOL_OK)
    good = run_words(context, &source, words, count);
  g2p_close_source(&source);
  return good ? code : TOOL_FAILURE;
}

/* --- the command ------------------------------------------------------------------------------------------------- */

static bool has_training_options(void) {
  return options.order != TOOL_NO_INTEGER || options.iterations != TOOL_NO_INTEGER || options.prune != TOOL_NOT_GIVEN ||
         options.hold_out != 0;
}

static int check_options(const char **words, size_t count) {
  (void)words;
  int tasks = !!options.test + !!options.complete + ((options.words && !options.complete) || count > 0);
  if (options.train && options.model)
    return tool_usage("give one of --train LEXICON, which makes a model, and --model FILE, which uses one");
  if (!options.train && !options.model && tasks == 0)
    return tool_usage("give words ('-': those of standard input), or one of --train LEXICON, --test LEXICON and "
                      "--complete LEXICON");
  if (options.train && tasks > 0)
    return tool_usage("--train: words, --words, --test and --complete need --model, or the model that ships: omit "
                      "--train");
  if (!options.train && has_training_options())
    return tool_usage("--order, --iterations, --prune and --hold-out need --train");
  if (!options.train && options.output && !options.complete)
    return tool_usage("--output %s: needs --train or --complete; other results go to standard output", options.output);
  if (options.train && options.output && separate_is_standard(options.output))
    return tool_usage("--output %s: the report goes to standard output; name a file for the model", options.output);
  if (options.train && !options.output && options.hold_out == 0)
    return tool_usage("--train: name the model's file with --output FILE");
  if (!tool_check_regular("--complete", options.complete))
    return TOOL_USAGE;
  if (tasks > 1)
    return tool_usage("only one of words, --test and --complete");
  if (options.complete && ((!options.text && !options.words) || !options.output))
    return tool_usage("--complete: name transcripts with --text FILE or a text with --words FILE, and the new lexicon "
                      "with --output FILE");
  if (options.text && !options.complete)
    return tool_usage("--text %s: needs --complete; name a text of words with --words", options.text);
  if (options.complete && options.nbest != 1)
    return tool_usage("--nbest %d: --complete adds one pronunciation for each word", options.nbest);
  if (options.nbest != 1 && options.train && options.hold_out == 0)
    return tool_usage("--nbest %d: needs --model or --hold-out; --train alone pronounces no words", options.nbest);
  if (options.scores && (options.train || options.test || options.complete))
    return tool_usage("--scores: only pronunciations of words have probabilities: omit it with --train, --test and "
                      "--complete");
  if (options.guess && (options.train || options.test || options.complete))
    return tool_usage("--guess: omit it with --train, --test and --complete, which never use the recognizer's lexicon");
  if (options.stress && !options.train)
    return tool_usage("--keep-stress: needs --train; a model gives stress if it was trained with it");
  if (options.nbest < 1 || options.nbest > LINNET_G2P_MAX_NBEST)
    return tool_usage("--nbest %d: must be 1 to %d", options.nbest, LINNET_G2P_MAX_NBEST);
  if (options.hold_out < 0 || options.hold_out == 1)
    return tool_usage("--hold-out %d: must be 2 or more", options.hold_out);
  return TOOL_OK;
}

static int run(struct linnet_context *context, const char **words, size_t count) {
  const int code = !options.train ? run_model(context, words, count) : run_training(context) ? TOOL_OK : TOOL_FAILURE;
  return tool_interrupted() ? TOOL_INTERRUPTED : code;
}

int tool_g2p(int argc, const char **argv) {
  const struct poptOption table[] = {
      {"train", 0, TOOL_INPUT, &options.train, 0,
       "train a model on this lexicon, in CMUdict's or Kaldi's format (default: use --model)", "LEXICON"},
      {"output", 'o', TOOL_OUTPUT, &options.output, 0,
       "file to write: the model of --train, or the lexicon of --complete (required, except with --hold-out)", "FILE"},
      {"order", 'n', POPT_ARG_INT, &options.order, 0, "length of the n-grams in units, 1 to 8 (default 8)", "N"},
      {"iterations", 0, POPT_ARG_INT, &options.iterations, 0, "iterations of the alignment (default 10)", "N"},
      {"prune", 0, POPT_ARG_DOUBLE, &options.prune, 0,
       "drop n-grams that change the relative entropy by less than X (default 3e-8)", "X"},
      {"hold-out", 0, POPT_ARG_INT, &options.hold_out, 0,
       "train without every Nth word, and test on these words (default: use all words)", "N"},
      {"model", 'm', TOOL_INPUT, &options.model, 0,
       "use this model of pronunciations, or that of a recognizer: its folder, or its name if it is installed; words "
       "of its lexicon are not guessed (default: the recognizer that $LINNET_MODEL names, else the one that ships)",
       "FILE"},
      {"guess", 0, POPT_ARG_NONE, &options.guess, 0,
       "guess words that the recognizer's lexicon has, too (default: print all pronunciations of the lexicon)", NULL},
      {"words", 'w', TOOL_INPUT, &options.words, 0,
       "file of words to pronounce, or to add by --complete (default: the arguments; with --model, else standard "
       "input)",
       "FILE"},
      {"nbest", 0, POPT_ARG_INT, &options.nbest, 0, "number of guesses per word (default 1)", "N"},
      {"scores", 0, POPT_ARG_NONE, &options.scores, 0,
       "print the probability of each pronunciation, too; a lexicon has it relative to the most probable one (default: "
       "no)",
       NULL},
      {"test", 0, TOOL_INPUT, &options.test, 0,
       "print error rates on the words of this lexicon (default: pronounce words)", "LEXICON"},
      /* --output may replace this lexicon: its words are kept. */
      {"complete", 0, POPT_ARG_STRING, &options.complete, 0,
       "write this lexicon with the words of --text and --words that it lacks (default: pronounce words)", "LEXICON"},
      {"text", 't', TOOL_INPUT, &options.text, 0,
       "with --complete: transcripts, lines 'ID WORD WORD ...' (default: none)", "FILE"},
      {"keep-stress", 0, POPT_ARG_NONE, &options.stress, 0,
       "with --train: keep the stress digits of phones (default: drop them)", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_plain_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  const struct tool_command command = {.options = table,
                                       .usage = "[OPTIONS] [WORD...]   ('-' is standard input)",
                                       .needed = "",
                                       .max_arguments = MAX_WORDS,
                                       .check = check_options,
                                       .run = run};
  return tool_run(argc, argv, &command);
}
