/* The model that is used when none is named. */
#ifndef LINNET_TOOL_DEFAULT_MODEL_H
#define LINNET_TOOL_DEFAULT_MODEL_H

/* `named` if not NULL; else $LINNET_MODEL; else the model that ships, installed or in the source tree. Returns a path
 * to be released with free, or NULL after printing what to do. */
char *tool_find_model(const char *named);

#endif
