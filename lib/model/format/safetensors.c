/* Reads and writes safetensors files; every offset and size is checked before it is used. */
#include "model/format/safetensors.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "model/format/bounded_json.h"

#define METADATA_KEY "__metadata__"

/* --- element types -------------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  size_t bytes;
} dtypes[] = {
    [LINNET_F16] = {"F16", 2},  [LINNET_F32] = {"F32", 4}, [LINNET_F64] = {"F64", 8}, [LINNET_BF16] = {"BF16", 2},
    [LINNET_I8] = {"I8", 1},    [LINNET_I16] = {"I16", 2}, [LINNET_I32] = {"I32", 4}, [LINNET_I64] = {"I64", 8},
    [LINNET_U8] = {"U8", 1},    [LINNET_U16] = {"U16", 2}, [LINNET_U32] = {"U32", 4}, [LINNET_U64] = {"U64", 8},
    [LINNET_BOOL] = {"BOOL", 1}};

enum { DTYPE_COUNT = sizeof dtypes / sizeof *dtypes };

const char *linnet_dtype_name(enum linnet_dtype dtype) {
  return dtypes[dtype].name;
}

static bool dtype_by_name(const char *name, enum linnet_dtype *dtype) {
  for (size_t i = 0; i < DTYPE_COUNT; i++)
    if (strcmp(dtypes[i].name, name) == 0) {
      *dtype = (enum linnet_dtype)i;
      return true;
    }
  return false;
}

/* The product of a shape and its size in bytes; false if either wraps. */
static bool measure_shape(enum linnet_dtype dtype, size_t rank, const size_t *shape, size_t *count, size_t *bytes) {
  *count = 1;
  for (size_t i = 0; i < rank; i++)
    if (!linnet_mul_size(*count, shape[i], count))
      return false;
  return linnet_mul_size(*count, dtypes[dtype].bytes, bytes);
}

/* --- half precision ------------------------------------------------------------------------------------------- */

static float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* binary16: sign 1, exponent 5 (bias 15), fraction 10; binary32: 1, 8 (bias 127), 23. */
float linnet_half_to_float(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  uint32_t exponent = half >> 10 & 0x1F, fraction = half & 0x3FF;
  if (exponent == 0x1F)
    return float_of_bits(sign | 0x7F800000 | fraction << 13);
  if (exponent > 0)
    return float_of_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
  float value = (float)fraction * 0x1p-24f; /* subnormal; exact */
  return sign ? -value : value;
}

/* The magnitude is below 2^-14, the minimum normal half: it becomes a multiple of 2^-24, rounded to even. */
static uint16_t round_subnormal(float magnitude) {
  float scaled = magnitude * 0x1p24f; /* exact, below 1024 */
  uint32_t whole = (uint32_t)scaled;
  float rest = scaled - (float)whole;
  if (rest > 0.5f || (rest == 0.5f && whole % 2 == 1))
    whole++;
  return (uint16_t)whole; /* 1024 is the encoding of the minimum normal number */
}

uint16_t linnet_float_to_half(float value) {
  uint32_t bits = bits_of_float(value), magnitude = bits & 0x7FFFFFFF;
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  if (magnitude > 0x7F800000)
    return sign | 0x7E00; /* NaN */
  if (magnitude >= 0x477FF000)
    return sign | 0x7C00; /* 65520 and above, which is half a step above the maximum, become infinity */
  if (magnitude < 0x38800000)
    return sign | round_subnormal(float_of_bits(magnitude));
  uint32_t odd = magnitude >> 13 & 1;
  uint32_t rounded = magnitude + 0xFFF + odd; /* to nearest, ties to even; may carry into the exponent */
  return (uint16_t)(sign | ((rounded >> 13) - ((127 - 15) << 10)));
}

/* --- reading elements ----------------------------------------------------------------------------------------- */

