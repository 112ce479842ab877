/* One frame of the word search: takes a row of log-posteriors, calls word_expand.c to find the candidates, and makes
 * the next beam of them, with the best alignment of each state. */
#include "decoder/words/word_beam.h"

#include <assert.h>

/* --- alignments --------------------------------------------------------------------------------------------------- */

/* A state that leads to another, and its best token that the symbol of that state may follow. */
struct source {
  uint32_t state; /* LINNET_NO_STATE: there is none */
  struct linnet_token *token;
  double probability; /* of the token, with the pronunciation factor of the word that ends there */
};

/* The source with the best token. */
static struct source best_source(struct linnet_word_search *s, uint32_t symbol) {
  struct source best = {.state = LINNET_NO_STATE};
  for (size_t i = 0; i < s->sources.count; i++) {
    uint32_t state = s->sources.states[i];
    struct linnet_token_pair *pair = &s->now->tokens[state];
    struct linnet_token *token = s->now->states[state].symbol == symbol ? &pair->blank : linnet_token_best(pair);
    double probability = token->probability * s->sources.factors[i];
    if (best.state == LINNET_NO_STATE || probability > best.probability)
      best = (struct source){state, token, probability};
  }
  return best;
}

/* The record of a token's last segment, NONE at the root. */
static uint32_t record_of(struct linnet_word_search *s, uint32_t state, struct linnet_token *token) {
  const struct linnet_word_state *from = &s->now->states[state];
  if (from->position.node == LINNET_WORD_ROOT)
    return LINNET_TREE_NONE;
  uint32_t index = linnet_token_record(token, &s->records);
  struct linnet_word_record *record = linnet_tree_pool_at(&s->records, index);
  record->symbol = from->symbol;
  record->word = linnet_word_of(s, from);
  return index;
}

/* A token that enters a node from a source. `probability` is that of the symbol, relative to the largest of the row. */
static struct linnet_token enter(const struct linnet_word_step *f, const struct source *source, uint32_t node,
                                 double probability) {
  struct linnet_word_search *s = f->search;
  struct linnet_token token =
      linnet_token_enter(linnet_row_posterior(&f->row, linnet_word_node_at(&s->tree, node)->symbol, probability),
                         s->frames, record_of(s, source->state, source->token));
  token.probability =
      linnet_row_floor(source->probability * probability * linnet_word_arrive(&s->tree, node) * f->token_scale);
  return token;
}

/* The alignment that ends in the phone continues, or a better one that enters the phone replaces it. */
static struct linnet_token move_symbol_token(const struct linnet_word_step *f, uint32_t i) {
  struct linnet_word_search *s = f->search;
  const struct linnet_word_state *state = &s->now->states[i];
  struct linnet_token token = s->now->tokens[i].symbol;
  double probability = s->unchanged.factor[i];
  struct source source = {.state = LINNET_NO_STATE};
  if (s->unchanged.inflow[i] > 0) {
    linnet_word_find_sources(s, state->position, state->parent);
    source = best_source(s, state->symbol);
  }
  if (source.state != LINNET_NO_STATE &&
      source.probability * linnet_word_arrive(&s->tree, state->position.node) > token.probability)
    return enter(f, &source, state->position.node, probability);
  linnet_token_stay(&token, linnet_row_posterior(&f->row, state->symbol, probability), s->frames);
  token.probability = linnet_row_floor(token.probability * probability * f->token_scale);
  return token;
}

/* Must be called after move_symbol_token for all states, which creates the records that this token shares. */
static struct linnet_token move_blank_token(const struct linnet_word_step *f, uint32_t i) {
  struct linnet_token token = *linnet_token_best(&f->search->now->tokens[i]);
  token.probability = linnet_row_floor(token.probability * f->row.blank * f->token_scale);
  return token;
}

/* --- the next beam ------------------------------------------------------------------------------------------------ */

static void keep_state(const struct linnet_word_step *f, uint32_t from, size_t to) {
  struct linnet_word_search *s = f->search;
  s->next->blank[to] = s->unchanged.blank[from];
  s->next->symbol[to] = s->unchanged.symbol[from];
  s->next->weight[to] = s->now->weight[from];
  s->next->states[to] = s->now->states[from];
  s->next->tokens[to].symbol = move_symbol_token(f, from);
}

/* The state before a new position, in the same word. */
static uint32_t parent_of(const struct linnet_word_search *s, struct linnet_word_position position) {
  uint32_t parent = linnet_word_node_at(&s->tree, position.node)->parent;
  return parent == LINNET_WORD_ROOT ? LINNET_NO_STATE : linnet_pair_table_find(&s->table, position.history, parent);
}

struct linnet_word_state linnet_word_state_at(const struct linnet_word_search *s,
                                              struct linnet_word_position position) {
  const struct linnet_word_node *node = linnet_word_node_at(&s->tree, position.node);
  bool ends = node[1].first_word > node[0].first_word;
  return (struct linnet_word_state){.position = position,
                                    .symbol = node->symbol,
                                    .first_child = node[0].first_child,
                                    .end_child = node[1].first_child,
                                    .first_word = node[0].first_word,
                                    .num_words = node[1].first_word - node[0].first_word,
                                    .token = ends ? *linnet_word_tokens_at(&s->tree, node->first_word) : 0,
                                    .parent = LINNET_NO_STATE,
                                    .next = LINNET_NO_STATE,
                                    .look = linnet_word_look(s, position),
                                    .leave = ends ? -1 : 0};
}

