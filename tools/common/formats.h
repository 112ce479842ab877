/* The output formats, from the table of the library, for the help and the messages of --format. */
#ifndef LINNET_TOOL_FORMATS_H
#define LINNET_TOOL_FORMATS_H

#include <stdbool.h>

/* The names, such as "text, json, ctm". Only with `single`, formats that hold one recording per file are among them.
 * The text stays valid; call it from one thread. */
const char *format_names(bool single);

/* The help of --format. `item` is what a line of JSON is for, such as "recording". As above. */
const char *format_help(bool single, const char *item);

#endif
