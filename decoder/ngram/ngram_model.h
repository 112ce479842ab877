/* The n-gram model in memory and in its binary file: a trie of contexts with links for back-off.
 *
 * Nodes are n-grams, numbered level by level: 0 is the empty one, 1 + w is the word w, then all bigrams, and so on,
 * each level sorted by (parent, word), so that the children of a node are one range and the ranges follow one another.
 * A child is its parent with one more word at the end. Nodes below the last level are `inner`: they can be contexts.
 *
 *   base[0] = 0   base[1] = 1         base[2]                     base[order]   base[order + 1] = total
 *   | empty       | words (counts[0]) | bigrams (counts[1]) | ... | last level  |
 *   |<------------------------ inner nodes ---------------------->|
 *
 * A context matters if it has children or a back-off weight other than 0. The link of a node is the longest proper
 * suffix of its words that is a node and matters (0 if there is none). Bit 31 of the link says that the node itself
 * matters. A query follows links and adds back-off weights until a node has the word as a child. Contexts that do not
 * matter have no children and add nothing, so skipping them changes no sum. */
#ifndef LINNET_NGRAM_MODEL_H
#define LINNET_NGRAM_MODEL_H

#include <linnet/ngram.h>

#include "base/base.h"

enum { NGRAM_MAX_ORDER = LINNET_NGRAM_MAX_ORDER, NGRAM_CODES = 256, NGRAM_BLOCK_NODES = 8 };

#define NGRAM_MATTERS 0x80000000u

/* Values: (2 order, 256) floats, those of the probabilities of orders 1 ... order, then those of the back-off weights
 * of orders 0 ... order - 1; only if quantized. First, (inner + 1): the first child of a node. Backoffs (inner) and
 * probabilities (total): floats, or codes of a byte. Words, links (total). The filter, of blocks of 64 bits, one for
 * every NGRAM_BLOCK_NODES nodes. Offsets (counts[0] + 1) of the words' strings in text, which end in NUL, sorted by
 * bytes. */
enum ngram_section {
  NGRAM_VALUES,
  NGRAM_FIRST,
  NGRAM_BACKOFFS,
  NGRAM_WORDS,
  NGRAM_PROBABILITIES,
  NGRAM_LINKS,
  NGRAM_FILTER,
  NGRAM_OFFSETS,
  NGRAM_TEXT,
  NGRAM_SECTIONS
};

/* The numbers that determine the sizes of all sections. */
struct ngram_shape {
  unsigned order;
  bool quantized;
  uint64_t counts[NGRAM_MAX_ORDER]; /* of n-grams by order; 0 beyond `order` */
  uint64_t text_bytes;
};

/* Offsets of the sections in the body, multiples of 64 bytes. */
struct ngram_layout {
  size_t start[NGRAM_SECTIONS], bytes[NGRAM_SECTIONS];
  size_t total; /* bytes of the body */
};

/* In 32 bits: a word that the model does not have. */
#define LINNET_NGRAM_NO_WORD ((uint32_t)-1)

struct linnet_ngram {
  struct linnet_context *context;
  struct ngram_shape shape;
  uint32_t base[NGRAM_MAX_ORDER + 2];
  uint32_t inner, total;        /* nodes */
  uint32_t start, end, unknown; /* words <s>, </s>, <unk>, or LINNET_NGRAM_NO_WORD */
  uint32_t begin;               /* state after <s> */

  const float *values;
  const uint32_t *first;
  const void *backoffs, *probabilities;
  const uint32_t *words, *links, *offsets;
  const uint64_t *filter;
  uint32_t blocks; /* of it */
  const char *text;

  void *block;   /* body in memory of the context, or NULL */
  void *mapping; /* a whole file, mapped, or NULL */
  size_t mapping_bytes;
};

/* False if the shape is out of range: order, an order without words, more than 2^31 - 2 nodes, 4 GiB of text. */
bool linnet_ngram_layout(const struct ngram_shape *shape, struct ngram_layout *layout);

/* Creates a model of a shape that owns a body of zeros; returns the body, too. */
enum linnet_status linnet_ngram_create(struct linnet_context *context, const struct ngram_shape *shape,
                                       struct linnet_ngram **ngram, void **body);

/* Sets the pointers of the model to a body of its shape. */
void linnet_ngram_attach(struct linnet_ngram *ngram, const void *body);

/* Finds the special words and the beginning; the body is complete. */
void linnet_ngram_resolve(struct linnet_ngram *ngram);

/* The checksum of the binary form. */
uint64_t linnet_ngram_checksum(const void *data, size_t bytes);

/* Checks everything that queries rely on, for a body that is not trusted. */
enum linnet_status linnet_ngram_validate(const struct linnet_ngram *ngram, const char *name);

/* --- reading nodes ---------------------------------------------------------------------------------------------- */