static void make_state(const struct linnet_word_step *f, struct linnet_word_position position, size_t to) {
  struct linnet_word_search *s = f->search;
  const struct linnet_word_node *node = linnet_word_node_at(&s->tree, position.node);
  double probability = s->choice.probability[node->symbol];
  linnet_word_find_sources(s, position, parent_of(s, position));
  const struct source source = best_source(s, node->symbol);
  assert(source.token);
  s->next->blank[to] = 0;
  s->next->symbol[to] = linnet_row_floor(linnet_word_inflow(s, position.node, node->symbol) * probability);
  s->next->weight[to] = linnet_word_weight_of(s, position, s->sources.states[0]);
  s->next->states[to] = linnet_word_state_at(s, position);
  s->next->tokens[to].symbol = enter(f, &source, position.node, probability);
}

/* Sets the token of alignments that end in the blank. A new state has none: its blank token has probability 0. */
static void set_blank_token(const struct linnet_word_step *f, const struct linnet_candidate *c, size_t to) {
  struct linnet_token_pair *pair = &f->search->next->tokens[to];
  if (c->symbol == 0) {
    pair->blank = move_blank_token(f, c->parent);
    return;
  }
  pair->blank = pair->symbol;
  pair->blank.probability = 0;
}

/* Lists are in the order of the beam. */
void linnet_word_link(struct linnet_word_search *s) {
  struct linnet_beam_side *now = s->now;
  linnet_word_fill_table(s);
  for (uint32_t i = (uint32_t)now->count; i-- > 0;) {
    struct linnet_word_state *state = &now->states[i];
    if (state->num_words == 0 && !linnet_word_is_between(&s->tree, state->position.node))
      continue;
    struct linnet_trie_node *history = linnet_history_at(&s->history, state->position.history);
    state->next = linnet_word_first_state(s, state->position.history);
    history->entry = i;
    history->stamp = s->frames + 1;
  }
  for (uint32_t i = 0; i < now->count; i++)
    now->states[i].parent = parent_of(s, now->states[i].position);
}

static void make_next(struct linnet_word_step *f, size_t count) {
  struct linnet_word_search *s = f->search;
  struct linnet_beam_side *now = s->now;
  int exponent;
  f->token_scale = linnet_row_scale(linnet_token_best(&now->tokens[0])->probability, &exponent);
  s->next->count = count;
  for (size_t i = 0; i < count; i++) {
    const struct linnet_candidate *c = &s->candidates[i];
    if (c->symbol == 0)
      keep_state(f, c->parent, i);
    else
      make_state(f, s->positions[c->parent], i);
  }
  for (size_t i = 0; i < count; i++)
    set_blank_token(f, &s->candidates[i], i);
  linnet_beam_side_rescale(s->next, s->candidates, &s->exponent);
  s->log_scale += (double)f->row.largest;
  s->now = s->next;
  s->next = now;
  s->frames++;
  linnet_word_link(s);
}

/* Takes one row (symbols). The caller has reserved memory for 2 * beam records and for linnet_word_max_new
 * sequences. */
static void take_frame(struct linnet_word_search *s, const float *row) {
  struct linnet_word_step f = {.search = s, .row = linnet_row_read(row, s->choice.symbols, &s->priors)};
  size_t count = linnet_word_expand(&f);
  if (count == 0) { /* everything that the frame allows is impossible */
    f = (struct linnet_word_step){.search = s, .row = linnet_row_read(NULL, 0, &s->priors)};
    count = linnet_word_expand(&f);
  }
  make_next(&f, count);
}

size_t linnet_word_max_new(const struct linnet_word_search *s) {
  size_t words = 0;
  for (size_t i = 0; i < s->now->count; i++)
    words += s->now->states[i].num_words;
  return words;
}

/* --- what goes in ------------------------------------------------------------------------------------------------- */

bool linnet_word_reserve(struct linnet_word_search *s, size_t sequences) {
  struct linnet_tree_pool *pool = &s->history.trie.pool;
  if (linnet_tree_pool_left(pool) >= sequences)
    return true;
  for (size_t i = 0; i < s->now->count; i++)
    linnet_tree_pool_mark(pool, s->now->states[i].position.history);
  linnet_history_sweep(&s->history);
  return linnet_beam_pool_suffices(pool, sequences) ||
         linnet_history_grow(&s->history, linnet_beam_pool_larger(pool, sequences));
}

enum linnet_status linnet_word_search_accept(struct linnet_word_search *s, const float *log_posteriors, size_t frames) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  if (!log_posteriors && frames > 0)
    return linnet_fail(s->context, LINNET_ERROR_ARGUMENT, "linnet_word_search_accept: the posteriors are NULL");
  if (s->finished)
    return linnet_fail(s->context, LINNET_ERROR_STATE, "the search was finished: call linnet_word_search_reset first");
  if (frames > UINT32_MAX - 2 - s->frames)
    return linnet_fail(s->context, LINNET_ERROR_LIMIT, "linnet_word_search_accept: more than 2^32 - 3 frames");
  linnet_poll_begin(s->context);
  for (size_t t = 0; t < frames; t++) {
    LINNET_TRY(linnet_poll_check(s->context));
    if (!linnet_word_reserve(s, linnet_word_max_new(s)) ||
        !linnet_beam_reserve_records(&s->records, s->now, 2 * s->beam))
      return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory after %u frames", s->frames);
    take_frame(s, log_posteriors + t * s->choice.symbols);
    s->ranked = false;
  }
  return LINNET_OK;
}
