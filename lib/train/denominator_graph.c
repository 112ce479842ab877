/* Makes the graph of a language model in two steps. The first visits all histories that labels lead to, each together
 * with its last label. The second groups the histories whose successors are the same, which are most of those with the
 * same last labels, and numbers the states by groups, so that a group is a dense matrix. */
#include "train/denominator_graph.h"

#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/hash.h"
#include "base/numbers.h"
#include "base/settings.h"

enum { MAX_ARCS = 1 << 24, MAX_STATE_BYTES = 64, NONE = UINT32_MAX };

/* --- rows of bytes, each once ------------------------------------------------------------------------------------- */

/* Numbers different rows in the order in which they were added. */
struct rows {
  unsigned char *data; /* (count, bytes) */
  size_t count, capacity, bytes;
  uint32_t *slots; /* (num_slots): a row's number, or NONE; num_slots is a power of two above count */
  size_t num_slots;
};

/* The slot of a row: its own, or the free one for it. */
static size_t find_slot(const struct rows *r, const unsigned char *row) {
  const uint64_t hash = linnet_hash(LINNET_HASH_START, row, r->bytes);
  size_t slot = (size_t)(hash ^ hash >> 29) & (r->num_slots - 1);
  while (r->slots[slot] != NONE && memcmp(r->data + r->slots[slot] * r->bytes, row, r->bytes) != 0)
    slot = (slot + 1) & (r->num_slots - 1);
  return slot;
}

static bool grow_slots(struct linnet_context *context, struct rows *r) {
  size_t num_slots = linnet_max_size(64, 2 * r->num_slots);
  uint32_t *slots = linnet_alloc(context, num_slots, sizeof *slots);
  if (!slots)
    return false;
  linnet_free(context, r->slots);
  r->slots = slots;
  r->num_slots = num_slots;
  for (size_t i = 0; i < num_slots; i++)
    slots[i] = NONE;
  for (size_t i = 0; i < r->count; i++)
    slots[find_slot(r, r->data + i * r->bytes)] = (uint32_t)i;
  return true;
}

/* Returns the number of the row, or NONE without memory. */
static uint32_t add_row(struct linnet_context *context, struct rows *r, const void *row) {
  if (2 * (r->count + 1) > r->num_slots && !grow_slots(context, r))
    return NONE;
  size_t slot = find_slot(r, row);
  if (r->slots[slot] != NONE)
    return r->slots[slot];
  void *grown = linnet_grow(context, r->data, &r->capacity, r->count + 1, r->bytes);
  if (!grown)
    return NONE;
  r->data = grown;
  memcpy(r->data + r->count * r->bytes, row, r->bytes);
  r->slots[slot] = (uint32_t)r->count;
  return (uint32_t)r->count++;
}

static void release_rows(struct linnet_context *context, struct rows *r) {
  linnet_free(context, r->data);
  linnet_free(context, r->slots);
}

/* --- histories ---------------------------------------------------------------------------------------------------- */

struct builder {
  struct linnet_context *context;
  struct linnet_language_model model;
  size_t symbols;
  const char *const *names;
  struct rows histories; /* state of the model, last label */
  uint32_t *next;        /* (histories, symbols): the history after a label; that of the blank is 0 */
  float *weight;         /* (histories, symbols): P(label | history); of the blank: P(end | history) */
  size_t next_capacity, weight_capacity;
  struct rows successors; /* rows of `next`, each once */
  uint32_t *group;        /* (histories): the row of successors */
  uint32_t *state;        /* (histories): the number in the graph */
  struct linnet_denominator_graph *graph;
};

static enum linnet_status out_of_memory(const struct builder *b) {
  return linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for a denominator graph");
}

static uint32_t last_of(const struct builder *b, size_t history) {
  uint32_t last;
  memcpy(&last, b->histories.data + history * b->histories.bytes + b->model.state_bytes, sizeof last);
  return last;
}

/* The number of the history; b->model.state_bytes of `state`. */
static uint32_t add_history(struct builder *b, const void *state, uint32_t last) {
  unsigned char row[MAX_STATE_BYTES + sizeof last];
  memcpy(row, state, b->model.state_bytes);
  memcpy(row + b->model.state_bytes, &last, sizeof last);
  return add_row(b->context, &b->histories, row);
}

#define SMOOTHED "use a smoothed n-gram of all symbols (linnet ngram)"

static enum linnet_status impossible(const struct builder *b, size_t symbol) {
  char number[32];
  linnet_format(number, sizeof number, "%zu", symbol);
  return linnet_fail(b->context, LINNET_ERROR_ARGUMENT,
                     "denominator: the language model gives symbol %s no probability after some history: " SMOOTHED,
                     b->names ? b->names[symbol] : number);
}

