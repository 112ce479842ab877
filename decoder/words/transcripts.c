/* Utterances with their tokens. The object keeps the file's text and points into it. */
#include <linnet/lexicon.h>

#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "decoder/base/names.h"
#include "decoder/base/text_file.h"
#include "decoder/words/symbols.h"

enum { MAX_BYTES = 1 << 28 };

struct utterance {
  size_t line; /* of its first occurrence */
  size_t first, count;
};

struct linnet_transcripts {
  struct linnet_text text;
  struct linnet_names ids; /* utterance i is name i */
  struct utterance *utterances;
  size_t utterance_capacity;
  const char **tokens;
  size_t token_count, token_capacity;
};

/* Appends a token to those of all utterances. */
static enum linnet_status add_token(struct linnet_transcripts *t, const char *token) {
  const char **grown = linnet_grow(t->text.context, t->tokens, &t->token_capacity, t->token_count + 1, sizeof *grown);
  if (!grown)
    return linnet_fail(t->text.context, LINNET_ERROR_MEMORY, "%s:%zu: out of memory after %zu tokens", t->text.name,
                       t->text.line, t->token_count);
  t->tokens = grown;
  t->tokens[t->token_count++] = token;
  return LINNET_OK;
}

/* Finds or appends an utterance that begins with the next token. */
static enum linnet_status add_utterance(struct linnet_transcripts *t, const char *id, size_t length, size_t *index,
                                        bool *fresh) {
  size_t count = t->ids.count;
  struct utterance *grown =
      linnet_grow(t->text.context, t->utterances, &t->utterance_capacity, count + 1, sizeof *grown);
  if (!grown)
    return linnet_fail(t->text.context, LINNET_ERROR_MEMORY, "%s:%zu: out of memory after %zu utterances", t->text.name,
                       t->text.line, count);
  t->utterances = grown;
  LINNET_TRY(linnet_names_add(&t->ids, id, length, index, fresh));
  if (*fresh)
    t->utterances[*index] = (struct utterance){.line = t->text.line, .first = t->token_count};
  return LINNET_OK;
}

/* The rest of the line. */
static enum linnet_status add_tokens(struct linnet_transcripts *t) {
  for (const char *token; (token = linnet_text_token(&t->text)) != NULL;)
    LINNET_TRY(add_token(t, token));
  return LINNET_OK;
}

static enum linnet_status read_line(struct linnet_transcripts *t) {
  const char *id = linnet_text_token(&t->text);
  size_t index;
  bool fresh;
  LINNET_TRY(add_utterance(t, id, strlen(id), &index, &fresh));
  struct utterance *utterance = &t->utterances[index];
  if (!fresh)
    return linnet_fail(t->text.context, LINNET_ERROR_FORMAT,
                       "%s:%zu: utterance '%.100s' appears twice, first in line %zu: remove one of the lines",
                       t->text.name, t->text.line, id, utterance->line);
  LINNET_TRY(add_tokens(t));
  utterance->count = t->token_count - utterance->first;
  return LINNET_OK;
}

static enum linnet_status read_lines(struct linnet_transcripts *t) {
  while (linnet_text_next_line(&t->text))
    LINNET_TRY(read_line(t));
  return LINNET_OK;
}

/* --- text-phone ------------------------------------------------------------------------------------------------- */

/* One line of text-phone: the phones of one word. */
struct word {
  size_t utterance, position, line;
  size_t first, count; /* tokens */
};

struct words {
  struct word *list;
  size_t count, capacity;
  bool strip_stress;
};

/* Splits "ID.INDEX"; false if the text does not have this form. */
static bool split_id(const char *text, size_t *length, size_t *position) {
  const char *dot = strrchr(text, '.');
  if (!dot || dot == text)
    return false;
  size_t digits = strspn(dot + 1, "0123456789");
  if (digits == 0 || digits > 9 || dot[1 + digits] != '\0')
    return false;
  *length = (size_t)(dot - text);
  *position = strtoul(dot + 1, NULL, 10);
  return true;
}

/* Removes the position in the word (_B, _I, _E, _S) and the stress from a phone. */
static void clean_phone(char *phone, bool strip_stress) {
  size_t length = strlen(phone);
  if (length > 2 && phone[length - 2] == '_' && strchr("BIES", phone[length - 1]))
    length -= 2;
  phone[strip_stress ? linnet_strip_stress(phone, length) : length] = '\0';
}

