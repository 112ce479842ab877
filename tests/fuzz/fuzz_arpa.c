/* ARPA files, plain and gzip. */
#include "fuzz/fuzz_ngram.h"

/* gzip can make a thousand bytes of one, so only plain files have a budget that follows their size. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bool compressed = size >= 2 && data[0] == 0x1F && data[1] == 0x8B;
  return fuzz_ngram(data, size, (compressed ? 1024 : 1) * 64 * size + (1 << 20));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  (void)seed;
  return LLVMFuzzerMutate(data, size, capacity);
}
