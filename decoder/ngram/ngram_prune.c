/* Removes the n-grams whose removal raises the relative entropy least, and computes new back-off weights. The
 * probabilities of histories that this needs are counted in a text, or predicted by the model. */
#include "decoder/ngram/ngram_model.h"

#include <math.h>
#include <string.h>

#include "decoder/ngram/ngram_builder.h"

/* --- histories of a text ------------------------------------------------------------------------------------------ */

/* Counts the contexts that begin at words[0]; `count` words follow up to the end of the text. */
static void count_from(const struct linnet_ngram *m, const uint32_t *words, size_t count, double *histories) {
  uint32_t node = 1 + words[0];
  for (size_t i = 1; node != 0 && node < m->inner; i++) {
    histories[node]++;
    if (i == count || words[i - 1] == m->end)
      return;
    node = linnet_ngram_child(m, node, words[i]);
  }
}

void linnet_ngram_count_histories(const struct linnet_ngram *m, const uint32_t *text, size_t count, double *histories) {
  memset(histories, 0, m->inner * sizeof *histories);
  histories[0] = (double)count;
  for (size_t i = 0; i < count; i++)
    count_from(m, text + i, count - i, histories);
  for (uint32_t context = 0; context < m->inner; context++)
    histories[context] /= (double)count;
}

/* --- histories by the model --------------------------------------------------------------------------------------- */

/* Parents come before their children. */
void linnet_ngram_predict_histories(const struct linnet_ngram *m, double *histories) {
  histories[0] = 1;
  for (uint32_t context = 0; context < m->inner; context++) {
    struct ngram_range children = linnet_ngram_children(m, context);
    for (uint32_t node = children.begin; node < children.end && node < m->inner; node++) {
      bool begins = context == 0 && linnet_ngram_last_word(m, node) == m->start && m->end != LINNET_NGRAM_NO_WORD;
      histories[node] = histories[context] * exp((double)linnet_ngram_probability(m, begins ? 1 + m->end : node));
    }
  }
}

/* --- pruning ------------------------------------------------------------------------------------------------------ */

struct pruner {
  const struct linnet_ngram *from;
  const double *histories; /* (inner) */
  double threshold;
  unsigned char *kept; /* (total) */
  uint32_t *node;      /* (inner) new number of a node */
};

/* log P(word | context without its first word) of the model as it was. */
static double lower_score(const struct pruner *p, uint32_t context, uint32_t word) {
  uint32_t state = linnet_ngram_link(p->from, context);
  return linnet_ngram_score(p->from, &state, word);
}

/* The probability that remains for words without an n-gram in a context: by its own probabilities, and by those of the
 * shorter context. */
struct rest {
  double own, lower;
};

/* --- choice ------------------------------------------------------------------------------------------------------ */

static struct rest rest_of(const struct pruner *p, uint32_t context) {
  const struct linnet_ngram *m = p->from;
  struct rest rest = {1, 1};
  struct ngram_range children = linnet_ngram_children(m, context);
  for (uint32_t node = children.begin; node < children.end; node++) {
    rest.own -= exp((double)linnet_ngram_probability(m, node));
    rest.lower -= exp(lower_score(p, context, linnet_ngram_last_word(m, node)));
  }
  return rest;
}

/* The relative entropy between the model and one without the n-gram `node` of `context`; infinite if the word or,
 * because the back-off weight is log 0, other words would be possible in only one of the two. */
static double loss_of(const struct pruner *p, uint32_t context, uint32_t node, const struct rest *rest) {
  double own = linnet_ngram_probability(p->from, node),
         lower = lower_score(p, context, linnet_ngram_last_word(p->from, node));
  if (own == -INFINITY || lower == -INFINITY)
    return own == lower ? 0 : INFINITY;
  double probability = exp(own), backoff = linnet_ngram_backoff(p->from, context);
  if (backoff == -INFINITY)
    return INFINITY;
  double changed = log((fmax(rest->own, 1e-9) + probability) / (fmax(rest->lower, 1e-9) + exp(lower)));
  double sum = probability * (lower + changed - own) + fmax(rest->own, 0) * (changed - backoff);
  return -p->histories[context] * sum;
}

/* Keeps n-grams whose loss would reach the threshold, and n-grams that are the beginning of a longer one. */
static void choose(struct pruner *p) {
  const struct linnet_ngram *m = p->from;
  memset(p->kept, 0, m->total);
  for (uint32_t context = m->inner; context-- > 1;) {
    struct rest rest = rest_of(p, context);
    struct ngram_range children = linnet_ngram_children(m, context);
    for (uint32_t node = children.begin; node < children.end; node++) {
      p->kept[node] = p->kept[node] || loss_of(p, context, node, &rest) >= p->threshold;
      p->kept[context] = p->kept[context] || p->kept[node];
    }
  }
  memset(p->kept, 1, 1 + m->shape.counts[0]);
}

