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

/* Hard caps of reader and writer. */
enum {
  LINNET_MAX_HEADER_BYTES = 4 << 20,
  LINNET_MAX_HEADER_VALUES = 65536, /* JSON values in the header; bounds what parsing it may cost */
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
  size_t bytes;              /* count times those of an element */
};

struct linnet_metadata {
  const char *key, *value;
};

/* An open file. Strings and data live as long as it does, and as the memory it was opened over. */
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
 * LINNET_ERROR_FORMAT for what is malformed, _LIMIT beyond the caps above, _UNSUPPORTED for element types not listed
 * above. On failure there is nothing to close. */
enum linnet_status linnet_safetensors_open(struct linnet_context *context, const void *data, size_t bytes,
                                           const char *name, struct linnet_safetensors *file);

/* A linnet_head_fn (file.h): whether a file may be one, by its first bytes. */
enum linnet_status linnet_safetensors_check(struct linnet_context *context, const char *path, const unsigned char *head,
                                            size_t bytes);

/* Harmless on a struct of zeros and after a failed open. */
void linnet_safetensors_close(struct linnet_safetensors *file);

/* By name; NULL if there is none. */
const struct linnet_tensor *linnet_safetensors_find(const struct linnet_safetensors *file, const char *name);
const char *linnet_safetensors_metadata(const struct linnet_safetensors *file, const char *key);

/* Elements first .. first + count - 1 of a tensor of type F16, BF16, F32 or F64, converted; F64 is rounded by
 * _floats. False (and nothing written) for other types or beyond the end. */
bool linnet_tensor_floats(const struct linnet_tensor *tensor, size_t first, size_t count, float *values);
bool linnet_tensor_doubles(const struct linnet_tensor *tensor, size_t first, size_t count, double *values);

/* The same for integer types that fit into 32 bits with sign: I8, I16, I32, U8, U16, BOOL. */
bool linnet_tensor_integers(const struct linnet_tensor *tensor, size_t first, size_t count, int32_t *values);

/* Whether all elements of a floating-point tensor are finite; true for other types. */
bool linnet_tensor_finite(const struct linnet_tensor *tensor);

/* Half precision: exact one way; the other rounds to nearest, ties to even, and overflows to infinity. */
float linnet_half_to_float(uint16_t half);
uint16_t linnet_float_to_half(float value);

/* What a file will hold, for the writer. */
struct linnet_tensor_entry {
  const char *name;
  enum linnet_dtype dtype;
  size_t rank, shape[LINNET_MAX_RANK];
};

/* Writes a file: begin, then the data of each entry in their order, then end. `entries` must live until the end. After
 * a failure the writer only fails; the caller abandons the output.
 *
 *   LINNET_TRY(linnet_output_open(context, path, &output));
 *   linnet_writer_begin(context, &output, entries, count, metadata, metadata_count, true, &writer);
 *   for each entry: linnet_writer_floats(&writer, values, n);       // in any number of pieces
 *   if (linnet_writer_end(&writer) == LINNET_OK) linnet_output_commit(&output); else linnet_output_abandon(&output); */
struct linnet_writer {
  struct linnet_context *context;
  struct linnet_output *output;
  const struct linnet_tensor_entry *entries;
  size_t count, current; /* entries, and the one being written */
  size_t left;           /* elements of it still to come */
  bool finite;           /* refuse values that are not finite in the type they are stored in */
  enum linnet_status status;
  struct linnet_crc32 crc; /* of all bytes written so far */
};

enum linnet_status linnet_writer_begin(struct linnet_context *context, struct linnet_output *output,
                                       const struct linnet_tensor_entry *entries, size_t count,
                                       const struct linnet_metadata *metadata, size_t metadata_count, bool finite,
                                       struct linnet_writer *writer);

/* The next n values, of one entry or across several; entries of type F16, F32 or F64 take them converted.
 * LINNET_ERROR_NUMERIC, naming the tensor, for a value that is refused. */
enum linnet_status linnet_writer_floats(struct linnet_writer *writer, const float *values, size_t n);
enum linnet_status linnet_writer_doubles(struct linnet_writer *writer, const double *values, size_t n);

/* The next n elements of the current entry as they shall lie in the file, of any type; not across entries. */
enum linnet_status linnet_writer_raw(struct linnet_writer *writer, const void *elements, size_t n);

/* LINNET_ERROR_STATE if data is missing. Does not commit the output. */
enum linnet_status linnet_writer_end(struct linnet_writer *writer);

#endif
