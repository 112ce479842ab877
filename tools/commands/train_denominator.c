/* Loads the n-gram over the symbols that `linnet train` needs for CTC-CRF. */
#include "train_parts.h"

/* Names the symbols that the n-gram lacks. */
static void report_missing(const struct linnet_ngram *ngram, const char *path, const struct linnet_symbols *symbols,
                           size_t missing) {
  const char *first = "";
  for (size_t i = linnet_symbols_num_symbols(symbols); i-- > 1;)
    if (linnet_ngram_find(ngram, linnet_symbols_name(symbols, (int)i)) == LINNET_NOT_FOUND)
      first = linnet_symbols_name(symbols, (int)i);
  tool_fail(
      "%s: training.denominator lacks %zu of %zu symbols, such as \"%s\": make the n-gram from the transcripts in "
      "these symbols (linnet ngram)",
      path, missing, linnet_symbols_num_symbols(symbols) - 1, first);
}

bool train_denominator_load(struct linnet_context *context, const char *path, const struct linnet_symbols *symbols,
                            struct train_denominator *d) {
  size_t missing = 0;
  if (linnet_ngram_load(context, path, &d->ngram) != LINNET_OK ||
      linnet_ngram_bind_symbols(context, d->ngram, symbols, &missing, &d->binding) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  if (missing > 0)
    report_missing(d->ngram, path, symbols, missing);
  return missing == 0;
}

void train_denominator_free(struct train_denominator *d) {
  linnet_ngram_binding_destroy(d->binding);
  linnet_ngram_destroy(d->ngram);
}
