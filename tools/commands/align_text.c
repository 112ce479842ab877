/* Reads the text of an alignment: applies text rules, looks up or guesses pronunciations, and names unknown words. */
#include "align_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/numbers.h"
#include "common/search_options.h"
#include "common/separate.h"

#define RULES_NAME "english/text.rules"

enum { NAMED_WORDS = 10 /* guessed words named in a message */, PATH_BYTES = 4096 };

static struct { char *g2p, *rules; } options;

struct poptOption align_words_options[] = {
    {"g2p", 0, TOOL_INPUT, &options.g2p, 0,
     "guess pronunciations of unknown words with this model of 'linnet g2p' (default: the model in the recognizer's "
     "folder; with --lexicon, no guessing)",
     "FILE"},
    {"text-rules", 0, TOOL_INPUT, &options.rules, 0,
     "rules for numbers, abbreviations and so on; none: no rules (default: those of the model's folder, else the "
     "English rules that ship)",
     "FILE"},
    POPT_TABLEEND};

const char *align_words_given(void) {
  return options.g2p ? "--g2p" : options.rules ? "--text-rules" : NULL;
}

/* --- files of texts ----------------------------------------------------------------------------------------------- */

char *align_read_text(const char *path) {
  size_t bytes;
  char *text = tool_read_file(path, (size_t)1 << 28, &bytes);
  if (!text || strlen(text) == bytes)
    return text;
  tool_fail("%s: has a NUL byte after %zu bytes, so it is no text in UTF-8: convert it, for example with "
            "'iconv -f UTF-16 -t UTF-8' (give its own encoding after -f)",
            path, strlen(text));
  free(text);
  return NULL;
}

/* The path of an audio file with another extension; the caller frees it. */
static char *change_extension(const char *audio, const char *extension) {
  const char *slash = strrchr(audio, '/'), *name = slash ? slash + 1 : audio, *dot = strrchr(name, '.');
  const size_t length = dot && dot > name ? (size_t)(dot - audio) : strlen(audio);
  char *path = malloc(length + strlen(extension) + 1);
  if (path)
    sprintf(path, "%.*s%s", (int)length, audio, extension);
  return path;
}

void align_add_beside(const char *audio) {
  static const char *const extensions[] = {".txt", ".lab"};
  for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
    char *path = change_extension(audio, extensions[i]);
    if (path)
      separate_add_input(path);
    free(path);
  }
}

char *align_find_beside(const char *audio) {
  char *text = change_extension(audio, ".txt"), *label = change_extension(audio, ".lab");
  const bool has_text = text && access(text, F_OK) == 0, has_label = label && access(label, F_OK) == 0;
  if (!text || !label)
    tool_fail("%s: out of memory", audio);
  else if (has_text && has_label)
    tool_fail("%s: has two texts, %s and %s: remove or rename one of them", audio, text, label);
  else if (!has_text && !has_label && access(audio, F_OK) != 0 && !strchr(audio, ':')) /* no entry of an archive */
    tool_fail("%s: %s", audio, strerror(errno));
  else if (!has_text && !has_label)
    tool_fail("%s: has no text: there is neither %s nor %s: write one of them, or give --text, --text-file or --phones",
              audio, text, label);
  char *found = has_text == has_label ? NULL : has_text ? text : label;
  if (found != text)
    free(text);
  if (found != label)
    free(label);
  return found;
}

/* --- the aligner -------------------------------------------------------------------------------------------------- */

bool align_words_pronounced(const struct align_words_source *source, bool files) {
  return source->named || options.g2p || (files && (source->files.lexicon || source->files.g2p));
}

int align_words_fail(void) {
  return tool_fail(
      "words need pronunciations: name a lexicon with --lexicon FILE or in $LINNET_LEXICON, such as CMUdict "
      "(https://github.com/cmusphinx/cmudict), guess them with --g2p FILE, or give --phones");
}

/* The rules: of --text-rules, else of the folder, else those that ship, whose path the caller frees. */
static char *choose_rules(const struct tool_word_files *files, struct linnet_source *rules) {
  static const char none[] = "\n";
  if (options.rules && strcmp(options.rules, "none") == 0)
    *rules = (struct linnet_source){.path = "no rules", .data = none, .bytes = strlen(none)};
  else if (options.rules)
    rules->path = options.rules;
  if (options.rules || files->rules)
    return NULL;
  char *shipped = tool_find_shipped(RULES_NAME);
  if (!shipped)
    tool_warn("the rules of written text are missing (%s): numbers and abbreviations are unknown words; name a file "
              "with --text-rules FILE",
              RULES_NAME);
  rules->path = shipped;
  return shipped;
}

