/* Model files: good ones load, damaged and hostile ones are refused with the right status and words, within a budget
 * of memory and without leaks; saved models load again. */
#include "model_text.h"
#include "same_config.h"

#include <errno.h>
#include <unistd.h>

/* --- damage to the text --------------------------------------------------------------------------------------- */

struct damage {
  const char *name;
  enum part part;
  const char *find, *replace;
  enum linnet_status status;
  const char *word; /* of the message */
};

static const struct damage damages[] = {
    /* the header as JSON */
    {"header is cut off", HEADER, "}}", "}", LINNET_ERROR_FORMAT, "JSON"},
    {"header starts with a blank", HEADER, "{", " {", LINNET_ERROR_FORMAT, "'{'"},
    {"header is a list", HEADER, "{", "[", LINNET_ERROR_FORMAT, "'{'"},
    {"header continues after its end", HEADER, "CC0", "CC0\"}} {{\"", LINNET_ERROR_FORMAT, "JSON"},
    {"header holds invalid UTF-8", HEADER, "CC0", "C\xC3(", LINNET_ERROR_FORMAT, "decode"},
    {"header holds an overlong form", HEADER, "CC0", "\xC0\xAF", LINNET_ERROR_FORMAT, "decode"},
    {"header holds half a surrogate", HEADER, "CC0", "\\ud800", LINNET_ERROR_FORMAT, "Unicode"},
    {"header holds NUL", HEADER, "CC0", "\\u0000", LINNET_ERROR_FORMAT, "NUL"},
    {"header holds a comment", HEADER, "{", "{/**/", LINNET_ERROR_FORMAT, "JSON"},
    {"header is nested deep", HEADER, "\"CC0\"", "[[[[[[[[[[]]]]]]]]]]", LINNET_ERROR_LIMIT, "nested"},
    {"nesting is not hidden by quotes", HEADER, "\"CC0\"", "\"\\\"\",\"x\":[[[[[[]]]]]]", LINNET_ERROR_LIMIT, "nested"},
    {"tensor appears twice", HEADER, "\"norm.bias\"", "\"norm.weight\"", LINNET_ERROR_FORMAT, "duplicate"},
    {"metadata key appears twice", HEADER, "\"licence\"", "\"format\"", LINNET_ERROR_FORMAT, "duplicate"},
    {"metadata are a list", HEADER, "\"__metadata__\":{", "\"__metadata__\":[],\"m\":{", LINNET_ERROR_FORMAT,
     "__metadata__"},
    {"metadata value is a number", HEADER, "\"CC0\"", "0", LINNET_ERROR_FORMAT, "licence"},
    {"metadata value is null", HEADER, "\"CC0\"", "null", LINNET_ERROR_FORMAT, "licence"},
    /* entries of tensors */
    {"tensor is a number", HEADER, "\"norm.bias\":{", "\"x\":1,\"norm.bias\":{", LINNET_ERROR_FORMAT, "object"},
    {"tensor has no name", HEADER, "\"norm.bias\"", "\"\"", LINNET_ERROR_FORMAT, "empty"},
    {"tensor without dtype", HEADER, "\"dtype\":\"F32\",", "", LINNET_ERROR_FORMAT, "dtype"},
    {"tensor without shape", HEADER, "\"shape\":[4,4],", "", LINNET_ERROR_FORMAT, "shape"},
    {"tensor without offsets", HEADER, ",\"data_offsets\":[8,40]", "", LINNET_ERROR_FORMAT, "data_offsets"},
    {"tensor with an unknown key", HEADER, "\"dtype\"", "\"stride\":1,\"dtype\"", LINNET_ERROR_FORMAT, "stride"},
    {"dtype is unknown", HEADER, "\"F32\"", "\"F33\"", LINNET_ERROR_UNSUPPORTED, "F33"},
    {"dtype is a number", HEADER, "\"F32\"", "32", LINNET_ERROR_FORMAT, "dtype"},
    {"shape is a number", HEADER, "[4,4]", "16", LINNET_ERROR_FORMAT, "shape"},
    {"shape is negative", HEADER, "[4,4]", "[-4,-4]", LINNET_ERROR_FORMAT, "shape"},
    {"shape is a fraction", HEADER, "[4,4]", "[4,4.0]", LINNET_ERROR_FORMAT, "shape"},
    {"shape holds a string", HEADER, "[4,4]", "[4,\"4\"]", LINNET_ERROR_FORMAT, "shape"},
    {"product of the shape wraps to 16", HEADER, "[4,4]", "[4294967296,4294967296,16]", LINNET_ERROR_FORMAT,
     "overflow"},
    {"bytes of the shape wrap to 64", HEADER, "[4,4]", "[4611686018427387920]", LINNET_ERROR_FORMAT, "overflow"},
    {"dimension over 63 bits", HEADER, "[4,4]", "[18446744073709551615]", LINNET_ERROR_FORMAT, "too big"},
    {"rank 9", HEADER, "[4,4]", "[4,4,1,1,1,1,1,1,1]", LINNET_ERROR_LIMIT, "dimensions"},
    {"size is less than that of the shape", HEADER, "[4,4]", "[4,5]", LINNET_ERROR_FORMAT, "agree"},
    {"size is more than that of the shape", HEADER, "[4,4]", "[4,3]", LINNET_ERROR_FORMAT, "agree"},
    {"one offset", HEADER, "[8,40]", "[8]", LINNET_ERROR_FORMAT, "pair"},
    {"three offsets", HEADER, "[8,40]", "[8,40,40]", LINNET_ERROR_FORMAT, "pair"},
    {"offsets are strings", HEADER, "[8,40]", "[\"8\",\"40\"]", LINNET_ERROR_FORMAT, "pair"},
    {"offsets are reversed", HEADER, "[8,40]", "[40,8]", LINNET_ERROR_FORMAT, "outside"},
    {"offset is negative", HEADER, "[8,40]", "[-8,40]", LINNET_ERROR_FORMAT, "pair"},
    {"offset is beyond the file", HEADER, "[8,40]", "[1000008,1000040]", LINNET_ERROR_FORMAT, "outside"},
    {"offset is at the end of the address space", HEADER, "[8,40]", "[9223372036854775775,9223372036854775807]",
     LINNET_ERROR_FORMAT, "outside"},
    {"tensors overlap", HEADER, "[8,40]", "[0,32]", LINNET_ERROR_FORMAT, "overlap"},
    {"gap between tensors", HEADER, "[40,72]", "[48,80]", LINNET_ERROR_FORMAT, "gap"},
    {"gap before the first tensor", HEADER, "\"cmvn.count\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},",
     "", LINNET_ERROR_FORMAT, "gap"},
    /* metadata of a model */
    {"no format", HEADER, "\"format\"", "\"farmat\"", LINNET_ERROR_FORMAT, "not a Linnet model"},
    {"format of the future", HEADER, "linnet-1", "linnet-2", LINNET_ERROR_UNSUPPORTED, "linnet-2"},
    {"no config", HEADER, "\"config\"", "\"konfig\"", LINNET_ERROR_FORMAT, "\"config\""},
    {"no features", HEADER, "\"features\"", "\"faetures\"", LINNET_ERROR_FORMAT, "\"features\""},
    {"no symbols", HEADER, "\"symbols\"", "\"cymbals\"", LINNET_ERROR_FORMAT, "\"symbols\""},
    /* config */
    {"config is no JSON", CONFIG, "}", "", LINNET_ERROR_FORMAT, "JSON"},
    {"config is a list", CONFIG, "{", "[{},{", LINNET_ERROR_FORMAT, "JSON"},
    {"config has an unknown key", CONFIG, "\"width\"", "\"depth\": 1, \"width\"", LINNET_ERROR_FORMAT, "depth"},
    {"config lacks a key", CONFIG, "\"dropout\": 0.1, ", "", LINNET_ERROR_FORMAT, "dropout"},
    {"config has a key twice", CONFIG, "\"width\": 4", "\"width\": 4, \"width\": 8", LINNET_ERROR_FORMAT, "duplicate"},
    {"encoder of another kind", CONFIG, "transformer", "mamba", LINNET_ERROR_UNSUPPORTED, "mamba"},
    {"input_dim 0", CONFIG, "\"input_dim\": 4", "\"input_dim\": 0", LINNET_ERROR_LIMIT, "input_dim"},
    {"stack 5", CONFIG, "\"stack\": 1", "\"stack\": 5", LINNET_ERROR_LIMIT, "stack"},
    {"stack 0", CONFIG, "\"stack\": 1", "\"stack\": 0", LINNET_ERROR_LIMIT, "stack"},
    {"width is a string", CONFIG, "\"width\": 4", "\"width\": \"4\"", LINNET_ERROR_FORMAT, "width"},
    {"width is huge", CONFIG, "\"width\": 4", "\"width\": 1000000000000", LINNET_ERROR_LIMIT, "width"},
    {"heads 0", CONFIG, "\"heads\": 2", "\"heads\": 0", LINNET_ERROR_LIMIT, "heads"},
    {"heads do not divide width", CONFIG, "\"heads\": 2", "\"heads\": 3", LINNET_ERROR_FORMAT, "heads"},
    {"layers 65", CONFIG, "\"layers\": 1", "\"layers\": 65", LINNET_ERROR_LIMIT, "layers"},
    {"layers 64 without their tensors", CONFIG, "\"layers\": 1", "\"layers\": 64", LINNET_ERROR_FORMAT, "layers.1."},
    {"feed_forward 0", CONFIG, "\"feed_forward\": 6", "\"feed_forward\": 0", LINNET_ERROR_LIMIT, "feed_forward"},
    {"feed_forward does not fit the tensors", CONFIG, "\"feed_forward\": 6", "\"feed_forward\": 65536",
     LINNET_ERROR_FORMAT, "linear1.weight"},
    {"too many parameters", CONFIG, "\"width\": 4, \"heads\": 2, \"layers\": 1, \"feed_forward\": 6",
     "\"width\": 4096, \"heads\": 2, \"layers\": 64, \"feed_forward\": 65536", LINNET_ERROR_LIMIT, "parameters"},
    {"activation is unknown", CONFIG, "relu", "swish", LINNET_ERROR_UNSUPPORTED, "swish"},
    {"norm is unknown", CONFIG, "\"pre\"", "\"both\"", LINNET_ERROR_UNSUPPORTED, "both"},
    {"dropout 1", CONFIG, "0.1", "1", LINNET_ERROR_LIMIT, "dropout"},
    {"position is unknown", CONFIG, "sinusoidal", "rotary", LINNET_ERROR_UNSUPPORTED, "rotary"},
    {"attention is unknown", CONFIG, "\"linear\"", "\"softmax?\"", LINNET_ERROR_UNSUPPORTED, "softmax?"},
    {"attention for more layers", CONFIG, "\"linear\"", "[\"linear\", \"linear\"]", LINNET_ERROR_FORMAT, "attention"},
    {"convolution 4", CONFIG, "\"convolution\": 3", "\"convolution\": 4", LINNET_ERROR_FORMAT, "convolution"},
    {"convolution does not fit the tensors", CONFIG, "\"convolution\": 3", "\"convolution\": 5", LINNET_ERROR_FORMAT,
     "depthwise"},
    {"convolution without its tensors' config", CONFIG, "\"convolution\": 3", "\"convolution\": 0", LINNET_ERROR_FORMAT,
     "convolution"},
    {"outputs 1", CONFIG, "\"outputs\": 3", "\"outputs\": 1", LINNET_ERROR_LIMIT, "outputs"},
    {"outputs 70000", CONFIG, "\"outputs\": 3", "\"outputs\": 70000", LINNET_ERROR_LIMIT, "outputs"},
    /* features */
    {"features are no JSON", FEATURES, "{", "", LINNET_ERROR_FORMAT, "JSON"},
    {"features of another kind", FEATURES, "fbank", "mfcc", LINNET_ERROR_UNSUPPORTED, "mfcc"},
    {"num_mel is not input_dim", FEATURES, "\"num_mel\": 4", "\"num_mel\": 5", LINNET_ERROR_FORMAT, "num_mel"},
    {"num_mel that wraps to 4", FEATURES, "\"num_mel\": 4", "\"num_mel\": 4294967300", LINNET_ERROR_LIMIT, "num_mel"},
    {"sample_rate 0", FEATURES, "16000", "0", LINNET_ERROR_LIMIT, "sample_rate"},
    {"no band", FEATURES, "\"low_frequency\": 20", "\"low_frequency\": 8000", LINNET_ERROR_FORMAT, "band"},
    {"cmvn is unknown", FEATURES, "global", "galactic", LINNET_ERROR_UNSUPPORTED, "galactic"},
    {"cmvn_variance is a number", FEATURES, "true", "1", LINNET_ERROR_FORMAT, "cmvn_variance"},
    {"statistics without global cmvn", FEATURES, "global", "speaker", LINNET_ERROR_FORMAT, "cmvn."},
    /* symbols */
    {"symbols are no list", SYMBOLS, "[\"<blk>\", \"a\", \"b\"]", "{}", LINNET_ERROR_FORMAT, "symbols"},
    {"symbols are fewer than outputs", SYMBOLS, ", \"b\"", "", LINNET_ERROR_FORMAT, "symbols"},
    {"symbols are more than outputs", SYMBOLS, "\"b\"", "\"b\", \"c\"", LINNET_ERROR_FORMAT, "symbols"},
    {"first symbol is not the blank", SYMBOLS, "<blk>", "blank", LINNET_ERROR_FORMAT, "<blk>"},
    {"symbol appears twice", SYMBOLS, "\"b\"", "\"a\"", LINNET_ERROR_FORMAT, "twice"},
    {"blank appears twice", SYMBOLS, "\"b\"", "\"<blk>\"", LINNET_ERROR_FORMAT, "twice"},
    {"symbol is empty", SYMBOLS, "\"b\"", "\"\"", LINNET_ERROR_FORMAT, "empty"},
    {"symbol is a number", SYMBOLS, "\"b\"", "2", LINNET_ERROR_FORMAT, "string"},
    {"symbol is a list", SYMBOLS, "\"b\"", "[]", LINNET_ERROR_LIMIT, "nested"},
    {"symbol with a blank", SYMBOLS, "\"b\"", "\"b c\"", LINNET_ERROR_FORMAT, "whitespace"},
    {"symbol with a newline", SYMBOLS, "\"b\"", "\"b\\n\"", LINNET_ERROR_FORMAT, "b?"},
    {"symbol with a C1 control", SYMBOLS, "\"b\"", "\"b\\u009b2J\"", LINNET_ERROR_FORMAT, "b??2J"},
    {"symbol with a no-break space", SYMBOLS, "\"b\"", "\"b\\u00a0c\"", LINNET_ERROR_FORMAT, "whitespace"},
    {"symbol with an escape", SYMBOLS, "\"b\"", "\"\\u001b[2J\"", LINNET_ERROR_FORMAT, "?[2J"},
    /* tensors against the config */
    {"tensor is missing", HEADER, "\"norm.bias\"", "\"norm.bios\"", LINNET_ERROR_FORMAT, "\"norm.bias\" is missing"},
    {"tensor too many", HEADER, "\"cmvn.count\"",
     "\"evil\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"cmvn.count\"", LINNET_ERROR_FORMAT, "evil"},
    {"tensor is transposed", HEADER, "\"shape\":[6,4]", "\"shape\":[4,6]", LINNET_ERROR_FORMAT, "linear1.weight"},
    {"tensor is flat", HEADER, "\"shape\":[6,4]", "\"shape\":[24]", LINNET_ERROR_FORMAT, "(6, 4)"},
    {"vector is a column", HEADER, "\"norm.bias\":{\"dtype\":\"F32\",\"shape\":[4]",
     "\"norm.bias\":{\"dtype\":\"F32\",\"shape\":[4,1]", LINNET_ERROR_FORMAT, "norm.bias"},
    {"weights are integers", HEADER, "\"F32\"", "\"I32\"", LINNET_ERROR_UNSUPPORTED, "convert it to F32 or F16"},
    {"statistics are integers", HEADER, "\"F64\",\"shape\":[4]", "\"I64\",\"shape\":[4]", LINNET_ERROR_UNSUPPORTED,
     "cmvn.sum"},
    {"statistics are missing", HEADER, "\"cmvn.square\"", "\"cmvn.cube\"", LINNET_ERROR_FORMAT, "cmvn.square"},
};

