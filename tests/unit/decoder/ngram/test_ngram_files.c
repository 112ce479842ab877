/* Faulty files of n-gram models: each is refused with a message that names the position. */
#include <linnet/ngram.h>
#include <linnet/search.h>

#include <sys/resource.h>
#include <unistd.h>

#include "ngram_file.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define HEAD "\\data\\\nngram 1=3\nngram 2=2\n\n"
#define WORDS "\\1-grams:\n-1\ta\t-0.5\n-1\tb\t-0.5\n-1\t<unk>\n\n"
#define PAIRS "\\2-grams:\n-0.5\ta b\n-0.5\tb a\n\n"
#define END "\\end\\\n"

/* --- ARPA ------------------------------------------------------------------------------------------------------- */

static void test_good_arpa(struct linnet_context *context) {
  static const char *const good[] = {
      HEAD WORDS PAIRS END,
      "a comment\n\n" HEAD WORDS PAIRS END "what follows is not read",
      "\xEF\xBB\xBF" HEAD WORDS PAIRS "\\end\\",
      "\\data\\\r\nngram 1=2\r\n\r\n\\1-grams:\r\n-1\ta\r\n-1\tb\t0\r\n\r\n\\end\\\r\n",
      "\\data\\ \nngram 1 = 1\n\\1-grams:\n  -1e0   a  \n\\end\\\n",
      "\\data\\\nngram 1=1\nngram 2=0\n\\1-grams:\n-inf a -Inf\n\\2-grams:\n\\end\\\n",
      HEAD WORDS "\\2-grams:\n-0.5\ta b\t0\n-0.5\tb a\t-0.0\n\n" END,
      "\\data\\\nngram 1=1\n\\1-grams:\n-1234567890123456789012345678901234567890e-38\ta\t+0.25\n\\end\\\n",
  };
  for (size_t i = 0; i < COUNT(good); i++) {
    struct linnet_ngram *ngram = NULL;
    enum linnet_status status = linnet_ngram_load_memory(context, good[i], strlen(good[i]), "FILE", &ngram);
    bool weight = i == COUNT(good) - 1; /* of the highest order: refused */
    CHECK((status == LINNET_OK) == !weight, "good ARPA %zu: %s", i, linnet_context_error(context));
    linnet_ngram_destroy(ngram);
  }
}

