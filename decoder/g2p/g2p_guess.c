/* Guessed pronunciations as labels of symbols. */
#include "decoder/g2p/g2p.h"
#include "decoder/words/symbols.h"

enum { MAX_LABELS = G2P_UNIT_PHONES * G2P_MAX_LETTERS };

static enum linnet_status find_labels(struct linnet_context *context, const struct linnet_symbols *symbols,
                                      const char *word, const char *const *phones, size_t count, int *labels) {
  for (size_t i = 0; i < count; i++) {
    labels[i] = linnet_symbols_find_phone(symbols, phones[i]);
    if (labels[i] == 0)
      return linnet_fail(context, LINNET_ERROR_FORMAT,
                         "the guess of '%.100s' has phone '%.20s', which is not among the symbols: use a model of "
                         "pronunciations with the phones of the acoustic model",
                         word, phones[i]);
  }
  return LINNET_OK;
}

enum linnet_status linnet_g2p_guess(const struct linnet_g2p *g2p, struct linnet_context *context, const char *word,
                                    const struct linnet_symbols *symbols, linnet_guess_fn put, void *user) {
  struct linnet_g2p_result *result;
  enum linnet_status status = linnet_g2p_pronounce(g2p, context, word, LINNET_G2P_GUESSES, &result);
  if (status == LINNET_ERROR_LIMIT)
    return LINNET_OK;
  LINNET_TRY(status);
  size_t guesses = linnet_g2p_result_num_ignored(result) == 0 ? linnet_g2p_result_num_pronunciations(result) : 0;
  for (size_t i = 0; i < guesses && status == LINNET_OK; i++) {
    size_t count;
    int labels[MAX_LABELS];
    const char *const *phones = linnet_g2p_result_phones(result, i, &count);
    status = find_labels(context, symbols, word, phones, count, labels);
    if (status == LINNET_OK)
      status = put(user, labels, count, linnet_g2p_result_probability(result, i));
  }
  linnet_g2p_result_destroy(result);
  return status;
}
