/* Completes a lexicon with the words of transcripts and texts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/utf8.h"
#include "g2p_tasks.h"

enum { SHOWN = 10, MAX_BYTES = 1 << 28 };

struct completion {
  struct linnet_context *context;
  const struct linnet_g2p *g2p;
  struct linnet_symbols *words;  /* words that the lexicon lacks, in the order and spelling of their first occurrence */
  struct linnet_symbols *folded; /* the same in upper case, as lexicons compare words */
  FILE *output;
  bool probabilities; /* the lexicon has one for each pronunciation */
  size_t added, partial, failed;
};

/* --- words ------------------------------------------------------------------------------------------------------- */

/* Adds a word unless it is already there; ignores case. */
static bool list_word(struct completion *c, const char *word) {
  char *upper = strdup(word);
  size_t before = linnet_symbols_num_symbols(c->folded);
  int index = 0;
  linnet_lexicon_capitals(upper);
  bool good = upper && linnet_symbols_add(c->folded, upper, &index) == LINNET_OK &&
              ((size_t)index < before || linnet_symbols_add(c->words, word, NULL) == LINNET_OK);
  if (!good)
    tool_fail_context(c->context);
  free(upper);
  return good;
}

static bool list_missing(struct completion *c, const struct linnet_lexicon *lexicon, const char *word) {
  return linnet_lexicon_find(lexicon, word) != LINNET_NOT_FOUND || list_word(c, word);
}

static bool list_transcripts(struct completion *c, const struct linnet_lexicon *lexicon, const char *path) {
  struct linnet_transcripts *text = NULL;
  bool good = linnet_transcripts_load(c->context, path, &text) == LINNET_OK;
  if (!good)
    tool_fail_context(c->context);
  for (size_t i = 0; good && i < linnet_transcripts_num_utterances(text); i++) {
    size_t count;
    const char *const *words = linnet_transcripts_tokens(text, i, &count);
    for (size_t k = 0; good && k < count; k++)
      good = list_missing(c, lexicon, words[k]);
  }
  linnet_transcripts_destroy(text);
  return good;
}

static bool list_file(struct completion *c, const struct linnet_lexicon *lexicon, const char *path) {
  size_t bytes;
  char *text = tool_read_file(path, MAX_BYTES, &bytes), *rest = NULL;
  bool good = text != NULL;
  if (text && strlen(text) != bytes)
    good = tool_fail("%s: holds a NUL byte; is this a text file?", path) == TOOL_OK;
  char *first = text ? text + linnet_utf8_mark(text, bytes) : NULL;
  for (char *word = good ? strtok_r(first, " \t\r\n\v\f", &rest) : NULL; good && word;
       word = strtok_r(NULL, " \t\r\n\v\f", &rest))
    good = list_missing(c, lexicon, word);
  free(text);
  return good;
}

static bool find_words(struct completion *c, const struct linnet_lexicon *lexicon, const struct g2p_words *words) {
  if (linnet_symbols_create(c->context, NULL, 0, &c->words) != LINNET_OK ||
      linnet_symbols_create(c->context, NULL, 0, &c->folded) != LINNET_OK)
    return tool_fail_context(c->context) == TOOL_OK;
  return (!words->transcripts || list_transcripts(c, lexicon, words->transcripts)) &&
         (!words->text || list_file(c, lexicon, words->text));
}

/* --- lexicons ---------------------------------------------------------------------------------------------------- */

/* Copies a file; adds a newline if its last line has none. */
static bool copy_lexicon(FILE *output, const char *path) {
  FILE *file = fopen(path, "r");
  if (!file)
    return tool_fail("%s: %s", path, strerror(errno)) == TOOL_OK;
  char buffer[65536], last = '\n';
  for (size_t bytes; (bytes = fread(buffer, 1, sizeof buffer, file)) > 0; last = buffer[bytes - 1])
    fwrite(buffer, 1, bytes, output);
  bool good = !ferror(file) || tool_fail("%s: %s", path, strerror(errno)) == TOOL_OK;
  fclose(file);
  if (last != '\n')
    fputc('\n', output);
  return good;
}

