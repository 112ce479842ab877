/* Label priors of CTC: the mean posteriors of the last epoch. */
#include <math.h>
#include <string.h>

#include "train/trainer.h"

/* The minimum of a log prior: a symbol that the network never expects would otherwise win all paths. */
static const double floor_of_log = -12;

enum linnet_status linnet_trainer_create_prior(struct linnet_trainer *t) {
  if (!(t->settings.ctc_prior_scale > 0))
    return LINNET_OK;
  t->prior.sums = linnet_calloc(t->context, 2 * t->config.outputs, sizeof *t->prior.sums);
  t->prior.offset = linnet_calloc(t->context, t->config.outputs, sizeof *t->prior.offset);
  return t->prior.sums && t->prior.offset
             ? LINNET_OK
             : linnet_fail(t->context, LINNET_ERROR_MEMORY, "out of memory for label priors");
}

void linnet_trainer_use_prior(struct linnet_trainer *t) {
  const double *last = t->prior.sums;
  double total = 0;
  for (size_t k = 0; last && k < t->config.outputs; k++)
    total += last[k];
  t->gradient.ctc_offset = total > 0 ? t->prior.offset : NULL;
  for (size_t k = 0; total > 0 && k < t->config.outputs; k++)
    t->prior.offset[k] = (real)(t->settings.ctc_prior_scale * fmax(log(last[k] / total), floor_of_log));
}

void linnet_trainer_add_posteriors(struct linnet_trainer *t) {
  const size_t symbols = t->config.outputs;
  for (size_t i = 0; t->prior.sums && i < t->batch.count * symbols; i++)
    t->prior.sums[symbols + i % symbols] += t->batch.posteriors[i];
}

void linnet_trainer_turn_prior(struct linnet_trainer *t) {
  const size_t symbols = t->config.outputs;
  if (!t->prior.sums)
    return;
  memcpy(t->prior.sums, t->prior.sums + symbols, symbols * sizeof *t->prior.sums);
  memset(t->prior.sums + symbols, 0, symbols * sizeof *t->prior.sums);
}
