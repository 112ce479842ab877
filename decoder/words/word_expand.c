/* One frame of the search for words, first half: extends the beam. States continue unchanged or lead to new ones; the
 * best of both are the candidates for the next beam. */
#include "decoder/words/word_beam.h"

#include <math.h>

#include "decoder/words/hotwords.h"

/* --- how states follow one another -------------------------------------------------------------------------------- */

uint32_t linnet_word_first_state(const struct linnet_word_search *s, uint32_t history) {
  const struct linnet_trie_node *node = linnet_history_at(&s->history, history);
  return node->stamp == s->frames + 1 ? node->entry : LINNET_NO_STATE;
}

/* Whether the word ends in the state; then *index is its index in the tree. */
static bool ends_word(const struct linnet_word_search *s, const struct linnet_word_state *state, uint32_t token,
                      uint32_t *index) {
  *index = state->first_word;
  return state->token == token ||
         (state->num_words > 1 && linnet_word_find_end(&s->tree, *index, state->num_words, token, index));
}

static void add_source(struct linnet_word_sources *sources, uint32_t state, double factor) {
  sources->factors[sources->count] = factor;
  sources->states[sources->count++] = state;
}

/* For a position between words or at the start of one: adds the states with the same words that lead to it. These are
 * silences and, for the loop, its previous symbols. */
static void add_sources_within(struct linnet_word_search *s, uint32_t history, bool loop) {
  const struct linnet_word_state *states = s->now->states;
  for (uint32_t i = linnet_word_first_state(s, history); i != LINNET_NO_STATE; i = states[i].next)
    if (linnet_word_is_between(&s->tree, states[i].position.node) ||
        (loop && linnet_word_is_loop(&s->tree, states[i].position.node)))
      add_source(&s->sources, i, 1);
}

/* Adds the states where the last word of the sequence ends. */
static void add_sources_before(struct linnet_word_search *s, uint32_t history) {
  const struct linnet_trie_node *node = linnet_history_at(&s->history, history);
  const struct linnet_word_state *states = s->now->states;
  uint32_t index;
  if (history == LINNET_TRIE_ROOT)
    return;
  for (uint32_t i = linnet_word_first_state(s, node->parent); i != LINNET_NO_STATE; i = states[i].next)
    if (ends_word(s, &states[i], node->symbol, &index))
      add_source(&s->sources, i, linnet_pronunciation_factor(&s->tree, index));
}

/* Points the sources at a list that begins at element `first`. */
static void set_list(struct linnet_word_sources *sources, size_t first, size_t count) {
  sources->states = sources->all_states + first;
  sources->factors = sources->all_factors + first;
  sources->count = count;
}

/* Begins the lists anew if the frame is another, or if not all states would fit into another list. */
static void renew_lists(struct linnet_word_search *s) {
  struct linnet_word_sources *sources = &s->sources;
  if (sources->frame == s->frames + 1 && sources->capacity - sources->used >= s->now->count)
    return;
  sources->frame = s->frames + 1;
  sources->stamp++;
  sources->used = 0;
}

/* The sources of a position where a word or silence starts. */
static void find_start_sources(struct linnet_word_search *s, uint32_t history, bool loop) {
  struct linnet_word_sources *sources = &s->sources;
  renew_lists(s);
  struct linnet_word_source_list *list = &sources->lists[(2 * (size_t)history + loop) & sources->mask];
  if (list->stamp == sources->stamp && list->history == history) {
    set_list(sources, list->first, list->count);
    return;
  }
  set_list(sources, sources->used, 0);
  add_sources_within(s, history, loop);
  add_sources_before(s, history);
  *list = (struct linnet_word_source_list){history, (uint32_t)sources->used, (uint32_t)sources->count, sources->stamp};
  sources->used += sources->count;
}

void linnet_word_find_sources(struct linnet_word_search *s, struct linnet_word_position to, uint32_t parent) {
  if (linnet_word_node_at(&s->tree, to.node)->parent == LINNET_WORD_ROOT) {
    find_start_sources(s, to.history, linnet_word_is_loop(&s->tree, to.node));
    return;
  }
  set_list(&s->sources, s->sources.capacity, 0);
  if (parent != LINNET_NO_STATE)
    add_source(&s->sources, parent, 1);
}

