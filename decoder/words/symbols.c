/* Symbol tables: output indices and their names; and vocabularies: symbols, and the lexicon over them. */
#include "decoder/words/symbols.h"

#include <string.h>

#include "base/c_locale.h"
#include "decoder/base/text_file.h"

enum { MAX_SYMBOLS = 1 << 24, MAX_BYTES = 1 << 26 };

struct linnet_symbols {
  struct linnet_names names;
};

static enum linnet_status create_with_blank(struct linnet_context *context, struct linnet_symbols **result) {
  struct linnet_symbols *symbols = linnet_calloc(context, 1, sizeof *symbols);
  if (!symbols)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a symbol table");
  symbols->names.context = context;
  size_t index;
  enum linnet_status status = linnet_names_add(&symbols->names, LINNET_BLANK, strlen(LINNET_BLANK), &index, NULL);
  if (status != LINNET_OK) {
    linnet_symbols_destroy(symbols);
    return status;
  }
  *result = symbols;
  return LINNET_OK;
}

enum linnet_status linnet_symbols_add(struct linnet_symbols *symbols, const char *name, int *index) {
  if (!symbols)
    return LINNET_ERROR_ARGUMENT;
  struct linnet_context *context = symbols->names.context;
  if (!name || *name == '\0' || strpbrk(name, " \t\r\n\v\f"))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "symbol '%.100s': a name must not be empty or hold white space",
                       name ? name : "");
  size_t found = linnet_names_find(&symbols->names, name, strlen(name));
  if (found == LINNET_NOT_FOUND && symbols->names.count >= MAX_SYMBOLS)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "symbol '%.100s': there are more than %d symbols", name,
                       MAX_SYMBOLS);
  if (found == LINNET_NOT_FOUND)
    LINNET_TRY(linnet_names_add(&symbols->names, name, strlen(name), &found, NULL));
  if (index)
    *index = (int)found;
  return LINNET_OK;
}

/* Adds a name that must be new. */
static enum linnet_status add_new(struct linnet_symbols *symbols, const char *name) {
  size_t before = linnet_symbols_num_symbols(symbols);
  int index = 0;
  LINNET_TRY(linnet_symbols_add(symbols, name, &index));
  if ((size_t)index < before)
    return linnet_fail(symbols->names.context, LINNET_ERROR_ARGUMENT, "symbol '%.100s' appears twice", name);
  return LINNET_OK;
}

static enum linnet_status add_all(struct linnet_symbols *symbols, const char *const *names, size_t count) {
  bool blank = count > 0 && names[0] && strcmp(names[0], LINNET_BLANK) == 0;
  for (size_t i = blank ? 1 : 0; i < count; i++)
    LINNET_TRY(add_new(symbols, names[i]));
  return LINNET_OK;
}

enum linnet_status linnet_symbols_create(struct linnet_context *context, const char *const *names, size_t count,
                                         struct linnet_symbols **symbols) {
  if (symbols)
    *symbols = NULL;
  if (!context || !symbols || (!names && count > 0))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_symbols_create: an argument is NULL");
  struct linnet_symbols *made = NULL;
  LINNET_TRY(create_with_blank(context, &made));
  enum linnet_status status = add_all(made, names, count);
  if (status != LINNET_OK)
    linnet_symbols_destroy(made);
  else
    *symbols = made;
  return status;
}

/* --- from a file ------------------------------------------------------------------------------------------------ */

/* The value of a decimal number below MAX_SYMBOLS; -1 for any other text. */
static int parse_index(const char *text) {
  int value = 0;
  size_t digits = strspn(text, "0123456789");
  if (digits == 0 || digits > 7 || text[digits] != '\0')
    return -1;
  for (; *text; text++)
    value = value * 10 + (*text - '0');
  return value < MAX_SYMBOLS ? value : -1;
}

/* Names that common systems give the blank. */
static bool is_blank_name(const char *name) {
  static const char *const names[] = {LINNET_BLANK, "<eps>", "<blank>", "<pad>", "[PAD]", "_"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0)
      return true;
  return false;
}

