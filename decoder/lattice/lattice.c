/* The object of a lattice: adding states, arcs and paths. */
#include "decoder/lattice/lattice.h"

#include <math.h>
#include <string.h>

#define MAX_SCORE 1e30 /* sums of these are finite */

enum linnet_status linnet_lattice_create(struct linnet_context *context, struct linnet_lattice **lattice) {
  if (lattice)
    *lattice = NULL;
  if (!context || !lattice)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_lattice_create: an argument is NULL");
  *lattice = linnet_calloc(context, 1, sizeof **lattice);
  if (!*lattice)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a lattice");
  (*lattice)->context = context;
  linnet_lattice_reset(*lattice);
  return LINNET_OK;
}

void linnet_lattice_reset(struct linnet_lattice *lattice) {
  lattice->graph.state_count = lattice->graph.num_arcs = lattice->last_count = 0;
  lattice->max_arcs = LINNET_LATTICE_MAX;
  lattice->finished = lattice->failed = false;
}

static void release_graph(struct linnet_context *context, struct linnet_lattice_graph *graph) {
  linnet_free(context, graph->states);
  linnet_free(context, graph->arcs);
}

void linnet_lattice_destroy(struct linnet_lattice *lattice) {
  if (!lattice)
    return;
  release_graph(lattice->context, &lattice->graph);
  release_graph(lattice->context, &lattice->spare);
  linnet_free(lattice->context, lattice->last);
  linnet_free(lattice->context, lattice->paths);
  linnet_free(lattice->context, lattice->segments);
  linnet_free(lattice->context, lattice->nearest);
  linnet_free(lattice->context, lattice);
}

/* --- graphs ------------------------------------------------------------------------------------------------------- */

static enum linnet_status too_large(struct linnet_lattice *lattice, const char *what, size_t count) {
  return linnet_fail(lattice->context, LINNET_ERROR_LIMIT,
                     "the lattice has more than %zu %s: prune the search more (fewer hypotheses, a lower threshold)",
                     count, what);
}

enum linnet_status linnet_graph_add_state(struct linnet_lattice *lattice, struct linnet_lattice_graph *graph,
                                          size_t frame) {
  if (graph->state_count == LINNET_LATTICE_MAX)
    return too_large(lattice, "states", LINNET_LATTICE_MAX);
  struct linnet_lattice_state *grown =
      linnet_grow(lattice->context, graph->states, &graph->state_capacity, graph->state_count + 1, sizeof *grown);
  if (!grown)
    return linnet_fail(lattice->context, LINNET_ERROR_MEMORY, "out of memory for a lattice of %zu states",
                       graph->state_count);
  graph->states = grown;
  grown[graph->state_count++] = (struct linnet_lattice_state){.frame = frame};
  return LINNET_OK;
}

enum linnet_status linnet_graph_add_arc(struct linnet_lattice *lattice, struct linnet_lattice_graph *graph,
                                        const struct linnet_lattice_arc *arc) {
  if (graph->num_arcs >= lattice->max_arcs)
    return too_large(lattice, "arcs", lattice->max_arcs);
  struct linnet_lattice_arc *grown =
      linnet_grow(lattice->context, graph->arcs, &graph->arc_capacity, graph->num_arcs + 1, sizeof *grown);
  if (!grown)
    return linnet_fail(lattice->context, LINNET_ERROR_MEMORY, "out of memory for a lattice of %zu arcs",
                       graph->num_arcs);
  graph->arcs = grown;
  grown[graph->num_arcs++] = *arc;
  return LINNET_OK;
}

void linnet_lattice_swap(struct linnet_lattice *lattice) {
  struct linnet_lattice_graph graph = lattice->graph;
  lattice->graph = lattice->spare;
  lattice->spare = graph;
}

void linnet_lattice_offer_final(struct linnet_lattice_state *state, struct linnet_lattice_weight weight) {
  if (state->is_final && linnet_weight_score(linnet_final_weight(state)) >= linnet_weight_score(weight))
    return;
  state->is_final = 1;
  state->acoustic = weight.acoustic;
  state->language = weight.language;
}

/* --- filling ------------------------------------------------------------------------------------------------------ */

static enum linnet_status check_open(const struct linnet_lattice *lattice) {
  if (!lattice)
    return LINNET_ERROR_ARGUMENT;
  if (lattice->finished)
    return linnet_fail(lattice->context, LINNET_ERROR_STATE,
                       "the lattice was finished: call linnet_lattice_reset first");
  return LINNET_OK;
}

