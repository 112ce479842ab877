/* Whole files: reading with a cap, and writing beside the target with a rename at the end. */
#ifndef LINNET_FILE_H
#define LINNET_FILE_H

#include <stdio.h>

#include "base/base.h"

/* Reads all of a file of at most `max_bytes` into memory of the context (release with linnet_free). */
enum linnet_status linnet_file_read(struct linnet_context *context, const char *path, size_t max_bytes, void **data,
                                    size_t *bytes);

/* A file written beside `path` that takes its name only on commit; abandoned, it leaves nothing behind. Pipes and
 * devices are written to directly. */
struct linnet_output {
  struct linnet_context *context;
  FILE *stream;
  char path[4096], temporary[4096 + 32];
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
