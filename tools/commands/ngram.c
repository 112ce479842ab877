/* linnet ngram: estimates language models from text, mixes, prunes and converts them, and computes their perplexity. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/ngram.h>

#include "base/numbers.h"
#include "base/utf8.h"
#include "common/separate.h"
#include "common/tool.h"

enum { OPTION_TEXT = 1, MAX_TEXTS = 1000, MAX_LINE = 1 << 20, DEFAULT_ORDER = 3 };

static struct {
  int order, quantize, discount_fallback;
  double prune, mix_weight;
  char *model, *mix, *arpa, *binary, *perplexity;
  char *texts[MAX_TEXTS];
  size_t text_count;
} options = {.order = TOOL_NO_INTEGER, .prune = TOOL_NOT_GIVEN, .mix_weight = TOOL_NOT_GIVEN};

static const struct poptOption table[] = {
    {"order", 'n', POPT_ARG_INT, &options.order, 0, "length of the n-grams in words, 1 to 8 (default 3)", "N"},
    {"text", 't', TOOL_INPUT, NULL, OPTION_TEXT,
     "estimate a model from sentences, one per line (default: standard input; repeatable)", "FILE"},
    {"discount-fallback", 0, POPT_ARG_NONE, &options.discount_fallback, 0,
     "use fixed discounts if the text is too small or too uniform to estimate them (default: such a text is an error)",
     NULL},
    {"model", 'm', TOOL_INPUT, &options.model, 0,
     "read a model: ARPA, ARPA.gz or binary (default: estimate one from --text)", "FILE"},
    {"mix", 0, TOOL_INPUT, &options.mix, 0,
     "interpolate with this model, such as a general one with that of a text of the domain (default: none)", "FILE"},
    {"mix-weight", 0, POPT_ARG_DOUBLE, &options.mix_weight, 0,
     "weight of the model of --mix, above 0 and below 1 (default 0.5)", "X"},
    {"arpa", 'a', TOOL_OUTPUT, &options.arpa, 0, "write the model as ARPA (default: none)", "FILE"},
    {"binary", 'b', TOOL_OUTPUT, &options.binary, 0, "write the model as a binary file (default: none)", "FILE"},
    {"prune", 0, POPT_ARG_DOUBLE, &options.prune, 0,
     "drop n-grams that change the relative entropy by less than X, such as 1e-8 (default: none)", "X"},
    {"quantize", 'q', POPT_ARG_NONE, &options.quantize, 0, "store probabilities in 8 bits (default: float32)", NULL},
    {"perplexity", 'p', TOOL_INPUT, &options.perplexity, 0,
     "report the perplexity of a text; '-' is standard input (default: none)", "FILE"},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_plain_options, 0, "Common options:", NULL},
    POPT_TABLEEND};

/* --- text ------------------------------------------------------------------------------------------------------- */

/* A text that is read sentence by sentence. */
struct text {
  FILE *stream;
  const char *name;
  char *line;
  size_t line_bytes, number;
  const char **words;
  size_t count, capacity;
};

static bool open_text(struct text *text, const char *path) {
  bool standard = strcmp(path, "-") == 0;
  *text = (struct text){.stream = standard ? stdin : fopen(path, "r"), .name = standard ? "standard input" : path};
  if (!text->stream)
    tool_fail("%s: %s", path, strerror(errno));
  else
    tool_note("%s: reading", text->name);
  return text->stream != NULL;
}

static void close_text(struct text *text) {
  if (text->stream && text->stream != stdin)
    fclose(text->stream);
  free(text->line);
  free(text->words);
}

static bool add_word(struct text *text, const char *word) {
  if (text->count == text->capacity) {
    size_t capacity = text->capacity * 2 + 64;
    const char **grown = realloc(text->words, capacity * sizeof *grown);
    if (!grown)
      return false;
    text->words = grown;
    text->capacity = capacity;
  }
  text->words[text->count++] = word;
  return true;
}

static bool add_byte(struct text *text, size_t length, char byte) {
  if (length == text->line_bytes) {
    size_t bytes = text->line_bytes * 2 + 256;
    char *grown = realloc(text->line, bytes);
    if (!grown)
      return false;
    text->line = grown;
    text->line_bytes = bytes;
  }
  text->line[length] = byte;
  return true;
}

