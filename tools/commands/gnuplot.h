/* Drawing by gnuplot, a program of its own: it gets a script on its standard input, and what it draws comes out of its
 * standard output, so that it never sees a file's name. */
#ifndef LINNET_TOOL_GNUPLOT_H
#define LINNET_TOOL_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Runs a script, read from its beginning; both are files. False after printing why not. */
bool gnuplot_run(FILE *script, FILE *output);

/* Writes text as a string of gnuplot that means nothing but itself: 'text'. What is no printable UTF-8 becomes '?'. */
void gnuplot_put_string(FILE *script, const char *text);

#endif
