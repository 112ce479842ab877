/* The JSpeech Grammar Format, as far as grammar.h says: a recursive descent parser. */
#include <string.h>

#include "base/c_locale.h"
#include "decoder/grammar/grammar.h"

enum { MAX_NESTING = 64, MAX_NAME = 1023 };

struct parser {
  struct linnet_grammar_source *source;
  char *at; /* in a text that ends in NUL */
  size_t line;
  size_t nesting;
  bool any_public;
};

static enum linnet_status syntax(const struct parser *p, const char *expected) {
  if (*p->at == '\0')
    return linnet_fail(p->source->context, LINNET_ERROR_FORMAT, "%s:%zu: the grammar ends where %s is expected",
                       p->source->name, p->line, expected);
  return linnet_fail(p->source->context, LINNET_ERROR_FORMAT, "%s:%zu: expected %s at '%.*s'", p->source->name, p->line,
                     expected, (int)strcspn(p->at, "\r\n") < 20 ? (int)strcspn(p->at, "\r\n") : 20, p->at);
}

/* --- characters --------------------------------------------------------------------------------------------------- */

static void advance(struct parser *p, size_t bytes) {
  for (; bytes > 0 && *p->at; bytes--, p->at++)
    p->line += *p->at == '\n';
}

/* Moves past the next `end`; false if there is none. */
static bool skip_to(struct parser *p, const char *end) {
  const char *found = strstr(p->at, end);
  advance(p, found ? (size_t)(found - p->at) + strlen(end) : strlen(p->at));
  return found != NULL;
}

/* The same for the end of a tag, in which a backslash precedes braces that belong to it. */
static bool skip_tag(struct parser *p) {
  while (*p->at && *p->at != '}')
    advance(p, *p->at == '\\' ? 2 : 1);
  const bool found = *p->at == '}';
  advance(p, 1);
  return found;
}

static enum linnet_status skip_blanks(struct parser *p) {
  for (;;) {
    advance(p, strspn(p->at, LINNET_GRAMMAR_BLANKS));
    if (strncmp(p->at, "//", 2) == 0)
      advance(p, strcspn(p->at, "\n"));
    else if (strncmp(p->at, "/*", 2) != 0)
      return LINNET_OK;
    else if (!skip_to(p, "*/"))
      return syntax(p, "the end of a comment, '*/',");
  }
}

/* Takes a character, and the blanks after it. */
static bool accept(struct parser *p, char c, enum linnet_status *status) {
  if (*p->at != c)
    return false;
  advance(p, 1);
  *status = skip_blanks(p);
  return true;
}

static enum linnet_status expect(struct parser *p, char c, const char *what) {
  enum linnet_status status = LINNET_OK;
  return accept(p, c, &status) ? status : syntax(p, what);
}

