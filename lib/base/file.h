/* Whole files: reading with a cap, and writing beside the target with a rename at the end. */
#ifndef LINNET_FILE_H
#define LINNET_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/base.h"
#include "base/destination.h"

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* Fails with what `error`, an errno of opening, mapping or reading `name`, says: LINNET_ERROR_MEMORY for ENOMEM, else
 * LINNET_ERROR_IO. */
enum linnet_status linnet_fail_errno(struct linnet_context *context, const char *name, int error);

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Reads all of a file of at most `max_bytes` into memory of the context (release with linnet_free). */
enum linnet_status linnet_file_read(struct linnet_context *context, const char *path, size_t max_bytes, void **data,
                                    size_t *bytes);

/* The same, but `check` sees the beginning first, LINNET_HEAD_BYTES or the whole of a shorter file: what it refuses is
 * not read any further, so that endless input of a wrong kind costs nothing. */
enum { LINNET_HEAD_BYTES = 4096 };
typedef enum linnet_status (*linnet_head_fn)(struct linnet_context *context, const char *path,
                                             const unsigned char *head, size_t bytes);
enum linnet_status linnet_file_read_checked(struct linnet_context *context, const char *path, size_t max_bytes,
                                            linnet_head_fn check, void **data, size_t *bytes);

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* A temporary file beside `path`. Commit renames it to `path`; abandon removes it. Pipes and devices are written to
 * directly, and so are descriptors (/dev/stdout, /dev/fd/N). If `path` is a symbolic link, its target is replaced. */
struct linnet_output_file {
  struct linnet_context *context;
  FILE *stream;
  char path[LINNET_PATH_BYTES];           /* as given, for messages */
  char target[LINNET_PATH_BYTES];         /* behind links */
  char temporary[LINNET_PATH_BYTES + 32]; /* "": the target is written to directly */
};

enum linnet_status linnet_output_file_open(struct linnet_context *context, const char *path,
                                           struct linnet_output_file *output);

/* Flushes, syncs, closes, renames, and syncs the folder; on failure the temporary file is removed. */
enum linnet_status linnet_output_file_commit(struct linnet_output_file *output);

/* The same, but renames the old file to `previous`, a path in the same folder. Whenever the machine stops, one of the
 * two files is complete. */
enum linnet_status linnet_output_file_replace(struct linnet_output_file *output, const char *previous);

/* Closes and removes the temporary file; harmless after a commit. */
void linnet_output_file_abandon(struct linnet_output_file *output);

/* The length of FILE in the name "FILE.tmp.PROCESS" of a temporary file, 0 if it is none. */
size_t linnet_output_file_temporary_length(const char *name);

/* --- positions ---------------------------------------------------------------------------------------------------- */

/* Length of the file's name in "file:offset" or "file", and the offset, 0 if there is none. */
size_t linnet_split_offset(const char *location, uint64_t *offset);

/* --- checksums ---------------------------------------------------------------------------------------------------- */

/* The CRC-32 of zlib, gzip and PNG, in pieces: the core does not need zlib. It finds every change within 32
 * neighbouring bits, and all but one in 2^32 of the other changes. */

struct linnet_crc32 {
  uint32_t table[256]; /* the change by each byte */
  uint32_t value;      /* of all bytes so far; 0 for none */
};

void linnet_crc32_start(struct linnet_crc32 *crc);
void linnet_crc32_add(struct linnet_crc32 *crc, const void *data, size_t bytes);

#endif