/* Reads one line, "NAME" or "NAME INDEX". The first line may be the blank: by its name, or by the index 0. */
static enum linnet_status load_line(struct linnet_text *text, struct linnet_symbols *symbols, bool first) {
  const char *name = linnet_text_token(text), *index = linnet_text_token(text);
  if (linnet_text_token(text))
    return linnet_fail(text->context, LINNET_ERROR_FORMAT, "%s:%zu: the line has more than a name and its index",
                       text->name, text->line);
  bool blank = first && (is_blank_name(name) || (index && parse_index(index) == 0));
  int expected = blank ? 0 : (int)linnet_symbols_num_symbols(symbols);
  if (index && parse_index(index) != expected)
    return linnet_fail(
        text->context, LINNET_ERROR_FORMAT,
        "%s:%zu: symbol '%.100s' has index '%.40s', but %d is expected: indices count up from 0, the blank", text->name,
        text->line, name, index, expected);
  if (blank && strcmp(name, LINNET_BLANK) != 0 && strcmp(name, "<eps>") != 0)
    linnet_log(text->context, is_blank_name(name) ? LINNET_LOG_INFO : LINNET_LOG_WARNING,
               "%s:%zu: '%.100s' is reserved for the blank", text->name, text->line, name);
  if (blank)
    return LINNET_OK;
  if (linnet_symbols_find(symbols, name) != LINNET_NOT_FOUND)
    return linnet_fail(text->context, LINNET_ERROR_FORMAT, "%s:%zu: symbol '%.100s' appears twice", text->name,
                       text->line, name);
  return linnet_symbols_add(symbols, name, NULL);
}

static enum linnet_status load_lines(struct linnet_text *text, struct linnet_symbols *symbols) {
  for (bool first = true; linnet_text_next_line(text); first = false)
    LINNET_TRY(load_line(text, symbols, first));
  return LINNET_OK;
}

enum linnet_status linnet_symbols_load(struct linnet_context *context, const char *path,
                                       struct linnet_symbols **symbols) {
  if (symbols)
    *symbols = NULL;
  if (!context || !path || !symbols)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_symbols_load: an argument is NULL");
  struct linnet_text text;
  struct linnet_symbols *made = NULL;
  enum linnet_status status = linnet_text_open(context, path, MAX_BYTES, &text);
  if (status == LINNET_OK)
    status = create_with_blank(context, &made);
  if (status == LINNET_OK)
    status = load_lines(&text, made);
  linnet_text_close(&text);
  if (status != LINNET_OK)
    linnet_symbols_destroy(made);
  else
    *symbols = made;
  return status;
}

/* --- from other tables ------------------------------------------------------------------------------------------ */

enum linnet_status linnet_symbols_from_names(const struct linnet_names *names, struct linnet_symbols **symbols) {
  struct linnet_context *context = names->context;
  *symbols = NULL;
  if (linnet_names_find(names, LINNET_BLANK, strlen(LINNET_BLANK)) != LINNET_NOT_FOUND)
    return linnet_fail(context, LINNET_ERROR_FORMAT,
                       "'" LINNET_BLANK "' is the blank and cannot be a token: rename it");
  const struct linnet_name **sorted = linnet_alloc(context, names->count, sizeof *sorted);
  if (!sorted)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %zu symbols", names->count);
  linnet_names_sort(names, sorted);
  struct linnet_symbols *made = NULL;
  enum linnet_status status = create_with_blank(context, &made);
  for (size_t i = 0; i < names->count && status == LINNET_OK; i++)
    status = linnet_symbols_add(made, sorted[i]->text, NULL);
  linnet_free(context, sorted);
  if (status != LINNET_OK)
    linnet_symbols_destroy(made);
  else
    *symbols = made;
  return status;
}