static enum linnet_status check_scores(const struct linnet_lattice *lattice, double acoustic, double language) {
  if (fabs(acoustic) <= MAX_SCORE && fabs(language) <= MAX_SCORE)
    return LINNET_OK;
  return linnet_fail(lattice->context, LINNET_ERROR_ARGUMENT,
                     "the scores of a lattice are %g and %g; they must be -%g to %g", acoustic, language, MAX_SCORE,
                     MAX_SCORE);
}

enum linnet_status linnet_lattice_add_state(struct linnet_lattice *lattice, size_t frame, size_t *state) {
  LINNET_TRY(check_open(lattice));
  LINNET_TRY(linnet_graph_add_state(lattice, &lattice->graph, frame));
  if (state)
    *state = lattice->graph.state_count - 1;
  return LINNET_OK;
}

enum linnet_status linnet_lattice_add_arc(struct linnet_lattice *lattice, size_t from, size_t to, int symbol,
                                          double acoustic, double language) {
  LINNET_TRY(check_open(lattice));
  LINNET_TRY(check_scores(lattice, acoustic, language));
  size_t states = lattice->graph.state_count;
  if (from >= states || to >= states || symbol < 0)
    return linnet_fail(
        lattice->context, LINNET_ERROR_ARGUMENT,
        "linnet_lattice_add_arc: an arc from %zu to %zu with symbol %d is not possible in a lattice of %zu states",
        from, to, symbol, states);
  const struct linnet_lattice_arc arc = {from, to, symbol, acoustic, language};
  lattice->last_count = 0; /* the caller may add other paths to its states now */
  return linnet_graph_add_arc(lattice, &lattice->graph, &arc);
}

enum linnet_status linnet_lattice_add_final(struct linnet_lattice *lattice, size_t state, double acoustic,
                                            double language) {
  LINNET_TRY(check_open(lattice));
  LINNET_TRY(check_scores(lattice, acoustic, language));
  if (state >= lattice->graph.state_count)
    return linnet_fail(lattice->context, LINNET_ERROR_ARGUMENT,
                       "linnet_lattice_add_final: state %zu is out of range; there are %zu states", state,
                       lattice->graph.state_count);
  linnet_lattice_offer_final(&lattice->graph.states[state], (struct linnet_lattice_weight){acoustic, language});
  return LINNET_OK;
}

/* Replaces the last path by this one; both share the states of their common beginning. */
static enum linnet_status extend_last(struct linnet_lattice *lattice, const struct linnet_segment *segments,
                                      size_t count) {
  size_t i = 0;
  while (i < count && i < lattice->last_count && lattice->last[i].symbol == segments[i].symbol)
    i++;
  for (lattice->last_count = i; i < count; lattice->last_count = ++i) {
    size_t from = i > 0 ? lattice->last[i - 1].state : 0, to;
    LINNET_TRY(linnet_lattice_add_state(lattice, segments[i].end, &to));
    const struct linnet_lattice_arc arc = {from, to, segments[i].symbol, 0, 0};
    LINNET_TRY(linnet_graph_add_arc(lattice, &lattice->graph, &arc));
    lattice->last[i] = (struct linnet_lattice_step){segments[i].symbol, to};
  }
  return LINNET_OK;
}

static enum linnet_status check_path(struct linnet_lattice *lattice, const struct linnet_segment *segments,
                                     size_t count) {
  LINNET_TRY(check_open(lattice));
  if (!segments && count > 0)
    return linnet_fail(lattice->context, LINNET_ERROR_ARGUMENT, "linnet_lattice_add_path: the segments are NULL");
  for (size_t i = 0; i < count; i++)
    if (segments[i].symbol < 0)
      return linnet_fail(lattice->context, LINNET_ERROR_ARGUMENT,
                         "linnet_lattice_add_path: symbol %d must be at least 0", segments[i].symbol);
  return LINNET_OK;
}

enum linnet_status linnet_lattice_add_path(struct linnet_lattice *lattice, const struct linnet_segment *segments,
                                           size_t count, double acoustic, double language) {
  LINNET_TRY(check_path(lattice, segments, count));
  if (lattice->graph.state_count == 0)
    LINNET_TRY(linnet_lattice_add_state(lattice, 0, NULL));
  struct linnet_lattice_step *grown =
      linnet_grow(lattice->context, lattice->last, &lattice->last_capacity, count + 1, sizeof *grown);
  if (!grown)
    return linnet_fail(lattice->context, LINNET_ERROR_MEMORY, "out of memory for a path of %zu symbols", count);
  lattice->last = grown;
  LINNET_TRY(extend_last(lattice, segments, count));
  return linnet_lattice_add_final(lattice, count > 0 ? grown[count - 1].state : 0, acoustic, language);
}

