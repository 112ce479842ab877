/* Collects the n-grams of each order, sorts and checks them, and lays out the finished model in one block. */
#include "decoder/ngram/ngram_builder.h"

#include <math.h>
#include <string.h>

#include "decoder/base/radix_sort.h"

static enum linnet_status out_of_memory(const struct ngram_builder *b, size_t count) {
  return linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for a language model after %zu n-grams", count);
}

enum linnet_status linnet_ngram_builder_add(struct ngram_builder *b, unsigned index,
                                            const struct ngram_record *record) {
  struct ngram_level *level = &b->levels[index];
  struct ngram_record *grown =
      linnet_grow(b->context, level->records, &level->capacity, level->count + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(b, level->count);
  level->records = grown;
  level->records[level->count++] = *record;
  return LINNET_OK;
}

enum linnet_status linnet_ngram_builder_sort_words(struct ngram_builder *b) {
  size_t count = b->names.count, duplicate;
  const struct linnet_name **sorted = linnet_alloc(b->context, count, sizeof *sorted);
  b->rank = linnet_alloc(b->context, count, sizeof *b->rank);
  if (!sorted || !b->rank) {
    linnet_free(b->context, sorted);
    return out_of_memory(b, count);
  }
  linnet_names_sort(&b->names, sorted);
  for (size_t i = 0; i < count; i++)
    b->rank[sorted[i] - b->names.names] = (uint32_t)i;
  linnet_free(b->context, sorted);
  for (size_t i = 0; i < b->levels[0].count; i++)
    b->levels[0].records[i].word = b->rank[b->levels[0].records[i].word];
  return linnet_ngram_builder_seal(b, 0, &duplicate);
}

/* --- sealing ---------------------------------------------------------------------------------------------------- */

/* The first node of the previous level, and its number of nodes: these are the possible parents of records of this
 * level. */
static void parents_of(const struct ngram_builder *b, unsigned index, uint32_t *base, size_t *count) {
  *base = index > 0 ? b->levels[index - 1].base : 0;
  *count = index > 0 ? b->levels[index - 1].count : 1;
}

/* Sorts the records in the order of `keyed`; `sorted` (count) is scratch. */
static void permute(struct ngram_level *level, const struct linnet_keyed *keyed, struct ngram_record *sorted) {
  for (size_t i = 0; i < level->count; i++)
    sorted[i] = level->records[keyed[i].value];
  if (level->count > 0)
    memcpy(level->records, sorted, level->count * sizeof *sorted);
}

/* keyed (count) in order. */
static size_t find_duplicate(const struct linnet_keyed *keyed, size_t count) {
  size_t earliest = SIZE_MAX;
  for (size_t i = 1; i < count; i++)
    if (keyed[i].key == keyed[i - 1].key && keyed[i].value < earliest)
      earliest = keyed[i].value;
  return earliest;
}

static void sort_records(struct ngram_level *level, struct linnet_keyed *keyed, struct linnet_keyed *scratch,
                         size_t *duplicate) {
  for (size_t i = 0; i < level->count; i++) {
    const struct ngram_record *r = &level->records[i];
    keyed[i] = (struct linnet_keyed){(uint64_t)r->parent << 32 | r->word, (uint32_t)i};
  }
  linnet_radix_sort(keyed, scratch, level->count);
  *duplicate = find_duplicate(keyed, level->count);
  _Static_assert(sizeof(struct ngram_record) <= sizeof(struct linnet_keyed), "the scratch memory is used for both");
  if (*duplicate == SIZE_MAX)
    permute(level, keyed, (struct ngram_record *)(void *)scratch);
}

/* first (parents + 1) of sorted records. */
static void fill_first(const struct ngram_level *level, uint32_t base, size_t parents, uint32_t *first) {
  size_t at = 0;
  for (size_t p = 0; p < parents; p++) {
    first[p] = level->base + (uint32_t)at;
    while (at < level->count && level->records[at].parent == base + p)
      at++;
  }
  first[parents] = level->base + (uint32_t)level->count;
}

enum linnet_status linnet_ngram_builder_seal(struct ngram_builder *b, unsigned index, size_t *duplicate) {
  struct ngram_level *level = &b->levels[index];
  uint32_t base;
  size_t parents;
  parents_of(b, index, &base, &parents);
  if (level->count > 0x7FFFFFFE - (base + parents))
    return linnet_fail(b->context, LINNET_ERROR_LIMIT, "there are more than 2^31 n-grams: prune the model");
  level->base = base + (uint32_t)parents;
  level->first = linnet_alloc(b->context, parents + 1, sizeof *level->first);
  struct linnet_keyed *keyed = linnet_alloc(b->context, level->count, sizeof *keyed);
  struct linnet_keyed *scratch = linnet_alloc(b->context, level->count, sizeof *scratch);
  enum linnet_status status = LINNET_OK;
  if (level->first && keyed && scratch) {
    sort_records(level, keyed, scratch, duplicate);
    fill_first(level, base, parents, level->first);
  } else {
    status = out_of_memory(b, level->count);
  }
  linnet_free(b->context, keyed);
  linnet_free(b->context, scratch);
  return status;
}

/* The child of a node of the level before `index`. */
static uint32_t find_child(const struct ngram_builder *b, unsigned index, uint32_t parent, uint32_t word) {
  const struct ngram_level *level = &b->levels[index];
  uint32_t base;
  size_t parents;
  parents_of(b, index, &base, &parents);
  uint32_t low = level->first[parent - base], high = level->first[parent - base + 1];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2, there = level->records[middle - level->base].word;
    if (there == word)
      return middle;
    if (there < word)
      low = middle + 1;
    else
      high = middle;
  }
  return 0;
}

