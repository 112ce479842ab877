/* Grammars: reading a list of phrases, checking, and the automaton as a language model. */
#include "decoder/grammar/grammar.h"

#include <math.h>
#include <string.h>

#include "decoder/words/symbols.h"

enum { MAX_BYTES = 1 << 24, MAX_RULE_DEPTH = 64, MAX_HEIGHT = 1024 };

struct linnet_grammar {
  struct linnet_context *context;
  size_t tokens;
  struct linnet_automaton automaton;
  struct linnet_language_model model;
};

/* --- expressions -------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_grammar_out_of_memory(const struct linnet_grammar_source *source, size_t line) {
  return linnet_fail(source->context, LINNET_ERROR_MEMORY, "%s:%zu: out of memory for the grammar", source->name, line);
}

uint32_t linnet_expression_add(struct linnet_grammar_source *source, enum linnet_expression_kind kind, uint32_t value,
                               size_t line) {
  struct linnet_expression *grown =
      linnet_grow(source->context, source->expressions, &source->capacity, source->count + 1, sizeof *grown);
  if (!grown)
    return LINNET_NO_EXPRESSION;
  source->expressions = grown;
  grown[source->count] = (struct linnet_expression){.kind = kind,
                                                    .value = value,
                                                    .first = LINNET_NO_EXPRESSION,
                                                    .last = LINNET_NO_EXPRESSION,
                                                    .next = LINNET_NO_EXPRESSION,
                                                    .line = line};
  return (uint32_t)source->count++;
}

void linnet_expression_append(struct linnet_grammar_source *source, uint32_t whole, uint32_t part) {
  struct linnet_expression *e = &source->expressions[whole];
  if (e->first == LINNET_NO_EXPRESSION)
    e->first = part;
  else
    source->expressions[e->last].next = part;
  e->last = part;
}

enum linnet_status linnet_expression_word(struct linnet_grammar_source *source, const char *word, size_t line,
                                          uint32_t *expression) {
  uint32_t token;
  LINNET_TRY(linnet_guesser_find(source->guesser, source->lexicon, word, &token));
  if (token == 0)
    return linnet_fail(source->context, LINNET_ERROR_FORMAT, "%s:%zu: '%.100s' is not in the lexicon %.100s: %s",
                       source->name, line, word, linnet_lexicon_name(source->lexicon),
                       linnet_guesser_remedy(source->guesser));
  *expression = linnet_expression_add(source, LINNET_EXPRESSION_WORD, token, line);
  return *expression == LINNET_NO_EXPRESSION ? linnet_grammar_out_of_memory(source, line) : LINNET_OK;
}

static void release_source(struct linnet_grammar_source *source) {
  linnet_names_clear(&source->rule_names);
  linnet_free(source->context, source->rules);
  linnet_free(source->context, source->expressions);
}

/* --- a list of phrases -------------------------------------------------------------------------------------------- */

static enum linnet_status parse_phrase(struct linnet_grammar_source *source, struct linnet_text *text,
                                       const char *token) {
  uint32_t phrase = linnet_expression_add(source, LINNET_EXPRESSION_SEQUENCE, 0, text->line), word = 0;
  if (phrase == LINNET_NO_EXPRESSION)
    return linnet_grammar_out_of_memory(source, text->line);
  for (; token; token = linnet_text_token(text)) {
    LINNET_TRY(linnet_expression_word(source, token, text->line, &word));
    linnet_expression_append(source, phrase, word);
  }
  linnet_expression_append(source, source->root, phrase);
  return LINNET_OK;
}

static enum linnet_status parse_phrases(struct linnet_grammar_source *source, struct linnet_text *text) {
  source->root = linnet_expression_add(source, LINNET_EXPRESSION_ALTERNATIVES, 0, 1);
  if (source->root == LINNET_NO_EXPRESSION)
    return linnet_grammar_out_of_memory(source, 1);
  while (linnet_text_next_line(text)) {
    if (linnet_grammar_is_rule(text->token))
      return linnet_fail(source->context, LINNET_ERROR_FORMAT,
                         "%s:%zu: looks like JSGF, but the first line is not '#JSGF V1.0;': add this line, or write "
                         "one phrase per line",
                         source->name, text->line);
    const char *token = linnet_text_token(text);
    if (*token != '#')
      LINNET_TRY(parse_phrase(source, text, token));
  }
  return LINNET_OK;
}

