/* Kaldi's compressed matrices. All begin with the least value and the range of the matrix; values are then
 *
 *   CM2   two bytes per element, row-major: min + range / 65535 * v
 *   CM3   one byte per element, row-major: min + range / 255 * v
 *   CM    for each column four such 16-bit values, its quantiles of 0, 25, 75 and 100 %; then, column by column, one
 *         byte per element, which goes in three straight pieces from quantile to quantile: 0 ... 64 ... 192 ... 255 */
#ifndef LINNET_KALDI_COMPRESS_H
#define LINNET_KALDI_COMPRESS_H

#include <linnet/kaldi.h>

#include "base/base.h"

struct linnet_kaldi_range {
  float min, range;
};

/* Bytes after the header; false if they do not fit into size_t. `form` is one of the three. */
bool linnet_kaldi_packed_bytes(enum linnet_kaldi_form form, size_t rows, size_t cols, size_t *bytes);

/* Values (rows, cols) from and to packed bytes. Packing takes finite values only, and `column`, room for `rows` floats
 * (needed for CM alone). */
void linnet_kaldi_unpack(enum linnet_kaldi_form form, struct linnet_kaldi_range range, size_t rows, size_t cols,
                         const unsigned char *packed, float *values);
struct linnet_kaldi_range linnet_kaldi_range_of(const float *values, size_t n);
void linnet_kaldi_pack(enum linnet_kaldi_form form, struct linnet_kaldi_range range, size_t rows, size_t cols,
                       const float *values, float *column, unsigned char *packed);

#endif
