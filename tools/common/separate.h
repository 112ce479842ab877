/* Refuses an output that would replace an input. Files are compared by device and inode, so links and other spellings
 * of a name are found. The rows of the option tables say what an option names (TOOL_INPUT, TOOL_OUTPUT in tool.h). */
#ifndef LINNET_TOOL_SEPARATE_H
#define LINNET_TOOL_SEPARATE_H

#include <popt.h>
#include <stdbool.h>
#include <stddef.h>

/* An input that an option names, which its row in the table does not hold, or that is found later:
 * separate_check_again. */
void separate_add_input(const char *path);

/* An input that an output may replace. */
void separate_exempt(const char *path);

/* Compares the outputs in the table with each other and with the inputs: those of the table, the arguments, and what
 * script files among them name. `words` is the command line, which ends in NULL. False after printing which output to
 * change. */
bool separate_check(const struct poptOption *table, const char *const *words, const char **arguments, size_t count);

/* The same after separate_add_input. */
bool separate_check_again(void);

/* False, after printing so, if several arguments are standard input. */
bool separate_check_streams(const char *const *arguments, size_t count);

/* Whether a path is standard output: "-", /dev/stdout and the like. */
bool separate_is_standard(const char *path);

/* The results go to standard output, because `option` does not name a file for them. False, after printing so, if
 * another option names standard output, too. Call it once. */
bool separate_check_default(const char *option);

/* The same for inputs that are found later, such as files in a folder. */
bool separate_check_inputs(const char *const *paths, size_t count);

/* The same for what the features of a data folder are made from; its feats.scp and cmvn.scp may be outputs. */
bool separate_check_data(const char *folder);

/* The same for an output that is named later: a file that `option` leads to. */
bool separate_check_output(const char *option, const char *path);

#endif
