/* Lines of a text that may be large, or compressed by gzip: they pass through one buffer of constant size. (Files of
 * which all is kept are read by text_file.h.) Nothing in them is trusted. */
#ifndef LINNET_LINE_READER_H
#define LINNET_LINE_READER_H

#include <stdio.h>

#include "decoder/base/gunzip.h"

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
  size_t pieced;        /* of `piece`: read with the beginning, not decompressed yet */
  size_t start, end;
  bool ended;    /* the current line has its end: false at most for the last of a file */
  bool finished; /* the source has ended */
};

enum linnet_status linnet_lines_open(struct linnet_context *context, const char *path, struct linnet_lines *lines);
enum linnet_status linnet_lines_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                            const char *name, struct linnet_lines *lines);

/* The next line without its end (LF, or CR LF); it lives, and may be changed, until the next call. LINNET_END after the
 * last. A NUL byte and a line that is too long are errors. */
enum linnet_status linnet_lines_next(struct linnet_lines *lines, char **line);

/* Reads what is left of compressed data and drops it: only the end of gzip data has its checksum. */
enum linnet_status linnet_lines_check(struct linnet_lines *lines);

void linnet_lines_close(struct linnet_lines *lines);

#endif
