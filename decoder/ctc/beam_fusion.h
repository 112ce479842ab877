/* The part of a prefix's score that is not acoustic: language model and insertion bonus. A slot holds the model's state
 * after a prefix, and the factor of each next symbol. The model is asked for a factor at most once. */
#ifndef LINNET_BEAM_FUSION_H
#define LINNET_BEAM_FUSION_H

#include <math.h>

#include <linnet/beam.h>

#include "base/base.h"

struct linnet_fusion {
  struct linnet_context *context;
  struct linnet_language_model own;
  const struct linnet_language_model *model; /* `own`; NULL: only the bonus, and all slots are 0 */
  double weight, bonus;
  double max_factor;             /* the largest factor of any symbol: exp(bonus) */
  unsigned *tokens;              /* (symbols) */
  size_t symbols, slots, stride; /* stride: bytes from one state to the next */
  unsigned char *states;         /* (slots) */
  double *factors;               /* (slots, symbols), -1 where the model was not asked yet */
  uint32_t *free;                /* slots not in use, a stack */
  size_t free_count;
};

/* Makes a valid logarithm of a probability from any number that a model returns. */
static inline double linnet_model_checked(float score) {
  return score <= 0 ? (double)score : score > 0 ? 0.0 : -(double)INFINITY;
}

/* Copies a caller's model, and checks that a search can use it. */
enum linnet_status linnet_model_read(struct linnet_context *context, const struct linnet_language_model *given,
                                     struct linnet_language_model *model);

/* `slots`: the maximum number of prefixes. A fusion of zeros may be destroyed. */
enum linnet_status linnet_fusion_create(struct linnet_fusion *fusion, struct linnet_context *context,
                                        const struct linnet_beam_settings *settings, size_t symbols, size_t slots);
void linnet_fusion_destroy(struct linnet_fusion *fusion);

/* Frees all slots and gives that of the empty prefix. */
uint32_t linnet_fusion_start(struct linnet_fusion *fusion);

/* exp(weight * log P_model(symbol | slot) + bonus); 0 if the model gives probability 0. */
double linnet_fusion_factor(struct linnet_fusion *fusion, uint32_t slot, uint32_t symbol);

/* A slot for the prefix followed by a symbol; adds the symbol's log P_model to *language. */
uint32_t linnet_fusion_extend(struct linnet_fusion *fusion, uint32_t slot, uint32_t symbol, double *language);
void linnet_fusion_release(struct linnet_fusion *fusion, uint32_t slot);

/* log P_model(end of the sentence | slot). */
double linnet_fusion_end(const struct linnet_fusion *fusion, uint32_t slot);

/* weight * language + bonus * length; -infinity if `language` is, also with weight 0. */
double linnet_fusion_score(const struct linnet_fusion *fusion, double language, size_t length);

size_t linnet_fusion_memory(const struct linnet_fusion *fusion);

#endif
