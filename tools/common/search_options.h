/* The options of searches: of the search over symbols and for words, and of the recognizer that they change. */
#ifndef LINNET_TOOL_SEARCH_OPTIONS_H
#define LINNET_TOOL_SEARCH_OPTIONS_H

#include <popt.h>
#include <stdbool.h>

#include <linnet/recognizer.h>
#include <linnet/search.h>

/* --- options of all searches (beam_options.c) --------------------------------------------------------------------- */

/* --beam and the other options of a search; --nbest, for commands that can write several hypotheses. */
extern struct poptOption beam_options_table[], beam_nbest_table[];

/* False after printing what is wrong. `optional`: without options of a search, the command does not search.
 * `recognizer`: the options change the search of a recognizer, which may have a language model. */
bool beam_options_check(bool optional, bool recognizer);

/* Whether any of the options asks for a beam search, and for more than the best hypothesis. */
bool beam_options_given(void);
bool beam_options_nbest(void);

/* Whether any of the options is given that changes the search. */
bool beam_options_any(void);

/* Writes the values of the options to settings; other members stay unchanged. */
void beam_options_read(struct linnet_search_settings *settings);

/* False after printing which option is of no use in a search for words, or without one. */
bool beam_options_fit(bool words);

/* False after printing which option is of no use in the search that was read: a greedy one, or one without a language
 * model or without priors. */
bool beam_options_fit_files(const struct linnet_search_settings *settings);

/* The option that gave the setting of this key of a recognizer.json; NULL: none did. */
const char *beam_options_source(const char *key);

/* The file of the language model, NULL: none. */
const char *beam_options_lm(void);

/* --- options of a search for words (word_options.c) --------------------------------------------------------------- */

/* --words, --lexicon and the rest; include it as the common options. */
extern struct poptOption word_options_table[];

/* Makes the help say what the defaults are in a command that has no recognizer. */
void word_options_without_recognizer(void);

/* Whether the options ask for words. */
bool word_options_given(void);

/* Whether any of the options is given that a second pass does not follow: not --hotwords or --grammar. */
bool word_options_change_search(void);

/* False after printing what is wrong. `recognizer`: the options change the settings of a recognizer, which has a
 * lexicon. */
bool word_options_check(bool recognizer);

/* False after printing which option is of no use, if the search is not for words. */
bool word_options_fit(bool words);

/* The same if it is of no use because the search, whose penalty this is, finds no unknown words. */
bool word_options_fit_unknown(float unknown_penalty);

/* False, after printing so, if the options name a model of pronunciations, but the search has neither hotwords nor a
 * grammar. */
bool word_options_fit_g2p(const struct linnet_search_settings *settings);

/* The file of the grammar, NULL: none. */
const char *word_options_grammar(void);

/* Writes the values of the options to settings; other members stay unchanged. Call it once; pointers are valid to the
 * end of the program. */
void word_options_read(struct linnet_search_settings *settings);

/* The option, or the variable, that gave the setting of this key of a recognizer.json; NULL: none did. */
const char *word_options_source(const char *key);

/* --- the search that both ask for (search_options.c) -------------------------------------------------------------- */

/* Whether the options ask for a search at all. */
bool search_options_given(void);

/* False after printing what is wrong. `optional`: without options of a search, the command does not search.
 * `recognizer`: the options change the settings of a recognizer, which already has what a search needs. */
bool search_options_check(bool optional, bool recognizer);

/* Writes the values of the options to settings that hold defaults or the settings of a recognizer. Without options of a
 * search, greedy decoding stays if `optional`; else it becomes LINNET_SEARCH_SYMBOLS. Pointers are valid to the end of
 * the program. False after printing which option is of no use for that search, or which output would replace a file
 * that it reads. */
bool search_options_read(struct linnet_search_settings *settings, bool optional);

/* Prints why a search, or the recognizer at `path` (NULL: there is none), failed to open, and where the setting at
 * fault came from: the option, or the key of the settings file. Returns the exit code. */
int search_options_fail(const struct linnet_context *context, const char *path);

/* --- a recognizer with these options ------------------------------------------------------------------------------ */

/* The recognizer that the options ask for: a model or a folder, and a search. */

/* --phones, --second-pass and more; include it beside the options of searches. */
extern struct poptOption recognizer_options_table[];

/* Whether no option changes the second pass of a recognizer, or its search in a way that a second pass does not follow.
 */
bool recognizer_options_default(void);

/* Whether there is --ensemble-weight, which asks for the two models of one recognizer. */
bool recognizer_options_ensemble(void);

/* False after printing what is wrong with the options for the model or recognizer at `path`. */
bool recognizer_options_check(const char *path);

/* Settings of a recognizer, with all that they point to. */
struct recognizer_options {
  struct linnet_recognizer_file *file; /* NULL: there is only a model */
  struct linnet_recognizer_settings settings;
  struct linnet_search_settings search;
  char *second_pass; /* of --second-pass; NULL: none */
};

/* Loads the settings of the recognizer or model at `path` and applies the options. Returns the exit code, after
 * printing what is wrong. The structure must not be moved; `path` must outlive it. Release it with
 * recognizer_options_release in either case. */
int recognizer_options_read(struct recognizer_options *options, struct linnet_context *context, const char *path);

/* Creates the recognizer, whose settings were read from `path`. NULL after printing why not. */
struct linnet_recognizer *recognizer_options_create(const struct recognizer_options *options,
                                                    struct linnet_context *context, const char *path);
void recognizer_options_release(struct recognizer_options *options);

#endif
