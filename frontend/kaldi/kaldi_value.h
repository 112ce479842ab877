/* One matrix of a Kaldi file: reading it from a stream, and its compressed forms. */
#ifndef LINNET_KALDI_VALUE_H
#define LINNET_KALDI_VALUE_H

#include <stdio.h>

#include <linnet/kaldi.h>

#include "base/base.h"
#include "base/file.h"
#include "base/little_endian.h"
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
/* Reads the sizes only: of a binary matrix its header. */
enum linnet_status linnet_kaldi_read_size(struct linnet_kaldi_input *input, size_t *rows, size_t *cols);
enum linnet_status linnet_kaldi_read_cmvn(struct linnet_kaldi_input *input, struct linnet_cmvn *cmvn);

/* --- positions (kaldi_scp.c) -------------------------------------------------------------------------------------- */

/* The position of a matrix: "file:offset". */

/* Opens a file and goes to an offset; `key` is for messages. */
enum linnet_status linnet_kaldi_open_at(struct linnet_context *context, const char *path, uint64_t offset,
                                        const char *key, struct linnet_kaldi_input *input);

/* --- frame shift (frame_shift.c) ---------------------------------------------------------------------------------- */

/* The frame shift of an archive ARK: seconds in the text file ARK.frame_shift. */

/* *seconds is 0 if there is no such file. LINNET_ERROR_FORMAT if its content is not a number above 0. */
enum linnet_status linnet_frame_shift_read(struct linnet_context *context, const char *ark_path, double *seconds);

/* Writes the temporary file to the disk, so that linnet_output_file_commit cannot fail because the disk is full.
 * linnet_output_file_abandon removes it. */
enum linnet_status linnet_frame_shift_prepare(struct linnet_context *context, const char *ark_path, double seconds,
                                              struct linnet_output_file *output);

/* Removes the file of an older archive, if there is one. */
enum linnet_status linnet_frame_shift_remove(struct linnet_context *context, const char *ark_path);

#endif
