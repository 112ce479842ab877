/* Label priors of a search: checks, and their powers. */
#include <math.h>
#include <string.h>

#include "base/settings.h"
#include "decoder/ctc/beam_parts.h"

/* Posteriors are divided by no smaller prior: the symbol would win by noise alone. */
static const double min_prior = 1e-8;

static const double sum_tolerance = 1e-3;

enum linnet_status linnet_row_priors_check(struct linnet_context *context, const char *name, const float *priors,
                                           size_t symbols, float scale) {
  double sum = 0;
  LINNET_TRY(linnet_setting_check_range(context, "prior_scale", scale, 0, 2));
  for (size_t v = 0; v < symbols && priors; v++) {
    if (!(priors[v] > 0) || !isfinite(priors[v]))
      return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                         "%s: the prior of symbol %zu is %g, must be above 0: estimate the priors on more data", name,
                         v, (double)priors[v]);
    sum += (double)priors[v];
  }
  if (priors && !(fabs(sum - 1) <= sum_tolerance))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "%s: the sum of the priors is %g, must be 1: they are the mean posteriors of all symbols and "
                       "the blank",
                       name, sum);
  return LINNET_OK;
}

enum linnet_status linnet_row_priors_create(struct linnet_row_priors *p, struct linnet_context *context,
                                            const char *name, const float *priors, size_t symbols, float scale) {
  *p = (struct linnet_row_priors){.priors = NULL};
  LINNET_TRY(linnet_row_priors_check(context, name, priors, symbols, scale));
  if (!priors)
    return LINNET_OK;
  p->powers = linnet_alloc(context, symbols, sizeof *p->powers + 3 * sizeof *p->priors);
  if (!p->powers)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for the priors of %zu symbols", name, symbols);
  p->priors = (float *)(p->powers + symbols);
  p->logs = p->priors + symbols;
  p->row = p->logs + symbols;
  memcpy(p->priors, priors, symbols * sizeof *priors);
  for (size_t v = 0; v < symbols; v++) {
    p->logs[v] = (float)((double)scale * log(fmax((double)priors[v], min_prior)));
    p->powers[v] = exp((double)p->logs[v]);
  }
  return LINNET_OK;
}

void linnet_row_priors_destroy(struct linnet_row_priors *p, struct linnet_context *context) {
  linnet_free(context, p->powers);
  *p = (struct linnet_row_priors){.priors = NULL};
}

size_t linnet_row_priors_memory(const struct linnet_row_priors *p, size_t symbols) {
  return p->priors ? symbols * (sizeof *p->powers + 3 * sizeof *p->priors) : 0;
}
