/* How the states of the search for words follow one another. */
#include "decoder/words/word_step.h"

uint32_t linnet_word_first_state(const struct linnet_word_search *s, uint32_t history) {
  const struct linnet_trie_node *node = linnet_history_at(&s->history, history);
  return node->stamp == s->frames + 1 ? node->entry : LINNET_NO_STATE;
}

static bool ends_word(const struct linnet_word_search *s, const struct linnet_word_state *state, uint32_t token) {
  if (state->token == token)
    return true;
  for (uint32_t i = 1; i < state->num_words; i++)
    if (s->tree.words[state->first_word + i] == token)
      return true;
  return false;
}

/* The states of the beam from which a place between words, or at the start of one, is reached with the words it has:
 * silences, and in the loop the symbols before. */
static void add_sources_within(struct linnet_word_search *s, uint32_t history, bool loop) {
  const struct linnet_word_state *states = s->now->states;
  for (uint32_t i = linnet_word_first_state(s, history); i != LINNET_NO_STATE; i = states[i].next)
    if (linnet_word_is_between(&s->tree, states[i].place.node) ||
        (loop && linnet_word_is_loop(&s->tree, states[i].place.node)))
      s->sources.states[s->sources.count++] = i;
}

/* Those from which it is reached by adding the last word. */
static void add_sources_before(struct linnet_word_search *s, uint32_t history) {
  const struct linnet_trie_node *node = linnet_history_at(&s->history, history);
  const struct linnet_word_state *states = s->now->states;
  if (history == LINNET_TRIE_ROOT)
    return;
  for (uint32_t i = linnet_word_first_state(s, node->parent); i != LINNET_NO_STATE; i = states[i].next)
    if (ends_word(s, &states[i], node->symbol))
      s->sources.states[s->sources.count++] = i;
}

void linnet_word_find_sources(struct linnet_word_search *s, struct linnet_word_place to, uint32_t parent) {
  struct linnet_word_sources *sources = &s->sources;
  bool start = s->tree.nodes[to.node].parent == LINNET_WORD_ROOT, loop = linnet_word_is_loop(&s->tree, to.node);
  if (start && sources->frame == s->frames + 1 && sources->history == to.history && sources->loop == loop)
    return;
  sources->frame = start ? s->frames + 1 : 0;
  sources->history = to.history;
  sources->loop = loop;
  sources->count = 0;
  if (start) {
    add_sources_within(s, to.history, loop);
    add_sources_before(s, to.history);
  } else if (parent != LINNET_NO_STATE) {
    sources->states[sources->count++] = parent;
  }
}

/* Probability of a state's alignments that a symbol may follow: where it repeats the state's, those in the blank. */
static inline double outflow(const struct linnet_word_side *now, uint32_t from, uint32_t symbol) {
  return now->blank[from] + (now->states[from].symbol == symbol ? 0.0 : now->symbol[from]);
}

double linnet_word_inflow(const struct linnet_word_search *s, uint32_t node, uint32_t symbol) {
  double sum = 0;
  for (size_t i = 0; i < s->sources.count; i++)
    sum += outflow(s->now, s->sources.states[i], symbol);
  return sum * linnet_word_arrive(&s->tree, node);
}

double linnet_word_inflow_of(struct linnet_word_search *s, const struct linnet_word_state *state) {
  if (state->parent != LINNET_NO_STATE)
    return outflow(s->now, state->parent, state->symbol);
  if (s->tree.nodes[state->place.node].parent != LINNET_WORD_ROOT)
    return 0;
  linnet_word_find_sources(s, state->place, state->parent);
  return linnet_word_inflow(s, state->place.node, state->symbol);
}

double linnet_word_weight_of(const struct linnet_word_search *s, struct linnet_word_place to, uint32_t from) {
  static const double highest = 0x1p1000;
  const struct linnet_word_state *state = &s->now->states[from];
  double factor = state->place.history == to.history ? 1.0 : s->history.items[to.history].factor;
  double weight = s->now->weight[from] / state->look * factor * s->tree.nodes[to.node].look;
  return weight < highest ? weight : highest;
}
