/* The search that the options ask for, over symbols or for words. */
#ifndef LINNET_TOOL_SEARCH_OPTIONS_H
#define LINNET_TOOL_SEARCH_OPTIONS_H

#include <stdbool.h>

#include <linnet/search.h>

/* Whether the options ask for a search at all. */
bool search_options_given(void);

/* False after printing what is wrong. `optional`: without options of a search, the command does not search.
 * `recognizer`: the options change the settings of a recognizer, which already has what a search needs. */
bool search_options_check(bool optional, bool recognizer);

/* Writes the values of the options to settings that hold defaults or the settings of a recognizer. Without options of a
 * search, greedy decoding stays if `optional`; else it becomes LINNET_SEARCH_SYMBOLS. Pointers are valid to the end of
 * the program. False after printing which option is of no use for that search. */
bool search_options_read(struct linnet_search_settings *settings, bool optional);

#endif
