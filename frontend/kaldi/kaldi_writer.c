/* Writing archives with their script files. */
#include <linnet/kaldi.h>

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "frontend/kaldi/kaldi_value.h"

enum { CHUNK = 1024 }; /* elements converted at a time */

struct linnet_ark_writer {
  struct linnet_context *context;
  enum linnet_kaldi_form form;
  struct linnet_output_file ark, scp;
  bool has_scp, committed;
  uint64_t position;  /* bytes in the archive */
  double frame_shift; /* seconds, 0: unknown */
  float *column;      /* work of compression */
  size_t column_capacity;
  unsigned char *packed;
  size_t packed_capacity;
};

/* --- Bytes ---------------------------------------------------------------------------------------------------- */

/* Failures of the stream show on commit; the position only serves offsets. */
static void put(struct linnet_ark_writer *writer, const void *bytes, size_t n) {
  fwrite(bytes, 1, n, writer->ark.stream);
  writer->position += n;
}

static void put_text(struct linnet_ark_writer *writer, const char *text) {
  put(writer, text, strlen(text));
}

static void put_size(struct linnet_ark_writer *writer, size_t size) {
  unsigned char bytes[5] = {4};
  linnet_store_u32(bytes + 1, (uint32_t)size);
  put(writer, bytes, sizeof bytes);
}

static void put_floats(struct linnet_ark_writer *writer, const float *values, size_t n) {
  unsigned char bytes[CHUNK * 4];
  for (size_t done = 0; done < n; done += CHUNK) {
    size_t now = n - done < CHUNK ? n - done : CHUNK;
    for (size_t i = 0; i < now; i++)
      linnet_store_float(bytes + 4 * i, values[done + i]);
    put(writer, bytes, 4 * now);
  }
}

static void put_doubles(struct linnet_ark_writer *writer, const float *values, size_t n) {
  unsigned char bytes[8];
  for (size_t i = 0; i < n; i++) {
    linnet_store_double(bytes, values[i]);
    put(writer, bytes, sizeof bytes);
  }
}

/* --- Matrices ------------------------------------------------------------------------------------------------- */

static void put_binary(struct linnet_ark_writer *writer, const char *token, const float *values, size_t rows,
                       size_t cols) {
  put(writer, "\0B", 2);
  put_text(writer, token);
  put_size(writer, rows);
  put_size(writer, cols);
  if (token[0] == 'F')
    put_floats(writer, values, rows * cols);
  else
    put_doubles(writer, values, rows * cols);
}

static enum linnet_status no_locale(const struct linnet_ark_writer *writer) {
  return linnet_fail(writer->context, LINNET_ERROR_MEMORY, "%s: out of memory for a locale", writer->ark.path);
}

/* In the C locale; with enough digits to read the same value again. */
static void put_number(struct linnet_ark_writer *writer, double value, int digits) {
  char text[40];
  int n = snprintf(text, sizeof text, " %.*g", digits, value);
  put(writer, text, (size_t)n);
}

static void put_rows(struct linnet_ark_writer *writer, const float *values, size_t rows, size_t cols) {
  put_text(writer, " [");
  for (size_t r = 0; r < rows; r++) {
    put_text(writer, "\n ");
    for (size_t c = 0; c < cols; c++)
      put_number(writer, values[r * cols + c], 9);
  }
  put_text(writer, " ]\n");
}

static enum linnet_status put_matrix_text(struct linnet_ark_writer *writer, const float *values, size_t rows,
                                          size_t cols) {
  struct linnet_c_locale locale;
  if (!linnet_c_locale_enter(&locale))
    return no_locale(writer);
  put_rows(writer, values, rows, cols);
  linnet_c_locale_leave(&locale);
  return LINNET_OK;
}

