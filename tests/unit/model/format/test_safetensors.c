/* safetensors: half precision, reading files of Python and of Linnet, refusing to write invalid tensors.
 * test_model_file.c tests what the reader refuses. */
#include "test.h"

#include "model/format/safetensors.h"

static struct linnet_context *context;
static const char *const path = TEST_BINARY_DIR "/test_safetensors.tmp.safetensors";

/* --- half precision ------------------------------------------------------------------------------------------- */

/* The definition of binary16. */
static double half_value(unsigned half) {
  int exponent = (int)(half >> 10 & 31), fraction = (int)(half & 1023);
  double sign = half & 0x8000 ? -1 : 1;
  if (exponent == 31)
    return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static void test_half_to_float(void) {
  for (unsigned half = 0; half < 65536; half++) {
    double wanted = half_value(half);
    float got = linnet_half_to_float((uint16_t)half);
    bool same = isnan(wanted) ? isnan(got) : got == (float)wanted && !signbit(got) == !signbit(wanted);
    CHECK(same, "half %04x is %g, not %g", half, got, wanted);
    if (!isnan(wanted))
      CHECK(linnet_float_to_half(got) == half, "half %04x came back as %04x", half, linnet_float_to_half(got));
  }
}

/* Between two neighbours, the middle is rounded to the even one, and a float beside the middle to the nearer one. */
static void test_float_to_half(void) {
  for (unsigned half = 0; half < 0x7C00; half++) {
    double low = half_value(half), high = half + 1 == 0x7C00 ? 65536 : half_value(half + 1);
    float middle = (float)((low + high) / 2);
    unsigned even = half % 2 ? half + 1 : half;
    CHECK(linnet_float_to_half(middle) == even, "%g: %04x, not %04x", middle, linnet_float_to_half(middle), even);
    CHECK(linnet_float_to_half(nextafterf(middle, 0)) == half, "below %g", middle);
    CHECK(linnet_float_to_half(nextafterf(middle, INFINITY)) == half + 1, "above %g", middle);
    CHECK(linnet_float_to_half(-middle) == (even | 0x8000), "-%g", middle);
  }
  uint16_t nan = linnet_float_to_half(NAN);
  CHECK((nan & 0x7C00) == 0x7C00 && (nan & 0x3FF), "NaN became %04x", nan);
  CHECK(linnet_float_to_half(INFINITY) == 0x7C00 && linnet_float_to_half(1e30f) == 0x7C00, "infinity");
  CHECK(linnet_float_to_half(1e-30f) == 0 && linnet_float_to_half(-1e-30f) == 0x8000, "zero");
}

/* --- files ---------------------------------------------------------------------------------------------------- */

struct loaded {
  void *data;
  size_t bytes;
  struct linnet_safetensors file;
};

static struct loaded load(const char *from) {
  struct loaded l;
  REQUIRE(linnet_file_read(context, from, 1 << 20, &l.data, &l.bytes) == LINNET_OK, "%s",
          linnet_context_error(context));
  REQUIRE(linnet_safetensors_open(context, l.data, l.bytes, from, &l.file) == LINNET_OK, "%s",
          linnet_context_error(context));
  return l;
}

static void unload(struct loaded *l) {
  linnet_safetensors_close(&l->file);
  linnet_free(context, l->data);
}

/* A file of Python's safetensors library. */
static void test_python(void) {
  struct loaded l = load(test_source("tests/golden/encoder_pre.safetensors"));
  const char *steps = linnet_safetensors_metadata(&l.file, "steps");
  CHECK(steps && strcmp(steps, "3") == 0, "metadata");
  CHECK(!linnet_safetensors_metadata(&l.file, "step"), "no such metadata");
  const struct linnet_tensor *labels = linnet_safetensors_find(&l.file, "labels");
  int32_t label[9];
  REQUIRE(labels && labels->dtype == LINNET_I32 && labels->rank == 1 && labels->count == 9, "labels");
  CHECK(linnet_tensor_integers(labels, 0, 9, label) && label[0] == 1 && label[1] == 5 && label[8] == 2, "labels");
  CHECK(!linnet_tensor_integers(labels, 8, 2, label) && !linnet_tensor_integers(labels, 10, 0, label), "bounds");
  CHECK(!linnet_tensor_integers(labels, SIZE_MAX, 2, label), "bounds that wrap");
  float value;
  CHECK(!linnet_tensor_floats(labels, 0, 1, &value), "integers are not floats");
  const struct linnet_tensor *nll = linnet_safetensors_find(&l.file, "nll");
  REQUIRE(nll && nll->dtype == LINNET_F32 && nll->rank == 1, "nll");
  CHECK(linnet_tensor_floats(nll, 0, 1, &value) && value > 0 && isfinite(value), "nll is %g", value);
  CHECK(!linnet_safetensors_find(&l.file, "nl") && !linnet_safetensors_find(&l.file, ""), "no such tensor");
  unload(&l);
}

static struct linnet_output_file open_output(void) {
  struct linnet_output_file output;
  REQUIRE(linnet_output_file_open(context, path, &output) == LINNET_OK, "%s", linnet_context_error(context));
  return output;
}

static const struct linnet_tensor_entry entries[] = {
    {"double", LINNET_F64, 1, {3}}, {"matrix", LINNET_F32, 2, {2, 3}}, {"empty", LINNET_F32, 2, {0, 5}},
    {"scalar", LINNET_F32, 0, {0}}, {"half", LINNET_F16, 1, {4}},      {"h\303\244lf \"quoted\"", LINNET_F16, 1, {1}},
    {"bytes", LINNET_U8, 1, {2}},   {"words", LINNET_I16, 1, {2}},     {"brain", LINNET_BF16, 1, {1}},
    {"long", LINNET_I64, 1, {1}},   {"none", LINNET_I64, 1, {0}},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static const struct linnet_metadata metadata[] = {
    {"zeta", "first"}, {"alpha", "line\nbreak \"quote\" \\ \303\251"}, {"", "empty key"}, {"empty value", ""}};

static void write_all(struct linnet_writer *writer) {
  const double doubles[] = {0.1, -1e300, 5e-324};
  const float values[] = {1, 2, 3, 4, 5, 1e-45f, 42}, halves[] = {1, -2, 0.333f, 65504, 6e-8f};
  const unsigned char raw[] = {255, 1}, words[] = {0xFE, 0xFF, 0x39, 0x30}, brain[] = {0x80, 0x3F};
  const unsigned char number[] = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(linnet_writer_doubles(writer, doubles, 1) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_writer_doubles(writer, doubles + 1, 2) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_writer_floats(writer, values, 7) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_writer_floats(writer, halves, 5) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_writer_raw(writer, raw, 2) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_writer_raw(writer, words, 1) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_writer_raw(writer, words + 2, 1) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_writer_raw(writer, brain, 1) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_writer_raw(writer, number, 1) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_writer_end(writer) == LINNET_OK, "%s", linnet_context_error(context));
}

static void check_floats(const struct linnet_safetensors *file) {
  float values[6], half[4], scalar, brain;
  double doubles[3];
  const struct linnet_tensor *tensor = linnet_safetensors_find(file, "double");
  REQUIRE(tensor && linnet_tensor_doubles(tensor, 0, 3, doubles), "double");
  CHECK(doubles[0] == 0.1 && doubles[1] == -1e300 && doubles[2] == 5e-324, "%g %g %g", doubles[0], doubles[1],
        doubles[2]);
  tensor = linnet_safetensors_find(file, "matrix");
  REQUIRE(tensor && tensor->rank == 2 && linnet_tensor_floats(tensor, 0, 6, values), "matrix");
  CHECK(values[0] == 1 && values[4] == 5 && values[5] == 1e-45f, "matrix");
  CHECK(linnet_tensor_doubles(tensor, 4, 2, doubles) && doubles[0] == 5, "floats as doubles");
  tensor = linnet_safetensors_find(file, "scalar");
  REQUIRE(tensor && tensor->rank == 0 && linnet_tensor_floats(tensor, 0, 1, &scalar), "scalar");
  CHECK(scalar == 42, "scalar is %g", scalar);
  tensor = linnet_safetensors_find(file, "half");
  REQUIRE(tensor && linnet_tensor_floats(tensor, 0, 4, half), "half");
  CHECK(half[0] == 1 && half[1] == -2 && half[2] == 0.333007812f && half[3] == 65504, "half %.9g", half[2]);
  tensor = linnet_safetensors_find(file, "brain");
  REQUIRE(tensor && linnet_tensor_floats(tensor, 0, 1, &brain), "brain");
  CHECK(brain == 1, "brain is %g", brain);
}

static void check_integers(const struct linnet_safetensors *file) {
  int32_t values[2];
  const struct linnet_tensor *tensor = linnet_safetensors_find(file, "bytes");
  REQUIRE(tensor && linnet_tensor_integers(tensor, 0, 2, values), "bytes");
  CHECK(values[0] == 255 && values[1] == 1, "bytes %d %d", values[0], values[1]);
  tensor = linnet_safetensors_find(file, "words");
  REQUIRE(tensor && linnet_tensor_integers(tensor, 0, 2, values), "words");
  CHECK(values[0] == -2 && values[1] == 12345, "words %d %d", values[0], values[1]);
  tensor = linnet_safetensors_find(file, "long");
  REQUIRE(tensor && tensor->bytes == 8, "long");
  CHECK(!linnet_tensor_integers(tensor, 0, 1, values), "64 bits are not read into 32");
}

static void test_round_trip(void) {
  struct linnet_output_file output = open_output();
  struct linnet_writer writer;
  REQUIRE(linnet_writer_begin(context, &output, entries, ENTRIES, metadata, 4, true, &writer) == LINNET_OK, "%s",
          linnet_context_error(context));
  write_all(&writer);
  REQUIRE(linnet_output_file_commit(&output) == LINNET_OK, "%s", linnet_context_error(context));
  struct loaded l = load(path);
  const unsigned char *size = l.data;
  CHECK((size[0] | size[1] << 8) % 8 == 0, "the header ends at a multiple of 8");
  CHECK(l.file.count == ENTRIES, "%zu tensors", l.file.count);
  for (size_t i = 0; i < ENTRIES; i++) {
    const struct linnet_tensor *tensor = linnet_safetensors_find(&l.file, entries[i].name);
    REQUIRE(tensor, "%s is missing", entries[i].name);
    CHECK(tensor->dtype == entries[i].dtype && tensor->rank == entries[i].rank &&
              memcmp(tensor->shape, entries[i].shape, tensor->rank * sizeof *tensor->shape) == 0,
          "%s", entries[i].name);
  }
  check_floats(&l.file);
  check_integers(&l.file);
  CHECK(l.file.metadata_count == 4, "%zu entries", l.file.metadata_count);
  for (size_t i = 0; i < 4; i++)
    CHECK(strcmp(l.file.metadata[i].key, metadata[i].key) == 0 &&
              strcmp(l.file.metadata[i].value, metadata[i].value) == 0,
          "metadata %zu: %s", i, l.file.metadata[i].value);
  unload(&l);
  remove(path);
}

static void test_finite(void) {
  const double good[] = {0, -1, 65504}, bad[] = {NAN, INFINITY, -INFINITY};
  const enum linnet_dtype dtypes[] = {LINNET_F16, LINNET_F32, LINNET_F64};
  for (int i = 0; i < 9; i++) {
    const struct linnet_tensor_entry entry = {"x", dtypes[i / 3], 1, {4}};
    struct linnet_output_file output = open_output();
    struct linnet_writer writer;
    linnet_writer_begin(context, &output, &entry, 1, NULL, 0, false, &writer);
    linnet_writer_doubles(&writer, good, 3);
    linnet_writer_doubles(&writer, &bad[i % 3], 1);
    REQUIRE(linnet_writer_end(&writer) == LINNET_OK, "%s", linnet_context_error(context));
    REQUIRE(linnet_output_file_commit(&output) == LINNET_OK, "%s", linnet_context_error(context));
    struct loaded l = load(path);
    struct linnet_tensor tensor = l.file.tensors[0];
    CHECK(!linnet_tensor_finite(&tensor), "case %d is not finite", i);
    tensor.count = 3;
    CHECK(linnet_tensor_finite(&tensor), "case %d starts finite", i);
    unload(&l);
  }
  remove(path);
}

/* --- refusals of the writer ----------------------------------------------------------------------------------- */

static void refuse_value(enum linnet_dtype dtype, double value) {
  const struct linnet_tensor_entry entry = {"x.weight", dtype, 1, {1}};
  struct linnet_output_file output = open_output();
  struct linnet_writer writer;
  linnet_writer_begin(context, &output, &entry, 1, NULL, 0, true, &writer);
  CHECK(linnet_writer_doubles(&writer, &value, 1) == LINNET_ERROR_NUMERIC &&
            strstr(linnet_context_error(context), "x.weight"),
        "%g as %s: %s", value, linnet_dtype_name(dtype), linnet_context_error(context));
  CHECK(linnet_writer_end(&writer) == LINNET_ERROR_NUMERIC, "the writer stays failed");
  linnet_output_file_abandon(&output);
}

static void refuse_entry(struct linnet_tensor_entry entry, const char *word) {
  const struct linnet_tensor_entry pair[] = {{"first", LINNET_F32, 1, {1}}, entry};
  struct linnet_output_file output = open_output();
  struct linnet_writer writer;
  enum linnet_status status = linnet_writer_begin(context, &output, pair, 2, NULL, 0, true, &writer);
  CHECK(status == LINNET_ERROR_ARGUMENT && strstr(linnet_context_error(context), word), "%s: status %d, %s", word,
        status, linnet_context_error(context));
  linnet_output_file_abandon(&output);
}

static void refuse_metadata(const struct linnet_metadata *pair) {
  struct linnet_output_file output = open_output();
  struct linnet_writer writer;
  CHECK(linnet_writer_begin(context, &output, entries, 1, pair, 2, true, &writer) == LINNET_ERROR_ARGUMENT,
        "metadata \"%s\"", pair[1].key);
  linnet_output_file_abandon(&output);
}

static void test_writer_refusals(void) {
  char long_name[200];
  memset(long_name, 'n', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  refuse_value(LINNET_F16, 65520);
  refuse_value(LINNET_F16, NAN);
  refuse_value(LINNET_F32, 1e39);
  refuse_value(LINNET_F32, INFINITY);
  refuse_value(LINNET_F64, -INFINITY);
  refuse_entry((struct linnet_tensor_entry){"first", LINNET_F32, 1, {1}}, "in use");
  refuse_entry((struct linnet_tensor_entry){"", LINNET_F32, 1, {1}}, "empty");
  refuse_entry((struct linnet_tensor_entry){long_name, LINNET_F32, 1, {1}}, "127");
  refuse_entry((struct linnet_tensor_entry){"\377", LINNET_F32, 1, {1}}, "UTF-8");
  refuse_entry((struct linnet_tensor_entry){"x", LINNET_F32, 9, {1}}, "dimensions");
  refuse_entry((struct linnet_tensor_entry){"x", (enum linnet_dtype)99, 1, {1}}, "type");
  refuse_entry((struct linnet_tensor_entry){"x", LINNET_F32, 2, {SIZE_MAX / 2, 4}}, "overflows");
  refuse_entry((struct linnet_tensor_entry){"__metadata__", LINNET_F32, 1, {1}}, "in use");
  refuse_metadata((const struct linnet_metadata[]){{"a", "1"}, {"a", "2"}});
  refuse_metadata((const struct linnet_metadata[]){{"a", "1"}, {"b", "\377"}});
  refuse_metadata((const struct linnet_metadata[]){{"a", "1"}, {long_name, "2"}});
}

/* Too few values, too many, the wrong kind. */
static void test_writer_order(void) {
  const struct linnet_tensor_entry pair[] = {{"x", LINNET_F32, 1, {2}}, {"y", LINNET_I32, 1, {1}}};
  const float values[3] = {1, 2, 3};
  for (int i = 0; i < 4; i++) {
    struct linnet_output_file output = open_output();
    struct linnet_writer writer;
    linnet_writer_begin(context, &output, pair, i == 1 ? 1 : 2, NULL, 0, true, &writer);
    enum linnet_status status = i == 3   ? linnet_writer_raw(&writer, values, 3)
                                : i == 0 ? linnet_writer_floats(&writer, values, 1)
                                         : linnet_writer_floats(&writer, values, 3);
    if (i == 0)
      status = linnet_writer_end(&writer);
    CHECK(status == (i == 2 ? LINNET_ERROR_ARGUMENT : LINNET_ERROR_STATE), "case %d: status %d, %s", i, status,
          linnet_context_error(context));
    linnet_output_file_abandon(&output);
  }
}

/* A file without tensors and metadata is valid, too. */
static void test_empty(void) {
  struct linnet_output_file output = open_output();
  struct linnet_writer writer;
  REQUIRE(linnet_writer_begin(context, &output, NULL, 0, NULL, 0, true, &writer) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_writer_end(&writer) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_output_file_commit(&output) == LINNET_OK, "%s", linnet_context_error(context));
  struct loaded l = load(path);
  CHECK(l.file.count == 0 && l.file.metadata_count == 0 && !linnet_safetensors_find(&l.file, "x"), "nothing");
  unload(&l);
  linnet_safetensors_close(&(struct linnet_safetensors){0});
  remove(path);
}

int main(void) {
  context = test_context();
  test_half_to_float();
  test_float_to_half();
  test_python();
  test_round_trip();
  test_finite();
  test_writer_refusals();
  test_writer_order();
  test_empty();
  linnet_context_destroy(context);
  return test_result();
}
