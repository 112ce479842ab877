/* Error rates of pronunciations. */
#include <stdint.h>

#include "common/similar.h"
#include "g2p_tasks.h"

enum { MAX_PHONES = 2 * LINNET_G2P_MAX_LETTERS }; /* of a pronunciation by the model */

_Static_assert((int)MAX_PHONES <= (int)EDIT_DISTANCE_MAX, "edit_distance takes a pronunciation");

struct sums {
  size_t words, wrong, none; /* none: words without a pronunciation, which are wrong, too */
  size_t within;             /* right by one of the best */
  size_t phones, errors;
};

/* The distance to the nearest pronunciation of a word, and the number of phones of that pronunciation. */
static size_t nearest(const struct linnet_lexicon *lexicon, size_t word, const char *const *phones, size_t count,
                      size_t *length) {
  size_t minimum = SIZE_MAX;
  int labels[MAX_PHONES];
  for (size_t i = 0; i < count; i++) /* less than 0: the lexicon does not use it */
    labels[i] = (int)linnet_symbols_find(linnet_lexicon_phones(lexicon), phones[i]);
  for (size_t v = 0; v < linnet_lexicon_num_variants(lexicon, word); v++) {
    size_t num_reference;
    const int *reference = linnet_lexicon_pronunciation(lexicon, word, v, &num_reference);
    size_t errors = edit_distance(reference, num_reference, labels, count);
    if (errors < minimum) {
      minimum = errors;
      *length = num_reference;
    }
  }
  return minimum;
}

static bool right_within(const struct linnet_lexicon *lexicon, size_t word, const struct linnet_g2p_result *result) {
  for (size_t i = 0; i < linnet_g2p_result_num_pronunciations(result); i++) {
    size_t count, length;
    const char *const *phones = linnet_g2p_result_phones(result, i, &count);
    if (nearest(lexicon, word, phones, count, &length) == 0)
      return true;
  }
  return false;
}

static void add_word(const struct linnet_lexicon *lexicon, size_t word, const struct linnet_g2p_result *result,
                     struct sums *sums) {
  size_t count = 0, length = 0;
  const char *const *phones = result ? linnet_g2p_result_phones(result, 0, &count) : NULL;
  size_t errors = nearest(lexicon, word, phones, count, &length);
  sums->words++;
  sums->wrong += errors > 0;
  sums->none += count == 0;
  sums->within += result && right_within(lexicon, word, result);
  sums->phones += length;
  sums->errors += errors;
}

static void print_sums(const struct sums *sums, size_t nbest, double seconds) {
  double words = (double)sums->words;
  printf("test words %zu\nwithout pronunciation %zu\n", sums->words, sums->none);
  printf("word error rate %.2f %% (%zu of %zu)\n", 100 * (double)sums->wrong / words, sums->wrong, sums->words);
  if (nbest > 1)
    printf("word error rate of the best %zu %.2f %%\n", nbest, 100 * (words - (double)sums->within) / words);
  printf("phone error rate %.2f %% (%zu of %zu)\n", 100 * (double)sums->errors / (double)sums->phones, sums->errors,
         sums->phones);
  printf("words a second %.0f\n", words / seconds);
}

bool g2p_measure(struct linnet_context *context, const struct linnet_g2p *g2p, const struct linnet_lexicon *lexicon,
                 size_t every, size_t nbest) {
  struct sums sums = {0};
  double started = tool_clock();
  size_t step = every > 0 ? every : 1;
  for (size_t word = step - 1; word < linnet_lexicon_num_words(lexicon); word += step) {
    struct linnet_g2p_result *result = NULL;
    enum linnet_status status = linnet_g2p_pronounce(g2p, context, linnet_lexicon_word(lexicon, word), nbest, &result);
    if (status != LINNET_OK && status != LINNET_ERROR_LIMIT)
      return tool_fail_context(context) == TOOL_OK;
    add_word(lexicon, word, result, &sums);
    linnet_g2p_result_destroy(result);
  }
  if (sums.words == 0)
    return tool_fail("there are no words to test") == TOOL_OK;
  print_sums(&sums, nbest, tool_clock() - started);
  return true;
}
