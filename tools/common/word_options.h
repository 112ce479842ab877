/* The options of a search for words. */
#ifndef LINNET_TOOL_WORD_OPTIONS_H
#define LINNET_TOOL_WORD_OPTIONS_H

#include <popt.h>
#include <stdbool.h>

#include <linnet/search.h>

/* --words, --lexicon and the rest; include it as the common options. */
extern struct poptOption word_options_table[];

/* Whether words are asked for. */
bool word_options_given(void);

/* False after printing what is wrong. `recognizer`: they change the settings of a recognizer, which has a lexicon. */
bool word_options_check(bool recognizer);

/* False after printing which option is of no use, if the search is not for words. */
bool word_options_fit(bool words);

/* Puts what the options say into settings; what they leave open stays. Once: pointers live to the end of the program.
 */
void word_options_read(struct linnet_search_settings *settings);

/* The lexicon's path: the option's, or that of $LINNET_LEXICON; NULL if there is none. */
const char *word_options_lexicon(const char *option);

#endif