/* 1, 2, 4 or 8 little-endian bytes as a number. */
static uint64_t load(const unsigned char *data, size_t bytes) {
  switch (bytes) {
  case 1:
    return data[0];
  case 2:
    return linnet_load_u16(data);
  case 4:
    return linnet_load_u32(data);
  default:
    return linnet_load_u64(data);
  }
}

/* The start of elements first .. first + count - 1, NULL beyond the end. */
static const unsigned char *elements(const struct linnet_tensor *tensor, size_t first, size_t count) {
  if (first > tensor->count || count > tensor->count - first)
    return NULL;
  return tensor->data + first * dtypes[tensor->dtype].bytes;
}

bool linnet_tensor_floats(const struct linnet_tensor *tensor, size_t first, size_t count, float *values) {
  const unsigned char *data = elements(tensor, first, count);
  if (!data)
    return false;
  switch (tensor->dtype) {
  case LINNET_F32:
    for (size_t i = 0; i < count; i++)
      values[i] = linnet_load_float(data + 4 * i);
    return true;
  case LINNET_F16:
    for (size_t i = 0; i < count; i++)
      values[i] = linnet_half_to_float(linnet_load_u16(data + 2 * i));
    return true;
  case LINNET_BF16:
    for (size_t i = 0; i < count; i++)
      values[i] = float_of_bits((uint32_t)linnet_load_u16(data + 2 * i) << 16);
    return true;
  case LINNET_F64:
    for (size_t i = 0; i < count; i++)
      values[i] = (float)linnet_load_double(data + 8 * i);
    return true;
  default:
    return false;
  }
}

bool linnet_tensor_doubles(const struct linnet_tensor *tensor, size_t first, size_t count, double *values) {
  const unsigned char *data = elements(tensor, first, count);
  if (!data)
    return false;
  float value;
  for (size_t i = 0; i < count; i++) {
    if (tensor->dtype == LINNET_F64)
      values[i] = linnet_load_double(data + 8 * i);
    else if (linnet_tensor_floats(tensor, first + i, 1, &value))
      values[i] = value;
    else
      return false;
  }
  return true;
}

static int32_t load_integer(enum linnet_dtype dtype, const unsigned char *data) {
  uint32_t bits = (uint32_t)load(data, dtypes[dtype].bytes);
  switch (dtype) {
  case LINNET_I8:
    return (int32_t)(bits ^ 0x80) - 0x80;
  case LINNET_I16:
    return (int32_t)(bits ^ 0x8000) - 0x8000;
  default:
    return bits <= INT32_MAX ? (int32_t)bits : -(int32_t)(UINT32_MAX - bits) - 1;
  }
}

bool linnet_tensor_integers(const struct linnet_tensor *tensor, size_t first, size_t count, int32_t *values) {
  const unsigned char *data = elements(tensor, first, count);
  enum linnet_dtype dtype = tensor->dtype;
  bool fits = dtype == LINNET_I8 || dtype == LINNET_I16 || dtype == LINNET_I32 || dtype == LINNET_U8 ||
              dtype == LINNET_U16 || dtype == LINNET_BOOL;
  if (!data || !fits)
    return false;
  for (size_t i = 0; i < count; i++)
    values[i] = load_integer(dtype, data + i * dtypes[dtype].bytes);
  return true;
}

/* If all bits of the exponent are set, the value is not finite. */
bool linnet_tensor_finite(const struct linnet_tensor *tensor) {
  uint64_t exponent;
  switch (tensor->dtype) {
  case LINNET_F16:
    exponent = 0x7C00;
    break;
  case LINNET_BF16:
    exponent = 0x7F80;
    break;
  case LINNET_F32:
    exponent = 0x7F800000;
    break;
  case LINNET_F64:
    exponent = 0x7FF0000000000000;
    break;
  default:
    return true;
  }
  size_t bytes = dtypes[tensor->dtype].bytes;
  for (size_t i = 0; i < tensor->count; i++)
    if ((load(tensor->data + i * bytes, bytes) & exponent) == exponent)
      return false;
  return true;
}