static void test_damages(void) {
  static struct file file;
  const size_t count = sizeof damages / sizeof *damages;
  for (size_t i = 0; i < count; i++) {
    build(&file, damages[i].part, damages[i].find, damages[i].replace);
    expect(damages[i].name, &file, damages[i].status, damages[i].word);
  }
  printf("%zu kinds of damaged text\n", count);
}

/* --- damage to the bytes -------------------------------------------------------------------------------------- */

static void cut_all(struct file *f) {
  f->size = 0;
}
static void cut_size(struct file *f) {
  f->size = 7;
}
static void cut_header(struct file *f) {
  f->size = f->data - 1;
}
static void cut_data(struct file *f) {
  f->size = f->data;
}
static void cut_last_byte(struct file *f) {
  f->size--;
}
static void add_byte(struct file *f) {
  f->size++;
}
static void header_zero(struct file *f) {
  put_u64(f->bytes, 0);
}
static void header_wraps(struct file *f) {
  put_u64(f->bytes, UINT64_MAX);
}
static void header_wraps_by_8(struct file *f) {
  put_u64(f->bytes, UINT64_MAX - 7);
}
static void header_signed(struct file *f) {
  put_u64(f->bytes, (uint64_t)1 << 63);
}
static void header_over_32_bits(struct file *f) {
  put_u64(f->bytes, ((uint64_t)1 << 32) + f->data - 8);
}
static void header_one_over(struct file *f) {
  put_u64(f->bytes, f->size - 7);
}
static void header_shorter(struct file *f) {
  put_u64(f->bytes, f->data - 9);
}
static void weight_nan(struct file *f) {
  memcpy(f->bytes + f->data + 72 + 4 * 5, "\0\0\xC0\x7F", 4);
}
static void weight_infinite(struct file *f) {
  memcpy(f->bytes + f->size - 4, "\0\0\x80\xFF", 4);
}
static void statistics_nan(struct file *f) {
  put_f64(f->bytes + f->data + 8, NAN);
}
static void no_frames(struct file *f) {
  put_f64(f->bytes + f->data, 0);
}
static void negative_square(struct file *f) {
  put_f64(f->bytes + f->data + 40, -1);
}
static void pickle(struct file *f) {
  memcpy(f->bytes, "PK\3\4archive/data.pkl", 20);
}

