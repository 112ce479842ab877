/* The header of NIST SPHERE files: "NIST_1A", its own size, lines "name -i 16000" or "name -s4 text", "end_head". */
#ifndef LINNET_SPHERE_H
#define LINNET_SPHERE_H

#include "frontend/audio/audio_bytes.h"

struct linnet_sphere {
  size_t header_bytes; /* the samples begin here */
  int64_t frames;      /* sample_count; -1: not said */
  double rate;
  int channels;
  bool shortened; /* the samples are an embedded Shorten stream */
  bool coded;     /* in this or another way */
  int bytes;      /* sample_n_bytes of a sample that is not coded; 0: not said */
};

/* Whether the bytes begin like a SPHERE file. */
bool linnet_sphere_found(struct linnet_bytes *bytes);

/* Reads the header; `bytes` is seekable and its position changes. */
enum linnet_status linnet_sphere_read(struct linnet_bytes *bytes, struct linnet_sphere *sphere);

#endif
