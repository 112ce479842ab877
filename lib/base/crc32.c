/* The CRC-32 of zlib by a table. */
#include "base/crc32.h"

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
