/* Model files for tests: assembled from text, which a test edits, and loaded within a budget of memory. */
#ifndef LINNET_TEST_MODEL_TEXT_H
#define LINNET_TEST_MODEL_TEXT_H

#include "test.h"

#include "model/format/model.h"

/* --- an allocator that counts --------------------------------------------------------------------------------- */

/* Blocks carry their size in front. */
struct counter {
  size_t live, peak, limit; /* bytes; 0: no limit */
  size_t calls, fail_at;    /* number of the call that fails; 0: none */
};

enum { FRONT = 64 };

static void *counting_reallocate(void *user, void *pointer, size_t bytes) {
  struct counter *counter = user;
  char *raw = pointer ? (char *)pointer - FRONT : NULL;
  size_t before = 0;
  if (raw)
    memcpy(&before, raw, sizeof before);
  if (bytes == 0) {
    free(raw);
    counter->live -= before;
    return NULL;
  }
  counter->calls++;
  size_t after = counter->live - before + bytes;
  if (counter->calls == counter->fail_at || (counter->limit > 0 && after > counter->limit))
    return NULL;
  raw = realloc(raw, bytes + FRONT);
  if (!raw)
    return NULL;
  memcpy(raw, &bytes, sizeof bytes);
  counter->live = after;
  counter->peak = after > counter->peak ? after : counter->peak;
  return raw + FRONT;
}

static struct counter counter;
static struct linnet_context *context;

static void make_context(void) {
  struct linnet_context_settings settings;
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  settings.reallocate = counting_reallocate;
  settings.reallocate_user = &counter;
  if (linnet_context_create(&settings, &context) != LINNET_OK)
    exit(1);
}

/* --- a good file, assembled from text ------------------------------------------------------------------------- */

/* Where a case edits: one of the texts before they go into the header, or the header itself. */
enum part { CONFIG, FEATURES, SYMBOLS, HEADER, PARTS };

enum { TEXT_MAX = 32768, FILE_MAX = 65536 };

static const char *const good_texts[] = {
    [CONFIG] = "{\"encoder\": \"transformer\", \"input_dim\": 4, \"stack\": 1, \"width\": 4, \"heads\": 2, "
               "\"layers\": 1, \"feed_forward\": 6, \"activation\": \"relu\", \"norm\": \"pre\", \"dropout\": 0.1, "
               "\"position\": \"sinusoidal\", \"attention\": \"linear\", \"convolution\": 3, \"outputs\": 3}",
    [FEATURES] = "{\"kind\": \"fbank\", \"sample_rate\": 16000, \"frame_length\": 25, \"frame_shift\": 10, "
                 "\"num_mel\": 4, \"low_frequency\": 20, \"high_frequency\": 0, \"preemphasis\": 0.97, "
                 "\"cmvn\": \"global\", \"cmvn_variance\": true}",
    [SYMBOLS] = "[\"<blk>\", \"a\", \"b\"]",
};

struct file {
  unsigned char bytes[FILE_MAX];
  size_t size, data; /* data: where the tensors start */
};

struct text {
  char text[TEXT_MAX];
  size_t length;
};

static void append(struct text *to, const char *piece) {
  size_t bytes = strlen(piece);
  REQUIRE(to->length + bytes < TEXT_MAX, "the fixture is too long");
  memcpy(to->text + to->length, piece, bytes + 1);
  to->length += bytes;
}

/* Writes a JSON string; escapes only the characters that these texts have. */
static void append_string(struct text *to, const char *piece) {
  append(to, "\"");
  for (; *piece; piece++) {
    char c[3] = {'\\', *piece, '\0'};
    append(to, *piece == '"' || *piece == '\\' ? c : c + 1);
  }
  append(to, "\"");
}

/* Replaces the first `find`; NULL does nothing. */
static void edit(struct text *text, const char *find, const char *replace) {
  char *found = find ? strstr(text->text, find) : NULL;
  if (!find)
    return;
  REQUIRE(found, "the fixture lacks %s", find);
  struct text after = {.length = 0};
  *found = '\0';
  append(&after, text->text);
  append(&after, replace);
  append(&after, found + strlen(find));
  *text = after;
}

static void append_tensor(struct text *header, const char *name, const char *dtype, size_t bytes, size_t rows,
                          size_t cols, size_t *offset) {
  char entry[256], shape[64];
  snprintf(shape, sizeof shape, cols ? "%zu,%zu" : "%zu", rows, cols);
  size_t end = *offset + rows * (cols ? cols : 1) * bytes;
  snprintf(entry, sizeof entry, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}", name, dtype,
           shape, *offset, end);
  append(header, entry);
  *offset = end;
}

