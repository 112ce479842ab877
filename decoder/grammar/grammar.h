/* A grammar between text and automaton: a tree of expressions. */
#ifndef LINNET_DECODER_GRAMMAR_H
#define LINNET_DECODER_GRAMMAR_H

#include <linnet/grammar.h>

#include "decoder/base/names.h"
#include "decoder/base/text_file.h"
#include "decoder/words/guesser.h"

#define LINNET_NO_EXPRESSION UINT32_MAX

enum linnet_expression_kind {
  LINNET_EXPRESSION_WORD,
  LINNET_EXPRESSION_RULE,
  LINNET_EXPRESSION_VOID,         /* matches nothing */
  LINNET_EXPRESSION_SEQUENCE,     /* without parts it matches the empty sequence */
  LINNET_EXPRESSION_ALTERNATIVES, /* at least one part */
  LINNET_EXPRESSION_REPEAT        /* its only part, once or more */
};

struct linnet_expression {
  enum linnet_expression_kind kind;
  bool impossible;            /* matches nothing; known once the grammar was resolved */
  uint32_t value;             /* token, or number of the rule */
  uint32_t first, last, next; /* parts, linked by `next` */
  uint32_t height;            /* of the expression below it, rules included; known once it was resolved */
  size_t line;
};

#define LINNET_GRAMMAR_BLANKS " \t\r\n\v\f"

struct linnet_rule {
  uint32_t body; /* LINNET_NO_EXPRESSION: used, but not defined yet */
  bool is_public, open, resolved;
};

/* Zero-initialise, set context, name and lexicon; grammar.c releases it. */
struct linnet_grammar_source {
  struct linnet_context *context;
  const char *name; /* for messages */
  const struct linnet_lexicon *lexicon;
  struct linnet_guesser *guesser; /* or NULL */
  struct linnet_expression *expressions;
  size_t count, capacity;
  struct linnet_names rule_names;
  struct linnet_rule *rules; /* (rule_names.count) */
  size_t rule_capacity;
  uint32_t root;
};

/* linnet_grammar_load and linnet_grammar_load_memory. The guesser guesses the words that its lexicon, which must be
 * `lexicon`, lacks; NULL: they are errors. */
enum linnet_status linnet_grammar_open(struct linnet_context *context, const struct linnet_source *file,
                                       const char *name, const struct linnet_lexicon *lexicon,
                                       struct linnet_guesser *guesser, struct linnet_grammar **grammar);

/* A new expression, LINNET_NO_EXPRESSION without memory; and a function that appends a part to one. */
uint32_t linnet_expression_add(struct linnet_grammar_source *source, enum linnet_expression_kind kind, uint32_t value,
                               size_t line);
void linnet_expression_append(struct linnet_grammar_source *source, uint32_t whole, uint32_t part);

/* An expression for a word, which must be in the lexicon. */
enum linnet_status linnet_expression_word(struct linnet_grammar_source *source, const char *word, size_t line,
                                          uint32_t *expression);

enum linnet_status linnet_grammar_out_of_memory(const struct linnet_grammar_source *source, size_t line);

/* Whether a line of text looks like a rule of JSGF: "<NAME> =", perhaps after "public". Lists of phrases have none. */
bool linnet_grammar_is_rule(const char *line);

/* Reads JSGF from the start of an opened text. Sets the root. */
enum linnet_status linnet_grammar_parse_jsgf(struct linnet_grammar_source *source, struct linnet_text *text);

/* A deterministic automaton over tokens. State 0 is the first. */
struct linnet_grammar_arc {
  uint32_t token, next;
};

struct linnet_automaton {
  uint32_t states;
  uint32_t *first;                 /* (states + 1): of the arcs, those of a state by token */
  struct linnet_grammar_arc *arcs; /* (first[states]) */
  unsigned char *final;            /* (states) */
};

/* The source must be resolved and not impossible. An automaton of zeros may be released. */
enum linnet_status linnet_automaton_create(const struct linnet_grammar_source *source,
                                           struct linnet_automaton *automaton);
void linnet_automaton_release(struct linnet_context *context, struct linnet_automaton *automaton);

#endif
