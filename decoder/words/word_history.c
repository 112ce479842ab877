/* Word sequences as a pool of items with a parent, scored and hashed as they grow. */
#include "decoder/words/word_beam.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/numbers.h"
#include "decoder/ctc/beam_fusion.h"
#include "decoder/words/hotwords.h"

enum { STATE_ALIGNMENT = 16 };

enum linnet_status linnet_history_create(struct linnet_history *history, struct linnet_context *context,
                                         const struct linnet_word_search_settings *settings, unsigned unknown) {
  *history = (struct linnet_history){.context = context,
                                     .hotwords = settings->hotwords,
                                     .most_pending = (double)settings->score_threshold / 2,
                                     .weight = settings->model_weight,
                                     .bonus = settings->word_bonus,
                                     .unknown = unknown,
                                     .unknown_bonus = settings->unknown_bonus};
  linnet_tree_pool_create(&history->trie.pool, context, sizeof(struct linnet_trie_node));
  if (!settings->model)
    return LINNET_OK;
  LINNET_TRY(linnet_model_read(context, settings->model, &history->own));
  history->model = &history->own;
  history->stride = linnet_round_up(history->model->state_bytes + 1, STATE_ALIGNMENT);
  return LINNET_OK;
}

void linnet_history_destroy(struct linnet_history *history) {
  if (!history->context)
    return;
  linnet_tree_pool_destroy(&history->trie.pool);
  linnet_free(history->context, history->buckets);
  linnet_free(history->context, history->items);
  linnet_free(history->context, history->states);
}

/* --- the nodes by parent and token -------------------------------------------------------------------------------- */

static uint32_t *bucket_of(const struct linnet_history *h, uint32_t node, uint32_t token) {
  return &h->buckets[linnet_pair_hash(node, token) & h->bucket_mask];
}

static void enter_bucket(struct linnet_history *h, uint32_t child) {
  const struct linnet_trie_node *node = linnet_history_at(h, child);
  uint32_t *bucket = bucket_of(h, node->parent, node->symbol);
  h->items[child].next = *bucket;
  *bucket = child;
}

static void empty_buckets(struct linnet_history *h) {
  for (size_t i = 0; i <= h->bucket_mask; i++)
    h->buckets[i] = LINNET_TREE_NONE;
}

