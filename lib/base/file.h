/* Whole files: reading with a cap (file_read.h), and writing beside the target with a rename at the end. */
#ifndef LINNET_FILE_H
#define LINNET_FILE_H

#include <stdio.h>

#include "base/destination.h"
#include "base/file_read.h"

/* A file written beside `path` that takes its name only on commit; abandoned, it leaves nothing behind. Pipes and
 * devices are written to directly, and so are descriptors (/dev/stdout, /dev/fd/N). Of a symbolic link the target is
 * replaced. */
struct linnet_output {
  struct linnet_context *context;
  FILE *stream;
  char path[LINNET_PATH_BYTES];           /* as given, for messages */
  char target[LINNET_PATH_BYTES];         /* behind links */
  char temporary[LINNET_PATH_BYTES + 32]; /* "": the target is written to directly */
};

enum linnet_status linnet_output_open(struct linnet_context *context, const char *path, struct linnet_output *output);

/* Flushes, syncs, closes, renames, and syncs the folder; on failure the temporary file is removed. */
enum linnet_status linnet_output_commit(struct linnet_output *output);

/* The same for a file whose predecessor is kept as `previous`, a path in the same folder, until the next time. Whenever
 * the machine stops, one of the two is a whole file. */
enum linnet_status linnet_output_replace(struct linnet_output *output, const char *previous);

/* Closes and removes the temporary file; harmless after a commit. */
void linnet_output_abandon(struct linnet_output *output);

/* The length of FILE in the name "FILE.tmp.PROCESS" of a temporary file, 0 if it is none. */
size_t linnet_output_temporary(const char *name);

#endif
