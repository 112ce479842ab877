/* Closed grammars: with a grammar, a search for words (word_search.h) finds only the sentences that the grammar
 * accepts, and beginnings of them: if no hypothesis completes a sentence, the result is the best beginning, and its
 * alternatives are `incomplete` (output.h). Other speech is not rejected.
 *
 *   linnet_grammar_load(context, "commands.jsgf", lexicon, &grammar);
 *   linnet_grammar_lookahead(grammar, lookahead);          // excludes the words that the grammar lacks
 *   settings.model = linnet_grammar_language_model(grammar), settings.lookahead = lookahead;
 *
 * A grammar is a language model that gives probability 1 to each word that may come next, and 0 to all others.
 *
 * Threads: a grammar is immutable and may be used from many threads.
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

/* Reads a list of phrases, one per line; lines that begin with "#" are comments. If the file begins with "#JSGF", it
 * reads the following part of the JSpeech Grammar Format (W3C Note, 2000):
 *
 *   #JSGF V1.0;                       the header; "grammar NAME;" may follow
 *   public <command> = <verb> the (red | green [bright]) light+;      // what is accepted: all public rules
 *   <verb> = switch on | "switch off" | /2/ dim {tag};
 *
 * Alternatives (|), groups ( ), options [ ], repetitions * and +, references <rule>, <NULL> and <VOID>, quoted words
 * and comments. Weights and tags are allowed and ignored. Imports, recursion and words that the lexicon does not have
 * are errors, which name file and line. Limits: 16 MiB, 2^20 words after all references are expanded, 2^20 states;
 * references 64 deep, brackets 64 deep in a rule, and 1024 levels of both together, where ( ) counts as two levels and
 * [ ] as three. */
LINNET_API enum linnet_status linnet_grammar_load(struct linnet_context *context, const char *path,
                                                  const struct linnet_lexicon *lexicon,
                                                  struct linnet_grammar **grammar);

/* The same from memory, which may be released afterwards; `name` is for messages. */
LINNET_API enum linnet_status linnet_grammar_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                         const char *name, const struct linnet_lexicon *lexicon,
                                                         struct linnet_grammar **grammar);

/* The grammar as a language model for a search; valid as long as the grammar. Its tokens are those of the lexicon's
 * words (word_search.h). */
LINNET_API const struct linnet_language_model *linnet_grammar_language_model(const struct linnet_grammar *grammar);

/* Sets scores (words + 2) to 0 for the tokens that occur in the grammar, and to -infinity for all others. */
LINNET_API void linnet_grammar_lookahead(const struct linnet_grammar *grammar, float *scores);

/* The number of states of the automaton. */
LINNET_API size_t linnet_grammar_num_states(const struct linnet_grammar *grammar);

/* Destroys the grammar; NULL is allowed. */
LINNET_API void linnet_grammar_destroy(struct linnet_grammar *grammar);

#ifdef __cplusplus
}
#endif
#endif
