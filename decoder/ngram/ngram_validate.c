/* Checks what queries rely on in a body from a file. A checksum finds accidents only: whoever makes a file can also
 * compute its checksum. */
#include <math.h>
#include <string.h>

#include "decoder/ngram/ngram_model.h"

typedef bool (*check_fn)(const struct linnet_ngram *m);

/* Strings follow one another, each ends in NUL, and they are sorted. */
static bool check_text(const struct linnet_ngram *m) {
  size_t count = m->shape.counts[0], bytes = m->shape.text_bytes;
  if (m->offsets[0] != 0 || m->offsets[count] != bytes)
    return false;
  for (size_t i = 0; i < count; i++)
    if (m->offsets[i + 1] <= m->offsets[i] || m->offsets[i + 1] > bytes || m->text[m->offsets[i + 1] - 1] != '\0' ||
        memchr(m->text + m->offsets[i], '\0', m->offsets[i + 1] - m->offsets[i] - 1))
      return false;
  for (size_t i = 1; i < count; i++)
    if (strcmp(m->text + m->offsets[i - 1], m->text + m->offsets[i]) >= 0)
      return false;
  return true;
}

/* Ranges of children follow one another, level by level. */
static bool check_ranges(const struct linnet_ngram *m) {
  for (unsigned level = 0; level < m->shape.order; level++)
    if (m->first[m->base[level]] != m->base[level + 1])
      return false;
  if (m->first[m->inner] != m->total)
    return false;
  for (uint32_t node = 0; node < m->inner; node++)
    if (m->first[node] > m->first[node + 1])
      return false;
  return true;
}

/* The words of children are valid and in increasing order; the empty context has all words. */
static bool check_words(const struct linnet_ngram *m) {
  for (uint32_t parent = 0; parent < m->inner; parent++)
    for (uint32_t node = m->first[parent]; node < m->first[parent + 1]; node++)
      if (m->words[node] >= m->shape.counts[0] || (node > m->first[parent] && m->words[node] <= m->words[node - 1]))
        return false;
  return true;
}

/* The filter lets all n-grams pass. */
static bool check_filter(const struct linnet_ngram *m) {
  for (uint32_t parent = 1; parent < m->inner; parent++)
    for (uint32_t node = m->first[parent]; node < m->first[parent + 1]; node++)
      if (!linnet_ngram_passes(m, parent, m->words[node]))
        return false;
  return true;
}

/* Links lead to shorter contexts, so that every walk ends; only inner nodes are contexts. */
static bool check_links(const struct linnet_ngram *m) {
  if (m->links[0] != 0)
    return false;
  for (unsigned level = 1; level <= m->shape.order; level++)
    for (uint32_t node = m->base[level]; node < m->base[level + 1]; node++)
      if (linnet_ngram_link(m, node) >= m->base[level] || (m->links[node] & NGRAM_MATTERS && node >= m->inner))
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
                {check_ranges, "the ranges of n-grams"},
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
