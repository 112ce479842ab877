/* Which files `linnet score` cannot read although they look like lines "ID TOKEN TOKEN ...". */
#ifndef LINNET_TOOL_SCORE_FORMATS_H
#define LINNET_TOOL_SCORE_FORMATS_H

#include <stdbool.h>

/* False, after printing the remedy, if a text is in another format of transcripts. `name` is for the message. */
bool score_formats_check(const char *name, const char *text);

#endif