static const struct {
  const char *name;
  void (*damage)(struct file *file);
  enum linnet_status status;
  const char *word;
} byte_damages[] = {
    {"empty file", cut_all, LINNET_ERROR_FORMAT, "too short"},
    {"7 bytes", cut_size, LINNET_ERROR_FORMAT, "too short"},
    {"header is truncated", cut_header, LINNET_ERROR_FORMAT, "truncated"},
    {"no data", cut_data, LINNET_ERROR_FORMAT, "truncated"},
    {"last byte is missing", cut_last_byte, LINNET_ERROR_FORMAT, "truncated"},
    {"a byte too many", add_byte, LINNET_ERROR_FORMAT, "belong to no tensor"},
    {"header of 0 bytes", header_zero, LINNET_ERROR_FORMAT, "'{'"},
    {"header size 2^64 - 1", header_wraps, LINNET_ERROR_FORMAT, "18446744073709551615"},
    {"header size 2^64 - 8", header_wraps_by_8, LINNET_ERROR_FORMAT, "announced"},
    {"header size 2^63", header_signed, LINNET_ERROR_FORMAT, "announced"},
    {"header size right in its low 32 bits", header_over_32_bits, LINNET_ERROR_FORMAT, "announced"},
    {"header size one more than there is", header_one_over, LINNET_ERROR_FORMAT, "announced"},
    {"header size one too small", header_shorter, LINNET_ERROR_FORMAT, "JSON"},
    {"weight is NaN", weight_nan, LINNET_ERROR_NUMERIC, "input.weight"},
    {"weight is infinite", weight_infinite, LINNET_ERROR_NUMERIC, "output.bias"},
    {"statistics are NaN", statistics_nan, LINNET_ERROR_NUMERIC, "cmvn.sum"},
    {"statistics of no frames", no_frames, LINNET_ERROR_FORMAT, "cmvn"},
    {"negative sum of squares", negative_square, LINNET_ERROR_FORMAT, "cmvn"},
    {"another kind of file", pickle, LINNET_ERROR_FORMAT, "not a safetensors file"},
};