static void write_line(const struct completion *c, const char *word, const struct linnet_g2p_result *result) {
  size_t count;
  const char *const *phones = linnet_g2p_result_phones(result, 0, &count);
  fprintf(c->output, "%s\t%s", word, c->probabilities ? "1.0 " : "");
  for (size_t i = 0; i < count; i++)
    fprintf(c->output, "%s%s", i > 0 ? " " : "", phones[i]);
  fputc('\n', c->output);
}

/* "word(2)", which a lexicon reads as another pronunciation of "word". */
static bool is_variant(const char *word) {
  const char *open = strrchr(word, '(');
  const size_t digits = open && open > word ? strspn(open + 1, "0123456789") : 0;
  return digits > 0 && strcmp(open + 1 + digits, ")") == 0;
}

/* Whether a lexicon would not read this as the word of a line. */
static bool is_misread(const char *word) {
  return strncmp(word, ";;;", 3) == 0 || strcmp(word, "#") == 0 || is_variant(word);
}

/* "<unk>", "[noise]" and the like are not words. */
static bool is_mark(const char *word) {
  return *word == '<' || *word == '[';
}

static void warn_ignored(const char *word) {
  if (is_misread(word))
    tool_warn("'%.80s': is left out: a lexicon reads it as a comment or as another pronunciation", word);
  else
    tool_warn("'%.80s': has no pronunciation and is ignored", word);
}

static bool add_word(struct completion *c, const char *word) {
  struct linnet_g2p_result *result = NULL;
  enum linnet_status status = LINNET_OK;
  if (!is_mark(word) && !is_misread(word))
    status = linnet_g2p_pronounce(c->g2p, c->context, word, 1, &result);
  if (status != LINNET_OK && status != LINNET_ERROR_LIMIT)
    return tool_fail_context(c->context) == TOOL_OK;
  if (result && linnet_g2p_result_num_pronunciations(result) > 0) {
    write_line(c, word, result);
    c->added++;
    c->partial += linnet_g2p_result_num_ignored(result) > 0;
  } else if (c->failed++ < SHOWN) {
    warn_ignored(word);
  }
  linnet_g2p_result_destroy(result);
  return true;
}

/* If the lexicon lacks phones of the model, it probably has another phone set. */
static void compare_phones(const struct completion *c, const struct linnet_lexicon *lexicon) {
  for (size_t i = 0; i < linnet_g2p_num_phones(c->g2p); i++)
    if (linnet_symbols_find(linnet_lexicon_phones(lexicon), linnet_g2p_phone(c->g2p, i)) == LINNET_NOT_FOUND) {
      tool_warn("the model has the phone '%s', which the lexicon does not use", linnet_g2p_phone(c->g2p, i));
      return;
    }
}

static void report(const struct completion *c) {
  fprintf(stderr, "%zu word%s added", c->added, linnet_plural(c->added));
  if (c->partial > 0)
    fprintf(stderr, " (%zu with letters that the model does not know and skips)", c->partial);
  fprintf(stderr, ", %zu ignored\n", c->failed);
}

static bool write_lexicon(struct completion *c, const char *path, const char *output) {
  struct tool_output file;
  if (!tool_output_open(&file, output))
    return false;
  c->output = file.stream;
  bool good = copy_lexicon(file.stream, path);
  for (int i = 1; good && !tool_interrupted() && (size_t)i < linnet_symbols_num_symbols(c->words); i++)
    good = add_word(c, linnet_symbols_name(c->words, i));
  good = good && !tool_interrupted() && tool_output_commit(&file);
  tool_output_abandon(&file);
  return good;
}

bool g2p_complete(struct linnet_context *context, const struct linnet_g2p *g2p, const char *path,
                  const struct g2p_words *words, const char *output) {
  struct completion c = {.context = context, .g2p = g2p};
  struct linnet_lexicon *lexicon = g2p_open_lexicon(context, path, g2p_has_stress(g2p));
  bool good = lexicon && find_words(&c, lexicon, words);
  if (good) {
    c.probabilities = linnet_lexicon_has_probabilities(lexicon);
    compare_phones(&c, lexicon);
  }
  tool_catch_interrupt();
  good = good && write_lexicon(&c, path, output);
  if (good)
    report(&c);
  linnet_symbols_destroy(c.words);
  linnet_symbols_destroy(c.folded);
  linnet_lexicon_destroy(lexicon);
  return good;
}