/* Refused texts, with the beginning of the message. */
static const struct {
  const char *text, *location;
} BAD_ARPA[] = {
    {"", "FILE:0: the file ends"},
    {"nothing\nof the sort\n", "FILE:2: the file ends"},
    {"\\data\\\n", "FILE:1: the file ends"},
    {"\\data\\\n\n\\1-grams:\n", "FILE:3: 'ngram 1=COUNT' is missing"},
    {"\\data\\\nngram 0=3\n", "FILE:2: order 0"},
    {"\\data\\\nngram 99=3\n", "FILE:2: order 99"},
    {"\\data\\\nngram 2=3\n", "FILE:2: order 2"},
    {"\\data\\\nngram 1=1\nngram 2=1\nngram 3=1\nngram 4=1\nngram 5=1\nngram 6=1\nngram 7=1\nngram 8=1\nngram 9=1\n",
     "FILE:10: order 9"},
    {"\\data\\\nngram 1=0\n", "FILE:2: the number of words is 0"},
    {"\\data\\\nngram 1=-3\n", "FILE:2: expected"},
    {"\\data\\\nngram 1=\n", "FILE:2: expected"},
    {"\\data\\\nngram 1=3x\n", "FILE:2: expected"},
    {"\\data\\\nngram=3\n", "FILE:2: expected"},
    {"\\data\\\nngram\n", "FILE:2: expected"},
    {"\\data\\\nwords 1=3\n", "FILE:2: expected"},
    {"\\data\\\nngram 1=99999999999999999999999\n\\1-grams:\n-1 a\n\\end\\\n", "FILE:5: there are only 1 of"},
    {HEAD "\\2-grams:\n", "FILE:5: expected '\\1-grams:'"},
    {HEAD "\\1-grams:\n-1\ta\t-0.5\n-1\tb\t-0.5\n\n" PAIRS END, "FILE:8: there are only 2 of 3 1-grams"},
    {HEAD "\\1-grams:\n-1\ta\n-1\tb\n-1\tc\n-1\td\n\n" PAIRS END, "FILE:9: there are more than 3 1-grams"},
    {HEAD WORDS "\\2-grams:\n-0.5\ta b\n\n" END, "FILE:12: there are only 1 of 2 2-grams"},
    {HEAD WORDS END, "FILE:10: expected '\\2-grams:'"},
    {HEAD WORDS PAIRS "\\3-grams:\n-1\ta b a\n\n" END, "FILE:14: expected '\\end\\'"},
    {HEAD WORDS PAIRS, "FILE:13: the file ends before '\\end\\'"},
    {HEAD WORDS "\\2-grams:\n-0.5\ta b", "FILE:11: the file ends before '\\end\\': it is truncated"},
    {HEAD WORDS "\\2-grams:\n-0.5\ta", "FILE:11: the file ends before"},
    {HEAD WORDS "\\2-grams:\n-", "FILE:11: the file ends before"},
    {HEAD WORDS "\\2-gra", "FILE:10: the file ends before"},
    {HEAD WORDS PAIRS "\\en", "FILE:14: the file ends before"},
    {"\\data\\\nngram 1=", "FILE:2: the file ends before"},
    {HEAD "\\1-grams:\n-1\ta\n-1\tb\n-1\ta\n\n" PAIRS END, "FILE:8: word 'a' appears twice"},
    {HEAD WORDS "\\2-grams:\n-0.5\ta b\n-0.5\ta b\n\n" END, "FILE:12: this 2-gram appears twice"},
    {HEAD WORDS "\\2-grams:\n-0.5\ta x\n-0.5\tb a\n\n" END, "FILE:11: word 'x' is not among the unigrams"},
    {HEAD WORDS "\\2-grams:\n-0.5\ta\n-0.5\tb a\n\n" END,
     "FILE:11: the line has 1 words, but an n-gram has 2: complete"},
    {HEAD WORDS "\\2-grams:\n-0.5\ta b 0 0\n-0.5\tb a\n\n" END, "FILE:11: more than 2 words"},
    {HEAD WORDS "\\2-grams:\n-0.5\ta b -1\n-0.5\tb a\n\n" END,
     "FILE:11: an n-gram of the highest order, 2, has no back-off weight: remove"},
    {"\\data\\\nngram 1=2\nngram 2=1\nngram 3=1\n\\1-grams:\n-1\ta\n-1\tb\n\\2-grams:\n-1\ta b\n\\3-grams:\n-1\tb a "
     "b\n"
     "\\end\\\n",
     "FILE:11: the first 2 words are not among the 2-grams"},
    {HEAD "\\1-grams:\n0.5\ta\n-1\tb\n-1\tc\n\n" PAIRS END, "FILE:6: log probability 0.5 is above 0"},
    {HEAD "\\1-grams:\ninf\ta\n-1\tb\n-1\tc\n\n" PAIRS END, "FILE:6: log probability inf"},
    {HEAD "\\1-grams:\nnan\ta\n-1\tb\n-1\tc\n\n" PAIRS END,
     "FILE:6: log probability 'nan' is not a number: correct it"},
    {HEAD "\\1-grams:\n-1\ta\tNaN\n-1\tb\n-1\tc\n\n" PAIRS END, "FILE:6: back-off weight 'NaN'"},
    {HEAD "\\1-grams:\n-1\ta\tinf\n-1\tb\n-1\tc\n\n" PAIRS END, "FILE:6: back-off weight inf"},
    {HEAD "\\1-grams:\n-1\ta\t1e300\n-1\tb\n-1\tc\n\n" PAIRS END, "FILE:6: back-off weight 1e300"},
    {HEAD "\\1-grams:\n-\ta\n-1\tb\n-1\tc\n\n" PAIRS END, "FILE:6: log probability '-' is not a number"},
    {HEAD "\\1-grams:\n-1e\ta\n-1\tb\n-1\tc\n\n" PAIRS END, "FILE:6: log probability '-1e' is not a number"},
    {HEAD "\\1-grams:\n0x1p-2\ta\n-1\tb\n-1\tc\n\n" PAIRS END, "FILE:6: log probability '0x1p-2'"},
    {HEAD "\\1-grams:\n-1,5\ta\n-1\tb\n-1\tc\n\n" PAIRS END, "FILE:6: log probability '-1,5'"},
    {"\x1F\x8B", "FILE: "},
    {"\x1F\x8B\x08 nothing that gzip would have written", "FILE: "},
};