static void test_byte_damages(void) {
  static struct file file;
  for (size_t i = 0; i < sizeof byte_damages / sizeof *byte_damages; i++) {
    build(&file, PARTS, NULL, NULL);
    byte_damages[i].damage(&file);
    expect(byte_damages[i].name, &file, byte_damages[i].status, byte_damages[i].word);
  }
}

static void test_truncation(void) {
  static struct file file;
  build(&file, PARTS, NULL, NULL);
  for (size_t size = 0; size < file.size; size++) {
    enum linnet_status status = try_load(file.bytes, size);
    CHECK(status == LINNET_ERROR_FORMAT, "cut to %zu of %zu bytes: status %d, %s", size, file.size, status,
          linnet_context_error(context));
  }
  CHECK(try_load(file.bytes, file.size) == LINNET_OK, "%s", linnet_context_error(context));
}

/* For any change of a byte, the loader accepts or refuses the file within its budget. */
static void test_every_byte(void) {
  static struct file file;
  static const unsigned char masks[] = {0x01, 0x80, 0xFF};
  build(&file, PARTS, NULL, NULL);
  for (size_t i = 0; i < file.size; i++) {
    unsigned char before = file.bytes[i];
    file.bytes[i] ^= masks[i % sizeof masks];
    enum linnet_status status = try_load(file.bytes, file.size);
    CHECK(status != LINNET_ERROR_MEMORY && status != LINNET_ERROR_IO, "byte %zu: status %d", i, status);
    file.bytes[i] = before;
  }
}

/* --- limits --------------------------------------------------------------------------------------------------- */

/* A file of one long header: `start`, and then `unit` repeated. */
static void expect_long(const char *name, const char *start, const char *unit, size_t times, const char *end,
                        const char *word) {
  size_t n = strlen(start), u = strlen(unit), e = strlen(end), size = n + u * times + e;
  unsigned char *bytes = malloc(8 + size);
  REQUIRE(bytes, "memory");
  put_u64(bytes, size);
  memcpy(bytes + 8, start, n);
  for (size_t i = 0; i < times; i++)
    memcpy(bytes + 8 + n + u * i, unit, u);
  memcpy(bytes + 8 + n + u * times, end, e);
  enum linnet_status status = try_load(bytes, 8 + size);
  CHECK(status == LINNET_ERROR_LIMIT, "%s: status %d, %s", name, status, linnet_context_error(context));
  CHECK(strstr(linnet_context_error(context), word), "%s: %s", name, linnet_context_error(context));
  free(bytes);
}

