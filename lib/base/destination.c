/* Follows links and descriptors to the file that an output goes to, and flushes it to disk. */
#include "base/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINKS = 40 };

void linnet_destination_folder(const char *path, char folder[LINNET_PATH_BYTES]) {
  const char *slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) + (slash == path) : 1;
  memcpy(folder, slash ? path : ".", length);
  folder[length] = '\0';
}

/* Recognises the entries of /proc for open descriptors: their links cannot be followed by name. */
static void find_descriptor(struct linnet_destination *to, const char *folder) {
  char own[64], *end, *real = realpath(folder, NULL);
  const char *slash = strrchr(to->path, '/'), *name = slash ? slash + 1 : to->path;
  if (!real)
    return;
  snprintf(own, sizeof own, "/proc/%ld/fd", (long)getpid());
  long number = strtol(name, &end, 10);
  if (strcmp(real, own) == 0 && *name >= '0' && *name <= '9' && *end == '\0' && number <= INT_MAX)
    to->descriptor = (int)number;
  to->direct = strncmp(real, "/proc/", 6) == 0;
  free(real);
}

/* Replaces the path by the target of the link. */
static bool follow(struct linnet_destination *to, const char *folder) {
  char link[LINNET_PATH_BYTES], path[2 * LINNET_PATH_BYTES];
  ssize_t length = readlink(to->path, link, sizeof link);
  if (length < 0)
    return false;
  bool fits = (size_t)length < sizeof link;
  int total = fits ? snprintf(path, sizeof path, "%s%s%.*s", *link == '/' ? "" : folder, *link == '/' ? "" : "/",
                              (int)length, link)
                   : -1;
  if (total < 0 || (size_t)total >= sizeof to->path) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(to->path, path, (size_t)total + 1);
  return true;
}

bool linnet_destination_find(const char *path, struct linnet_destination *to) {
  char folder[LINNET_PATH_BYTES];
  *to = (struct linnet_destination){.descriptor = -1};
  errno = ENAMETOOLONG;
  size_t length = strlen(path);
  if (length >= sizeof to->path)
    return false;
  memcpy(to->path, path, length + 1);
  for (int links = 0; links <= MAX_LINKS; links++) {
    struct stat information;
    linnet_destination_folder(to->path, folder);
    find_descriptor(to, folder);
    if (to->direct || lstat(to->path, &information) != 0 || S_ISREG(information.st_mode))
      return true;
    to->direct = !S_ISLNK(information.st_mode);
    if (to->direct)
      return true;
    if (!follow(to, folder))
      return false;
  }
  errno = ELOOP;
  return false;
}

FILE *linnet_destination_open(const struct linnet_destination *destination) {
  if (destination->descriptor < 0)
    return fopen(destination->path, "wb");
  int flags = fcntl(destination->descriptor, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
    errno = EBADF; /* as for write() */
    return NULL;
  }
  int copy = fcntl(destination->descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  FILE *stream = copy >= 0 ? fdopen(copy, "wb") : NULL;
  if (copy >= 0 && !stream) {
    int error = errno;
    close(copy);
    errno = error;
  }
  return stream;
}

/* stdio does not store why an earlier write failed. Writing the rest of the buffer, or a newline after the incomplete
 * output, fails for the same reason and gives its errno. */
int linnet_destination_flush(FILE *stream, bool sync) {
  bool failed = ferror(stream) != 0;
  errno = 0;
  bool good = fflush(stream) == 0;
  if (good && failed)
    good = putc('\n', stream) != EOF && fflush(stream) == 0;
  if (!good || (!failed && sync && fsync(fileno(stream)) != 0))
    return errno > 0 ? errno : EIO;
  return failed ? EIO : 0;
}
