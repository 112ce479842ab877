/* What a search asks of a language model: a linnet_ngram (ngram.h) gives one, and so may a program of its own.
 *
 * A state is `state_size` bytes without meaning to the search, which copies them and compares them with memcmp: two
 * states that predict the same must be the same bytes. Tokens are numbers that model and search agree on, 0 excluded
 * (the blank of CTC). Scores are natural logarithms of probabilities.
 *
 * Threads: the functions may be called from many threads at once.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_LANGUAGE_MODEL_H
#define LINNET_LANGUAGE_MODEL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_language_model {
  const void *user;
  size_t state_bytes; /* bytes, at most 64 */
  /* The state at the beginning of a sentence. */
  void (*begin)(const void *user, void *state);
  /* log P(token | state), and the state after it; `next` may be `state`. -infinity: impossible. */
  float (*score)(const void *user, const void *state, unsigned token, void *next);
  /* log P(end of the sentence | state). */
  float (*finish)(const void *user, const void *state);
};

#ifdef __cplusplus
}
#endif
#endif
