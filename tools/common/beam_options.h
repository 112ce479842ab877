/* The options that all searches share. */
#ifndef LINNET_TOOL_BEAM_OPTIONS_H
#define LINNET_TOOL_BEAM_OPTIONS_H

#include <popt.h>
#include <stdbool.h>

#include <linnet/search.h>

/* --beam and the other options of a search; --nbest, for commands that can write several hypotheses. */
extern struct poptOption beam_options_table[], beam_nbest_table[];

/* False after printing what is wrong. `optional`: without options of a search, the command does not search.
 * `recognizer`: the options change the search of a recognizer, which may have a language model. */
bool beam_options_check(bool optional, bool recognizer);

/* Whether any of the options asks for a beam search, and for more than the best hypothesis. */
bool beam_options_given(void);
bool beam_options_nbest(void);

/* Writes the values of the options to settings; other members stay unchanged. */
void beam_options_read(struct linnet_search_settings *settings);

/* The file of the language model, NULL: none. */
const char *beam_options_lm(void);

#endif
