/* Parsing of a rule: a pattern of a token, "=", and the spoken words. */
#include <string.h>

#include "decoder/base/text_file.h"
#include "decoder/text/text_rules.h"

enum { FIELD_BYTES = 64 };

struct parser {
  struct linnet_text_normalizer *n;
  struct linnet_text *text;
  struct linnet_text_rule *rule;
  size_t fields;
};

static enum linnet_status refuse(const struct parser *p, const char *token, const char *why) {
  return linnet_fail(p->n->context, LINNET_ERROR_FORMAT, "%s:%zu: '%.100s': %s", p->text->name, p->text->line, token,
                     why);
}

static enum linnet_status keep(const struct parser *p, const char *string, size_t length, const char **result) {
  *result = linnet_text_intern(p->n, string, length);
  return *result
             ? LINNET_OK
             : linnet_fail(p->n->context, LINNET_ERROR_MEMORY, "%s:%zu: out of memory", p->text->name, p->text->line);
}

/* --- patterns ----------------------------------------------------------------------------------------------------- */

/* LOW-HIGH */
static bool read_range(const char *text, struct linnet_text_item *item) {
  const char *end = linnet_text_read_integer(text, &item->low);
  end = end && *end == '-' ? linnet_text_read_integer(end + 1, &item->high) : NULL;
  return end && *end == '\0' && item->low <= item->high;
}

/* n, n:LOW-HIGH, r, r:LOW-HIGH, d, d:COUNT, w, W, or the name of a table. */
static enum linnet_status read_field(struct parser *p, const char *field, struct linnet_text_item *item) {
  bool good = true;
  uint64_t count = 0;
  *item = (struct linnet_text_item){.kind = LINNET_TEXT_KEY, .high = UINT64_MAX};
  if ((*field == 'n' || *field == 'r') && (field[1] == '\0' || field[1] == ':')) {
    item->kind = *field == 'n' ? LINNET_TEXT_INTEGER : LINNET_TEXT_ROMAN;
    good = field[1] == '\0' || read_range(field + 2, item);
  } else if (strcmp(field, "d") == 0 || strncmp(field, "d:", 2) == 0) {
    const char *end = field[1] ? linnet_text_read_integer(field + 2, &count) : field + 1;
    item->kind = LINNET_TEXT_DIGITS;
    item->count = (size_t)count;
    good = end && *end == '\0' && count <= 18;
  } else if (strcmp(field, "w") == 0 || strcmp(field, "W") == 0) {
    item->kind = *field == 'w' ? LINNET_TEXT_LETTERS : LINNET_TEXT_NAME;
  }
  if (!good || *field == '\0')
    return refuse(p, field,
                  "this is not a field: n, n:LOW-HIGH, r, r:LOW-HIGH, d, d:COUNT, w, W or the name of a table");
  return keep(p, field, strlen(field), &item->text);
}

/* The text between braces; *at moves past them. */
static enum linnet_status take_field(struct parser *p, const char *token, const char **at, char field[FIELD_BYTES]) {
  const char *end = strchr(*at, '}');
  if (!end || end - *at > FIELD_BYTES)
    return refuse(p, token, "'}' is missing after '{'");
  size_t length = (size_t)(end - *at - 1);
  memcpy(field, *at + 1, length);
  field[length] = '\0';
  *at = end + 1;
  return LINNET_OK;
}

static enum linnet_status read_item(struct parser *p, const char *token, const char **at) {
  char field[FIELD_BYTES];
  if (p->rule->item_count == LINNET_TEXT_MAX_ITEMS || (**at == '{' && p->fields == LINNET_TEXT_MAX_FIELDS))
    return refuse(p, token, "the pattern has too many parts");
  struct linnet_text_item *item = &p->rule->items[p->rule->item_count++];
  if (**at == '{') {
    p->fields++;
    LINNET_TRY(take_field(p, token, at, field));
    return read_field(p, field, item);
  }
  size_t length = strcspn(*at, "{");
  *item = (struct linnet_text_item){.kind = LINNET_TEXT_LITERAL};
  LINNET_TRY(keep(p, *at, length, &item->text));
  *at += length;
  return LINNET_OK;
}

/* --- spoken words ------------------------------------------------------------------------------------------------- */

/* Reads a reference to a field of the pattern. {FIELD}: the text of the field; {FIELD:SET}: its number in words of
 * SET; {FIELD:each:SET}: each of its digits; {FIELD.COLUMN}: a column of its table. */