static void test_bad_arpa(struct linnet_context *context) {
  for (size_t i = 0; i < COUNT(BAD_ARPA); i++) {
    struct linnet_ngram *ngram = NULL;
    enum linnet_status status =
        linnet_ngram_load_memory(context, BAD_ARPA[i].text, strlen(BAD_ARPA[i].text), "FILE", &ngram);
    CHECK(status != LINNET_OK && !ngram && strstr(linnet_context_error(context), BAD_ARPA[i].location),
          "%zu, wanted '%s': %d '%s'", i, BAD_ARPA[i].location, (int)status, linnet_context_error(context));
    linnet_ngram_destroy(ngram);
  }
}

static void test_long_line_and_nul(struct linnet_context *context) {
  static char text[70000];
  struct linnet_ngram *ngram = NULL;
  memset(text, 'x', sizeof text);
  CHECK(linnet_ngram_load_memory(context, text, sizeof text, "FILE", &ngram) == LINNET_ERROR_LIMIT, "a long line");
  CHECK(linnet_ngram_load_memory(context, "a\n\0b", 4, "FILE", &ngram) == LINNET_ERROR_FORMAT &&
            strstr(linnet_context_error(context), "FILE:2: holds a NUL"),
        "NUL: %s", linnet_context_error(context));
  CHECK(linnet_ngram_load(context, "no-such-file", &ngram) == LINNET_ERROR_IO && !ngram, "no file");
  CHECK(linnet_ngram_load(context, NULL, &ngram) == LINNET_ERROR_ARGUMENT, "no path");
  CHECK(linnet_ngram_load_memory(context, NULL, 1, "FILE", &ngram) == LINNET_ERROR_ARGUMENT, "no data");
  CHECK(linnet_ngram_load_memory(context, NULL, 0, "FILE", &ngram) == LINNET_ERROR_FORMAT, "no bytes");
}

/* --- gzip ------------------------------------------------------------------------------------------------------- */

enum { MANY_WORDS = 20000, ARPA_BYTES = 64 + 32 * MANY_WORDS };

/* A model of more than 300 kB, so that its compressed form is read in several pieces. */
static size_t large_arpa(char *text) {
  struct test_random r = {7};
  size_t size = (size_t)sprintf(text, "\\data\\\nngram 1=%d\n\n\\1-grams:\n", MANY_WORDS);
  for (int i = 0; i < MANY_WORDS; i++)
    size += (size_t)sprintf(text + size, "-%zu.%zu\tword%d\n", test_below(&r, 9), test_below(&r, 99999), i);
  return size + (size_t)sprintf(text + size, "\n\\end\\\n");
}

static void expect_gzip(struct linnet_context *context, const uint8_t *data, size_t size, const char *what,
                        const char *refusal) {
  struct linnet_ngram *ngram = NULL;
  enum linnet_status status = linnet_ngram_load_memory(context, data, size, "FILE", &ngram);
  if (refusal)
    CHECK(status == LINNET_ERROR_FORMAT && strstr(linnet_context_error(context), refusal), "%s: %d %s", what,
          (int)status, linnet_context_error(context));
  else
    CHECK(ngram && linnet_ngram_num_ngrams(ngram, 1) >= MANY_WORDS, "%s: %s", what, linnet_context_error(context));
  linnet_ngram_destroy(ngram);
}

