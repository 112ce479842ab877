/* The parts of a beam search: rows, candidates, prefixes, tokens. */
#include "decoder/ctc/beam_parts.h"

#include <stdint.h>
#include <string.h>

/* --- exponentials ------------------------------------------------------------------------------------------------- */

/* exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln 2 / 2; the Taylor series to r^12 leaves less than 2e-16.
 * Adding 1.5 * 2^52 rounds, and leaves n in the low bits. For x from -708 to 0. */
static inline double exp_of(double x) {
  static const double shift = 0x1.8p52, inverse_ln2 = 0x1.71547652b82fep0;
  static const double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
  double rounded = x * inverse_ln2 + shift, n = rounded - shift;
  double r = (x - n * ln2_high) - n * ln2_low;
  double p = 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  uint64_t bits, scale;
  memcpy(&scale, &rounded, sizeof scale);
  memcpy(&bits, &p, sizeof bits);
  bits += scale << 52;
  memcpy(&p, &bits, sizeof p);
  return p;
}

void linnet_exp_array(const double *x, double *out, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double e = exp_of(x[i] > -700 ? x[i] : -700.0);
    out[i] = x[i] > -700 ? e : 0.0;
  }
}

/* --- candidates --------------------------------------------------------------------------------------------------- */

/* Quicksort that leaves alone what lies behind the first `keep`. */

enum { SMALL = 16 };

/* Fast if the candidates are nearly sorted, like the prefixes of a beam from one frame to the next. */
static void insertion_sort(struct linnet_candidate *c, size_t count) {
  for (size_t i = 1; i < count; i++) {
    struct linnet_candidate item = c[i];
    size_t at = i;
    for (; at > 0 && linnet_candidate_before(&item, &c[at - 1]); at--)
      c[at] = c[at - 1];
    c[at] = item;
  }
}

static void swap(struct linnet_candidate *a, struct linnet_candidate *b) {
  struct linnet_candidate old = *a;
  *a = *b;
  *b = old;
}

/* Puts the median of first, middle and last in the middle. */
static struct linnet_candidate median(struct linnet_candidate *c, size_t count) {
  struct linnet_candidate *first = c, *middle = c + count / 2, *last = c + count - 1;
  if (linnet_candidate_before(middle, first))
    swap(middle, first);
  if (linnet_candidate_before(last, middle))
    swap(last, middle);
  if (linnet_candidate_before(middle, first))
    swap(middle, first);
  return *middle;
}

/* Hoare's partition: returns an offset, 0 < offset < count, so that no candidate before it ranks below one at or after
 * it. */
static size_t partition(struct linnet_candidate *c, size_t count) {
  struct linnet_candidate pivot = median(c, count);
  size_t i = 0, j = count - 1;
  for (;;) {
    while (linnet_candidate_before(&c[i], &pivot))
      i++;
    while (linnet_candidate_before(&pivot, &c[j]))
      j--;
    if (i >= j)
      return i;
    swap(&c[i++], &c[j--]);
  }
}

static bool in_order(const struct linnet_candidate *c, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (linnet_candidate_before(&c[i], &c[i - 1]))
      return false;
  return true;
}

/* Recurses into the smaller part, so the depth is at most log2(count) for all scores. */
static void sort_first(struct linnet_candidate *c, size_t count, size_t keep) {
  while (count > SMALL && keep > 0) {
    size_t split = partition(c, count), behind = count - split;
    if (split >= keep) {
      count = split;
    } else if (behind < split) {
      sort_first(c + split, behind, keep - split);
      count = keep = split;
    } else {
      sort_first(c, split, split);
      c += split;
      count = behind;
      keep -= split;
    }
  }
  insertion_sort(c, count);
}

size_t linnet_candidates_rank(struct linnet_candidate *candidates, size_t count, size_t keep) {
  if (!in_order(candidates, count))
    sort_first(candidates, count, keep);
  return count < keep ? count : keep;
}

/* --- rows of posteriors ------------------------------------------------------------------------------------------- */

/* The row itself if there are no priors. */
static const float *divide(const float *values, size_t symbols, const struct linnet_row_priors *priors) {
  if (!values || !priors->priors)
    return values;
  for (size_t v = 0; v < symbols; v++)
    priors->row[v] = values[v] - priors->logs[v];
  return priors->row;
}

