/* Which files `linnet score` cannot take although they may look like lines "ID TOKEN TOKEN ...". */
#ifndef LINNET_TOOL_SCORE_FORMATS_H
#define LINNET_TOOL_SCORE_FORMATS_H

#include <stdbool.h>

#include <linnet/lexicon.h>

/* False, after printing the remedy, if a text is in another format of transcripts. `name` is for the message. */
bool score_formats_check(const char *name, const char *text);

/* The same if no hypothesis has the id of a reference, because all ids are those of n-best lists or paths of files. */
bool score_formats_check_ids(const char *name, const struct linnet_transcripts *reference,
                             const struct linnet_transcripts *hypothesis);

#endif