static void test_limits(void) {
  static struct text text;
  char name[256];
  expect_long("header of 5 MB", "{", " ", 5 << 20, "}", "header");
  expect_long("100 000 values", "{\"a\":[", "0,", 100000, "0]}", "values");
  expect_long("a million levels", "{\"a\":", "[", 1000000, "", "nested");
  expect_long("a long tensor name", "{\"", "n", 128, "\":{}}", "name");
  expect_long("a long metadata key", "{\"__metadata__\":{\"", "n", 128, "\":\"\"}}", "key");
  text.length = 0;
  append(&text, "{\"a\":0");
  for (int i = 0; i < 4100 / 2; i++) {
    snprintf(name, sizeof name, ",\"%x\":0", i);
    append(&text, name);
  }
  REQUIRE(text.length < TEXT_MAX, "text");
  static struct file file;
  assemble(&file, text.text, text.length, 100);
  CHECK(try_load(file.bytes, 8 + text.length) == LINNET_ERROR_FORMAT, "2000 tensors are not too many");
  text.length = 0;
  append(&text, "{\"__metadata__\":{\"a\":\"\"");
  for (int i = 0; i < 256; i++) {
    snprintf(name, sizeof name, ",\"%d\":\"\"", i);
    append(&text, name);
  }
  append(&text, "}}");
  assemble(&file, text.text, text.length, 100);
  CHECK(try_load(file.bytes, 8 + text.length) == LINNET_ERROR_LIMIT &&
            strstr(linnet_context_error(context), "metadata"),
        "%s", linnet_context_error(context));
}

static void test_many_tensors(void) {
  const size_t capacity = 1 << 20;
  unsigned char *bytes = malloc(capacity);
  REQUIRE(bytes, "memory");
  size_t size = 8;
  size += (size_t)snprintf((char *)bytes + size, capacity - size, "{\"a\":0");
  for (int i = 0; i < LINNET_MAX_TENSORS; i++)
    size += (size_t)snprintf((char *)bytes + size, capacity - size, ",\"%d\":0", i);
  size += (size_t)snprintf((char *)bytes + size, capacity - size, "}");
  put_u64(bytes, size - 8);
  CHECK(try_load(bytes, size) == LINNET_ERROR_LIMIT && strstr(linnet_context_error(context), "tensors"), "%s",
        linnet_context_error(context));
  free(bytes);
}

static void test_long_symbol(void) {
  static struct file file;
  char symbol[300];
  memset(symbol, 'x', sizeof symbol);
  symbol[0] = symbol[257] = '"';
  symbol[258] = '\0';
  build(&file, SYMBOLS, "\"b\"", symbol);
  expect("symbol of 256 bytes", &file, LINNET_ERROR_LIMIT, "longer");
  symbol[256] = '"';
  symbol[257] = '\0';
  build(&file, SYMBOLS, "\"b\"", symbol);
  expect("symbol of 255 bytes", &file, LINNET_OK, "");
}

/* --- good files ----------------------------------------------------------------------------------------------- */

static struct linnet_model *load(const char *path) {
  struct linnet_model *model = NULL;
  REQUIRE(linnet_model_load_whole(context, path, &model) == LINNET_OK, "%s", linnet_context_error(context));
  return model;
}

/* The scripts's rule: element i of tensor t, as the script lists them, is t + i / 64. The C table lists the tensors of
 * attention in another order, so t is looked up. */
static size_t script_index(const struct linnet_parameters *p, const char *name) {
  static const char *const order[] = {"attention.query.weight", "attention.query.bias",   "attention.key.weight",
                                      "attention.key.bias",     "attention.value.weight", "attention.value.bias"};
  for (size_t i = 0; i < 6; i++)
    if (strstr(name, order[i]))
      return 2 + i;
  return (size_t)(linnet_parameters_find(p, name) - p->list);
}

static void check_weights(const struct linnet_model *model, const char *path) {
  const struct linnet_parameters *p = model->parameters;
  for (size_t t = 0; t < p->count; t++)
    for (size_t i = 0; i < p->list[t].count; i++) {
      double wanted = (double)script_index(p, p->list[t].name) + (double)i / 64;
      double got = model->weights[p->list[t].offset + i];
      CHECK(got == wanted, "%s: %s[%zu] is %g, not %g", path, p->list[t].name, i, got, wanted);
    }
}

/* A frame shift has a whole number of samples: 220 instead of 220.5 at 22050 Hz. */
static void test_frame_seconds(void) {
  static struct file file;
  struct linnet_model *model = NULL;
  build(&file, FEATURES, "16000", "22050");
  REQUIRE(linnet_model_load_memory(context, file.bytes, file.size, "22050 Hz", &model) == LINNET_OK, "%s",
          linnet_context_error(context));
  double seconds = linnet_model_frame_seconds(model);
  CHECK(fabs(seconds - 220 / 22050.0) < 1e-15, "%.17g s, expected %.17g", seconds, 220 / 22050.0);
  linnet_model_destroy(model);
}