uint32_t linnet_ngram_builder_node(const struct ngram_builder *b, const uint32_t *words, unsigned count) {
  uint32_t node = 1 + words[0];
  for (unsigned k = 1; k < count && node != 0; k++)
    node = find_child(b, k, node, words[k]);
  return node;
}

/* --- the model -------------------------------------------------------------------------------------------------- */

/* Pointers to the sections of the body, to fill them. */
struct body {
  uint64_t *tree, *filter;
  uint32_t *marks;
  unsigned char *words, *links, *offsets;
  float *backoffs, *probabilities;
  char *text;
};

static struct body open_body(const struct ngram_shape *shape, char *bytes) {
  struct ngram_layout layout;
  linnet_ngram_layout(shape, &layout);
  return (struct body){
      .tree = (void *)(bytes + layout.start[NGRAM_TREE]),
      .filter = (void *)(bytes + layout.start[NGRAM_FILTER]),
      .marks = (void *)(bytes + layout.start[NGRAM_MARKS]),
      .words = (void *)(bytes + layout.start[NGRAM_WORDS]),
      .links = (void *)(bytes + layout.start[NGRAM_LINKS]),
      .offsets = (void *)(bytes + layout.start[NGRAM_OFFSETS]),
      .backoffs = (void *)(bytes + layout.start[NGRAM_BACKOFFS]),
      .probabilities = (void *)(bytes + layout.start[NGRAM_PROBABILITIES]),
      .text = bytes + layout.start[NGRAM_TEXT],
  };
}

/* `names` (count) is scratch: the name of each sorted number. */
static void fill_text(const struct ngram_builder *b, const struct linnet_ngram *m, const struct body *body,
                      uint32_t *names) {
  for (size_t i = 0; i < b->names.count; i++)
    names[b->rank[i]] = (uint32_t)i;
  uint32_t offset = 0;
  for (size_t word = 0; word < b->names.count; word++) {
    const char *text = linnet_names_text(&b->names, names[word]);
    size_t bytes = strlen(text) + 1;
    memcpy(body->text + offset, text, bytes);
    offset += (uint32_t)bytes;
    linnet_packed_set(body->offsets, m->offsets.width, word + 1, offset);
  }
}

/* Levels are contexts of the next level, in the order of their nodes. */
static void fill_tree(const struct ngram_builder *b, const struct body *body) {
  uint32_t node = 0, position = 0;
  for (unsigned k = 0; k < b->order; k++) {
    uint32_t base;
    size_t parents;
    parents_of(b, k, &base, &parents);
    for (size_t p = 0; p < parents; p++, node++, position++) {
      for (uint32_t child = b->levels[k].first[p]; child < b->levels[k].first[p + 1]; child++, position++)
        body->tree[position / 64] |= UINT64_C(1) << position % 64;
      if (node % NGRAM_MARK_NODES == 0)
        body->marks[node / NGRAM_MARK_NODES] = position;
    }
  }
}

static void fill_nodes(const struct ngram_builder *b, const struct linnet_ngram *m, const struct body *body) {
  for (unsigned k = 0; k < b->order; k++) {
    const struct ngram_level *level = &b->levels[k];
    for (size_t i = 0; i < level->count; i++) {
      size_t node = level->base + i;
      body->probabilities[node] = level->records[i].probability;
      if (node < m->inner)
        body->backoffs[node] = b->normalize && level->records[i].backoff > -INFINITY ? 0 : level->records[i].backoff;
      if (k > 0)
        linnet_packed_set(body->words, m->words.width, node - m->base[2], level->records[i].word);
    }
  }
}

/* The nodes of a level whose parent is the node number `parent` of the level before. */
static struct ngram_range children_of(const struct ngram_level *level, size_t parent) {
  return (struct ngram_range){level->first[parent], level->first[parent + 1]};
}

static void fill_filter(const struct ngram_builder *b, const struct linnet_ngram *m, uint64_t *filter) {
  for (unsigned k = 1; k < b->order; k++)
    for (size_t i = 0; i < b->levels[k].count; i++) {
      const struct ngram_record *r = &b->levels[k].records[i];
      struct ngram_bits bits = linnet_ngram_bits(m->blocks, r->parent, r->word);
      filter[bits.block] |= bits.bits;
    }
}

