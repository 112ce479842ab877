/* Reads the text of an alignment: applies text rules, looks up or guesses pronunciations, and names unknown words. */
#include "align_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/default_model.h"

#define RULES_NAME "english-text.rules"

enum { NAMED_WORDS = 10 }; /* guessed words named in a message */

static struct { char *g2p, *rules; } options;

struct poptOption align_words_options[] = {
    {"g2p", 0, POPT_ARG_STRING, &options.g2p, 0, "guess words that are not in the lexicon (linnet g2p)", "FILE"},
    {"text-rules", 0, POPT_ARG_STRING, &options.rules, 0,
     "how numbers, abbreviations and the like are said (default: the English rules that ship; 'none': no rules)",
     "FILE"},
    POPT_TABLEEND};

/* --- rules and guesses -------------------------------------------------------------------------------------------- */

static enum linnet_status open_rules(struct align_words *words, struct linnet_context *context, const char *path) {
  if (path)
    return linnet_text_normalizer_load(context, strcmp(path, "none") == 0 ? NULL : path, &words->normalizer);
  char *shipped = tool_find_shipped(RULES_NAME);
  if (!shipped)
    tool_warn("no rules of written text (%s): numbers and abbreviations are unknown words; name a file with "
              "--text-rules FILE",
              RULES_NAME);
  enum linnet_status status = linnet_text_normalizer_load(context, shipped, &words->normalizer);
  free(shipped);
  return status;
}

bool align_words_guessed(void) {
  return options.g2p != NULL;
}

bool align_words_open(struct align_words *words, struct linnet_context *context, const struct vocabulary *vocabulary) {
  *words = (struct align_words){.vocabulary = vocabulary};
  bool good = open_rules(words, context, options.rules) == LINNET_OK &&
              (!options.g2p || linnet_g2p_load(context, options.g2p, &words->g2p) == LINNET_OK);
  if (!good)
    tool_fail_context(context);
  return good;
}

void align_words_close(struct align_words *words) {
  linnet_text_normalizer_destroy(words->normalizer);
  linnet_g2p_destroy(words->g2p);
}

/* --- words without a pronunciation -------------------------------------------------------------------------------- */

/* A word of the text, where it stands first, and how often. */
struct occurrence {
  const struct linnet_written_word *word;
  size_t times;
};

/* The different words with a source; to be freed, NULL without memory. */
static struct occurrence *find_different(const struct linnet_written_word *words, size_t count,
                                         enum linnet_word_source source, size_t *different) {
  struct occurrence *found = malloc((count + 1) * sizeof *found);
  *different = 0;
  for (size_t i = 0; found && i < count; i++) {
    size_t k = 0;
    if (words[i].source != source)
      continue;
    while (k < *different && strcmp(found[k].word->text, words[i].text) != 0)
      k++;
    if (k == *different)
      found[(*different)++] = (struct occurrence){&words[i], 0};
    found[k].times++;
  }
  return found;
}

static void name_unknown(const struct align_text *text, const struct occurrence *unknown, const char *source) {
  const struct linnet_written_word *word = unknown->word;
  char often[48] = "", within[160] = "";
  if (unknown->times > 1)
    snprintf(often, sizeof often, ", %zu times", unknown->times);
  if (strcasecmp(word->missing, word->text) != 0)
    snprintf(within, sizeof within, " (said '%.120s')", word->missing);
  if (text->skip_unknown)
    tool_warn("%s:%zu:%zu: no pronunciation of '%.100s'%s%s: its time is interpolated", source, word->line,
              word->column, word->text, within, often);
  else
    tool_fail("%s:%zu:%zu: no pronunciation of '%.100s'%s%s", source, word->line, word->column, word->text, within,
              often);
}

/* Names all of them; returns how many different ones there are. */
static size_t name_all_unknown(const struct align_text *text, const struct linnet_written_word *words, size_t count,
                               const char *source) {
  size_t different;
  struct occurrence *unknown = find_different(words, count, LINNET_WORD_UNKNOWN, &different);
  for (size_t i = 0; unknown && i < different; i++)
    name_unknown(text, &unknown[i], source);
  if (!unknown)
    tool_fail("%s: out of memory for its unknown words", source);
  different = unknown ? different : 1;
  free(unknown);
  return different;
}

static void name_guessed(const struct linnet_written_word *words, size_t count, const char *name) {
  char list[NAMED_WORDS * 48] = "";
  size_t different;
  struct occurrence *guessed = find_different(words, count, LINNET_WORD_GUESSED, &different);
  for (size_t i = 0; guessed && i < different && i < NAMED_WORDS; i++) {
    size_t length = strlen(list);
    snprintf(list + length, sizeof list - length, "%s'%.40s'", i > 0 ? ", " : "", guessed[i].word->text);
  }
  if (different > 0)
    tool_warn("%s: guessed pronunciations of %zu word%s: %s%s", name, different, different == 1 ? "" : "s", list,
              different > NAMED_WORDS ? " ..." : "");
  free(guessed);
}

