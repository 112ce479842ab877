/* Reading whole files with a cap. */
#ifndef LINNET_FILE_READ_H
#define LINNET_FILE_READ_H

#include "base/base.h"

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

#endif
