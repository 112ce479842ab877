/* The search for pronunciations: a beam of hypotheses that moves along the letters of a word.
 *
 * A hypothesis is a state of the n-gram model and a sequence of phones. Hypotheses that agree in both are merged, and
 * their probabilities are added. A unit moves a hypothesis forward by one or two letters, so three positions are
 * active at a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/log_add.h"
#include "decoder/g2p/g2p.h"

enum { MIN_BEAM = 24, POSITIONS = G2P_UNIT_LETTERS + 1 };

static const double THRESHOLD = 9;     /* hypotheses below exp(-9) times the best probability are dropped */
static const double SKIP_PENALTY = -7; /* for skipping a letter that no unit has alone */

struct hypothesis {
  uint32_t state, phones; /* phones: a node of the tree */
  double score;           /* log probability */
};

struct list {
  struct hypothesis *items;
  size_t count, capacity;
  double best;
};

/* A sequence of phones: its last one, and the sequence before. 0 is the empty sequence. */
struct phone_node {
  uint32_t parent, phone;
};

struct search {
  const struct linnet_g2p *g2p;
  struct linnet_context *context;
  unsigned letters[G2P_MAX_LETTERS];
  size_t letter_count, ignored, beam;
  bool spoken;                  /* at least one letter is no punctuation */
  struct list lists[POSITIONS]; /* of position i: i % POSITIONS */
  struct phone_node *nodes;
  size_t node_count, node_capacity;
  uint32_t *slots; /* open addressing: node, 0 is free */
  size_t slot_count;
};

static enum linnet_status out_of_memory(const struct search *s) {
  return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for a pronunciation of %zu letters",
                     s->letter_count);
}

/* --- letters ---------------------------------------------------------------------------------------------------- */

static bool is_punctuation(const char *letter) {
  return (unsigned char)*letter < 0x80 && !linnet_is_letter(*letter) && !linnet_is_digit(*letter);
}

static enum linnet_status add_letter(struct search *s, const char *letter) {
  size_t index = linnet_names_find(&s->g2p->letters, letter, strlen(letter));
  if (index == SIZE_MAX) {
    s->ignored++;
    return LINNET_OK;
  }
  if (s->letter_count == G2P_MAX_LETTERS)
    return linnet_fail(s->context, LINNET_ERROR_LIMIT, "the word has more than %d letters", G2P_MAX_LETTERS);
  s->letters[s->letter_count++] = (unsigned)index + 1;
  s->spoken = s->spoken || !is_punctuation(letter);
  return LINNET_OK;
}

static enum linnet_status add_plain_letters(struct search *s, const char *plain) {
  char letter[5];
  while (linnet_g2p_next_letter(&plain, letter))
    LINNET_TRY(add_letter(s, letter));
  return LINNET_OK;
}

/* Punctuation alone, such as an apostrophe, is no word: it counts as ignored. */
static enum linnet_status take_letters(struct search *s, const char *word) {
  char letter[5];
  while (linnet_g2p_next_letter(&word, letter)) {
    bool known = linnet_names_find(&s->g2p->letters, letter, strlen(letter)) != SIZE_MAX;
    const char *plain = known ? NULL : linnet_g2p_plain_letters(letter);
    LINNET_TRY(plain ? add_plain_letters(s, plain) : add_letter(s, letter));
  }
  if (!s->spoken) {
    s->ignored += s->letter_count;
    s->letter_count = 0;
  }
  return LINNET_OK;
}

/* --- sequences of phones ----------------------------------------------------------------------------------------- */

static size_t slot_of(const struct search *s, uint32_t parent, uint32_t phone) {
  uint64_t hash = ((uint64_t)parent << 16 ^ phone) * UINT64_C(0x9E3779B97F4A7C15);
  size_t mask = s->slot_count - 1, at = (size_t)(hash >> 32) & mask;
  while (s->slots[at] != 0 && (s->nodes[s->slots[at]].parent != parent || s->nodes[s->slots[at]].phone != phone))
    at = (at + 1) & mask;
  return at;
}

static bool grow_slots(struct search *s) {
  size_t count = s->slot_count == 0 ? 512 : 2 * s->slot_count;
  uint32_t *slots = linnet_calloc(s->context, count, sizeof *slots);
  if (!slots)
    return false;
  linnet_free(s->context, s->slots);
  s->slots = slots;
  s->slot_count = count;
  for (size_t i = 1; i < s->node_count; i++)
    s->slots[slot_of(s, s->nodes[i].parent, s->nodes[i].phone)] = (uint32_t)i;
  return true;
}

/* Appends a phone to *node; none if it is 0. */
static enum linnet_status add_phone(struct search *s, uint32_t *node, unsigned phone) {
  if (phone == 0)
    return LINNET_OK;
  if (2 * (s->node_count + 1) > s->slot_count && !grow_slots(s))
    return out_of_memory(s);
  size_t slot = slot_of(s, *node, phone);
  if (s->slots[slot] == 0) {
    struct phone_node *grown = linnet_grow(s->context, s->nodes, &s->node_capacity, s->node_count + 1, sizeof *grown);
    if (!grown)
      return out_of_memory(s);
    s->nodes = grown;
    s->nodes[s->node_count] = (struct phone_node){*node, phone};
    s->slots[slot] = (uint32_t)s->node_count++;
  }
  *node = s->slots[slot];
  return LINNET_OK;
}

