/* Finds the spoken forms of a token: the order of the attempts, and the public functions (linnet_spoken_...). */
#include <string.h>

#include "base/c_locale.h"
#include "decoder/base/characters.h"
#include "decoder/text/text_ways.h"

enum { TOKEN_BYTES = 2 * LINNET_SPOKEN_MAX_BYTES, PEELS = 8 };

/* --- characters --------------------------------------------------------------------------------------------------- */

/* Writes `token` with the replacements of table "fold" (curly quotes, dashes, ligatures) to `folded`, truncated to its
 * size. */
static void fold(const struct linnet_text_normalizer *n, const char *token, char folded[TOKEN_BYTES]) {
  const struct linnet_text_table *table = linnet_text_table_at(n, n->fold);
  size_t used = 0;
  while (*token) {
    size_t bytes;
    uint32_t code = linnet_utf8_decode(token, &bytes);
    const struct linnet_text_entry *entry = code >= 0x80 ? linnet_text_table_prefix(table, token) : NULL;
    const char *source = entry ? entry->value : token;
    size_t length = entry ? strlen(entry->value) : bytes;
    if (used + length >= TOKEN_BYTES)
      break;
    memcpy(folded + used, source, length);
    used += length;
    token += entry ? strlen(entry->key) : bytes;
  }
  folded[used] = '\0';
}

/* Characters in another case, or as plain ASCII letters. */
static void convert(const char *word, uint32_t (*other_case)(uint32_t code), bool plain, char converted[TOKEN_BYTES]) {
  size_t used = 0, bytes;
  for (; *word && used + 5 < TOKEN_BYTES; word += bytes) {
    uint32_t code = linnet_utf8_decode(word, &bytes);
    const char *letters = plain ? linnet_utf8_plain(code) : NULL;
    if (letters) {
      memcpy(converted + used, letters, strlen(letters));
      used += strlen(letters);
    } else {
      used += linnet_utf8_encode(other_case(code), converted + used);
    }
  }
  converted[used] = '\0';
}

/* Whether the character at `text` is punctuation that may stand around a word. */
static bool is_outer(const struct linnet_text_normalizer *n, const char *text, size_t bytes) {
  char key[8] = "";
  if (n->outer == LINNET_NOT_FOUND)
    return *text > ' ' && *text < 0x7F && !linnet_is_letter(*text) && !linnet_is_digit(*text) && *text != '\'';
  memcpy(key, text, bytes);
  return linnet_text_table_find(linnet_text_table_at(n, n->outer), key, false) != NULL;
}

/* --- one word ----------------------------------------------------------------------------------------------------- */

static void add_word(struct linnet_text_speaker *s, const char *word, struct linnet_text_ways *ways) {
  struct linnet_text_way way = {.bytes = 0};
  linnet_text_put(&way, word, strlen(word));
  linnet_text_ways_add(s, ways, &way);
}

/* If the word is known, it is the only spoken form. */
static bool try_known(struct linnet_text_speaker *s, const char *word, struct linnet_text_ways *ways) {
  if (!*word || !s->known(s->user, word))
    return false;
  ways->count = 0;
  add_word(s, word, ways);
  return ways->count > 0;
}

/* As it is, in small letters, in capitals, without accents. */
static bool try_cases(struct linnet_text_speaker *s, const char *word, struct linnet_text_ways *ways) {
  char other[TOKEN_BYTES];
  if (try_known(s, word, ways))
    return true;
  convert(word, linnet_utf8_lower, false, other);
  if (try_known(s, other, ways))
    return true;
  convert(word, linnet_utf8_upper, false, other);
  if (try_known(s, other, ways))
    return true;
  convert(word, linnet_utf8_lower, true, other);
  return try_known(s, other, ways);
}

/* --- abbreviations and letters ------------------------------------------------------------------------------------ */

/* The entry of a letter, or else that of its small letter. */
static const struct linnet_text_entry *find_letter(const struct linnet_text_normalizer *n, size_t table,
                                                   const char *letter) {
  char small[8] = "";
  size_t bytes;
  const struct linnet_text_entry *entry = linnet_text_table_find(linnet_text_table_at(n, table), letter, true);
  if (entry)
    return entry;
  linnet_utf8_encode(linnet_utf8_lower(linnet_utf8_decode(letter, &bytes)), small);
  return linnet_text_table_find(linnet_text_table_at(n, table), small, true);
}