/* --- opening a file ------------------------------------------------------------------------------------------- */

static const struct linnet_json_limits header_limits = {
    .bytes = LINNET_MAX_HEADER_BYTES, .depth = 3, .values = LINNET_MAX_HEADER_VALUES};

/* Reads the size and the text of the header; the rest in the reader is the data. */
static enum linnet_status take_header(const struct linnet_safetensors *file, struct linnet_reader *reader,
                                      const char **text, size_t *bytes) {
  uint64_t size;
  if (!linnet_reader_u64(reader, &size))
    return linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: %zu bytes are too short for a safetensors file",
                       file->name, reader->size);
  if (size > linnet_reader_left(reader))
    return linnet_fail(file->context, LINNET_ERROR_FORMAT,
                       "%s: a header of %llu bytes is announced, but %zu bytes follow: the file is truncated, or not a "
                       "safetensors file",
                       file->name, (unsigned long long)size, linnet_reader_left(reader));
  if (size > LINNET_MAX_HEADER_BYTES)
    return linnet_fail(file->context, LINNET_ERROR_LIMIT, "%s: the header has %llu bytes; at most %d are read",
                       file->name, (unsigned long long)size, LINNET_MAX_HEADER_BYTES);
  *bytes = (size_t)size;
  *text = linnet_reader_take(reader, *bytes);
  if (*bytes == 0 || (*text)[0] != '{')
    return linnet_fail(file->context, LINNET_ERROR_FORMAT,
                       "%s: not a safetensors file: the header does not start with '{'", file->name);
  return LINNET_OK;
}

enum linnet_status linnet_safetensors_check(struct linnet_context *context, const char *path, const unsigned char *head,
                                            size_t bytes) {
  struct linnet_reader reader = {.data = head, .size = bytes};
  uint64_t size;
  const unsigned char *brace;
  if (!linnet_reader_u64(&reader, &size) || !(brace = linnet_reader_take(&reader, 1)))
    return LINNET_OK; /* too short; linnet_safetensors_open reports it */
  if (size > 0 && size <= LINNET_MAX_HEADER_BYTES && *brace == '{')
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_FORMAT,
                     "%s: not a safetensors file: it does not begin with the length of a header and '{'", path);
}

static enum linnet_status fail_tensor(const struct linnet_safetensors *file, const char *tensor,
                                      enum linnet_status status, const char *what) {
  return linnet_fail(file->context, status, "%s: tensor \"%s\": %s", file->name, linnet_excerpt(tensor).text, what);
}

static enum linnet_status read_dtype(const struct linnet_safetensors *file, const json_t *value,
                                     struct linnet_tensor *tensor) {
  const char *name = json_string_value(value);
  if (!name)
    return fail_tensor(file, tensor->name, LINNET_ERROR_FORMAT, "\"dtype\" is not a string");
  if (dtype_by_name(name, &tensor->dtype))
    return LINNET_OK;
  return linnet_fail(file->context, LINNET_ERROR_UNSUPPORTED, "%s: tensor \"%s\": unknown dtype \"%s\"", file->name,
                     linnet_excerpt(tensor->name).text, linnet_excerpt(name).text);
}

static enum linnet_status read_shape(const struct linnet_safetensors *file, const json_t *value,
                                     struct linnet_tensor *tensor) {
  if (!json_is_array(value))
    return fail_tensor(file, tensor->name, LINNET_ERROR_FORMAT, "\"shape\" is not an array");
  tensor->rank = json_array_size(value);
  if (tensor->rank > LINNET_MAX_RANK)
    return fail_tensor(file, tensor->name, LINNET_ERROR_LIMIT, "\"shape\" has more than 8 dimensions");
  for (size_t i = 0; i < tensor->rank; i++)
    if (!linnet_json_size(json_array_get(value, i), &tensor->shape[i]))
      return fail_tensor(file, tensor->name, LINNET_ERROR_FORMAT, "\"shape\" holds values that are not sizes");
  if (!measure_shape(tensor->dtype, tensor->rank, tensor->shape, &tensor->count, &tensor->bytes))
    return fail_tensor(file, tensor->name, LINNET_ERROR_FORMAT, "the product of \"shape\" overflows");
  return LINNET_OK;
}

