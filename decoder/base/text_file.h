/* Text files, whole or line by line, through gzip where they are compressed, and the errors that name their lines. */
#ifndef LINNET_TEXT_FILE_H
#define LINNET_TEXT_FILE_H

#include <stdio.h>

#include "base/settings.h"

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

/* One of both, as a setting says; `name` is that of memory. */
enum linnet_status linnet_text_open_source(struct linnet_context *context, const struct linnet_source *source,
                                           const char *name, size_t max_bytes, struct linnet_text *text);

/* Moves to the next line that is not blank; false at the end. */
bool linnet_text_next_line(struct linnet_text *text);

/* The next token of the line, NULL at its end. Spaces, tabs, CR, VT and FF separate. */
char *linnet_text_token(struct linnet_text *text);

void linnet_text_close(struct linnet_text *text);

/* Drops a stress digit (0, 1, 2 after a letter) from the end of a phone of `length` bytes: the new length. */
size_t linnet_strip_stress(const char *phone, size_t length);

/* --- line by line ------------------------------------------------------------------------------------------------- */

/* Lines of a text that may be large, or compressed by gzip: they pass through one buffer of constant size. Nothing in
 * them is trusted. */

enum { LINNET_LINE_BYTES = 1 << 16 }; /* the longest line */

/* Release with linnet_lines_close, also after a failed open. Not to be moved while it is open. */
struct linnet_lines {
  struct linnet_context *context;
  const char *name; /* for messages; the caller's */
  size_t line;      /* number of the current one, from 1 */
  FILE *file;       /* the source: a file, or memory if NULL */
  const unsigned char *memory;
  size_t left; /* bytes of memory */
  struct linnet_gunzip *gunzip;
  char *buffer;         /* (LINNET_LINE_BYTES + 1): text at [start, end) */
  unsigned char *piece; /* (LINNET_LINE_BYTES) compressed bytes */
  size_t pieced;        /* bytes in `piece` that start() read and that are not decompressed yet */
  size_t start, end;
  bool ended;    /* the current line ends with a newline; false only for the last line of a file */
  bool finished; /* the source has ended */
};

enum linnet_status linnet_lines_open(struct linnet_context *context, const char *path, struct linnet_lines *lines);
enum linnet_status linnet_lines_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                            const char *name, struct linnet_lines *lines);

/* The next line without its end (LF, or CR LF). It is valid until the next call, and the caller may change it.
 * LINNET_END after the last line. A NUL byte is an error, and so is a line that is too long. */
enum linnet_status linnet_lines_next(struct linnet_lines *lines, char **line);

/* Reads the rest of compressed data and discards it, because the checksum stands at the end of gzip data. */
enum linnet_status linnet_lines_check(struct linnet_lines *lines);

void linnet_lines_close(struct linnet_lines *lines);

/* --- gzip --------------------------------------------------------------------------------------------------------- */

/* Decompression of gzip while it is read. One of two files implements it: gunzip_zlib.c, or gunzip_none.c in a build
 * without zlib, where opening fails with a sentence. */

struct linnet_gunzip;

/* Gives the next piece of compressed bytes; *bytes is 0 at the end. The piece lives until the next call. */
typedef enum linnet_status (*linnet_pull_fn)(void *user, const unsigned char **data, size_t *bytes);

enum linnet_status linnet_gunzip_open(struct linnet_context *context, const char *name, linnet_pull_fn pull, void *user,
                                      struct linnet_gunzip **gunzip);

/* Reads up to `capacity` decompressed bytes; *bytes is 0 at the end. Several members in a row are read as one. Zeros
 * after the last member are padding, as in gzip; other bytes there are an error, and so is a truncated member. */
enum linnet_status linnet_gunzip_read(struct linnet_gunzip *gunzip, void *buffer, size_t capacity, size_t *bytes);

void linnet_gunzip_close(struct linnet_gunzip *gunzip);

#endif
