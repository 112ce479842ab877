/* safetensors files: a bounded reader over memory and a streaming writer.
 *
 *   | 8 bytes: header size n, little-endian | n bytes: JSON | tensor data |
 *
 * The JSON maps the name of each tensor to {"dtype", "shape", "data_offsets": [begin, end]}, the offsets counted from
 * the start of the data, and "__metadata__" to an object of strings. Tensors are row-major, little-endian, and fill
 * the data without gap or overlap. */
#ifndef LINNET_SAFETENSORS_H
#define LINNET_SAFETENSORS_H

#include "base/base.h"
#include "base/file.h"

enum linnet_dtype {
  LINNET_F16,
  LINNET_F32,
  LINNET_F64,
  LINNET_BF16,
  LINNET_I8,
  LINNET_I16,
  LINNET_I32,
  LINNET_I64,
  LINNET_U8,
  LINNET_U16,
  LINNET_U32,
  LINNET_U64,
  LINNET_BOOL
};

/* "F16", "F32", ... */
const char *linnet_dtype_name(enum linnet_dtype dtype);

/* Hard limits of reader and writer. */
enum {
  LINNET_MAX_HEADER_BYTES = 4 << 20,
  LINNET_MAX_HEADER_VALUES = 65536, /* JSON values in the header; this limits the cost of parsing */
  LINNET_MAX_TENSORS = 4096,
  LINNET_MAX_TENSOR_NAME = 127, /* bytes */
  LINNET_MAX_RANK = 8,
  LINNET_MAX_METADATA = 256, /* entries */
  LINNET_MAX_METADATA_KEY = 127
};

/* A tensor of an open file. */
struct linnet_tensor {
  const char *name;
  enum linnet_dtype dtype;
  size_t rank, shape[LINNET_MAX_RANK];
  size_t count;              /* elements: the product of the shape, 1 for rank 0 */
  const unsigned char *data; /* (bytes), not aligned */
  size_t bytes;              /* `count` times the bytes of an element */
};

struct linnet_metadata {
  const char *key, *value;
};

/* An open file. Strings and data are valid as long as this object and the memory of the file. */
struct linnet_safetensors {
  struct linnet_context *context;
  const char *name;              /* for messages; the caller's string */
  struct linnet_tensor *tensors; /* (count), by name in strcmp order */
  size_t count;
  struct linnet_metadata *metadata; /* (metadata_count), in the order of the file */
  size_t metadata_count;
  struct json_t *header; /* owns the strings */
};

/* Opens `bytes` bytes at `data`, which must outlive the file. Everything is validated: sizes, offsets, names, types.
 * LINNET_ERROR_FORMAT for a malformed file, _LIMIT above the hard limits, _UNSUPPORTED for element types that are not
 * listed above. After a failure there is nothing to close. */
enum linnet_status linnet_safetensors_open(struct linnet_context *context, const void *data, size_t bytes,
                                           const char *name, struct linnet_safetensors *file);

/* A linnet_head_fn (file.h): checks the first bytes to decide whether this may be a safetensors file. */
enum linnet_status linnet_safetensors_check(struct linnet_context *context, const char *path, const unsigned char *head,
                                            size_t bytes);

/* Harmless on a struct of zeros and after a failed open. */
void linnet_safetensors_close(struct linnet_safetensors *file);

/* By name; NULL if there is none. */
const struct linnet_tensor *linnet_safetensors_find(const struct linnet_safetensors *file, const char *name);
const char *linnet_safetensors_metadata(const struct linnet_safetensors *file, const char *key);

/* These convert elements first .. first + count - 1 of a tensor of type F16, BF16, F32 or F64. _floats rounds F64. They
 * return false and write nothing for other types and for indices beyond the end. */
bool linnet_tensor_floats(const struct linnet_tensor *tensor, size_t first, size_t count, float *values);
bool linnet_tensor_doubles(const struct linnet_tensor *tensor, size_t first, size_t count, double *values);

/* The same for integer types that fit into 32 bits with sign: I8, I16, I32, U8, U16, BOOL. */
bool linnet_tensor_integers(const struct linnet_tensor *tensor, size_t first, size_t count, int32_t *values);

/* Whether all elements of a floating-point tensor are finite; true for other types. */
bool linnet_tensor_finite(const struct linnet_tensor *tensor);

/* Half precision. The conversion to float is exact. The conversion to half rounds to nearest, ties to even; too large
 * values become infinity. */
float linnet_half_to_float(uint16_t half);
uint16_t linnet_float_to_half(float value);

/* An entry of a file that will be written. */
struct linnet_tensor_entry {
  const char *name;
  enum linnet_dtype dtype;
  size_t rank, shape[LINNET_MAX_RANK];
};

/* Writes a file: begin, then the data of each entry in their order, then end. `entries` must live until the end. After
 * a failure all further calls fail, and the caller must abandon the output.
 *
 *   LINNET_TRY(linnet_output_file_open(context, path, &output));
 *   linnet_writer_begin(context, &output, entries, count, metadata, metadata_count, true, &writer);
 *   for each entry: linnet_writer_floats(&writer, values, n);       // in any number of pieces
 *   if (linnet_writer_end(&writer) == LINNET_OK) linnet_output_file_commit(&output); else
 * linnet_output_file_abandon(&output); */
struct linnet_writer {
  struct linnet_context *context;
  struct linnet_output_file *output;
  const struct linnet_tensor_entry *entries;
  size_t count, current; /* entries, and the one being written */
  size_t left;           /* elements of the current entry that are missing */
  bool finite;           /* refuse values that are not finite in their stored type */
  enum linnet_status status;
  struct linnet_crc32 crc; /* of all bytes written so far */
};

enum linnet_status linnet_writer_begin(struct linnet_context *context, struct linnet_output_file *output,
                                       const struct linnet_tensor_entry *entries, size_t count,
                                       const struct linnet_metadata *metadata, size_t metadata_count, bool finite,
                                       struct linnet_writer *writer);

/* Writes the next n values, of one entry or of several, converted to the entry's type F16, F32 or F64.
 * LINNET_ERROR_NUMERIC, which names the tensor, for a value that is refused. */
enum linnet_status linnet_writer_floats(struct linnet_writer *writer, const float *values, size_t n);
enum linnet_status linnet_writer_doubles(struct linnet_writer *writer, const double *values, size_t n);

/* Writes the next n elements of the current entry in the bytes of the file; any type; not across entries. */
enum linnet_status linnet_writer_raw(struct linnet_writer *writer, const void *elements, size_t n);

/* LINNET_ERROR_STATE if data is missing. Does not commit the output. */
enum linnet_status linnet_writer_end(struct linnet_writer *writer);

#endif