static enum linnet_status read_offsets(const struct linnet_safetensors *file, const json_t *value,
                                       const struct linnet_reader *data, struct linnet_tensor *tensor) {
  size_t begin, end;
  if (json_array_size(value) != 2 || !linnet_json_size(json_array_get(value, 0), &begin) ||
      !linnet_json_size(json_array_get(value, 1), &end))
    return fail_tensor(file, tensor->name, LINNET_ERROR_FORMAT, "\"data_offsets\" is not a pair of sizes");
  if (begin > end || end > linnet_reader_left(data))
    return fail_tensor(file, tensor->name, LINNET_ERROR_FORMAT,
                       "\"data_offsets\" lie outside the data: the file is truncated or damaged");
  if (end - begin != tensor->bytes)
    return fail_tensor(file, tensor->name, LINNET_ERROR_FORMAT,
                       "\"data_offsets\" do not agree with \"dtype\" and \"shape\"");
  tensor->data = data->data + data->position + begin;
  return LINNET_OK;
}

/* One entry {"dtype", "shape", "data_offsets"} of the header; `data` is a reader at the start of the data. */
static enum linnet_status read_tensor(const struct linnet_safetensors *file, const char *name, const json_t *value,
                                      const struct linnet_reader *data, struct linnet_tensor *tensor) {
  static const char *const keys[] = {"dtype", "shape", "data_offsets", NULL};
  *tensor = (struct linnet_tensor){.name = name};
  if (name[0] == '\0')
    return fail_tensor(file, name, LINNET_ERROR_FORMAT, "the name is empty");
  if (strlen(name) > LINNET_MAX_TENSOR_NAME)
    return fail_tensor(file, name, LINNET_ERROR_LIMIT, "the name is longer than 127 bytes");
  LINNET_TRY(linnet_json_object(file->context, file->name, linnet_excerpt(name).text, value, keys, 3).status);
  LINNET_TRY(read_dtype(file, json_object_get(value, "dtype"), tensor));
  LINNET_TRY(read_shape(file, json_object_get(value, "shape"), tensor));
  return read_offsets(file, json_object_get(value, "data_offsets"), data, tensor);
}