static enum linnet_status read_word(struct linnet_transcripts *t, struct words *words) {
  const char *id = linnet_text_token(&t->text);
  struct word word = {.line = t->text.line, .first = t->token_count};
  size_t length;
  bool fresh;
  if (!split_id(id, &length, &word.position))
    return linnet_fail(t->text.context, LINNET_ERROR_FORMAT,
                       "%s:%zu: '%.100s' is not of the form UTTERANCE.WORDINDEX, such as 000010011.0", t->text.name,
                       t->text.line, id);
  struct word *grown =
      linnet_grow(t->text.context, words->list, &words->capacity, words->count + 1, sizeof *words->list);
  if (!grown)
    return linnet_fail(t->text.context, LINNET_ERROR_MEMORY, "%s:%zu: out of memory after %zu words", t->text.name,
                       t->text.line, words->count);
  words->list = grown;
  LINNET_TRY(add_utterance(t, id, length, &word.utterance, &fresh));
  for (char *phone; (phone = linnet_text_token(&t->text)) != NULL;) {
    clean_phone(phone, words->strip_stress);
    LINNET_TRY(add_token(t, phone));
  }
  word.count = t->token_count - word.first;
  if (word.count == 0)
    return linnet_fail(t->text.context, LINNET_ERROR_FORMAT, "%s:%zu: word '%.100s' has no phones", t->text.name,
                       t->text.line, id);
  words->list[words->count++] = word;
  return LINNET_OK;
}

static int compare_words(const void *a, const void *b) {
  const struct word *x = a, *y = b;
  if (x->utterance != y->utterance)
    return x->utterance < y->utterance ? -1 : 1;
  if (x->position != y->position)
    return x->position < y->position ? -1 : 1;
  return x->line < y->line ? -1 : x->line > y->line;
}

/* The sorted words of an utterance must have the numbers 0, 1, 2 ... */
static enum linnet_status check_words(const struct linnet_transcripts *t, const struct words *words) {
  size_t expected = 0;
  for (size_t i = 0; i < words->count; i++, expected++) {
    const struct word *word = &words->list[i], *before = i > 0 ? word - 1 : NULL;
    const char *id = linnet_names_text(&t->ids, word->utterance);
    if (!before || before->utterance != word->utterance)
      expected = 0;
    else if (before->position == word->position)
      return linnet_fail(t->text.context, LINNET_ERROR_FORMAT,
                         "%s:%zu: word %zu of '%.100s' appears twice, first in line %zu: remove one of the lines",
                         t->text.name, word->line, word->position, id, before->line);
    if (word->position != expected)
      return linnet_fail(t->text.context, LINNET_ERROR_FORMAT,
                         "%s:%zu: word %zu of '%.100s' follows, but word %zu is missing: the file is incomplete",
                         t->text.name, word->line, word->position, id, expected);
  }
  return LINNET_OK;
}

/* Puts the tokens of sorted words one after another. */
static enum linnet_status join_words(struct linnet_transcripts *t, const struct words *words) {
  const char **joined = linnet_alloc(t->text.context, t->token_count, sizeof *joined);
  if (!joined)
    return linnet_fail(t->text.context, LINNET_ERROR_MEMORY, "%s: out of memory for %zu phones", t->text.name,
                       t->token_count);
  size_t at = 0;
  for (size_t i = 0; i < words->count; i++) {
    const struct word *word = &words->list[i];
    struct utterance *utterance = &t->utterances[word->utterance];
    if (word->position == 0)
      *utterance = (struct utterance){.line = utterance->line, .first = at};
    memcpy(joined + at, t->tokens + word->first, word->count * sizeof *joined);
    at += word->count;
    utterance->count += word->count;
  }
  linnet_free(t->text.context, t->tokens);
  t->tokens = joined;
  t->token_capacity = t->token_count;
  return LINNET_OK;
}

static enum linnet_status read_words(struct linnet_transcripts *t, struct words *words) {
  while (linnet_text_next_line(&t->text))
    LINNET_TRY(read_word(t, words));
  if (words->count > 0)
    qsort(words->list, words->count, sizeof *words->list, compare_words);
  LINNET_TRY(check_words(t, words));
  return join_words(t, words);
}

static enum linnet_status read_text_phone(struct linnet_transcripts *t, bool strip_stress) {
  struct words words = {.strip_stress = strip_stress};
  enum linnet_status status = read_words(t, &words);
  linnet_free(t->text.context, words.list);
  return status;
}

/* --- the object ------------------------------------------------------------------------------------------------- */

static struct linnet_transcripts *transcripts_new(struct linnet_context *context) {
  struct linnet_transcripts *t = linnet_calloc(context, 1, sizeof *t);
  if (!t) {
    linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for transcripts");
    return NULL;
  }
  t->text.context = context;
  t->ids.context = context;
  return t;
}

/* On success *result gets the transcripts, else they are destroyed. The name of the text belongs to the caller and is
 * not used afterwards. */
