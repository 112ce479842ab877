/* Combines the acoustic score of a prefix with its language model; asks the model once for each prefix and symbol. */
#include "decoder/ctc/beam_fusion.h"

#include "base/numbers.h"
#include "base/settings.h"

enum { MAX_STATE_BYTES = 64, STATE_ALIGNMENT = 16, MAX_FACTORS = 1 << 28 };

/* Minimum of the factor of a symbol, as a logarithm: weights and probabilities need the rest of the range of a double.
 */
static const double min_log_factor = -600;

enum linnet_status linnet_model_read(struct linnet_context *context, const struct linnet_language_model *given,
                                     struct linnet_language_model *model) {
  *model = (struct linnet_language_model){.size = sizeof *model};
  LINNET_TRY(linnet_settings_read(context, "struct linnet_language_model", given, model, sizeof *model));
  if (!model->begin || !model->score || !model->finish)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_beam_create: a function of the language model is NULL");
  if (model->state_bytes > MAX_STATE_BYTES)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_beam_create: states of the language model have %zu bytes; they must have at most %d",
                       model->state_bytes, MAX_STATE_BYTES);
  return LINNET_OK;
}

static enum linnet_status allocate(struct linnet_fusion *f, const unsigned *tokens) {
  struct linnet_context *context = f->context;
  if (f->symbols > MAX_FACTORS / f->slots)
    return linnet_fail(context, LINNET_ERROR_LIMIT,
                       "linnet_beam_create: a beam over %zu symbols with a language model is too large", f->symbols);
  f->tokens = linnet_alloc(context, f->symbols, sizeof *f->tokens);
  f->states = linnet_alloc(context, f->slots, f->stride);
  f->factors = linnet_alloc(context, f->slots * f->symbols, sizeof *f->factors);
  f->free = linnet_alloc(context, f->slots, sizeof *f->free);
  if (!f->tokens || !f->states || !f->factors || !f->free)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the language model of a beam search");
  for (size_t symbol = 0; symbol < f->symbols; symbol++)
    f->tokens[symbol] = tokens ? tokens[symbol] : (unsigned)symbol;
  return LINNET_OK;
}

enum linnet_status linnet_fusion_create(struct linnet_fusion *fusion, struct linnet_context *context,
                                        const struct linnet_beam_settings *settings, size_t symbols, size_t slots) {
  *fusion = (struct linnet_fusion){.context = context,
                                   .weight = settings->model ? (double)settings->model_weight : 0.0,
                                   .bonus = settings->insertion_bonus,
                                   .max_factor = exp((double)settings->insertion_bonus),
                                   .symbols = symbols,
                                   .slots = slots};
  if (!settings->model)
    return LINNET_OK;
  LINNET_TRY(linnet_model_read(context, settings->model, &fusion->own));
  fusion->model = &fusion->own;
  fusion->stride = linnet_round_up(fusion->model->state_bytes + 1, STATE_ALIGNMENT);
  return allocate(fusion, settings->tokens);
}

void linnet_fusion_destroy(struct linnet_fusion *fusion) {
  if (!fusion->context)
    return;
  linnet_free(fusion->context, fusion->tokens);
  linnet_free(fusion->context, fusion->states);
  linnet_free(fusion->context, fusion->factors);
  linnet_free(fusion->context, fusion->free);
}

static void *state_of(const struct linnet_fusion *f, uint32_t slot) {
  return f->states + slot * f->stride;
}

static uint32_t take_slot(struct linnet_fusion *f) {
  uint32_t slot = f->free[--f->free_count];
  double *factors = f->factors + slot * f->symbols;
  for (size_t symbol = 0; symbol < f->symbols; symbol++)
    factors[symbol] = -1;
  return slot;
}

uint32_t linnet_fusion_start(struct linnet_fusion *fusion) {
  if (!fusion->model)
    return 0;
  fusion->free_count = fusion->slots;
  for (size_t i = 0; i < fusion->slots; i++)
    fusion->free[i] = (uint32_t)(fusion->slots - 1 - i);
  uint32_t slot = take_slot(fusion);
  fusion->model->begin(fusion->model->user, state_of(fusion, slot));
  return slot;
}

/* Only what is impossible has the factor 0. */
static double factor_of(double score) {
  return score > -(double)INFINITY ? exp(fmax(score, min_log_factor)) : 0.0;
}

double linnet_fusion_factor(struct linnet_fusion *f, uint32_t slot, uint32_t symbol) {
  if (!f->model)
    return f->max_factor;
  double *factor = &f->factors[slot * f->symbols + symbol];
  if (*factor < 0) {
    unsigned char next[MAX_STATE_BYTES] __attribute__((aligned(STATE_ALIGNMENT)));
    double score = linnet_model_checked(f->model->score(f->model->user, state_of(f, slot), f->tokens[symbol], next));
    *factor = factor_of(linnet_fusion_score(f, score, 1));
  }
  return *factor;
}

uint32_t linnet_fusion_extend(struct linnet_fusion *f, uint32_t slot, uint32_t symbol, double *language) {
  if (!f->model)
    return 0;
  uint32_t longer = take_slot(f);
  *language +=
      linnet_model_checked(f->model->score(f->model->user, state_of(f, slot), f->tokens[symbol], state_of(f, longer)));
  return longer;
}

void linnet_fusion_release(struct linnet_fusion *f, uint32_t slot) {
  if (f->model)
    f->free[f->free_count++] = slot;
}

double linnet_fusion_end(const struct linnet_fusion *f, uint32_t slot) {
  return f->model ? linnet_model_checked(f->model->finish(f->model->user, state_of(f, slot))) : 0.0;
}

double linnet_fusion_score(const struct linnet_fusion *f, double language, size_t length) {
  double weighted = language == -(double)INFINITY ? language : f->weight * language;
  return weighted + f->bonus * (double)length;
}

size_t linnet_fusion_memory(const struct linnet_fusion *f) {
  size_t slot = f->stride + f->symbols * sizeof *f->factors + sizeof *f->free;
  return f->model ? f->slots * slot + f->symbols * sizeof *f->tokens : 0;
}
