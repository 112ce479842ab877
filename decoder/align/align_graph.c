/* Builds the graph of an alignment: measures it first, so that each array is allocated once, then adds word by word. */
#include "decoder/align/alignment.h"

#include <math.h>
#include <string.h>

/* --- sizes -------------------------------------------------------------------------------------------------------- */

static size_t states_of(const struct linnet_align_word *word) {
  size_t states = 0;
  for (size_t v = 0; v < word->num_variants; v++)
    states += 2 * word->variants[v].num_labels - 1;
  return states;
}

/* Maximum number of arcs that a word needs: from its anchor to its variants, from these to the next anchor, and from
 * the variants of the word `before` (NULL for the first word) to its own. */
static size_t arcs_of(const struct linnet_align_word *before, const struct linnet_align_word *word) {
  return 2 * word->num_variants + (before ? before->num_variants * word->num_variants : 0);
}

static enum linnet_status measure(struct linnet_align_graph *graph, const struct linnet_align_word *words,
                                  size_t *arcs) {
  graph->count = 1;
  *arcs = 0;
  for (size_t w = 0; w < graph->words && graph->count <= LINNET_ALIGN_MAX_STATES; w++) {
    graph->count += states_of(&words[w]) + 1;
    *arcs += arcs_of(w > 0 ? &words[w - 1] : NULL, &words[w]);
  }
  if (graph->count > LINNET_ALIGN_MAX_STATES)
    return linnet_fail(graph->context, LINNET_ERROR_LIMIT,
                       "the text has more than %d states (about two per phone): align it in pieces",
                       LINNET_ALIGN_MAX_STATES);
  return LINNET_OK;
}

static enum linnet_status reserve(struct linnet_align_graph *graph, size_t arcs) {
  struct linnet_context *context = graph->context;
  graph->state = linnet_calloc(context, graph->count, sizeof *graph->state);
  graph->step = linnet_alloc(context, graph->count, sizeof *graph->step);
  graph->skip = linnet_alloc(context, graph->count, sizeof *graph->skip);
  graph->arc = linnet_alloc(context, arcs, sizeof *graph->arc);
  graph->anchor = linnet_alloc(context, graph->words + 1, sizeof *graph->anchor);
  return graph->state && graph->step && graph->skip && graph->arc && graph->anchor
             ? LINNET_OK
             : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a text of %zu words", graph->words);
}

/* --- states and steps --------------------------------------------------------------------------------------------- */

/* Allows from -> to. Arcs must come in the order of `to`. */
static void connect(struct linnet_align_graph *graph, size_t from, size_t to) {
  if (from + 1 == to)
    graph->step[to] = 0;
  else if (from + 2 == to)
    graph->skip[to] = 0;
  else
    graph->arc[graph->num_arcs++] = (struct linnet_align_arc){(uint32_t)from, (uint32_t)to};
}

static bool differ(const struct linnet_align_graph *graph, size_t a, size_t b) {
  return graph->state[a].symbol != graph->state[b].symbol;
}

/* Connects to `to` those last states of the variants of a word that `to` may follow. `first` is the first state of the
 * word. */
static void connect_ends(struct linnet_align_graph *graph, const struct linnet_align_word *word, size_t first,
                         size_t to) {
  for (size_t v = 0; v < word->num_variants; v++) {
    size_t next = first + 2 * word->variants[v].num_labels - 1;
    if (differ(graph, next - 1, to))
      connect(graph, next - 1, to);
    first = next;
  }
}

/* Adds the labels of a variant and the blanks between them; returns the next free state. */
static size_t add_chain(struct linnet_align_graph *graph, const struct linnet_pronunciation *variant, size_t first) {
  for (size_t i = 0; i < 2 * variant->num_labels - 1; i++) {
    graph->state[first + i].symbol = i % 2 ? 0 : variant->labels[i / 2];
    if (i > 0)
      connect(graph, first + i - 1, first + i);
    if (i > 1 && i % 2 == 0 && differ(graph, first + i - 2, first + i))
      connect(graph, first + i - 2, first + i);
  }
  return first + 2 * variant->num_labels - 1;
}

