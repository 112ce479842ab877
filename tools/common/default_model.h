/* The default model, used if the command line names none. */
#ifndef LINNET_TOOL_DEFAULT_MODEL_H
#define LINNET_TOOL_DEFAULT_MODEL_H

#include <linnet/recognizer.h>

#include "tool.h"

/* Returns `named` if it is not NULL; else $LINNET_MODEL; else what ships, relative to the program or in the folder of
 * the installation: the recognizer of words, or its phone model if the recognizer is not installed. Release the path
 * with free. NULL after printing the remedy. */
char *tool_find_recognizer(const char *named);

/* Whether a path names a recognizer (a folder or a settings file), not just a model. */
bool tool_names_recognizer(const char *path);

/* Like tool_find_recognizer, but if it finds a recognizer, returns the path of its model. */
char *tool_find_model(struct linnet_context *context, const char *named);

/* The folder of the recognizer that tool_find_recognizer finds; release it with free. NULL if it finds only a model
 * that was named. */
char *tool_find_folder(const char *named);

/* The path of a file that ships with the models, installed or in the source tree; release it with free. NULL if it is
 * missing. */
char *tool_find_shipped(const char *name);

/* Creates a recognizer with only a model, for commands that need its posteriors; NULL after printing why it failed. */
struct linnet_recognizer *tool_greedy_recognizer(struct linnet_context *context, const char *model);

/* Runs a command on its arguments with a context and the path of the model; returns the exit code. `arguments` NULL:
 * the command line is wrong; the message has been printed. */
typedef int (*tool_model_fn)(struct linnet_context *context, const char *model, const char **arguments, size_t count);
int tool_with_model(const char *named, const char **arguments, size_t count, tool_model_fn run);

#endif