/* The first node among sorted siblings whose word is not before `word`, searched from the front in doubled steps. */
static uint32_t find_from(const struct linnet_ngram *m, struct ngram_range siblings, uint32_t word) {
  uint32_t low = siblings.begin, step = 1;
  while (step < siblings.end - low && linnet_ngram_last_word(m, low + step) < word) {
    low += step;
    step *= 2;
  }
  uint32_t high = step < siblings.end - low ? low + step : siblings.end;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (linnet_ngram_last_word(m, middle) < word)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Sets the links of the children of a context. Most of their words follow its link, too, in the same order. */
static void link_children(const struct linnet_ngram *m, uint32_t context, struct ngram_range children,
                          unsigned char *links) {
  if (children.begin == children.end)
    return;
  uint32_t shorter = linnet_ngram_link(m, context);
  struct ngram_range others = linnet_ngram_children(m, shorter);
  for (uint32_t node = children.begin; node < children.end; node++) {
    uint32_t word = linnet_ngram_last_word(m, node);
    others.begin = find_from(m, others, word);
    bool found = others.begin < others.end && linnet_ngram_last_word(m, others.begin) == word;
    struct ngram_place place = found ? (struct ngram_place){.context = shorter, .node = others.begin}
                                     : linnet_ngram_place(m, linnet_ngram_link(m, shorter), word);
    linnet_packed_set(links, m->links.width, node - m->linked, linnet_ngram_next(m, place, word));
  }
}

/* Links of contexts of three words and more, short ones first: those of longer ones are found through them. */
static void fill_links(const struct ngram_builder *b, const struct linnet_ngram *m, unsigned char *links) {
  for (unsigned k = 2; k + 1 < b->order; k++)
    for (size_t i = 0; i < b->levels[k - 1].count; i++)
      link_children(m, b->levels[k - 1].base + (uint32_t)i, children_of(&b->levels[k], i), links);
}

/* The weight with which the words that have no n-gram in a context share the rest of the probability, 0 if none has
 * one. Those of shorter contexts must be known. */
static float find_backoff(const struct linnet_ngram *m, uint32_t context) {
  const struct ngram_range children = linnet_ngram_children(m, context);
  const uint32_t shorter = linnet_ngram_link(m, context);
  double own = 1, lower = 1;
  for (uint32_t node = children.begin; node < children.end; node++) {
    const struct ngram_place place = linnet_ngram_place(m, shorter, linnet_ngram_last_word(m, node));
    own -= exp((double)linnet_ngram_probability(m, node));
    lower -= exp((double)place.backoffs + (double)linnet_ngram_probability(m, place.node));
  }
  return children.begin < children.end ? (float)log(fmax(own, 1e-9) / fmax(lower, 1e-9)) : 0;
}

/* Shorter contexts come first. Links do not depend on these weights, because a context without children has none. */
static void fill_backoffs(const struct linnet_ngram *m, float *backoffs) {
  for (uint32_t context = 1; context < m->inner; context++)
    if (backoffs[context] > -INFINITY)
      backoffs[context] = find_backoff(m, context);
}

static struct ngram_shape shape_of(const struct ngram_builder *b) {
  struct ngram_shape shape = {.order = b->order};
  for (unsigned k = 0; k < b->order; k++)
    shape.counts[k] = b->levels[k].count;
  for (size_t i = 0; i < b->names.count; i++)
    shape.text_bytes += strlen(linnet_names_text(&b->names, i)) + 1;
  return shape;
}

enum linnet_status linnet_ngram_builder_finish(struct ngram_builder *b, struct linnet_ngram **ngram) {
  struct ngram_shape shape = shape_of(b);
  void *bytes;
  uint32_t *names = linnet_alloc(b->context, b->names.count, sizeof *names);
  enum linnet_status status =
      names ? linnet_ngram_create(b->context, &shape, ngram, &bytes) : out_of_memory(b, b->names.count);
  if (status == LINNET_OK) {
    struct body body = open_body(&shape, bytes);
    fill_text(b, *ngram, &body, names);
    fill_tree(b, &body);
    fill_nodes(b, *ngram, &body);
    fill_filter(b, *ngram, body.filter);
    fill_links(b, *ngram, body.links);
    if (b->normalize)
      fill_backoffs(*ngram, body.backoffs);
    linnet_ngram_resolve(*ngram);
  }
  linnet_free(b->context, names);
  return status;
}

void linnet_ngram_builder_clear(struct ngram_builder *b) {
  for (unsigned k = 0; k < NGRAM_MAX_ORDER; k++) {
    linnet_free(b->context, b->levels[k].records);
    linnet_free(b->context, b->levels[k].first);
  }
  linnet_free(b->context, b->rank);
  linnet_names_clear(&b->names);
}
