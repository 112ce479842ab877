/* One matrix of a Kaldi file: reading it from a stream, and its compressed forms. */
#ifndef LINNET_KALDI_VALUE_H
#define LINNET_KALDI_VALUE_H

#include <stdio.h>

#include <linnet/kaldi.h>

#include "base/reader.h"

/* A stream that holds matrices. */
struct linnet_kaldi_input {
  struct linnet_context *context;
  FILE *stream;
  char *name;                         /* for messages */
  char key[LINNET_KALDI_MAX_KEY + 1]; /* of the matrix that is being read, "" if it has none */
  unsigned char *raw;                 /* its bytes as they lie in the file */
  size_t capacity;                    /* of raw */
};

/* Takes the name by copy, and the stream, which it closes (NULL is a failure to open, with errno set). */
enum linnet_status linnet_kaldi_input_open(struct linnet_context *context, FILE *stream, const char *name,
                                           struct linnet_kaldi_input *input);
void linnet_kaldi_input_close(struct linnet_kaldi_input *input); /* harmless on zeros */

/* Reads the key before a matrix; LINNET_END at the end of the file. */
enum linnet_status linnet_kaldi_read_key(struct linnet_kaldi_input *input);

/* Reads the matrix at which the stream stands. */
enum linnet_status linnet_kaldi_read_matrix(struct linnet_kaldi_input *input, struct linnet_matrix *matrix);
enum linnet_status linnet_kaldi_read_cmvn(struct linnet_kaldi_input *input, struct linnet_cmvn *cmvn);

/* Little-endian, wherever we run, as linnet_load_u32 is. */
static inline void linnet_store_u32(unsigned char *b, uint32_t value) {
  b[0] = (unsigned char)value;
  b[1] = (unsigned char)(value >> 8);
  b[2] = (unsigned char)(value >> 16);
  b[3] = (unsigned char)(value >> 24);
}

static inline float linnet_load_float(const unsigned char *b) {
  union {
    uint32_t bits;
    float value;
  } word = {.bits = linnet_load_u32(b)};
  return word.value;
}

static inline double linnet_load_double(const unsigned char *b) {
  union {
    uint64_t bits;
    double value;
  } word = {.bits = linnet_load_u32(b) | (uint64_t)linnet_load_u32(b + 4) << 32};
  return word.value;
}

static inline void linnet_store_float(unsigned char *b, float value) {
  union {
    float value;
    uint32_t bits;
  } word = {.value = value};
  linnet_store_u32(b, word.bits);
}

static inline void linnet_store_double(unsigned char *b, double value) {
  union {
    double value;
    uint64_t bits;
  } word = {.value = value};
  linnet_store_u32(b, (uint32_t)word.bits);
  linnet_store_u32(b + 4, (uint32_t)(word.bits >> 32));
}

#endif
