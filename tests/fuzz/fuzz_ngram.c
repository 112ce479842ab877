/* Binary files of n-gram models. */
#include "fuzz_ngram.h"

#include "ngram_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_ngram(data, size, 64 * size + (1 << 20));
}

/* Usually corrects the checksums after a mutation; otherwise the loader would refuse nearly all inputs there. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, capacity);
  if (seed % 8 != 0)
    ngram_file_seal(data, size);
  return size;
}