static void test_getters(void) {
  struct linnet_model *model = load(test_source("tests/fuzz/corpus/model/conv_float16.safetensors"));
  CHECK(linnet_model_num_symbols(model) == 3 && strcmp(linnet_model_symbol(model, 0), "<blk>") == 0, "symbols");
  CHECK(strcmp(linnet_model_symbol(model, 2), "\311\231\313\220") == 0, "symbol 2 is %s",
        linnet_model_symbol(model, 2));
  CHECK(!linnet_model_symbol(model, 3) && !linnet_model_symbol(model, -1), "no such symbol");
  CHECK(linnet_model_stride(model) == 2, "stride");
  CHECK(linnet_model_frame_seconds(model) == 0.02, "%g s", linnet_model_frame_seconds(model));
  CHECK(linnet_model_num_output_frames(model, 0) == 0 && linnet_model_num_output_frames(model, 1) == 1 &&
            linnet_model_num_output_frames(model, 2) == 1 && linnet_model_num_output_frames(model, 3) == 2 &&
            linnet_model_num_output_frames(model, SIZE_MAX) == SIZE_MAX / 2 + 1,
        "output frames");
  struct linnet_feature_config features;
  linnet_model_features(model, &features);
  CHECK(features.fbank.num_mel == 4 && features.fbank.preemphasis == 0.97 && features.cmvn == LINNET_CMVN_NONE &&
            features.cmvn_variance == 1 && features.fbank.size == sizeof features.fbank,
        "features");
  CHECK(!linnet_model_cmvn(model), "no statistics");
  CHECK(model->config.dropout == 0 && model->config.activation == LINNET_GELU && model->config.convolution == 3,
        "config");
  CHECK(strcmp(linnet_model_metadata(model, "licence"), "Apache-2.0") == 0, "licence");
  CHECK(!linnet_model_metadata(model, "price"), "no such metadata");
  size_t keys = 0;
  while (linnet_model_metadata_key(model, keys))
    keys++;
  CHECK(keys == 6, "%zu entries of metadata", keys);
  CHECK(linnet_model_num_parameters(model) == model->parameters->trained && linnet_model_memory_bytes(model) > 1000,
        "numbers");
  check_weights(model, "conv_float16");
  linnet_model_destroy(model);
}

static void test_python(void) {
  struct linnet_model *model = load(test_source("tests/fuzz/corpus/model/plain_float32.safetensors"));
  check_weights(model, "plain_float32");
  linnet_model_destroy(model);
  model = load(test_source("tests/fuzz/corpus/model/blstm_float32.safetensors"));
  check_weights(model, "blstm_float32");
  linnet_model_destroy(model);
  model = load(test_source("tests/fuzz/corpus/model/global_float32.safetensors"));
  check_weights(model, "global_float32");
  const struct linnet_cmvn *cmvn = linnet_model_cmvn(model);
  CHECK(cmvn && cmvn->dim == 4 && cmvn->count == 100 && cmvn->sum[3] == 3 && cmvn->square[0] == 200, "statistics");
  linnet_model_destroy(model);
  linnet_model_destroy(NULL);
}

/* For streams: convolutions that look ahead, running statistics. */
static void test_live(void) {
  struct linnet_model *model = load(test_source("tests/fuzz/corpus/model/live_float32.safetensors"));
  check_weights(model, "live_float32");
  const struct linnet_cmvn *cmvn = linnet_model_cmvn(model);
  struct linnet_feature_config features;
  linnet_model_features(model, &features);
  CHECK(features.cmvn == LINNET_CMVN_RUNNING && features.cmvn_prior == 250, "features");
  CHECK(cmvn && cmvn->dim == 4 && cmvn->count == 100 && cmvn->sum[3] == 3 && cmvn->square[0] == 200, "statistics");
  CHECK(linnet_model_is_causal(model) && linnet_model_lookahead(model) == 1, "a look-ahead of %zu",
        linnet_model_lookahead(model));
  linnet_model_destroy(model);
  model = load(test_source("tests/fuzz/corpus/model/conv_float16.safetensors"));
  CHECK(!linnet_model_is_causal(model) && linnet_model_lookahead(model) == 0, "the look-ahead of other models");
  linnet_model_destroy(model);
}

/* NaN and infinity in float16. */
static void test_half_finite(void) {
  void *data = NULL;
  size_t bytes = 0;
  REQUIRE(linnet_file_read(context, test_source("tests/fuzz/corpus/model/conv_float16.safetensors"), 1 << 20, &data,
                           &bytes) == LINNET_OK,
          "%s", linnet_context_error(context));
  unsigned char *last = (unsigned char *)data + bytes - 1;
  CHECK(try_load(data, bytes) == LINNET_OK, "%s", linnet_context_error(context));
  *last = 0x7C;
  CHECK(try_load(data, bytes) == LINNET_ERROR_NUMERIC, "%s", linnet_context_error(context));
  *last = 0xFE;
  CHECK(try_load(data, bytes) == LINNET_ERROR_NUMERIC, "%s", linnet_context_error(context));
  linnet_free(context, data);
}

static void test_paths(void) {
  struct linnet_model *model = (struct linnet_model *)&model;
  CHECK(linnet_model_load(context, "no/such/file", &model) == LINNET_ERROR_IO && !model &&
            strstr(linnet_context_error(context), "no/such/file"),
        "%s", linnet_context_error(context));
  CHECK(linnet_model_load(context, TEST_SOURCE_DIR, &model) == LINNET_ERROR_IO, "a folder: %s",
        linnet_context_error(context));
  counter.limit = counter.live + (1 << 20); /* an endless file that is not a model is not read */
  if (access("/dev/zero", R_OK) == 0)
    CHECK(linnet_model_load(context, "/dev/zero", &model) == LINNET_ERROR_FORMAT && !model, "endless zeros: %s",
          linnet_context_error(context));
  counter.limit = 0;
  CHECK(linnet_model_load(context, NULL, &model) == LINNET_ERROR_ARGUMENT, "no path");
  CHECK(linnet_model_load(NULL, "x", &model) == LINNET_ERROR_ARGUMENT, "no context");
  CHECK(linnet_model_load(context, "x", NULL) == LINNET_ERROR_ARGUMENT, "no result");
  CHECK(linnet_model_load_memory(context, NULL, 1, "x", &model) == LINNET_ERROR_ARGUMENT, "no data");
  CHECK(linnet_model_load_memory(context, NULL, 0, NULL, &model) == LINNET_ERROR_FORMAT, "nothing");
}

