/* Reads whole files and writes files beside their target, which a rename then replaces. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY ".tmp." /* before the process id */

enum linnet_status linnet_fail_errno(struct linnet_context *context, const char *name, int error) {
  return error == ENOMEM   ? linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", name)
         : error == EISDIR ? linnet_fail(context, LINNET_ERROR_IO, "%s: is a folder: name a file in it", name)
                           : linnet_fail(context, LINNET_ERROR_IO, "%s: %s", name, strerror(error));
}

/* Reads to the end, growing; works on pipes too. */
static enum linnet_status read_stream(struct linnet_context *context, const char *path, FILE *stream, size_t max_bytes,
                                      linnet_head_fn check, char **data, size_t *bytes) {
  unsigned char head[LINNET_HEAD_BYTES];
  size_t capacity = 0, size = fread(head, 1, sizeof head, stream), step = 65536;
  struct stat information;
  if (check && !ferror(stream))
    LINNET_TRY(check(context, path, head, size));
  if (fstat(fileno(stream), &information) == 0 && information.st_size > 0 && (uintmax_t)information.st_size < max_bytes)
    step = (size_t)information.st_size + 1; /* the whole file, and one byte to detect its end */
  for (bool first = true;; step = 65536, first = false) {
    char *grown = linnet_grow(context, *data, &capacity, size + step, 1);
    if (!grown)
      return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory after %zu bytes", path, size);
    *data = grown;
    if (first)
      memcpy(*data, head, size);
    const size_t space = capacity - size, got = fread(*data + size, 1, space, stream);
    size += got;
    if (size > max_bytes)
      return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: larger than %zu bytes", path, max_bytes);
    if (got < space)
      break;
  }
  if (ferror(stream))
    return linnet_fail_errno(context, path, errno);
  *bytes = size;
  return LINNET_OK;
}

enum linnet_status linnet_file_read(struct linnet_context *context, const char *path, size_t max_bytes, void **data,
                                    size_t *bytes) {
  return linnet_file_read_checked(context, path, max_bytes, NULL, data, bytes);
}

enum linnet_status linnet_file_read_checked(struct linnet_context *context, const char *path, size_t max_bytes,
                                            linnet_head_fn check, void **data, size_t *bytes) {
  *data = NULL;
  FILE *stream = fopen(path, "rb");
  if (!stream)
    return linnet_fail_errno(context, path, errno);
  char *contents = NULL;
  enum linnet_status status = read_stream(context, path, stream, max_bytes, check, &contents, bytes);
  fclose(stream);
  if (status != LINNET_OK) {
    linnet_free(context, contents);
    return status;
  }
  *data = contents;
  return LINNET_OK;
}

enum linnet_status linnet_output_file_open(struct linnet_context *context, const char *path,
                                           struct linnet_output_file *output) {
  *output = (struct linnet_output_file){.context = context};
  if (!*path)
    return linnet_fail(context, LINNET_ERROR_IO, "cannot write: the path is empty");
  size_t length = strlen(path);
  if (length >= sizeof output->path)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%.60s...: path longer than %zu bytes", path,
                       sizeof output->path - 1);
  memcpy(output->path, path, length + 1);
  struct linnet_destination destination;
  bool found = linnet_destination_find(path, &destination);
  if (found && !destination.direct)
    snprintf(output->temporary, sizeof output->temporary, "%s" TEMPORARY "%ld", destination.path, (long)getpid());
  memcpy(output->target, destination.path, sizeof output->target);
  if (found)
    output->stream = destination.direct ? linnet_destination_open(&destination) : fopen(output->temporary, "wb");
  if (!output->stream)
    return linnet_fail(context, LINNET_ERROR_IO, "%s: cannot write: %s", path, strerror(errno));
  return LINNET_OK;
}

/* Makes a new name in the path's folder survive a loss of power, where the file system can. */
static bool sync_folder(const char *path) {
  char folder[LINNET_PATH_BYTES];
  linnet_destination_folder(path, folder);
  int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return true; /* a folder that may be written, but not read */
  bool good = fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
  int error = errno;
  close(descriptor);
  errno = error;
  return good;
}

/* Gives the file at `path`, if there is one, a second name. With hard links it has both names until `path` is replaced.
 * Without them, it has only the second name for a moment. */
static bool keep_previous(const char *path, const char *previous) {
  if (access(path, F_OK) != 0)
    return errno == ENOENT;
  if (unlink(previous) != 0 && errno != ENOENT)
    return false;
  return link(path, previous) == 0 || rename(path, previous) == 0;
}

enum linnet_status linnet_output_file_commit(struct linnet_output_file *output) {
  return linnet_output_file_replace(output, NULL);
}

enum linnet_status linnet_output_file_replace(struct linnet_output_file *output, const char *previous) {
  FILE *stream = output->stream;
  output->stream = NULL;
  bool direct = !*output->temporary;
  int error = linnet_destination_flush(stream, !direct);
  if (fclose(stream) != 0 && error == 0)
    error = errno;
  if (error == 0 && !direct && previous && !keep_previous(output->target, previous))
    error = errno;
  if (error == 0 && !direct && (rename(output->temporary, output->target) != 0 || !sync_folder(output->target)))
    error = errno;
  if (error == 0)
    return LINNET_OK;
  if (!direct)
    remove(output->temporary);
  return linnet_fail(output->context, LINNET_ERROR_IO, "%s: cannot write: %s", output->path, strerror(error));
}

void linnet_output_file_abandon(struct linnet_output_file *output) {
  if (!output->stream)
    return;
  fclose(output->stream);
  output->stream = NULL;
  if (*output->temporary)
    remove(output->temporary);
}

size_t linnet_output_file_temporary_length(const char *name) {
  size_t length = strlen(name), mark = sizeof TEMPORARY - 1, digits = 0;
  while (digits < length && name[length - digits - 1] >= '0' && name[length - digits - 1] <= '9')
    digits++;
  bool temporary = digits > 0 && length > digits + mark && strncmp(name + length - digits - mark, TEMPORARY, mark) == 0;
  return temporary ? length - digits - mark : 0;
}

/* --- positions ---------------------------------------------------------------------------------------------------- */

size_t linnet_split_offset(const char *location, uint64_t *offset) {
  size_t length = strlen(location), start = length;
  *offset = 0;
  while (start > 0 && location[start - 1] >= '0' && location[start - 1] <= '9')
    start--;
  if (start == length || length - start > 18 || start < 2 || location[start - 1] != ':')
    return length;
  *offset = strtoull(location + start, NULL, 10);
  return start - 1;
}

/* --- checksums ---------------------------------------------------------------------------------------------------- */

static const uint32_t POLYNOMIAL = 0xEDB88320; /* of degree 32, lowest power in the highest bit */

void linnet_crc32_start(struct linnet_crc32 *crc) {
  crc->value = 0;
  for (uint32_t byte = 0; byte < 256; byte++) {
    crc->table[byte] = byte;
    for (int bit = 0; bit < 8; bit++)
      crc->table[byte] = crc->table[byte] >> 1 ^ (crc->table[byte] & 1 ? POLYNOMIAL : 0);
  }
}

void linnet_crc32_add(struct linnet_crc32 *crc, const void *data, size_t bytes) {
  const unsigned char *byte = data;
  uint32_t value = ~crc->value;
  for (size_t i = 0; i < bytes; i++)
    value = value >> 8 ^ crc->table[(value ^ byte[i]) & 0xFF];
  crc->value = ~value;
}