static void put_letter(struct linnet_text_speaker *s, const char *letter, struct linnet_text_way *way) {
  char name[TOKEN_BYTES];
  size_t length;
  const struct linnet_text_entry *entry = find_letter(s->n, s->n->letter, letter);
  const char *value = entry ? entry->value : letter;
  for (size_t column = 0;; column++) {
    const char *text = linnet_text_column(value, column, &length);
    memcpy(name, text, length);
    name[length] = '\0';
    if (length > 0 && s->known(s->user, name))
      break;
    if (length == 0) {
      text = linnet_text_column(value, 0, &length);
      memcpy(name, text, length);
      break;
    }
  }
  linnet_text_put(way, name, length);
}

/* The letters of a word one by one, over periods. */
static void spell(struct linnet_text_speaker *s, const char *word, struct linnet_text_ways *ways) {
  struct linnet_text_way way = {.bytes = 0};
  size_t bytes;
  for (; *word; word += bytes) {
    char letter[8] = "";
    linnet_utf8_decode(word, &bytes);
    memcpy(letter, word, bytes);
    if (*letter != '.')
      put_letter(s, letter, &way);
  }
  linnet_text_ways_add(s, ways, &way);
}

/* "Mr.": every column is a spoken form. The last word of a sentence may look like an abbreviation, such as "No.". */
static void try_abbreviation(struct linnet_text_speaker *s, const char *token, struct linnet_text_ways *ways) {
  char word[TOKEN_BYTES];
  size_t length = strlen(token), column_length;
  const struct linnet_text_entry *entry =
      linnet_text_table_find(linnet_text_table_at(s->n, s->n->abbreviation), token, true);
  for (size_t column = 0; entry; column++) {
    struct linnet_text_way way = {.bytes = 0};
    const char *words = linnet_text_column(entry->value, column, &column_length);
    if (column_length == 0)
      break;
    linnet_text_put(&way, words, column_length);
    linnet_text_ways_add(s, ways, &way);
  }
  if (!entry || token[length - 1] != '.')
    return;
  memcpy(word, token, length - 1);
  word[length - 1] = '\0';
  if (s->known(s->user, word))
    add_word(s, word, ways);
}

/* "U.S.A." and "U.S.A": letters with periods between them. */
static void try_initials(struct linnet_text_speaker *s, const char *token, struct linnet_text_ways *ways) {
  size_t letters = 0, bytes;
  const char *at = token;
  while (linnet_utf8_is_letter(linnet_utf8_decode(at, &bytes))) {
    letters++;
    at += bytes;
    if (*at != '.')
      break;
    at++;
  }
  if (*at == '\0' && letters >= 2)
    spell(s, token, ways);
}

/* Whether a word is said letter by letter: capitals alone, or no vowel. Letters outside ASCII need a name. */
static bool is_acronym(const struct linnet_text_speaker *s, const char *word) {
  bool capitals = true, vowel = false;
  size_t letters = 0, bytes;
  for (const char *c = word; *c; c += bytes, letters++) {
    const uint32_t code = linnet_utf8_decode(c, &bytes);
    char letter[8] = "";
    memcpy(letter, c, bytes);
    if (!linnet_utf8_is_letter(code) || (code >= 0x80 && !find_letter(s->n, s->n->letter, letter)))
      return false;
    capitals = capitals && linnet_utf8_lower(code) != code;
    vowel = vowel || find_letter(s->n, s->n->vowel, letter);
  }
  return s->n->vowel != LINNET_NOT_FOUND && letters <= s->longest_acronym && (letters == 1 || capitals || !vowel);
}

/* A token of letters only: spelled if it looks like an acronym, or one word, which may have to be guessed. */
static bool try_letters(struct linnet_text_speaker *s, const char *word, struct linnet_text_ways *ways) {
  char lower[TOKEN_BYTES];
  if (try_cases(s, word, ways))
    return true;
  if (is_acronym(s, word))
    spell(s, word, ways);
  convert(word, linnet_utf8_lower, false, lower);
  add_word(s, lower, ways);
  return linnet_text_ways_sort(ways) > 0;
}

/* --- several words ------------------------------------------------------------------------------------------------ */

static bool has_letters(const char *text) {
  size_t bytes;
  for (; *text; text += bytes) {
    uint32_t code = linnet_utf8_decode(text, &bytes);
    if ((code >= '0' && code <= '9') || linnet_utf8_is_letter(code))
      return true;
  }
  return false;
}

/* Combines each spoken form so far with each one of the next part, up to the maximum. Unknown forms are used only if
 * there is no known one. `text` is the written part. */
