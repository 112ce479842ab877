/* Closed grammars: a search for words (word_search.h) finds nothing but the sentences that a grammar accepts.
 *
 *   linnet_grammar_load(context, "commands.jsgf", lexicon, &grammar);
 *   model = linnet_grammar_language_model(grammar);
 *   linnet_grammar_lookahead(grammar, lookahead);          // leaves the words that it has not out of the search
 *   settings.model = &model, settings.lookahead = lookahead;
 *
 * A grammar is a language model that gives probability 1 to each word that may come next, and 0 to all others.
 *
 * Threads: immutable once made; may be used from many threads.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_GRAMMAR_H
#define LINNET_GRAMMAR_H

#include <linnet/language_model.h>
#include <linnet/lexicon.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_grammar;

/* Reads a list of phrases, one a line, "#" at the start of a line for a comment; or, if the file begins with "#JSGF",
 * the following part of the JSpeech Grammar Format (W3C Note, 2000):
 *
 *   #JSGF V1.0;                       the header; "grammar NAME;" may follow
 *   public <command> = <verb> the (red | green [bright]) light+;      // what is accepted: all public rules
 *   <verb> = switch on | "switch off" | /2/ dim {tag};
 *
 * Alternatives (|), groups ( ), options [ ], repetitions * and +, references <rule>, <NULL> and <VOID>, quoted words
 * and comments. Weights and tags are read and left out. Imports and recursion are errors, as are words that the lexicon
 * does not have; errors name file and line. At most 16 MiB, 2^20 words once all references are written out, 2^20
 * states, brackets 64 deep, and brackets and rules 1024 deep together.
 */
LINNET_API enum linnet_status linnet_grammar_load(struct linnet_context *context, const char *path,
                                                  const struct linnet_lexicon *lexicon,
                                                  struct linnet_grammar **grammar);

/* The same from memory, which may be released afterwards; `name` is for messages. */
LINNET_API enum linnet_status linnet_grammar_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                         const char *name, const struct linnet_lexicon *lexicon,
                                                         struct linnet_grammar **grammar);

/* What a search takes; valid as long as the grammar. Its tokens are those of the lexicon's words (word_search.h). */
LINNET_API struct linnet_language_model linnet_grammar_language_model(const struct linnet_grammar *grammar);

/* scores (words + 2) gets 0 for tokens that occur, else -infinity. */
LINNET_API void linnet_grammar_lookahead(const struct linnet_grammar *grammar, float *scores);

/* The number of states of the automaton. */
LINNET_API size_t linnet_grammar_num_states(const struct linnet_grammar *grammar);

/* Destroys the grammar; NULL is allowed. */
LINNET_API void linnet_grammar_destroy(struct linnet_grammar *grammar);

#ifdef __cplusplus
}
#endif
#endif
