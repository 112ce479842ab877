/* Reading of rules: tables, sets of numbers, and the names that refer to them. */
#include "decoder/text/text_rules.h"

#include <string.h>

#include "base/c_locale.h"
#include "decoder/base/text_file.h"

enum { MAX_BYTES = 1 << 20, VALUE_BYTES = 256, KEY_BYTES = 256 };

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* A key in small letters. */
struct folded_key {
  char text[KEY_BYTES];
  size_t length;
};

/* False for a text that is too long for a key. */
static bool fold_key(const char *key, struct folded_key *folded) {
  size_t length = 0;
  for (; key[length] && length < sizeof folded->text - 1; length++)
    folded->text[length] = linnet_lower(key[length]);
  folded->text[length] = '\0';
  folded->length = length;
  return !key[length];
}

const struct linnet_text_entry *linnet_text_table_find(const struct linnet_text_table *table, const char *key,
                                                       bool fold) {
  struct folded_key folded;
  if (!table || !fold_key(key, &folded))
    return NULL;
  const size_t index = linnet_names_find(&table->folded, folded.text, folded.length);
  size_t at = index == LINNET_NOT_FOUND ? LINNET_NOT_FOUND : table->first[index];
  while (at != LINNET_NOT_FOUND && !fold && strcmp(table->entries[at].key, key) != 0)
    at = table->entries[at].next;
  return at == LINNET_NOT_FOUND ? NULL : &table->entries[at];
}

const struct linnet_text_entry *linnet_text_table_prefix(const struct linnet_text_table *table, const char *text) {
  const struct linnet_text_entry *best = NULL;
  size_t longest = 0;
  for (size_t i = 0; table && i < table->count; i++) {
    size_t length = strlen(table->entries[i].key);
    if (length > longest && strncmp(table->entries[i].key, text, length) == 0) {
      best = &table->entries[i];
      longest = length;
    }
  }
  return best;
}

