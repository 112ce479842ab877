/* The best paths of a lattice, by A*. Its estimate, the best path from a state to an end, is exact. So paths are
 * completed in the order of their scores, and no partial path is expanded without need (Hart, Nilsson and Raphael
 * 1968). */
#include "decoder/lattice/lattice.h"

#define NO_PARTIAL UINT32_MAX

/* A path from the start, without its last part. */
struct partial {
  struct linnet_lattice_weight weight;
  uint32_t parent; /* the path without its last arc, or NO_PARTIAL */
  uint32_t arc;    /* its last arc; of the start unused */
  uint32_t state;  /* where it ends */
  uint32_t length;
  bool complete; /* with the final score */
};

struct paths {
  struct linnet_lattice *lattice;
  struct partial *partials;
  size_t count, capacity;
  struct linnet_keyed_score {
    double score;
    uint32_t partial;
  } * heap; /* the best first; among equal scores the older one */
  size_t heap_count, heap_capacity;
  size_t path_count, num_segments;
};

static enum linnet_status out_of_memory(const struct paths *p) {
  return linnet_fail(p->lattice->context, LINNET_ERROR_MEMORY, "out of memory for %zu paths of a lattice",
                     p->path_count + 1);
}

/* --- the heap ----------------------------------------------------------------------------------------------------- */

static bool before(const struct linnet_keyed_score *a, const struct linnet_keyed_score *b) {
  return a->score > b->score || (!(a->score < b->score) && a->partial < b->partial);
}

static void rise(struct paths *p, size_t i) {
  struct linnet_keyed_score moved = p->heap[i];
  for (; i > 0 && before(&moved, &p->heap[(i - 1) / 2]); i = (i - 1) / 2)
    p->heap[i] = p->heap[(i - 1) / 2];
  p->heap[i] = moved;
}

static void sink(struct paths *p) {
  struct linnet_keyed_score moved = p->heap[0];
  size_t i = 0, child;
  while ((child = 2 * i + 1) < p->heap_count) {
    if (child + 1 < p->heap_count && before(&p->heap[child + 1], &p->heap[child]))
      child++;
    if (!before(&p->heap[child], &moved))
      break;
    p->heap[i] = p->heap[child];
    i = child;
  }
  p->heap[i] = moved;
}

static uint32_t pop(struct paths *p) {
  uint32_t best = p->heap[0].partial;
  p->heap[0] = p->heap[--p->heap_count];
  if (p->heap_count > 0)
    sink(p);
  return best;
}

static enum linnet_status push(struct paths *p, const struct partial *partial) {
  const struct linnet_lattice_state *state = &p->lattice->graph.states[partial->state];
  struct partial *partials =
      linnet_grow(p->lattice->context, p->partials, &p->capacity, p->count + 1, sizeof *partials);
  p->partials = partials ? partials : p->partials;
  struct linnet_keyed_score *heap =
      linnet_grow(p->lattice->context, p->heap, &p->heap_capacity, p->heap_count + 1, sizeof *heap);
  p->heap = heap ? heap : p->heap;
  if (!partials || !heap || p->count >= NO_PARTIAL)
    return out_of_memory(p);
  p->heap[p->heap_count] = (struct linnet_keyed_score){
      linnet_weight_score(partial->weight) + (partial->complete ? 0 : state->best_backward), (uint32_t)p->count};
  p->partials[p->count++] = *partial;
  rise(p, p->heap_count++);
  return LINNET_OK;
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

static enum linnet_status expand(struct paths *p, uint32_t index) {
  const struct linnet_lattice_graph *g = &p->lattice->graph;
  const struct partial from = p->partials[index];
  const struct linnet_lattice_state *s = &g->states[from.state];
  for (size_t i = s->first_arc; i < s->first_arc + s->num_arcs; i++) {
    const struct partial next = {linnet_weight_times(from.weight, linnet_arc_weight(&g->arcs[i])),
                                 index,
                                 (uint32_t)i,
                                 (uint32_t)g->arcs[i].to,
                                 from.length + 1,
                                 false};
    LINNET_TRY(push(p, &next));
  }
  if (!s->is_final)
    return LINNET_OK;
  struct partial end = from;
  end.weight = linnet_weight_times(end.weight, linnet_final_weight(s));
  end.complete = true;
  return push(p, &end);
}

/* Segments of a complete path, at `segments` (length). */
static void fill_segments(const struct paths *p, const struct partial *end, struct linnet_segment *segments) {
  const struct linnet_lattice_graph *g = &p->lattice->graph;
  const struct partial *at = end;
  for (size_t i = end->length; i-- > 0; at = &p->partials[at->parent]) {
    const struct linnet_lattice_arc *arc = &g->arcs[at->arc];
    segments[i] = (struct linnet_segment){arc->symbol, g->states[arc->from].frame, g->states[arc->to].frame,
                                          (float)linnet_lattice_posterior(p->lattice, at->arc)};
    if (segments[i].start > segments[i].end) /* merged states have the times of the better path */
      segments[i].start = segments[i].end;
  }
}

static enum linnet_status take_path(struct paths *p, uint32_t index) {
  struct linnet_lattice *l = p->lattice;
  const struct partial *end = &p->partials[index];
  struct linnet_lattice_path *paths =
      linnet_grow(l->context, l->paths, &l->path_capacity, p->path_count + 1, sizeof *paths);
  l->paths = paths ? paths : l->paths;
  struct linnet_segment *segments =
      linnet_grow(l->context, l->segments, &l->segment_capacity, p->num_segments + end->length + 1, sizeof *segments);
  l->segments = segments ? segments : l->segments;
  if (!paths || !segments)
    return out_of_memory(p);
  fill_segments(p, end, segments + p->num_segments);
  paths[p->path_count++] = (struct linnet_lattice_path){.score = linnet_weight_score(end->weight),
                                                        .acoustic = end->weight.acoustic,
                                                        .language = end->weight.language,
                                                        .num_segments = end->length};
  p->num_segments += end->length;
  return LINNET_OK;
}

static enum linnet_status search(struct paths *p, size_t max_paths) {
  const struct partial start = {.parent = NO_PARTIAL};
  LINNET_TRY(push(p, &start));
  while (p->heap_count > 0 && p->path_count < max_paths) {
    uint32_t best = pop(p);
    LINNET_TRY(p->partials[best].complete ? take_path(p, best) : expand(p, best));
  }
  const struct linnet_segment *next = p->lattice->segments;
  for (size_t i = 0; i < p->path_count; next += p->lattice->paths[i++].num_segments)
    p->lattice->paths[i].segments = next;
  return LINNET_OK;
}

enum linnet_status linnet_lattice_nbest(struct linnet_lattice *lattice, size_t max_paths,
                                        const struct linnet_lattice_path **paths, size_t *count) {
  if (paths)
    *paths = NULL;
  if (!lattice || !paths || !count)
    return linnet_fail(lattice ? lattice->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_lattice_nbest: an argument is NULL");
  LINNET_TRY(linnet_lattice_check_finished(lattice, "linnet_lattice_nbest"));
  struct paths p = {.lattice = lattice};
  enum linnet_status status = lattice->graph.state_count > 0 ? search(&p, max_paths) : LINNET_OK;
  linnet_free(lattice->context, p.partials);
  linnet_free(lattice->context, p.heap);
  *paths = status == LINNET_OK ? lattice->paths : NULL;
  *count = status == LINNET_OK ? p.path_count : 0;
  return status;
}
