/* The default model, used if the command line names none. */
#ifndef LINNET_TOOL_DEFAULT_MODEL_H
#define LINNET_TOOL_DEFAULT_MODEL_H

#include <linnet/recognizer.h>

#include "tool.h"

/* Returns `named` if it is not NULL; else $LINNET_MODEL; else what ships, relative to the program or in the folder of
 * the installation: the recognizer of words, or its phone model if the recognizer is not installed. The first two may
 * be the name of an installed recognizer, such as "english-live", unless a file here has this name. Release the path
 * with free. NULL after printing the remedy. */
char *tool_find_recognizer(const char *named);

/* A copy of the path that the user gives; release it with free. A name without a slash that is not here is that of an
 * installed recognizer. NULL after printing, after `prefix`, that there is none. */
char *tool_find_given(const char *prefix, const char *given);

/* The same as tool_find_recognizer for live audio: what ships is the recognizer of a causal model. */
char *tool_find_live_recognizer(const char *named);

/* The recognizer of the second pass for the live recognizer at `path`: the one for recordings that is installed, if
 * `path` is the live one that is installed; otherwise NULL. */
char *tool_find_second_pass(const char *path);

/* The recognizer that finds the pauses of a recording for the one at `path`: the live one that is installed, if `path`
 * is the one for recordings that is installed; otherwise a copy of `path`. */
char *tool_find_first_pass(const char *path);

/* Whether a path names a recognizer (a folder or a settings file), not just a model. */
bool tool_names_recognizer(const char *path);

/* Like tool_find_recognizer, but if it finds a recognizer, returns the path of its model. */
char *tool_find_model(struct linnet_context *context, const char *named);

/* Files about words that belong to a recognizer. */
struct tool_word_files {
  char *recognizer; /* its folder or settings file; NULL: there is none */
  char *folder;     /* of the lexicon, or else of the recognizer; NULL: there is only a model that was named */
  /* Those that the recognizer names, else lexicon.txt, g2p.bin and text.rules of the folder; NULL: none. */
  char *lexicon, *g2p, *rules;
};

/* Those of the recognizer that tool_find_recognizer finds; release them with tool_free_word_files. */
struct tool_word_files tool_find_word_files(struct linnet_context *context, const char *named);
void tool_free_word_files(struct tool_word_files *files);

/* The lexicon that the user names: that of the option, or of $LINNET_LEXICON if the recognizer has none. NULL: the
 * recognizer's, if it has one. */
const char *tool_choose_lexicon(const char *option, const struct tool_word_files *files);

/* The path of a file that ships with the models, installed or in the source tree; release it with free. NULL if it is
 * missing. */
char *tool_find_shipped(const char *name);

/* A row of option tables: --model of commands that take a model or a recognizer; `name` is a char *. */
#define TOOL_MODEL_ROW(name)                                                                                           \
  {                                                                                                                    \
    "model", 'm', TOOL_INPUT, &(name), 0,                                                                              \
        "model file, a recognizer's folder, or the name of an installed one, such as english-live (default: "          \
        "$LINNET_MODEL, else the one that ships)",                                                                     \
        "FILE"                                                                                                         \
  }

/* The settings of the recognizer or model at `path`. They have a search only if `path` names a recognizer. Destroy
 * *file, which owns what they point to and is NULL for a model, after their last use. Returns the exit code: TOOL_USAGE
 * also if an output would replace one of its files (separate.h), or those of its second pass. */
int tool_load_settings(struct linnet_context *context, const char *path, struct linnet_recognizer_file **file,
                       struct linnet_recognizer_settings *settings);

/* Names the files of the recognizer at `path` as inputs, which separate_check_again compares with the outputs. */
void tool_add_recognizer_inputs(struct linnet_context *context, const char *path);

/* Prints why the recognizer or model at `path` failed to open, and names its settings file. Returns the exit code. */
int tool_fail_recognizer(const struct linnet_context *context, const char *path);

/* Creates a recognizer with another search (NULL: greedy), and without endpoints, for the model of the recognizer or
 * model at `path`; NULL after printing why it failed, with the exit code. *calibrations (may be NULL) become those of
 * its confidences. */
struct linnet_recognizer *tool_open_recognizer(struct linnet_context *context, const char *path,
                                               const struct linnet_search_settings *search,
                                               struct linnet_calibrations *calibrations, int *code);

/* The sample rate of the audio that a model expects, in Hz. */
double tool_sample_rate(const struct linnet_model *model);

/* Runs a command on its arguments with a context and the path that tool_find_recognizer finds; returns the exit code.
 * `arguments` NULL: the command line is wrong; the message has been printed. */
typedef int (*tool_recognizer_fn)(struct linnet_context *context, const char *path, const char **arguments,
                                  size_t count);
int tool_with_recognizer(const char *named, const char **arguments, size_t count, tool_recognizer_fn run);

#endif
