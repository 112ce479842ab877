/* Decompression of gzip while it is read. One of two files implements it: gunzip_zlib.c, or gunzip_none.c in a build
 * without zlib, where opening fails with a sentence. */
#ifndef LINNET_GUNZIP_H
#define LINNET_GUNZIP_H

#include "base/base.h"

struct linnet_gunzip;

/* Gives the next piece of compressed bytes; *bytes is 0 at the end. The piece lives until the next call. */
typedef enum linnet_status (*linnet_pull_fn)(void *user, const unsigned char **data, size_t *bytes);

enum linnet_status linnet_gunzip_open(struct linnet_context *context, const char *name, linnet_pull_fn pull, void *user,
                                      struct linnet_gunzip **gunzip);

/* Up to `capacity` decompressed bytes; *bytes is 0 at the end. Several members in a row are read as one. Zeros after
 * the last member are padding, as gzip has it; anything else there is an error, and so is a member that ends early. */
enum linnet_status linnet_gunzip_read(struct linnet_gunzip *gunzip, void *buffer, size_t capacity, size_t *bytes);

void linnet_gunzip_close(struct linnet_gunzip *gunzip);

#endif
