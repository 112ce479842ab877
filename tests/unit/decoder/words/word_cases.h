/* Functions that the tests of the search for words share: random lexicons, a language model over their words,
 * hotwords. */
#ifndef LINNET_WORD_CASES_H
#define LINNET_WORD_CASES_H

#include <linnet/word_search.h>

#include "unit/decoder/ctc/beam_cases.h"

enum { CASE_WORDS = 5, CASE_VARIANTS = 3, CASE_LENGTH = 3, CASE_SYMBOLS = 5, CASE_SILENCE = 4 };

/* Words W0 ... of random pronunciations; the last symbol of CASE_SYMBOLS is left for silence. */
struct word_case {
  struct linnet_symbols *symbols;
  struct linnet_lexicon *lexicon;
  bool probable; /* pronunciations have probabilities */
  char text[1024];
};

static inline struct linnet_symbols *case_symbols(struct linnet_context *context) {
  static const char *const names[] = {"A", "B", "C", "SIL"};
  struct linnet_symbols *symbols;
  REQUIRE(linnet_symbols_create(context, names, CASE_SYMBOLS - 1, &symbols) == LINNET_OK, "%s",
          linnet_context_error(context));
  return symbols;
}

/* The caller sets c->probable. `phones`: how many of A, B, C are used. */
static inline void make_word_case(struct word_case *c, struct linnet_context *context, struct test_random *r,
                                  size_t phones) {
  size_t at = 0, words = 1 + test_below(r, CASE_WORDS);
  for (size_t w = 0; w < words; w++)
    for (size_t v = 0, variants = 1 + test_below(r, CASE_VARIANTS); v < variants; v++) {
      at += (size_t)snprintf(c->text + at, sizeof c->text - at, "W%zu", w);
      if (c->probable)
        at += (size_t)snprintf(c->text + at, sizeof c->text - at, " 0.%d", 1 + (int)test_below(r, 9));
      for (size_t i = 0, length = 1 + test_below(r, CASE_LENGTH); i < length; i++)
        at += (size_t)snprintf(c->text + at, sizeof c->text - at, " %c", (char)('A' + (char)test_below(r, phones)));
      at += (size_t)snprintf(c->text + at, sizeof c->text - at, "\n");
    }
  c->symbols = case_symbols(context);
  REQUIRE(linnet_lexicon_load_memory(context, c->text, at, "case", NULL, c->symbols, &c->lexicon) == LINNET_OK, "%s",
          linnet_context_error(context));
}

static inline void release_word_case(struct word_case *c) {
  linnet_lexicon_destroy(c->lexicon);
  linnet_symbols_destroy(c->symbols);
}

/* The bigram of beam_cases.h over tokens. */
static inline float word_bigram_score(const void *user, const void *state, unsigned token, void *next) {
  return bigram_score(user, state, token + BIGRAM_OFFSET, next);
}

static inline struct linnet_language_model word_bigram(const struct bigram *bigram) {
  struct linnet_language_model model = bigram_model(bigram);
  model.score = word_bigram_score;
  return model;
}

#endif
