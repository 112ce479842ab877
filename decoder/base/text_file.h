/* Text files of tokens separated by white space, read line by line. Nothing in them is trusted. */
#ifndef LINNET_TEXT_FILE_H
#define LINNET_TEXT_FILE_H

#include "base/base.h"

/* Zero-initialise; release with linnet_text_close. Tokens point into `buffer` and live as long as it. */
struct linnet_text {
  struct linnet_context *context;
  const char *name; /* for messages; the caller's */
  char *buffer;     /* (size + 1), changed while it is read: tokens get a NUL at their end */
  size_t size;
  char *next;  /* start of the next line, within buffer */
  char *token; /* rest of the current line */
  size_t line; /* its number, from 1 */
};

/* Reads a file of at most `max_bytes`, or copies memory. A NUL byte is an error. A byte order mark is skipped. */
enum linnet_status linnet_text_open(struct linnet_context *context, const char *path, size_t max_bytes,
                                    struct linnet_text *text);
enum linnet_status linnet_text_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                           const char *name, size_t max_bytes, struct linnet_text *text);

/* Moves to the next line that is not blank, false at the end. */
bool linnet_text_next_line(struct linnet_text *text);

/* The next token of the line, NULL at its end. Spaces, tabs, CR, VT and FF separate. */
char *linnet_text_token(struct linnet_text *text);

void linnet_text_close(struct linnet_text *text);

/* Drops a stress digit (0, 1, 2 after a letter) from the end of a phone of `length` bytes: the new length. */
size_t linnet_strip_stress(const char *phone, size_t length);

#endif