/* Reads the next line and ends it with NUL; false at the end of the text, and after printing what is wrong. A file that
 * is not text may have no line ends, so reading stops at a NUL byte or after MAX_LINE bytes. */
static bool next_line(struct text *text, bool *good) {
  size_t length = 0;
  int c = getc(text->stream);
  const char *wrong = NULL;
  for (; c != EOF && c != '\n' && !wrong; c = wrong ? c : getc(text->stream))
    if (c == '\0')
      wrong = "holds a NUL byte; is this a text file?";
    else if (length == MAX_LINE)
      wrong = "is longer than 1 MiB: write one sentence per line";
    else if (!add_byte(text, length++, (char)c))
      wrong = "out of memory";
  bool any = length > 0 || c == '\n';
  text->number += any || wrong;
  if (!wrong && any && !add_byte(text, length, '\0'))
    wrong = "out of memory";
  *good = !wrong && !ferror(text->stream);
  if (wrong)
    tool_fail("%s:%zu: %s", text->name, text->number, wrong);
  else if (!*good)
    tool_fail("%s: %s", text->name, strerror(errno));
  return *good && any;
}

/* The words of the next sentence; false at the end, and after printing what is wrong (then *good is false). */
static bool next_sentence(struct text *text, bool *good) {
  if (!next_line(text, good))
    return false;
  text->count = 0;
  char *rest = NULL;
  char *line = text->line + (text->number == 1 ? linnet_utf8_mark(text->line, strlen(text->line)) : 0);
  for (char *word = strtok_r(line, " \t\r\n\v\f", &rest); word && *good; word = strtok_r(NULL, " \t\r\n\v\f", &rest))
    *good = add_word(text, word);
  if (!*good)
    tool_fail("%s:%zu: out of memory", text->name, text->number);
  return *good;
}

/* --- estimation ------------------------------------------------------------------------------------------------- */

/* The running words of the texts, and those that the model of --mix lacks. */
struct coverage {
  const struct linnet_ngram *other; /* NULL: none */
  size_t words, missing;
  char first[80];  /* that is missing */
  size_t not_utf8; /* sentences; the first of them: */
  const char *path;
  size_t line;
};

static void cover(struct coverage *coverage, const struct text *text) {
  for (size_t i = 0; coverage->other && i < text->count; i++) {
    const bool missing = linnet_ngram_find(coverage->other, text->words[i]) == LINNET_NOT_FOUND;
    if (missing && coverage->missing == 0)
      snprintf(coverage->first, sizeof coverage->first, "%s", text->words[i]);
    coverage->missing += missing;
  }
  coverage->words += text->count;
  bool utf8 = true;
  for (size_t i = 0; i < text->count && utf8; i++)
    utf8 = linnet_is_utf8(text->words[i]);
  if (!utf8 && coverage->not_utf8++ == 0)
    coverage->path = text->name, coverage->line = text->number;
}

static void warn_of_missing(const struct coverage *coverage) {
  if (coverage->not_utf8 > 0)
    tool_warn("%s:%zu: is not UTF-8, as %zu line%s of the texts: lexicons in UTF-8 lack such words; convert the texts "
              "with iconv",
              coverage->path, coverage->line, coverage->not_utf8, linnet_plural(coverage->not_utf8));
  if (coverage->missing > coverage->words / 2)
    tool_warn("%s: lacks %zu of the %zu words of the text, the first is '%s', so the two models hardly share a word: "
              "write the text as this model has its words, for example in upper case and without punctuation",
              options.mix, coverage->missing, coverage->words, coverage->first);
}

static bool add_text(struct linnet_context *context, const char *path, struct linnet_ngram_estimator *estimator,
                     struct coverage *coverage) {
  struct text text;
  bool good = open_text(&text, path);
  while (good && next_sentence(&text, &good)) {
    cover(coverage, &text);
    if (linnet_ngram_estimator_add(estimator, text.words, text.count) != LINNET_OK) {
      tool_fail("%s:%zu: %s", text.name, text.number, linnet_context_error(context));
      good = false;
    }
  }
  close_text(&text);
  return good;
}