/* Probability of a state's alignments that a symbol may follow: if it repeats the symbol of the state, only those that
 * end in the blank. */
static inline double outflow(const struct linnet_beam_side *now, uint32_t from, uint32_t symbol) {
  return now->blank[from] + (now->states[from].symbol == symbol ? 0.0 : now->symbol[from]);
}

double linnet_word_inflow(const struct linnet_word_search *s, uint32_t node, uint32_t symbol) {
  double sum = 0;
  for (size_t i = 0; i < s->sources.count; i++)
    sum += outflow(s->now, s->sources.states[i], symbol) * s->sources.factors[i];
  return sum * linnet_word_arrive(&s->tree, node);
}

/* The inflow of a state of the beam; most states have one source or none. */
static double inflow_of(struct linnet_word_search *s, const struct linnet_word_state *state) {
  if (state->parent != LINNET_NO_STATE)
    return outflow(s->now, state->parent, state->symbol);
  if (linnet_word_node_at(&s->tree, state->position.node)->parent != LINNET_WORD_ROOT)
    return 0;
  linnet_word_find_sources(s, state->position, state->parent);
  return linnet_word_inflow(s, state->position.node, state->symbol);
}

/* A word that may continue a phrase, by its token. */
struct ahead {
  const struct linnet_word_search *search;
  uint32_t node;
};

static bool leads(const void *user, unsigned token) {
  const struct ahead *a = user;
  const struct linnet_word_tree *tree = &a->search->tree;
  const bool own = a->node >= tree->count; /* in the branch */
  size_t word;
  const struct linnet_lexicon *lexicon = linnet_word_lexicon(a->search, token, &word);
  return !linnet_word_is_loop(tree, a->node) && own == (token > tree->unknown) &&
         linnet_word_tree_leads(tree, lexicon, a->node, word);
}

/* A phrase of hotwords gives a part of its weight after each word. So that its next word is not preferred to all others
 * until it ends, a position loses this part as soon as it can no longer become that word. */
double linnet_word_look(const struct linnet_word_search *s, struct linnet_word_position position) {
  const struct linnet_hotwords *hotwords = s->history.hotwords;
  const double look = linnet_word_node_at(&s->tree, position.node)->look;
  if (!hotwords || linnet_word_is_between(&s->tree, position.node))
    return look;
  const uint32_t state = s->history.items[position.history].hotword_state;
  if (state == LINNET_HOTWORDS_START)
    return look;
  struct linnet_word_ahead *found = &s->aheads[linnet_pair_hash(state, position.node) & (LINNET_WORD_AHEADS - 1)];
  if (found->state != state || found->node != position.node) {
    const struct ahead ahead = {s, position.node};
    *found = (struct linnet_word_ahead){
        state, position.node, exp(linnet_hotwords_ahead(hotwords, s->history.most_pending, state, leads, &ahead))};
  }
  return look * found->factor;
}

double linnet_word_weight_of(const struct linnet_word_search *s, struct linnet_word_position to, uint32_t from) {
  static const double highest = 0x1p1000;
  const struct linnet_word_state *state = &s->now->states[from];
  double factor = state->position.history == to.history ? 1.0 : s->history.items[to.history].factor;
  double weight = s->now->weight[from] / state->look * factor * linnet_word_look(s, to);
  return weight < highest ? weight : highest;
}

/* Values of the table are indices of states, or this. */
static const uint32_t CANDIDATE = LINNET_NO_STATE - 1;

/* --- the states of the beam as they are --------------------------------------------------------------------------- */