struct linnet_row linnet_row_read(const float *values, size_t symbols, const struct linnet_row_priors *priors) {
  values = divide(values, symbols, priors);
  struct linnet_row row = {.values = values, .largest = -INFINITY, .powers = priors->powers};
  for (size_t v = 0; v < symbols && values; v++)
    row.largest = linnet_row_sane(values[v]) > row.largest ? values[v] : row.largest;
  if (row.largest == -INFINITY) {
    row.values = NULL;
    row.largest = 0;
  }
  double blank = row.values ? (double)linnet_row_sane(values[0]) - (double)row.largest : 0.0;
  linnet_exp_array(&blank, &row.blank, 1);
  row.posterior_scale = exp(fmin(row.largest, 700));
  return row;
}

void linnet_row_choice_lay_out(struct linnet_row_choice *choice, struct linnet_arena *arena) {
  choice->chosen = linnet_arena_take(arena, choice->symbols, sizeof *choice->chosen);
  choice->exponents = linnet_arena_take(arena, choice->symbols, sizeof *choice->exponents);
  choice->probability = linnet_arena_take(arena, choice->symbols, sizeof *choice->probability);
}

static float lowest_value(const struct linnet_row *row, const struct linnet_row_choice *choice,
                          double min_probability) {
  float lowest = min_probability > 0 ? row->largest + (float)log(min_probability) : -INFINITY;
  float pruned = row->largest - choice->threshold, slack = 1e-3f + 1e-6f * fabsf(row->largest);
  return lowest - slack > pruned ? lowest - slack : pruned;
}

void linnet_row_choose(const struct linnet_row *row, struct linnet_row_choice *choice, double min_probability) {
  size_t count = 0;
  float lowest = row->values ? lowest_value(row, choice, min_probability) : 0;
  for (uint32_t symbol = 1; symbol < choice->symbols && row->values; symbol++) {
    float value = row->values[symbol];
    if (value >= lowest && value < INFINITY && value > -INFINITY)
      choice->chosen[count++] = (struct linnet_candidate){(double)value, symbol, 0};
  }
  count = choice->count = linnet_candidates_rank(choice->chosen, count, choice->top);
  for (size_t i = 0; i < count; i++)
    choice->exponents[i] = choice->chosen[i].score - (double)row->largest;
  linnet_exp_array(choice->exponents, choice->exponents, count);
  for (size_t i = 0; i < count; i++)
    choice->probability[choice->chosen[i].symbol] = choice->exponents[i];
}

/* --- prefixes ----------------------------------------------------------------------------------------------------- */

static uint32_t add_node(struct linnet_trie *trie, uint32_t parent, uint32_t symbol, uint32_t depth) {
  uint32_t node = linnet_tree_pool_take(&trie->pool);
  *linnet_trie_at(trie, node) = (struct linnet_trie_node){.parent = parent,
                                                          .symbol = symbol,
                                                          .depth = depth,
                                                          .first_child = LINNET_TREE_NONE,
                                                          .next_sibling = LINNET_TREE_NONE};
  return node;
}

static void link_to_parent(struct linnet_trie *trie, uint32_t node) {
  struct linnet_trie_node *child = linnet_trie_at(trie, node), *parent = linnet_trie_at(trie, child->parent);
  child->next_sibling = parent->first_child;
  parent->first_child = node;
}

void linnet_trie_clear(struct linnet_trie *trie) {
  linnet_tree_pool_clear(&trie->pool);
  add_node(trie, LINNET_TREE_NONE, 0, 0);
}

uint32_t linnet_trie_add(struct linnet_trie *trie, uint32_t node, uint32_t symbol) {
  const uint32_t child = add_node(trie, node, symbol, linnet_trie_at(trie, node)->depth + 1);
  link_to_parent(trie, child);
  return child;
}

uint32_t linnet_trie_find_or_add(struct linnet_trie *trie, uint32_t node, uint32_t symbol, bool *fresh) {
  uint32_t child = linnet_trie_at(trie, node)->first_child;
  while (child != LINNET_TREE_NONE && linnet_trie_at(trie, child)->symbol != symbol)
    child = linnet_trie_at(trie, child)->next_sibling;
  *fresh = child == LINNET_TREE_NONE;
  return *fresh ? linnet_trie_add(trie, node, symbol) : child;
}

void linnet_trie_sweep(struct linnet_trie *trie) {
  struct linnet_tree_pool *pool = &trie->pool;
  linnet_tree_pool_mark(pool, LINNET_TRIE_ROOT);
  linnet_tree_pool_sweep(pool);
  for (uint32_t node = 0; node < pool->used; node++)
    linnet_trie_at(trie, node)->first_child = LINNET_TREE_NONE;
  for (uint32_t node = 1; node < pool->used; node++)
    if (pool->marked[node])
      link_to_parent(trie, node);
  linnet_tree_pool_unmark(pool);
}

