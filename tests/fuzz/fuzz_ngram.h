/* Shared by the fuzz targets of n-gram models: any bytes either load as a valid model or are refused, within a budget
 * of memory and without leaks. */
#ifndef LINNET_FUZZ_NGRAM_H
#define LINNET_FUZZ_NGRAM_H

#include "fuzz.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <linnet/ngram.h>

/* Walks over all words, from the first state and from the states of a few words. */
static inline void check_ngram(const struct linnet_ngram *ngram) {
  uint32_t words = (uint32_t)linnet_ngram_num_ngrams(ngram, 1), state = linnet_ngram_begin(ngram);
  check(words > 0 && linnet_ngram_order(ngram) >= 1 && linnet_ngram_order(ngram) <= LINNET_NGRAM_MAX_ORDER, "shape");
  for (uint32_t w = 0; w < words; w++)
    check(linnet_ngram_find(ngram, linnet_ngram_word(ngram, w)) == w, "a word that is not found");
  for (uint32_t step = 0; step < 4 * words + 16; step++) {
    check(!isnan(linnet_ngram_score(ngram, &state, (step * 7 + step / 5) % (words + 1))), "NaN");
    check(!isnan(linnet_ngram_finish(ngram, state)), "NaN at the end");
  }
}

static inline int fuzz_ngram(const uint8_t *data, size_t size, size_t max_bytes) {
  static struct linnet_context *context;
  if (!context)
    context = budget_context();
  check(context != NULL, "no context");
  struct linnet_ngram *ngram = NULL;
  size_t before = budget.live;
  budget.limit = before + max_bytes;
  enum linnet_status status = linnet_ngram_load_memory(context, data, size, "FILE", &ngram);
  budget.limit = 0;
  check(!budget.exceeded, "asked for more memory than such a file deserves");
  check((status == LINNET_OK) == (ngram != NULL), "status and result disagree");
  if (ngram)
    check_ngram(ngram);
  else
    check(strstr(linnet_context_error(context), "FILE") != NULL, "a message that does not name the file");
  linnet_ngram_destroy(ngram);
  check(budget.live == before, "memory was not released");
  return 0;
}

#endif
