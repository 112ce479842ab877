/* The n-gram model in memory and in its binary file: a trie of contexts in few bits.
 *
 * Nodes are n-grams, numbered level by level: 0 is the empty one, 1 + w is the word w, then all bigrams, and so on,
 * each level sorted by (parent, word), so that the children of a node are one range and the ranges follow one another.
 * A child is its parent with one more word at the end. Nodes below the last level are `inner`: they can be contexts.
 *
 *   base[0] = 0   base[1] = 1         base[2]                     base[order]   base[order + 1] = total
 *   | empty       | words (counts[0]) | bigrams (counts[1]) | ... | last level  |
 *   |<------------------------ inner nodes ---------------------->|
 *
 * The tree is written as one bit for each child and one for each inner node: node by node, a 1 for each of its
 * children, then a 0 (Jacobson 1989, "Space-efficient static trees and graphs"). So the children of node n begin after
 * the zero of node n - 1, and the number of ones before them is the number of nodes before them, without the empty one.
 *
 * A context matters if it has children or a back-off weight other than 0. The link of a context is the longest proper
 * suffix of its words that is a node and matters (0 if there is none). A query follows links and adds back-off weights
 * until a node has the word as a child. Contexts that do not matter have no children and add nothing, so skipping them
 * changes no sum. The link of a bigram is its last word; only links of contexts of three words and more are stored. */
#ifndef LINNET_NGRAM_MODEL_H
#define LINNET_NGRAM_MODEL_H

#include <linnet/ngram.h>

#include "base/base.h"
#include "decoder/ngram/packed.h"

enum { NGRAM_MAX_ORDER = LINNET_NGRAM_MAX_ORDER, NGRAM_CODES = 256, NGRAM_BLOCK_NODES = 8, NGRAM_MARK_NODES = 16 };

/* Values: (2 order, 256) floats, those of the probabilities of orders 1 ... order, then those of the back-off weights
 * of orders 0 ... order - 1; only if quantized. Tree: (inner + total - 1) bits in words of 64, the lowest bit first.
 * Marks: the positions of the zeros of nodes 0, NGRAM_MARK_NODES, 2 NGRAM_MARK_NODES ... in it. Backoffs (inner) and
 * probabilities (total): floats, or codes of a byte. Packed (packed.h): the last words of the nodes of two words and
 * more; the links of contexts of three words and more; the offsets (counts[0] + 1) of the words' strings in text, which
 * end in NUL, sorted by bytes. The filter, of blocks of 64 bits, one for every NGRAM_BLOCK_NODES nodes. */
enum ngram_section {
  NGRAM_VALUES,
  NGRAM_TREE,
  NGRAM_MARKS,
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
  uint32_t linked;              /* the first context whose link is stored; `inner` if there is none */
  uint32_t start, end, unknown; /* words <s>, </s>, <unk>, or LINNET_NGRAM_NO_WORD */
  uint32_t begin;               /* state after <s> */

  const float *values;
  const uint64_t *tree;
  const uint32_t *marks;
  const void *backoffs, *probabilities;
  struct packed words, links, offsets;
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

/* The last word of a node other than the empty one. */
static inline uint32_t linnet_ngram_last_word(const struct linnet_ngram *m, uint32_t node) {
  return node < m->base[2] ? node - 1 : linnet_packed_get(&m->words, node - m->base[2]);
}

/* The position of the zero of an inner node in the tree. */
static inline uint32_t linnet_ngram_zero(const struct linnet_ngram *m, uint32_t node) {
  uint32_t position = m->marks[node / NGRAM_MARK_NODES], rest = node % NGRAM_MARK_NODES, word = position / 64;
  uint64_t zeros = ~m->tree[word] & ~UINT64_C(0) << position % 64;
  for (;; zeros = ~m->tree[++word]) {
    for (; zeros != 0 && rest > 0; rest--)
      zeros &= zeros - 1;
    if (zeros != 0)
      return word * 64 + (uint32_t)__builtin_ctzll(zeros);
  }
}

/* Nodes from `begin` to before `end`. */
struct ngram_range {
  uint32_t begin, end;
};

static inline struct ngram_range linnet_ngram_children(const struct linnet_ngram *m, uint32_t node) {
  uint32_t position = node == 0 ? 0 : linnet_ngram_zero(m, node - 1) + 1, word = position / 64;
  uint64_t zeros = ~m->tree[word] & ~UINT64_C(0) << position % 64;
  while (zeros == 0)
    zeros = ~m->tree[++word];
  uint32_t zero = word * 64 + (uint32_t)__builtin_ctzll(zeros);
  return (struct ngram_range){.begin = 1 + position - node, .end = 1 + zero - node};
}

/* The child of an inner node by its word, 0 if there is none. */
static inline uint32_t linnet_ngram_child(const struct linnet_ngram *m, uint32_t node, uint32_t word) {
  if (node == 0)
    return 1 + word;
  if (!linnet_ngram_passes(m, node, word))
    return 0;
  struct ngram_range children = linnet_ngram_children(m, node);
  uint32_t at = children.begin - m->base[2], count = children.end - children.begin;
  while (count > 1) { /* if the word is a child, it is in [at, at + count) of `words` */
    uint32_t half = count / 2;
    at = linnet_packed_get(&m->words, at + half) <= word ? at + half : at;
    count -= half;
  }
  return count == 1 && linnet_packed_get(&m->words, at) == word ? at + m->base[2] : 0;
}

static inline bool linnet_ngram_matters(const struct linnet_ngram *m, uint32_t node) {
  if (node >= m->inner)
    return false;
  if (linnet_ngram_backoff(m, node) != 0)
    return true;
  struct ngram_range children = linnet_ngram_children(m, node);
  return children.begin < children.end;
}

/* The link of an inner node. */
static inline uint32_t linnet_ngram_link(const struct linnet_ngram *m, uint32_t node) {
  if (node >= m->linked)
    return linnet_packed_get(&m->links, node - m->linked);
  if (node < m->base[2])
    return 0;
  uint32_t last = 1 + linnet_ngram_last_word(m, node);
  return linnet_ngram_matters(m, last) ? last : 0;
}

/* A word in a context. */
struct ngram_place {
  uint32_t context; /* the longest suffix of a context that has the word as a child */
  uint32_t node;    /* this child */
  float backoffs;   /* the sum of back-off weights on the way to that suffix */
};

static inline struct ngram_place linnet_ngram_place(const struct linnet_ngram *m, uint32_t context, uint32_t word) {
  struct ngram_place place = {.context = context};
  while ((place.node = linnet_ngram_child(m, place.context, word)) == 0) {
    place.backoffs += linnet_ngram_backoff(m, place.context);
    place.context = linnet_ngram_link(m, place.context);
  }
  return place;
}

/* The state after a place, whose node has this last word: the longest suffix of the node that matters. */
static inline uint32_t linnet_ngram_next(const struct linnet_ngram *m, struct ngram_place place, uint32_t word) {
  if (place.node >= m->inner) { /* of the highest order, so no context; its suffixes may be */
    if (place.context == 0)
      return 0;
    place = linnet_ngram_place(m, linnet_ngram_link(m, place.context), word);
  }
  return linnet_ngram_matters(m, place.node) ? place.node : linnet_ngram_link(m, place.node);
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
