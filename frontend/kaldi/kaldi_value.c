/* Reads one key and one matrix of a Kaldi archive, binary or text, compressed or not. */
#include "frontend/kaldi/kaldi_value.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"

enum { MAX_NUMBER = 63, FIRST_BYTES = 1 << 16 };

/* The header before the elements. Text is read as doubles. */
struct header {
  enum linnet_kaldi_form form; /* not LINNET_KALDI_TEXT */
  size_t rows, cols;
  struct linnet_kaldi_range range; /* of the compressed forms */
};

enum linnet_status linnet_kaldi_input_open(struct linnet_context *context, FILE *stream, const char *name,
                                           struct linnet_kaldi_input *input) {
  *input = (struct linnet_kaldi_input){.context = context, .stream = stream};
  if (!stream)
    return linnet_fail_errno(context, name, errno);
  input->name = linnet_strdup(context, name);
  if (input->name)
    return LINNET_OK;
  linnet_kaldi_input_close(input);
  return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", name);
}

void linnet_kaldi_input_close(struct linnet_kaldi_input *input) {
  if (!input->context)
    return;
  if (input->stream)
    fclose(input->stream);
  linnet_free(input->context, input->name);
  linnet_free(input->context, input->raw);
  *input = (struct linnet_kaldi_input){0};
}

/* --- Failing -------------------------------------------------------------------------------------------------- */

/* Fails with a message that names the file and, if it is known, the key. */
#define FAIL(input, status, format, ...)                                                                               \
  linnet_fail((input)->context, status, "%s%s%.80s: " format, (input)->name, (input)->key[0] ? ", matrix " : "",       \
              (input)->key, __VA_ARGS__)

static enum linnet_status fail(const struct linnet_kaldi_input *input, enum linnet_status status, const char *what) {
  return FAIL(input, status, "%s", what);
}

/* Fails because the stream ended, or could not be read, before the expected data. */
static enum linnet_status fail_short(const struct linnet_kaldi_input *input) {
  if (ferror(input->stream))
    return linnet_fail_errno(input->context, input->name, errno);
  return fail(input, LINNET_ERROR_FORMAT, "the file is truncated: copy or make it again");
}

/* --- Bytes ---------------------------------------------------------------------------------------------------- */

static enum linnet_status read_bytes(struct linnet_kaldi_input *input, void *to, size_t n) {
  return fread(to, 1, n, input->stream) == n ? LINNET_OK : fail_short(input);
}

/* Makes the capacity of `raw` at least n bytes. */
static enum linnet_status reserve(struct linnet_kaldi_input *input, size_t n) {
  unsigned char *grown = linnet_grow(input->context, input->raw, &input->capacity, n, 1);
  if (!grown)
    return fail(input, LINNET_ERROR_MEMORY, "out of memory");
  input->raw = grown;
  return LINNET_OK;
}

/* Reads n bytes into `raw`, which never grows far beyond what the file really holds. */
static enum linnet_status read_raw(struct linnet_kaldi_input *input, size_t n) {
  size_t done = 0, step = FIRST_BYTES;
  while (done < n) {
    size_t now = n - done < step ? n - done : step;
    LINNET_TRY(reserve(input, done + now));
    LINNET_TRY(read_bytes(input, input->raw + done, now));
    done += now;
    step = done;
  }
  return LINNET_OK;
}

static enum linnet_status reserve_elements(struct linnet_kaldi_input *input, size_t n, struct linnet_matrix *matrix) {
  if (n <= matrix->capacity && matrix->values)
    return LINNET_OK;
  float *values = linnet_alloc(input->context, n, sizeof *values);
  if (!values)
    return fail(input, LINNET_ERROR_MEMORY, "out of memory");
  linnet_free(input->context, matrix->values);
  matrix->values = values;
  matrix->capacity = n;
  return LINNET_OK;
}

/* --- Keys ----------------------------------------------------------------------------------------------------- */

