/* Interpolated modified Kneser-Ney smoothing: S. F. Chen, J. Goodman, "An empirical study of smoothing techniques for
 * language modeling", 1998, section 4.1.6 of TR-10-98; conventions of K. Heafield et al., "Scalable modified Kneser-
 * Ney language model estimation", ACL 2013.
 *
 * The text is one array of words, <s> ... </s> <s> ... </s>. Order by order, each offset gets the node of the n-gram
 * that begins there. Sorting the pairs (node of the first words, last word) groups equal n-grams, in the order of the
 * trie. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "decoder/base/radix_sort.h"
#include "decoder/ngram/ngram_builder.h"
#include "decoder/ngram/ngram_model.h"

/* --- discounts ---------------------------------------------------------------------------------------------------- */

/* The discount of a count of 0, 1, 2, and of 3 or more. */
struct ngram_discount {
  double amount[4];
};

/* Computes the discounts from counts (count), by Chen and Goodman 1998, eq. 26. False if that is impossible: *lacking
 * is then the count that no n-gram has, or 0 if a discount would be out of range. With n_c n-grams of count c and Y =
 * n1 / (n1 + 2 n2): D1 = 1 - 2 Y n2/n1,  D2 = 2 - 3 Y n3/n2,  D3+ = 3 - 4 Y n4/n3 */
static bool discount_by(const uint32_t *counts, size_t count, struct ngram_discount *discount, int *lacking) {
  double n[5] = {0};
  for (size_t i = 0; i < count; i++)
    if (counts[i] < 5)
      n[counts[i]]++;
  *discount = (struct ngram_discount){{0}};
  for (*lacking = 1; *lacking <= 3; ++*lacking)
    if (n[*lacking] == 0)
      return false;
  *lacking = 0;
  double y = n[1] / (n[1] + 2 * n[2]);
  for (int c = 1; c <= 3; c++) {
    double amount = c - (c + 1) * y * n[c + 1] / n[c];
    if (!(amount >= 0 && amount <= c))
      return false;
    discount->amount[c] = amount;
  }
  return true;
}

static double discount_of(const struct ngram_discount *discount, uint32_t count) {
  return discount->amount[count < 3 ? count : 3];
}

/* --- counts ------------------------------------------------------------------------------------------------------- */

enum { UNKNOWN, BEGIN, END, SPECIALS, MAX_WORD = 1023 };

static const char *const SPECIAL_WORDS[SPECIALS] = {"<unk>", "<s>", "</s>"};
static const uint32_t NONE = (uint32_t)-1;

/* The n-grams of one order, by their index in the level. */
struct grams {
  size_t count;
  uint32_t *counts; /* adjusted counts: occurrences in the highest order and after <s>, else different words before the
                       n-gram */
  uint32_t *ends;   /* index of the n-gram without its first word, in the level below */
  double *probabilities; /* interpolated */
};

struct linnet_ngram_estimator {
  struct linnet_context *context;
  struct linnet_ngram_estimator_settings settings;
  struct ngram_builder builder;
  uint32_t
      *text; /* words: numbers in the order of arrival; linnet_ngram_estimator_finish replaces them by sorted numbers */
  size_t text_count, text_capacity;
  uint32_t specials[SPECIALS]; /* their sorted numbers */
  struct grams grams[NGRAM_MAX_ORDER];
  uint32_t *begins; /* (text_count) the n-gram of the present order that begins at a word; NONE where the sentence is
                       too short */
  struct linnet_keyed *offsets, *scratch; /* (text_count) */
  bool finished;
};