static void test_gzip(struct linnet_context *context) {
  static char text[ARPA_BYTES];
  static uint8_t packed[ARPA_BYTES + 4096];
  size_t size = large_arpa(text), one = gzip_bytes(size);
  const uint8_t *data = (const uint8_t *)text;
  struct linnet_ngram *ngram = NULL;
  gzip_member(data, size, packed);
  if (linnet_ngram_load_memory(context, packed, one, "FILE", &ngram) == LINNET_ERROR_UNSUPPORTED)
    return; /* built without zlib */
  linnet_ngram_destroy(ngram);
  expect_gzip(context, packed, one, "one member", NULL);
  static const size_t lengths[] = {2, 9, 11, 60000, 65536, 65536 + 5, 200000};
  for (size_t i = 0; i < COUNT(lengths); i++)
    expect_gzip(context, packed, lengths[i], "truncated", "FILE: the gzip data is truncated");
  expect_gzip(context, packed, one - 1, "the last byte is missing", "FILE: the gzip data is truncated");
  memset(packed + one, 0, 600);
  expect_gzip(context, packed, one + 600, "padded by zeros", NULL);
  packed[one + 599] = 'x';
  expect_gzip(context, packed, one + 600, "zeros and something else", "other bytes");
  memcpy(packed + one, "garbage", 7);
  expect_gzip(context, packed, one + 7, "something else after it", "FILE: other bytes follow");
  uint8_t *end = gzip_member(data, 70001, packed);
  end = gzip_member(data, 0, end);
  end = gzip_member(data + 70001, size - 70001, end);
  expect_gzip(context, packed, (size_t)(end - packed), "three members", NULL);
}

/* --- binary ----------------------------------------------------------------------------------------------------- */

enum { MAX_FILE = 1 << 14 };

struct file {
  char bytes[MAX_FILE];
  size_t size;
};

static const char path[] = TEST_BINARY_DIR "/test_ngram_files.bin";

/* Nodes: 0; words </s> 1, <s> 2, a 3, b 4; bigrams "<s> a" 5, "a b" 6, "b a" 7; trigrams 8, 9. */
static const struct ngram_shape SMALL_SHAPE = {.order = 3, .counts = {4, 3, 2}, .text_bytes = 13};
static const char SMALL[] =
    "\\data\\\nngram 1=4\nngram 2=3\nngram 3=2\n\n\\1-grams:\n-1\ta\t-0.5\n-1\tb\t-0.25\n-1\t<s>\t"
    "-0.125\n-1\t</s>\n\n\\2-grams:\n-0.5\ta b\t-0.1\n-0.5\tb a\n-0.75\t<s> a\t-0.2\n\n"
    "\\3-grams:\n-0.25\ta b a\n-0.3\t<s> a b\n\n\\end\\\n";

enum { SMALL_TREE = 0x554F, SMALL_OFFSETS = 0xDB950 }; /* the first 32 bits of the sections */

/* Words </s> 1, <s> 2, a 3, b 4, c 5; bigrams "a b" 6, "a c" 7, "b c" 8; trigram 9, whose link is 8; 10. */
static const struct ngram_shape LINKED_SHAPE = {.order = 4, .counts = {5, 3, 1, 1}, .text_bytes = 15};
enum { LINKED_WORDS = 0x2923 };
static const char LINKED[] =
    "\\data\\\nngram 1=5\nngram 2=3\nngram 3=1\nngram 4=1\n\n\\1-grams:\n-1\ta\t-0.5\n-1\tb\t-0.25\n"
    "-1\tc\t-0.125\n-1\t</s>\n-1\t<s>\n\n\\2-grams:\n-0.5\ta b\t-0.1\n-0.6\ta c\n-0.5\tb c\t-0.2\n\n"
    "\\3-grams:\n-0.25\ta b c\t-0.3\n\n\\4-grams:\n-0.2\ta b c a\n\n\\end\\\n";

