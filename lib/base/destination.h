/* Finds the real target of an output: follows links, and recognises descriptors. It uses only the C library and no
 * context, because the commands are built with this file, too. */
#ifndef LINNET_DESTINATION_H
#define LINNET_DESTINATION_H

#include <stdbool.h>
#include <stdio.h>

enum { LINNET_PATH_BYTES = 4096 };

struct linnet_destination {
  char path[LINNET_PATH_BYTES]; /* without symbolic links at its end */
  bool direct;    /* a device, pipe, socket or open descriptor, to be written to; else a file, which may be replaced */
  int descriptor; /* of this process, -1: none */
};

/* Follows the symbolic links of `path`. /dev/stdout, /dev/fd/N and links to them are descriptors of this process, and
 * never replaced. False with errno if the links do not end or the path is too long. */
bool linnet_destination_find(const char *path, struct linnet_destination *destination);

/* The folder of a path of less than LINNET_PATH_BYTES, as text. */
void linnet_destination_folder(const char *path, char folder[LINNET_PATH_BYTES]);

/* Opens a direct destination for writing; a descriptor is duplicated, so its offset is shared and nothing is
 * truncated. NULL with errno. */
FILE *linnet_destination_open(const struct linnet_destination *destination);

/* Flushes a stream, and with `sync` the file. Returns 0, or the errno of the first write that failed; EIO if that errno
 * is no longer known. */
int linnet_destination_flush(FILE *stream, bool sync);

#endif