static bool is_space(int c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next character that is no white space. */
static int skip_space(FILE *stream) {
  int c;
  do
    c = getc(stream);
  while (is_space(c));
  return c;
}

enum linnet_status linnet_kaldi_read_key(struct linnet_kaldi_input *input) {
  size_t n = 0;
  input->key[0] = '\0';
  int c = skip_space(input->stream);
  if (c == EOF && !ferror(input->stream))
    return LINNET_END;
  for (; c != EOF && c != ' ' && c != '\t'; c = getc(input->stream)) {
    if (c == '\0' || is_space(c) || n == LINNET_KALDI_MAX_KEY)
      return fail(input, LINNET_ERROR_FORMAT,
                  n > 0 ? "no space and matrix follow the key: is this a Kaldi archive?"
                        : "a key is missing: is this a Kaldi archive?");
    input->key[n++] = (char)c;
    input->key[n] = '\0';
  }
  return c == EOF ? fail_short(input) : LINNET_OK;
}

/* --- Binary --------------------------------------------------------------------------------------------------- */

/* Reads a signed size of 32 bits, after the byte with its length. */
static enum linnet_status read_size(struct linnet_kaldi_input *input, size_t *size) {
  unsigned char bytes[5];
  LINNET_TRY(read_bytes(input, bytes, sizeof bytes));
  uint32_t value = linnet_load_u32(bytes + 1);
  if (bytes[0] != 4 || value > INT32_MAX)
    return fail(input, LINNET_ERROR_FORMAT, "its sizes are invalid");
  *size = value;
  return LINNET_OK;
}

static enum linnet_status read_packed_header(struct linnet_kaldi_input *input, struct header *header) {
  unsigned char bytes[16];
  LINNET_TRY(read_bytes(input, bytes, sizeof bytes));
  header->range = (struct linnet_kaldi_range){linnet_load_float(bytes), linnet_load_float(bytes + 4)};
  uint32_t rows = linnet_load_u32(bytes + 8), cols = linnet_load_u32(bytes + 12);
  if (rows > INT32_MAX || cols > INT32_MAX)
    return fail(input, LINNET_ERROR_FORMAT, "its sizes are invalid");
  if (!isfinite(header->range.min) || !isfinite(header->range.range) || header->range.range < 0 ||
      !isfinite(header->range.min + header->range.range))
    return fail(input, LINNET_ERROR_FORMAT, "the range of its compressed values is invalid");
  header->rows = rows;
  header->cols = cols;
  return LINNET_OK;
}

static const struct {
  const char *token;
  enum linnet_kaldi_form form;
  bool vector;
} tokens[] = {{"FM ", LINNET_KALDI_FLOAT, false}, {"DM ", LINNET_KALDI_DOUBLE, false},
              {"CM ", LINNET_KALDI_CM, false},    {"CM2 ", LINNET_KALDI_CM2, false},
              {"CM3 ", LINNET_KALDI_CM3, false},  {"FV ", LINNET_KALDI_FLOAT, true},
              {"DV ", LINNET_KALDI_DOUBLE, true}};

static enum linnet_status read_token(struct linnet_kaldi_input *input, enum linnet_kaldi_form *form, bool *vector) {
  char token[6] = "";
  for (size_t n = 0; n < 4; n++) {
    LINNET_TRY(read_bytes(input, token + n, 1));
    if (token[n] == ' ')
      break;
  }
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
    if (strcmp(token, tokens[i].token) == 0) {
      *form = tokens[i].form;
      *vector = tokens[i].vector;
      return LINNET_OK;
    }
  return fail(input, LINNET_ERROR_UNSUPPORTED,
              "its type is unknown: Linnet reads float, double and compressed matrices, and vectors");
}

static enum linnet_status read_binary_header(struct linnet_kaldi_input *input, struct header *header) {
  bool vector = false;
  LINNET_TRY(read_token(input, &header->form, &vector));
  if (header->form != LINNET_KALDI_FLOAT && header->form != LINNET_KALDI_DOUBLE)
    return read_packed_header(input, header);
  header->rows = 1;
  if (!vector)
    LINNET_TRY(read_size(input, &header->rows));
  return read_size(input, &header->cols);
}

/* Reads the header and checks its sizes; those of a matrix without elements become 0. */
static enum linnet_status read_checked_header(struct linnet_kaldi_input *input, struct header *header,
                                              size_t *elements) {
  LINNET_TRY(read_binary_header(input, header));
  if (!linnet_mul_size(header->rows, header->cols, elements) || *elements > LINNET_KALDI_MAX_ELEMENTS)
    return FAIL(input, LINNET_ERROR_LIMIT, "announces %zu x %zu elements; at most %zu are read", header->rows,
                header->cols, LINNET_KALDI_MAX_ELEMENTS);
  if (*elements == 0)
    header->rows = header->cols = 0;
  return LINNET_OK;
}

/* Reads the header, and the elements into `raw`. */
static enum linnet_status read_binary(struct linnet_kaldi_input *input, struct header *header) {
  size_t elements, bytes;
  LINNET_TRY(read_checked_header(input, header, &elements));
  if (header->form == LINNET_KALDI_FLOAT || header->form == LINNET_KALDI_DOUBLE)
    bytes = elements * (header->form == LINNET_KALDI_FLOAT ? 4 : 8);
  else if (!linnet_kaldi_packed_bytes(header->form, header->rows, header->cols, &bytes))
    return fail(input, LINNET_ERROR_LIMIT, "too large");
  return read_raw(input, bytes);
}

/* --- Text ----------------------------------------------------------------------------------------------------- */

/* In the C locale: a number of less than MAX_NUMBER characters, the first being `c`; *next is the character after it.
 */
static enum linnet_status read_number(struct linnet_kaldi_input *input, int c, double *value, int *next) {
  char text[MAX_NUMBER + 1], *end;
  size_t n = 0;
  for (; c != EOF && !is_space(c) && c != ']' && c != ';' && n < MAX_NUMBER; c = getc(input->stream))
    text[n++] = (char)c;
  text[n] = '\0';
  *next = c;
  *value = strtod(text, &end);
  if (n == 0 || n == MAX_NUMBER || end != text + n)
    return FAIL(input, LINNET_ERROR_FORMAT, "\"%.20s\" is not a number", text);
  return LINNET_OK;
}

static enum linnet_status append_number(struct linnet_kaldi_input *input, size_t index, double value) {
  if (index >= LINNET_KALDI_MAX_ELEMENTS)
    return fail(input, LINNET_ERROR_LIMIT, "too large");
  LINNET_TRY(reserve(input, (index + 1) * 8));
  linnet_store_double(input->raw + index * 8, value);
  return LINNET_OK;
}

/* A row has ended after `count` elements in all. */
static enum linnet_status end_row(struct linnet_kaldi_input *input, size_t count, struct header *header) {
  size_t cols = count - header->rows * header->cols;
  if (cols == 0)
    return LINNET_OK; /* an empty line */
  if (header->rows > 0 && cols != header->cols)
    return FAIL(input, LINNET_ERROR_FORMAT, "row %zu has %zu columns, but the first has %zu", header->rows + 1, cols,
                header->cols);
  header->cols = cols;
  header->rows++;
  return LINNET_OK;
}

static enum linnet_status read_rows(struct linnet_kaldi_input *input, struct header *header) {
  size_t count = 0;
  for (int c = getc(input->stream);;) {
    if (c == EOF)
      return fail_short(input);
    if (c == '\n' || c == ';' || c == ']') {
      LINNET_TRY(end_row(input, count, header));
      if (c == ']')
        return LINNET_OK;
      c = getc(input->stream);
    } else if (is_space(c)) {
      c = getc(input->stream);
    } else {
      double value;
      LINNET_TRY(read_number(input, c, &value, &c));
      LINNET_TRY(append_number(input, count++, value));
    }
  }
}

/* Text as it stands after its key: "[ 1 2", a new line for each row, "]". `raw` receives doubles. */
static enum linnet_status read_text(struct linnet_kaldi_input *input, struct header *header) {
  *header = (struct header){.form = LINNET_KALDI_DOUBLE};
  int c = skip_space(input->stream);
  if (c == EOF)
    return fail_short(input);
  if (c != '[')
    return fail(input, LINNET_ERROR_FORMAT, "it is neither a binary matrix nor text in brackets");
  struct linnet_c_locale locale;
  if (!linnet_c_locale_enter(&locale))
    return fail(input, LINNET_ERROR_MEMORY, "out of memory for a locale");
  enum linnet_status status = read_rows(input, header);
  linnet_c_locale_leave(&locale);
  return status;
}

/* --- Matrices ------------------------------------------------------------------------------------------------- */

/* Reads the mark of binary data, if it is there. */
static enum linnet_status read_mark(struct linnet_kaldi_input *input, bool *binary) {
  int c = getc(input->stream);
  *binary = c == '\0';
  if (c == EOF)
    return fail_short(input);
  if (!*binary)
    ungetc(c, input->stream);
  else if (getc(input->stream) != 'B')
    return fail(input, LINNET_ERROR_FORMAT, "Kaldi's mark of binary data is missing");
  return LINNET_OK;
}

static enum linnet_status read_any(struct linnet_kaldi_input *input, struct header *header) {
  bool binary;
  LINNET_TRY(read_mark(input, &binary));
  return binary ? read_binary(input, header) : read_text(input, header);
}

enum linnet_status linnet_kaldi_read_size(struct linnet_kaldi_input *input, size_t *rows, size_t *cols) {
  struct header header = {0};
  size_t elements;
  bool binary;
  LINNET_TRY(read_mark(input, &binary));
  LINNET_TRY(binary ? read_checked_header(input, &header, &elements) : read_text(input, &header));
  *rows = header.rows;
  *cols = header.cols;
  return LINNET_OK;
}

/* Numbers out of the range of a float become infinite. */
static float as_float(double value) {
  if (fabs(value) > FLT_MAX)
    return value < 0 ? -INFINITY : INFINITY;
  return (float)value;
}

enum linnet_status linnet_kaldi_read_matrix(struct linnet_kaldi_input *input, struct linnet_matrix *matrix) {
  struct header header = {0};
  LINNET_TRY(read_any(input, &header));
  size_t n = header.rows * header.cols;
  LINNET_TRY(reserve_elements(input, n, matrix));
  matrix->rows = header.rows;
  matrix->cols = header.cols;
  if (header.form == LINNET_KALDI_FLOAT)
    for (size_t i = 0; i < n; i++)
      matrix->values[i] = linnet_load_float(input->raw + 4 * i);
  else if (header.form == LINNET_KALDI_DOUBLE)
    for (size_t i = 0; i < n; i++)
      matrix->values[i] = as_float(linnet_load_double(input->raw + 8 * i));
  else
    linnet_kaldi_unpack(header.form, header.range, header.rows, header.cols, input->raw, matrix->values);
  return LINNET_OK;
}

static enum linnet_status fill_cmvn(struct linnet_kaldi_input *input, const struct header *header,
                                    struct linnet_cmvn *cmvn) {
  size_t dim = header->cols - 1, bytes = header->form == LINNET_KALDI_DOUBLE ? 8 : 4;
  linnet_cmvn_reset(cmvn, dim);
  for (size_t i = 0; i < 2 * header->cols; i++) {
    const unsigned char *at = input->raw + i * bytes;
    double value = bytes == 8 ? linnet_load_double(at) : linnet_load_float(at);
    size_t row = i / header->cols, col = i % header->cols;
    if (!isfinite(value) || (row == 1 && value < 0) || (i == dim && value < 0))
      return fail(input, LINNET_ERROR_FORMAT, "its CMVN statistics are invalid");
    if (col < dim)
      (row == 0 ? cmvn->sum : cmvn->square)[col] = value;
    else if (row == 0)
      cmvn->count = value;
  }
  return LINNET_OK;
}

enum linnet_status linnet_kaldi_read_cmvn(struct linnet_kaldi_input *input, struct linnet_cmvn *cmvn) {
  struct header header = {0};
  LINNET_TRY(read_any(input, &header));
  bool exact = header.form == LINNET_KALDI_FLOAT || header.form == LINNET_KALDI_DOUBLE;
  if (!exact || header.rows != 2 || header.cols < 2 || header.cols > LINNET_CMVN_MAX_DIM + 1)
    return FAIL(input, LINNET_ERROR_FORMAT,
                "%zu x %zu elements are not CMVN statistics, which have 2 rows and at most %d columns", header.rows,
                header.cols, LINNET_CMVN_MAX_DIM + 1);
  return fill_cmvn(input, &header, cmvn);
}

void linnet_matrix_release(struct linnet_context *context, struct linnet_matrix *matrix) {
  if (!context || !matrix)
    return;
  linnet_free(context, matrix->values);
  *matrix = (struct linnet_matrix){0};
}
