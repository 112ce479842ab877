/* Files of joint-sequence models: any bytes load as a model that pronounces words, or are refused; within a budget of
 * memory, and without leaks. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include <linnet/g2p.h>

#include "g2p_words.h"

static void check_word(const struct linnet_g2p *g2p, struct linnet_context *context, const char *word) {
  struct linnet_g2p_result *result;
  check(linnet_g2p_pronounce(g2p, context, word, 3, &result) == LINNET_OK, "a word that fails");
  double before = INFINITY;
  for (size_t i = 0; i < linnet_g2p_result_num_pronunciations(result); i++) {
    size_t count;
    const char *const *phones = linnet_g2p_result_phones(result, i, &count);
    double score = linnet_g2p_result_log_probability(result, i);
    check(count >= 1 && count <= 2 * strlen(word), "number of phones");
    for (size_t k = 0; k < count; k++)
      check(*phones[k] != '\0' && !strpbrk(phones[k], " \t\r\n"), "a phone that breaks a line of a lexicon");
    check(score <= before, "order of pronunciations"); /* false for NaN, too */
    before = score;
  }
  linnet_g2p_result_destroy(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct linnet_context *context;
  if (!context)
    context = budget_context();
  check(context != NULL, "no context");
  struct linnet_g2p *g2p = NULL;
  size_t before = budget.live;
  budget.limit = before + 128 * size + (1 << 20);
  enum linnet_status status = linnet_g2p_load_memory(context, data, size, "FILE", &g2p);
  budget.limit = 0;
  check(!budget.exceeded, "asked for more memory than such a file deserves");
  check((status == LINNET_OK) == (g2p != NULL), "status and result disagree");
  if (g2p) {
    check_word(g2p, context, "phototaxis");
    check_word(g2p, context, "xxyyhat");
    check_word(g2p, context, "\xC3\xA9p\xFF");
  } else {
    check(strstr(linnet_context_error(context), "FILE") != NULL, "a message that does not name the file");
  }
  linnet_g2p_destroy(g2p);
  check(budget.live == before, "memory was not released");
  return 0;
}

/* Usually corrects size and checksum after a mutation; otherwise the loader would refuse nearly all inputs there. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, capacity);
  if (seed % 8 != 0)
    g2p_file_seal(data, size);
  return size;
}