/* The tensors of the unedited configuration; returns the bytes of data. */
static size_t append_tensors(struct text *header) {
  struct linnet_config config;
  struct linnet_parameters *parameters;
  size_t offset = 0;
  REQUIRE(linnet_config_parse_complete(context, good_texts[CONFIG], "fixture", &config) == LINNET_OK, "%s",
          linnet_context_error(context));
  REQUIRE(linnet_parameters_create(context, &config, &parameters) == LINNET_OK, "%s", linnet_context_error(context));
  append_tensor(header, "cmvn.count", "F64", 8, 1, 0, &offset);
  append_tensor(header, "cmvn.sum", "F64", 8, 4, 0, &offset);
  append_tensor(header, "cmvn.square", "F64", 8, 4, 0, &offset);
  for (size_t i = 0; i < parameters->count; i++)
    append_tensor(header, parameters->list[i].name, "F32", 4, parameters->list[i].rows, parameters->list[i].cols,
                  &offset);
  linnet_parameters_destroy(parameters);
  return offset;
}

static void put_u64(unsigned char *to, uint64_t value) {
  for (int i = 0; i < 8; i++)
    to[i] = (unsigned char)(value >> 8 * i);
}

static void put_f64(unsigned char *to, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_u64(to, bits);
}

/* Statistics of two frames, then weights of 0. */
static void assemble(struct file *file, const char *header, size_t header_bytes, size_t data_bytes) {
  REQUIRE(8 + header_bytes + data_bytes <= FILE_MAX, "the fixture is too large");
  memset(file, 0, sizeof *file);
  file->data = 8 + header_bytes;
  file->size = file->data + data_bytes;
  put_u64(file->bytes, header_bytes);
  memcpy(file->bytes + 8, header, header_bytes);
  for (size_t i = 0; i < 9; i++)
    put_f64(file->bytes + file->data + 8 * i, 2);
}

/* The good file with one edit. */
static void build(struct file *file, enum part part, const char *find, const char *replace) {
  static struct text header, text;
  const char *const keys[] = {[CONFIG] = "config", [FEATURES] = "features", [SYMBOLS] = "symbols"};
  header.length = 0;
  append(&header, "{\"__metadata__\":{\"format\":\"linnet-1\",\"licence\":\"CC0\"");
  for (int i = CONFIG; i <= SYMBOLS; i++) {
    text.length = 0;
    append(&text, good_texts[i]);
    edit(&text, (int)part == i ? find : NULL, replace);
    append(&header, ",");
    append_string(&header, keys[i]);
    append(&header, ":");
    append_string(&header, text.text);
  }
  append(&header, "}");
  size_t data = append_tensors(&header);
  append(&header, "}");
  edit(&header, part == HEADER ? find : NULL, replace);
  assemble(file, header.text, header.length, data);
}

/* --- checks of every load ----------------------------------------------------------------------------------------- */

/* The maximum of memory that the loader may use for a file of `size` bytes: float16 becomes float32 (2 * size), and the
 * layout for the kernels adds at most as much padding (4 * size). */
static size_t budget(size_t size) {
  return 6 * size + (2 << 20);
}

/* Loads under the budget; afterwards no memory is held. Returns the status. */
static enum linnet_status try_load(const void *bytes, size_t size) {
  size_t before = counter.live;
  struct linnet_model *model = NULL;
  counter.limit = before + budget(size);
  enum linnet_status status = linnet_model_load_memory(context, bytes, size, "FILE", &model);
  counter.limit = 0;
  CHECK((status == LINNET_OK) == (model != NULL), "status %d, model %p", status, (void *)model);
  linnet_model_destroy(model);
  CHECK(counter.live == before, "%zu bytes leaked", counter.live - before);
  return status;
}

static void expect(const char *name, const struct file *file, enum linnet_status wanted, const char *word) {
  enum linnet_status status = try_load(file->bytes, file->size);
  const char *message = linnet_context_error(context);
  CHECK(status == wanted, "%s: status %d, not %d: %s", name, status, wanted, message);
  if (wanted != LINNET_OK)
    CHECK(strstr(message, word) && strstr(message, "FILE"), "%s: message lacks \"%s\": %s", name, word, message);
}

#endif
