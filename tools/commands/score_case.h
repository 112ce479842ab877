/* Whether errors are of upper and lower case only. */
#ifndef LINNET_TOOL_SCORE_CASE_H
#define LINNET_TOOL_SCORE_CASE_H

#include <stdbool.h>

#include <linnet/score.h>

/* Warns if the error rate were much lower without the case of ASCII letters. False after printing an error. */
bool score_case_check(struct linnet_context *context, struct linnet_scorer *scorer);

#endif
