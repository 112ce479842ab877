/* Shows control characters in texts of files and in names as text, such as \x1b, because a terminal would obey them. */
#ifndef LINNET_TERMINAL_H
#define LINNET_TERMINAL_H

#include <stddef.h>

/* Copies a message as one line: control characters, including C1 and newlines, become \n, \t or \xNN. Truncates a
 * message that does not fit. */
void terminal_escape(const char *text, char *escaped, size_t size);

/* From this call on, control characters other than newlines and tabs are written as \xNN if standard output is a
 * terminal. Output to a file or pipe does not change. */
void terminal_guard_stdout(void);

#endif
