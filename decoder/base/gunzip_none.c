/* Builds without zlib: a file that is compressed by gzip is refused with a message. */
#include "decoder/base/text_file.h"

enum linnet_status linnet_gunzip_open(struct linnet_context *context, const char *name, linnet_pull_fn pull, void *user,
                                      struct linnet_gunzip **gunzip) {
  (void)pull, (void)user;
  *gunzip = NULL;
  return linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                     "%s: is compressed by gzip, but this build has no zlib: use gunzip first", name);
}

enum linnet_status linnet_gunzip_read(struct linnet_gunzip *gunzip, void *buffer, size_t capacity, size_t *bytes) {
  (void)gunzip, (void)buffer, (void)capacity;
  *bytes = 0;
  return LINNET_ERROR_UNSUPPORTED;
}

void linnet_gunzip_close(struct linnet_gunzip *gunzip) {
  (void)gunzip;
}
