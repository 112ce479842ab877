/* Opens audio from a path, a descriptor or memory, and reads its bytes; waiting for a pipe can be cancelled. */
#include "frontend/audio/audio_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linnet/audio.h>

#include "base/file.h"

enum { POLL_MILLISECONDS = 50 }; /* between two looks at whether the call is cancelled, while a pipe is empty */

static enum linnet_status set_name(struct linnet_bytes *bytes, const char *name) {
  bytes->name = linnet_strdup(bytes->context, name);
  if (!bytes->name)
    return linnet_fail(bytes->context, LINNET_ERROR_MEMORY, "%s: out of memory", name);
  return LINNET_OK;
}

/* A regular file is read by position, anything else as it comes. */
static enum linnet_status inspect(struct linnet_bytes *bytes, const char *name) {
  struct stat status;
  if (fstat(bytes->fd, &status) != 0)
    return linnet_fail_errno(bytes->context, name, errno);
  if (S_ISDIR(status.st_mode))
    return linnet_fail(bytes->context, LINNET_ERROR_IO, "%s: is a folder: name an audio file in it", name);
  off_t start = S_ISREG(status.st_mode) ? lseek(bytes->fd, 0, SEEK_CUR) : -1;
  bytes->seekable = start >= 0;
  bytes->base = start >= 0 ? start : 0;
  bytes->size = start < 0 ? -1 : status.st_size > start ? status.st_size - start : 0;
  return LINNET_OK;
}

enum linnet_status linnet_bytes_open_fd(struct linnet_context *context, int fd, const char *name,
                                        struct linnet_bytes *bytes) {
  *bytes = (struct linnet_bytes){.context = context, .fd = fd};
  LINNET_TRY(inspect(bytes, name));
  return set_name(bytes, name);
}

/* A blocking open of a named pipe waits for its first writer, and nothing can cancel that. Where the caller's hook may
 * cancel, wait_for_bytes waits instead. (On Linux, poll waits for the first writer.) */
static int open_file(const struct linnet_context *context, const char *path) {
  struct stat status;
  const bool pipe = linnet_poll_of(context) && stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
  int fd;
  do
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (pipe ? O_NONBLOCK : 0));
  while (fd < 0 && errno == EINTR);
  return fd;
}

/* "FILE:OFFSET", an entry of an archive of Kaldi; -1 if it is none, and with the errno of `path`. */
static int open_entry(struct linnet_context *context, const char *path) {
  uint64_t offset;
  int fd = -1, error = errno;
  size_t length = linnet_split_offset(path, &offset);
  char *file = path[length] ? linnet_strdup(context, path) : NULL;
  if (file) {
    file[length] = '\0';
    fd = open_file(context, file);
  }
  if (fd >= 0 && lseek(fd, (off_t)offset, SEEK_SET) < 0) {
    close(fd);
    fd = -1;
  }
  linnet_free(context, file);
  errno = error;
  return fd;
}

enum linnet_status linnet_bytes_open_path(struct linnet_context *context, const char *path,
                                          struct linnet_bytes *bytes) {
  if (strcmp(path, "-") == 0)
    return linnet_bytes_open_fd(context, STDIN_FILENO, "standard input", bytes);
  *bytes = (struct linnet_bytes){.fd = -1};
  int fd = open_file(context, path);
  if (fd < 0)
    fd = open_entry(context, path);
  if (fd < 0)
    return linnet_fail_errno(context, path, errno);
  enum linnet_status status = linnet_bytes_open_fd(context, fd, path, bytes);
  if (status != LINNET_OK) {
    close(fd);
    return status;
  }
  bytes->owns_fd = true;
  return LINNET_OK;
}

enum linnet_status linnet_bytes_open_memory(struct linnet_context *context, const void *data, size_t size,
                                            const char *name, struct linnet_bytes *bytes) {
  *bytes = (struct linnet_bytes){.context = context, .data = data, .fd = -1, .seekable = true, .size = (int64_t)size};
  return set_name(bytes, name);
}

static size_t read_memory(struct linnet_bytes *bytes, void *to, size_t n) {
  if (bytes->position >= bytes->size)
    return 0;
  size_t left = (size_t)(bytes->size - bytes->position);
  n = n < left ? n : left;
  memcpy(to, bytes->data + bytes->position, n);
  return n;
}

/* Waits until a pipe has bytes, or ends; false if the call is cancelled before. A signal wakes one thread alone, so a
 * read that blocks may not notice it. */
static bool wait_for_bytes(const struct linnet_bytes *bytes) {
  struct pollfd descriptor = {.fd = bytes->fd, .events = POLLIN};
  bool wait = !bytes->seekable && linnet_poll_of(bytes->context);
  while (!linnet_poll_stopped(bytes->context))
    if (!wait || poll(&descriptor, 1, POLL_MILLISECONDS) > 0)
      return true;
  return false;
}

