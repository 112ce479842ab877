/* The interface of language models for searches. linnet_ngram_language_model (ngram.h) and
 * linnet_grammar_language_model (grammar.h) return such a structure, and a program may implement its own:
 *
 *   struct linnet_language_model model = {.size = sizeof model, .user = &mine, .state_bytes = sizeof(struct my_state),
 *                                         .begin = begin, .score = score, .finish = finish};
 *   settings.model = &model;
 *
 * A search copies the structure when it is created. What `user` points to must outlive the search. A structure that the
 * library returns has the library's `size`, which may differ from the program's: pass the pointer on. A program that
 * changes something about such a model implements one whose functions call those of the returned structure.
 *
 * A state is `state_bytes` bytes. The search copies them and compares them with memcmp, but does not interpret them.
 * States with the same predictions must have the same bytes. Tokens are numbers that have the same meaning for model
 * and search; 0 is not a token, because it is the blank of CTC. Scores are natural logarithms of probabilities.
 *
 * Threads: searches may call the functions from many threads at once.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_LANGUAGE_MODEL_H
#define LINNET_LANGUAGE_MODEL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_language_model {
  size_t size; /* sizeof(struct linnet_language_model); members that an older program does not have count as NULL */
  const void *user;
  size_t state_bytes; /* bytes, at most 64 */
  /* The state at the beginning of a sentence. */
  void (*begin)(const void *user, void *state);
  /* Returns log P(token | state) and stores the state after the token in `next`, which may be `state`. -infinity:
   * impossible. */
  float (*score)(const void *user, const void *state, unsigned token, void *next);
  /* log P(end of the sentence | state). */
  float (*finish)(const void *user, const void *state);
};

#ifdef __cplusplus
}
#endif
#endif