static void combine(struct linnet_text_speaker *s, struct linnet_text_ways *ways, const char *text,
                    struct linnet_text_ways *part) {
  size_t known = linnet_text_ways_sort(part), taken = known > 0 ? known : part->count > 0;
  struct linnet_text_ways before = *ways;
  ways->too_long = ways->too_long || s->steps == 0 || (taken == 0 && has_letters(text));
  if (taken == 0 || ways->too_long)
    return;
  ways->count = 0;
  for (size_t i = 0; i < before.count || i == 0; i++)
    for (size_t k = 0; k < taken; k++) {
      struct linnet_text_way way = {.bytes = 0};
      if (before.count > 0)
        linnet_text_put(&way, before.way[i].words, before.way[i].bytes);
      linnet_text_put(&way, part->way[k].words, part->way[k].bytes);
      linnet_text_ways_add(s, ways, &way);
    }
  ways->too_long = ways->count == 0;
}

/* Adds the spoken forms of the parts, unless they are too long. */
static void add_combined(struct linnet_text_speaker *s, const struct linnet_text_ways *all,
                         struct linnet_text_ways *ways) {
  for (size_t i = 0; i < all->count && !all->too_long; i++) {
    struct linnet_text_way way = all->way[i];
    linnet_text_ways_add(s, ways, &way);
  }
}

enum run { RUN_LETTERS, RUN_DIGITS, RUN_SYMBOLS };

static enum run run_at(const char *text, size_t *bytes) {
  uint32_t code = linnet_utf8_decode(text, bytes);
  return code >= '0' && code <= '9'                    ? RUN_DIGITS
         : linnet_utf8_is_letter(code) || code == '\'' ? RUN_LETTERS
                                                       : RUN_SYMBOLS;
}

static void speak_run(struct linnet_text_speaker *s, enum run kind, const char *text, struct linnet_text_ways *ways) {
  size_t length;
  if (kind == RUN_DIGITS)
    linnet_text_apply_rules(s, text, LINNET_TEXT_ALONE, ways);
  if (kind == RUN_LETTERS && try_letters(s, text, ways) && is_acronym(s, text))
    spell(s, text, ways);
  if (kind == RUN_DIGITS && ways->count == 0)
    add_word(s, text, ways);
  const struct linnet_text_entry *symbol =
      kind == RUN_SYMBOLS ? linnet_text_table_find(linnet_text_table_at(s->n, s->n->symbol), text, false) : NULL;
  if (!symbol)
    return;
  struct linnet_text_way way = {.bytes = 0};
  const char *words = linnet_text_column(symbol->value, 0, &length);
  linnet_text_put(&way, words, length);
  linnet_text_ways_add(s, ways, &way);
}

/* Runs of letters, digits and symbols, each said on its own: "R2D2", "example.com". */
static void speak_runs(struct linnet_text_speaker *s, const char *token, struct linnet_text_ways *ways) {
  struct linnet_text_ways all = {.count = 0};
  while (*token && !all.too_long) {
    char text[TOKEN_BYTES];
    size_t length, bytes;
    enum run kind = run_at(token, &length);
    while (kind != RUN_SYMBOLS && token[length] && run_at(token + length, &bytes) == kind)
      length += bytes;
    memcpy(text, token, length);
    text[length] = '\0';
    struct linnet_text_ways part = {.count = 0};
    speak_run(s, kind, text, &part);
    s->steps -= s->steps > 0;
    combine(s, &all, text, &part);
    token += length;
  }
  add_combined(s, &all, ways);
}

static bool speak(struct linnet_text_speaker *s, const char *token, bool split, struct linnet_text_ways *ways);

/* The parts of a compound, if it is one. */
static void speak_parts(struct linnet_text_speaker *s, const char *token, struct linnet_text_ways *ways) {
  const struct linnet_text_table *joins = linnet_text_table_at(s->n, s->n->join);
  struct linnet_text_ways all = {.count = 0};
  char text[TOKEN_BYTES];
  size_t used = 0, parts = 0;
  for (const char *at = token;; at++) {
    const struct linnet_text_entry *join = *at ? linnet_text_table_prefix(joins, at) : NULL;
    if (*at && !join) {
      text[used++] = *at;
      continue;
    }
    parts += join != NULL;
    text[used] = '\0';
    struct linnet_text_ways part = {.count = 0};
    if (parts > 0 && used > 0)
      speak(s, text, false, &part);
    combine(s, &all, text, &part);
    used = 0;
    if (!*at || parts == 0)
      break;
    at += strlen(join->key) - 1;
  }
  add_combined(s, &all, ways);
}