/* Copies `length` characters and moves past them. */
static enum linnet_status take(struct parser *p, size_t length, char *name) {
  if (length > MAX_NAME)
    return linnet_fail(p->source->context, LINNET_ERROR_LIMIT, "%s:%zu: a name has %zu bytes; it must have at most %d",
                       p->source->name, p->line, length, MAX_NAME);
  memcpy(name, p->at, length);
  name[length] = '\0';
  advance(p, length);
  return LINNET_OK;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static enum linnet_status parse_alternatives(struct parser *p, uint32_t *expression);

static enum linnet_status add(struct parser *p, enum linnet_expression_kind kind, uint32_t value,
                              uint32_t *expression) {
  *expression = linnet_expression_add(p->source, kind, value, p->line);
  return *expression == LINNET_NO_EXPRESSION ? linnet_grammar_out_of_memory(p->source, p->line) : LINNET_OK;
}

/* An expression of the parts given; the second may be NONE. */
static enum linnet_status wrap(struct parser *p, enum linnet_expression_kind kind, uint32_t first, uint32_t second,
                               uint32_t *expression) {
  LINNET_TRY(add(p, kind, 0, expression));
  linnet_expression_append(p->source, *expression, first);
  if (second != LINNET_NO_EXPRESSION)
    linnet_expression_append(p->source, *expression, second);
  return LINNET_OK;
}

/* An optional expression: an alternative to the empty sequence. */
static enum linnet_status make_optional(struct parser *p, uint32_t *expression) {
  uint32_t empty;
  LINNET_TRY(add(p, LINNET_EXPRESSION_SEQUENCE, 0, &empty));
  return wrap(p, LINNET_EXPRESSION_ALTERNATIVES, *expression, empty, expression);
}

static enum linnet_status find_rule(struct parser *p, const char *name, size_t *index) {
  struct linnet_grammar_source *source = p->source;
  bool fresh;
  struct linnet_rule *grown =
      linnet_grow(source->context, source->rules, &source->rule_capacity, source->rule_names.count + 1, sizeof *grown);
  if (!grown)
    return linnet_grammar_out_of_memory(source, p->line);
  source->rules = grown;
  LINNET_TRY(linnet_names_add(&source->rule_names, name, strlen(name), index, &fresh));
  if (fresh)
    source->rules[*index] = (struct linnet_rule){.body = LINNET_NO_EXPRESSION};
  return LINNET_OK;
}

/* "<name>" */
static enum linnet_status parse_rule_name(struct parser *p, char *name) {
  advance(p, 1);
  size_t length = strcspn(p->at, "<> \t\r\n;|()[]{}*+\"/=");
  if (length == 0 || p->at[length] != '>')
    return syntax(p, "the name of a rule and '>'");
  LINNET_TRY(take(p, length, name));
  return expect(p, '>', "'>'");
}

static enum linnet_status parse_reference(struct parser *p, uint32_t *expression) {
  char name[MAX_NAME + 1];
  size_t rule = 0;
  LINNET_TRY(parse_rule_name(p, name));
  if (strcmp(name, "NULL") == 0)
    return add(p, LINNET_EXPRESSION_SEQUENCE, 0, expression);
  if (strcmp(name, "VOID") == 0)
    return add(p, LINNET_EXPRESSION_VOID, 0, expression);
  LINNET_TRY(find_rule(p, name, &rule));
  return add(p, LINNET_EXPRESSION_RULE, (uint32_t)rule, expression);
}

static enum linnet_status parse_word(struct parser *p, size_t length, uint32_t *expression) {
  char word[MAX_NAME + 1];
  size_t line = p->line;
  LINNET_TRY(take(p, length, word));
  return linnet_expression_word(p->source, word, line, expression);
}

/* Words in quotes are a sequence. */
static enum linnet_status parse_quoted(struct parser *p, uint32_t *expression) {
  advance(p, 1);
  LINNET_TRY(add(p, LINNET_EXPRESSION_SEQUENCE, 0, expression));
  for (;;) {
    uint32_t word;
    advance(p, strspn(p->at, " \t\r\n\v\f"));
    size_t length = strcspn(p->at, " \t\r\n\v\f\"");
    if (length == 0)
      return expect(p, '"', "'\"'");
    LINNET_TRY(parse_word(p, length, &word));
    linnet_expression_append(p->source, *expression, word);
  }
}

/* An expression in brackets. */
static enum linnet_status parse_group(struct parser *p, char end, uint32_t *expression) {
  enum linnet_status status = LINNET_OK;
  if (++p->nesting > MAX_NESTING)
    return linnet_fail(p->source->context, LINNET_ERROR_LIMIT, "%s:%zu: brackets are nested more than %d deep",
                       p->source->name, p->line, MAX_NESTING);
  accept(p, *p->at, &status);
  LINNET_TRY(status);
  LINNET_TRY(parse_alternatives(p, expression));
  p->nesting--;
  return expect(p, end, end == ')' ? "'|' or ')'" : "'|' or ']'");
}

static enum linnet_status parse_atom(struct parser *p, uint32_t *expression) {
  if (*p->at == '<')
    return parse_reference(p, expression);
  if (*p->at == '"')
    return parse_quoted(p, expression);
  if (*p->at == '(')
    return parse_group(p, ')', expression);
  if (*p->at == '[') {
    LINNET_TRY(parse_group(p, ']', expression));
    return make_optional(p, expression);
  }
  size_t length = strcspn(p->at, " \t\r\n\v\f;|()[]{}<>*+\"/=");
  if (length == 0)
    return syntax(p, "a word, a rule or a bracket");
  LINNET_TRY(parse_word(p, length, expression));
  return skip_blanks(p);
}

/* "*", "+" and tags after an atom. A repetition of a repetition equals one repetition. */
static enum linnet_status parse_suffixes(struct parser *p, uint32_t *expression) {
  enum linnet_status status = LINNET_OK;
  bool repeated = false, optional = false;
  while (status == LINNET_OK && *p->at && strchr("*+{", *p->at)) {
    char c = *p->at;
    if (c == '{' && !skip_tag(p))
      return syntax(p, "the end of a tag, '}',");
    if (c == '{')
      status = skip_blanks(p);
    else
      accept(p, c, &status);
    repeated = repeated || c != '{';
    optional = optional || c == '*';
  }
  if (status == LINNET_OK && repeated)
    status = wrap(p, LINNET_EXPRESSION_REPEAT, *expression, LINNET_NO_EXPRESSION, expression);
  if (status == LINNET_OK && optional)
    status = make_optional(p, expression);
  return status;
}

/* "/1.5/" before an alternative. */
static enum linnet_status skip_weight(struct parser *p) {
  if (*p->at != '/')
    return LINNET_OK;
  advance(p, 1);
  advance(p, strspn(p->at, "0123456789.eE+-"));
  return expect(p, '/', "a weight and '/'");
}

static enum linnet_status parse_sequence(struct parser *p, uint32_t *expression) {
  LINNET_TRY(skip_weight(p));
  LINNET_TRY(add(p, LINNET_EXPRESSION_SEQUENCE, 0, expression));
  do {
    uint32_t part = LINNET_NO_EXPRESSION;
    LINNET_TRY(parse_atom(p, &part));
    LINNET_TRY(parse_suffixes(p, &part));
    linnet_expression_append(p->source, *expression, part);
  } while (*p->at && !strchr(";|)]", *p->at));
  return LINNET_OK;
}

static enum linnet_status parse_alternatives(struct parser *p, uint32_t *expression) {
  enum linnet_status status = LINNET_OK;
  LINNET_TRY(add(p, LINNET_EXPRESSION_ALTERNATIVES, 0, expression));
  do {
    uint32_t part;
    LINNET_TRY(status);
    LINNET_TRY(parse_sequence(p, &part));
    linnet_expression_append(p->source, *expression, part);
  } while (accept(p, '|', &status));
  return status;
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

/* Takes a keyword if it is next; false if it is not. */
static bool keyword(struct parser *p, const char *word) {
  size_t length = strlen(word);
  if (strncmp(p->at, word, length) != 0 || linnet_is_letter(p->at[length]) || linnet_is_digit(p->at[length]))
    return false;
  advance(p, length);
  return true;
}

/* A public rule is an alternative of the whole. */
static enum linnet_status publish(struct parser *p, size_t rule) {
  uint32_t reference;
  p->any_public = true;
  LINNET_TRY(add(p, LINNET_EXPRESSION_RULE, (uint32_t)rule, &reference));
  linnet_expression_append(p->source, p->source->root, reference);
  return LINNET_OK;
}

/* [public] <name> = alternatives; */
static enum linnet_status parse_rule(struct parser *p) {
  char name[MAX_NAME + 1];
  size_t rule = 0;
  uint32_t body = LINNET_NO_EXPRESSION;
  bool is_public = keyword(p, "public");
  LINNET_TRY(skip_blanks(p));
  if (*p->at != '<')
    return syntax(p, "a rule, '<name> = ...;'");
  LINNET_TRY(parse_rule_name(p, name));
  LINNET_TRY(find_rule(p, name, &rule));
  if (p->source->rules[rule].body != LINNET_NO_EXPRESSION || strcmp(name, "NULL") == 0 || strcmp(name, "VOID") == 0)
    return linnet_fail(p->source->context, LINNET_ERROR_FORMAT, "%s:%zu: rule <%.100s> is defined twice",
                       p->source->name, p->line, name);
  if (is_public)
    LINNET_TRY(publish(p, rule));
  LINNET_TRY(expect(p, '=', "'='"));
  LINNET_TRY(parse_alternatives(p, &body));
  p->source->rules[rule].body = body;
  return expect(p, ';', "'|' or ';'");
}

/* "#JSGF V1.0 ...;" and, if it is there, "grammar NAME;" */
static enum linnet_status parse_header(struct parser *p) {
  enum linnet_status status = LINNET_OK;
  advance(p, strspn(p->at, LINNET_GRAMMAR_BLANKS));
  advance(p, strcspn(p->at, ";\n"));
  LINNET_TRY(expect(p, ';', "';' after #JSGF V1.0"));
  if (keyword(p, "grammar")) {
    advance(p, strcspn(p->at, ";\n"));
    status = expect(p, ';', "';' after the grammar's name");
  }
  return status;
}

bool linnet_grammar_is_rule(const char *line) {
  static const char public[] = "public";
  const char *at = line + strspn(line, LINNET_GRAMMAR_BLANKS);
  if (strncmp(at, public, strlen(public)) == 0)
    at += strlen(public) + strspn(at + strlen(public), LINNET_GRAMMAR_BLANKS);
  const char *end = *at == '<' ? strchr(at, '>') : NULL;
  return end && end[1 + strspn(end + 1, LINNET_GRAMMAR_BLANKS)] == '=';
}

enum linnet_status linnet_grammar_parse_jsgf(struct linnet_grammar_source *source, struct linnet_text *text) {
  struct parser p = {.source = source, .at = text->next, .line = 1};
  LINNET_TRY(parse_header(&p));
  LINNET_TRY(add(&p, LINNET_EXPRESSION_ALTERNATIVES, 0, &source->root));
  while (*p.at) {
    if (strncmp(p.at, "import", 6) == 0)
      return linnet_fail(source->context, LINNET_ERROR_FORMAT,
                         "%s:%zu: imports are not supported: copy the rules to this file", source->name, p.line);
    LINNET_TRY(parse_rule(&p));
  }
  if (!p.any_public)
    return linnet_fail(source->context, LINNET_ERROR_FORMAT,
                       "%s: no rule is public: write 'public' before the rules to be accepted", source->name);
  return LINNET_OK;
}