static int compare_data(const void *left, const void *right) {
  const struct linnet_tensor *a = left, *b = right;
  if (a->data != b->data)
    return a->data < b->data ? -1 : 1;
  return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static int compare_name(const void *left, const void *right) {
  const struct linnet_tensor *a = left, *b = right;
  return strcmp(a->name, b->name);
}

/* The tensors must fill the data: each begins at the end of the one before. */
static enum linnet_status check_layout(struct linnet_safetensors *file, const struct linnet_reader *data) {
  const unsigned char *expected = data->data + data->position, *end = data->data + data->size;
  if (file->count > 0)
    qsort(file->tensors, file->count, sizeof *file->tensors, compare_data);
  for (size_t i = 0; i < file->count; i++) {
    const struct linnet_tensor *tensor = &file->tensors[i];
    if (tensor->data < expected)
      return fail_tensor(file, tensor->name, LINNET_ERROR_FORMAT, "its data overlap those of another tensor");
    if (tensor->data > expected)
      return fail_tensor(file, tensor->name, LINNET_ERROR_FORMAT, "there is a gap before its data");
    expected += tensor->bytes;
  }
  if (expected != end)
    return linnet_fail(file->context, LINNET_ERROR_FORMAT,
                       "%s: the %zu bytes after the last tensor belong to no tensor", file->name,
                       (size_t)(end - expected));
  return LINNET_OK;
}

static enum linnet_status read_tensors(struct linnet_safetensors *file, const struct linnet_reader *data) {
  size_t count = json_object_size(file->header) - (json_object_get(file->header, METADATA_KEY) ? 1 : 0);
  if (count > LINNET_MAX_TENSORS)
    return linnet_fail(file->context, LINNET_ERROR_LIMIT, "%s: %zu tensors; at most %d are read", file->name, count,
                       LINNET_MAX_TENSORS);
  file->tensors = linnet_alloc(file->context, count, sizeof *file->tensors);
  if (!file->tensors)
    return linnet_fail(file->context, LINNET_ERROR_MEMORY, "%s: out of memory for %zu tensors", file->name, count);
  const char *name;
  json_t *value;
  json_object_foreach(file->header, name, value) {
    if (strcmp(name, METADATA_KEY) != 0)
      LINNET_TRY(read_tensor(file, name, value, data, &file->tensors[file->count++]));
  }
  LINNET_TRY(check_layout(file, data));
  if (count > 0)
    qsort(file->tensors, count, sizeof *file->tensors, compare_name);
  return LINNET_OK;
}

static enum linnet_status read_metadata_entry(const struct linnet_safetensors *file, const char *key,
                                              const json_t *value, struct linnet_metadata *entry) {
  if (strlen(key) > LINNET_MAX_METADATA_KEY)
    return linnet_fail(file->context, LINNET_ERROR_LIMIT, "%s: metadata key \"%s\" is longer than %d bytes", file->name,
                       linnet_excerpt(key).text, LINNET_MAX_METADATA_KEY);
  if (!json_is_string(value))
    return linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: metadata \"%s\" is not a string", file->name,
                       linnet_excerpt(key).text);
  *entry = (struct linnet_metadata){key, json_string_value(value)};
  return LINNET_OK;
}

static enum linnet_status read_metadata(struct linnet_safetensors *file) {
  json_t *map = json_object_get(file->header, METADATA_KEY), *value;
  if (!map)
    return LINNET_OK;
  if (!json_is_object(map))
    return linnet_fail(file->context, LINNET_ERROR_FORMAT, "%s: \"" METADATA_KEY "\" is not a JSON object", file->name);
  if (json_object_size(map) > LINNET_MAX_METADATA)
    return linnet_fail(file->context, LINNET_ERROR_LIMIT, "%s: %zu entries of metadata; at most %d are read",
                       file->name, json_object_size(map), LINNET_MAX_METADATA);
  file->metadata = linnet_alloc(file->context, json_object_size(map), sizeof *file->metadata);
  if (!file->metadata)
    return linnet_fail(file->context, LINNET_ERROR_MEMORY, "%s: out of memory for metadata", file->name);
  const char *key;
  json_object_foreach(map, key, value) {
    LINNET_TRY(read_metadata_entry(file, key, value, &file->metadata[file->metadata_count]));
    file->metadata_count++;
  }
  return LINNET_OK;
}

static enum linnet_status open_file(struct linnet_safetensors *file, struct linnet_reader *reader) {
  const char *text = NULL;
  size_t bytes = 0;
  LINNET_TRY(take_header(file, reader, &text, &bytes));
  LINNET_TRY(linnet_json_parse(file->context, text, bytes, file->name, header_limits, &file->header));
  LINNET_TRY(read_metadata(file));
  return read_tensors(file, reader);
}

enum linnet_status linnet_safetensors_open(struct linnet_context *context, const void *data, size_t bytes,
                                           const char *name, struct linnet_safetensors *file) {
  *file = (struct linnet_safetensors){.context = context, .name = name};
  struct linnet_reader reader = {.data = data, .size = bytes};
  enum linnet_status status = open_file(file, &reader);
  if (status != LINNET_OK)
    linnet_safetensors_close(file);
  return status;
}

void linnet_safetensors_close(struct linnet_safetensors *file) {
  if (file->context) {
    linnet_free(file->context, file->tensors);
    linnet_free(file->context, file->metadata);
  }
  json_decref(file->header);
  *file = (struct linnet_safetensors){0};
}

