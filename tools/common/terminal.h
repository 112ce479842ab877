/* Control characters of files and names, which a terminal would obey, are shown as text, such as \x1b. */
#ifndef LINNET_TERMINAL_H
#define LINNET_TERMINAL_H

#include <stddef.h>

/* Copies a message of one line: control characters, C1 and those at line ends included, become \n, \t or \xNN. What
 * does not fit is left out. */
void terminal_escape(const char *text, char *escaped, size_t size);

/* From here on, if standard output is a terminal, control characters other than newlines and tabs are written to it as
 * \xNN. What goes to a file or pipe stays as it is. */
void terminal_guard_stdout(void);

#endif
