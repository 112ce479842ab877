/* The nodes of the word search: the prefix tree of the pronunciations, then the silences, then the phone loop of
 * unknown words, which has one node per symbol.
 *
 *   0      1 ... silences - 1       silences            loop
 *   root   nodes of the tree        one per silence     one per symbol, silences excepted
 *
 * The root, where a search begins, and the silences lie between words. A word starts at a child of the root or in the
 * loop. It ends at a node of the tree that has words, or in the loop.
 *
 * Searches share a tree. One that has words of its own has a branch beside it: their prefix tree, whose nodes and words
 * are numbered after those of the tree.
 *
 * Tokens: word n of the lexicon is token n + 1, then comes the unknown word, then the words of the branch. */
#ifndef LINNET_WORD_TREE_H
#define LINNET_WORD_TREE_H

#include <stdatomic.h>

#include <linnet/word_search.h>

#include "decoder/words/label_tree.h"

#define LINNET_WORD_ROOT 0u

struct linnet_word_node {
  uint32_t first_child, first_word; /* a range ends where that of the next node begins; words are tokens */
  uint32_t parent; /* the root, for nodes that a word or a silence starts with, and for the root itself */
  uint32_t symbol; /* 0 at the root */
  double look; /* the highest of exp(model_weight * lookahead) * pronunciation factor of the words below the node, above
                  0 */
};

struct linnet_word_tree {
  struct linnet_context *context;
  atomic_uint *references;        /* copies that share the arrays */
  struct linnet_word_node *nodes; /* (count + 1) */
  uint32_t *words; /* (num_words) tokens: those of the tree, then the unknown word for each node of the loop */
  double *factors; /* (num_words) factor of each word where it ends: the probability of its pronunciation to the power
                      of pronunciation_weight; NULL: all 1 */
  uint32_t num_words;
  uint32_t *starts;               /* (symbols, STARTS): nodes of this symbol that can follow a word; 0: none */
  uint32_t silences, loop, count; /* first silence, first node of the loop, number of nodes */
  uint32_t symbols;
  unsigned unknown;                      /* token */
  double arrive;                         /* exp(-unknown_penalty): factor of each symbol of an unknown word */
  double max_start;                      /* the highest `look` of a node in `starts`, here or in the branch */
  const struct linnet_word_tree *branch; /* of this search alone; NULL: none */
};

enum { LINNET_WORD_STARTS = 3 };

/* The settings are valid. A tree of zeros may be destroyed. */
enum linnet_status linnet_word_tree_create(struct linnet_word_tree *tree, struct linnet_context *context,
                                           const struct linnet_lexicon *lexicon, uint32_t symbols,
                                           const struct linnet_word_search_settings *settings);
void linnet_word_tree_destroy(struct linnet_word_tree *tree);

/* A copy that shares the arrays, from any thread; destroyed like the original, in any order. */
struct linnet_word_tree linnet_word_tree_share(const struct linnet_word_tree *tree, struct linnet_context *context);

/* A branch of the words of `lexicon`, which another lexicon, that of the tree, lacks. They count as the unknown word in
 * the language model. The settings are those of the tree. A branch is destroyed like a tree. */
enum linnet_status linnet_word_branch_create(struct linnet_word_tree *branch, struct linnet_context *context,
                                             const struct linnet_word_tree *tree, const struct linnet_lexicon *lexicon,
                                             const struct linnet_word_search_settings *settings);

/* Gives a copy of the tree another branch, which must outlive it; NULL: none. */
void linnet_word_tree_set_branch(struct linnet_word_tree *tree, const struct linnet_word_tree *branch);

/* With the branch. */
size_t linnet_word_tree_memory(const struct linnet_word_tree *tree);

/* A node, and after it (at [1] of the result) the next one, where its ranges end. */
static inline const struct linnet_word_node *linnet_word_node_at(const struct linnet_word_tree *tree, uint32_t node) {
  return node < tree->count ? &tree->nodes[node] : &tree->branch->nodes[node - tree->count];
}

/* The words from an index on, to the end of the range of its node. */
static inline const uint32_t *linnet_word_tokens_at(const struct linnet_word_tree *tree, uint32_t index) {
  return index < tree->num_words ? tree->words + index : tree->branch->words + (index - tree->num_words);
}

static inline bool linnet_word_is_loop(const struct linnet_word_tree *tree, uint32_t node) {
  return node >= tree->loop && node < tree->count;
}

static inline bool linnet_word_is_silence(const struct linnet_word_tree *tree, uint32_t node) {
  return node >= tree->silences && node < tree->loop;
}

/* True for a node between words: a new word or a silence can start after it. */
static inline bool linnet_word_is_between(const struct linnet_word_tree *tree, uint32_t node) {
  return node == LINNET_WORD_ROOT || linnet_word_is_silence(tree, node);
}

/* Whether a pronunciation of a word passes through a node of the tree of pronunciations that the word is in, or ends
 * there. */
bool linnet_word_tree_leads(const struct linnet_word_tree *tree, const struct linnet_lexicon *lexicon, uint32_t node,
                            size_t word);

/* The factor of a word, by its index. */
static inline double linnet_pronunciation_factor(const struct linnet_word_tree *tree, uint32_t index) {
  if (index < tree->num_words)
    return tree->factors ? tree->factors[index] : 1.0;
  return tree->branch->factors ? tree->branch->factors[index - tree->num_words] : 1.0;
}

/* Finds a token among `count` that end at a node, which are sorted, from index `first` on: *index is its index. */
static inline bool linnet_word_find_end(const struct linnet_word_tree *tree, uint32_t first, uint32_t count,
                                        uint32_t token, uint32_t *index) {
  const uint32_t *tokens = linnet_word_tokens_at(tree, first), end = count;
  uint32_t at = 0;
  while (count > 0) {
    const uint32_t half = count / 2, right = tokens[at + half] < token;
    at += right ? half + 1 : 0;
    count = right ? count - half - 1 : half;
  }
  *index = first + at;
  return at < end && tokens[at] == token;
}

/* The tokens that end at a node, sorted. */
static inline const uint32_t *linnet_word_ends(const struct linnet_word_tree *tree, uint32_t node, size_t *count) {
  const struct linnet_word_node *n = linnet_word_node_at(tree, node);
  *count = n[1].first_word - n->first_word;
  return *count > 0 ? linnet_word_tokens_at(tree, n->first_word) : NULL;
}

#endif