/* The order of a node, 0 for the empty one. */
static inline unsigned linnet_ngram_level(const struct linnet_ngram *m, uint32_t node) {
  unsigned level = 0;
  while (level < m->shape.order && node >= m->base[level + 1])
    level++;
  return level;
}

static inline float linnet_ngram_probability(const struct linnet_ngram *m, uint32_t node) {
  if (!m->shape.quantized)
    return ((const float *)m->probabilities)[node];
  unsigned level = linnet_ngram_level(m, node);
  return m->values[(level - 1) * NGRAM_CODES + ((const uint8_t *)m->probabilities)[node]];
}

static inline float linnet_ngram_backoff(const struct linnet_ngram *m, uint32_t node) {
  if (!m->shape.quantized)
    return ((const float *)m->backoffs)[node];
  unsigned level = linnet_ngram_level(m, node);
  return m->values[(m->shape.order + level) * NGRAM_CODES + ((const uint8_t *)m->backoffs)[node]];
}

/* Two bits in a block of the filter stand for an n-gram of two words or more, given by its context and its last word
 * (Bloom 1970, in blocks: Putze, Sanders and Singler 2007). If one of them is not set, there is no such n-gram. So most
 * look-ups of missing n-grams end after this one read, without a search among the context's children. */
struct ngram_bits {
  uint32_t block;
  uint64_t bits;
};

static inline struct ngram_bits linnet_ngram_bits(uint32_t blocks, uint32_t node, uint32_t word) {
  uint64_t hash = (node * UINT64_C(0x9E3779B97F4A7C15) + word) * UINT64_C(0xD6E8FEB86659FD93);
  return (struct ngram_bits){.block = (uint32_t)((hash >> 32) * blocks >> 32),
                             .bits = UINT64_C(1) << (hash >> 20 & 63) | UINT64_C(1) << (hash >> 26 & 63)};
}

static inline bool linnet_ngram_passes(const struct linnet_ngram *m, uint32_t node, uint32_t word) {
  struct ngram_bits b = linnet_ngram_bits(m->blocks, node, word);
  return (m->filter[b.block] & b.bits) == b.bits;
}

/* The child of an inner node by its word, 0 if there is none. */
static inline uint32_t linnet_ngram_child(const struct linnet_ngram *m, uint32_t node, uint32_t word) {
  if (!linnet_ngram_passes(m, node, word))
    return 0;
  uint32_t at = m->first[node], count = m->first[node + 1] - at;
  while (count > 1) { /* if the word is a child, it is in [at, at + count) */
    uint32_t half = count / 2;
    at = m->words[at + half] <= word ? at + half : at;
    count -= half;
  }
  return count == 1 && m->words[at] == word ? at : 0;
}

/* The state after reaching a node: the node itself if it matters, else its link. */
static inline uint32_t linnet_ngram_next(const struct linnet_ngram *m, uint32_t node) {
  uint32_t link = m->links[node];
  return link & NGRAM_MATTERS ? node : link;
}

static inline uint32_t linnet_ngram_link(const struct linnet_ngram *m, uint32_t node) {
  return m->links[node] & ~NGRAM_MATTERS;
}

/* The index of a word, or LINNET_NGRAM_NO_WORD. */
static inline uint32_t linnet_ngram_index(const struct linnet_ngram *m, const char *word) {
  size_t index = linnet_ngram_find(m, word);
  return index == LINNET_NOT_FOUND ? LINNET_NGRAM_NO_WORD : (uint32_t)index;
}

/* --- ARPA files (ngram_arpa_read.c) ------------------------------------------------------------------------------- */

/* Reading of ARPA files; see linnet_ngram_load. */

enum linnet_status linnet_ngram_read_arpa(struct linnet_context *context, const char *path,
                                          struct linnet_ngram **ngram);
enum linnet_status linnet_ngram_read_arpa_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                 const char *name, struct linnet_ngram **ngram);

/* --- histories (ngram_prune.c) ------------------------------------------------------------------------------------ */

/* How probable the histories of a model are: what entropy pruning weights a context with. */

/* Sets histories (inner) from the text that the model was estimated from: the part of its tokens where a context ends.
 * text (count) holds words of the model, <s> ... </s> <s> ... </s>. */
void linnet_ngram_count_histories(const struct linnet_ngram *ngram, const uint32_t *text, size_t count,
                                  double *histories);

/* The same from the model itself, as SRILM does it: the product of the probabilities of the words, where <s> counts as
 * </s>. Kneser-Ney probabilities of single words say how many different words come before them, not how frequent they
 * are, so for such models a text is better (Chelba et al. 2010, "Study on interaction between entropy pruning and
 * Kneser-Ney smoothing"). */
void linnet_ngram_predict_histories(const struct linnet_ngram *ngram, double *histories);

/* histories (inner) holds the probability of each context. The model is not quantized. */
enum linnet_status linnet_ngram_prune_histories(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                const double *histories, double threshold,
                                                struct linnet_ngram **pruned);

#endif
