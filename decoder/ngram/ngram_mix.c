/* Interpolates two models into one back-off model: the n-grams of both, with their mean probabilities. */
#include <math.h>
#include <string.h>

#include "decoder/ngram/ngram_builder.h"

/* One of the two models. */
struct side {
  const struct linnet_ngram *from;
  double weight;
  uint32_t *up;   /* (words of the model) words of the mixture */
  uint32_t *down; /* (words of the mixture) words of the model, LINNET_NGRAM_NO_WORD if it does not have them */
};

/* An n-gram of the mixture in both models. */
struct pair {
  uint32_t node[2];  /* 0: the model does not have it */
  uint32_t state[2]; /* after its words; a word that the model does not have forgets those before it */
};

struct mixer {
  struct linnet_context *context;
  struct side sides[2];
  struct ngram_builder builder;
  struct pair *contexts; /* (num_contexts) the n-grams of the level before, in the order of their nodes */
  struct pair *found;    /* (num_found) those of this level */
  size_t num_contexts, num_found, capacity;
};

static enum linnet_status out_of_memory(const struct mixer *m) {
  return linnet_fail(m->context, LINNET_ERROR_MEMORY, "out of memory for a mixture after %zu n-grams", m->num_found);
}

/* Adds an n-gram: a context, which is the node `parent`, and a word. */
static enum linnet_status add_ngram(struct mixer *m, unsigned level, uint32_t parent, const struct pair *context,
                                    uint32_t word, const uint32_t node[2]) {
  struct pair pair = {.node = {node[0], node[1]}};
  double probability = 0;
  for (int i = 0; i < 2; i++) {
    const struct side *side = &m->sides[i];
    pair.state[i] = context->state[i];
    if (side->down[word] == LINNET_NGRAM_NO_WORD)
      pair.state[i] = 0;
    else
      probability += side->weight * exp((double)linnet_ngram_score(side->from, &pair.state[i], side->down[word]));
  }
  struct pair *grown = linnet_grow(m->context, m->found, &m->capacity, m->num_found + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(m);
  m->found = grown;
  m->found[m->num_found++] = pair;
  const struct ngram_record record = {
      .parent = parent, .word = word, .probability = (float)fmin(log(probability), 0)}; /* rounding may exceed 1 */
  return linnet_ngram_builder_add(&m->builder, level, &record);
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* The words of both models, in the order of their bytes. */
static enum linnet_status collect_words(struct mixer *m) {
  const struct linnet_ngram *a = m->sides[0].from, *b = m->sides[1].from;
  size_t i = 0, k = 0, index;
  while (i < a->shape.counts[0] || k < b->shape.counts[0]) {
    const char *first = linnet_ngram_word(a, i), *second = linnet_ngram_word(b, k);
    const int order = !first ? 1 : !second ? -1 : strcmp(first, second);
    const char *name = order <= 0 ? first : second;
    LINNET_TRY(linnet_names_add(&m->builder.names, name, strlen(name), &index, NULL));
    if (order <= 0)
      m->sides[0].up[i++] = (uint32_t)index;
    if (order >= 0)
      m->sides[1].up[k++] = (uint32_t)index;
  }
  return LINNET_OK;
}

static enum linnet_status map_words(struct mixer *m) {
  const size_t words = m->builder.names.count;
  for (int i = 0; i < 2; i++) {
    struct side *side = &m->sides[i];
    side->down = linnet_alloc(m->context, words, sizeof *side->down);
    if (!side->down)
      return out_of_memory(m);
    for (size_t word = 0; word < words; word++)
      side->down[word] = LINNET_NGRAM_NO_WORD;
    for (uint32_t word = 0; word < side->from->shape.counts[0]; word++)
      side->down[side->up[word]] = word;
  }
  return LINNET_OK;
}

/* A word of a model is its node less 1, and the empty context has the state 0. */
static enum linnet_status add_words(struct mixer *m) {
  const struct pair empty = {{0, 0}, {0, 0}};
  LINNET_TRY(collect_words(m));
  LINNET_TRY(map_words(m));
  for (uint32_t word = 0; word < m->builder.names.count; word++) {
    const uint32_t node[2] = {m->sides[0].down[word] + 1, m->sides[1].down[word] + 1};
    LINNET_TRY(add_ngram(m, 0, 0, &empty, word, node));
  }
  return linnet_ngram_builder_sort_words(&m->builder);
}

/* --- longer n-grams ----------------------------------------------------------------------------------------------- */

static struct ngram_range children_of(const struct linnet_ngram *m, uint32_t node) {
  return node != 0 && node < m->inner ? linnet_ngram_children(m, node) : (struct ngram_range){0, 0};
}

/* The words that follow a context in one of the models. Both have words in the same order. */
static enum linnet_status add_children(struct mixer *m, unsigned level, uint32_t parent, const struct pair *context) {
  struct ngram_range left[2];
  for (int i = 0; i < 2; i++)
    left[i] = children_of(m->sides[i].from, context->node[i]);
  while (left[0].begin < left[0].end || left[1].begin < left[1].end) {
    uint32_t next[2], node[2] = {0, 0};
    for (int i = 0; i < 2; i++)
      next[i] = left[i].begin < left[i].end ? m->sides[i].up[linnet_ngram_last_word(m->sides[i].from, left[i].begin)]
                                            : LINNET_NGRAM_NO_WORD;
    const uint32_t word = next[0] < next[1] ? next[0] : next[1];
    for (int i = 0; i < 2; i++)
      if (next[i] == word)
        node[i] = left[i].begin++;
    LINNET_TRY(add_ngram(m, level, parent, context, word, node));
  }
  return LINNET_OK;
}

static enum linnet_status add_level(struct mixer *m, unsigned level) {
  const uint32_t base = m->builder.levels[level - 1].base;
  size_t duplicate;
  linnet_free(m->context, m->contexts);
  m->contexts = m->found;
  m->num_contexts = m->num_found;
  m->found = NULL;
  m->num_found = m->capacity = 0;
  for (size_t i = 0; i < m->num_contexts; i++) {
    LINNET_TRY(add_children(m, level, base + (uint32_t)i, &m->contexts[i]));
    LINNET_TRY(linnet_poll_check(m->context));
  }
  return linnet_ngram_builder_seal(&m->builder, level, &duplicate);
}

static enum linnet_status mix(struct mixer *m, struct linnet_ngram **mixed) {
  for (int i = 0; i < 2; i++) {
    m->sides[i].up = linnet_alloc(m->context, m->sides[i].from->shape.counts[0], sizeof *m->sides[i].up);
    if (!m->sides[i].up)
      return out_of_memory(m);
  }
  LINNET_TRY(add_words(m));
  for (unsigned level = 1; level < m->builder.order; level++)
    LINNET_TRY(add_level(m, level));
  return linnet_ngram_builder_finish(&m->builder, mixed);
}

enum linnet_status linnet_ngram_mix(struct linnet_context *context, const struct linnet_ngram *first,
                                    const struct linnet_ngram *second, double weight, struct linnet_ngram **mixed) {
  if (mixed)
    *mixed = NULL;
  if (!context || !first || !second || !mixed)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ngram_mix: an argument is NULL");
  if (!(weight > 0 && weight < 1))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "the weight of the second model of a mixture must be above 0 and below 1; it is %g", weight);
  linnet_poll_begin(context);
  const unsigned order = first->shape.order > second->shape.order ? first->shape.order : second->shape.order;
  struct mixer m = {.context = context,
                    .sides = {{.from = first, .weight = 1 - weight}, {.from = second, .weight = weight}},
                    .builder = {.context = context, .order = order, .normalize = true, .names = {.context = context}}};
  enum linnet_status status = mix(&m, mixed);
  for (int i = 0; i < 2; i++) {
    linnet_free(context, m.sides[i].up);
    linnet_free(context, m.sides[i].down);
  }
  linnet_free(context, m.contexts);
  linnet_free(context, m.found);
  linnet_ngram_builder_clear(&m.builder);
  return status;
}