static void score_unchanged(const struct linnet_word_step *f) {
  struct linnet_word_search *s = f->search;
  const struct linnet_beam_side *now = s->now;
  for (size_t i = 0; i < now->count; i++)
    s->unchanged.factor[i] = linnet_row_exponent(&f->row, now->states[i].symbol);
  linnet_exp_array(s->unchanged.factor, s->unchanged.factor, now->count);
  for (size_t i = 0; i < now->count; i++) {
    const struct linnet_word_state *state = &now->states[i];
    s->unchanged.inflow[i] = s->unchanged.factor[i] > 0 ? inflow_of(s, state) : 0.0;
    s->unchanged.symbol[i] = linnet_row_floor((now->symbol[i] + s->unchanged.inflow[i]) * s->unchanged.factor[i]);
    s->unchanged.blank[i] = linnet_row_floor((now->blank[i] + now->symbol[i]) * f->row.blank);
  }
}

/* The states as they are become the first candidates. Sets the score that further candidates must reach. */
static void add_unchanged(struct linnet_word_step *f) {
  const struct linnet_word_search *s = f->search;
  double best = 0, worst = INFINITY;
  for (size_t i = 0; i < s->now->count; i++) {
    double score = (s->unchanged.blank[i] + s->unchanged.symbol[i]) * s->now->weight[i];
    best = score > best ? score : best;
    worst = score < worst ? score : worst;
    s->candidates[i] = (struct linnet_candidate){score, 0, (uint32_t)i};
  }
  f->count = s->now->count;
  f->to_beat = best * s->score_ratio;
  if (f->count == s->beam && worst > f->to_beat)
    f->to_beat = worst;
}

/* --- new states --------------------------------------------------------------------------------------------------- */

void linnet_word_fill_table(struct linnet_word_search *s) {
  linnet_pair_table_empty(&s->table);
  for (uint32_t i = 0; i < s->now->count; i++)
    linnet_pair_table_put(&s->table, s->now->states[i].position.history, s->now->states[i].position.node, i);
}

/* The list of candidates is full: keeps the best `beam` of them and their positions. */
static void shrink(struct linnet_word_step *f) {
  struct linnet_word_search *s = f->search;
  struct linnet_word_position *positions = s->spare;
  f->count = linnet_candidates_rank(s->candidates, f->count, s->beam);
  f->position_count = 0;
  for (size_t i = 0; i < f->count; i++)
    if (s->candidates[i].symbol > 0) {
      positions[f->position_count] = s->positions[s->candidates[i].parent];
      s->candidates[i].parent = (uint32_t)f->position_count++;
    }
  s->spare = s->positions;
  s->positions = positions;
  linnet_word_fill_table(s); /* removes the other candidates */
  for (size_t i = 0; i < f->position_count; i++)
    linnet_pair_table_put(&s->table, positions[i].history, positions[i].node, CANDIDATE);
  double worst = s->candidates[f->count - 1].score;
  f->to_beat = worst > f->to_beat ? worst : f->to_beat;
}

static void add_candidate(struct linnet_word_step *f, double score, struct linnet_word_position position) {
  struct linnet_word_search *s = f->search;
  if (f->count == s->max_candidates)
    shrink(f);
  linnet_pair_table_put(&s->table, position.history, position.node, CANDIDATE);
  s->positions[f->position_count] = position;
  s->candidates[f->count++] = (struct linnet_candidate){score, ++f->serial, (uint32_t)f->position_count++};
}

/* Tries a position that a state leads to. It becomes a candidate if it is not in the beam or a candidate already, and
 * if its score over all sources is high enough. */
static void try_position(struct linnet_word_step *f, struct linnet_word_position to, uint32_t from) {
  struct linnet_word_search *s = f->search;
  if (linnet_pair_table_find(&s->table, to.history, to.node) != LINNET_NO_PAIR)
    return;
  uint32_t symbol = linnet_word_node_at(&s->tree, to.node)->symbol;
  double probability = s->choice.probability[symbol];
  linnet_word_find_sources(s, to, from);
  double sum = linnet_word_inflow(s, to.node, symbol);
  double score = linnet_row_floor(sum * probability) * linnet_word_weight_of(s, to, from);
  if (score >= f->to_beat && score > 0)
    add_candidate(f, score, to);
}