const struct linnet_tensor *linnet_safetensors_find(const struct linnet_safetensors *file, const char *name) {
  const struct linnet_tensor wanted = {.name = name};
  if (file->count == 0)
    return NULL;
  return bsearch(&wanted, file->tensors, file->count, sizeof wanted, compare_name);
}

const char *linnet_safetensors_metadata(const struct linnet_safetensors *file, const char *key) {
  for (size_t i = 0; i < file->metadata_count; i++)
    if (strcmp(file->metadata[i].key, key) == 0)
      return file->metadata[i].value;
  return NULL;
}

/* --- writing -------------------------------------------------------------------------------------------------- */

static enum linnet_status fail_entry(struct linnet_context *context, const char *name, const char *what) {
  return linnet_fail(context, LINNET_ERROR_ARGUMENT, "tensor \"%s\" cannot be written: %s", linnet_excerpt(name).text,
                     what);
}

/* {"dtype", "shape", "data_offsets"}; NULL without memory. */
static json_t *entry_value(const struct linnet_tensor_entry *entry, size_t begin, size_t end) {
  json_t *shape = json_array();
  for (size_t i = 0; i < entry->rank; i++)
    json_array_append_new(shape, json_integer((json_int_t)entry->shape[i]));
  return json_pack("{ss so s[II]}", "dtype", dtypes[entry->dtype].name, "shape", shape, "data_offsets",
                   (json_int_t)begin, (json_int_t)end);
}

/* Adds an entry to the header. *offset is the offset of its data, and becomes the offset of their end. */
static enum linnet_status add_entry(struct linnet_context *context, const struct linnet_tensor_entry *entry,
                                    json_t *header, size_t *offset) {
  size_t count, bytes, end;
  if ((unsigned)entry->dtype >= DTYPE_COUNT || entry->rank > LINNET_MAX_RANK)
    return fail_entry(context, entry->name, "unknown type, or more than 8 dimensions");
  if (!measure_shape(entry->dtype, entry->rank, entry->shape, &count, &bytes) ||
      !linnet_add_size(*offset, bytes, &end) || end > PTRDIFF_MAX)
    return fail_entry(context, entry->name, "its size overflows");
  if (entry->name[0] == '\0' || strlen(entry->name) > LINNET_MAX_TENSOR_NAME)
    return fail_entry(context, entry->name, "its name is empty or longer than 127 bytes");
  if (strcmp(entry->name, METADATA_KEY) == 0 || json_object_get(header, entry->name))
    return fail_entry(context, entry->name, "its name is already in use");
  if (json_object_set_new(header, entry->name, entry_value(entry, *offset, end)) != 0)
    return fail_entry(context, entry->name, "its name is not UTF-8, or memory ran out");
  *offset = end;
  return LINNET_OK;
}

static enum linnet_status add_metadata(struct linnet_context *context, const struct linnet_metadata *metadata,
                                       size_t count, json_t *header) {
  json_t *map = json_object();
  if (json_object_set_new(header, METADATA_KEY, map) != 0)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for metadata");
  for (size_t i = 0; i < count; i++) {
    const char *key = metadata[i].key;
    if (strlen(key) > LINNET_MAX_METADATA_KEY || json_object_get(map, key))
      return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                         "metadata \"%s\" cannot be written: its key appears twice or is longer than %d bytes",
                         linnet_excerpt(key).text, LINNET_MAX_METADATA_KEY);
    if (json_object_set_new(map, key, json_string(metadata[i].value)) != 0)
      return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                         "metadata \"%s\" cannot be written: it is not UTF-8, or memory ran out",
                         linnet_excerpt(key).text);
  }
  return LINNET_OK;
}

