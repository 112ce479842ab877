#include "align_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

enum { NAMED_WORDS = 10 }; /* unknown words named in a message */

/* --- tokens ------------------------------------------------------------------------------------------------------- */

/* Cuts a text at white space. */
static bool read_tokens(struct align_text *text, const char *source) {
  static const char space[] = " \t\r\n\v\f";
  text->buffer = strdup(source);
  text->tokens = calloc(strlen(source) / 2 + 1, sizeof *text->tokens);
  char *rest = NULL;
  if (text->buffer && text->tokens)
    for (char *token = strtok_r(text->buffer, space, &rest); token; token = strtok_r(NULL, space, &rest))
      text->tokens[text->count++] = token;
  text->words = calloc(text->count + 1, sizeof *text->words);
  return text->buffer && text->tokens && text->words;
}

/* Punctuation of ASCII; apostrophes belong to words. */
static bool is_punctuation(char c) {
  return ispunct((unsigned char)c) && c != '\'';
}

/* The token without punctuation around it, into `stripped` (of the token's size). */
static void strip_punctuation(const char *token, char *stripped) {
  size_t length = strlen(token);
  while (length > 0 && is_punctuation(token[length - 1]))
    length--;
  while (length > 0 && is_punctuation(*token)) {
    token++;
    length--;
  }
  memcpy(stripped, token, length);
  stripped[length] = '\0';
}

/* --- words -------------------------------------------------------------------------------------------------------- */

enum lookup { FOUND, DROPPED, UNKNOWN };

/* `stripped` has room for the token. */
static enum lookup look_up(const struct linnet_lexicon *lexicon, const char *token, char *stripped, size_t *word) {
  *word = linnet_lexicon_find(lexicon, token);
  if (*word != LINNET_NOT_FOUND)
    return FOUND;
  strip_punctuation(token, stripped);
  *word = linnet_lexicon_find(lexicon, stripped);
  return *word != LINNET_NOT_FOUND ? FOUND : *stripped ? UNKNOWN : DROPPED;
}

static size_t variants_of(const struct linnet_lexicon *lexicon, size_t word) {
  size_t count = linnet_lexicon_variants(lexicon, word);
  return count < LINNET_ALIGN_MAX_VARIANTS ? count : LINNET_ALIGN_MAX_VARIANTS;
}

/* Finds all tokens: `found` (count) gets their entries, tokens without one are taken out of the list. Unknown ones are
 * collected in `unknown`, as many as there is room for; returns their number. */
static size_t find_words(struct align_text *text, const struct linnet_lexicon *lexicon, size_t *found,
                         const char *unknown[NAMED_WORDS], char *stripped) {
  size_t kept = 0, missing = 0;
  for (size_t i = 0; i < text->count; i++) {
    size_t word;
    enum lookup result = look_up(lexicon, text->tokens[i], stripped, &word);
    if (result == UNKNOWN && missing++ < NAMED_WORDS)
      unknown[missing - 1] = text->tokens[i];
    if (result != FOUND)
      continue;
    found[kept] = word;
    text->tokens[kept++] = text->tokens[i];
  }
  text->count = kept;
  return missing;
}

/* Says which words are unknown; false if that is an error. */
static bool tell_unknown(const struct align_text *text, const struct vocabulary *vocabulary, const char *name,
                         const char *const unknown[NAMED_WORDS], size_t missing) {
  char list[NAMED_WORDS * 48] = "";
  for (size_t i = 0; i < missing && i < NAMED_WORDS; i++) {
    size_t length = strlen(list);
    snprintf(list + length, sizeof list - length, "%s'%.40s'", i > 0 ? ", " : "", unknown[i]);
  }
  const char *more = missing > NAMED_WORDS ? " ..." : "";
  if (missing > 0 && text->skip_unknown)
    tool_warn("%s: left out, not in %s: %s%s", name, vocabulary->lexicon_path, list, more);
  else if (missing > 0)
    tool_fail("%s: %zu words are not in %s: %s%s; add lines 'WORD PHONE PHONE ...' to it, or leave them out with "
              "--skip-unknown",
              name, missing, vocabulary->lexicon_path, list, more);
  return missing == 0 || text->skip_unknown;
}

/* Points the words at the pronunciations of the lexicon. */
static bool pronounce(struct align_text *text, const struct linnet_lexicon *lexicon, const size_t *found) {
  size_t total = 0, at = 0;
  for (size_t i = 0; i < text->count; i++)
    total += variants_of(lexicon, found[i]);
  text->variants = calloc(total + 1, sizeof *text->variants);
  for (size_t i = 0; text->variants && i < text->count; i++) {
    text->words[i] = (struct linnet_align_word){&text->variants[at], variants_of(lexicon, found[i])};
    for (size_t v = 0; v < text->words[i].count; v++, at++)
      text->variants[at].labels = linnet_lexicon_pronunciation(lexicon, found[i], v, &text->variants[at].count);
  }
  return text->variants != NULL;
}

bool align_text_words(struct align_text *text, const struct vocabulary *vocabulary, const char *name,
                      const char *words) {
  const char *unknown[NAMED_WORDS];
  bool good = read_tokens(text, words), told = false;
  size_t *found = calloc(text->count + 1, sizeof *found);
  char *stripped = malloc(strlen(words) + 1);
  if (good && found && stripped) {
    size_t missing = find_words(text, vocabulary->lexicon, found, unknown, stripped);
    good = tell_unknown(text, vocabulary, name, unknown, missing);
    told = !good;
    good = good && pronounce(text, vocabulary->lexicon, found);
  } else {
    good = false;
  }
  free(found);
  free(stripped);
  if (!good && !told)
    tool_fail("%s: out of memory for its text", name);
  return good;
}

/* --- phones ------------------------------------------------------------------------------------------------------- */

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
    text->words[i] = (struct linnet_align_word){&text->variants[i], 1};
  }
  return true;
}

void align_text_release(struct align_text *text) {
  free(text->buffer);
  free(text->tokens);
  free(text->words);
  free(text->variants);
  free(text->labels);
  *text = (struct align_text){.buffer = NULL};
}