/* The next phone of the same word. */
static void go_on(struct linnet_word_step *f, uint32_t from) {
  const struct linnet_word_search *s = f->search;
  struct linnet_word_position to = s->now->states[from].position;
  const struct linnet_word_state *state = &s->now->states[from];
  double per_look = s->now->score[from] / state->look;
  for (to.node = state->first_child; to.node < state->end_child; to.node++) {
    const struct linnet_word_node *child = linnet_word_node_at(&s->tree, to.node);
    double probability = s->choice.probability[child->symbol];
    if (per_look * child->look * probability >= f->to_beat && probability > 0)
      try_position(f, to, from);
  }
}

static void start_at(struct linnet_word_step *f, uint32_t from, struct linnet_word_position to, double reached) {
  const struct linnet_word_tree *tree = &f->search->tree;
  if (to.node != 0 &&
      reached * linnet_word_node_at(tree, to.node)->look * linnet_word_arrive(tree, to.node) >= f->to_beat)
    try_position(f, to, from);
}

/* Tries all positions where a word or a silence starts after the sequence `history`, which is that of the state or one
 * word longer. `score` is that of the state with this sequence, without lookahead. */
static void start(struct linnet_word_step *f, uint32_t from, uint32_t history, double score) {
  const struct linnet_word_search *s = f->search;
  const struct linnet_word_tree *branch = s->tree.branch;
  for (size_t i = 0; i < s->choice.count; i++) {
    uint32_t symbol = s->choice.chosen[i].symbol;
    const size_t first = symbol * LINNET_WORD_STARTS;
    double reached = score * s->choice.probability[symbol];
    if (reached * s->tree.max_start < f->to_beat)
      return;
    for (size_t k = 0; k < LINNET_WORD_STARTS; k++)
      start_at(f, from, (struct linnet_word_position){history, s->tree.starts[first + k]}, reached);
    if (branch)
      start_at(f, from, (struct linnet_word_position){history, branch->starts[first]}, reached);
  }
}

/* The next symbol of the same unknown word. */
static void go_on_unknown(struct linnet_word_step *f, uint32_t from) {
  const struct linnet_word_search *s = f->search;
  double score = s->now->score[from] * s->tree.arrive;
  for (size_t i = 0; i < s->choice.count; i++) {
    uint32_t symbol = s->choice.chosen[i].symbol, node = s->tree.starts[symbol * LINNET_WORD_STARTS + 2];
    if (score * s->choice.probability[symbol] < f->to_beat)
      return;
    if (node != 0)
      try_position(f, (struct linnet_word_position){s->now->states[from].position.history, node}, from);
  }
}

/* --- leaving words ------------------------------------------------------------------------------------------------ */

/* The score of a state without lookahead. */
static double bare_score(const struct linnet_word_search *s, uint32_t state) {
  return s->now->score[state] / s->now->states[state].look;
}

static void find_leave(struct linnet_word_search *s, struct linnet_word_state *state) {
  size_t count;
  state->leave = 0;
  const uint32_t *tokens = linnet_word_ends(&s->tree, state->position.node, &count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t longer = linnet_history_child(&s->history, state->position.history, tokens[i]);
    state->leave = fmax(state->leave,
                        s->history.items[longer].factor * linnet_pronunciation_factor(&s->tree, state->first_word + i));
  }
}

/* Finds `leave` of the states whose words could be followed now, given the probability of the best symbol: this asks
 * the language model. Other states do not need it yet. Returns the highest score of any continuation, without that
 * probability. */
static double find_leaves(const struct linnet_word_step *f, double best_symbol) {
  struct linnet_word_search *s = f->search;
  double best = s->now->score[0], max_start = s->tree.max_start;
  for (uint32_t i = 0; i < s->now->count; i++) {
    struct linnet_word_state *state = &s->now->states[i];
    double bare = bare_score(s, i) * max_start;
    if (linnet_word_is_between(&s->tree, state->position.node)) {
      best = fmax(best, bare);
      continue;
    }
    if (state->leave < 0 && bare * s->max_factor * best_symbol >= f->to_beat)
      find_leave(s, state);
    best = fmax(best, bare * state->leave);
  }
  return best;
}