static enum linnet_status build_header(const struct linnet_writer *writer, const struct linnet_metadata *metadata,
                                       size_t metadata_count, json_t *header) {
  struct linnet_context *context = writer->context;
  if (writer->count > LINNET_MAX_TENSORS || metadata_count > LINNET_MAX_METADATA)
    return linnet_fail(context, LINNET_ERROR_LIMIT,
                       "there are %zu tensors and %zu entries of metadata; there must be at most %d and %d",
                       writer->count, metadata_count, LINNET_MAX_TENSORS, LINNET_MAX_METADATA);
  size_t bytes = 0;
  for (size_t i = 0; i < metadata_count; i++)
    bytes += strlen(metadata[i].value);
  LINNET_TRY(linnet_json_reserve(context, writer->output->path, 16 * writer->count + metadata_count, bytes));
  if (metadata_count > 0)
    LINNET_TRY(add_metadata(context, metadata, metadata_count, header));
  size_t offset = 0;
  for (size_t i = 0; i < writer->count; i++)
    LINNET_TRY(add_entry(context, &writer->entries[i], header, &offset));
  return LINNET_OK;
}

static enum linnet_status write_bytes(struct linnet_writer *writer, const void *data, size_t bytes) {
  if (bytes > 0 && fwrite(data, 1, bytes, writer->output->stream) != bytes)
    writer->status =
        linnet_fail(writer->context, LINNET_ERROR_IO, "%s: cannot write: %s", writer->output->path, strerror(errno));
  linnet_crc32_add(&writer->crc, data, bytes);
  return writer->status;
}

static void store(uint64_t value, size_t bytes, unsigned char *to) {
  for (size_t i = 0; i < bytes; i++)
    to[i] = (unsigned char)(value >> (8 * i));
}

/* Writes the size, the text, and spaces that extend the header to a multiple of 8. */
static enum linnet_status write_header(struct linnet_writer *writer, const char *text, size_t bytes) {
  unsigned char size[8];
  size_t padding = (8 - bytes % 8) % 8;
  if (bytes + padding > LINNET_MAX_HEADER_BYTES)
    return linnet_fail(writer->context, LINNET_ERROR_LIMIT, "%s: the header has %zu bytes; at most %d are written",
                       writer->output->path, bytes, LINNET_MAX_HEADER_BYTES);
  store(bytes + padding, 8, size);
  LINNET_TRY(write_bytes(writer, size, sizeof size));
  LINNET_TRY(write_bytes(writer, text, bytes));
  return write_bytes(writer, "        ", padding);
}

/* Advances to the next entry that has elements. */
static void next_entry(struct linnet_writer *writer) {
  size_t bytes;
  while (writer->left == 0 && writer->current < writer->count && ++writer->current < writer->count) {
    const struct linnet_tensor_entry *entry = &writer->entries[writer->current];
    measure_shape(entry->dtype, entry->rank, entry->shape, &writer->left, &bytes);
  }
}

static void first_entry(struct linnet_writer *writer) {
  size_t bytes;
  if (writer->count > 0)
    measure_shape(writer->entries->dtype, writer->entries->rank, writer->entries->shape, &writer->left, &bytes);
  next_entry(writer);
}

enum linnet_status linnet_writer_begin(struct linnet_context *context, struct linnet_output_file *output,
                                       const struct linnet_tensor_entry *entries, size_t count,
                                       const struct linnet_metadata *metadata, size_t metadata_count, bool finite,
                                       struct linnet_writer *writer) {
  *writer = (struct linnet_writer){
      .context = context, .output = output, .entries = entries, .count = count, .finite = finite};
  linnet_crc32_start(&writer->crc);
  json_t *header = json_object();
  char *text = NULL;
  size_t bytes = 0;
  writer->status = build_header(writer, metadata, metadata_count, header);
  if (writer->status == LINNET_OK)
    writer->status = linnet_json_format(context, header, true, &text, &bytes);
  if (writer->status == LINNET_OK)
    writer->status = write_header(writer, text, bytes);
  linnet_free(context, text);
  json_decref(header);
  if (writer->status == LINNET_OK)
    first_entry(writer);
  return writer->status;
}