/* Moves the nodes to at least as many buckets as there can be nodes. */
static bool grow_buckets(struct linnet_history *h, size_t capacity) {
  uint32_t *old = h->buckets;
  const size_t old_count = old ? h->bucket_mask + 1 : 0, count = linnet_power_of_two(capacity);
  if (count <= old_count)
    return true;
  uint32_t *grown = linnet_alloc(h->context, count, sizeof *grown);
  if (!grown)
    return false;
  h->buckets = grown;
  h->bucket_mask = count - 1;
  empty_buckets(h);
  for (size_t i = 0; i < old_count; i++)
    for (uint32_t node = old[i], next; node != LINNET_TREE_NONE; node = next) {
      next = h->items[node].next;
      enter_bucket(h, node);
    }
  linnet_free(h->context, old);
  return true;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

bool linnet_history_grow(struct linnet_history *h, size_t sequences) {
  const size_t before = h->trie.pool.capacity;
  if (!linnet_tree_pool_grow(&h->trie.pool, sequences))
    return false;
  size_t capacity = h->trie.pool.capacity;
  struct linnet_history_item *items = linnet_grow(h->context, h->items, &h->item_capacity, capacity, sizeof *items);
  if (items)
    h->items = items;
  unsigned char *states = NULL;
  if (items && h->model)
    states = linnet_grow(h->context, h->states, &h->state_capacity, capacity, h->stride);
  if (states)
    h->states = states;
  if (items && (states || !h->model) && grow_buckets(h, capacity))
    return true;
  h->trie.pool.capacity = before; /* no node without an item */
  return false;
}

static void *state_of(const struct linnet_history *h, uint32_t node) {
  return h->states + node * h->stride;
}

void linnet_history_sweep(struct linnet_history *h) {
  const struct linnet_tree_pool *pool = &h->trie.pool;
  empty_buckets(h);
  for (uint32_t node = LINNET_TRIE_ROOT + 1; node < pool->used; node++)
    if (pool->marked[node])
      enter_bucket(h, node);
  linnet_trie_sweep(&h->trie);
}

void linnet_history_clear(struct linnet_history *h) {
  linnet_trie_clear(&h->trie);
  empty_buckets(h);
  h->items[LINNET_TRIE_ROOT] = (struct linnet_history_item){.factor = 1, .hotword_state = LINNET_HOTWORDS_START};
  if (h->model)
    h->model->begin(h->model->user, state_of(h, LINNET_TRIE_ROOT));
}

static double weighted(const struct linnet_history *h, double language) {
  return language == -(double)INFINITY ? language : h->weight * language;
}

static void score_child(struct linnet_history *h, uint32_t parent, uint32_t child, uint32_t token) {
  const struct linnet_history_item *from = &h->items[parent];
  struct linnet_history_item *to = &h->items[child];
  double language = 0, gain = 0;
  *to = *from;
  if (h->model) /* whose highest token is the unknown word */
    language = linnet_model_checked(h->model->score(h->model->user, state_of(h, parent),
                                                    token < h->unknown ? token : h->unknown, state_of(h, child)));
  if (h->hotwords)
    to->hotword_state = linnet_hotwords_step(h->hotwords, h->most_pending, from->hotword_state, token, &gain);
  if (token == h->unknown)
    gain += h->unknown_bonus;
  to->language += language;
  to->hotwords += gain;
  to->factor = exp(weighted(h, language) + h->bonus + gain);
}

uint32_t linnet_history_child(struct linnet_history *h, uint32_t node, uint32_t token) {
  uint32_t child = *bucket_of(h, node, token);
  while (child != LINNET_TREE_NONE &&
         (linnet_history_at(h, child)->parent != node || linnet_history_at(h, child)->symbol != token))
    child = h->items[child].next;
  if (child != LINNET_TREE_NONE)
    return child;
  child = linnet_trie_add(&h->trie, node, token);
  score_child(h, node, child, token);
  enter_bucket(h, child);
  return child;
}

double linnet_history_max_factor(const struct linnet_history *h) {
  double gain = h->hotwords ? linnet_hotwords_max_gain(h->hotwords) : 0.0;
  return exp(h->bonus + fmax(gain, gain + h->unknown_bonus));
}

bool linnet_history_is_possible(const struct linnet_history *h, uint32_t node) {
  return h->items[node].language > -(double)INFINITY;
}

bool linnet_history_same(const struct linnet_history *h, uint32_t a, uint32_t b) {
  return h->items[a].hotword_state == h->items[b].hotword_state &&
         (!h->model || memcmp(state_of(h, a), state_of(h, b), h->model->state_bytes) == 0);
}

uint64_t linnet_history_hash(const struct linnet_history *h, uint32_t node) {
  const uint64_t hash = LINNET_HASH_START ^ h->items[node].hotword_state;
  return h->model ? linnet_hash(hash, state_of(h, node), h->model->state_bytes) : hash;
}

void linnet_history_score(const struct linnet_history *h, uint32_t node, bool ended, double *language, double *score) {
  const struct linnet_history_item *item = &h->items[node];
  double hotwords = item->hotwords;
  *language = item->language;
  if (ended && h->model)
    *language += linnet_model_checked(h->model->finish(h->model->user, state_of(h, node)));
  if (ended && h->hotwords)
    hotwords += linnet_hotwords_finish(h->hotwords, h->most_pending, item->hotword_state);
  *score = weighted(h, *language) + h->bonus * (double)linnet_history_at(h, node)->depth + hotwords;
}

size_t linnet_history_memory(const struct linnet_history *h) {
  return linnet_tree_pool_memory(&h->trie.pool) + h->item_capacity * sizeof *h->items + h->state_capacity * h->stride +
         (h->buckets ? (h->bucket_mask + 1) * sizeof *h->buckets : 0);
}
