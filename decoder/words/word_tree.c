/* Builds the nodes that a word search walks: the tree of a lexicon, silences, and the loop of unknown words. */
#include "decoder/words/word_tree.h"

#include <math.h>
#include <string.h>

/* Minimum of a lookahead, as a logarithm. The other factors need the rest of the range of a double. */
static const double min_look = -300;

/* Minimum of the factor of a pronunciation, as a logarithm. */
static const double min_log_factor = -100;

/* Value in `silence` of a symbol that is a silence. */
enum { IS_SILENCE = 1 };

struct builder {
  struct linnet_word_tree *tree;
  const struct linnet_lexicon *lexicon;
  const struct linnet_word_search_settings *settings;
  struct linnet_label_sequence *sequences;
  size_t count, capacity;
  unsigned char *silence;          /* (symbols) */
  struct linnet_label_tree labels; /* of pronunciations; its values are tokens */
};

static enum linnet_status out_of_memory(const struct builder *b) {
  return linnet_fail(b->tree->context, LINNET_ERROR_MEMORY, "out of memory for the prefix tree of %zu words",
                     linnet_lexicon_num_words(b->lexicon));
}

/* --- pronunciations ----------------------------------------------------------------------------------------------- */

static enum linnet_status add_pronunciation(struct builder *b, size_t word, size_t variant) {
  size_t count;
  const int *labels = linnet_lexicon_pronunciation(b->lexicon, word, variant, &count);
  for (size_t i = 0; i < count; i++)
    if (labels[i] < 1 || (uint32_t)labels[i] >= b->tree->symbols)
      return linnet_fail(
          b->tree->context, LINNET_ERROR_ARGUMENT,
          "the word '%.100s' of the lexicon has phone %d, but there are %u symbols: load the lexicon with the symbols "
          "of the posteriors",
          linnet_lexicon_word(b->lexicon, word), labels[i], (unsigned)b->tree->symbols);
  struct linnet_label_sequence *grown =
      linnet_grow(b->tree->context, b->sequences, &b->capacity, b->count + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(b);
  b->sequences = grown;
  b->sequences[b->count++] = (struct linnet_label_sequence){labels, count, (uint32_t)word + 1};
  return LINNET_OK;
}

static bool is_impossible(const struct builder *b, uint32_t token) {
  return b->settings->lookahead && !(b->settings->lookahead[token] > -INFINITY);
}

static enum linnet_status add_pronunciations(struct builder *b) {
  for (size_t word = 0; word < linnet_lexicon_num_words(b->lexicon); word++)
    for (size_t v = 0; v < linnet_lexicon_num_variants(b->lexicon, word) && !is_impossible(b, (uint32_t)word + 1); v++)
      LINNET_TRY(add_pronunciation(b, word, v));
  return LINNET_OK;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static void count_nodes(struct builder *b) {
  struct linnet_word_tree *tree = b->tree;
  uint32_t silences = 0;
  for (uint32_t symbol = 1; symbol < tree->symbols; symbol++)
    silences += b->silence[symbol] == IS_SILENCE;
  bool unknown = b->settings->unknown_penalty < INFINITY && !is_impossible(b, tree->unknown);
  tree->silences = b->labels.count;
  tree->loop = tree->silences + silences;
  tree->count = tree->loop + (unknown ? tree->symbols - 1 - silences : 0);
}

/* Silences and the loop have no children. */
static void add_between(struct builder *b) {
  struct linnet_word_tree *tree = b->tree;
  uint32_t silence = tree->silences, loop = tree->loop, words = b->labels.value_count;
  for (uint32_t symbol = 1; symbol < tree->symbols; symbol++) {
    bool is_silence = b->silence[symbol] == IS_SILENCE;
    if (!is_silence && loop == tree->count)
      continue;
    uint32_t node = is_silence ? silence++ : loop++;
    tree->nodes[node] = (struct linnet_word_node){.first_child = tree->silences, .symbol = symbol};
    tree->starts[symbol * LINNET_WORD_STARTS + (is_silence ? 1 : 2)] = node;
  }
  for (uint32_t node = tree->silences; node <= tree->count; node++)
    tree->nodes[node].first_word = words + (node > tree->loop ? node - tree->loop : 0);
  for (uint32_t i = 0; i < tree->count - tree->loop; i++)
    tree->words[words + i] = tree->unknown;
  tree->nodes[tree->count].first_child = tree->silences;
}

static void copy_labels(struct builder *b) {
  struct linnet_word_tree *tree = b->tree;
  const struct linnet_label_tree *labels = &b->labels;
  for (uint32_t node = 0; node < labels->count; node++) {
    const struct linnet_label_node *n = &labels->nodes[node];
    tree->nodes[node] = (struct linnet_word_node){n->first_child, n->first_value, n->parent, (uint32_t)n->label, 1};
    if (node > 0 && n->parent == LINNET_WORD_ROOT)
      tree->starts[(uint32_t)n->label * LINNET_WORD_STARTS] = node;
  }
  if (labels->value_count > 0)
    memcpy(tree->words, labels->values, labels->value_count * sizeof *tree->words);
}

/* The index in tree->words of a pronunciation's word. */
static uint32_t find_end(const struct builder *b, const struct linnet_label_sequence *sequence) {
  uint32_t node = LINNET_WORD_ROOT;
  for (size_t i = 0; i < sequence->count; i++)
    node = linnet_label_tree_child(&b->labels, node, sequence->labels[i]);
  const struct linnet_word_node *n = &b->tree->nodes[node];
  uint32_t at;
  linnet_word_find_end(b->tree, n->first_word, n[1].first_word - n->first_word, sequence->value, &at);
  return at;
}

/* Sets the factors if the lexicon has probabilities. */
static enum linnet_status set_factors(struct builder *b) {
  struct linnet_word_tree *tree = b->tree;
  const double weight = (double)b->settings->pronunciation_weight;
  if (!linnet_lexicon_has_probabilities(b->lexicon) || weight == 0)
    return LINNET_OK;
  tree->factors = linnet_alloc(tree->context, tree->num_words, sizeof *tree->factors);
  if (!tree->factors)
    return out_of_memory(b);
  for (uint32_t i = 0; i < tree->num_words; i++)
    tree->factors[i] = 1;
  for (size_t i = 0; i < b->count; i++) {
    const struct linnet_label_sequence *sequence = &b->sequences[i];
    size_t word = sequence->value - 1, variant = 0, count;
    while (linnet_lexicon_pronunciation(b->lexicon, word, variant, &count) != sequence->labels)
      variant++;
    double log_factor = weight * log((double)linnet_lexicon_probability(b->lexicon, word, variant));
    tree->factors[find_end(b, sequence)] = exp(fmax(log_factor, min_log_factor));
  }
  return LINNET_OK;
}

/* --- lookahead ---------------------------------------------------------------------------------------------------- */

static double look_of_words(const struct builder *b, uint32_t node) {
  size_t count;
  const uint32_t *tokens = linnet_word_ends(b->tree, node, &count);
  const size_t first = b->tree->nodes[node].first_word;
  double best = 0;
  for (size_t i = 0; i < count; i++) {
    double look = b->settings->lookahead ? (double)b->settings->lookahead[tokens[i]] : 0.0;
    look = look < 0 ? look * (double)b->settings->model_weight : 0.0;
    if (tokens[i] == b->tree->unknown)
      look = fmin(look + (double)b->settings->unknown_bonus, 0);
    best = fmax(best, exp(fmax(look, min_look)) * linnet_pronunciation_factor(b->tree, first + i));
  }
  return best;
}

/* Smears the lookaheads of words towards the root. Parents have lower numbers than children. */
static void spread_look(const struct builder *b) {
  struct linnet_word_tree *tree = b->tree;
  for (uint32_t node = 0; node < tree->count; node++)
    tree->nodes[node].look = look_of_words(b, node);
  struct linnet_word_node *root = &tree->nodes[LINNET_WORD_ROOT];
  for (uint32_t node = tree->silences; node-- > 1;) {
    double *parent = &tree->nodes[tree->nodes[node].parent].look;
    *parent = fmax(*parent, tree->nodes[node].look);
  }
  for (uint32_t node = tree->loop; node < tree->count; node++)
    root->look = fmax(root->look, tree->nodes[node].look);
  tree->max_start = root->look = root->look > 0 ? root->look : 1;
  for (uint32_t node = tree->silences; node < tree->loop; node++)
    tree->nodes[node].look = root->look;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static enum linnet_status allocate(struct builder *b) {
  struct linnet_word_tree *tree = b->tree;
  tree->num_words = b->labels.value_count + tree->count - tree->loop;
  tree->nodes = linnet_alloc(tree->context, (size_t)tree->count + 1, sizeof *tree->nodes);
  tree->words = linnet_alloc(tree->context, tree->num_words, sizeof *tree->words);
  tree->starts = linnet_calloc(tree->context, tree->symbols, LINNET_WORD_STARTS * sizeof *tree->starts);
  return tree->nodes && tree->words && tree->starts ? LINNET_OK : out_of_memory(b);
}

static enum linnet_status build(struct builder *b) {
  b->tree->references = linnet_alloc(b->tree->context, 1, sizeof *b->tree->references);
  if (!b->tree->references)
    return out_of_memory(b);
  atomic_init(b->tree->references, 1);
  b->silence = linnet_calloc(b->tree->context, b->tree->symbols, 1);
  if (!b->silence)
    return out_of_memory(b);
  for (size_t i = 0; i < b->settings->num_silences; i++)
    b->silence[b->settings->silences[i]] = IS_SILENCE;
  LINNET_TRY(add_pronunciations(b));
  LINNET_TRY(linnet_label_tree_create(&b->labels, b->tree->context, b->sequences, b->count));
  count_nodes(b);
  LINNET_TRY(allocate(b));
  copy_labels(b);
  add_between(b);
  LINNET_TRY(set_factors(b));
  spread_look(b);
  return LINNET_OK;
}

enum linnet_status linnet_word_tree_create(struct linnet_word_tree *tree, struct linnet_context *context,
                                           const struct linnet_lexicon *lexicon, uint32_t symbols,
                                           const struct linnet_word_search_settings *settings) {
  *tree = (struct linnet_word_tree){.context = context,
                                    .symbols = symbols,
                                    .unknown = (unsigned)linnet_lexicon_num_words(lexicon) + 1,
                                    .arrive = exp(-(double)settings->unknown_penalty)};
  struct builder b = {.tree = tree, .lexicon = lexicon, .settings = settings};
  enum linnet_status status = build(&b);
  linnet_label_tree_destroy(&b.labels);
  linnet_free(context, b.sequences);
  linnet_free(context, b.silence);
  return status;
}

void linnet_word_tree_destroy(struct linnet_word_tree *tree) {
  if (!tree->context || (tree->references && atomic_fetch_sub(tree->references, 1) > 1))
    return;
  linnet_free(tree->context, tree->references);
  linnet_free(tree->context, tree->nodes);
  linnet_free(tree->context, tree->words);
  linnet_free(tree->context, tree->factors);
  linnet_free(tree->context, tree->starts);
}

struct linnet_word_tree linnet_word_tree_share(const struct linnet_word_tree *tree, struct linnet_context *context) {
  struct linnet_word_tree copy = *tree;
  copy.context = context;
  linnet_word_tree_set_branch(&copy, NULL);
  atomic_fetch_add(tree->references, 1);
  return copy;
}

/* --- branches ----------------------------------------------------------------------------------------------------- */

/* Numbers the nodes, words and tokens of a tree after those of the other. Words begin at children of the root of both.
 */
static void renumber(struct linnet_word_tree *branch, const struct linnet_word_tree *tree) {
  for (uint32_t node = 0; node <= branch->count; node++) {
    struct linnet_word_node *n = &branch->nodes[node];
    n->first_child += tree->count;
    n->first_word += tree->num_words;
    n->parent += n->parent == LINNET_WORD_ROOT ? 0 : tree->count;
  }
  for (uint32_t i = 0; i < branch->num_words; i++)
    branch->words[i] += tree->unknown;
  for (uint32_t symbol = 0; symbol < branch->symbols; symbol++) {
    uint32_t *start = &branch->starts[symbol * LINNET_WORD_STARTS];
    *start += *start == 0 ? 0 : tree->count;
  }
}

/* The child by a symbol, the root if there is none. */
static uint32_t find_child(const struct linnet_word_tree *tree, uint32_t node, uint32_t symbol) {
  uint32_t child = tree->nodes[node].first_child;
  const uint32_t end = tree->nodes[node + 1].first_child;
  while (child < end && tree->nodes[child].symbol != symbol)
    child++;
  return child < end ? child : LINNET_WORD_ROOT;
}

/* A node of a branch that is not renumbered yet gets at least the lookahead of the node with the same phones in the
 * tree, as if it were that node. Otherwise a rare word would leave the beam before its phones tell it from others.
 * `same` (nodes) gets these nodes; the root stands for none. */
static void raise_look(struct linnet_word_tree *branch, const struct linnet_word_tree *tree, uint32_t *same) {
  for (uint32_t node = 1; node < branch->count; node++) {
    struct linnet_word_node *n = &branch->nodes[node];
    const bool known = n->parent == LINNET_WORD_ROOT || same[n->parent] != LINNET_WORD_ROOT;
    same[node] = known ? find_child(tree, same[n->parent], n->symbol) : LINNET_WORD_ROOT;
    if (same[node] != LINNET_WORD_ROOT)
      n->look = fmax(n->look, tree->nodes[same[node]].look);
    if (n->parent == LINNET_WORD_ROOT)
      branch->max_start = fmax(branch->max_start, n->look);
  }
}

static enum linnet_status join_branch(struct linnet_word_tree *branch, const struct linnet_word_tree *tree) {
  uint32_t *same = linnet_calloc(branch->context, branch->count, sizeof *same);
  if (!same)
    return linnet_fail(branch->context, LINNET_ERROR_MEMORY, "out of memory for %u nodes", (unsigned)branch->count);
  raise_look(branch, tree, same);
  linnet_free(branch->context, same);
  renumber(branch, tree);
  return LINNET_OK;
}

/* The settings of a tree without silences and unknown words, whose words have the lookahead of the unknown word. */
enum linnet_status linnet_word_branch_create(struct linnet_word_tree *branch, struct linnet_context *context,
                                             const struct linnet_word_tree *tree, const struct linnet_lexicon *lexicon,
                                             const struct linnet_word_search_settings *settings) {
  struct linnet_word_search_settings own = *settings;
  const size_t tokens = linnet_lexicon_num_words(lexicon) + 2;
  float *lookahead = linnet_alloc(context, tokens, sizeof *lookahead);
  *branch = (struct linnet_word_tree){.context = NULL};
  if (!lookahead)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %zu words", tokens);
  for (size_t i = 0; i < tokens; i++)
    lookahead[i] = settings->lookahead ? settings->lookahead[tree->unknown] : 0;
  own.lookahead = lookahead;
  own.num_silences = 0;
  own.unknown_penalty = INFINITY;
  enum linnet_status status = linnet_word_tree_create(branch, context, lexicon, tree->symbols, &own);
  linnet_free(context, lookahead);
  return status == LINNET_OK ? join_branch(branch, tree) : status;
}

void linnet_word_tree_set_branch(struct linnet_word_tree *tree, const struct linnet_word_tree *branch) {
  tree->branch = branch;
  tree->max_start = tree->nodes[LINNET_WORD_ROOT].look;
  if (branch)
    tree->max_start = fmax(tree->max_start, branch->max_start);
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* Whether the node's path from the root is the beginning of the labels. */
static bool begins_with(const struct linnet_word_tree *tree, uint32_t node, size_t depth, const int *labels) {
  while (depth > 0 && (uint32_t)labels[depth - 1] == linnet_word_node_at(tree, node)->symbol) {
    node = linnet_word_node_at(tree, node)->parent;
    depth--;
  }
  return depth == 0;
}

bool linnet_word_tree_leads(const struct linnet_word_tree *tree, const struct linnet_lexicon *lexicon, uint32_t node,
                            size_t word) {
  size_t depth = 0, count;
  for (uint32_t n = node; n != LINNET_WORD_ROOT; n = linnet_word_node_at(tree, n)->parent)
    depth++;
  for (size_t v = 0; v < linnet_lexicon_num_variants(lexicon, word); v++) {
    const int *labels = linnet_lexicon_pronunciation(lexicon, word, v, &count);
    if (count >= depth && begins_with(tree, node, depth, labels))
      return true;
  }
  return false;
}

size_t linnet_word_tree_memory(const struct linnet_word_tree *tree) {
  return ((size_t)tree->count + 1) * sizeof *tree->nodes + (size_t)tree->num_words * sizeof *tree->words +
         (tree->factors ? (size_t)tree->num_words * sizeof *tree->factors : 0) +
         (size_t)tree->symbols * LINNET_WORD_STARTS * sizeof *tree->starts +
         (tree->branch ? linnet_word_tree_memory(tree->branch) : 0);
}