/* --- the token ---------------------------------------------------------------------------------------------------- */

/* Tries the token as a whole: a known word, an abbreviation, a number and so on. */
static bool try_whole(struct linnet_text_speaker *s, const char *token, struct linnet_text_ways *ways) {
  if (s->steps == 0 || !*token)
    return false;
  s->steps--;
  if (try_cases(s, token, ways))
    return true;
  try_abbreviation(s, token, ways);
  linnet_text_apply_rules(s, token, LINNET_TEXT_ALONE, ways);
  if (ways->count == 0)
    try_initials(s, token, ways);
  return linnet_text_ways_sort(ways) > 0;
}

/* The possible starts and ends of a token without the punctuation around it. The last start and the last end leave no
 * punctuation. */
struct peels {
  size_t start[PEELS], end[PEELS], starts, ends;
};

static void find_peels(const struct linnet_text_normalizer *n, const char *token, struct peels *peels) {
  size_t length = strlen(token), bytes, at = 0;
  *peels = (struct peels){.starts = 1, .ends = 1, .end = {length}};
  for (; at < length; at += bytes) {
    linnet_utf8_decode(token + at, &bytes);
    if (!is_outer(n, token + at, bytes))
      break;
    peels->starts += peels->starts < PEELS;
    peels->start[peels->starts - 1] = at + bytes;
  }
  for (size_t end = length; end > at; end -= bytes) {
    for (bytes = 1; bytes < 4 && bytes < end - at && ((unsigned char)token[end - bytes] & 0xC0) == 0x80;)
      bytes++;
    if (!is_outer(n, token + end - bytes, bytes))
      break;
    peels->ends += peels->ends < PEELS;
    peels->end[peels->ends - 1] = end - bytes;
  }
}

/* Tries the token with less and less of the punctuation around it. `core` gets the token without punctuation. */
static bool try_peels(struct linnet_text_speaker *s, const char *token, char core[TOKEN_BYTES],
                      struct linnet_text_ways *ways) {
  struct peels peels;
  find_peels(s->n, token, &peels);
  if (peels.start[peels.starts - 1] == strlen(token)) { /* of "=====", no "=" is left */
    core[0] = '\0';
    return try_whole(s, token, ways);
  }
  for (size_t total = 0; total <= peels.starts - 1 + peels.ends - 1; total++)
    for (size_t i = 0; i <= total && i < peels.starts; i++) {
      if (total - i >= peels.ends)
        continue;
      size_t start = peels.start[i], end = peels.end[total - i];
      size_t length = end > start ? end - start : 0;
      memcpy(core, token + start, length);
      core[length] = '\0';
      if (try_whole(s, core, ways))
        return true;
    }
  return false;
}

static bool is_word(const char *text) {
  size_t bytes;
  for (; *text; text += bytes)
    if (run_at(text, &bytes) != RUN_LETTERS)
      return false;
  return true;
}

/* With neither table a word is one piece, whatever its characters. */
static bool has_pieces(const struct linnet_text_normalizer *n) {
  return n->join != LINNET_NOT_FOUND || n->symbol != LINNET_NOT_FOUND;
}

/* False if no known form was found. `split`: compounds are divided. */
static bool speak(struct linnet_text_speaker *s, const char *token, bool split, struct linnet_text_ways *ways) {
  char core[TOKEN_BYTES];
  core[0] = '\0';
  if (try_peels(s, token, core, ways))
    return true;
  if (!*core)
    return false;
  if (is_word(core) || !has_pieces(s->n))
    return has_letters(core) && try_letters(s, core, ways);
  if (split)
    speak_parts(s, core, ways);
  if (linnet_text_ways_sort(ways) > 0)
    return true;
  speak_runs(s, core, ways);
  return linnet_text_ways_sort(ways) > 0;
}

bool linnet_text_speak(struct linnet_text_speaker *s, const char *token, struct linnet_text_ways *ways) {
  char folded[TOKEN_BYTES];
  ways->count = 0;
  if (strlen(token) > LINNET_SPOKEN_MAX_BYTES)
    return !has_letters(token);
  if (try_known(s, token, ways))
    return true;
  fold(s->n, token, folded);
  speak(s, folded, true, ways);
  return ways->count > 0 || !has_letters(token);
}

/* The token without the punctuation around it. */
static void find_core(const struct linnet_text_normalizer *n, const char *token, char core[TOKEN_BYTES]) {
  char folded[TOKEN_BYTES];
  struct peels peels;
  fold(n, token, folded);
  find_peels(n, folded, &peels);
  size_t start = peels.start[peels.starts - 1], end = peels.end[peels.ends - 1];
  size_t length = end > start ? end - start : 0;
  memcpy(core, folded + start, length);
  core[length] = '\0';
}

