/* Probabilities of an n-gram model, and the model as a search sees it. */
#include "decoder/ngram/ngram_model.h"

#include <math.h>

uint32_t linnet_ngram_begin(const struct linnet_ngram *m) {
  return m->begin;
}

float linnet_ngram_score(const struct linnet_ngram *m, uint32_t *state, size_t index) {
  uint32_t word = index < m->shape.counts[0] ? (uint32_t)index : m->unknown;
  if (word == LINNET_NGRAM_NO_WORD) {
    *state = 0;
    return -INFINITY;
  }
  struct ngram_place place = linnet_ngram_place(m, *state, word);
  *state = linnet_ngram_next(m, place, word);
  return place.backoffs + linnet_ngram_probability(m, place.node);
}

float linnet_ngram_finish(const struct linnet_ngram *m, uint32_t state) {
  return m->end == LINNET_NGRAM_NO_WORD ? 0 : linnet_ngram_score(m, &state, m->end);
}

/* --- for a search ----------------------------------------------------------------------------------------------- */

struct linnet_ngram_binding {
  struct linnet_context *context;
  const struct linnet_ngram *ngram;
  struct linnet_language_model model;
  size_t count;
  uint32_t words[]; /* (count) by token */
};

static void begin(const void *user, void *state) {
  const struct linnet_ngram_binding *binding = user;
  *(uint32_t *)state = binding->ngram->begin;
}

static float score(const void *user, const void *state, unsigned token, void *next) {
  const struct linnet_ngram_binding *binding = user;
  uint32_t at = *(const uint32_t *)state;
  float value =
      linnet_ngram_score(binding->ngram, &at, token < binding->count ? binding->words[token] : LINNET_NGRAM_NO_WORD);
  *(uint32_t *)next = at;
  return value;
}

static float finish(const void *user, const void *state) {
  const struct linnet_ngram_binding *binding = user;
  return linnet_ngram_finish(binding->ngram, *(const uint32_t *)state);
}

typedef const char *(*token_name_fn)(const void *tokens, size_t token);

static enum linnet_status bind(struct linnet_context *context, const struct linnet_ngram *m, token_name_fn name,
                               const void *tokens, size_t count, size_t *missing,
                               struct linnet_ngram_binding **result) {
  size_t bytes, absent = 0;
  struct linnet_ngram_binding *binding = NULL;
  if (linnet_mul_size(count, sizeof binding->words[0], &bytes) && linnet_add_size(bytes, sizeof *binding, &bytes))
    binding = linnet_alloc(context, 1, bytes);
  if (!binding)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the words of %zu tokens", count);
  binding->context = context;
  binding->ngram = m;
  binding->model = (struct linnet_language_model){.size = sizeof binding->model,
                                                  .user = binding,
                                                  .state_bytes = sizeof(uint32_t),
                                                  .begin = begin,
                                                  .score = score,
                                                  .finish = finish};
  binding->count = count;
  for (size_t i = 0; i < count; i++) {
    binding->words[i] = i > 0 ? linnet_ngram_index(m, name(tokens, i)) : LINNET_NGRAM_NO_WORD;
    absent += i > 0 && binding->words[i] == LINNET_NGRAM_NO_WORD;
  }
  if (missing)
    *missing = absent;
  *result = binding;
  return LINNET_OK;
}

static const char *name_of_list(const void *tokens, size_t token) {
  return ((const char *const *)tokens)[token];
}

static const char *name_of_symbol(const void *tokens, size_t token) {
  return linnet_symbols_name(tokens, (int)token);
}

enum linnet_status linnet_ngram_bind(struct linnet_context *context, const struct linnet_ngram *m,
                                     const char *const *tokens, size_t count, size_t *missing,
                                     struct linnet_ngram_binding **binding) {
  if (binding)
    *binding = NULL;
  if (!context || !binding || !m)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ngram_bind: an argument is NULL");
  bool whole = tokens || count == 0;
  for (size_t i = 1; whole && i < count; i++)
    whole = tokens[i] != NULL;
  if (!whole)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ngram_bind: a token without a name");
  return bind(context, m, name_of_list, tokens, count, missing, binding);
}

enum linnet_status linnet_ngram_bind_symbols(struct linnet_context *context, const struct linnet_ngram *m,
                                             const struct linnet_symbols *symbols, size_t *missing,
                                             struct linnet_ngram_binding **binding) {
  if (binding)
    *binding = NULL;
  if (!context || !binding || !m)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ngram_bind_symbols: an argument is NULL");
  if (!symbols)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ngram_bind_symbols: there are no symbols");
  return bind(context, m, name_of_symbol, symbols, (size_t)linnet_symbols_num_symbols(symbols), missing, binding);
}

void linnet_ngram_binding_destroy(struct linnet_ngram_binding *binding) {
  if (binding)
    linnet_free(binding->context, binding);
}

void linnet_ngram_unigrams(const struct linnet_ngram_binding *binding, float *scores) {
  for (size_t token = 0; token < binding->count; token++) {
    uint32_t state = 0;
    scores[token] = token > 0 ? linnet_ngram_score(binding->ngram, &state, binding->words[token]) : 0;
  }
}

const struct linnet_language_model *linnet_ngram_language_model(const struct linnet_ngram_binding *binding) {
  return &binding->model;
}