/* --- the new model ----------------------------------------------------------------------------------------------- */

/* An n-gram of the model as it was. The builder computes other back-off weights than log 0. */
static struct ngram_record record_of(const struct linnet_ngram *m, uint32_t parent, uint32_t node, uint32_t word) {
  return (struct ngram_record){.parent = parent,
                               .word = word,
                               .probability = linnet_ngram_probability(m, node),
                               .backoff = node < m->inner ? linnet_ngram_backoff(m, node) : 0};
}

static enum linnet_status add_words(const struct pruner *p, struct ngram_builder *b) {
  const struct linnet_ngram *m = p->from;
  for (uint32_t word = 0; word < m->shape.counts[0]; word++) {
    const char *name = linnet_ngram_word(m, word);
    uint32_t node = 1 + word;
    size_t index;
    LINNET_TRY(linnet_names_add(&b->names, name, strlen(name), &index, NULL));
    struct ngram_record record = record_of(m, 0, node, word);
    LINNET_TRY(linnet_ngram_builder_add(b, 0, &record));
    if (node < m->inner)
      p->node[node] = node;
  }
  return linnet_ngram_builder_sort_words(b);
}

/* Numbers the n-grams that stay in level `level` (n-grams of level + 1 words), in their old order. */
static enum linnet_status add_level(const struct pruner *p, struct ngram_builder *b, unsigned level) {
  const struct linnet_ngram *m = p->from;
  uint32_t number = b->levels[level - 1].base + (uint32_t)b->levels[level - 1].count;
  for (uint32_t context = m->base[level]; context < m->base[level + 1]; context++) {
    struct ngram_range children = linnet_ngram_children(m, context);
    for (uint32_t node = children.begin; node < children.end; node++) {
      if (!p->kept[node])
        continue;
      struct ngram_record record = record_of(m, p->node[context], node, linnet_ngram_last_word(m, node));
      LINNET_TRY(linnet_ngram_builder_add(b, level, &record));
      if (node < m->inner)
        p->node[node] = number++;
    }
  }
  size_t duplicate;
  return linnet_ngram_builder_seal(b, level, &duplicate);
}

static enum linnet_status rebuild(const struct pruner *p, struct linnet_context *context,
                                  struct linnet_ngram **pruned) {
  struct ngram_builder b = {
      .context = context, .order = p->from->shape.order, .normalize = true, .names = {.context = context}};
  enum linnet_status status = add_words(p, &b);
  for (unsigned level = 1; level < b.order && status == LINNET_OK; level++)
    status = add_level(p, &b, level);
  if (status == LINNET_OK)
    status = linnet_ngram_builder_finish(&b, pruned);
  linnet_ngram_builder_clear(&b);
  return status;
}

enum linnet_status linnet_ngram_prune_histories(struct linnet_context *context, const struct linnet_ngram *m,
                                                const double *histories, double threshold,
                                                struct linnet_ngram **pruned) {
  struct pruner p = {.from = m,
                     .histories = histories,
                     .threshold = threshold,
                     .kept = linnet_alloc(context, m->total, 1),
                     .node = linnet_alloc(context, m->inner, sizeof *p.node)};
  enum linnet_status status = LINNET_ERROR_MEMORY;
  *pruned = NULL;
  if (p.kept && p.node) {
    choose(&p);
    status = rebuild(&p, context, pruned);
  } else {
    linnet_fail(context, status, "out of memory for pruning a language model of %u n-grams", m->total);
  }
  linnet_free(context, p.kept);
  linnet_free(context, p.node);
  return status;
}

enum linnet_status linnet_ngram_prune(struct linnet_context *context, const struct linnet_ngram *m, double threshold,
                                      struct linnet_ngram **pruned) {
  if (pruned)
    *pruned = NULL;
  if (!context || !m || !pruned)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ngram_prune: an argument is NULL");
  if (!(threshold > 0 && threshold < 1))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "the threshold of pruning must be above 0 and below 1, such as 1e-8; it is %g", threshold);
  if (m->shape.quantized)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "the language model is quantized: prune the one that it was made from, then quantize");
  double *histories = linnet_alloc(context, m->inner, sizeof *histories);
  if (!histories)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %u histories", m->inner);
  linnet_ngram_predict_histories(m, histories);
  enum linnet_status status = linnet_ngram_prune_histories(context, m, histories, threshold, pruned);
  linnet_free(context, histories);
  return status;
}