static void leave(struct linnet_word_step *f, uint32_t from) {
  struct linnet_word_search *s = f->search;
  const struct linnet_word_state *state = &s->now->states[from];
  double bare = bare_score(s, from);
  size_t count;
  const uint32_t *tokens = linnet_word_ends(&s->tree, state->position.node, &count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t longer = linnet_history_child(&s->history, state->position.history, tokens[i]);
    start(f, from, longer,
          bare * s->history.items[longer].factor * linnet_pronunciation_factor(&s->tree, state->first_word + i));
  }
}

static double best_symbol(const struct linnet_row *row, size_t symbols) {
  float best = -INFINITY;
  for (size_t v = 1; v < symbols && row->values; v++)
    best = linnet_row_sane(row->values[v]) > best ? row->values[v] : best;
  double exponent = (double)best - (double)row->largest, probability;
  linnet_exp_array(&exponent, &probability, 1);
  return probability;
}

static void expand(struct linnet_word_step *f, uint32_t from, double probability) {
  const struct linnet_word_search *s = f->search;
  const struct linnet_word_state *state = &s->now->states[from];
  bool good = s->now->score[from] * probability >= f->to_beat;
  if (linnet_word_is_between(&s->tree, state->position.node)) {
    start(f, from, state->position.history, bare_score(s, from));
    return;
  }
  if (good && linnet_word_is_loop(&s->tree, state->position.node))
    go_on_unknown(f, from);
  else if (good)
    go_on(f, from);
  if (state->leave > 0 && bare_score(s, from) * state->leave * s->tree.max_start * probability >= f->to_beat)
    leave(f, from);
}

static void expand_all(struct linnet_word_step *f) {
  struct linnet_word_search *s = f->search;
  double probability = best_symbol(&f->row, s->choice.symbols);
  for (size_t i = 0; i < s->choice.count; i++) /* clears the previous frame's */
    s->choice.probability[s->choice.chosen[i].symbol] = 0;
  double best = find_leaves(f, probability);
  linnet_row_choose(&f->row, &s->choice, f->to_beat / best);
  for (uint32_t i = 0; i < s->now->count && s->choice.count > 0; i++)
    expand(f, i, probability);
}

/* --- which stay --------------------------------------------------------------------------------------------------- */

static struct linnet_word_position position_of(const struct linnet_word_search *s, const struct linnet_candidate *c) {
  return c->symbol == 0 ? s->now->states[c->parent].position : s->positions[c->parent];
}

/* Whether a better candidate has the same future. If not, this one is entered into the table with its `index` in the
 * next beam. */
static bool recombines(struct linnet_word_search *s, const struct linnet_candidate *c, uint32_t index) {
  struct linnet_word_position position = position_of(s, c);
  uint64_t hash = linnet_history_hash(&s->history, position.history);
  uint32_t better = linnet_pair_table_find(&s->recombined, hash, position.node);
  if (better == LINNET_NO_PAIR) {
    linnet_pair_table_put(&s->recombined, hash, position.node, index);
    return false;
  }
  return linnet_history_same(&s->history, position.history, position_of(s, &s->candidates[better]).history);
}

/* Sorts the best candidates, without those that are too far below the best, impossible, or recombined with a better
 * one. Returns their number. */
static size_t rank(struct linnet_word_step *f) {
  struct linnet_word_search *s = f->search;
  size_t kept = 0, ranked = 0;
  linnet_pair_table_empty(&s->recombined);
  while (kept < s->beam && ranked < f->count) {
    size_t end = ranked + linnet_candidates_rank(s->candidates + ranked, f->count - ranked, s->beam - kept);
    double lowest = s->candidates[0].score * s->score_ratio;
    for (; ranked < end; ranked++) {
      const struct linnet_candidate *c = &s->candidates[ranked];
      if (c->score < lowest || !(c->score > 0))
        return kept;
      if (!s->recombine || !recombines(s, c, (uint32_t)kept))
        s->candidates[kept++] = *c;
    }
  }
  return kept;
}

size_t linnet_word_expand(struct linnet_word_step *f) {
  score_unchanged(f);
  add_unchanged(f);
  expand_all(f);
  return rank(f);
}