struct linnet_text_aligner *align_text_open(struct linnet_context *context, const struct linnet_recognizer *recognizer,
                                            const struct align_words_source *words) {
  struct linnet_text_aligner_settings settings;
  struct linnet_text_aligner *aligner = NULL;
  const char *path = NULL;
  char *rules = NULL;
  linnet_text_aligner_settings_default(&settings);
  if (words) {
    rules = choose_rules(&words->files, &settings.rules);
    settings.lexicon.path = words->named;
    settings.g2p.path = options.g2p;
    path = words->files.recognizer ? words->files.recognizer : words->files.folder;
  }
  if (linnet_recognizer_load_aligner(context, recognizer, path, &settings, &aligner) != LINNET_OK)
    tool_fail_context(context);
  free(rules);
  return aligner;
}

/* --- words without a pronunciation -------------------------------------------------------------------------------- */

/* A word of the text, its first position, and its count. */
struct occurrence {
  const struct linnet_written_word *word;
  size_t times;
};

/* By text; equal words by their positions. */
static int by_text(const void *a, const void *b) {
  const struct occurrence *x = a, *y = b;
  const int order = strcmp(x->word->text, y->word->text);
  return order ? order : (x->word > y->word) - (x->word < y->word);
}

static int by_position(const void *a, const void *b) {
  const struct occurrence *x = a, *y = b;
  return (x->word > y->word) - (x->word < y->word);
}

/* Counts equal words, which lie together, at the first of them; returns the number of different ones. */
static size_t merge(struct occurrence *found, size_t count) {
  size_t different = 0;
  for (size_t i = 0; i < count; i++)
    if (different > 0 && strcmp(found[different - 1].word->text, found[i].word->text) == 0)
      found[different - 1].times++;
    else
      found[different++] = found[i];
  return different;
}

/* The different words whose pronunciation has a given source, in the order of the text; the caller frees them. NULL
 * without memory. */
static struct occurrence *find_different(const struct linnet_written_word *words, size_t count,
                                         enum linnet_word_source source, size_t *different) {
  struct occurrence *found = malloc((count + 1) * sizeof *found);
  size_t all = 0;
  *different = 0;
  if (!found)
    return NULL;
  for (size_t i = 0; i < count; i++)
    if (words[i].source == source)
      found[all++] = (struct occurrence){&words[i], 1};
  qsort(found, all, sizeof *found, by_text);
  *different = merge(found, all);
  qsort(found, *different, sizeof *found, by_position);
  return found;
}

static void name_unknown(const char *fate, const struct occurrence *unknown, const char *source) {
  const struct linnet_written_word *word = unknown->word;
  char often[48] = "", within[160] = "";
  if (unknown->times > 1)
    snprintf(often, sizeof often, ", %zu times", unknown->times);
  if (strcasecmp(word->missing, word->text) != 0)
    snprintf(within, sizeof within, " (said '%.120s')", word->missing);
  if (fate)
    tool_warn("%s:%zu:%zu: '%.100s' has no pronunciation%s%s: %s", source, word->line, word->column, word->text, within,
              often, fate);
  else
    tool_fail("%s:%zu:%zu: '%.100s' has no pronunciation%s%s", source, word->line, word->column, word->text, within,
              often);
}

/* Prints the words; returns the number of different ones. */
static size_t name_all_unknown(const char *fate, const struct linnet_written_word *words, size_t count,
                               const char *source) {
  size_t different;
  struct occurrence *unknown = find_different(words, count, LINNET_WORD_UNKNOWN, &different);
  for (size_t i = 0; unknown && i < different; i++)
    name_unknown(fate, &unknown[i], source);
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

/* Says where the words were looked up, and what can be done. */
static void print_remedy(const struct align_words_source *words, size_t unknown, const char *name) {
  const bool one = unknown == 1, guesses = options.g2p || (!words->named && words->files.g2p);
  const bool lexicon = words->files.lexicon != NULL;
  const char *them = one ? "it" : "them", *list = NULL, *model = "the recognizer's model of pronunciations";
  char lack[PATH_BYTES + 32], add[64] = "add lines 'WORD PHONE PHONE ...' to it", guess[64] = "";
  if (words->named || (lexicon && !options.g2p))
    list = words->named ? words->named : "the recognizer's lexicon";
  if (list)
    snprintf(lack, sizeof lack, "%s not in %s", one ? "is" : "are", list);
  else
    snprintf(lack, sizeof lack, "cannot be guessed with %s", options.g2p ? options.g2p : model);
  if (!words->named)
    snprintf(add, sizeof add, "give a lexicon that has %s with --lexicon FILE", them);
  if (!guesses)
    snprintf(guess, sizeof guess, "guess %s with --g2p FILE, ", them);
  tool_fail("%s: %zu word%s %s: %s, %sor interpolate %s with --skip-unknown", name, unknown, linnet_plural(unknown),
            lack, add, guess, one ? "its time" : "their times");
}

bool align_text_check(const struct linnet_aligned_text *text, const struct align_words_source *words, const char *fate,
                      const char *name, const char *source) {
  size_t count;
  const struct linnet_written_word *written = linnet_aligned_text_words(text, &count);
  size_t unknown = name_all_unknown(fate, written, count, source);
  name_guessed(written, count, name);
  if (unknown > 0 && !fate)
    print_remedy(words, unknown, name);
  return unknown == 0 || fate;
}
