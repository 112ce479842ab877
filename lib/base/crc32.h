/* The CRC-32 of zlib, gzip and PNG, in pieces: the core does not need zlib. It finds every change of up to 32
 * neighbouring bits, and others but for one in 2^32. */
#ifndef LINNET_CRC32_H
#define LINNET_CRC32_H

#include <stddef.h>
#include <stdint.h>

struct linnet_crc32 {
  uint32_t table[256]; /* the change by each byte */
  uint32_t value;      /* of all bytes so far; 0 for none */
};

void linnet_crc32_start(struct linnet_crc32 *crc);
void linnet_crc32_add(struct linnet_crc32 *crc, const void *data, size_t bytes);

#endif