/* --- lists of hypotheses ----------------------------------------------------------------------------------------- */

static int by_kind(const void *left, const void *right) {
  const struct hypothesis *a = left, *b = right;
  if (a->phones != b->phones)
    return a->phones < b->phones ? -1 : 1;
  return (a->state > b->state) - (a->state < b->state);
}

static int by_score(const void *left, const void *right) {
  const struct hypothesis *a = left, *b = right;
  return a->score != b->score ? (a->score > b->score ? -1 : 1) : by_kind(left, right);
}

static enum linnet_status push(struct search *s, size_t position, const struct hypothesis *h) {
  struct list *list = &s->lists[position % POSITIONS];
  struct hypothesis *grown = linnet_grow(s->context, list->items, &list->capacity, list->count + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(s);
  list->items = grown;
  list->items[list->count++] = *h;
  list->best = fmax(list->best, h->score);
  return LINNET_OK;
}

static void empty(struct list *list) {
  list->count = 0;
  list->best = -INFINITY;
}

/* Merges hypotheses that agree, and sorts them by score. */
static void merge(struct list *list) {
  size_t count = 0;
  if (list->count > 1)
    qsort(list->items, list->count, sizeof *list->items, by_kind);
  for (size_t i = 0; i < list->count; i++)
    if (count > 0 && by_kind(&list->items[count - 1], &list->items[i]) == 0)
      list->items[count - 1].score = linnet_log_add(list->items[count - 1].score, list->items[i].score);
    else
      list->items[count++] = list->items[i];
  list->count = count;
  if (count > 1)
    qsort(list->items, count, sizeof *list->items, by_score);
}

/* Drops hypotheses that score far below the best. */
static void drop_improbable(struct list *list) {
  size_t count = 0;
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i].score >= list->best - THRESHOLD)
      list->items[count++] = list->items[i];
  list->count = count;
}

/* --- the search -------------------------------------------------------------------------------------------------- */

/* Extends a hypothesis by a unit that begins at `position`. */
static enum linnet_status extend(struct search *s, size_t position, const struct hypothesis *h, uint32_t unit) {
  uint64_t key = s->g2p->units[unit];
  size_t to = position + linnet_g2p_unit_letters(key);
  struct hypothesis next = *h;
  next.score += linnet_ngram_score(s->g2p->ngram, &next.state, unit);
  if (!(next.score >= s->lists[to % POSITIONS].best - THRESHOLD) || next.score == -INFINITY)
    return LINNET_OK;
  LINNET_TRY(add_phone(s, &next.phones, linnet_g2p_unit_phone(key, 0)));
  LINNET_TRY(add_phone(s, &next.phones, linnet_g2p_unit_phone(key, 1)));
  return push(s, to, &next);
}

static bool unit_fits(const struct search *s, size_t position, uint32_t unit) {
  unsigned second = linnet_g2p_unit_letter(s->g2p->units[unit], 1);
  return second == 0 || (position + 1 < s->letter_count && second == s->letters[position + 1]);
}

static enum linnet_status extend_list(struct search *s, size_t position, const struct list *list) {
  const uint32_t *first = &s->g2p->first_unit[s->letters[position]];
  bool alone = false;
  for (uint32_t unit = first[0]; unit < first[1]; unit++) {
    if (!unit_fits(s, position, unit))
      continue;
    alone = alone || linnet_g2p_unit_letters(s->g2p->units[unit]) == 1;
    for (size_t i = 0; i < list->count; i++)
      LINNET_TRY(extend(s, position, &list->items[i], unit));
  }
  for (size_t i = 0; !alone && i < list->count; i++) {
    struct hypothesis skipping = list->items[i];
    skipping.score += SKIP_PENALTY;
    LINNET_TRY(push(s, position + 1, &skipping));
  }
  return LINNET_OK;
}

static void finish(struct search *s, struct list *list) {
  for (size_t i = 0; i < list->count; i++) {
    list->items[i].score += linnet_ngram_finish(s->g2p->ngram, list->items[i].state);
    list->items[i].state = 0; /* at the end, hypotheses are merged by their phones only */
  }
  merge(list);
  size_t count = 0;
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i].phones != 0 && list->items[i].score > -INFINITY)
      list->items[count++] = list->items[i];
  list->count = count;
}

static enum linnet_status run(struct search *s) {
  for (size_t p = 0; p < POSITIONS; p++)
    empty(&s->lists[p]);
  s->nodes = linnet_grow(s->context, NULL, &s->node_capacity, 64, sizeof *s->nodes);
  if (!s->nodes)
    return out_of_memory(s);
  s->nodes[s->node_count++] = (struct phone_node){0, 0};
  LINNET_TRY(push(s, 0, &(struct hypothesis){.state = linnet_ngram_begin(s->g2p->ngram)}));
  for (size_t position = 0; position < s->letter_count; position++) {
    struct list *list = &s->lists[position % POSITIONS];
    drop_improbable(list);
    merge(list);
    list->count = list->count < s->beam ? list->count : s->beam;
    LINNET_TRY(extend_list(s, position, list));
    empty(list);
  }
  finish(s, &s->lists[s->letter_count % POSITIONS]);
  return LINNET_OK;
}

