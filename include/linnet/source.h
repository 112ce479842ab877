/* A source from which an object is loaded.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_SOURCE_H
#define LINNET_SOURCE_H

#include <stddef.h>

/* A file, or its bytes in memory. The caller may release the bytes once the object that reads them is created. With
 * `data`, `path` is a name for messages and may be NULL. All zeros: no source. */
struct linnet_source {
  const char *path;
  const void *data;
  size_t bytes; /* of `data` */
};

#endif