const char *linnet_text_column(const char *value, size_t column, size_t *length) {
  for (; column > 0; column--) {
    const char *bar = strchr(value, '|');
    value = bar ? bar + 1 : "";
  }
  value += strspn(value, " ");
  *length = strcspn(value, "|");
  while (*length > 0 && value[*length - 1] == ' ')
    --*length;
  return value;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct reader {
  struct linnet_text_normalizer *n;
  struct linnet_text text;
};

static enum linnet_status out_of_memory(const struct reader *r) {
  return linnet_fail(r->n->context, LINNET_ERROR_MEMORY, "%s:%zu: out of memory", r->text.name, r->text.line);
}

const char *linnet_text_intern(struct linnet_text_normalizer *n, const char *string, size_t length) {
  size_t index;
  return linnet_names_add(&n->strings, string, length, &index, NULL) == LINNET_OK
             ? linnet_names_text(&n->strings, index)
             : NULL;
}

static enum linnet_status next_string(struct reader *r, const char *what, const char **string) {
  const char *token = linnet_text_token(&r->text);
  if (!token)
    return linnet_fail(r->n->context, LINNET_ERROR_FORMAT, "%s:%zu: the line ends where %s is expected", r->text.name,
                       r->text.line, what);
  *string = linnet_text_intern(r->n, token, strlen(token));
  return *string ? LINNET_OK : out_of_memory(r);
}

/* The rest of the line with single spaces between its tokens. */
static enum linnet_status rest_of_line(struct reader *r, const char **string) {
  char value[VALUE_BYTES];
  size_t used = 0;
  for (const char *token; (token = linnet_text_token(&r->text)) != NULL;) {
    size_t length = strlen(token);
    if (used + (used > 0) + length > sizeof value)
      return linnet_fail(r->n->context, LINNET_ERROR_LIMIT, "%s:%zu: a value has more than %d bytes", r->text.name,
                         r->text.line, VALUE_BYTES);
    if (used > 0)
      value[used++] = ' ';
    memcpy(value + used, token, length); /* NOLINT(bugprone-not-null-terminated-result): `used` is its length */
    used += length;
  }
  *string = linnet_text_intern(r->n, value, used);
  return *string ? LINNET_OK : out_of_memory(r);
}

static size_t find_table(const struct linnet_text_normalizer *n, const char *name) {
  return linnet_names_find(&n->table_names, name, strlen(name));
}

static size_t find_set(const struct linnet_text_normalizer *n, const char *name) {
  return linnet_names_find(&n->set_names, name, strlen(name));
}

static enum linnet_status open_table(struct reader *r, const char *name, struct linnet_text_table **table) {
  struct linnet_text_normalizer *n = r->n;
  size_t index = find_table(n, name);
  if (index == LINNET_NOT_FOUND) {
    void *grown = linnet_grow(n->context, n->tables, &n->table_capacity, n->table_count + 1, sizeof *n->tables);
    if (!grown)
      return out_of_memory(r);
    n->tables = grown;
    LINNET_TRY(linnet_names_add(&n->table_names, name, strlen(name), &index, NULL));
    n->table_count++;
    n->tables[index] = (struct linnet_text_table){.folded = {.context = n->context}};
  }
  *table = &n->tables[index];
  return LINNET_OK;
}

/* Makes the next entry, with this key, the last of those that differ in case alone. */
static bool link_entry(struct linnet_text_table *table, const struct folded_key *key) {
  size_t index;
  bool fresh;
  if (linnet_names_add(&table->folded, key->text, key->length, &index, &fresh) != LINNET_OK)
    return false;
  size_t *first = linnet_grow(table->folded.context, table->first, &table->first_capacity, index + 1, sizeof *first);
  if (!first)
    return false;
  table->first = first;
  size_t *last = &first[index];
  while (!fresh && *last != LINNET_NOT_FOUND)
    last = &table->entries[*last].next;
  *last = table->count;
  return true;
}

static enum linnet_status add_entry(struct reader *r, const char *name, const char *key, const char *value) {
  struct linnet_text_table *table = NULL;
  struct folded_key folded;
  if (!fold_key(key, &folded))
    return linnet_fail(r->n->context, LINNET_ERROR_LIMIT, "%s:%zu: a key has more than %d bytes", r->text.name,
                       r->text.line, KEY_BYTES - 1);
  LINNET_TRY(open_table(r, name, &table));
  if (linnet_text_table_find(table, key, false))
    return linnet_fail(r->n->context, LINNET_ERROR_FORMAT, "%s:%zu: '%.100s' appears twice in table '%.100s'",
                       r->text.name, r->text.line, key, name);
  void *grown = linnet_grow(r->n->context, table->entries, &table->capacity, table->count + 1, sizeof *table->entries);
  if (!grown)
    return out_of_memory(r);
  table->entries = grown;
  if (!link_entry(table, &folded))
    return out_of_memory(r);
  table->entries[table->count++] = (struct linnet_text_entry){key, value, LINNET_NOT_FOUND};
  return LINNET_OK;
}

/* table NAME KEY VALUE... */
static enum linnet_status read_table(struct reader *r) {
  const char *name, *key, *value;
  LINNET_TRY(next_string(r, "the name of a table", &name));
  LINNET_TRY(next_string(r, "a key", &key));
  LINNET_TRY(rest_of_line(r, &value));
  return add_entry(r, name, key, value);
}

/* keys NAME KEY KEY ... */
static enum linnet_status read_keys(struct reader *r) {
  const char *name;
  LINNET_TRY(next_string(r, "the name of a table", &name));
  for (const char *token; (token = linnet_text_token(&r->text)) != NULL;) {
    const char *key = linnet_text_intern(r->n, token, strlen(token));
    const char *value = key ? linnet_text_intern(r->n, "", 0) : NULL;
    if (!value)
      return out_of_memory(r);
    LINNET_TRY(add_entry(r, name, key, value));
  }
  return LINNET_OK;
}

/* --- sets of numbers ---------------------------------------------------------------------------------------------- */

static enum linnet_status open_set(struct reader *r, const char *name, struct linnet_text_set **set) {
  struct linnet_text_normalizer *n = r->n;
  size_t index = find_set(n, name);
  if (index == LINNET_NOT_FOUND) {
    void *grown = linnet_grow(n->context, n->sets, &n->set_capacity, n->set_count + 1, sizeof *n->sets);
    if (!grown)
      return out_of_memory(r);
    n->sets = grown;
    LINNET_TRY(linnet_names_add(&n->set_names, name, strlen(name), &index, NULL));
    n->set_count++;
    n->sets[index] = (struct linnet_text_set){.like = LINNET_NOT_FOUND};
  }
  *set = &n->sets[index];
  return LINNET_OK;
}

const char *linnet_text_read_integer(const char *text, uint64_t *value) {
  size_t digits = strspn(text, "0123456789");
  *value = 0;
  for (size_t i = 0; i < digits && digits <= 18; i++)
    *value = *value * 10 + (uint64_t)(text[i] - '0');
  return digits > 0 && digits <= 18 ? text + digits : NULL;
}

static uint64_t power_below(uint64_t base) {
  uint64_t power = 1;
  while (base / power >= 10)
    power *= 10;
  return power;
}

/* BASE or BASE/DIVISOR. The default divisor is the largest power of ten up to the base. */
static enum linnet_status read_base(struct reader *r, const char *token, struct linnet_text_base *base) {
  *base = (struct linnet_text_base){.line = r->text.line};
  const char *end = linnet_text_read_integer(token, &base->base);
  base->divisor = power_below(base->base);
  if (end && *end == '/')
    end = linnet_text_read_integer(end + 1, &base->divisor);
  if (end && *end == '\0' && base->divisor > 0)
    return LINNET_OK;
  return linnet_fail(r->n->context, LINNET_ERROR_FORMAT, "%s:%zu: '%.100s' is not NUMBER or NUMBER/DIVISOR",
                     r->text.name, r->text.line, token);
}

static enum linnet_status add_part(struct reader *r, struct linnet_text_phrase *phrase, const char *token) {
  if (phrase->count == LINNET_TEXT_MAX_PARTS)
    return linnet_fail(r->n->context, LINNET_ERROR_LIMIT, "%s:%zu: a number has more than %d words", r->text.name,
                       r->text.line, LINNET_TEXT_MAX_PARTS);
  struct linnet_text_part part = {.kind = *token == '<'   ? LINNET_TEXT_QUOTIENT
                                          : *token == '>' ? LINNET_TEXT_REMAINDER
                                                          : LINNET_TEXT_WORD};
  token += part.kind != LINNET_TEXT_WORD;
  part.word = linnet_text_intern(r->n, token, strlen(token));
  phrase->parts[phrase->count++] = part;
  return part.word ? LINNET_OK : out_of_memory(r);
}

/* WORDS [| WORDS] */
static enum linnet_status read_phrases(struct reader *r, struct linnet_text_base *base) {
  struct linnet_text_phrase *phrase = &base->even;
  bool both = false;
  for (const char *token; (token = linnet_text_token(&r->text)) != NULL;) {
    bool bar = strcmp(token, "|") == 0;
    if (!bar)
      LINNET_TRY(add_part(r, phrase, token));
    both = both || bar;
    phrase = both ? &base->odd : &base->even;
  }
  if (!both)
    base->odd = base->even;
  return LINNET_OK;
}

static enum linnet_status add_base(struct reader *r, struct linnet_text_set *set, const struct linnet_text_base *base) {
  if (set->count > 0 && set->bases[set->count - 1].base >= base->base)
    return linnet_fail(r->n->context, LINNET_ERROR_FORMAT, "%s:%zu: the numbers of set '%.100s' must increase",
                       r->text.name, r->text.line, linnet_names_text(&r->n->set_names, (size_t)(set - r->n->sets)));
  void *grown = linnet_grow(r->n->context, set->bases, &set->capacity, set->count + 1, sizeof *set->bases);
  if (!grown)
    return out_of_memory(r);
  set->bases = grown;
  set->bases[set->count++] = *base;
  return LINNET_OK;
}

static enum linnet_status read_like(struct reader *r, struct linnet_text_set *set) {
  const char *name;
  LINNET_TRY(next_string(r, "the name of a set", &name));
  set->like = find_set(r->n, name);
  if (set->like != LINNET_NOT_FOUND && set->like != (size_t)(set - r->n->sets))
    return LINNET_OK;
  return linnet_fail(r->n->context, LINNET_ERROR_FORMAT, "%s:%zu: set '%.100s' is not defined before this line",
                     r->text.name, r->text.line, name);
}

/* number SET BASE[/DIVISOR] WORDS [| WORDS], or number SET like SET, which comes first */
static enum linnet_status read_number(struct reader *r) {
  const char *name, *base_name;
  struct linnet_text_set *set = NULL;
  struct linnet_text_base base;
  LINNET_TRY(next_string(r, "the name of a set", &name));
  LINNET_TRY(next_string(r, "a number", &base_name));
  bool fresh = find_set(r->n, name) == LINNET_NOT_FOUND;
  LINNET_TRY(open_set(r, name, &set));
  if (fresh && strcmp(base_name, "like") == 0)
    return read_like(r, set);
  LINNET_TRY(read_base(r, base_name, &base));
  LINNET_TRY(read_phrases(r, &base));
  return add_base(r, set, &base);
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

static enum linnet_status add_rule(struct reader *r, enum linnet_text_place place) {
  struct linnet_text_normalizer *n = r->n;
  void *grown = linnet_grow(n->context, n->rules, &n->rule_capacity, n->rule_count + 1, sizeof *n->rules);
  if (!grown)
    return out_of_memory(r);
  n->rules = grown;
  LINNET_TRY(linnet_text_rule_parse(n, &r->text, place, &n->rules[n->rule_count]));
  n->rule_count++;
  return LINNET_OK;
}

/* rule PATTERN = WORDS */
static enum linnet_status read_rule(struct reader *r) {
  return add_rule(r, LINNET_TEXT_ALONE);
}

/* after PATTERN PATTERN = WORDS */
static enum linnet_status read_after(struct reader *r) {
  return add_rule(r, LINNET_TEXT_AFTER);
}

/* before PATTERN PATTERN = WORDS */
static enum linnet_status read_before(struct reader *r) {
  return add_rule(r, LINNET_TEXT_BEFORE);
}

static enum linnet_status read_line(struct reader *r) {
  static const struct {
    const char *name;
    enum linnet_status (*read)(struct reader *r);
  } directives[] = {{"table", read_table}, {"keys", read_keys},   {"number", read_number},
                    {"rule", read_rule},   {"after", read_after}, {"before", read_before}};
  const char *name = linnet_text_token(&r->text);
  if (*name == '#')
    return LINNET_OK;
  for (size_t i = 0; i < sizeof directives / sizeof *directives; i++)
    if (strcmp(name, directives[i].name) == 0)
      return directives[i].read(r);
  return linnet_fail(r->n->context, LINNET_ERROR_FORMAT,
                     "%s:%zu: '%.100s': a line begins with table, keys, number, rule, after, before or '#'",
                     r->text.name, r->text.line, name);
}

/* --- names that refer to others ----------------------------------------------------------------------------------- */

static enum linnet_status missing_name(const struct reader *r, size_t line, const char *what, const char *name) {
  return linnet_fail(r->n->context, LINNET_ERROR_FORMAT, "%s:%zu: %s '%.100s' is not defined", r->text.name, line, what,
                     name);
}

static enum linnet_status resolve_phrase(const struct reader *r, size_t own, size_t line,
                                         struct linnet_text_phrase *phrase) {
  for (size_t i = 0; i < phrase->count; i++) {
    struct linnet_text_part *part = &phrase->parts[i];
    if (part->kind == LINNET_TEXT_WORD)
      continue;
    part->set = *part->word ? find_set(r->n, part->word) : own;
    if (part->set == LINNET_NOT_FOUND)
      return missing_name(r, line, "set of numbers", part->word);
  }
  return LINNET_OK;
}

static enum linnet_status resolve_sets(const struct reader *r) {
  for (size_t s = 0; s < r->n->set_count; s++)
    for (size_t i = 0; i < r->n->sets[s].count; i++) {
      struct linnet_text_base *base = &r->n->sets[s].bases[i];
      LINNET_TRY(resolve_phrase(r, s, base->line, &base->even));
      LINNET_TRY(resolve_phrase(r, s, base->line, &base->odd));
    }
  return LINNET_OK;
}

static enum linnet_status resolve_rule(const struct reader *r, struct linnet_text_rule *rule) {
  for (size_t i = 0; i < rule->item_count; i++)
    if (rule->items[i].kind == LINNET_TEXT_KEY) {
      rule->items[i].table = find_table(r->n, rule->items[i].text);
      if (rule->items[i].table == LINNET_NOT_FOUND)
        return missing_name(r, rule->line, "table", rule->items[i].text);
    }
  for (size_t i = 0; i < rule->saying_count; i++)
    if (rule->sayings[i].kind == LINNET_TEXT_SAY_NUMBER || rule->sayings[i].kind == LINNET_TEXT_SAY_EACH) {
      rule->sayings[i].set = find_set(r->n, rule->sayings[i].word);
      if (rule->sayings[i].set == LINNET_NOT_FOUND)
        return missing_name(r, rule->line, "set of numbers", rule->sayings[i].word);
    }
  return LINNET_OK;
}

static enum linnet_status resolve(const struct reader *r) {
  struct linnet_text_normalizer *n = r->n;
  const struct {
    const char *name;
    size_t *index;
  } known[] = {{"fold", &n->fold},
               {"outer", &n->outer},
               {"join", &n->join},
               {"vowel", &n->vowel},
               {"letter", &n->letter},
               {"symbol", &n->symbol},
               {"abbreviation", &n->abbreviation},
               {"silent", &n->silent}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    *known[i].index = find_table(n, known[i].name);
  LINNET_TRY(resolve_sets(r));
  for (size_t i = 0; i < n->rule_count; i++)
    LINNET_TRY(resolve_rule(r, &n->rules[i]));
  return LINNET_OK;
}

/* --- the object --------------------------------------------------------------------------------------------------- */

void linnet_text_normalizer_destroy(struct linnet_text_normalizer *n) {
  if (!n)
    return;
  for (size_t i = 0; i < n->table_count; i++) {
    linnet_names_clear(&n->tables[i].folded);
    linnet_free(n->context, n->tables[i].first);
    linnet_free(n->context, n->tables[i].entries);
  }
  for (size_t i = 0; i < n->set_count; i++)
    linnet_free(n->context, n->sets[i].bases);
  linnet_free(n->context, n->tables);
  linnet_free(n->context, n->sets);
  linnet_free(n->context, n->rules);
  linnet_names_clear(&n->strings);
  linnet_names_clear(&n->table_names);
  linnet_names_clear(&n->set_names);
  linnet_free(n->context, n);
}

/* Reads the opened text, and closes it. */
static enum linnet_status read_all(struct linnet_context *context, struct reader *r,
                                   struct linnet_text_normalizer **normalizer) {
  r->n = linnet_calloc(context, 1, sizeof *r->n);
  enum linnet_status status = LINNET_OK;
  if (r->n)
    r->n->context = r->n->strings.context = r->n->table_names.context = r->n->set_names.context = context;
  else
    status = linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", r->text.name);
  while (status == LINNET_OK && linnet_text_next_line(&r->text))
    status = read_line(r);
  if (status == LINNET_OK)
    status = resolve(r);
  linnet_text_close(&r->text);
  if (status == LINNET_OK)
    *normalizer = r->n;
  else
    linnet_text_normalizer_destroy(r->n);
  return status;
}

enum linnet_status linnet_text_normalizer_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                      const char *name, struct linnet_text_normalizer **normalizer) {
  struct reader r = {.n = NULL};
  if (normalizer)
    *normalizer = NULL;
  if (!context || !normalizer || !name || (!data && bytes > 0))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_text_normalizer_load_memory: an argument is NULL");
  LINNET_TRY(linnet_text_open_memory(context, data, bytes, name, MAX_BYTES, &r.text));
  return read_all(context, &r, normalizer);
}

enum linnet_status linnet_text_normalizer_load(struct linnet_context *context, const char *path,
                                               struct linnet_text_normalizer **normalizer) {
  struct reader r = {.n = NULL};
  if (normalizer)
    *normalizer = NULL;
  if (!context || !normalizer)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_text_normalizer_load: an argument is NULL");
  if (!path)
    return linnet_text_normalizer_load_memory(context, NULL, 0, "linnet_text_normalizer_load: the path is NULL",
                                              normalizer);
  LINNET_TRY(linnet_text_open(context, path, MAX_BYTES, &r.text));
  return read_all(context, &r, normalizer);
}
