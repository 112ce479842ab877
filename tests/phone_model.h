/* A language model over symbols from a table, for tests of the denominator of CTC-CRF. */
#ifndef LINNET_TEST_PHONE_MODEL_H
#define LINNET_TEST_PHONE_MODEL_H

#include <linnet/language_model.h>

#include "test.h"

/* The table has (symbols, symbols, symbols) probabilities: of a symbol, or at 0 of the end, after the last two symbols;
 * 0 stands for the beginning. A smaller order has 0 for what it does not know. */
struct phone_model {
  size_t symbols;
  unsigned order; /* 1 to 3 */
  size_t merged;  /* above 0: each `merged`-th pair of symbols is one history with its second symbol alone */
  const float *table;
};

struct phone_state {
  uint32_t before, last;
};

static void phone_begin(const void *user, void *state) {
  (void)user;
  memset(state, 0, sizeof(struct phone_state));
}

static const float *phone_row(const struct phone_model *m, const struct phone_state *s) {
  return m->table + (s->before * m->symbols + s->last) * m->symbols;
}

static float phone_score(const void *user, const void *state, unsigned token, void *next) {
  const struct phone_model *m = user;
  struct phone_state s, after = {0};
  memcpy(&s, state, sizeof s);
  if (m->order > 1)
    after.last = token;
  if (m->order > 2 && (m->merged == 0 || (s.last + token) % m->merged != 0))
    after.before = s.last;
  memcpy(next, &after, sizeof after);
  return logf(phone_row(m, &s)[token]);
}

static float phone_finish(const void *user, const void *state) {
  struct phone_state s;
  memcpy(&s, state, sizeof s);
  return logf(phone_row(user, &s)[0]);
}

static inline struct linnet_language_model phone_language_model(const struct phone_model *m) {
  return (struct linnet_language_model){.size = sizeof(struct linnet_language_model),
                                        .user = m,
                                        .state_bytes = sizeof(struct phone_state),
                                        .begin = phone_begin,
                                        .score = phone_score,
                                        .finish = phone_finish};
}

/* Random distributions, more or less uneven; freed by the caller. */
static inline float *phone_table(struct test_random *r, size_t symbols) {
  float *table = malloc(symbols * symbols * symbols * sizeof *table);
  if (!table)
    exit(1);
  for (size_t row = 0; row < symbols * symbols; row++) {
    float *p = table + row * symbols, sum = 0;
    for (size_t q = 0; q < symbols; q++)
      sum += p[q] = expf(4 * (float)test_uniform(r));
    for (size_t q = 0; q < symbols; q++)
      p[q] /= sum;
  }
  return table;
}

#endif
