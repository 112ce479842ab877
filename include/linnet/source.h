/* Where something is loaded from. */
#ifndef LINNET_SOURCE_H
#define LINNET_SOURCE_H

#include <stddef.h>

/* A file, or its bytes in memory, which may be released once the object that needed them is made. With `data`, `path`
 * is a name for messages and may be NULL. All zeros: none. */
struct linnet_source {
  const char *path;
  const void *data;
  size_t bytes; /* of `data` */
};

#endif