void(linnet_ngram_estimator_settings_default)(struct linnet_ngram_estimator_settings *settings, size_t size) {
  const struct linnet_ngram_estimator_settings defaults = {.size = sizeof(struct linnet_ngram_estimator_settings),
                                                           .order = 3};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

static enum linnet_status out_of_memory(const struct linnet_ngram_estimator *e) {
  return linnet_fail(e->context, LINNET_ERROR_MEMORY, "out of memory for n-grams of a text of %zu words",
                     e->text_count);
}

/* --- text ------------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_ngram_estimator_create(struct linnet_context *context,
                                                 const struct linnet_ngram_estimator_settings *settings,
                                                 struct linnet_ngram_estimator **estimator) {
  if (estimator)
    *estimator = NULL;
  if (!context || !estimator)
    return LINNET_ERROR_ARGUMENT;
  struct linnet_ngram_estimator_settings own;
  LINNET_TRY(LINNET_READ_SETTINGS(context, ngram_estimator, settings, &own));
  settings = &own;
  if (settings->order < 1 || settings->order > NGRAM_MAX_ORDER)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "the order of a language model must be 1 to %d",
                       NGRAM_MAX_ORDER);
  if (!(settings->prune >= 0 && settings->prune < 1))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "the threshold of pruning must be 0 (none) or above and below 1, such as 1e-8; it is %g",
                       settings->prune);
  struct linnet_ngram_estimator *e = linnet_calloc(context, 1, sizeof *e);
  if (!e)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for an estimator");
  e->context = context;
  e->settings = *settings;
  e->builder = (struct ngram_builder){.context = context, .order = settings->order, .names = {.context = context}};
  for (size_t i = 0; i < SPECIALS; i++) {
    size_t index;
    enum linnet_status status =
        linnet_names_add(&e->builder.names, SPECIAL_WORDS[i], strlen(SPECIAL_WORDS[i]), &index, NULL);
    if (status != LINNET_OK) {
      linnet_ngram_estimator_destroy(e);
      return status;
    }
  }
  *estimator = e;
  return LINNET_OK;
}

void linnet_ngram_estimator_destroy(struct linnet_ngram_estimator *e) {
  if (!e)
    return;
  linnet_ngram_builder_clear(&e->builder);
  for (unsigned k = 0; k < NGRAM_MAX_ORDER; k++) {
    linnet_free(e->context, e->grams[k].counts);
    linnet_free(e->context, e->grams[k].ends);
    linnet_free(e->context, e->grams[k].probabilities);
  }
  linnet_free(e->context, e->text);
  linnet_free(e->context, e->begins);
  linnet_free(e->context, e->offsets);
  linnet_free(e->context, e->scratch);
  linnet_free(e->context, e);
}

static enum linnet_status check_word(const struct linnet_ngram_estimator *e, const char *word) {
  size_t length = word ? strlen(word) : 0;
  if (length == 0 || word[strcspn(word, " \t\r\n\v\f")] != '\0')
    return linnet_fail(e->context, LINNET_ERROR_FORMAT, "a word is empty or holds white space");
  if (length > MAX_WORD)
    return linnet_fail(e->context, LINNET_ERROR_LIMIT, "a word has %zu bytes; it must have at most %d", length,
                       MAX_WORD);
  for (size_t i = 0; i < SPECIALS; i++)
    if (strcmp(word, SPECIAL_WORDS[i]) == 0)
      return linnet_fail(e->context, LINNET_ERROR_FORMAT,
                         "'%s' has a special meaning in a language model: remove it from the text", word);
  return LINNET_OK;
}

enum linnet_status linnet_ngram_estimator_add(struct linnet_ngram_estimator *e, const char *const *words,
                                              size_t count) {
  if (!e || (!words && count > 0))
    return LINNET_ERROR_ARGUMENT;
  if (e->finished)
    return linnet_fail(e->context, LINNET_ERROR_STATE, "the language model was made before: create another estimator");
  for (size_t i = 0; i < count; i++)
    LINNET_TRY(check_word(e, words[i]));
  if (count > 0x7FFFFFFE - 2 || e->text_count > 0x7FFFFFFE - 2 - count)
    return linnet_fail(e->context, LINNET_ERROR_LIMIT, "the text has more than 2^31 words");
  uint32_t *grown = linnet_grow(e->context, e->text, &e->text_capacity, e->text_count + count + 2, sizeof *grown);
  if (!grown)
    return out_of_memory(e);
  e->text = grown;
  size_t at = e->text_count;
  e->text[at++] = BEGIN;
  for (size_t i = 0; i < count; i++) {
    size_t index;
    LINNET_TRY(linnet_names_add(&e->builder.names, words[i], strlen(words[i]), &index, NULL));
    e->text[at++] = (uint32_t)index;
  }
  e->text[at++] = END;
  e->text_count = at; /* after a failure, words stay in the table, but not in the text */
  return LINNET_OK;
}

/* --- counts ----------------------------------------------------------------------------------------------------- */

static enum linnet_status alloc_grams(struct linnet_ngram_estimator *e, struct grams *grams, size_t count) {
  grams->count = count;
  grams->counts = linnet_calloc(e->context, count, sizeof *grams->counts);
  grams->ends = linnet_calloc(e->context, count, sizeof *grams->ends);
  grams->probabilities = linnet_calloc(e->context, count, sizeof *grams->probabilities);
  return grams->counts && grams->ends && grams->probabilities ? LINNET_OK : out_of_memory(e);
}