/* --- saving --------------------------------------------------------------------------------------------------- */

static const char *const saved_path = TEST_BINARY_DIR "/test_model_file.tmp.safetensors";

static struct linnet_model_contents contents_of(const struct linnet_model *model) {
  return (struct linnet_model_contents){.config = &model->config,
                                        .parameters = model->parameters,
                                        .weights = model->weights,
                                        .symbols = model->symbols,
                                        .features = &model->features,
                                        .cmvn = model->cmvn,
                                        .metadata = model->metadata,
                                        .num_metadata = model->num_metadata,
                                        .dtype = LINNET_F32};
}

/* Saved and loaded again, everything is as it was; a second save writes the same bytes. */
static void test_save(const char *name, enum linnet_dtype dtype) {
  struct linnet_model *model = load(test_source(name));
  struct linnet_model_contents contents = contents_of(model);
  contents.dtype = dtype;
  REQUIRE(linnet_model_save(context, saved_path, &contents) == LINNET_OK, "%s", linnet_context_error(context));
  struct linnet_model *again = load(saved_path);
  CHECK(memcmp(model->weights, again->weights, model->parameters->size * sizeof *model->weights) == 0, "weights");
  CHECK(test_same_config(&model->config, &again->config), "config");
  CHECK(test_same_features(&model->features, &again->features), "features");
  for (int i = 0; i < 3; i++)
    CHECK(strcmp(linnet_model_symbol(model, i), linnet_model_symbol(again, i)) == 0, "symbol %d", i);
  CHECK(!model->cmvn == !again->cmvn, "statistics");
  if (model->cmvn && again->cmvn)
    CHECK(memcmp(model->cmvn, again->cmvn, sizeof *model->cmvn) == 0, "statistics");
  CHECK(strcmp(linnet_model_metadata(again, "licence"), "Apache-2.0") == 0 && again->num_metadata == 6, "metadata");
  linnet_model_destroy(model);
  linnet_model_destroy(again);
  remove(saved_path);
}

static void expect_unsaved(const struct linnet_model_contents *contents, enum linnet_status wanted, const char *word) {
  enum linnet_status status = linnet_model_save(context, saved_path, contents);
  CHECK(status == wanted && strstr(linnet_context_error(context), word), "%s: status %d, %s", word, status,
        linnet_context_error(context));
  FILE *file = fopen(saved_path, "rb");
  CHECK(!file && errno == ENOENT, "%s: a file was left behind", word);
  if (file)
    fclose(file);
}

static void test_save_refusals(void) {
  struct linnet_model *model = load(test_source("tests/fuzz/corpus/model/global_float32.safetensors"));
  const struct linnet_model_contents good = contents_of(model);
  struct linnet_model_contents bad = good;
  const char *const symbols[] = {"<blk>", "a", "a"};
  bad.symbols = symbols;
  expect_unsaved(&bad, LINNET_ERROR_FORMAT, "twice");
  bad = good;
  bad.cmvn = NULL;
  expect_unsaved(&bad, LINNET_ERROR_ARGUMENT, "statistics");
  bad = good;
  bad.dtype = LINNET_F64;
  expect_unsaved(&bad, LINNET_ERROR_ARGUMENT, "F16");
  bad = good;
  struct linnet_config config = model->config;
  config.layers = 2;
  bad.config = &config;
  expect_unsaved(&bad, LINNET_ERROR_ARGUMENT, "table");
  bad = good;
  struct linnet_feature_config features = model->features;
  features.fbank.num_mel = 5;
  bad.features = &features;
  expect_unsaved(&bad, LINNET_ERROR_ARGUMENT, "num_mel");
  bad = good;
  const struct linnet_metadata metadata[] = {{"name", "\377"}};
  bad.metadata = metadata;
  bad.num_metadata = 1;
  expect_unsaved(&bad, LINNET_ERROR_ARGUMENT, "UTF-8");
  real *weights = linnet_calloc(context, model->parameters->size, sizeof *weights);
  bad = good;
  bad.weights = weights;
  weights[model->parameters->output.weight] = NAN;
  expect_unsaved(&bad, LINNET_ERROR_NUMERIC, "output.weight");
  weights[model->parameters->output.weight] = 1e5f;
  bad.dtype = LINNET_F16;
  expect_unsaved(&bad, LINNET_ERROR_NUMERIC, "F16");
  CHECK(linnet_model_save(context, "no/such/folder/x", &good) == LINNET_ERROR_IO, "%s", linnet_context_error(context));
  linnet_free(context, weights);
  linnet_model_destroy(model);
}

/* A failed save leaves the file that was there. */
static void test_save_keeps(void) {
  struct linnet_model *model = load(test_source("tests/fuzz/corpus/model/plain_float32.safetensors"));
  struct linnet_model_contents contents = contents_of(model);
  REQUIRE(linnet_model_save(context, saved_path, &contents) == LINNET_OK, "%s", linnet_context_error(context));
  real before = model->weights[0];
  model->weights[0] = INFINITY;
  CHECK(linnet_model_save(context, saved_path, &contents) == LINNET_ERROR_NUMERIC, "infinity");
  struct linnet_model *again = load(saved_path);
  CHECK(again->weights[0] == before, "the old file is still there");
  linnet_model_destroy(again);
  linnet_model_destroy(model);
  remove(saved_path);
}

/* --- memory --------------------------------------------------------------------------------------------------- */

