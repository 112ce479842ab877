/* ARPA files, plain and gzip. */
#include "fuzz_ngram.h"

#include "ngram_file.h"

enum { FRONT_MAX = 1 << 18, LONG_MAX = FRONT_MAX + (1 << 16) };

static uint32_t hash(const uint8_t *data, size_t size) {
  uint32_t h = 0x811C9DC5u;
  for (size_t i = 0; i < size; i++)
    h = (h ^ data[i]) * 0x01000193u;
  return h ^ h >> 15;
}

/* The number of words of a model that loads; 0 if it is refused. */
static enum linnet_status load(const uint8_t *data, size_t size, size_t *words) {
  struct linnet_context *context = NULL;
  struct linnet_ngram *ngram = NULL;
  check(linnet_context_create(NULL, &context) == LINNET_OK, "no context");
  enum linnet_status status = linnet_ngram_load_memory(context, data, size, "FILE", &ngram);
  *words = ngram ? linnet_ngram_num_ngrams(ngram, 1) : 0;
  linnet_ngram_destroy(ngram);
  linnet_context_destroy(context);
  return status;
}

static size_t words_of(const uint8_t *data, size_t size) {
  size_t words;
  load(data, size, &words);
  return words;
}

/* After many lines of comment, and compressed in two members, the file gives the same model, or is refused in the
 * same way. The checksums refuse a part of it and a changed byte. */
static void check_compressed(const uint8_t *data, size_t size, uint32_t seed) {
  static uint8_t text[LONG_MAX], packed[LONG_MAX + 256];
  size_t front = seed % FRONT_MAX, total = front + size, first = (seed >> 4) % (total + 1);
  for (size_t i = 0; i < front; i++)
    text[i] = i % 61 == 60 || i + 1 == front ? '\n' : (uint8_t)('a' + (seed >> i % 16) % 26);
  memcpy(text + front, data, size);
  uint8_t *end = gzip_member(text + first, total - first, gzip_member(text, first, packed));
  size_t size_packed = (size_t)(end - packed), words = words_of(text, total), unpacked;
  if (load(packed, size_packed, &unpacked) == LINNET_ERROR_UNSUPPORTED)
    return; /* a build without zlib */
  check(unpacked == words, "compressed it is another model");
  check(words_of(packed, size_packed - 1 - seed % 9) == 0, "a part of the compressed file loads");
  packed[seed % size_packed] ^= (uint8_t)(1u << seed % 8);
  size_t changed = words_of(packed, size_packed);
  check(changed == 0 || changed == words, "changed and compressed it is another model");
}

/* gzip can make a thousand bytes of one, so only plain files have a budget that follows their size. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bool compressed = size >= 2 && data[0] == 0x1F && data[1] == 0x8B;
  uint32_t seed = hash(data, size);
  if (!compressed && seed % 64 == 0 && size <= LONG_MAX - FRONT_MAX)
    check_compressed(data, size, seed / 64);
  return fuzz_ngram(data, size, (compressed ? 1024 : 1) * 64 * size + (1 << 20));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  (void)seed;
  return LLVMFuzzerMutate(data, size, capacity);
}
