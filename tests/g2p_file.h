/* What tests and fuzz targets know of the file of joint-sequence models (decoder/g2p/g2p_file.c). */
#ifndef LINNET_TEST_G2P_FILE_H
#define LINNET_TEST_G2P_FILE_H

#include <string.h>

#include "decoder/g2p/g2p.h"

enum { G2P_HEADER = 80, G2P_BYTES = 64, G2P_SUM = 72 };

/* Makes the size and the checksum of a file (bytes) true again after a change. */
static inline void g2p_file_seal(void *file, size_t bytes) {
  if (bytes < G2P_HEADER)
    return;
  unsigned char *at = file;
  uint64_t sum = linnet_g2p_checksum(at + G2P_HEADER, bytes - G2P_HEADER);
  for (int i = 0; i < 8; i++) {
    at[G2P_BYTES + i] = (unsigned char)((uint64_t)bytes >> 8 * i);
    at[G2P_SUM + i] = (unsigned char)(sum >> 8 * i);
  }
}

#endif