/* --- references, and what can be matched -------------------------------------------------------------------------- */

/* Depth of the recursion below: the number of rules and expressions above. */
struct depth {
  size_t rules, expressions;
};

static enum linnet_status resolve(struct linnet_grammar_source *source, uint32_t at, struct depth depth);

static enum linnet_status resolve_rule(struct linnet_grammar_source *source, struct linnet_expression *e,
                                       struct depth depth) {
  struct linnet_rule *rule = &source->rules[e->value];
  const char *name = linnet_names_text(&source->rule_names, e->value);
  if (rule->body == LINNET_NO_EXPRESSION)
    return linnet_fail(source->context, LINNET_ERROR_FORMAT,
                       "%s:%zu: rule <%.100s> is not defined: add '<%.100s> = ...;', or correct the name", source->name,
                       e->line, name, name);
  if (rule->open)
    return linnet_fail(source->context, LINNET_ERROR_FORMAT,
                       "%s:%zu: rule <%.100s> refers to itself: recursion is not supported; repeat with * or +",
                       source->name, e->line, name);
  if (depth.rules == MAX_RULE_DEPTH)
    return linnet_fail(
        source->context, LINNET_ERROR_LIMIT,
        "%s:%zu: rules refer to rules more than %d deep: write some of them out where they are referred to",
        source->name, e->line, MAX_RULE_DEPTH);
  if (!rule->resolved) {
    rule->open = true;
    LINNET_TRY(resolve(source, rule->body, (struct depth){depth.rules + 1, depth.expressions + 1}));
    rule->open = false;
    rule->resolved = true;
  }
  e->impossible = source->expressions[rule->body].impossible;
  e->height = source->expressions[rule->body].height + 1;
  return LINNET_OK;
}

/* A deeper grammar could overflow the stack, here or when the automaton is built. */
static enum linnet_status check_height(const struct linnet_grammar_source *source, size_t height, size_t line) {
  if (height <= MAX_HEIGHT)
    return LINNET_OK;
  return linnet_fail(source->context, LINNET_ERROR_LIMIT,
                     "%s:%zu: brackets and rules are nested more than %d deep once rules are written out: use fewer "
                     "brackets or references",
                     source->name, line, MAX_HEIGHT);
}

/* A sequence is impossible if one part is; alternatives are impossible if all are. */
static enum linnet_status resolve(struct linnet_grammar_source *source, uint32_t at, struct depth depth) {
  struct linnet_expression *e = &source->expressions[at];
  size_t parts = 0, impossible = 0;
  LINNET_TRY(check_height(source, ++depth.expressions, e->line));
  e->height = 1;
  for (uint32_t part = e->first; part != LINNET_NO_EXPRESSION; part = source->expressions[part].next) {
    LINNET_TRY(resolve(source, part, depth));
    impossible += source->expressions[part].impossible;
    if (e->height <= source->expressions[part].height)
      e->height = source->expressions[part].height + 1;
    parts++;
  }
  if (e->kind == LINNET_EXPRESSION_RULE)
    LINNET_TRY(resolve_rule(source, e, depth));
  LINNET_TRY(check_height(source, e->height, e->line));
  if (e->kind == LINNET_EXPRESSION_RULE)
    return LINNET_OK;
  e->impossible = e->kind == LINNET_EXPRESSION_VOID ||
                  (e->kind == LINNET_EXPRESSION_ALTERNATIVES ? impossible == parts : impossible > 0);
  return LINNET_OK;
}

/* --- the language model ------------------------------------------------------------------------------------------- */

static void begin(const void *user, void *state) {
  (void)user;
  memset(state, 0, sizeof(uint32_t));
}

/* A token that the grammar does not accept does not change the state. */
static float score(const void *user, const void *state, unsigned token, void *next) {
  const struct linnet_automaton *a = &((const struct linnet_grammar *)user)->automaton;
  uint32_t from;
  memcpy(&from, state, sizeof from);
  memcpy(next, &from, sizeof from);
  uint32_t at = a->first[from], end = a->first[from + 1];
  while (at < end) {
    uint32_t middle = at + (end - at) / 2;
    if (a->arcs[middle].token == token) {
      memcpy(next, &a->arcs[middle].next, sizeof from);
      return 0;
    }
    if (a->arcs[middle].token < token)
      at = middle + 1;
    else
      end = middle;
  }
  return -INFINITY;
}