static enum linnet_status transcripts_done(struct linnet_transcripts *t, enum linnet_status status,
                                           struct linnet_transcripts **result) {
  t->text.name = "transcripts";
  if (status == LINNET_OK)
    *result = t;
  else
    linnet_transcripts_destroy(t);
  return status;
}

enum linnet_status linnet_transcripts_load(struct linnet_context *context, const char *path,
                                           struct linnet_transcripts **transcripts) {
  if (transcripts)
    *transcripts = NULL;
  if (!context || !path || !transcripts)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_transcripts_load: an argument is NULL");
  struct linnet_transcripts *t = transcripts_new(context);
  if (!t)
    return LINNET_ERROR_MEMORY;
  enum linnet_status status = linnet_text_open(context, path, MAX_BYTES, &t->text);
  if (status == LINNET_OK)
    status = read_lines(t);
  LINNET_TRY(transcripts_done(t, status, transcripts));
  linnet_log(context, LINNET_LOG_INFO, "%s: transcripts of %zu utterance%s", path,
             linnet_transcripts_num_utterances(*transcripts),
             linnet_plural(linnet_transcripts_num_utterances(*transcripts)));
  return LINNET_OK;
}

enum linnet_status linnet_transcripts_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                  const char *name, struct linnet_transcripts **transcripts) {
  if (transcripts)
    *transcripts = NULL;
  if (!context || (!data && bytes > 0) || !name || !transcripts)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_transcripts_load_memory: an argument is NULL");
  struct linnet_transcripts *t = transcripts_new(context);
  if (!t)
    return LINNET_ERROR_MEMORY;
  enum linnet_status status = linnet_text_open_memory(context, data, bytes, name, MAX_BYTES, &t->text);
  if (status == LINNET_OK)
    status = read_lines(t);
  return transcripts_done(t, status, transcripts);
}

enum linnet_status linnet_transcripts_load_text_phone(struct linnet_context *context, const char *path,
                                                      int strip_stress, struct linnet_transcripts **transcripts) {
  if (transcripts)
    *transcripts = NULL;
  if (!context || !path || !transcripts)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_transcripts_load_text_phone: an argument is NULL");
  struct linnet_transcripts *t = transcripts_new(context);
  if (!t)
    return LINNET_ERROR_MEMORY;
  enum linnet_status status = linnet_text_open(context, path, MAX_BYTES, &t->text);
  if (status == LINNET_OK)
    status = read_text_phone(t, strip_stress != 0);
  return transcripts_done(t, status, transcripts);
}

size_t linnet_transcripts_num_utterances(const struct linnet_transcripts *transcripts) {
  return transcripts->ids.count;
}

const char *linnet_transcripts_id(const struct linnet_transcripts *transcripts, size_t index) {
  return index < transcripts->ids.count ? linnet_names_text(&transcripts->ids, index) : NULL;
}

const char *const *linnet_transcripts_tokens(const struct linnet_transcripts *transcripts, size_t index,
                                             size_t *count) {
  *count = 0;
  if (index >= transcripts->ids.count)
    return NULL;
  const struct utterance *utterance = &transcripts->utterances[index];
  *count = utterance->count;
  return transcripts->tokens ? transcripts->tokens + utterance->first : NULL;
}

size_t linnet_transcripts_find(const struct linnet_transcripts *transcripts, const char *id) {
  return linnet_names_find(&transcripts->ids, id, strlen(id));
}

enum linnet_status linnet_transcripts_symbols(struct linnet_context *context,
                                              const struct linnet_transcripts *transcripts,
                                              struct linnet_symbols **symbols) {
  if (symbols)
    *symbols = NULL;
  if (!context || !transcripts || !symbols)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_transcripts_symbols: an argument is NULL");
  struct linnet_names names = {.context = context};
  enum linnet_status status = LINNET_OK;
  for (size_t i = 0; i < transcripts->token_count && status == LINNET_OK; i++) {
    size_t index;
    status = linnet_names_add(&names, transcripts->tokens[i], strlen(transcripts->tokens[i]), &index, NULL);
  }
  if (status == LINNET_OK)
    status = linnet_symbols_from_names(&names, symbols);
  linnet_names_clear(&names);
  return status;
}

void linnet_transcripts_destroy(struct linnet_transcripts *transcripts) {
  if (!transcripts)
    return;
  struct linnet_context *context = transcripts->text.context;
  linnet_text_close(&transcripts->text);
  linnet_names_clear(&transcripts->ids);
  linnet_free(context, transcripts->utterances);
  linnet_free(context, transcripts->tokens);
  linnet_free(context, transcripts);
}