/* Visits the labels after a history. */
static enum linnet_status visit(struct builder *b, size_t history) {
  unsigned char state[MAX_STATE_BYTES], after[MAX_STATE_BYTES] = {0};
  uint32_t *next = b->next + history * b->symbols;
  float *weight = b->weight + history * b->symbols;
  memcpy(state, b->histories.data + history * b->histories.bytes, b->model.state_bytes);
  next[0] = 0;
  weight[0] = expf(b->model.finish(b->model.user, state));
  if (!(weight[0] > 0) || weight[0] == INFINITY)
    return linnet_fail(b->context, LINNET_ERROR_ARGUMENT,
                       "denominator: the language model gives the end no probability after some history: " SMOOTHED);
  for (size_t q = 1; q < b->symbols; q++) {
    weight[q] = expf(b->model.score(b->model.user, state, (unsigned)q, after));
    if (!(weight[q] > 0) || weight[q] == INFINITY)
      return impossible(b, q);
    next[q] = add_history(b, after, (uint32_t)q);
    if (next[q] == NONE)
      return out_of_memory(b);
  }
  return LINNET_OK;
}

static enum linnet_status reserve_arcs(struct builder *b, size_t histories) {
  if (histories > MAX_ARCS / b->symbols)
    return linnet_fail(b->context, LINNET_ERROR_ARGUMENT,
                       "denominator: the language model has more than %zu histories of %zu symbols, which a graph "
                       "cannot hold: use an n-gram of a smaller order",
                       MAX_ARCS / b->symbols, b->symbols);
  void *next = linnet_grow(b->context, b->next, &b->next_capacity, histories * b->symbols, sizeof *b->next);
  b->next = next ? next : b->next;
  void *weight = linnet_grow(b->context, b->weight, &b->weight_capacity, histories * b->symbols, sizeof *b->weight);
  b->weight = weight ? weight : b->weight;
  return next && weight ? LINNET_OK : out_of_memory(b);
}

static enum linnet_status visit_all(struct builder *b) {
  unsigned char state[MAX_STATE_BYTES] = {0};
  b->histories.bytes = b->model.state_bytes + sizeof(uint32_t);
  b->model.begin(b->model.user, state);
  if (add_history(b, state, 0) == NONE)
    return out_of_memory(b);
  for (size_t h = 0; h < b->histories.count; h++) {
    LINNET_TRY(reserve_arcs(b, b->histories.count));
    LINNET_TRY(visit(b, h));
  }
  return LINNET_OK;
}

/* --- groups and states -------------------------------------------------------------------------------------------- */

static enum linnet_status find_groups(struct builder *b) {
  b->successors.bytes = b->symbols * sizeof *b->next;
  b->group = linnet_alloc(b->context, b->histories.count, sizeof *b->group);
  b->state = linnet_alloc(b->context, b->histories.count, sizeof *b->state);
  if (!b->group || !b->state)
    return out_of_memory(b);
  for (size_t h = 0; h < b->histories.count; h++) {
    b->group[h] = add_row(b->context, &b->successors, b->next + h * b->symbols);
    if (b->group[h] == NONE)
      return out_of_memory(b);
  }
  return LINNET_OK;
}

/* Numbers the states: by group, then by last label. */
static void number_states(struct builder *b, struct linnet_denominator_group *group) {
  size_t groups = b->successors.count, states = 0;
  memset(group, 0, groups * sizeof *group);
  for (size_t h = 0; h < b->histories.count; h++)
    group[b->group[h]].sources++;
  for (size_t i = 0; i < groups; i++) {
    group[i].start = states;
    group[i].width = linnet_round_up(group[i].sources, LINNET_DENOMINATOR_BLOCK);
    states += group[i].width;
    group[i].sources = 0;
  }
  for (uint32_t last = 0; last < b->symbols; last++)
    for (size_t h = 0; h < b->histories.count; h++)
      if (last_of(b, h) == last)
        b->state[h] = (uint32_t)(group[b->group[h]].start + group[b->group[h]].sources++);
  b->graph->states = states;
}

/* Allocates the arrays of the graph, of zeros. */
static bool allocate_graph(struct builder *b) {
  struct linnet_denominator_graph *g = b->graph;
  g->weight = linnet_calloc(b->context, g->states * g->columns, sizeof(float));
  g->transposed = linnet_calloc(b->context, g->states * g->symbols, sizeof(float));
  g->next = linnet_calloc(b->context, g->groups * g->columns, sizeof(uint32_t));
  g->repeat = linnet_calloc(b->context, g->states, sizeof(float));
  g->repeated = linnet_calloc(b->context, g->states, sizeof(uint32_t));
  g->last = linnet_calloc(b->context, g->states, sizeof(uint32_t));
  g->finish = linnet_calloc(b->context, g->states, sizeof(float));
  return g->weight && g->transposed && g->next && g->repeat && g->repeated && g->last && g->finish;
}

