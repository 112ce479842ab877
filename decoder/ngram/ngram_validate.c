/* Checks what queries rely on in a body from a file. A checksum finds accidents only: whoever makes a file can also
 * compute its checksum. */
#include <math.h>
#include <string.h>

#include "decoder/ngram/ngram_model.h"

typedef bool (*check_fn)(const struct linnet_ngram *m);

/* Strings follow one another, each ends in NUL, and they are sorted. */
static bool check_text(const struct linnet_ngram *m) {
  size_t count = m->shape.counts[0], bytes = m->shape.text_bytes, begin = linnet_packed_get(&m->offsets, 0), end;
  if (begin != 0 || linnet_packed_get(&m->offsets, count) != bytes)
    return false;
  for (size_t i = 0; i < count; i++, begin = end) {
    end = linnet_packed_get(&m->offsets, i + 1);
    if (end <= begin || end > bytes || m->text[end - 1] != '\0' || memchr(m->text + begin, '\0', end - begin - 1))
      return false;
  }
  for (size_t i = 1; i < count; i++)
    if (strcmp(linnet_ngram_word(m, i - 1), linnet_ngram_word(m, i)) >= 0)
      return false;
  return true;
}

/* The children of a level are the next level, and marks are positions of zeros. */
static bool check_tree(const struct linnet_ngram *m) {
  uint32_t position = 0, child = 1;
  for (unsigned level = 0; level < m->shape.order; level++) {
    if (child != m->base[level + 1])
      return false;
    for (uint32_t node = m->base[level]; node < m->base[level + 1]; node++, position++) {
      for (; m->tree[position / 64] >> position % 64 & 1; position++)
        if (++child > m->total)
          return false;
      if (node % NGRAM_MARK_NODES == 0 && m->marks[node / NGRAM_MARK_NODES] != position)
        return false;
    }
  }
  return child == m->total;
}

typedef bool (*check_child_fn)(const struct linnet_ngram *m, uint32_t parent, uint32_t node, bool is_first);

/* The tree has been checked. One walk finds all children sooner than a look-up for each parent. */
static bool check_children(const struct linnet_ngram *m, check_child_fn good) {
  uint32_t position = m->base[2], node = m->base[2]; /* after the zero of the empty n-gram */
  for (uint32_t parent = 1; parent < m->inner; parent++, position++)
    for (uint32_t first = node; m->tree[position / 64] >> position % 64 & 1; position++, node++)
      if (!good(m, parent, node, node == first))
        return false;
  return true;
}

static bool has_word(const struct linnet_ngram *m, uint32_t parent, uint32_t node, bool is_first) {
  (void)parent;
  uint32_t word = linnet_ngram_last_word(m, node);
  return word < m->shape.counts[0] && (is_first || word > linnet_ngram_last_word(m, node - 1));
}

/* The words of children are valid and in increasing order. */
static bool check_words(const struct linnet_ngram *m) {
  return check_children(m, has_word);
}

static bool passes(const struct linnet_ngram *m, uint32_t parent, uint32_t node, bool is_first) {
  (void)is_first;
  return linnet_ngram_passes(m, parent, linnet_ngram_last_word(m, node));
}

/* The filter lets all n-grams pass. */
static bool check_filter(const struct linnet_ngram *m) {
  return check_children(m, passes);
}

/* Links lead to shorter contexts, so that every walk ends. */
static bool check_links(const struct linnet_ngram *m) {
  for (unsigned level = 3; level < m->shape.order; level++)
    for (uint32_t node = m->base[level]; node < m->base[level + 1]; node++)
      if (linnet_ngram_link(m, node) >= m->base[level])
        return false;
  return true;
}

/* False for NaN, too. */
static bool check_values(const struct linnet_ngram *m) {
  for (uint32_t node = 1; node < m->total; node++)
    if (!(linnet_ngram_probability(m, node) <= 0))
      return false;
  for (uint32_t node = 1; node < m->inner; node++)
    if (!(linnet_ngram_backoff(m, node) < INFINITY))
      return false;
  return true;
}

enum linnet_status linnet_ngram_validate(const struct linnet_ngram *m, const char *name) {
  static const struct {
    check_fn good;
    const char *what;
  } checks[] = {{check_text, "the words"},
                {check_tree, "the ranges of n-grams"},
                {check_words, "the order of n-grams"},
                {check_filter, "the bits of the filter"},
                {check_links, "the links of n-grams"},
                {check_values, "the probabilities"}};
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    if (!checks[i].good(m))
      return linnet_fail(m->context, LINNET_ERROR_FORMAT,
                         "%s: %s are not those of a language model; convert it again from ARPA", name, checks[i].what);
  return LINNET_OK;
}