/* Prints the error of the context; replaces the setting that the library names by the option of the command. */
static void fail_estimation(const struct linnet_context *context) {
  static const char setting[] = "discount_fallback";
  const char *error = linnet_context_error(context), *named = strstr(error, setting);
  if (named)
    tool_fail("%.*s--discount-fallback%s", (int)(named - error), error, named + strlen(setting));
  else
    tool_fail_context(context);
}

/* `other`: the model of --mix, NULL: none. */
static struct linnet_ngram *estimate(struct linnet_context *context, const struct linnet_ngram *other) {
  static const char *const standard_input[] = {"-"};
  struct linnet_ngram_estimator_settings settings;
  linnet_ngram_estimator_settings_default(&settings);
  settings.order = (unsigned)options.order;
  settings.discount_fallback = options.discount_fallback;
  settings.prune = options.mix ? 0 : fmax(options.prune, 0);
  struct linnet_ngram_estimator *estimator = NULL;
  struct linnet_ngram *ngram = NULL;
  struct coverage coverage = {.other = other};
  bool good = linnet_ngram_estimator_create(context, &settings, &estimator) == LINNET_OK;
  if (!good)
    tool_fail_context(context);
  const char *const *texts = options.text_count > 0 ? (const char *const *)options.texts : standard_input;
  size_t count = options.text_count > 0 ? options.text_count : 1;
  for (size_t i = 0; good && i < count; i++)
    good = add_text(context, texts[i], estimator, &coverage);
  if (good)
    warn_of_missing(&coverage);
  if (good)
    tool_note("estimating n-grams up to order %u", settings.order);
  if (good && linnet_ngram_estimator_finish(estimator, &ngram) != LINNET_OK)
    fail_estimation(context);
  linnet_ngram_estimator_destroy(estimator);
  return ngram;
}

/* --- perplexity ------------------------------------------------------------------------------------------------- */

struct sums {
  size_t sentences, words, unknown; /* words without </s> */
  size_t ends;                      /* </s>, none if the model has none */
  double all, known;                /* log10 probabilities of words and </s>; without unknown words */
};

/* Each line has them already, around its words. */
static bool has_no_marker(const struct text *text) {
  for (size_t i = 0; i < text->count; i++)
    if (strcmp(text->words[i], "<s>") == 0 || strcmp(text->words[i], "</s>") == 0)
      return tool_fail("%s:%zu: '%s' has a special meaning in a language model: remove it from the text", text->name,
                       text->number, text->words[i]) == TOOL_OK;
  return true;
}

static void add_sentence(const struct linnet_ngram *ngram, const struct text *text, struct sums *sums) {
  uint32_t state = linnet_ngram_begin(ngram);
  for (size_t i = 0; i < text->count; i++) {
    size_t word = linnet_ngram_find(ngram, text->words[i]);
    bool known = word != LINNET_NOT_FOUND && strcmp(text->words[i], "<unk>") != 0;
    double value = linnet_ngram_score(ngram, &state, word) / M_LN10;
    sums->all += value;
    sums->known += known ? value : 0;
    sums->unknown += !known;
  }
  double end = linnet_ngram_finish(ngram, state) / M_LN10;
  sums->all += end;
  sums->known += end;
  sums->words += text->count;
  sums->ends += linnet_ngram_find(ngram, "</s>") != LINNET_NOT_FOUND;
  sums->sentences++;
}

/* There is no perplexity of no words. */
static void print_perplexity(const char *name, double log_probability, size_t tokens) {
  if (tokens > 0)
    printf("%s %.6f\n", name, pow(10, -log_probability / (double)tokens));
}

static void print_sums(const struct sums *sums) {
  const size_t tokens = sums->words + sums->ends;
  printf("sentences %zu\nwords %zu\nunknown words %zu\n", sums->sentences, sums->words, sums->unknown);
  printf("log10 probability %.6f\n", sums->all);
  print_perplexity("perplexity", sums->all, tokens);
  print_perplexity("perplexity without unknown words", sums->known, tokens - sums->unknown);
}