enum linnet_status linnet_lattice_add_beam(struct linnet_lattice *lattice, struct linnet_beam *beam) {
  LINNET_TRY(check_open(lattice));
  if (!beam)
    return linnet_fail(lattice->context, LINNET_ERROR_ARGUMENT, "linnet_lattice_add_beam: the beam is NULL");
  for (size_t i = 0; i < linnet_beam_num_hypotheses(beam); i++) {
    struct linnet_hypothesis h;
    LINNET_TRY(linnet_beam_hypothesis(beam, i, &h));
    if (isfinite(h.score))
      LINNET_TRY(linnet_lattice_add_path(lattice, h.segments, h.num_segments, h.acoustic, h.score - h.acoustic));
  }
  return LINNET_OK;
}

static enum linnet_status add_sentence(struct linnet_lattice *lattice, const struct linnet_word_hypothesis *h,
                                       struct linnet_segment *words) {
  for (size_t i = 0; i < h->num_words; i++)
    words[i] = (struct linnet_segment){.symbol = (int)h->words[i].token,
                                       .start = h->words[i].start,
                                       .end = h->words[i].end,
                                       .confidence = h->words[i].confidence};
  return linnet_lattice_add_path(lattice, words, h->num_words, h->acoustic, h->score - h->acoustic);
}

enum linnet_status linnet_lattice_add_words(struct linnet_lattice *lattice, struct linnet_word_search *search) {
  LINNET_TRY(check_open(lattice));
  if (!search)
    return linnet_fail(lattice->context, LINNET_ERROR_ARGUMENT, "linnet_lattice_add_words: the search is NULL");
  struct linnet_word_hypothesis h;
  size_t count = linnet_word_search_num_hypotheses(search), max_words = 0;
  if (count == 0)
    return linnet_fail(lattice->context, LINNET_ERROR_MEMORY, "out of memory for ranking hypotheses");
  for (size_t i = 0; i < count; i++) {
    LINNET_TRY(linnet_word_search_hypothesis(search, i, &h));
    max_words = h.num_words > max_words ? h.num_words : max_words;
  }
  struct linnet_segment *words = linnet_alloc(lattice->context, max_words + 1, sizeof *words);
  enum linnet_status status =
      words ? LINNET_OK
            : linnet_fail(lattice->context, LINNET_ERROR_MEMORY, "out of memory for a path of %zu words", max_words);
  for (size_t i = 0; i < count && status == LINNET_OK; i++)
    if ((status = linnet_word_search_hypothesis(search, i, &h)) == LINNET_OK && isfinite(h.score))
      status = add_sentence(lattice, &h, words);
  linnet_free(lattice->context, words);
  return status;
}

/* --- contents ----------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_lattice_check_finished(const struct linnet_lattice *lattice, const char *caller) {
  if (!lattice->finished)
    return linnet_fail(lattice->context, LINNET_ERROR_STATE, "%s: finish the lattice first", caller);
  if (lattice->failed)
    return linnet_fail(lattice->context, LINNET_ERROR_STATE,
                       "%s: linnet_lattice_finish has failed: call linnet_lattice_reset first", caller);
  return LINNET_OK;
}

const struct linnet_lattice_state *linnet_lattice_states(const struct linnet_lattice *lattice, size_t *count) {
  *count = lattice->graph.state_count;
  return lattice->graph.states;
}

const struct linnet_lattice_arc *linnet_lattice_arcs(const struct linnet_lattice *lattice, size_t *count) {
  *count = lattice->graph.num_arcs;
  return lattice->graph.arcs;
}

double linnet_lattice_posterior(const struct linnet_lattice *lattice, size_t arc) {
  if (!lattice->finished || arc >= lattice->graph.num_arcs)
    return 0;
  const struct linnet_lattice_arc *a = &lattice->graph.arcs[arc];
  const struct linnet_lattice_state *states = lattice->graph.states;
  double share = exp(states[a->from].forward + a->acoustic + a->language + states[a->to].backward - states[0].backward);
  return share < 1 ? share : 1;
}
