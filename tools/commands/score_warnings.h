/* Errors that are of the files, not of the recognizer. */
#ifndef LINNET_TOOL_SCORE_WARNINGS_H
#define LINNET_TOOL_SCORE_WARNINGS_H

#include <stdbool.h>

#include <linnet/score.h>

/* Warns if the error rate of the file `hypothesis` were much lower with `fold_case` of the scorer. Unless `reference`
 * is NULL, warns if sclite's marks in that file are errors. False after printing why it cannot be checked. */
bool score_warnings_print(struct linnet_context *context, struct linnet_scorer *scorer, const char *reference,
                          const char *hypothesis);

#endif