static bool report_perplexity(const struct linnet_ngram *ngram, const char *path) {
  struct text text;
  struct sums sums = {0};
  bool good = open_text(&text, path);
  while (good && next_sentence(&text, &good))
    if ((good = has_no_marker(&text)))
      add_sentence(ngram, &text, &sums);
  close_text(&text);
  if (good && sums.sentences == 0)
    good = tool_fail("%s: has no sentences", text.name) == TOOL_OK;
  if (good && sums.unknown > sums.words / 2)
    tool_warn("%s: the model lacks %zu of the %zu words: are both in the same case, without punctuation?", text.name,
              sums.unknown, sums.words);
  if (good)
    print_sums(&sums);
  return good;
}

/* --- the command ------------------------------------------------------------------------------------------------ */

static void print_model(const struct linnet_ngram *ngram) {
  size_t total = 0;
  for (unsigned k = 1; k <= linnet_ngram_order(ngram); k++) {
    printf("%u-grams %zu\n", k, linnet_ngram_num_ngrams(ngram, k));
    total += linnet_ngram_num_ngrams(ngram, k);
  }
  printf("bytes %zu (%.1f an n-gram)\nvalues %s\n", linnet_ngram_memory_bytes(ngram),
         (double)linnet_ngram_memory_bytes(ngram) / (double)total,
         linnet_ngram_is_quantized(ngram) ? "of 8 bits" : "of 32 bits");
}

static struct linnet_ngram *load(struct linnet_context *context, const char *path) {
  struct linnet_ngram *ngram = NULL;
  if (linnet_ngram_load(context, path, &ngram) != LINNET_OK)
    tool_fail_context(context);
  return ngram;
}

/* A model in the place of *ngram; false if there is none because the call failed. */
static bool replace(const struct linnet_context *context, struct linnet_ngram **ngram, struct linnet_ngram *next) {
  if (!next)
    tool_fail("%s%s%s", options.model ? options.model : "", options.model ? ": " : "", linnet_context_error(context));
  linnet_ngram_destroy(*ngram);
  *ngram = next;
  return next;
}

static bool mix(struct linnet_context *context, struct linnet_ngram **ngram, const struct linnet_ngram *other) {
  const double weight = options.mix_weight == TOOL_NOT_GIVEN ? 0.5 : options.mix_weight;
  struct linnet_ngram *mixed = NULL;
  linnet_ngram_mix(context, *ngram, other, weight, &mixed);
  return replace(context, ngram, mixed);
}

static bool prune(struct linnet_context *context, struct linnet_ngram **ngram) {
  struct linnet_ngram *pruned = NULL;
  if (linnet_ngram_order(*ngram) == 1)
    return tool_fail("%s%s--prune: pruning drops no n-grams of a model of order 1; omit --prune",
                     options.model ? options.model : "", options.model ? ": " : "") == TOOL_OK;
  linnet_ngram_prune(context, *ngram, options.prune, &pruned);
  return replace(context, ngram, pruned);
}

static bool quantize(struct linnet_context *context, struct linnet_ngram **ngram) {
  struct linnet_ngram *quantized = NULL;
  linnet_ngram_quantize(context, *ngram, &quantized);
  return replace(context, ngram, quantized);
}

/* Without --model and --mix, the estimator prunes. */
static struct linnet_ngram *make_model(struct linnet_context *context) {
  struct linnet_ngram *other = options.mix ? load(context, options.mix) : NULL, *ngram = NULL;
  if (!options.mix || other)
    ngram = options.model ? load(context, options.model) : estimate(context, other);
  const bool prunes = options.prune > 0 && (options.model || options.mix);
  bool good = ngram && (!other || mix(context, &ngram, other));
  linnet_ngram_destroy(other);
  good = good && (!prunes || prune(context, &ngram)) &&
         (!options.quantize || linnet_ngram_is_quantized(ngram) || quantize(context, &ngram));
  if (good)
    return ngram;
  linnet_ngram_destroy(ngram);
  return NULL;
}