static void make_file(struct linnet_context *context, const char *text, bool quantized, struct file *file) {
  struct linnet_ngram *ngram = NULL, *other = NULL, *twice = NULL;
  REQUIRE(linnet_ngram_load_memory(context, text, strlen(text), "FILE", &ngram) == LINNET_OK, "%s",
          linnet_context_error(context));
  if (quantized) {
    REQUIRE(linnet_ngram_quantize(context, ngram, &other) == LINNET_OK, "quantize");
    CHECK(linnet_ngram_quantize(context, other, &twice) == LINNET_ERROR_ARGUMENT, "quantized twice");
  }
  REQUIRE(linnet_ngram_save_binary(context, quantized ? other : ngram, path) == LINNET_OK, "save");
  FILE *stream = fopen(path, "rb");
  REQUIRE(stream, "open");
  file->size = fread(file->bytes, 1, MAX_FILE, stream);
  fclose(stream);
  REQUIRE(file->size > NGRAM_HEADER && file->size < MAX_FILE, "%zu bytes", file->size);
  linnet_ngram_destroy(ngram);
  linnet_ngram_destroy(other);
}

/* Both ways of loading refuse it. */
static void check_refused(struct linnet_context *context, const struct file *file, const char *what) {
  struct linnet_ngram *ngram = NULL;
  enum linnet_status status = linnet_ngram_load_memory(context, file->bytes, file->size, "FILE", &ngram);
  CHECK(status != LINNET_OK && !ngram && strstr(linnet_context_error(context), "FILE"), "%s, memory: %d %s", what,
        (int)status, linnet_context_error(context));
  linnet_ngram_destroy(ngram);
  FILE *stream = fopen(path, "wb");
  REQUIRE(stream && fwrite(file->bytes, 1, file->size, stream) == file->size && fclose(stream) == 0, "write");
  status = linnet_ngram_load(context, path, &ngram);
  CHECK(status != LINNET_OK && !ngram && strstr(linnet_context_error(context), path), "%s, mapped: %d %s", what,
        (int)status, linnet_context_error(context));
  linnet_ngram_destroy(ngram);
}

/* The checksums detect any changed byte and any wrong length. */
static void test_accidents(struct linnet_context *context, const struct file *good) {
  struct linnet_ngram *ngram = NULL;
  for (size_t at = 0; at < good->size; at++) {
    struct file file = *good;
    file.bytes[at] ^= 0x10;
    CHECK(linnet_ngram_load_memory(context, file.bytes, file.size, "FILE", &ngram) != LINNET_OK, "byte %zu", at);
    linnet_ngram_destroy(ngram);
  }
  for (size_t size = 0; size < good->size; size += size < 200 ? 1 : 61) {
    struct file file = *good;
    file.size = size;
    CHECK(linnet_ngram_load_memory(context, file.bytes, size, "FILE", &ngram) != LINNET_OK, "cut to %zu", size);
  }
  struct file longer = *good;
  longer.size++;
  check_refused(context, &longer, "a byte too many");
}

/* Changes with correct checksums. */
struct corruption {
  const char *what;
  int section; /* of the body; -1: the header */
  size_t at;   /* element of four bytes, or byte of the header */
  uint32_t value;
};

static const float POSITIVE = 0.5f;

static void corrupt(const struct file *good, const struct corruption *c, const struct ngram_shape *shape,
                    struct file *file) {
  struct ngram_layout layout;
  REQUIRE(linnet_ngram_layout(shape, &layout) && layout.total + NGRAM_HEADER == good->size, "the layout is another");
  *file = *good;
  size_t at = c->section < 0 ? c->at : NGRAM_HEADER + layout.start[c->section] + 4 * c->at;
  if ((c->section == NGRAM_TREE || (c->section < 0 && at >= 24)) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
    at ^= 4; /* halves of 64 bits: the rows give the low one on little-endian machines */
  memcpy(file->bytes + at, &c->value, sizeof c->value);
  CHECK(memcmp(file->bytes, good->bytes, good->size) != 0, "%s: changes nothing", c->what);
  ngram_file_seal(file->bytes, file->size);
}

static void check_corruptions(struct linnet_context *context, const struct file *good, const struct ngram_shape *shape,
                              const struct corruption *table, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct file file;
    corrupt(good, &table[i], shape, &file);
    check_refused(context, &file, table[i].what);
  }
}