/* A model for recognition has each matrix once. */
static void test_recognition(const char *name) {
  const char *path = test_source(name);
  struct linnet_model *whole = load(path), *model = NULL;
  REQUIRE(linnet_model_load(context, path, &model) == LINNET_OK, "%s", linnet_context_error(context));
  const struct linnet_parameters *rest = model->parameters;
  for (size_t i = 0; i < rest->count; i++) {
    const struct linnet_parameter *p = &rest->list[i], *all = linnet_parameters_find(whole->parameters, p->name);
    CHECK(all && memcmp(model->weights + p->offset, whole->weights + all->offset, p->count * sizeof(real)) == 0, "%s",
          p->name);
    CHECK(p->cols == 0 || strstr(p->name, "depthwise.weight"), "%s is there twice", p->name);
  }
  CHECK(linnet_model_num_parameters(model) == linnet_model_num_parameters(whole), "number of parameters");
  const size_t saved = (whole->parameters->size - rest->size) * sizeof(real);
  CHECK(rest->size < whole->parameters->size &&
            linnet_model_memory_bytes(model) + saved <= linnet_model_memory_bytes(whole),
        "%zu and %zu bytes", linnet_model_memory_bytes(model), linnet_model_memory_bytes(whole));
  linnet_model_destroy(model);
  linnet_model_destroy(whole);
}

/* A network with all widths at their minimum does not need more memory for its file than other networks. */
static void test_narrow(void) {
  struct linnet_config config;
  struct linnet_parameters *parameters = NULL;
  linnet_config_default(&config);
  config.input_dim = config.width = config.heads = config.layers = 1;
  config.outputs = 2;
  config.feed_forward = 65536;
  config.position = LINNET_POSITION_NONE;
  struct linnet_feature_config features = {.fbank = {.sample_rate = 16000,
                                                     .frame_length = 25,
                                                     .frame_shift = 10,
                                                     .num_mel = 1,
                                                     .low_frequency = 20,
                                                     .preemphasis = 0.97}};
  REQUIRE(linnet_parameters_create(context, &config, &parameters) == LINNET_OK, "%s", linnet_context_error(context));
  real *weights = linnet_calloc(context, parameters->size, sizeof *weights);
  const char *const symbols[] = {"<blk>", "a"};
  const struct linnet_model_contents contents = {.config = &config,
                                                 .parameters = parameters,
                                                 .weights = weights,
                                                 .symbols = symbols,
                                                 .features = &features,
                                                 .dtype = LINNET_F16};
  REQUIRE(linnet_model_save(context, saved_path, &contents) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_free(context, weights);
  linnet_parameters_destroy(parameters);
  void *data = NULL;
  size_t bytes = 0;
  REQUIRE(linnet_file_read(context, saved_path, 1 << 20, &data, &bytes) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(try_load(data, bytes) == LINNET_OK, "%zu bytes: %s", bytes, linnet_context_error(context));
  linnet_free(context, data);
  remove(saved_path);
}

/* Every allocation fails once: the status reports it, and nothing leaks. */
static void test_load_torture(void) {
  static struct file file;
  build(&file, PARTS, NULL, NULL);
  enum linnet_status status = LINNET_ERROR_MEMORY;
  size_t n = 0;
  while (status == LINNET_ERROR_MEMORY && n < 1000) {
    counter.calls = 0;
    counter.fail_at = ++n;
    status = try_load(file.bytes, file.size);
    CHECK(status == LINNET_OK || (status == LINNET_ERROR_MEMORY && strstr(linnet_context_error(context), "memory")),
          "allocation %zu: status %d, %s", n, status, linnet_context_error(context));
  }
  counter.fail_at = 0;
  CHECK(n > 5 && n < 1000, "%zu allocations", n);
}

static void test_save_torture(void) {
  struct linnet_model *model = load(test_source("tests/fuzz/corpus/model/global_float32.safetensors"));
  const struct linnet_model_contents contents = contents_of(model);
  enum linnet_status status = LINNET_ERROR_MEMORY;
  size_t n = 0, before = counter.live;
  while (status == LINNET_ERROR_MEMORY && n < 1000) {
    counter.calls = 0;
    counter.fail_at = ++n;
    status = linnet_model_save(context, saved_path, &contents);
    CHECK(status == LINNET_OK || status == LINNET_ERROR_MEMORY, "allocation %zu: status %d, %s", n, status,
          linnet_context_error(context));
    CHECK(counter.live == before, "allocation %zu: %zu bytes leaked", n, counter.live - before);
  }
  counter.fail_at = 0;
  CHECK(n > 5 && n < 1000, "%zu allocations", n);
  linnet_model_destroy(model);
  remove(saved_path);
}

int main(void) {
  make_context();
  test_damages();
  test_byte_damages();
  test_truncation();
  test_every_byte();
  test_limits();
  test_many_tensors();
  test_long_symbol();
  test_getters();
  test_frame_seconds();
  test_python();
  test_live();
  test_half_finite();
  test_paths();
  test_save("tests/fuzz/corpus/model/plain_float32.safetensors", LINNET_F32);
  test_save("tests/fuzz/corpus/model/global_float32.safetensors", LINNET_F32);
  test_save("tests/fuzz/corpus/model/live_float32.safetensors", LINNET_F32);
  test_save("tests/fuzz/corpus/model/conv_float16.safetensors", LINNET_F16);
  test_save_refusals();
  test_save_keeps();
  test_recognition("tests/fuzz/corpus/model/conv_float16.safetensors");
  test_recognition("tests/fuzz/corpus/model/blstm_float32.safetensors");
  test_narrow();
  test_load_torture();
  test_save_torture();
  linnet_context_destroy(context);
  CHECK(counter.live == 0, "%zu bytes leaked", counter.live);
  return test_result();
}