/* The graph's arrays are constant for others. */
#define FILL(type, array) ((type *)(uintptr_t)(array))

static void fill_state(const struct builder *b, size_t history) {
  const struct linnet_denominator_graph *g = b->graph;
  const struct linnet_denominator_group *group = &g->group[b->group[history]];
  const uint32_t *next = b->next + history * b->symbols;
  const float *weight = b->weight + history * b->symbols;
  size_t state = b->state[history];
  uint32_t last = last_of(b, history);
  for (size_t q = 1; q < g->symbols; q++) {
    FILL(uint32_t, g->next)[b->group[history] * g->columns + q] = b->state[next[q]];
    if (q == last)
      continue;
    FILL(float, g->weight)[state * g->columns + q] = weight[q];
    FILL(float, g->transposed)[group->start * g->symbols + q * group->width + state - group->start] = weight[q];
  }
  FILL(uint32_t, g->last)[state] = last;
  FILL(float, g->finish)[state] = weight[0];
  if (last == 0)
    return;
  FILL(float, g->repeat)[state] = weight[last];
  FILL(uint32_t, g->repeated)[state] = b->state[next[last]];
}

/* Gives padding the labels of its neighbours, so that blocks of 16 states have one label where possible. */
static void fill_padding(const struct linnet_denominator_graph *g) {
  for (size_t i = 0; i < g->groups; i++)
    for (size_t h = g->group[i].start + g->group[i].sources; h < g->group[i].start + g->group[i].width; h++) {
      FILL(uint32_t, g->last)[h] = g->last[h - 1];
      FILL(uint32_t, g->repeated)[h] = g->repeated[h - 1];
    }
}

static bool is_smooth(const struct builder *b) {
  for (size_t i = 0; i < b->histories.count * b->symbols; i++)
    if (!(b->weight[i] >= LINNET_DENOMINATOR_SMOOTH))
      return false;
  return true;
}

static enum linnet_status make_graph(struct builder *b) {
  struct linnet_denominator_graph *g = b->graph = linnet_calloc(b->context, 1, sizeof *g);
  struct linnet_denominator_group *group = linnet_alloc(b->context, b->successors.count, sizeof *group);
  if (g)
    g->group = group;
  if (!g || !group) {
    linnet_free(b->context, g ? NULL : group);
    return out_of_memory(b);
  }
  number_states(b, group);
  g->symbols = b->symbols;
  g->columns = linnet_round_up(b->symbols, LINNET_DENOMINATOR_BLOCK);
  g->groups = b->successors.count;
  g->arcs = b->histories.count * (b->symbols - 1);
  g->begin = b->state[0];
  g->smooth = is_smooth(b);
  if (!allocate_graph(b))
    return out_of_memory(b);
  for (size_t h = 0; h < b->histories.count; h++)
    fill_state(b, h);
  fill_padding(g);
  return LINNET_OK;
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

static enum linnet_status build(struct builder *b) {
  LINNET_TRY(visit_all(b));
  LINNET_TRY(find_groups(b));
  return make_graph(b);
}

enum linnet_status linnet_denominator_graph_create(struct linnet_context *context,
                                                   const struct linnet_language_model *model, size_t symbols,
                                                   const char *const *names, struct linnet_denominator_graph **graph) {
  struct builder b = {.context = context, .symbols = symbols, .names = names};
  *graph = NULL;
  LINNET_TRY(linnet_settings_read(context, "struct linnet_language_model", model, &b.model, sizeof b.model));
  if (!b.model.begin || !b.model.score || !b.model.finish || b.model.state_bytes > MAX_STATE_BYTES)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "denominator: a function of the language model is NULL, or its states have more than %d bytes",
                       MAX_STATE_BYTES);
  enum linnet_status status = build(&b);
  release_rows(context, &b.histories);
  release_rows(context, &b.successors);
  void *blocks[] = {b.next, b.weight, b.group, b.state};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(context, blocks[i]);
  if (status == LINNET_OK)
    *graph = b.graph;
  else
    linnet_denominator_graph_destroy(context, b.graph);
  return status;
}

void linnet_denominator_graph_destroy(struct linnet_context *context, struct linnet_denominator_graph *g) {
  if (!g)
    return;
  const void *blocks[] = {g->group, g->weight, g->transposed, g->next, g->repeat, g->repeated, g->last, g->finish, g};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(context, (void *)(uintptr_t)blocks[i]);
}