/* Words, numbered by their bytes; <s> is not counted. */
static enum linnet_status count_words(struct linnet_ngram_estimator *e) {
  struct ngram_builder *b = &e->builder;
  for (size_t i = 0; i < b->names.count; i++)
    LINNET_TRY(linnet_ngram_builder_add(b, 0, &(struct ngram_record){.word = (uint32_t)i}));
  LINNET_TRY(linnet_ngram_builder_sort_words(b));
  for (int i = 0; i < SPECIALS; i++)
    e->specials[i] = b->rank[i];
  LINNET_TRY(alloc_grams(e, &e->grams[0], b->names.count));
  for (size_t i = 0; i < e->text_count; i++) {
    e->text[i] = e->begins[i] = b->rank[e->text[i]];
    e->grams[0].counts[e->text[i]] += b->order == 1 && e->text[i] != e->specials[BEGIN];
  }
  return LINNET_OK;
}

/* Lists the offsets where an n-gram of k + 1 words begins, with a key of its first k words' node and its last word;
 * returns their number. */
static size_t list_offsets(const struct linnet_ngram_estimator *e, unsigned k) {
  size_t count = 0;
  uint32_t base = e->builder.levels[k - 1].base;
  for (size_t i = 0; i + k < e->text_count; i++)
    if (e->text[i] != e->specials[END] && e->begins[i + 1] != NONE)
      e->offsets[count++] = (struct linnet_keyed){(uint64_t)(base + e->begins[i]) << 32 | e->text[i + k], (uint32_t)i};
  return count;
}

static size_t count_groups(const struct linnet_keyed *offsets, size_t count) {
  size_t groups = 0;
  for (size_t i = 0; i < count; i++)
    groups += i == 0 || offsets[i].key != offsets[i - 1].key;
  return groups;
}

/* Makes level k (n-grams of k + 1 words) from sorted offsets. `ends` is `begins` of the next word, in the level below;
 * `next` gets `begins` of this level. */
static enum linnet_status add_groups(struct linnet_ngram_estimator *e, unsigned k, size_t count, uint32_t *next) {
  struct grams *grams = &e->grams[k];
  bool highest = k + 1 == e->builder.order;
  uint32_t group = NONE;
  for (size_t i = 0; i < count; i++) {
    uint64_t key = e->offsets[i].key;
    uint32_t offset = e->offsets[i].value;
    if (i == 0 || key != e->offsets[i - 1].key) {
      struct ngram_record record = {.parent = (uint32_t)(key >> 32), .word = (uint32_t)key};
      LINNET_TRY(linnet_ngram_builder_add(&e->builder, k, &record));
      grams->ends[++group] = e->begins[offset + 1];
    }
    grams->counts[group] += highest || e->text[offset] == e->specials[BEGIN];
    next[offset] = group;
  }
  return LINNET_OK;
}

static enum linnet_status count_level(struct linnet_ngram_estimator *e, unsigned k) {
  size_t count = list_offsets(e, k), duplicate;
  linnet_radix_sort(e->offsets, e->scratch, count);
  LINNET_TRY(alloc_grams(e, &e->grams[k], count_groups(e->offsets, count)));
  uint32_t *next = linnet_alloc(e->context, e->text_count, sizeof *next);
  if (!next)
    return out_of_memory(e);
  memset(next, 0xFF, e->text_count * sizeof *next); /* NONE */
  enum linnet_status status = add_groups(e, k, count, next);
  linnet_free(e->context, e->begins);
  e->begins = next;
  for (size_t i = 0; i < e->grams[k].count; i++)
    e->grams[k - 1].counts[e->grams[k].ends[i]]++; /* one more different word occurs before it */
  return status == LINNET_OK ? linnet_ngram_builder_seal(&e->builder, k, &duplicate) : status;
}

static enum linnet_status count_text(struct linnet_ngram_estimator *e) {
  e->begins = linnet_alloc(e->context, e->text_count, sizeof *e->begins);
  e->offsets = linnet_alloc(e->context, e->text_count, sizeof *e->offsets);
  e->scratch = linnet_alloc(e->context, e->text_count, sizeof *e->scratch);
  if (!e->begins || !e->offsets || !e->scratch)
    return out_of_memory(e);
  LINNET_TRY(count_words(e));
  for (unsigned k = 1; k < e->builder.order; k++)
    LINNET_TRY(count_level(e, k));
  return LINNET_OK;
}

/* --- probabilities ---------------------------------------------------------------------------------------------- */