static void test_corruptions(struct linnet_context *context, const struct file *good) {
  static const struct corruption table[] = {
      {"version 2", -1, 8, 2},
      {"another byte order", -1, 12, 0x04030201},
      {"no byte order", -1, 12, 0},
      {"order 0", -1, 16, 0},
      {"order 99", -1, 16, 99},
      {"order 2", -1, 16, 2},
      {"quantized, says the header", -1, 20, 1},
      {"quantized twice", -1, 20, 2},
      {"no words", -1, 24, 0},
      {"more words", -1, 24, 5},
      {"2^32 times more words", -1, 28, 1},
      {"2^31 bigrams", -1, 32, 0x80000000u},
      {"fewer trigrams", -1, 40, 1},
      {"more text", -1, 72, 4000},
      {"text of more than 4 GiB", -1, 76, 1},
      {"another file size", -1, 80, 77},
      {"no children", NGRAM_TREE, 0, 0},
      {"only children", NGRAM_TREE, 0, 0xFFFFFFFFu},
      {"a word too many", NGRAM_TREE, 0, SMALL_TREE | 0x10},
      {"a bigram too many", NGRAM_TREE, 0, SMALL_TREE | 0x20},
      {"a bigram too few", NGRAM_TREE, 0, SMALL_TREE & ~0x40u},
      {"a trigram instead of a bigram", NGRAM_TREE, 0, 0x594F},
      {"a trigram too many", NGRAM_TREE, 0, SMALL_TREE | 0x10000},
      {"a trigram too few", NGRAM_TREE, 0, SMALL_TREE & ~0x4000u},
      {"a mark of a one", NGRAM_MARKS, 0, 3},
      {"a mark beyond the file", NGRAM_MARKS, 0, 0xFFFFFFFFu},
      {"a filter that refuses an n-gram", NGRAM_FILTER, 0, 0},
      {"strings that do not begin at 0", NGRAM_OFFSETS, 0, SMALL_OFFSETS | 1},
      {"a string beyond the text", NGRAM_OFFSETS, 0, SMALL_OFFSETS | 0xF0},
      {"strings that go back", NGRAM_OFFSETS, 0, SMALL_OFFSETS & ~(13u << 8)},
      {"a string that ends in the middle", NGRAM_OFFSETS, 0, SMALL_OFFSETS & ~(1u << 4)},
      {"the last string ends early", NGRAM_OFFSETS, 0, SMALL_OFFSETS & ~(1u << 16)},
      {"strings without an end", NGRAM_TEXT, 1, 0x61616161},
      {"a string within a string", NGRAM_TEXT, 0, 0x3C002F3C},
      {"strings not in order", NGRAM_TEXT, 0, 0x3E732F7A},
  };
  check_corruptions(context, good, &SMALL_SHAPE, table, COUNT(table));
}

static void test_linked_corruptions(struct linnet_context *context) {
  static const struct corruption table[] = {
      {"a word beyond the vocabulary", NGRAM_WORDS, 0, LINKED_WORDS | 7},
      {"the same word twice", NGRAM_WORDS, 0, (LINKED_WORDS & ~(7u << 3)) | 3u << 3},
      {"a link to itself", NGRAM_LINKS, 0, 9},
      {"a link beyond the file", NGRAM_LINKS, 0, 15},
  };
  static struct file file;
  make_file(context, LINKED, false, &file);
  check_corruptions(context, &file, &LINKED_SHAPE, table, COUNT(table));
}

static uint32_t bits(float value) {
  uint32_t result;
  memcpy(&result, &value, sizeof result);
  return result;
}

static void test_values(struct linnet_context *context, const struct file *good, const struct file *quantized) {
  const struct corruption plain[] = {
      {"a positive log probability", NGRAM_PROBABILITIES, 3, bits(POSITIVE)},
      {"NaN as a probability", NGRAM_PROBABILITIES, 9, bits(NAN)},
      {"infinity as a probability", NGRAM_PROBABILITIES, 1, bits(INFINITY)},
      {"NaN as a back-off weight", NGRAM_BACKOFFS, 3, bits(NAN)},
      {"infinity as a back-off weight", NGRAM_BACKOFFS, 7, bits(INFINITY)},
  };
  const struct corruption coded[] = {
      {"a positive log probability of 8 bits", NGRAM_VALUES, 0, bits(POSITIVE)},
      {"NaN as a probability of 8 bits", NGRAM_VALUES, 512, bits(NAN)},
      {"infinity as a back-off weight of 8 bits", NGRAM_VALUES, 4 * 256, bits(INFINITY)},
  };
  struct ngram_shape coded_shape = SMALL_SHAPE;
  coded_shape.quantized = true;
  check_corruptions(context, good, &SMALL_SHAPE, plain, COUNT(plain));
  check_corruptions(context, quantized, &coded_shape, coded, COUNT(coded));
}