/* False if words are unknown and that is an error. */
static bool judge(const struct align_text *text, const struct align_words *words, const char *name,
                  const char *source) {
  size_t count;
  const struct linnet_written_word *written = linnet_pronounced_text_words(text->spoken, &count);
  size_t unknown = name_all_unknown(text, written, count, source);
  const char *lexicon = words->vocabulary->lexicon_path;
  name_guessed(written, count, name);
  if (unknown > 0 && !text->skip_unknown)
    tool_fail("%s: %zu word%s not in %s: add lines 'WORD PHONE PHONE ...' to it, %sor give them times between those of "
              "their neighbours with --skip-unknown",
              name, unknown, unknown == 1 ? " is" : "s are", lexicon ? lexicon : "a lexicon (--lexicon FILE)",
              words->g2p ? "" : "guess them with --g2p FILE, ");
  return unknown == 0 || text->skip_unknown;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

bool align_text_words(struct align_text *text, struct linnet_context *context, const struct align_words *words,
                      const char *name, const char *source, const char *written) {
  struct linnet_pronounced_text_settings settings;
  linnet_pronounced_text_settings_default(&settings);
  settings.normalizer = words->normalizer;
  settings.lexicon = words->vocabulary->lexicon;
  settings.g2p = words->g2p;
  settings.phones = words->vocabulary->symbols;
  if (linnet_pronounced_text_create(context, written, source, &settings, &text->spoken) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  size_t count;
  const struct linnet_written_word *all = linnet_pronounced_text_words(text->spoken, &count);
  text->words = linnet_pronounced_text_align_words(text->spoken, &text->count);
  text->tokens = malloc((count + 1) * sizeof *text->tokens);
  for (size_t i = 0; text->tokens && i < count; i++)
    text->tokens[i] = all[i].text;
  if (!text->tokens)
    tool_fail("%s: out of memory for its text", name);
  return text->tokens && judge(text, words, name, source);
}

size_t align_text_index(const struct align_text *text, size_t word) {
  return text->spoken ? linnet_pronounced_text_index(text->spoken, word) : word;
}

/* --- phones ------------------------------------------------------------------------------------------------------- */

/* Cuts a text at white space. */
static bool read_tokens(struct align_text *text, const char *source) {
  static const char space[] = " \t\r\n\v\f";
  text->buffer = strdup(source);
  text->tokens = calloc(strlen(source) / 2 + 1, sizeof *text->tokens);
  char *rest = NULL;
  if (text->buffer && text->tokens)
    for (char *token = strtok_r(text->buffer, space, &rest); token; token = strtok_r(NULL, space, &rest))
      text->tokens[text->count++] = token;
  text->phones = calloc(text->count + 1, sizeof *text->phones);
  return text->buffer && text->tokens && text->phones;
}

/* The label of a phone, with or without its stress digit; less than 1 if it is none. */
static int find_phone(const struct linnet_symbols *symbols, char *phone) {
  size_t length = strlen(phone);
  int label = linnet_symbols_find(symbols, phone);
  if (label > 0 || length < 2 || phone[length - 1] < '0' || phone[length - 1] > '2')
    return label;
  phone[length - 1] = '\0';
  return linnet_symbols_find(symbols, phone);
}

bool align_text_phones(struct align_text *text, const struct vocabulary *vocabulary, const char *name,
                       const char *phones) {
  bool good = read_tokens(text, phones);
  text->words = text->phones;
  text->labels = calloc(text->count + 1, sizeof *text->labels);
  text->variants = calloc(text->count + 1, sizeof *text->variants);
  if (!good || !text->labels || !text->variants) {
    tool_fail("%s: out of memory for its phones", name);
    return false;
  }
  for (size_t i = 0; i < text->count; i++) {
    text->labels[i] = find_phone(vocabulary->symbols, (char *)(uintptr_t)text->tokens[i]);
    if (text->labels[i] < 1) {
      tool_fail("%s: '%s' is not a phone of the model; 'linnet info' lists them", name, text->tokens[i]);
      return false;
    }
    text->variants[i] = (struct linnet_pronunciation){&text->labels[i], 1};
    text->phones[i] = (struct linnet_align_word){&text->variants[i], 1};
  }
  return true;
}

void align_text_release(struct align_text *text) {
  linnet_pronounced_text_destroy(text->spoken);
  free(text->buffer);
  free(text->tokens);
  free(text->phones);
  free(text->variants);
  free(text->labels);
  *text = (struct align_text){.buffer = NULL};
}
