/* Files of n-gram models for tests and fuzz targets: the binary form, and gzip. */
#ifndef LINNET_TEST_NGRAM_FILE_H
#define LINNET_TEST_NGRAM_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "decoder/ngram/ngram_model.h"

/* --- the binary form ---------------------------------------------------------------------------------------------- */

/* The layout of the binary form of n-gram models, for tests and fuzz targets (decoder/ngram/ngram_binary.c). */

enum { NGRAM_HEADER = 128, NGRAM_BODY_SUM = 88, NGRAM_HEADER_SUM = 120 };

/* Makes the checksums of a file (bytes) true again after a change. */
static inline void ngram_file_seal(void *file, size_t bytes) {
  if (bytes < NGRAM_HEADER)
    return;
  char *at = file;
  uint64_t sum = linnet_ngram_checksum(at + NGRAM_HEADER, bytes - NGRAM_HEADER);
  memcpy(at + NGRAM_BODY_SUM, &sum, sizeof sum);
  sum = linnet_ngram_checksum(at, NGRAM_HEADER_SUM);
  memcpy(at + NGRAM_HEADER_SUM, &sum, sizeof sum);
}

/* --- gzip --------------------------------------------------------------------------------------------------------- */

/* gzip data for tests and fuzz targets, made without zlib: text in stored blocks, so it is as long as the text. */

enum { GZIP_BLOCK = 65535, GZIP_FRAME = 18 };

/* Bytes of a gzip member with `size` bytes of content. */
static inline size_t gzip_bytes(size_t size) {
  size_t blocks = size > 0 ? (size + GZIP_BLOCK - 1) / GZIP_BLOCK : 1;
  return GZIP_FRAME + 5 * blocks + size;
}

static inline uint32_t gzip_crc(const uint8_t *data, size_t size) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < size; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

static inline void gzip_integer(uint8_t *to, uint32_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    to[i] = (uint8_t)(value >> 8 * i);
}

/* Writes a member, gzip_bytes(size) bytes; returns the address after it. */
static inline uint8_t *gzip_member(const uint8_t *data, size_t size, uint8_t *to) {
  static const uint8_t header[10] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255};
  memcpy(to, header, sizeof header);
  to += sizeof header;
  for (size_t at = 0, n; at == 0 || at < size; at += n + (size == 0)) {
    n = size - at < GZIP_BLOCK ? size - at : GZIP_BLOCK;
    *to = at + n == size;
    gzip_integer(to + 1, (uint32_t)n, 2);
    gzip_integer(to + 3, ~(uint32_t)n, 2);
    memcpy(to + 5, data + at, n);
    to += 5 + n;
  }
  gzip_integer(to, gzip_crc(data, size), 4);
  gzip_integer(to + 4, (uint32_t)size, 4);
  return to + 8;
}

#endif