/* The values must be finite, and so must their range as a float. */
static enum linnet_status check_packable(struct linnet_ark_writer *writer, const char *key, const float *values,
                                         size_t n, struct linnet_kaldi_range *range) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(values[i]))
      return linnet_fail(writer->context, LINNET_ERROR_NUMERIC,
                         "%s, matrix %.100s: element %zu is not finite and cannot be compressed", writer->ark.path, key,
                         i);
  *range = linnet_kaldi_range_of(values, n);
  if (!isfinite(range->range))
    return linnet_fail(writer->context, LINNET_ERROR_NUMERIC,
                       "%s, matrix %.100s: values are too large to be compressed", writer->ark.path, key);
  return LINNET_OK;
}

static enum linnet_status pack(struct linnet_ark_writer *writer, struct linnet_kaldi_range range, const float *values,
                               size_t rows, size_t cols, size_t bytes) {
  void *packed = linnet_grow(writer->context, writer->packed, &writer->packed_capacity, bytes, 1);
  if (packed)
    writer->packed = packed;
  float *column = linnet_grow(writer->context, writer->column, &writer->column_capacity, rows, sizeof *column);
  if (column)
    writer->column = column;
  if (!packed || !column)
    return linnet_fail(writer->context, LINNET_ERROR_MEMORY, "%s: out of memory", writer->ark.path);
  linnet_kaldi_pack(writer->form, range, rows, cols, values, column, packed);
  return LINNET_OK;
}

static void put_packed(struct linnet_ark_writer *writer, struct linnet_kaldi_range range, size_t rows, size_t cols,
                       size_t bytes) {
  unsigned char header[16];
  put(writer, "\0B", 2);
  put_text(writer, writer->form == LINNET_KALDI_CM ? "CM " : writer->form == LINNET_KALDI_CM2 ? "CM2 " : "CM3 ");
  linnet_store_float(header, range.min);
  linnet_store_float(header + 4, range.range);
  linnet_store_u32(header + 8, (uint32_t)rows);
  linnet_store_u32(header + 12, (uint32_t)cols);
  put(writer, header, sizeof header);
  put(writer, writer->packed, bytes);
}

/* --- Keys ----------------------------------------------------------------------------------------------------- */

static enum linnet_status check_key(struct linnet_ark_writer *writer, const char *key) {
  if (key[0] && strlen(key) <= LINNET_KALDI_MAX_KEY && !strpbrk(key, " \t\r\n"))
    return LINNET_OK;
  return linnet_fail(writer->context, LINNET_ERROR_ARGUMENT,
                     "%s: \"%.60s\" cannot be a key, which has 1 to %d bytes and no white space", writer->ark.path, key,
                     LINNET_KALDI_MAX_KEY);
}

/* The key, and its line in the script file. */
static void put_key(struct linnet_ark_writer *writer, const char *key) {
  put_text(writer, key);
  put_text(writer, " ");
  if (writer->has_scp)
    fprintf(writer->scp.stream, "%s %s:%llu\n", key, writer->ark.path, (unsigned long long)writer->position);
}

/* --- The object ----------------------------------------------------------------------------------------------- */

static enum linnet_status open_outputs(struct linnet_ark_writer *writer, const char *ark_path, const char *scp_path) {
  if (strpbrk(ark_path, "\r\n"))
    return linnet_fail(writer->context, LINNET_ERROR_ARGUMENT, "the archive's name holds a line break");
  bool standard = strcmp(ark_path, "-") == 0;
  if (standard && scp_path)
    return linnet_fail(writer->context, LINNET_ERROR_ARGUMENT,
                       "%s: a script file cannot point into an archive on standard output: name a file for the archive",
                       scp_path);
  LINNET_TRY(linnet_output_file_open(writer->context, standard ? "/dev/stdout" : ark_path, &writer->ark));
  writer->has_scp = scp_path != NULL;
  return scp_path ? linnet_output_file_open(writer->context, scp_path, &writer->scp) : LINNET_OK;
}

