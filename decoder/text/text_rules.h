/* The rules that say how written text is spoken, as read from a file (docs/text-rules.md): tables of strings, sets of
 * number words, and patterns of tokens. */
#ifndef LINNET_TEXT_RULES_H
#define LINNET_TEXT_RULES_H

#include <linnet/lexicon.h>
#include <linnet/text_normalizer.h>

#include "decoder/base/names.h"

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* A key and its value: columns with '|' between them; "" if it has no value. */
struct linnet_text_entry {
  const char *key, *value;
  size_t next; /* the next entry whose key differs in the case of ASCII letters alone, or LINNET_NOT_FOUND */
};

struct linnet_text_table {
  struct linnet_text_entry *entries;
  size_t count, capacity;
  struct linnet_names folded; /* the keys in small letters */
  size_t *first;              /* (folded.count): the first entry of each of these */
  size_t first_capacity;
};

/* The entry of a key, in any case of ASCII letters if `fold`; and the longest key that `text` begins with. NULL: there
 * is none. `table` may be NULL. */
const struct linnet_text_entry *linnet_text_table_find(const struct linnet_text_table *table, const char *key,
                                                       bool fold);
const struct linnet_text_entry *linnet_text_table_prefix(const struct linnet_text_table *table, const char *text);

/* Column `column`, from 0, of a value; "" if there are fewer. *length is its number of bytes. */
const char *linnet_text_column(const char *value, size_t column, size_t *length);

/* --- numbers ------------------------------------------------------------------------------------------------------ */

enum { LINNET_TEXT_MAX_PARTS = 8 };

/* A word, or the quotient or the remainder, spoken with a set of numbers. */
struct linnet_text_part {
  enum { LINNET_TEXT_WORD, LINNET_TEXT_QUOTIENT, LINNET_TEXT_REMAINDER } kind;
  const char *word; /* or the name of the set; "": the present set */
  size_t set;       /* its index, known after the whole file is read */
};

struct linnet_text_phrase {
  struct linnet_text_part parts[LINNET_TEXT_MAX_PARTS];
  size_t count;
};

/* How numbers from `base` to the next base are said: n = quotient * divisor + remainder. */
struct linnet_text_base {
  uint64_t base, divisor;
  struct linnet_text_phrase even, odd; /* without and with a remainder */
  size_t line;                         /* of the file */
};

struct linnet_text_set {
  struct linnet_text_base *bases; /* in increasing order */
  size_t count, capacity;
  size_t like; /* the set whose bases are used where this set has none; LINNET_NOT_FOUND: none */
};

/* --- patterns ----------------------------------------------------------------------------------------------------- */

enum { LINNET_TEXT_MAX_ITEMS = 16, LINNET_TEXT_MAX_FIELDS = 8 };

/* A piece of a pattern: characters as they are, or a field. */
struct linnet_text_item {
  enum {
    LINNET_TEXT_LITERAL,
    LINNET_TEXT_INTEGER, /* low to high; commas between groups of three are allowed only without limits */
    LINNET_TEXT_DIGITS,  /* `count` of them, 0: any number */
    LINNET_TEXT_LETTERS,
    LINNET_TEXT_NAME,  /* letters of which the first is a capital */
    LINNET_TEXT_ROMAN, /* a Roman numeral, low to high, in capitals or in small letters */
    LINNET_TEXT_KEY    /* of a table */
  } kind;
  const char *text; /* the literal; the table's name */
  size_t table, count;
  uint64_t low, high;
};

/* A piece of what is said: a word, or a field in some form. */
struct linnet_text_saying {
  enum {
    LINNET_TEXT_SAY_WORD,
    LINNET_TEXT_SAY_NUMBER,
    LINNET_TEXT_SAY_EACH,
    LINNET_TEXT_SAY_COLUMN,
    LINNET_TEXT_SAY_FIELD
  } kind;
  const char *word; /* or the name of a set of numbers */
  size_t field, set, column;
};

/* Where a rule applies: to a token alone; or the pattern matches two tokens with a space between them, and the words
 * are those of the second, or of the first. */
enum linnet_text_place { LINNET_TEXT_ALONE, LINNET_TEXT_AFTER, LINNET_TEXT_BEFORE };

struct linnet_text_rule {
  struct linnet_text_item items[LINNET_TEXT_MAX_ITEMS];
  struct linnet_text_saying sayings[LINNET_TEXT_MAX_ITEMS];
  size_t item_count, saying_count, line;
  enum linnet_text_place place;
};

/* --- all of it ---------------------------------------------------------------------------------------------------- */

struct linnet_text_normalizer {
  struct linnet_context *context;
  struct linnet_names strings;                /* all strings of the file */
  struct linnet_names table_names, set_names; /* the indices of the tables and the sets */
  struct linnet_text_table *tables;
  struct linnet_text_set *sets;
  struct linnet_text_rule *rules;
  size_t table_count, table_capacity, set_count, set_capacity, rule_count, rule_capacity;
  /* Indices of the tables with a meaning; LINNET_NOT_FOUND if the file has no such table. */
  size_t fold, outer, join, vowel, letter, symbol, abbreviation, silent;
};

/* A table by index; NULL for LINNET_NOT_FOUND. */
static inline const struct linnet_text_table *linnet_text_table_at(const struct linnet_text_normalizer *n,
                                                                   size_t index) {
  return index < n->table_count ? &n->tables[index] : NULL;
}

/* Parses the two sides of a rule: the pattern, which is one token, or two if the rule does not stand alone; and the
 * spoken words. Names are not resolved yet. */
struct linnet_text;
enum linnet_status linnet_text_rule_parse(struct linnet_text_normalizer *n, struct linnet_text *text,
                                          enum linnet_text_place place, struct linnet_text_rule *rule);

/* Reads 1 to 18 decimal digits; returns the rest of the text, NULL for another number of digits. */
const char *linnet_text_read_integer(const char *text, uint64_t *value);

/* Reads a Roman numeral of 1 to 3999 in its usual form, in capitals or in small letters; returns its length, 0 for
 * another beginning of the text. */
size_t linnet_text_read_roman(const char *text, uint64_t *value);

/* The one copy of a string, NULL without memory. */
const char *linnet_text_intern(struct linnet_text_normalizer *n, const char *string, size_t length);

#endif
