/* Where the bytes of an audio input come from: memory, a regular file read by position, or a pipe. */
#ifndef LINNET_AUDIO_BYTES_H
#define LINNET_AUDIO_BYTES_H

#include <sys/types.h>

#include "base/base.h"

struct linnet_bytes {
  struct linnet_context *context;
  char *name;                /* for messages */
  const unsigned char *data; /* the input in memory; NULL for files, and for pipes that are read as a stream */
  void *owned;               /* the memory of a pipe that was read to memory, else NULL */
  size_t owned_capacity;
  int fd; /* -1: none */
  bool owns_fd, seekable;
  int64_t base;     /* offset in the file at which the input begins */
  int64_t size;     /* bytes; -1 on a pipe */
  bool cut;         /* the file goes on after them */
  int64_t position; /* of the next byte */
  int error;        /* errno of a read that failed, else 0 */
};

/* Each takes the name by copy. On failure nothing needs closing. A path may be "FILE:OFFSET", where the input begins,
 * if no file has the whole name. */
enum linnet_status linnet_bytes_open_path(struct linnet_context *context, const char *path, struct linnet_bytes *bytes);
enum linnet_status linnet_bytes_open_fd(struct linnet_context *context, int fd, const char *name,
                                        struct linnet_bytes *bytes);
enum linnet_status linnet_bytes_open_memory(struct linnet_context *context, const void *data, size_t size,
                                            const char *name, struct linnet_bytes *bytes);

/* Reads a pipe into memory, so that it becomes seekable: up to its end, or at least `enough` bytes. In that case *more
 * is true, and another call continues. A seekable input does not change. */
enum linnet_status linnet_bytes_slurp(struct linnet_bytes *bytes, size_t enough, bool *more);

/* Reads up to `n` bytes once; blocks on pipes. Returns 0 at the end and after an error, whose errno goes to `error`. */
size_t linnet_bytes_read(struct linnet_bytes *bytes, void *to, size_t n);

/* Reads `n` bytes, fewer only at the end or after an error. */
size_t linnet_bytes_fill(struct linnet_bytes *bytes, void *to, size_t n);

/* The same from a place in a seekable input. The position stays. */
size_t linnet_bytes_peek(struct linnet_bytes *bytes, int64_t at, void *to, size_t n);

/* LINNET_ERROR_IO with a message if reading failed, LINNET_ERROR_CANCELLED if the caller's hook stopped it. */
enum linnet_status linnet_bytes_check(const struct linnet_bytes *bytes);

/* Ends an entry of an archive after `size` bytes, where others follow. Other inputs do not change. */
void linnet_bytes_cut(struct linnet_bytes *bytes, int64_t size);

/* Harmless on a struct of zeros. */
void linnet_bytes_close(struct linnet_bytes *bytes);

#endif