enum linnet_status linnet_symbols_copy(struct linnet_context *context, const struct linnet_symbols *from,
                                       struct linnet_symbols **symbols) {
  struct linnet_symbols *made = NULL;
  *symbols = NULL;
  LINNET_TRY(create_with_blank(context, &made));
  for (size_t i = 1; i < from->names.count; i++) {
    enum linnet_status status = linnet_symbols_add(made, linnet_names_text(&from->names, i), NULL);
    if (status != LINNET_OK) {
      linnet_symbols_destroy(made);
      return status;
    }
  }
  *symbols = made;
  return LINNET_OK;
}

/* --- look-ups --------------------------------------------------------------------------------------------------- */

size_t linnet_symbols_num_symbols(const struct linnet_symbols *symbols) {
  return symbols->names.count;
}

const char *linnet_symbols_name(const struct linnet_symbols *symbols, int index) {
  return index < 0 || (size_t)index >= linnet_symbols_num_symbols(symbols)
             ? NULL
             : linnet_names_text(&symbols->names, (size_t)index);
}

size_t linnet_symbols_find(const struct linnet_symbols *symbols, const char *name) {
  return linnet_names_find(&symbols->names, name, strlen(name));
}

void linnet_symbols_destroy(struct linnet_symbols *symbols) {
  if (!symbols)
    return;
  struct linnet_context *context = symbols->names.context;
  linnet_names_clear(&symbols->names);
  linnet_free(context, symbols);
}

int linnet_symbols_find_phone(const struct linnet_symbols *symbols, const char *phone) {
  char plain[64];
  const size_t index = linnet_symbols_find(symbols, phone), length = linnet_strip_stress(phone, strlen(phone));
  if (index != LINNET_NOT_FOUND)
    return (int)index;
  if (!phone[length] || length >= sizeof plain)
    return 0;
  memcpy(plain, phone, length);
  plain[length] = '\0';
  const size_t unstressed = linnet_symbols_find(symbols, plain);
  return unstressed == LINNET_NOT_FOUND ? 0 : (int)unstressed;
}

/* --- vocabulary --------------------------------------------------------------------------------------------------- */

/* Such as "AH0". */
static bool has_stress(const char *symbol) {
  size_t length = strlen(symbol);
  return length > 1 && strchr("012", symbol[length - 1]) && linnet_is_letter(symbol[length - 2]);
}

static enum linnet_status load_lexicon(struct linnet_vocabulary *vocabulary, struct linnet_context *context,
                                       const struct linnet_source *source,
                                       const struct linnet_lexicon_settings *settings) {
  if (source->data)
    return linnet_lexicon_load_memory(context, source->data, source->bytes, linnet_source_name(source), settings,
                                      vocabulary->symbols, &vocabulary->lexicon);
  return linnet_lexicon_load(context, source->path, settings, vocabulary->symbols, &vocabulary->lexicon);
}

enum linnet_status linnet_vocabulary_open(struct linnet_vocabulary *vocabulary, struct linnet_context *context,
                                          const char *const *names, size_t count, const struct linnet_source *lexicon) {
  struct linnet_lexicon_settings settings;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = 1;
  for (size_t i = 1; i < count; i++)
    settings.strip_stress = settings.strip_stress && !has_stress(names[i]);
  LINNET_TRY(linnet_symbols_create(context, names + 1, count - 1, &vocabulary->symbols));
  if (!linnet_source_given(lexicon))
    return LINNET_OK;
  LINNET_TRY(load_lexicon(vocabulary, context, lexicon, &settings));
  if (linnet_lexicon_num_words(vocabulary->lexicon) > 0)
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_FORMAT,
                     "%s: has no words: write lines 'WORD PHONE PHONE ...', or name another lexicon",
                     linnet_source_name(lexicon));
}

void linnet_vocabulary_close(struct linnet_vocabulary *vocabulary) {
  linnet_lexicon_destroy(vocabulary->lexicon);
  linnet_symbols_destroy(vocabulary->symbols);
}
