/* One matrix of a Kaldi file: reading it from a stream, and its compressed forms. */
#ifndef LINNET_KALDI_VALUE_H
#define LINNET_KALDI_VALUE_H

#include <stdio.h>

#include <linnet/kaldi.h>

#include "base/base.h"
#include "base/reader.h"

/* --- compressed matrices (kaldi_compress.c) ----------------------------------------------------------------------- */

/* Kaldi's compressed matrices. All begin with the minimum and the range of the matrix; values are then
 *
 *   CM2   two bytes per element, row-major: min + range / 65535 * v
 *   CM3   one byte per element, row-major: min + range / 255 * v
 *   CM    for each column four such 16-bit values, its quantiles of 0, 25, 75 and 100 %; then, column by column, one
 *         byte per element, which goes in three straight pieces from quantile to quantile: 0 ... 64 ... 192 ... 255 */

struct linnet_kaldi_range {
  float min, range;
};

/* Bytes after the header; false if they do not fit into size_t. `form` is one of the three. */
bool linnet_kaldi_packed_bytes(enum linnet_kaldi_form form, size_t rows, size_t cols, size_t *bytes);

/* Values (rows, cols) from and to packed bytes. Packing needs finite values, and for CM `column`, scratch of `rows`
 * floats. */
void linnet_kaldi_unpack(enum linnet_kaldi_form form, struct linnet_kaldi_range range, size_t rows, size_t cols,
                         const unsigned char *packed, float *values);
struct linnet_kaldi_range linnet_kaldi_range_of(const float *values, size_t n);
void linnet_kaldi_pack(enum linnet_kaldi_form form, struct linnet_kaldi_range range, size_t rows, size_t cols,
                       const float *values, float *column, unsigned char *packed);

/* --- values (kaldi_value.c) --------------------------------------------------------------------------------------- */

/* A stream that holds matrices. */
struct linnet_kaldi_input {
  struct linnet_context *context;
  FILE *stream;
  char *name;                         /* for messages */
  char key[LINNET_KALDI_MAX_KEY + 1]; /* of the matrix that is being read, "" if it has none */
  unsigned char *raw;                 /* its bytes as in the file */
  size_t capacity;                    /* of raw */
};

/* Copies the name and takes over the stream (NULL: opening failed, with errno). */
enum linnet_status linnet_kaldi_input_open(struct linnet_context *context, FILE *stream, const char *name,
                                           struct linnet_kaldi_input *input);
void linnet_kaldi_input_close(struct linnet_kaldi_input *input); /* harmless on zeros */

/* Reads the key before a matrix; LINNET_END at the end of the file. */
enum linnet_status linnet_kaldi_read_key(struct linnet_kaldi_input *input);

/* Reads the matrix at the present position of the stream. */
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

/* --- positions (kaldi_scp.c) -------------------------------------------------------------------------------------- */

/* The position of a matrix: "file:offset". */

/* Opens a file and goes to an offset; `key` is for messages. */
enum linnet_status linnet_kaldi_open_at(struct linnet_context *context, const char *path, uint64_t offset,
                                        const char *key, struct linnet_kaldi_input *input);

#endif