static enum linnet_status read_reference(struct parser *p, const char *token, const char *field,
                                         struct linnet_text_saying *saying) {
  uint64_t number = 0, column = 1;
  const char *at = linnet_text_read_integer(field, &number);
  if (!at || number < 1 || number > p->fields)
    return refuse(p, token, "the pattern has no such field; fields count from 1");
  saying->field = (size_t)number - 1;
  saying->kind = *at == '.' ? LINNET_TEXT_SAY_COLUMN : *at == ':' ? LINNET_TEXT_SAY_NUMBER : LINNET_TEXT_SAY_FIELD;
  bool good = *at == '\0' || *at == ':' || *at == '.';
  if (*at == '.') {
    const char *end = linnet_text_read_integer(at + 1, &column);
    good = end && *end == '\0' && column >= 1 && column <= 16;
    saying->column = (size_t)column - 1;
  }
  if (strncmp(at, ":each:", 6) == 0) {
    saying->kind = LINNET_TEXT_SAY_EACH;
    at += 5;
  }
  if (!good)
    return refuse(p, token, "this is not {FIELD}, {FIELD:SET}, {FIELD:each:SET} or {FIELD.COLUMN}");
  return keep(p, *at ? at + 1 : at, strlen(*at ? at + 1 : at), &saying->word);
}

/* Whether a field can be said by a set of numbers: digit by digit, or as one number. */
static bool is_number(const struct linnet_text_item *item, bool each) {
  return item->kind == LINNET_TEXT_INTEGER || item->kind == LINNET_TEXT_DIGITS ||
         (item->kind == LINNET_TEXT_ROMAN && !each);
}

static enum linnet_status read_saying(struct parser *p, const char *token) {
  char field[FIELD_BYTES];
  const char *at = token;
  if (p->rule->saying_count == LINNET_TEXT_MAX_ITEMS)
    return refuse(p, token, "the rule has too many words");
  struct linnet_text_saying *saying = &p->rule->sayings[p->rule->saying_count++];
  *saying = (struct linnet_text_saying){.kind = LINNET_TEXT_SAY_WORD};
  if (*token != '{')
    return keep(p, token, strlen(token), &saying->word);
  LINNET_TRY(take_field(p, token, &at, field));
  if (*at != '\0')
    return refuse(p, token, "a field must be a word of its own here");
  LINNET_TRY(read_reference(p, token, field, saying));
  /* The kind of the field that the saying refers to by its number. */
  size_t index = 0, fields = 0;
  for (; index < p->rule->item_count; index++)
    if (p->rule->items[index].kind != LINNET_TEXT_LITERAL && fields++ == saying->field)
      break;
  bool digits = is_number(&p->rule->items[index], saying->kind == LINNET_TEXT_SAY_EACH);
  bool number = saying->kind == LINNET_TEXT_SAY_NUMBER || saying->kind == LINNET_TEXT_SAY_EACH;
  bool column = saying->kind == LINNET_TEXT_SAY_COLUMN;
  if ((number && !digits) || (column && p->rule->items[index].kind != LINNET_TEXT_KEY))
    return refuse(p, token, number ? "the field is not a number" : "the field is not in a table");
  return LINNET_OK;
}

static enum linnet_status read_pattern(struct parser *p, const char *pattern) {
  for (const char *at = pattern; *at;)
    LINNET_TRY(read_item(p, pattern, &at));
  return LINNET_OK;
}

enum linnet_status linnet_text_rule_parse(struct linnet_text_normalizer *n, struct linnet_text *text,
                                          enum linnet_text_place place, struct linnet_text_rule *rule) {
  const bool pair = place != LINNET_TEXT_ALONE;
  *rule = (struct linnet_text_rule){.place = place, .line = text->line};
  struct parser p = {.n = n, .text = text, .rule = rule};
  const char *first = linnet_text_token(text), *pattern = first && pair ? linnet_text_token(text) : first;
  const char *equals = pattern ? linnet_text_token(text) : NULL;
  if (!equals || strcmp(equals, "=") != 0)
    return refuse(
        &p, first ? first : "rule",
        "a rule is 'rule PATTERN = WORDS', 'after PATTERN PATTERN = WORDS' or 'before PATTERN PATTERN = WORDS'");
  if (pair) {
    LINNET_TRY(read_pattern(&p, first));
    LINNET_TRY(read_pattern(&p, " "));
  }
  LINNET_TRY(read_pattern(&p, pattern));
  for (const char *token; (token = linnet_text_token(text)) != NULL;)
    LINNET_TRY(read_saying(&p, token));
  return rule->saying_count > 0 ? LINNET_OK : refuse(&p, pattern, "the rule has no words to say");
}
