/* From a grammar's expressions to a deterministic automaton: by an automaton with empty arcs (Thompson 1968) and the
 * sets of its states (Rabin and Scott 1959). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "decoder/grammar/grammar.h"

enum { MAX_ARCS = 1 << 20, MAX_STATES = 1 << 20, MAX_MEMBERS = 1 << 22 };

static const uint32_t NO_STATE = UINT32_MAX;

/* An arc between states of the first automaton; token 0 is empty. */
struct arc {
  uint32_t from, token, to;
};

struct builder {
  const struct linnet_grammar_source *source;
  struct linnet_context *context;
  /* The first automaton: its arcs, by state once they are complete. */
  struct arc *arcs;
  size_t num_arcs, arc_capacity;
  uint32_t states, final;
  size_t *first; /* (states + 1): of the arcs */
  /* The sets: one for each state of the second, its members in increasing order. */
  struct linnet_automaton *to;
  uint32_t *members;
  size_t *set_first; /* (sets + 1) */
  size_t member_count, member_capacity, set_capacity, arc_to_capacity, first_capacity, final_capacity;
  uint32_t *slots; /* hash table of sets */
  size_t slot_count;
  unsigned char *marked; /* (states) */
  uint32_t *stack;       /* (states): a set while it is made */
  struct arc *leaving;   /* of a set's members */
  size_t leaving_capacity;
};

static enum linnet_status out_of_memory(const struct builder *b) {
  return linnet_fail(b->context, LINNET_ERROR_MEMORY, "%s: out of memory for the grammar's automaton", b->source->name);
}

static enum linnet_status too_large(const struct builder *b) {
  return linnet_fail(
      b->context, LINNET_ERROR_LIMIT,
      "%s: the grammar is too large once its rules are written out: at most %d words, and as many states",
      b->source->name, MAX_STATES);
}

/* --- with empty arcs ---------------------------------------------------------------------------------------------- */