void linnet_text_speak_pair(struct linnet_text_speaker *s, const char *first, const char *second,
                            enum linnet_text_place place, struct linnet_text_ways *ways) {
  char both[2 * TOKEN_BYTES];
  if (strlen(first) > LINNET_SPOKEN_MAX_BYTES || strlen(second) > LINNET_SPOKEN_MAX_BYTES)
    return;
  find_core(s->n, first, both);
  size_t length = strlen(both);
  both[length] = ' ';
  find_core(s->n, second, both + length + 1);
  linnet_text_apply_rules(s, both, place, ways);
}

/* --- marks of what is not said ------------------------------------------------------------------------------------ */

/* Whether the text begins with a string, in any case of ASCII letters. */
static bool begins(const char *text, const char *start) {
  while (*start && linnet_lower(*text) == linnet_lower(*start))
    text++, start++;
  return *start == '\0';
}

/* Whether there is nothing but punctuation. */
static bool only_outer(const struct linnet_text_normalizer *n, const char *text) {
  size_t bytes;
  for (; *text; text += bytes) {
    linnet_utf8_decode(text, &bytes);
    if (!is_outer(n, text, bytes))
      return false;
  }
  return true;
}

/* The number of tokens from an opening bracket to its closing one. Both touch a word. */
static size_t bracketed(const struct linnet_text_normalizer *n, const struct linnet_text_entry *entry,
                        const char *const *tokens, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const char *text = i == 0 ? tokens[0] + strlen(entry->key) : tokens[i];
    if (strstr(text, entry->key) || (i == 0 && !has_letters(text)) || begins(text, entry->value))
      return 0;
    const char *close = strstr(text, entry->value);
    if (close)
      return only_outer(n, close + strlen(entry->value)) ? i + 1 : 0;
  }
  return 0;
}

size_t linnet_text_silent(const struct linnet_text_speaker *s, const char *const *tokens, size_t count) {
  const struct linnet_text_table *table = linnet_text_table_at(s->n, s->n->silent);
  size_t length = 0;
  for (size_t i = 0; table && i < table->count && length == 0; i++) {
    const struct linnet_text_entry *entry = &table->entries[i];
    if (!begins(tokens[0], entry->key))
      continue;
    length = *entry->value ? bracketed(s->n, entry, tokens, count) : only_outer(s->n, tokens[0] + strlen(entry->key));
  }
  return length > 0 && s->known(s->user, tokens[0]) ? 0 : length;
}

/* --- the public functions ----------------------------------------------------------------------------------------- */

struct linnet_spoken {
  struct linnet_context *context;
  struct linnet_text_ways ways;
};

enum linnet_status linnet_spoken_create(const struct linnet_text_normalizer *normalizer, struct linnet_context *context,
                                        const char *token, linnet_known_word_fn known, void *user,
                                        struct linnet_spoken **spoken) {
  if (spoken)
    *spoken = NULL;
  if (!normalizer || !context || !token || !known || !spoken)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_spoken_create: an argument is NULL");
  struct linnet_spoken *made = linnet_calloc(context, 1, sizeof *made);
  if (!made)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the spoken forms of a word");
  made->context = context;
  struct linnet_text_speaker speaker = {.n = normalizer,
                                        .known = known,
                                        .user = user,
                                        .steps = LINNET_TEXT_STEPS,
                                        .longest_acronym = LINNET_TEXT_ACRONYM_LETTERS};
  if (linnet_text_speak(&speaker, token, &made->ways)) {
    *spoken = made;
    return LINNET_OK;
  }
  linnet_spoken_destroy(made);
  return linnet_fail(context, LINNET_ERROR_LIMIT, "'%.40s...' is too long for one word", token);
}

size_t linnet_spoken_num_ways(const struct linnet_spoken *spoken) {
  return spoken->ways.count;
}

const char *linnet_spoken_words(const struct linnet_spoken *spoken, size_t way) {
  return way < spoken->ways.count ? spoken->ways.way[way].words : NULL;
}

int linnet_spoken_is_known(const struct linnet_spoken *spoken, size_t way) {
  return way < spoken->ways.count && spoken->ways.way[way].known;
}

void linnet_spoken_destroy(struct linnet_spoken *spoken) {
  if (spoken)
    linnet_free(spoken->context, spoken);
}