/* One read; -1 with errno. A descriptor that does not block may be empty all the same: then it waits. */
static ssize_t read_once(const struct linnet_bytes *bytes, void *to, size_t n) {
  struct pollfd descriptor = {.fd = bytes->fd, .events = POLLIN};
  if (bytes->seekable)
    return pread(bytes->fd, to, n, bytes->base + bytes->position);
  const ssize_t got = read(bytes->fd, to, n);
  if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
    return got;
  poll(&descriptor, 1, POLL_MILLISECONDS);
  errno = EINTR;
  return -1;
}

/* An entry of an archive may end before the file. */
static size_t limit(const struct linnet_bytes *bytes, size_t n) {
  if (!bytes->cut)
    return n;
  const int64_t left = bytes->size > bytes->position ? bytes->size - bytes->position : 0;
  return (uint64_t)left < n ? (size_t)left : n;
}

static size_t read_fd(struct linnet_bytes *bytes, void *to, size_t n) {
  ssize_t got;
  n = limit(bytes, n);
  do {
    if (!wait_for_bytes(bytes)) {
      bytes->error = ECANCELED;
      return 0;
    }
    got = read_once(bytes, to, n);
  } while (got < 0 && errno == EINTR);
  if (got < 0)
    bytes->error = errno;
  return got < 0 ? 0 : (size_t)got;
}

size_t linnet_bytes_read(struct linnet_bytes *bytes, void *to, size_t n) {
  if (bytes->error || n == 0)
    return 0;
  size_t got = bytes->data ? read_memory(bytes, to, n) : read_fd(bytes, to, n);
  bytes->position += (int64_t)got;
  return got;
}

size_t linnet_bytes_fill(struct linnet_bytes *bytes, void *to, size_t n) {
  size_t done = 0, got;
  while (done < n && (got = linnet_bytes_read(bytes, (char *)to + done, n - done)) > 0)
    done += got;
  return done;
}

size_t linnet_bytes_peek(struct linnet_bytes *bytes, int64_t at, void *to, size_t n) {
  const int64_t before = bytes->position;
  bytes->position = at;
  const size_t done = linnet_bytes_fill(bytes, to, n);
  bytes->position = before;
  return done;
}

void linnet_bytes_cut(struct linnet_bytes *bytes, int64_t size) {
  if (bytes->base == 0 || size >= bytes->size)
    return;
  bytes->size = size;
  bytes->cut = true;
}

enum linnet_status linnet_bytes_check(const struct linnet_bytes *bytes) {
  if (!bytes->error)
    return LINNET_OK;
  if (bytes->error == ECANCELED)
    return linnet_fail(bytes->context, LINNET_ERROR_CANCELLED, "%s: reading was cancelled", bytes->name);
  return linnet_fail_errno(bytes->context, bytes->name, bytes->error);
}

/* Adds what a pipe holds to a growing block; *size is what it has. */
static enum linnet_status slurp_all(struct linnet_bytes *bytes, size_t enough, size_t *size, bool *more) {
  for (*more = true; *size < enough;) {
    void *grown = linnet_grow(bytes->context, bytes->owned, &bytes->owned_capacity, *size + 65536, 1);
    if (!grown)
      return linnet_fail(bytes->context, LINNET_ERROR_MEMORY, "%s: out of memory after %zu bytes", bytes->name, *size);
    bytes->owned = grown;
    size_t got = linnet_bytes_read(bytes, (char *)bytes->owned + *size, bytes->owned_capacity - *size);
    *more = got > 0;
    if (got == 0)
      return linnet_bytes_check(bytes);
    *size += got;
    if (*size > LINNET_AUDIO_MAX_PIPE_BYTES)
      return linnet_fail(bytes->context, LINNET_ERROR_LIMIT,
                         "%s: more than %zu bytes on a pipe: write them to a file, or send raw PCM", bytes->name,
                         LINNET_AUDIO_MAX_PIPE_BYTES);
  }
  return LINNET_OK;
}

enum linnet_status linnet_bytes_slurp(struct linnet_bytes *bytes, size_t enough, bool *more) {
  size_t size = bytes->owned ? (size_t)bytes->size : 0;
  *more = false;
  if (bytes->seekable && !bytes->owned)
    return LINNET_OK;
  bytes->data = NULL; /* the pipe is read again */
  bytes->seekable = false;
  LINNET_TRY(slurp_all(bytes, enough, &size, more));
  bytes->data = bytes->owned;
  bytes->size = (int64_t)size;
  bytes->position = 0;
  bytes->seekable = true;
  return LINNET_OK;
}

void linnet_bytes_close(struct linnet_bytes *bytes) {
  if (!bytes->context)
    return;
  if (bytes->owns_fd)
    close(bytes->fd);
  linnet_free(bytes->context, bytes->owned);
  linnet_free(bytes->context, bytes->name);
  *bytes = (struct linnet_bytes){.fd = -1};
}
