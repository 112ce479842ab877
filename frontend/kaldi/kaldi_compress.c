/* Packs and unpacks Kaldi's compressed matrices. */
#include "frontend/kaldi/kaldi_value.h"

#include <math.h>
#include <stdlib.h>

enum { COLUMN_HEADER = 8 }; /* bytes: four quantiles */

bool linnet_kaldi_packed_bytes(enum linnet_kaldi_form form, size_t rows, size_t cols, size_t *bytes) {
  size_t headers = 0;
  if (form == LINNET_KALDI_CM && !linnet_mul_size(cols, COLUMN_HEADER, &headers))
    return false;
  return linnet_mul_size(rows, cols, bytes) && linnet_mul_size(*bytes, form == LINNET_KALDI_CM2 ? 2 : 1, bytes) &&
         linnet_add_size(*bytes, headers, bytes);
}

static void store_u16(unsigned char *b, unsigned value) {
  b[0] = (unsigned char)value;
  b[1] = (unsigned char)(value >> 8);
}

static float from_u16(struct linnet_kaldi_range range, unsigned value) {
  return range.min + range.range * (1.0f / 65535) * (float)value;
}

static float from_u8(struct linnet_kaldi_range range, unsigned value) {
  return range.min + range.range * (1.0f / 255) * (float)value;
}

/* value / length, limited to 0 to 1. The result is valid also if `length` is 0 and the quotient infinite or NaN, which
 * cannot be converted to an integer. */
static float share_of(float value, float length) {
  float share = value / length;
  return share > 1 ? 1 : share > 0 ? share : 0;
}

/* The nearest integer in 0 ... max_step, rounded as in Kaldi. */
static unsigned to_steps(struct linnet_kaldi_range range, float value, unsigned max_step) {
  return (unsigned)(share_of(value - range.min, range.range) * (float)max_step + 0.499f);
}

/* --- CM: one column ------------------------------------------------------------------------------------------- */

struct quantiles {
  float q0, q25, q75, q100;
};

static struct quantiles load_quantiles(struct linnet_kaldi_range range, const unsigned char *header) {
  return (struct quantiles){from_u16(range, linnet_load_u16(header)), from_u16(range, linnet_load_u16(header + 2)),
                            from_u16(range, linnet_load_u16(header + 4)), from_u16(range, linnet_load_u16(header + 6))};
}

static float from_byte(const struct quantiles *q, unsigned value) {
  if (value <= 64)
    return q->q0 + (q->q25 - q->q0) * (float)value * (1 / 64.0f);
  if (value <= 192)
    return q->q25 + (q->q75 - q->q25) * (float)(value - 64) * (1 / 128.0f);
  return q->q75 + (q->q100 - q->q75) * (float)(value - 192) * (1 / 63.0f);
}

/* Maps `value` linearly from [low, high] to first ... last. Quantiles of values that are large and close together can
 * be equal as floats. */
static unsigned char piece(float value, float low, float high, int first, int last) {
  return (unsigned char)(first + (int)(share_of(value - low, high - low) * (float)(last - first) + 0.5f));
}

static unsigned char to_byte(const struct quantiles *q, float value) {
  if (value < q->q25)
    return piece(value, q->q0, q->q25, 0, 64);
  if (value < q->q75)
    return piece(value, q->q25, q->q75, 64, 192);
  return piece(value, q->q75, q->q100, 192, 255);
}

static int by_value(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static unsigned larger(unsigned value, unsigned low) {
  return value < low ? low : value;
}

static unsigned smaller(unsigned value, unsigned high) {
  return value > high ? high : value;
}

/* The quantiles of a column, which is sorted here. Each is larger than the one before by at least one step. A column of
 * fewer than five values uses all of them as quantiles. */
static void store_quantiles(struct linnet_kaldi_range range, float *column, size_t rows, unsigned char *header) {
  qsort(column, rows, sizeof *column, by_value);
  size_t at[4] = {0, rows / 4, 3 * (rows / 4), rows - 1};
  for (size_t i = 0; i < 4 && rows < 5; i++)
    at[i] = i < rows ? i : rows - 1;
  unsigned previous = 0;
  for (unsigned i = 0; i < 4; i++) {
    unsigned step = to_steps(range, column[at[i]], 65535);
    if (i > 0)
      step = larger(step, previous + 1);
    previous = smaller(step, 65532 + i);
    store_u16(header + 2 * i, previous);
  }
}

static void pack_columns(struct linnet_kaldi_range range, size_t rows, size_t cols, const float *values, float *column,
                         unsigned char *packed) {
  unsigned char *bytes = packed + COLUMN_HEADER * cols;
  for (size_t c = 0; c < cols; c++) {
    for (size_t r = 0; r < rows; r++)
      column[r] = values[r * cols + c];
    store_quantiles(range, column, rows, packed + COLUMN_HEADER * c);
    struct quantiles q = load_quantiles(range, packed + COLUMN_HEADER * c);
    for (size_t r = 0; r < rows; r++)
      bytes[c * rows + r] = to_byte(&q, values[r * cols + c]);
  }
}

static void unpack_columns(struct linnet_kaldi_range range, size_t rows, size_t cols, const unsigned char *packed,
                           float *values) {
  const unsigned char *bytes = packed + COLUMN_HEADER * cols;
  for (size_t c = 0; c < cols; c++) {
    struct quantiles q = load_quantiles(range, packed + COLUMN_HEADER * c);
    for (size_t r = 0; r < rows; r++)
      values[r * cols + c] = from_byte(&q, bytes[c * rows + r]);
  }
}

/* --- Whole matrices ------------------------------------------------------------------------------------------- */

void linnet_kaldi_unpack(enum linnet_kaldi_form form, struct linnet_kaldi_range range, size_t rows, size_t cols,
                         const unsigned char *packed, float *values) {
  if (rows * cols == 0)
    return; /* the block may be NULL */
  if (form == LINNET_KALDI_CM) {
    unpack_columns(range, rows, cols, packed, values);
    return;
  }
  for (size_t i = 0; i < rows * cols; i++)
    values[i] = form == LINNET_KALDI_CM2 ? from_u16(range, linnet_load_u16(packed + 2 * i)) : from_u8(range, packed[i]);
}

struct linnet_kaldi_range linnet_kaldi_range_of(const float *values, size_t n) {
  float low = n > 0 ? values[0] : 0, high = low;
  for (size_t i = 1; i < n; i++) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  if (low == high)
    high = low + 1 + fabsf(low);
  return (struct linnet_kaldi_range){low, high - low};
}

void linnet_kaldi_pack(enum linnet_kaldi_form form, struct linnet_kaldi_range range, size_t rows, size_t cols,
                       const float *values, float *column, unsigned char *packed) {
  if (form == LINNET_KALDI_CM) {
    pack_columns(range, rows, cols, values, column, packed);
    return;
  }
  for (size_t i = 0; i < rows * cols; i++)
    if (form == LINNET_KALDI_CM2)
      store_u16(packed + 2 * i, to_steps(range, values[i], 65535));
    else
      packed[i] = (unsigned char)to_steps(range, values[i], 255);
}