static enum linnet_status add_arc(struct builder *b, uint32_t from, uint32_t token, uint32_t to) {
  if (b->num_arcs == MAX_ARCS || b->states > MAX_STATES)
    return too_large(b);
  struct arc *grown = linnet_grow(b->context, b->arcs, &b->arc_capacity, b->num_arcs + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(b);
  b->arcs = grown;
  b->arcs[b->num_arcs++] = (struct arc){from, token, to};
  return LINNET_OK;
}

static enum linnet_status build(struct builder *b, uint32_t expression, uint32_t from, uint32_t to);

static enum linnet_status build_sequence(struct builder *b, const struct linnet_expression *e, uint32_t from,
                                         uint32_t to) {
  if (e->first == LINNET_NO_EXPRESSION)
    return add_arc(b, from, 0, to);
  for (uint32_t part = e->first; part != LINNET_NO_EXPRESSION; part = b->source->expressions[part].next) {
    uint32_t next = part == e->last ? to : b->states++;
    LINNET_TRY(build(b, part, from, next));
    from = next;
  }
  return LINNET_OK;
}

static enum linnet_status build_repeat(struct builder *b, const struct linnet_expression *e, uint32_t from,
                                       uint32_t to) {
  uint32_t start = b->states++, end = b->states++;
  LINNET_TRY(add_arc(b, from, 0, start));
  LINNET_TRY(build(b, e->first, start, end));
  LINNET_TRY(add_arc(b, end, 0, start));
  return add_arc(b, end, 0, to);
}

/* Adds paths for an expression from one state to another. The depth of the recursion is the height of the expression,
 * which resolve() in grammar.c limits. */
static enum linnet_status build(struct builder *b, uint32_t expression, uint32_t from, uint32_t to) {
  const struct linnet_expression *e = &b->source->expressions[expression];
  if (e->impossible)
    return LINNET_OK;
  switch (e->kind) {
  case LINNET_EXPRESSION_WORD:
    return add_arc(b, from, e->value, to);
  case LINNET_EXPRESSION_RULE:
    return build(b, b->source->rules[e->value].body, from, to);
  case LINNET_EXPRESSION_SEQUENCE:
    return build_sequence(b, e, from, to);
  case LINNET_EXPRESSION_REPEAT:
    return build_repeat(b, e, from, to);
  case LINNET_EXPRESSION_ALTERNATIVES:
    for (uint32_t part = e->first; part != LINNET_NO_EXPRESSION; part = b->source->expressions[part].next)
      LINNET_TRY(build(b, part, from, to));
    return LINNET_OK;
  case LINNET_EXPRESSION_VOID:
    break;
  }
  return LINNET_OK;
}

static int compare_arcs(const void *left, const void *right) {
  const struct arc *a = left, *b = right;
  if (a->from != b->from)
    return a->from < b->from ? -1 : 1;
  if (a->token != b->token)
    return a->token < b->token ? -1 : 1;
  return (a->to > b->to) - (a->to < b->to);
}

static enum linnet_status index_arcs(struct builder *b) {
  if (b->num_arcs > 0) /* else there is no array */
    qsort(b->arcs, b->num_arcs, sizeof *b->arcs, compare_arcs);
  b->first = linnet_calloc(b->context, (size_t)b->states + 1, sizeof *b->first);
  b->marked = linnet_calloc(b->context, b->states, 1);
  b->stack = linnet_alloc(b->context, b->states, sizeof *b->stack);
  if (!b->first || !b->marked || !b->stack)
    return out_of_memory(b);
  for (size_t i = 0; i < b->num_arcs; i++)
    b->first[b->arcs[i].from + 1]++;
  for (uint32_t state = 0; state < b->states; state++)
    b->first[state + 1] += b->first[state];
  return LINNET_OK;
}

/* --- sets --------------------------------------------------------------------------------------------------------- */

static int compare_states(const void *left, const void *right) {
  const uint32_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static void push(struct builder *b, uint32_t state, size_t *count) {
  if (!b->marked[state]) {
    b->marked[state] = 1;
    b->stack[(*count)++] = state;
  }
}

/* Adds the states that empty arcs reach to the set in `stack`, and sorts it. */
static size_t close_set(struct builder *b, size_t count) {
  for (size_t i = 0; i < count; i++)
    for (size_t arc = b->first[b->stack[i]]; arc < b->first[b->stack[i] + 1]; arc++) {
      assert(arc < b->num_arcs);
      if (b->arcs[arc].token != 0)
        break;
      push(b, b->arcs[arc].to, &count);
    }
  for (size_t i = 0; i < count; i++)
    b->marked[b->stack[i]] = 0;
  qsort(b->stack, count, sizeof *b->stack, compare_states);
  return count;
}

static uint64_t hash_of(const uint32_t *states, size_t count) {
  uint64_t hash = LINNET_HASH_START;
  for (size_t i = 0; i < count; i++)
    hash = linnet_hash_word(hash, states[i]);
  return hash ^ hash >> 29;
}

static uint32_t *find_slot(const struct builder *b, const uint32_t *states, size_t count) {
  for (size_t i = (size_t)hash_of(states, count);; i++) {
    uint32_t *slot = &b->slots[i & (b->slot_count - 1)];
    if (*slot == NO_STATE)
      return slot;
    size_t first = b->set_first[*slot];
    if (b->set_first[*slot + 1] - first == count && memcmp(b->members + first, states, count * sizeof *states) == 0)
      return slot;
  }
}

/* At most half of the table is used. */
static enum linnet_status grow_table(struct builder *b) {
  if (2 * ((size_t)b->to->states + 1) <= b->slot_count)
    return LINNET_OK;
  size_t slots = b->slot_count > 0 ? 2 * b->slot_count : 64;
  uint32_t *table = linnet_alloc(b->context, slots, sizeof *table);
  if (!table)
    return out_of_memory(b);
  memset(table, 0xFF, slots * sizeof *table);
  linnet_free(b->context, b->slots);
  b->slots = table;
  b->slot_count = slots;
  for (uint32_t set = 0; set < b->to->states; set++)
    *find_slot(b, b->members + b->set_first[set], b->set_first[set + 1] - b->set_first[set]) = set;
  return LINNET_OK;
}

static enum linnet_status reserve_set(struct builder *b, size_t count) {
  if (b->to->states == MAX_STATES || b->member_count + count > MAX_MEMBERS)
    return too_large(b);
  uint32_t *members =
      linnet_grow(b->context, b->members, &b->member_capacity, b->member_count + count, sizeof *members);
  b->members = members ? members : b->members;
  size_t *first = linnet_grow(b->context, b->set_first, &b->set_capacity, (size_t)b->to->states + 2, sizeof *first);
  b->set_first = first ? first : b->set_first;
  uint32_t *arcs = linnet_grow(b->context, b->to->first, &b->first_capacity, (size_t)b->to->states + 2, sizeof *arcs);
  b->to->first = arcs ? arcs : b->to->first;
  unsigned char *final =
      linnet_grow(b->context, b->to->final, &b->final_capacity, (size_t)b->to->states + 1, sizeof *final);
  b->to->final = final ? final : b->to->final;
  return members && first && arcs && final ? grow_table(b) : out_of_memory(b);
}

/* The state of the second automaton for the set that begins with the first `count` of `stack`. */
static enum linnet_status find_set(struct builder *b, size_t count, uint32_t *state) {
  count = close_set(b, count);
  LINNET_TRY(reserve_set(b, count));
  uint32_t *slot = find_slot(b, b->stack, count);
  if (*slot == NO_STATE) {
    *slot = b->to->states++;
    b->set_first[*slot] = b->member_count;
    memcpy(b->members + b->member_count, b->stack, count * sizeof *b->stack);
    b->member_count += count;
    b->set_first[*slot + 1] = b->member_count;
    b->to->final[*slot] = bsearch(&b->final, b->stack, count, sizeof *b->stack, compare_states) != NULL;
  }
  *state = *slot;
  return LINNET_OK;
}

/* The arcs of a set's members that are not empty, by token. */
static enum linnet_status collect_leaving(struct builder *b, uint32_t set, size_t *count) {
  *count = 0;
  for (size_t i = b->set_first[set]; i < b->set_first[set + 1]; i++)
    for (size_t arc = b->first[b->members[i]]; arc < b->first[b->members[i] + 1]; arc++) {
      if (b->arcs[arc].token == 0)
        continue;
      struct arc *grown = linnet_grow(b->context, b->leaving, &b->leaving_capacity, *count + 1, sizeof *grown);
      if (!grown)
        return out_of_memory(b);
      b->leaving = grown;
      grown[(*count)++] = (struct arc){0, b->arcs[arc].token, b->arcs[arc].to};
    }
  if (*count > 0)
    qsort(b->leaving, *count, sizeof *b->leaving, compare_arcs);
  return LINNET_OK;
}

static enum linnet_status add_final_arc(struct builder *b, uint32_t token, uint32_t next, uint32_t at) {
  if (at == MAX_ARCS)
    return too_large(b);
  struct linnet_grammar_arc *grown =
      linnet_grow(b->context, b->to->arcs, &b->arc_to_capacity, (size_t)at + 1, sizeof *grown);
  if (!grown)
    return out_of_memory(b);
  b->to->arcs = grown;
  grown[at] = (struct linnet_grammar_arc){token, next};
  return LINNET_OK;
}

static enum linnet_status expand_set(struct builder *b, uint32_t set, uint32_t *arcs) {
  size_t count;
  LINNET_TRY(collect_leaving(b, set, &count));
  b->to->first[set] = *arcs;
  for (size_t i = 0; i < count;) {
    uint32_t token = b->leaving[i].token, next;
    size_t members = 0;
    for (; i < count && b->leaving[i].token == token; i++)
      push(b, b->leaving[i].to, &members);
    LINNET_TRY(find_set(b, members, &next));
    LINNET_TRY(add_final_arc(b, token, next, (*arcs)++));
  }
  b->to->first[set + 1] = *arcs;
  return LINNET_OK;
}

static enum linnet_status determinize(struct builder *b) {
  size_t count = 0;
  uint32_t state, arcs = 0;
  push(b, 0, &count);
  LINNET_TRY(find_set(b, count, &state));
  for (uint32_t set = 0; set < b->to->states; set++)
    LINNET_TRY(expand_set(b, set, &arcs));
  return LINNET_OK;
}

enum linnet_status linnet_automaton_create(const struct linnet_grammar_source *source,
                                           struct linnet_automaton *automaton) {
  struct builder b = {.source = source, .context = source->context, .states = 2, .final = 1, .to = automaton};
  *automaton = (struct linnet_automaton){.states = 0};
  enum linnet_status status = build(&b, source->root, 0, b.final);
  if (status == LINNET_OK)
    status = index_arcs(&b);
  if (status == LINNET_OK)
    status = determinize(&b);
  linnet_free(b.context, b.arcs);
  linnet_free(b.context, b.first);
  linnet_free(b.context, b.members);
  linnet_free(b.context, b.set_first);
  linnet_free(b.context, b.slots);
  linnet_free(b.context, b.marked);
  linnet_free(b.context, b.stack);
  linnet_free(b.context, b.leaving);
  return status;
}

void linnet_automaton_release(struct linnet_context *context, struct linnet_automaton *automaton) {
  linnet_free(context, automaton->first);
  linnet_free(context, automaton->arcs);
  linnet_free(context, automaton->final);
}