static void clear(struct search *s) {
  for (size_t p = 0; p < POSITIONS; p++)
    linnet_free(s->context, s->lists[p].items);
  linnet_free(s->context, s->nodes);
  linnet_free(s->context, s->slots);
}

/* --- results ----------------------------------------------------------------------------------------------------- */

struct pronunciation {
  size_t first, count; /* of phones */
  double log_probability;
};

struct linnet_g2p_result {
  struct linnet_context *context;
  size_t count, ignored;
  double total; /* the sum of the probabilities of all final hypotheses */
  struct pronunciation *pronunciations;
  const char **phones;
};

static size_t phones_of(const struct search *s, uint32_t node) {
  size_t count = 0;
  for (; node != 0; node = s->nodes[node].parent)
    count++;
  return count;
}

static void write_phones(const struct search *s, uint32_t node, const char **phones, size_t count) {
  for (; node != 0; node = s->nodes[node].parent)
    phones[--count] = linnet_names_text(&s->g2p->phones, s->nodes[node].phone - 1);
}

static enum linnet_status fill(const struct search *s, struct linnet_g2p_result *r, const struct list *list) {
  size_t phones = 0;
  for (size_t i = 0; i < r->count; i++)
    phones += phones_of(s, list->items[i].phones);
  r->pronunciations = linnet_alloc(s->context, r->count, sizeof *r->pronunciations);
  r->phones = linnet_alloc(s->context, phones, sizeof *r->phones);
  if (!r->pronunciations || !r->phones)
    return out_of_memory(s);
  phones = 0;
  for (size_t i = 0; i < r->count; i++) {
    const struct hypothesis *h = &list->items[i];
    r->pronunciations[i] = (struct pronunciation){phones, phones_of(s, h->phones), h->score};
    write_phones(s, h->phones, r->phones + phones, r->pronunciations[i].count);
    phones += r->pronunciations[i].count;
  }
  r->total = -INFINITY;
  for (size_t i = 0; i < list->count; i++)
    r->total = i == 0 ? list->items[i].score : linnet_log_add(r->total, list->items[i].score);
  return LINNET_OK;
}

static enum linnet_status make_result(const struct search *s, size_t nbest, struct linnet_g2p_result **result) {
  const struct list *list = &s->lists[s->letter_count % POSITIONS];
  struct linnet_g2p_result *r = linnet_calloc(s->context, 1, sizeof *r);
  if (!r)
    return out_of_memory(s);
  r->context = s->context;
  r->ignored = s->ignored;
  r->count = list->count < nbest ? list->count : nbest;
  enum linnet_status status = fill(s, r, list);
  if (status == LINNET_OK)
    *result = r;
  else
    linnet_g2p_result_destroy(r);
  return status;
}

enum linnet_status linnet_g2p_pronounce(const struct linnet_g2p *g2p, struct linnet_context *context, const char *word,
                                        size_t nbest, struct linnet_g2p_result **result) {
  if (result)
    *result = NULL;
  if (!g2p || !context || !result)
    return LINNET_ERROR_ARGUMENT;
  if (!word || nbest < 1 || nbest > LINNET_G2P_MAX_NBEST)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_g2p_pronounce: the word is NULL, or the number of pronunciations is not 1 to %d",
                       LINNET_G2P_MAX_NBEST);
  struct search s = {.g2p = g2p, .context = context, .beam = MIN_BEAM + 2 * nbest};
  enum linnet_status status = take_letters(&s, word);
  if (status == LINNET_OK)
    status = run(&s);
  if (status == LINNET_OK)
    status = make_result(&s, nbest, result);
  clear(&s);
  return status;
}

void linnet_g2p_result_destroy(struct linnet_g2p_result *r) {
  if (!r)
    return;
  linnet_free(r->context, r->pronunciations);
  linnet_free(r->context, r->phones);
  linnet_free(r->context, r);
}

size_t linnet_g2p_result_num_pronunciations(const struct linnet_g2p_result *r) {
  return r->count;
}

const char *const *linnet_g2p_result_phones(const struct linnet_g2p_result *r, size_t index, size_t *count) {
  *count = index < r->count ? r->pronunciations[index].count : 0;
  return index < r->count ? r->phones + r->pronunciations[index].first : NULL;
}

double linnet_g2p_result_log_probability(const struct linnet_g2p_result *r, size_t index) {
  return index < r->count ? r->pronunciations[index].log_probability : 0;
}

double linnet_g2p_result_probability(const struct linnet_g2p_result *r, size_t index) {
  return index < r->count ? exp(r->pronunciations[index].log_probability - r->total) : 0;
}

size_t linnet_g2p_result_num_ignored(const struct linnet_g2p_result *r) {
  return r->ignored;
}