static float finish_sentence(const void *user, const void *state) {
  const struct linnet_grammar *grammar = user;
  uint32_t at;
  memcpy(&at, state, sizeof at);
  return grammar->automaton.final[at] ? 0 : -INFINITY;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static enum linnet_status parse(struct linnet_grammar_source *source, struct linnet_text *text) {
  if (strncmp(text->next + strspn(text->next, LINNET_GRAMMAR_BLANKS), "#JSGF", 5) == 0)
    LINNET_TRY(linnet_grammar_parse_jsgf(source, text));
  else
    LINNET_TRY(parse_phrases(source, text));
  LINNET_TRY(resolve(source, source->root, (struct depth){0, 0}));
  if (source->expressions[source->root].impossible)
    return linnet_fail(
        source->context, LINNET_ERROR_FORMAT,
        "%s: the grammar accepts nothing: write one sentence per line, or a public rule that is not <VOID>",
        source->name);
  return LINNET_OK;
}

enum linnet_status linnet_grammar_open(struct linnet_context *context, const struct linnet_source *file,
                                       const char *name, const struct linnet_lexicon *lexicon,
                                       struct linnet_guesser *guesser, struct linnet_grammar **grammar) {
  struct linnet_text text = {.context = context, .name = name};
  struct linnet_grammar_source source = {.context = context, .name = name, .lexicon = lexicon, .guesser = guesser};
  struct linnet_grammar *g = NULL;
  *grammar = NULL;
  source.rule_names.context = context;
  enum linnet_status status = linnet_text_open_source(context, file, name, MAX_BYTES, &text);
  if (status == LINNET_OK)
    status = parse(&source, &text);
  if (status == LINNET_OK) {
    g = linnet_calloc(context, 1, sizeof *g);
    status = g ? LINNET_OK : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a grammar");
  }
  if (g) {
    g->context = context;
    g->tokens = linnet_lexicon_num_words(lexicon) + 2;
    g->model = (struct linnet_language_model){.size = sizeof g->model,
                                              .user = g,
                                              .state_bytes = sizeof(uint32_t),
                                              .begin = begin,
                                              .score = score,
                                              .finish = finish_sentence};
    status = linnet_automaton_create(&source, &g->automaton);
  }
  release_source(&source);
  linnet_text_close(&text);
  if (status == LINNET_OK)
    *grammar = g;
  else
    linnet_grammar_destroy(g);
  return status;
}

enum linnet_status linnet_grammar_load(struct linnet_context *context, const char *path,
                                       const struct linnet_lexicon *lexicon, struct linnet_grammar **grammar) {
  const struct linnet_source source = {.path = path};
  if (grammar)
    *grammar = NULL;
  if (!context || !path || !lexicon || !grammar)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_grammar_load: an argument is NULL");
  return linnet_grammar_open(context, &source, path, lexicon, NULL, grammar);
}

enum linnet_status linnet_grammar_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                              const char *name, const struct linnet_lexicon *lexicon,
                                              struct linnet_grammar **grammar) {
  const struct linnet_source source = {.data = data, .bytes = bytes};
  if (grammar)
    *grammar = NULL;
  if (!context || (!data && bytes > 0) || !name || !lexicon || !grammar)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_grammar_load_memory: an argument is NULL");
  return linnet_grammar_open(context, &source, name, lexicon, NULL, grammar);
}

void linnet_grammar_destroy(struct linnet_grammar *grammar) {
  if (!grammar)
    return;
  linnet_automaton_release(grammar->context, &grammar->automaton);
  linnet_free(grammar->context, grammar);
}

/* --- for a search ------------------------------------------------------------------------------------------------- */

const struct linnet_language_model *linnet_grammar_language_model(const struct linnet_grammar *grammar) {
  return &grammar->model;
}

void linnet_grammar_lookahead(const struct linnet_grammar *grammar, float *scores) {
  const struct linnet_automaton *a = &grammar->automaton;
  for (size_t token = 0; token < grammar->tokens; token++)
    scores[token] = -INFINITY;
  for (uint32_t i = 0; i < a->first[a->states]; i++)
    scores[a->arcs[i].token] = 0;
}

size_t linnet_grammar_num_states(const struct linnet_grammar *grammar) {
  return grammar->automaton.states;
}
