/* The model that is used when none is named. */
#ifndef LINNET_TOOL_DEFAULT_MODEL_H
#define LINNET_TOOL_DEFAULT_MODEL_H

#include <linnet/recognizer.h>

#include "tool.h"

/* `named` if not NULL; else $LINNET_MODEL; else what ships, beside the program or where it was installed: a recognizer
 * of words, or where that is not installed its model of phones. Returns a path to be released with free, or NULL after
 * printing what to do. */
char *tool_find_recognizer(const char *named);

/* Whether a path names a recognizer (a folder, or its file of settings) and not a model alone. */
bool tool_names_recognizer(const char *path);

/* The same as tool_find_recognizer, but of a recognizer its model. */
char *tool_find_model(struct linnet_context *context, const char *named);

/* The path of a file that ships with the models, installed or in the source tree, to be released with free; NULL if it
 * is not there. */
char *tool_find_shipped(const char *name);

/* A recognizer of a model alone, for commands that need its posteriors; NULL after printing why not. */
struct linnet_recognizer *tool_greedy_recognizer(struct linnet_context *context, const char *model);

/* Runs a command on its arguments with a context and the model's path; returns the exit code. `arguments` NULL: the
 * command line is wrong, which was said. */
typedef int (*tool_model_fn)(struct linnet_context *context, const char *model, const char **arguments, size_t count);
int tool_with_model(const char *named, const char **arguments, size_t count, tool_model_fn run);

#endif