enum linnet_status linnet_ark_writer_create(struct linnet_context *context, const char *ark_path, const char *scp_path,
                                            enum linnet_kaldi_form form, struct linnet_ark_writer **result) {
  if (result)
    *result = NULL;
  if (!context || !ark_path || !result || (unsigned)form > LINNET_KALDI_TEXT)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_ark_writer_create: an argument is NULL, or the form is unknown");
  struct linnet_ark_writer *writer = linnet_calloc(context, 1, sizeof *writer);
  if (!writer)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", ark_path);
  writer->context = context;
  writer->form = form;
  enum linnet_status status = open_outputs(writer, ark_path, scp_path);
  if (status != LINNET_OK) {
    linnet_ark_writer_destroy(writer);
    return status;
  }
  *result = writer;
  return LINNET_OK;
}

static enum linnet_status check_open(struct linnet_ark_writer *writer) {
  if (writer->committed)
    return linnet_fail(writer->context, LINNET_ERROR_STATE, "%s: has been finished", writer->ark.path);
  return LINNET_OK;
}

enum linnet_status linnet_ark_write(struct linnet_ark_writer *writer, const char *key, const float *values, size_t rows,
                                    size_t cols) {
  if (!writer)
    return LINNET_ERROR_ARGUMENT;
  if (!key || (rows > 0 && cols > 0 && !values))
    return linnet_fail(writer->context, LINNET_ERROR_ARGUMENT, "linnet_ark_write: an argument is NULL");
  LINNET_TRY(check_open(writer));
  LINNET_TRY(check_key(writer, key));
  if (rows == 0 || cols == 0)
    rows = cols = 0;
  size_t n;
  if (rows > INT32_MAX || cols > INT32_MAX || !linnet_mul_size(rows, cols, &n) || n > LINNET_KALDI_MAX_ELEMENTS)
    return linnet_fail(writer->context, LINNET_ERROR_LIMIT, "%s, matrix %.100s: %zu x %zu elements are too many",
                       writer->ark.path, key, rows, cols);
  if (writer->form == LINNET_KALDI_FLOAT || writer->form == LINNET_KALDI_DOUBLE) {
    put_key(writer, key);
    put_binary(writer, writer->form == LINNET_KALDI_FLOAT ? "FM " : "DM ", values, rows, cols);
    return LINNET_OK;
  }
  if (writer->form == LINNET_KALDI_TEXT) {
    put_key(writer, key);
    return put_matrix_text(writer, values, rows, cols);
  }
  struct linnet_kaldi_range range;
  size_t bytes = 0;
  LINNET_TRY(check_packable(writer, key, values, n, &range));
  linnet_kaldi_packed_bytes(writer->form, rows, cols, &bytes);
  LINNET_TRY(pack(writer, range, values, rows, cols, bytes));
  put_key(writer, key);
  put_packed(writer, range, rows, cols, bytes);
  return LINNET_OK;
}

/* --- Statistics ----------------------------------------------------------------------------------------------- */

/* Element of the 2 x (dim + 1) matrix. */
static double statistic(const struct linnet_cmvn *cmvn, size_t row, size_t col) {
  if (col == cmvn->dim)
    return row == 0 ? cmvn->count : 0;
  return row == 0 ? cmvn->sum[col] : cmvn->square[col];
}

static void put_statistics(struct linnet_ark_writer *writer, const struct linnet_cmvn *cmvn) {
  size_t cols = cmvn->dim + 1;
  put(writer, "\0B", 2);
  put_text(writer, "DM ");
  put_size(writer, 2);
  put_size(writer, cols);
  for (size_t i = 0; i < 2 * cols; i++) {
    unsigned char bytes[8];
    linnet_store_double(bytes, statistic(cmvn, i / cols, i % cols));
    put(writer, bytes, sizeof bytes);
  }
}

static enum linnet_status put_statistics_text(struct linnet_ark_writer *writer, const struct linnet_cmvn *cmvn) {
  struct linnet_c_locale locale;
  if (!linnet_c_locale_enter(&locale))
    return no_locale(writer);
  put_text(writer, " [");
  for (size_t row = 0; row < 2; row++) {
    put_text(writer, "\n ");
    for (size_t col = 0; col <= cmvn->dim; col++)
      put_number(writer, statistic(cmvn, row, col), 17);
  }
  put_text(writer, " ]\n");
  linnet_c_locale_leave(&locale);
  return LINNET_OK;
}

