/* Pronunciation lexicons: look-ups, and reading as CMUdict and Kaldi write them. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include <linnet/lexicon.h>

#include "base/c_locale.h"
#include "base/settings.h"
#include "decoder/base/characters.h"
#include "decoder/base/names.h"
#include "decoder/base/text_file.h"
#include "decoder/words/symbols.h"

enum { MAX_WORD = 1023 }; /* bytes */

struct pronunciation {
  size_t first, count; /* of labels */
};

struct linnet_lexicon {
  struct linnet_context *context;
  char *name; /* of its file */
  bool fold_case;
  struct linnet_names words;
  struct linnet_symbols *phones;
  struct pronunciation *pronunciations; /* those of word w are begin[w] ... begin[w + 1] - 1 */
  float *probabilities;                 /* of the pronunciations; NULL: the file has none */
  size_t *begin;
  int *labels;
  size_t num_labels;
  struct {
    size_t pronunciations, probabilities, begin, labels;
  } room; /* elements of these arrays */
};

void(linnet_lexicon_settings_default)(struct linnet_lexicon_settings *settings, size_t size) {
  const struct linnet_lexicon_settings defaults = {.size = sizeof(struct linnet_lexicon_settings), .fold_case = 1};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

void linnet_lexicon_destroy(struct linnet_lexicon *lexicon) {
  if (!lexicon)
    return;
  linnet_free(lexicon->context, lexicon->name);
  linnet_names_clear(&lexicon->words);
  linnet_symbols_destroy(lexicon->phones);
  linnet_free(lexicon->context, lexicon->pronunciations);
  linnet_free(lexicon->context, lexicon->probabilities);
  linnet_free(lexicon->context, lexicon->begin);
  linnet_free(lexicon->context, lexicon->labels);
  linnet_free(lexicon->context, lexicon);
}

size_t linnet_lexicon_capitals(char *word) {
  return word ? linnet_utf8_capitals(word) : 0;
}

const struct linnet_symbols *linnet_lexicon_phones(const struct linnet_lexicon *lexicon) {
  return lexicon->phones;
}

const char *linnet_lexicon_name(const struct linnet_lexicon *lexicon) {
  return lexicon->name;
}

size_t linnet_lexicon_num_words(const struct linnet_lexicon *lexicon) {
  return lexicon->words.count;
}

const char *linnet_lexicon_word(const struct linnet_lexicon *lexicon, size_t word) {
  return word < lexicon->words.count ? linnet_names_text(&lexicon->words, word) : NULL;
}

size_t linnet_lexicon_find(const struct linnet_lexicon *lexicon, const char *word) {
  char folded[MAX_WORD + 1];
  size_t length = strlen(word);
  if (length > MAX_WORD)
    return LINNET_NOT_FOUND;
  memcpy(folded, word, length + 1);
  if (lexicon->fold_case)
    length = linnet_utf8_capitals(folded);
  return linnet_names_find(&lexicon->words, folded, length);
}

size_t linnet_lexicon_num_variants(const struct linnet_lexicon *lexicon, size_t word) {
  return word < lexicon->words.count ? lexicon->begin[word + 1] - lexicon->begin[word] : 0;
}

const int *linnet_lexicon_pronunciation(const struct linnet_lexicon *lexicon, size_t word, size_t variant,
                                        size_t *count) {
  *count = 0;
  if (variant >= linnet_lexicon_num_variants(lexicon, word))
    return NULL;
  const struct pronunciation *p = &lexicon->pronunciations[lexicon->begin[word] + variant];
  *count = p->count;
  return lexicon->labels + p->first;
}

int linnet_lexicon_has_probabilities(const struct linnet_lexicon *lexicon) {
  return lexicon->probabilities != NULL;
}

float linnet_lexicon_probability(const struct linnet_lexicon *lexicon, size_t word, size_t variant) {
  if (variant >= linnet_lexicon_num_variants(lexicon, word))
    return 0;
  return lexicon->probabilities ? lexicon->probabilities[lexicon->begin[word] + variant] : 1;
}

enum linnet_status linnet_lexicon_pronounce(const struct linnet_lexicon *lexicon, const char *const *words,
                                            size_t count, const struct linnet_missing_words *missing, int *phones,
                                            size_t capacity, size_t *length) {
  struct linnet_missing_words unknown = {.phone = -1};
  if (!lexicon || (!words && count > 0) || (!phones && capacity > 0) || !length)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(linnet_settings_read(NULL, "struct linnet_missing_words", missing, &unknown, sizeof unknown));
  *length = 0;
  for (size_t i = 0; i < count; i++) {
    size_t word = linnet_lexicon_find(lexicon, words[i]), num_phones = unknown.phone >= 0;
    const int *labels = &unknown.phone;
    if (word != LINNET_NOT_FOUND)
      labels = linnet_lexicon_pronunciation(lexicon, word, 0, &num_phones);
    else if (unknown.missing)
      unknown.missing(unknown.user, words[i]);
    for (size_t k = 0; k < num_phones; k++, ++*length)
      if (*length < capacity)
        phones[*length] = labels[k];
  }
  return *length <= capacity ? LINNET_OK : LINNET_ERROR_LIMIT;
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

/* A pronunciation, and its line of the file. */
struct entry {
  size_t line;
  size_t first, count; /* of labels */
  size_t next;         /* the next entry of the same word while the file is read, NONE at the end */
  float probability;
};

static const size_t NONE = (size_t)-1;

static bool same_labels(const int *labels, size_t a, size_t b, size_t count) {
  return memcmp(labels + a, labels + b, count * sizeof *labels) == 0;
}

/* The first of the pronunciations [begin, end) that is equal to this one, `end` if none is: two may become equal when
 * stress is dropped. */
static size_t find_equal(const struct linnet_lexicon *lexicon, size_t begin, size_t end, const struct entry *entry) {
  for (; begin < end; begin++) {
    const struct pronunciation *p = &lexicon->pronunciations[begin];
    if (p->count == entry->count && same_labels(lexicon->labels, p->first, entry->first, entry->count))
      break;
  }
  return begin;
}

/* Adds an entry to the pronunciations of the word that begin at `begin`; *count is the number of all so far. Equal
 * pronunciations become one, with the sum of their probabilities. */
static void put_entry(struct linnet_lexicon *lexicon, size_t begin, const struct entry *entry, size_t *count) {
  size_t at = find_equal(lexicon, begin, *count, entry);
  if (at < *count && lexicon->probabilities)
    lexicon->probabilities[at] = fminf(lexicon->probabilities[at] + entry->probability, 1);
  if (at < *count)
    return;
  lexicon->pronunciations[at] = (struct pronunciation){entry->first, entry->count};
  if (lexicon->probabilities)
    lexicon->probabilities[at] = entry->probability;
  ++*count;
}

/* Makes room for one more word with one more pronunciation of `num_labels` labels. */
static bool make_room(struct linnet_lexicon *lexicon, size_t num_labels) {
  const size_t words = lexicon->words.count, pronunciations = lexicon->begin[words];
  void *grown;
#define GROW(array, needed)                                                                                            \
  ((grown = linnet_grow(lexicon->context, lexicon->array, &lexicon->room.array, needed, sizeof *lexicon->array)) &&    \
   ((lexicon->array = grown), true))
  return GROW(begin, words + 2) && GROW(pronunciations, pronunciations + 1) &&
         (!lexicon->probabilities || GROW(probabilities, pronunciations + 1)) &&
         GROW(labels, lexicon->num_labels + num_labels);
#undef GROW
}

enum linnet_status linnet_lexicon_add(struct linnet_lexicon *lexicon, const char *word, const int *labels, size_t count,
                                      float probability, size_t *index) {
  char folded[MAX_WORD + 1];
  size_t length = strlen(word);
  bool fresh;
  if (length > MAX_WORD)
    return linnet_fail(lexicon->context, LINNET_ERROR_LIMIT, "a word has %zu bytes; it must have at most %d", length,
                       MAX_WORD);
  memcpy(folded, word, length + 1);
  if (lexicon->fold_case)
    length = linnet_utf8_capitals(folded);
  if (!make_room(lexicon, count))
    return linnet_fail(lexicon->context, LINNET_ERROR_MEMORY, "%s: out of memory for one more word", lexicon->name);
  LINNET_TRY(linnet_names_add(&lexicon->words, folded, length, index, &fresh));
  assert(*index + 1 == lexicon->words.count);
  if (fresh)
    lexicon->begin[*index + 1] = lexicon->begin[*index];
  const struct entry entry = {.first = lexicon->num_labels, .count = count, .probability = probability};
  memcpy(lexicon->labels + entry.first, labels, count * sizeof *labels);
  lexicon->num_labels += count;
  put_entry(lexicon, lexicon->begin[*index], &entry, &lexicon->begin[*index + 1]);
  return LINNET_OK;
}

static struct linnet_lexicon *create(struct linnet_context *context, const char *name, bool fold_case) {
  struct linnet_lexicon *lexicon = linnet_calloc(context, 1, sizeof *lexicon);
  if (!lexicon)
    return NULL;
  lexicon->context = lexicon->words.context = context;
  lexicon->fold_case = fold_case;
  lexicon->name = linnet_strdup(context, name);
  if (lexicon->name)
    return lexicon;
  linnet_lexicon_destroy(lexicon);
  return NULL;
}

static bool make_first_room(struct linnet_lexicon *lexicon, bool probable) {
  lexicon->begin = linnet_calloc(lexicon->context, 1, sizeof *lexicon->begin);
  lexicon->room.begin = 1;
  if (probable)
    lexicon->probabilities = linnet_alloc(lexicon->context, 1, sizeof *lexicon->probabilities);
  lexicon->room.probabilities = probable;
  return lexicon->begin && (lexicon->probabilities || !probable);
}

enum linnet_status linnet_lexicon_create_beside(struct linnet_context *context, const struct linnet_lexicon *other,
                                                struct linnet_lexicon **lexicon) {
  *lexicon = create(context, other->name, other->fold_case);
  if (*lexicon && make_first_room(*lexicon, other->probabilities != NULL))
    return LINNET_OK;
  linnet_lexicon_destroy(*lexicon);
  *lexicon = NULL;
  return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a lexicon");
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

enum { MAX_BYTES = 1 << 26, MAX_VARIANTS = 1000 };

/* The entries of one word. */
struct chain {
  size_t head, tail, length;
};

struct builder {
  struct linnet_context *context;
  struct linnet_lexicon *lexicon;
  struct linnet_lexicon_settings settings;
  const struct linnet_symbols *allowed; /* or NULL */
  struct linnet_text text;
  struct linnet_names written; /* phones as the file spells them */
  struct entry *entries;
  size_t entry_count, entry_capacity;
  struct chain *chains; /* one per word */
  size_t chain_capacity;
  size_t duplicates, first_duplicate; /* number of duplicate entries, and the line of the first one */
  bool probable;                      /* each word has a probability after it, as the first one has */
};

static enum linnet_status out_of_memory(const struct builder *b) {
  return linnet_fail(b->context, LINNET_ERROR_MEMORY, "%s:%zu: out of memory after %zu pronunciations", b->text.name,
                     b->text.line, b->entry_count);
}

/* --- one line --------------------------------------------------------------------------------------------------- */

/* Length of a word without the "(2)" of a variant. */
static size_t base_length(const char *word) {
  size_t length = strlen(word), at;
  if (length < 4 || word[length - 1] != ')')
    return length;
  for (at = length - 1; at > 0 && word[at - 1] >= '0' && word[at - 1] <= '9'; at--)
    ;
  bool variant = at < length - 1 && at > 1 && word[at - 1] == '(';
  return variant ? at - 1 : length;
}

/* Reads a number such as 0.25 or 1e-4. A whole number or a name is none, because it may be a phone. */
static bool is_probability(const char *token, double *value) {
  char rest;
  return (linnet_is_digit(*token) || *token == '.') && strpbrk(token, ".e") &&
         linnet_scan(token, "%lf%c", value, &rest) == 1;
}

static enum linnet_status fail_unknown_phone(const struct builder *b, const char *name) {
  double number;
  if (!b->probable && is_probability(name, &number))
    return linnet_fail(
        b->context, LINNET_ERROR_FORMAT,
        "%s:%zu: '%.40s' is no phone; if it is a probability, write one after each word of the file, or after none",
        b->text.name, b->text.line, name);
  return linnet_fail(b->context, LINNET_ERROR_FORMAT,
                     "%s:%zu: phone '%.100s' is unknown: correct it or add it to the symbols", b->text.name,
                     b->text.line, name);
}

static enum linnet_status check_phone(struct builder *b, const char *phone) {
  char name[MAX_WORD + 1];
  size_t length = strlen(phone);
  if (length > MAX_WORD)
    return linnet_fail(b->context, LINNET_ERROR_LIMIT, "%s:%zu: a phone has %zu bytes; it must have at most %d",
                       b->text.name, b->text.line, length, MAX_WORD);
  if (b->settings.strip_stress)
    length = linnet_strip_stress(phone, length);
  memcpy(name, phone, length);
  name[length] = '\0';
  if (strcmp(name, LINNET_BLANK) == 0)
    return linnet_fail(b->context, LINNET_ERROR_FORMAT, "%s:%zu: '" LINNET_BLANK "' is the blank and cannot be a phone",
                       b->text.name, b->text.line);
  if (b->allowed && linnet_symbols_find(b->allowed, name) == LINNET_NOT_FOUND)
    return fail_unknown_phone(b, name);
  return LINNET_OK;
}

static enum linnet_status add_phone(struct builder *b, const char *phone) {
  size_t index;
  bool fresh;
  LINNET_TRY(linnet_names_add(&b->written, phone, strlen(phone), &index, &fresh));
  if (fresh)
    LINNET_TRY(check_phone(b, phone));
  int *grown =
      linnet_grow(b->context, b->lexicon->labels, &b->lexicon->room.labels, b->lexicon->num_labels + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(b);
  b->lexicon->labels = grown;
  b->lexicon->labels[b->lexicon->num_labels++] = (int)index;
  return LINNET_OK;
}

/* Reads the probability of an entry, if the first entry of the file has one. *token gets the token after it. */
static enum linnet_status read_probability(struct builder *b, const char *word, const char **token, float *value) {
  double number = 1;
  char rest;
  *value = 1;
  *token = linnet_text_token(&b->text);
  if (b->entry_count == 0 && *token)
    b->probable = is_probability(*token, &number);
  if (!b->probable || !*token)
    return LINNET_OK;
  if (linnet_scan(*token, "%lf%c", &number, &rest) != 1 || !(number > 0 && number <= 1))
    return linnet_fail(b->context, LINNET_ERROR_FORMAT,
                       "%s:%zu: word '%.100s' has no probability above 0 and at most 1 before its phones, but '%.40s': "
                       "write one after each word of the file, or after none; 'linnet g2p --complete' adds words with "
                       "probabilities",
                       b->text.name, b->text.line, word, *token);
  *value = (float)number > 0 ? (float)number : FLT_MIN;
  *token = linnet_text_token(&b->text);
  return LINNET_OK;
}

/* The phones to the end of the line, or to a comment. */
static enum linnet_status add_phones(struct builder *b, const char *word, struct entry *entry) {
  const char *phone;
  *entry = (struct entry){.line = b->text.line, .first = b->lexicon->num_labels, .next = NONE};
  LINNET_TRY(read_probability(b, word, &phone, &entry->probability));
  for (; phone && *phone != '#'; phone = linnet_text_token(&b->text))
    LINNET_TRY(add_phone(b, phone));
  entry->count = b->lexicon->num_labels - entry->first;
  if (entry->count == 0)
    return linnet_fail(b->context, LINNET_ERROR_FORMAT,
                       "%s:%zu: word '%.100s' has no phones: write them after it, or remove the line", b->text.name,
                       b->text.line, word);
  return LINNET_OK;
}

static enum linnet_status add_word(struct builder *b, char *word, size_t *index) {
  size_t length = base_length(word);
  if (length > MAX_WORD)
    return linnet_fail(b->context, LINNET_ERROR_LIMIT, "%s:%zu: a word has %zu bytes; it must have at most %d",
                       b->text.name, b->text.line, length, MAX_WORD);
  word[length] = '\0';
  if (b->settings.fold_case)
    length = linnet_utf8_capitals(word);
  size_t words = b->lexicon->words.count;
  struct chain *grown = linnet_grow(b->context, b->chains, &b->chain_capacity, words + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(b);
  b->chains = grown;
  bool fresh;
  LINNET_TRY(linnet_names_add(&b->lexicon->words, word, length, index, &fresh));
  if (fresh)
    b->chains[*index] = (struct chain){NONE, NONE, 0};
  return LINNET_OK;
}

/* An earlier entry of the word with the same phones, NONE if there is none. */
static size_t find_duplicate(const struct builder *b, const struct chain *chain, const struct entry *entry) {
  size_t at = chain->head;
  for (; at != NONE; at = b->entries[at].next)
    if (b->entries[at].count == entry->count &&
        same_labels(b->lexicon->labels, b->entries[at].first, entry->first, entry->count))
      break;
  return at;
}

static enum linnet_status note_duplicate(struct builder *b, const char *word, size_t earlier) {
  if (b->settings.refuse_duplicates)
    return linnet_fail(
        b->context, LINNET_ERROR_FORMAT,
        "%s:%zu: the pronunciation of '%.100s' appears twice, first in line %zu: remove one of the lines", b->text.name,
        b->text.line, word, b->entries[earlier].line);
  if (b->duplicates++ == 0)
    b->first_duplicate = b->text.line;
  return LINNET_OK;
}

static enum linnet_status append_entry(struct builder *b, struct chain *chain, const struct entry *entry) {
  struct entry *grown = linnet_grow(b->context, b->entries, &b->entry_capacity, b->entry_count + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(b);
  b->entries = grown;
  size_t index = b->entry_count++;
  b->entries[index] = *entry;
  if (chain->tail == NONE)
    chain->head = index;
  else
    b->entries[chain->tail].next = index;
  chain->tail = index;
  chain->length++;
  return LINNET_OK;
}

static enum linnet_status read_line(struct builder *b) {
  char *word = linnet_text_token(&b->text);
  if (strncmp(word, ";;;", 3) == 0 || strcmp(word, "#") == 0)
    return LINNET_OK;
  size_t index;
  struct entry entry;
  LINNET_TRY(add_word(b, word, &index));
  LINNET_TRY(add_phones(b, word, &entry));
  struct chain *chain = &b->chains[index];
  size_t earlier = find_duplicate(b, chain, &entry);
  if (earlier != NONE) {
    b->lexicon->num_labels = entry.first;
    return note_duplicate(b, word, earlier);
  }
  if (chain->length == MAX_VARIANTS)
    return linnet_fail(b->context, LINNET_ERROR_LIMIT, "%s:%zu: word '%.100s' has more than %d pronunciations",
                       b->text.name, b->text.line, word, MAX_VARIANTS);
  return append_entry(b, chain, &entry);
}

/* --- the whole -------------------------------------------------------------------------------------------------- */

static size_t final_length(const struct builder *b, const char *phone) {
  size_t length = strlen(phone);
  return b->settings.strip_stress ? linnet_strip_stress(phone, length) : length;
}

/* Without given symbols, the phones of the file become the symbols, sorted. */
static enum linnet_status collect_phones(struct builder *b) {
  struct linnet_names names = {.context = b->context};
  enum linnet_status status = LINNET_OK;
  for (size_t i = 0; i < b->written.count && status == LINNET_OK; i++) {
    const char *phone = linnet_names_text(&b->written, i);
    size_t index;
    status = linnet_names_add(&names, phone, final_length(b, phone), &index, NULL);
  }
  if (status == LINNET_OK)
    status = linnet_symbols_from_names(&names, &b->lexicon->phones);
  linnet_names_clear(&names);
  return status;
}

/* Replaces indices into `written` by indices of the final phones. */
static enum linnet_status relabel(struct builder *b) {
  int *final = linnet_alloc(b->context, b->written.count, sizeof *final);
  if (!final)
    return out_of_memory(b);
  char name[MAX_WORD + 1];
  for (size_t i = 0; i < b->written.count; i++) {
    const char *phone = linnet_names_text(&b->written, i);
    size_t length = final_length(b, phone);
    memcpy(name, phone, length);
    name[length] = '\0';
    final[i] = (int)linnet_symbols_find(b->lexicon->phones, name);
  }
  for (size_t i = 0; i < b->lexicon->num_labels; i++)
    b->lexicon->labels[i] = final[b->lexicon->labels[i]];
  linnet_free(b->context, final);
  return LINNET_OK;
}

static enum linnet_status order_by_word(struct builder *b) {
  struct linnet_lexicon *lexicon = b->lexicon;
  lexicon->pronunciations = linnet_alloc(b->context, b->entry_count, sizeof *lexicon->pronunciations);
  lexicon->begin = linnet_alloc(b->context, lexicon->words.count + 1, sizeof *lexicon->begin);
  if (b->probable)
    lexicon->probabilities = linnet_alloc(b->context, b->entry_count, sizeof *lexicon->probabilities);
  if (!lexicon->pronunciations || !lexicon->begin || (b->probable && !lexicon->probabilities))
    return out_of_memory(b);
  lexicon->room.pronunciations = lexicon->room.probabilities = b->entry_count;
  lexicon->room.begin = lexicon->words.count + 1;
  size_t count = 0;
  for (size_t word = 0; word < lexicon->words.count; word++) {
    lexicon->begin[word] = count;
    for (size_t at = b->chains[word].head; at != NONE; at = b->entries[at].next)
      put_entry(lexicon, lexicon->begin[word], &b->entries[at], &count);
  }
  lexicon->begin[lexicon->words.count] = count;
  return LINNET_OK;
}

static enum linnet_status build(struct builder *b) {
  while (linnet_text_next_line(&b->text))
    LINNET_TRY(read_line(b));
  if (b->duplicates > 0)
    linnet_log(b->context, LINNET_LOG_INFO, "%s: %zu pronunciations appear twice, the first in line %zu", b->text.name,
               b->duplicates, b->first_duplicate);
  if (b->allowed)
    LINNET_TRY(linnet_symbols_copy(b->context, b->allowed, &b->lexicon->phones));
  else
    LINNET_TRY(collect_phones(b));
  LINNET_TRY(relabel(b));
  return order_by_word(b);
}

static enum linnet_status builder_open(struct builder *b, struct linnet_context *context, const char *name,
                                       const struct linnet_lexicon_settings *settings,
                                       const struct linnet_symbols *phones) {
  *b = (struct builder){.context = context, .allowed = phones, .written = {.context = context}};
  b->text.context = context;
  LINNET_TRY(LINNET_READ_SETTINGS(context, lexicon, settings, &b->settings));
  b->lexicon = create(context, name, b->settings.fold_case != 0);
  return b->lexicon ? LINNET_OK : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a lexicon");
}

/* Releases the builder. On success *lexicon gets the lexicon, else it is destroyed. */
static enum linnet_status builder_close(struct builder *b, enum linnet_status status, struct linnet_lexicon **lexicon) {
  linnet_text_close(&b->text);
  linnet_names_clear(&b->written);
  linnet_free(b->context, b->entries);
  linnet_free(b->context, b->chains);
  if (status == LINNET_OK)
    *lexicon = b->lexicon;
  else
    linnet_lexicon_destroy(b->lexicon);
  return status;
}

enum linnet_status linnet_lexicon_load(struct linnet_context *context, const char *path,
                                       const struct linnet_lexicon_settings *settings,
                                       const struct linnet_symbols *phones, struct linnet_lexicon **lexicon) {
  if (lexicon)
    *lexicon = NULL;
  if (!context || !path || !lexicon)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_lexicon_load: an argument is NULL");
  struct builder builder;
  enum linnet_status status = builder_open(&builder, context, path, settings, phones);
  if (status == LINNET_OK)
    status = linnet_text_open(context, path, MAX_BYTES, &builder.text);
  if (status == LINNET_OK)
    status = build(&builder);
  if (status == LINNET_OK)
    linnet_log(context, LINNET_LOG_INFO, "%s: a lexicon of %zu words", path, builder.lexicon->words.count);
  return builder_close(&builder, status, lexicon);
}

enum linnet_status linnet_lexicon_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                              const char *name, const struct linnet_lexicon_settings *settings,
                                              const struct linnet_symbols *phones, struct linnet_lexicon **lexicon) {
  if (lexicon)
    *lexicon = NULL;
  if (!context || (!data && bytes > 0) || !name || !lexicon)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_lexicon_load_memory: an argument is NULL");
  struct builder builder;
  enum linnet_status status = builder_open(&builder, context, name, settings, phones);
  if (status == LINNET_OK)
    status = linnet_text_open_memory(context, data, bytes, name, MAX_BYTES, &builder.text);
  if (status == LINNET_OK)
    status = build(&builder);
  return builder_close(&builder, status, lexicon);
}
