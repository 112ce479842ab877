/* What tests and fuzz targets know of the binary form of n-gram models (decoder/ngram/ngram_binary.c). */
#ifndef LINNET_TEST_NGRAM_FILE_H
#define LINNET_TEST_NGRAM_FILE_H

#include <string.h>

#include "decoder/ngram/ngram_model.h"

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

#endif
