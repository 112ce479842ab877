/* The search that the options ask for, over symbols or for words. */
#ifndef LINNET_TOOL_SEARCH_OPTIONS_H
#define LINNET_TOOL_SEARCH_OPTIONS_H

#include <stdbool.h>

#include <linnet/search.h>

/* Whether the options ask for a search at all. */
bool search_options_given(void);

/* False after printing what is wrong. `optional`: without the options of a search there is none. `recognizer`: the
 * options change settings of a recognizer, which has what a search needs. */
bool search_options_check(bool optional, bool recognizer);

/* Puts what the options say into settings that hold defaults, or those of a recognizer. A search that is greedy stays
 * so without the options of a search if `optional`, else it becomes LINNET_SEARCH_SYMBOLS. Pointers live to the end of
 * the program. False after printing which option is of no use for that search. */
bool search_options_read(struct linnet_search_settings *settings, bool optional);

#endif