static enum linnet_status find_discount(const struct linnet_ngram_estimator *e, unsigned k,
                                        struct ngram_discount *discount) {
  int lacking;
  if (discount_by(e->grams[k].counts, e->grams[k].count, discount, &lacking))
    return LINNET_OK;
  char why[80] = "the counts of counts give a discount out of range";
  if (lacking > 0)
    snprintf(why, sizeof why, "no %u-gram has an adjusted count of %d", k + 1, lacking);
  if (!e->settings.discount_fallback)
    return linnet_fail(e->context, LINNET_ERROR_FORMAT,
                       "cannot estimate discounts for %u-grams: %s; use more text, a lower order, or fixed discounts "
                       "(discount_fallback)",
                       k + 1, why);
  linnet_log(e->context, LINNET_LOG_WARNING, "uses fixed discounts for %u-grams: %s", k + 1, why);
  *discount = (struct ngram_discount){{0, 0.5, 1, 1.5}};
  return LINNET_OK;
}

/* Sets the probabilities of the n-grams [begin, end) of level k, which are all n-grams of one context. They are
 * interpolated with `lower`, the distribution of the shorter context. Returns the weight of `lower`, which is the
 * context's back-off weight. */
static double smooth(struct linnet_ngram_estimator *e, unsigned k, const struct ngram_discount *discount, size_t begin,
                     size_t end) {
  struct grams *grams = &e->grams[k];
  double total = 0, of_count[4] = {0}, taken = 0;
  for (size_t i = begin; i < end; i++) {
    total += grams->counts[i];
    of_count[grams->counts[i] < 3 ? grams->counts[i] : 3]++;
  }
  for (int c = 1; c <= 3; c++)
    taken += discount->amount[c] * of_count[c];
  double weight = taken / total, uniform = 1 / (double)(e->grams[0].count - 1);
  for (size_t i = begin; i < end; i++) {
    double own = (grams->counts[i] - discount_of(discount, grams->counts[i])) / total;
    double lower = k == 0 ? uniform : e->grams[k - 1].probabilities[grams->ends[i]];
    grams->probabilities[i] = own + weight * lower;
  }
  return weight;
}

/* One level, and the back-off weights of the level below it. */
static void smooth_level(struct linnet_ngram_estimator *e, unsigned k, const struct ngram_discount *discount) {
  struct ngram_level *level = &e->builder.levels[k];
  if (k == 0) {
    smooth(e, 0, discount, 0, e->grams[0].count);
    e->grams[0].probabilities[e->specials[BEGIN]] = 1;
  } else {
    struct ngram_level *below = &e->builder.levels[k - 1];
    for (size_t i = 0; i < below->count; i++)
      if (level->first[i] < level->first[i + 1])
        below->records[i].backoff =
            (float)log(smooth(e, k, discount, level->first[i] - level->base, level->first[i + 1] - level->base));
  }
  for (size_t i = 0; i < level->count; i++)
    level->records[i].probability = (float)fmin(log(e->grams[k].probabilities[i]), 0);
}

/* Replaces the model that was made by a pruned one. */
static enum linnet_status prune(const struct linnet_ngram_estimator *e, struct linnet_ngram **ngram) {
  struct linnet_ngram *whole = *ngram;
  double *histories = linnet_alloc(e->context, whole->inner, sizeof *histories);
  *ngram = NULL;
  enum linnet_status status = histories ? LINNET_OK : out_of_memory(e);
  if (histories) {
    linnet_ngram_count_histories(whole, e->text, e->text_count, histories);
    status = linnet_ngram_prune_histories(e->context, whole, histories, e->settings.prune, ngram);
  }
  linnet_free(e->context, histories);
  linnet_ngram_destroy(whole);
  return status;
}

enum linnet_status linnet_ngram_estimator_finish(struct linnet_ngram_estimator *e, struct linnet_ngram **ngram) {
  if (ngram)
    *ngram = NULL;
  if (!e || !ngram)
    return LINNET_ERROR_ARGUMENT;
  if (e->finished)
    return linnet_fail(e->context, LINNET_ERROR_STATE, "the language model was made before: create another estimator");
  e->finished = true;
  if (e->text_count == 0)
    return linnet_fail(e->context, LINNET_ERROR_FORMAT, "there is no text to estimate a language model from");
  LINNET_TRY(count_text(e));
  for (unsigned k = 0; k < e->builder.order; k++) {
    struct ngram_discount discount;
    LINNET_TRY(find_discount(e, k, &discount));
    smooth_level(e, k, &discount);
  }
  LINNET_TRY(linnet_ngram_builder_finish(&e->builder, ngram));
  return e->settings.prune > 0 ? prune(e, ngram) : LINNET_OK;
}
