/* What holds for every n-gram model that was computed: probabilities add up to 1, and states lose nothing. */
#ifndef LINNET_TEST_NGRAM_CHECKS_H
#define LINNET_TEST_NGRAM_CHECKS_H

#include "decoder/ngram/ngram_model.h"
#include "test.h"

/* The probabilities of all words but <s> add up to 1 in every state. */
static inline void ngram_check_sums(const struct linnet_ngram *m, const char *what) {
  for (uint32_t context = 0; context < m->inner; context++) {
    uint32_t from = linnet_ngram_matters(m, context) ? context : linnet_ngram_link(m, context);
    double sum = 0;
    for (uint32_t word = 0; word < m->shape.counts[0]; word++) {
      uint32_t state = from;
      sum += word == m->start ? 0 : exp(linnet_ngram_score(m, &state, word));
    }
    CHECK(fabs(sum - 1) < 1e-4, "%s: context %u: sum %.7f", what, context, sum);
  }
}

/* log P(word | words (count)) by the definition of ARPA: of the longest suffix of the words that has the word. */
static inline double ngram_score_by_definition(const struct linnet_ngram *m, const uint32_t *words, unsigned count,
                                               uint32_t word) {
  double backoffs = 0;
  for (unsigned begin = 0; begin < count; begin++) {
    uint32_t context = 0;
    for (unsigned i = begin; i < count && (i == begin || context != 0); i++)
      context = linnet_ngram_child(m, context, words[i]);
    if (context == 0 || context >= m->inner)
      continue;
    uint32_t node = linnet_ngram_child(m, context, word);
    if (node != 0)
      return backoffs + linnet_ngram_probability(m, node);
    backoffs += linnet_ngram_backoff(m, context);
  }
  return backoffs + linnet_ngram_probability(m, 1 + word);
}

/* States carry all that matters of a history: probabilities are those of the whole history. */
static inline void ngram_check_states(const struct linnet_ngram *m, const char *what) {
  enum { STEPS = 2000 };
  uint32_t words[STEPS], state = 0;
  struct test_random random = {11};
  for (unsigned i = 0; i < STEPS; i++) {
    unsigned known = i < m->shape.order - 1 ? i : m->shape.order - 1;
    words[i] = (uint32_t)test_below(&random, m->shape.counts[0]);
    double expected = ngram_score_by_definition(m, words + i - known, known, words[i]);
    double score = linnet_ngram_score(m, &state, words[i]);
    CHECK(fabs(score - expected) < 1e-5, "%s: word %u: %.6f, by definition %.6f", what, i, score, expected);
  }
}

static inline void ngram_check_same(const struct linnet_ngram *a, const struct linnet_ngram *b) {
  CHECK(a->total == b->total, "%u n-grams, %u without pruning", b->total, a->total);
  for (uint32_t node = 1; node < a->total && a->total == b->total; node++)
    CHECK(linnet_ngram_last_word(a, node) == linnet_ngram_last_word(b, node) &&
              fabs(linnet_ngram_probability(a, node) - linnet_ngram_probability(b, node)) < 1e-6 &&
              (node >= a->inner || fabs(linnet_ngram_backoff(a, node) - linnet_ngram_backoff(b, node)) < 1e-4),
          "node %u", node);
}

#endif