/* Word w, and the anchor after it. */
static void add_word(struct linnet_align_graph *graph, const struct linnet_align_word *words, size_t w) {
  size_t anchor = graph->anchor[w], next = anchor + 1;
  for (size_t v = 0; v < words[w].num_variants; v++) {
    size_t first = next;
    next = add_chain(graph, &words[w].variants[v], first);
    for (size_t s = first; s < next; s++) {
      graph->state[s].word = (uint32_t)w;
      graph->state[s].variant = (uint32_t)v;
    }
    if (w > 0)
      connect_ends(graph, &words[w - 1], graph->anchor[w - 1] + 1, first);
    connect(graph, anchor, first);
  }
  graph->anchor[w + 1] = (uint32_t)next;
  graph->state[next].word = (uint32_t)(w + 1);
  connect_ends(graph, &words[w], anchor + 1, next);
}

/* --- the fewest frames -------------------------------------------------------------------------------------------- */

static uint32_t smaller(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Sets frames[s] to the number of frames of the shortest path that ends in s. A first label needs one frame, with or
 * without the anchor. */
static enum linnet_status count_min_frames(struct linnet_align_graph *graph) {
  uint32_t *frames = linnet_alloc(graph->context, graph->count, sizeof *frames);
  if (!frames)
    return linnet_fail(graph->context, LINNET_ERROR_MEMORY, "out of memory for a text of %zu words", graph->words);
  size_t arc = 0;
  frames[0] = 0;
  for (size_t s = 1; s < graph->count; s++) {
    uint32_t before = graph->step[s] == 0 ? frames[s - 1] : UINT32_MAX;
    if (s > 1 && graph->skip[s] == 0)
      before = smaller(before, frames[s - 2]);
    for (; arc < graph->num_arcs && graph->arc[arc].to == s; arc++)
      before = smaller(before, frames[graph->arc[arc].from]);
    frames[s] = before + 1;
  }
  graph->min_frames = SIZE_MAX;
  for (size_t s = graph->words > 0 ? graph->anchor[graph->words - 1] + 1 : 0; s < graph->count; s++)
    if (linnet_align_graph_is_final(graph, s) && frames[s] < graph->min_frames)
      graph->min_frames = frames[s];
  linnet_free(graph->context, frames);
  return LINNET_OK;
}

/* ------------------------------------------------------------------------------------------------------------------ */

enum linnet_status linnet_align_graph_build(struct linnet_context *context, const struct linnet_align_word *words,
                                            size_t count, struct linnet_align_graph *graph) {
  *graph = (struct linnet_align_graph){.context = context, .words = count};
  size_t arcs;
  enum linnet_status status = measure(graph, words, &arcs);
  if (status == LINNET_OK)
    status = reserve(graph, arcs);
  if (status == LINNET_OK) {
    for (size_t s = 0; s < graph->count; s++)
      graph->step[s] = graph->skip[s] = -INFINITY;
    graph->anchor[0] = 0;
    for (size_t w = 0; w < count; w++)
      add_word(graph, words, w);
    status = count_min_frames(graph);
  }
  if (status != LINNET_OK)
    linnet_align_graph_clear(graph);
  return status;
}

void linnet_align_graph_clear(struct linnet_align_graph *graph) {
  linnet_free(graph->context, graph->state);
  linnet_free(graph->context, graph->step);
  linnet_free(graph->context, graph->skip);
  linnet_free(graph->context, graph->arc);
  linnet_free(graph->context, graph->anchor);
  *graph = (struct linnet_align_graph){.context = graph->context};
}

size_t linnet_align_graph_first_arc(const struct linnet_align_graph *graph, size_t state) {
  size_t low = 0, high = graph->num_arcs;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (graph->arc[middle].to < state)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool linnet_align_graph_is_final(const struct linnet_align_graph *graph, size_t state) {
  size_t last = graph->count - 1;
  if (state == last || graph->words == 0)
    return state == last;
  if ((state + 1 == last && graph->step[last] == 0) || (state + 2 == last && graph->skip[last] == 0))
    return true;
  for (size_t a = linnet_align_graph_first_arc(graph, last); a < graph->num_arcs; a++)
    if (graph->arc[a].from == state)
      return true;
  return false;
}