/* ARPA to binary to ARPA to binary: the same bytes. */
static void test_round_trip(struct linnet_context *context) {
  static struct file first, second;
  static const char arpa[] = TEST_BINARY_DIR "/test_ngram_files.arpa";
  struct linnet_ngram *ngram = NULL, *again = NULL;
  make_file(context, SMALL, false, &first);
  REQUIRE(linnet_ngram_load(context, path, &ngram) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_ngram_save_arpa(context, ngram, arpa) == LINNET_OK, "save");
  REQUIRE(linnet_ngram_load(context, arpa, &again) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_ngram_save_binary(context, again, path) == LINNET_OK, "save");
  FILE *stream = fopen(path, "rb");
  REQUIRE(stream, "open");
  second.size = fread(second.bytes, 1, MAX_FILE, stream);
  fclose(stream);
  CHECK(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0, "the files differ");
  linnet_ngram_destroy(again);
  linnet_ngram_destroy(ngram);
  remove(arpa);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* A file that has no room in the address space is not a wrong one. Sanitizers need terabytes of it. */
static void test_no_room(struct linnet_context *context, const struct file *good) {
#if TEST_SANITIZED
  (void)context, (void)good;
#else
  struct linnet_search_settings settings;
  struct linnet_search *search = NULL;
  struct linnet_ngram *ngram = NULL;
  struct rlimit earlier, little = {.rlim_cur = (rlim_t)1 << 28};
  const char *const names[] = {"<blk>", "a", "b"};
  FILE *stream = fopen(path, "wb");
  REQUIRE(stream && fwrite(good->bytes, 1, good->size, stream) == good->size && fclose(stream) == 0 &&
              truncate(path, (off_t)1 << 29) == 0 && getrlimit(RLIMIT_AS, &earlier) == 0,
          "%s", path);
  linnet_search_settings_default(&settings);
  settings.kind = LINNET_SEARCH_SYMBOLS;
  settings.language_model.path = path;
  little.rlim_max = earlier.rlim_max;
  REQUIRE(setrlimit(RLIMIT_AS, &little) == 0, "no limit");
  CHECK(linnet_ngram_load(context, path, &ngram) == LINNET_ERROR_MEMORY && !ngram, "%s", linnet_context_error(context));
  CHECK(strstr(linnet_context_error(context), "test_ngram_files.bin: out of memory"), "%s",
        linnet_context_error(context));
  CHECK(linnet_search_create(context, names, 3, &settings, &search) == LINNET_ERROR_MEMORY && !search, "%s",
        linnet_context_error(context));
  CHECK(!strstr(linnet_context_error(context), "linnet ngram"), "%s", linnet_context_error(context));
  setrlimit(RLIMIT_AS, &earlier);
  settings.language_model.path = TEST_BINARY_DIR "/nowhere.bin";
  CHECK(linnet_search_create(context, names, 3, &settings, &search) == LINNET_ERROR_IO &&
            strstr(linnet_context_error(context), "linnet ngram"),
        "%s", linnet_context_error(context));
  remove(path);
#endif
}

int main(void) {
  struct linnet_context *context = test_context();
  static struct file good, quantized;
  test_good_arpa(context);
  test_bad_arpa(context);
  test_long_line_and_nul(context);
  test_gzip(context);
  make_file(context, SMALL, false, &good);
  make_file(context, SMALL, true, &quantized);
  test_accidents(context, &good);
  test_no_room(context, &good);
  test_accidents(context, &quantized);
  test_corruptions(context, &good);
  test_linked_corruptions(context);
  test_values(context, &good, &quantized);
  test_round_trip(context);
  remove(path);
  linnet_context_destroy(context);
  return test_result();
}