static bool valid_cmvn(const struct linnet_cmvn *cmvn) {
  return cmvn && cmvn->dim >= 1 && cmvn->dim <= LINNET_CMVN_MAX_DIM;
}

enum linnet_status linnet_ark_write_cmvn(struct linnet_ark_writer *writer, const char *key,
                                         const struct linnet_cmvn *cmvn) {
  if (!writer)
    return LINNET_ERROR_ARGUMENT;
  if (!key || !valid_cmvn(cmvn))
    return linnet_fail(writer->context, LINNET_ERROR_ARGUMENT,
                       "linnet_ark_write_cmvn: an argument is NULL, or a dimension is out of range");
  LINNET_TRY(check_open(writer));
  LINNET_TRY(check_key(writer, key));
  put_key(writer, key);
  if (writer->form == LINNET_KALDI_TEXT)
    return put_statistics_text(writer, cmvn);
  put_statistics(writer, cmvn);
  return LINNET_OK;
}

enum linnet_status linnet_cmvn_write(struct linnet_context *context, const char *path, const struct linnet_cmvn *cmvn) {
  if (!context || !path || !valid_cmvn(cmvn))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_cmvn_write: an argument is NULL, or a dimension is out of range");
  struct linnet_ark_writer *writer;
  LINNET_TRY(linnet_ark_writer_create(context, path, NULL, LINNET_KALDI_DOUBLE, &writer));
  put_statistics(writer, cmvn);
  enum linnet_status status = linnet_ark_writer_commit(writer);
  linnet_ark_writer_destroy(writer);
  return status;
}

/* --- Ending --------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_ark_writer_set_frame_shift(struct linnet_ark_writer *writer, double seconds) {
  if (!writer)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(check_open(writer));
  if (!(seconds > 0) || !isfinite(seconds))
    return linnet_fail(writer->context, LINNET_ERROR_ARGUMENT,
                       "linnet_ark_writer_set_frame_shift: the frame shift is %g s; it must be above 0", seconds);
  writer->frame_shift = seconds;
  return LINNET_OK;
}

/* If the disk is full, the script file must fail before the archive is renamed. */
static enum linnet_status flush_scp(struct linnet_ark_writer *writer) {
  int error = linnet_destination_flush(writer->scp.stream, false);
  if (error == 0)
    return LINNET_OK;
  return linnet_fail(writer->context, LINNET_ERROR_IO, "%s: cannot write: %s", writer->scp.path, strerror(error));
}

static enum linnet_status commit_files(struct linnet_ark_writer *writer) {
  LINNET_TRY(linnet_output_file_commit(&writer->ark));
  return writer->has_scp ? linnet_output_file_commit(&writer->scp) : LINNET_OK;
}

/* Removes the old frame shift before it replaces the archive, and writes the new one afterwards. So a frame shift is
 * never beside the wrong archive. */
enum linnet_status linnet_ark_writer_commit(struct linnet_ark_writer *writer) {
  if (!writer)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(check_open(writer));
  if (writer->has_scp)
    LINNET_TRY(flush_scp(writer));
  writer->committed = true;
  if (!*writer->ark.temporary) /* written to directly: there are no files beside it */
    return commit_files(writer);
  struct linnet_output_file shift = {.context = writer->context};
  if (writer->frame_shift > 0)
    LINNET_TRY(linnet_frame_shift_prepare(writer->context, writer->ark.path, writer->frame_shift, &shift));
  enum linnet_status status = linnet_frame_shift_remove(writer->context, writer->ark.path);
  if (status == LINNET_OK)
    status = commit_files(writer);
  if (status == LINNET_OK && shift.stream)
    return linnet_output_file_commit(&shift);
  linnet_output_file_abandon(&shift);
  return status;
}

void linnet_ark_writer_destroy(struct linnet_ark_writer *writer) {
  if (!writer)
    return;
  linnet_output_file_abandon(&writer->ark);
  linnet_output_file_abandon(&writer->scp);
  linnet_free(writer->context, writer->column);
  linnet_free(writer->context, writer->packed);
  linnet_free(writer->context, writer);
}