static bool write_model(struct linnet_context *context, const struct linnet_ngram *ngram) {
  if (options.arpa || options.binary)
    tool_catch_interrupt();
  bool good =
      (!options.arpa || linnet_ngram_save_arpa(context, ngram, tool_output_path(options.arpa)) == LINNET_OK) &&
      (!options.binary || linnet_ngram_save_binary(context, ngram, tool_output_path(options.binary)) == LINNET_OK);
  if (!good)
    tool_fail_context(context);
  return good;
}

static int run(struct linnet_context *context, const char **texts, size_t count) {
  (void)texts, (void)count; /* they are among the options' */
  const bool writable = tool_output_check(options.arpa) && tool_output_check(options.binary);
  struct linnet_ngram *ngram = writable ? make_model(context) : NULL;
  bool good = ngram && write_model(context, ngram);
  if (good && options.perplexity)
    good = report_perplexity(ngram, options.perplexity);
  else if (good && !options.arpa && !options.binary)
    print_model(ngram);
  linnet_ngram_destroy(ngram);
  return tool_interrupted() ? TOOL_INTERRUPTED : good ? TOOL_OK : TOOL_FAILURE;
}

static bool take_text(void *user, int val, const char *argument) {
  (void)user, (void)val;
  if (options.text_count == MAX_TEXTS) {
    tool_usage("--text: is given more than %d times", MAX_TEXTS);
    return false;
  }
  options.texts[options.text_count++] = (char *)argument;
  return true;
}

/* The first option that only applies when a model is estimated, if the model is read instead; NULL: none. */
static const char *ignored_option(void) {
  static char text[64];
  if (!options.model)
    return NULL;
  if (options.order != TOOL_NO_INTEGER)
    snprintf(text, sizeof text, "--order %d", options.order);
  return options.order != TOOL_NO_INTEGER ? text : options.discount_fallback ? "--discount-fallback" : NULL;
}

static int check_options(void) {
  if (ignored_option())
    return tool_usage("%s: needs --text: --model reads a finished model", ignored_option());
  if (options.order == TOOL_NO_INTEGER)
    options.order = DEFAULT_ORDER;
  if (options.order < 1 || options.order > LINNET_NGRAM_MAX_ORDER)
    return tool_usage("--order %d: must be 1 to %d", options.order, LINNET_NGRAM_MAX_ORDER);
  if (options.prune != TOOL_NOT_GIVEN && !(options.prune > 0 && options.prune < 1))
    return tool_usage("--prune %g: must be above 0 and below 1, such as 1e-8; without --prune, no n-gram is dropped",
                      options.prune);
  if (options.mix_weight != TOOL_NOT_GIVEN && !options.mix)
    return tool_usage("--mix-weight %g: needs --mix FILE", options.mix_weight);
  if (options.mix_weight != TOOL_NOT_GIVEN && !(options.mix_weight > 0 && options.mix_weight < 1))
    return tool_usage("--mix-weight %g: must be above 0 and below 1", options.mix_weight);
  if (options.prune != TOOL_NOT_GIVEN && options.order == 1 && !options.mix)
    return tool_usage("--prune: pruning drops no n-grams of --order 1; use a higher order, or omit --prune");
  if (options.model && options.text_count > 0)
    return tool_usage("give one of --model, which reads a model, and --text, which estimates one");
  if (!options.model && !options.arpa && !options.binary && !options.perplexity)
    return tool_usage("there is nothing to do: write a model with --arpa or --binary, or read one with --model");
  bool twice = options.perplexity && strcmp(options.perplexity, "-") == 0 && !options.model && options.text_count == 0;
  if (twice)
    return tool_usage("only one of --text and --perplexity can be standard input");
  if (options.perplexity && !separate_check_default("perplexity"))
    return TOOL_USAGE;
  return TOOL_OK;
}

/* Arguments are texts, too. */
static int check(const char **texts, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!take_text(NULL, OPTION_TEXT, texts[i]))
      return TOOL_USAGE;
  return check_options();
}

int tool_ngram(int argc, const char **argv) {
  const struct tool_command command = {.options = table,
                                       .usage = "[OPTIONS] [TEXT...]",
                                       .handle = take_text,
                                       .needed = "",
                                       .max_arguments = MAX_TEXTS,
                                       .check = check,
                                       .run = run};
  return tool_run(argc, argv, &command);
}