/* Encodes one value in the type of its entry. Returns whether the stored value is finite. */
static bool encode(enum linnet_dtype dtype, double value, unsigned char *to) {
  if (dtype == LINNET_F64) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    store(bits, 8, to);
    return isfinite(value);
  }
  float single = (float)value;
  if (dtype == LINNET_F32) {
    store(bits_of_float(single), 4, to);
    return isfinite(single);
  }
  uint16_t half = linnet_float_to_half(single);
  store(half, 2, to);
  return (half & 0x7C00) != 0x7C00;
}

static enum linnet_status refuse(struct linnet_writer *writer, double value) {
  const struct linnet_tensor_entry *entry = &writer->entries[writer->current];
  return writer->status =
             linnet_fail(writer->context, LINNET_ERROR_NUMERIC,
                         "%s: tensor \"%s\" holds %g, which %s cannot store as a finite number", writer->output->path,
                         linnet_excerpt(entry->name).text, value, linnet_dtype_name(entry->dtype));
}

/* Writes up to one block of values of the current entry; *taken gets their number. `values` is float or double. */
static enum linnet_status write_block(struct linnet_writer *writer, const float *floats, const double *doubles,
                                      size_t n, size_t *taken) {
  unsigned char block[4096];
  const enum linnet_dtype dtype = writer->entries[writer->current].dtype;
  const size_t bytes = dtypes[dtype].bytes;
  if (dtype != LINNET_F16 && dtype != LINNET_F32 && dtype != LINNET_F64)
    return writer->status = fail_entry(writer->context, writer->entries[writer->current].name,
                                       "its type does not take floating-point values");
  n = n < writer->left ? n : writer->left;
  n = n < sizeof block / bytes ? n : sizeof block / bytes;
  for (size_t i = 0; i < n; i++) {
    double value = floats ? (double)floats[i] : doubles[i];
    if (!encode(dtype, value, block + i * bytes) && writer->finite)
      return refuse(writer, value);
  }
  LINNET_TRY(write_bytes(writer, block, n * bytes));
  writer->left -= n;
  next_entry(writer);
  *taken = n;
  return LINNET_OK;
}

static enum linnet_status write_values(struct linnet_writer *writer, const float *floats, const double *doubles,
                                       size_t n) {
  LINNET_TRY(writer->status);
  assert(n == 0 || floats || doubles);
  while (n > 0) {
    size_t taken = 0;
    if (writer->left == 0)
      return writer->status = linnet_fail(writer->context, LINNET_ERROR_STATE,
                                          "%s: more values were written than its tensors have", writer->output->path);
    LINNET_TRY(write_block(writer, floats, doubles, n, &taken));
    n -= taken;
    floats = floats ? floats + taken : NULL;
    doubles = doubles ? doubles + taken : NULL;
  }
  return LINNET_OK;
}

enum linnet_status linnet_writer_floats(struct linnet_writer *writer, const float *values, size_t n) {
  return write_values(writer, values, NULL, n);
}

enum linnet_status linnet_writer_doubles(struct linnet_writer *writer, const double *values, size_t n) {
  return write_values(writer, NULL, values, n);
}

enum linnet_status linnet_writer_raw(struct linnet_writer *writer, const void *elements, size_t n) {
  LINNET_TRY(writer->status);
  if (n > writer->left)
    return writer->status =
               linnet_fail(writer->context, LINNET_ERROR_STATE,
                           "%s: more elements were written than the current tensor has", writer->output->path);
  if (n == 0)
    return LINNET_OK;
  LINNET_TRY(write_bytes(writer, elements, n * dtypes[writer->entries[writer->current].dtype].bytes));
  writer->left -= n;
  next_entry(writer);
  return LINNET_OK;
}

enum linnet_status linnet_writer_end(struct linnet_writer *writer) {
  LINNET_TRY(writer->status);
  if (writer->left > 0)
    writer->status = linnet_fail(writer->context, LINNET_ERROR_STATE, "%s: tensor \"%s\": %zu values are missing",
                                 writer->output->path, writer->entries[writer->current].name, writer->left);
  return writer->status;
}
