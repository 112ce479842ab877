/* The options of a search for words. */
#ifndef LINNET_TOOL_WORD_OPTIONS_H
#define LINNET_TOOL_WORD_OPTIONS_H

#include <popt.h>
#include <stdbool.h>

#include <linnet/search.h>

/* --words, --lexicon and the rest; include it as the common options. */
extern struct poptOption word_options_table[];

/* Whether the options ask for words. */
bool word_options_given(void);

/* False after printing what is wrong. `recognizer`: the options change the settings of a recognizer, which has a
 * lexicon. */
bool word_options_check(bool recognizer);

/* False after printing which option is of no use, if the search is not for words. */
bool word_options_fit(bool words);

/* Writes the values of the options to settings; other members stay unchanged. Call it once; pointers are valid to the
 * end of the program. */
void word_options_read(struct linnet_search_settings *settings);

/* The path of the lexicon: that of the option, or of $LINNET_LEXICON; NULL: none. */
const char *word_options_lexicon(const char *option);

#endif
