/* Written texts: division into words, and the object. */
#include "decoder/text/pronounced_text.h"

#include <string.h>

#include "base/settings.h"
#include "decoder/base/characters.h"

enum { ACRONYM_LETTERS_IN_CAPITALS = 3, LONGEST_MARK = 16 /* tokens between brackets */ };

void(linnet_pronounced_text_settings_default)(struct linnet_pronounced_text_settings *settings, size_t size) {
  const struct linnet_pronounced_text_settings defaults = {.size = sizeof(struct linnet_pronounced_text_settings)};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

static enum linnet_status out_of_memory(struct linnet_context *context) {
  return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the pronunciations of a text");
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_label_pool_put(struct linnet_context *context, struct linnet_label_pool *pool,
                                         const int *labels, size_t count) {
  size_t needed = pool->label_count + count;
  int *grown = linnet_grow(context, pool->labels, &pool->label_capacity, needed, sizeof *grown);
  if (!grown)
    return out_of_memory(context);
  pool->labels = grown;
  memcpy(pool->labels + pool->label_count, labels, count * sizeof *labels);
  pool->label_count = needed;
  return LINNET_OK;
}

enum linnet_status linnet_label_pool_close(struct linnet_context *context, struct linnet_label_pool *pool,
                                           size_t first) {
  void *grown = linnet_grow(context, pool->ranges, &pool->range_capacity, pool->range_count + 1, sizeof *pool->ranges);
  if (!grown)
    return out_of_memory(context);
  pool->ranges = grown;
  pool->ranges[pool->range_count++] = (struct linnet_label_range){first, pool->label_count - first};
  return LINNET_OK;
}

void linnet_label_pool_clear(struct linnet_context *context, struct linnet_label_pool *pool) {
  linnet_free(context, pool->labels);
  linnet_free(context, pool->ranges);
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

/* Walks through a text: the character at `at`, and its line and column. */
struct cursor {
  const char *at;
  size_t line, column, bytes;
  uint32_t code;
};

static bool next_character(struct cursor *c) {
  bool newline = c->code == '\n';
  c->at += c->bytes;
  c->line += newline;
  c->column = newline ? 1 : c->column + 1;
  c->code = linnet_utf8_decode(c->at, &c->bytes);
  return *c->at != '\0';
}

/* The start of a text. A byte order mark there has no column. */
static struct cursor start_of(const char *text) {
  return (struct cursor){.at = text + linnet_utf8_mark(text, strlen(text)), .line = 1};
}

/* Checks the text, counts its words, and finds out whether it has small letters. */
static enum linnet_status survey(struct linnet_context *context, const char *text, const char *name, size_t *words,
                                 bool *small) {
  bool inside = false;
  *words = 0;
  for (struct cursor c = start_of(text); next_character(&c);) {
    if (linnet_utf8_length(c.at) == 0)
      return linnet_fail(context, LINNET_ERROR_FORMAT,
                         "%s:%zu:%zu: the byte 0x%02X is not UTF-8: convert the text, for example with "
                         "'iconv -f WINDOWS-1252 -t UTF-8' (give its own encoding after -f)",
                         name, c.line, c.column, (unsigned char)*c.at);
    bool space = linnet_utf8_is_space(c.code) || c.code == 0xFEFF;
    *words += !space && !inside;
    inside = !space;
    *small = *small || linnet_utf8_upper(c.code) != c.code;
  }
  return LINNET_OK;
}

/* Copies the next token from *c on to *buffer; false if there is none. */
static bool next_word(struct cursor *c, char **buffer, struct linnet_written_word *word) {
  while (*c->at && (linnet_utf8_is_space(c->code) || c->code == 0xFEFF))
    next_character(c);
  if (!*c->at)
    return false;
  *word = (struct linnet_written_word){.text = *buffer, .line = c->line, .column = c->column};
  for (; *c->at && !linnet_utf8_is_space(c->code) && c->code != 0xFEFF; next_character(c)) {
    memcpy(*buffer, c->at, c->bytes);
    *buffer += c->bytes;
  }
  *(*buffer)++ = '\0';
  return true;
}

/* Copies all tokens of a text to its words. */
static void read_tokens(struct linnet_pronounced_text *text, const char *source) {
  struct cursor c = start_of(source);
  char *buffer = text->buffer;
  size_t count = 0;
  next_character(&c);
  while (next_word(&c, &buffer, &text->words[count]))
    count++;
}

/* --- words and marks ---------------------------------------------------------------------------------------------- */

/* Collects words with the marks that stand alone beside them: those after a word, and those before the first word. */
struct writer {
  char *start, *at; /* of the present word, and its end */
  bool word;        /* the word itself is there */
};

static void write_token(struct writer *w, const char *token, bool silent) {
  if (!silent && w->word) {
    *w->at++ = '\0';
    w->start = w->at;
  }
  w->word = w->word || !silent;
  if (w->at > w->start)
    *w->at++ = ' ';
  memcpy(w->at, token, strlen(token));
  w->at += strlen(token);
}

/* The number of tokens, from the first one on, that are together a mark of something that is not said. */
static size_t count_silent(const struct linnet_pronouncer *p, const struct linnet_written_word *tokens, size_t count) {
  const char *line[LONGEST_MARK];
  size_t length = 0;
  for (; length < count && length < LONGEST_MARK && tokens[length].line == tokens[0].line; length++)
    line[length] = tokens[length].text;
  return linnet_text_silent(&p->speaker, line, length);
}

/* Pronounces the tokens, of which only the words stay. */
static enum linnet_status pronounce_all(struct linnet_pronouncer *p, size_t count) {
  struct linnet_pronounced_text *text = p->text;
  struct writer w = {.start = text->written, .at = text->written};
  size_t marks = 0;
  for (size_t i = 0; i < count; i++) {
    struct linnet_written_word *word = &text->words[text->num_words];
    bool silent = true;
    *word = text->words[i];
    if (marks == 0)
      marks = count_silent(p, &text->words[i], count - i);
    p->speaker.steps = LINNET_TEXT_STEPS;
    if (marks == 0)
      LINNET_TRY(linnet_pronounce_word(p, word, i + 1 < count ? text->words[i + 1].text : NULL, &silent));
    marks -= marks > 0;
    write_token(&w, word->text, silent);
    word->written = w.start;
    text->num_words += !silent;
  }
  *w.at = '\0';
  return LINNET_OK;
}

/* --- the object --------------------------------------------------------------------------------------------------- */

/* Sets the pointers of variants into the pool, once it does not grow any more. */
static enum linnet_status point_variants(struct linnet_pronounced_text *text) {
  const struct linnet_label_pool *pool = &text->pool;
  text->variants = linnet_calloc(text->context, pool->range_count + 1, sizeof *text->variants);
  if (!text->variants)
    return out_of_memory(text->context);
  for (size_t v = 0; v < pool->range_count; v++)
    text->variants[v] = (struct linnet_pronunciation){pool->labels + pool->ranges[v].first, pool->ranges[v].count};
  const struct linnet_pronunciation *next = text->variants;
  for (size_t w = 0; w < text->aligned_count; next += text->aligned[w++].num_variants)
    text->aligned[w].variants = next;
  return LINNET_OK;
}

static int knows(void *user, const char *word) {
  const struct linnet_lexicon *lexicon = ((const struct linnet_pronouncer *)user)->settings->lexicon;
  return lexicon && linnet_lexicon_find(lexicon, word) != LINNET_NOT_FOUND;
}

static enum linnet_status make(struct linnet_pronounced_text *text, const char *source, const char *name,
                               const struct linnet_pronounced_text_settings *settings, struct linnet_g2p_demand *g2p) {
  struct linnet_context *context = text->context;
  struct linnet_pronouncer p = {
      .context = context, .settings = settings, .g2p = g2p, .text = text, .guessed = {.context = context}};
  size_t words;
  bool small = false;
  LINNET_TRY(survey(context, source, name, &words, &small));
  p.speaker = (struct linnet_text_speaker){.n = settings->normalizer, .known = knows, .user = &p};
  p.speaker.longest_acronym = small ? LINNET_TEXT_ACRONYM_LETTERS : ACRONYM_LETTERS_IN_CAPITALS;
  text->buffer = linnet_alloc(context, strlen(source) + 2, 1);
  text->written = linnet_alloc(context, strlen(source) + 2, 1);
  text->words = linnet_calloc(context, words + 1, sizeof *text->words);
  text->aligned = linnet_calloc(context, words + 1, sizeof *text->aligned);
  text->index = linnet_calloc(context, words + 1, sizeof *text->index);
  if (!text->buffer || !text->written || !text->words || !text->aligned || !text->index)
    return out_of_memory(context);
  read_tokens(text, source);
  enum linnet_status status = pronounce_all(&p, words);
  linnet_names_clear(&p.guessed);
  linnet_free(context, p.guesses);
  linnet_label_pool_clear(context, &p.pool);
  return status == LINNET_OK ? point_variants(text) : status;
}

enum linnet_status linnet_pronounced_text_open(struct linnet_context *context, const char *text, const char *name,
                                               const struct linnet_pronounced_text_settings *settings,
                                               struct linnet_g2p_demand *g2p, struct linnet_pronounced_text **result) {
  struct linnet_pronounced_text *made = *result = linnet_calloc(context, 1, sizeof *made);
  if (!made)
    return out_of_memory(context);
  made->context = made->strings.context = context;
  enum linnet_status status = make(made, text, name, settings, g2p);
  if (status == LINNET_OK)
    return status;
  linnet_pronounced_text_destroy(made);
  *result = NULL;
  return status;
}

enum linnet_status linnet_pronounced_text_create(struct linnet_context *context, const char *text, const char *name,
                                                 const struct linnet_pronounced_text_settings *settings,
                                                 struct linnet_pronounced_text **result) {
  if (result)
    *result = NULL;
  if (!context || !text || !name || !settings || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_pronounced_text_create: an argument is NULL");
  struct linnet_pronounced_text_settings own;
  LINNET_TRY(LINNET_READ_SETTINGS(context, pronounced_text, settings, &own));
  if (!own.normalizer || (own.g2p && !own.phones && !own.lexicon))
    return linnet_fail(
        context, LINNET_ERROR_ARGUMENT,
        "linnet_pronounced_text_create: settings: the normalizer is NULL, or phones are missing for g2p");
  return linnet_pronounced_text_open(context, text, name, &own, NULL, result);
}

void linnet_pronounced_text_destroy(struct linnet_pronounced_text *text) {
  if (!text)
    return;
  linnet_free(text->context, text->buffer);
  linnet_free(text->context, text->written);
  linnet_free(text->context, text->words);
  linnet_free(text->context, text->aligned);
  linnet_free(text->context, text->index);
  linnet_free(text->context, text->variants);
  linnet_free(text->context, text->spoken);
  linnet_label_pool_clear(text->context, &text->pool);
  linnet_names_clear(&text->strings);
  linnet_free(text->context, text);
}

const struct linnet_written_word *linnet_pronounced_text_words(const struct linnet_pronounced_text *text,
                                                               size_t *count) {
  *count = text->num_words;
  return text->words;
}

const struct linnet_align_word *linnet_pronounced_text_align_words(const struct linnet_pronounced_text *text,
                                                                   size_t *count) {
  *count = text->aligned_count;
  return text->aligned;
}

size_t linnet_pronounced_text_index(const struct linnet_pronounced_text *text, size_t aligned) {
  return aligned < text->aligned_count ? text->index[aligned] : LINNET_NOT_FOUND;
}

const char *linnet_pronounced_text_spoken(const struct linnet_pronounced_text *text, size_t aligned, size_t variant) {
  if (aligned >= text->aligned_count || variant >= text->aligned[aligned].num_variants)
    return NULL;
  return text->spoken[(size_t)(text->aligned[aligned].variants - text->variants) + variant];
}
