/* Examples at the end of each subcommand's --help. */
#ifndef LINNET_TOOL_EXAMPLES_H
#define LINNET_TOOL_EXAMPLES_H

#include <stdio.h>

/* Prints the examples of a subcommand, `name` being "linnet NAME". */
void examples_print(FILE *stream, const char *name);

#endif