uint32_t linnet_trie_common(const struct linnet_trie *trie, uint32_t a, uint32_t b) {
  while (a != b) {
    const struct linnet_trie_node *x = linnet_trie_at(trie, a), *y = linnet_trie_at(trie, b);
    if (x->depth >= y->depth)
      a = x->parent;
    if (y->depth >= x->depth)
      b = y->parent;
  }
  return a;
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

float linnet_token_confidence(const struct linnet_token *token) {
  return (float)(token->posteriors / (double)(token->end - token->start));
}

uint32_t linnet_token_record(struct linnet_token *token, struct linnet_tree_pool *records) {
  if (token->record == LINNET_TREE_NONE) {
    token->record = linnet_tree_pool_take(records);
    *linnet_record_at(records, token->record) =
        (struct linnet_alignment_record){token->before, token->start, token->end, linnet_token_confidence(token)};
  }
  return token->record;
}

void linnet_tokens_start(struct linnet_token_pair *pair) {
  pair->symbol = (struct linnet_token){.before = LINNET_TREE_NONE, .record = LINNET_TREE_NONE};
  pair->blank = pair->symbol;
  pair->blank.probability = 1;
}

void linnet_tokens_mark(const struct linnet_token_pair *pair, struct linnet_tree_pool *records) {
  linnet_tree_pool_mark(records, pair->symbol.before);
  linnet_tree_pool_mark(records, pair->symbol.record);
  linnet_tree_pool_mark(records, pair->blank.before);
  linnet_tree_pool_mark(records, pair->blank.record);
}

/* --- the beam ----------------------------------------------------------------------------------------------------- */

void linnet_beam_side_lay_out(struct linnet_beam_side *side, struct linnet_arena *arena, size_t beam) {
  side->blank = linnet_arena_take(arena, beam, sizeof *side->blank);
  side->symbol = linnet_arena_take(arena, beam, sizeof *side->symbol);
  side->weight = linnet_arena_take(arena, beam, sizeof *side->weight);
  side->score = linnet_arena_take(arena, beam, sizeof *side->score);
  side->tokens = linnet_arena_take(arena, beam, sizeof *side->tokens);
}

void linnet_beam_side_rescale(struct linnet_beam_side *side, const struct linnet_candidate *candidates,
                              int64_t *exponent) {
  int power, weight_power;
  double scale = linnet_row_scale(side->blank[0] + side->symbol[0], &power);
  double weight_scale = linnet_row_scale(side->weight[0], &weight_power);
  *exponent += power;
  for (size_t i = 0; i < side->count; i++) {
    side->blank[i] *= scale;
    side->symbol[i] *= scale;
    side->weight[i] *= weight_scale;
    side->score[i] = candidates[i].score * (scale * weight_scale);
  }
}

bool linnet_beam_block_create(struct linnet_beam_block *block, struct linnet_context *context,
                              linnet_beam_lay_out_fn lay_out, void *search) {
  struct linnet_arena arena = {0};
  lay_out(search, &arena);
  arena.size = block->bytes = arena.used;
  arena.base = block->memory = arena.used == SIZE_MAX ? NULL : linnet_calloc(context, arena.used, 1);
  if (!arena.base)
    return false;
  arena.used = 0;
  lay_out(search, &arena);
  return true;
}

bool linnet_beam_pool_suffices(const struct linnet_tree_pool *pool, size_t items) {
  size_t left = linnet_tree_pool_left(pool);
  return left >= items && left >= pool->capacity / 2;
}

size_t linnet_beam_pool_larger(const struct linnet_tree_pool *pool, size_t items) {
  return pool->capacity + (pool->capacity > items ? pool->capacity : items);
}

bool linnet_beam_reserve_records(struct linnet_tree_pool *records, const struct linnet_beam_side *now, size_t items) {
  if (linnet_tree_pool_left(records) >= items)
    return true;
  for (size_t i = 0; i < now->count; i++)
    linnet_tokens_mark(&now->tokens[i], records);
  linnet_tree_pool_sweep(records);
  linnet_tree_pool_unmark(records);
  return linnet_beam_pool_suffices(records, items) ||
         linnet_tree_pool_grow(records, linnet_beam_pool_larger(records, items));
}
