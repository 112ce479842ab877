/* One frame of the prefix beam search. */
#include "decoder/beam_search.h"

#include <math.h>

#include "decoder/exp_array.h"

/* Smaller numbers, relative to the best prefix's, are nothing: products of what stays never become denormal. */
#define NOTHING 0x1p-900

/* A row relative to its largest value. */
struct frame {
  struct linnet_beam *beam;
  const float *row; /* NULL: a certain blank */
  float largest;
  double blank;           /* exp(row[0] - largest) */
  double to_beat;         /* a candidate below this score is not in the beam */
  size_t count;           /* candidates */
  double token_scale;     /* brings the probability of the best token near 1 */
  double posterior_scale; /* posterior = this * probability relative to the row's largest */
};

/* A log-posterior: NaN and +infinity are impossible. */
static inline float sane(float x) {
  return x < INFINITY ? x : -INFINITY;
}

static struct frame start_frame(struct linnet_beam *beam, const float *row) {
  struct frame f = {.beam = beam, .row = row, .largest = -INFINITY};
  for (size_t v = 0; v < beam->symbols && row; v++)
    f.largest = sane(row[v]) > f.largest ? row[v] : f.largest;
  if (f.largest == -INFINITY) {
    f.row = NULL;
    f.largest = 0;
  }
  double blank = f.row ? (double)sane(row[0]) - (double)f.largest : 0.0;
  linnet_exp_array(&blank, &f.blank, 1);
  return f;
}

/* --- the prefixes of the beam as they are ------------------------------------------------------------------------- */

/* P(last symbol) at this frame, relative to the row's largest. */
static void find_symbol_factors(const struct frame *f) {
  const struct linnet_beam_side *now = f->beam->now;
  double *factor = f->beam->stay.symbol_factor;
  for (size_t i = 0; i < now->count; i++) {
    uint32_t symbol = now->entries[i].symbol;
    factor[i] = f->row && symbol > 0 ? (double)sane(f->row[symbol]) - (double)f->largest : -(double)INFINITY;
  }
  linnet_exp_array(factor, factor, now->count);
}

/* What the parent's alignments bring when they enter the entry's symbol: all of them, or, where the symbol is that of
 * the parent, those that end in the blank. */
static double from_parent(const struct linnet_beam_side *now, size_t i) {
  const struct linnet_beam_entry *entry = &now->entries[i];
  if (entry->parent == LINNET_NO_ENTRY)
    return 0;
  bool repeats = now->entries[entry->parent].symbol == entry->symbol;
  return now->blank[entry->parent] + (repeats ? 0.0 : now->symbol[entry->parent]);
}

static void stay(const struct frame *f) {
  const struct linnet_beam_side *now = f->beam->now;
  struct linnet_beam_stay *stay = &f->beam->stay;
  find_symbol_factors(f);
  for (size_t i = 0; i < now->count; i++)
    stay->symbol[i] = now->symbol[i] + from_parent(now, i);
  for (size_t i = 0; i < now->count; i++) {
    double blank = (now->blank[i] + now->symbol[i]) * f->blank, symbol = stay->symbol[i] * stay->symbol_factor[i];
    stay->blank[i] = blank > NOTHING ? blank : 0.0;
    stay->symbol[i] = symbol > NOTHING ? symbol : 0.0;
    stay->score[i] = (stay->blank[i] + stay->symbol[i]) * now->weight[i];
  }
}

static void keep_stays(struct frame *f) {
  const struct linnet_beam *beam = f->beam;
  double best = 0, worst = INFINITY;
  for (size_t i = 0; i < beam->now->count; i++) {
    double score = beam->stay.score[i];
    best = score > best ? score : best;
    worst = score < worst ? score : worst;
    beam->candidates[i] = (struct linnet_candidate){score, 0, (uint32_t)i};
  }
  f->count = beam->now->count;
  f->to_beat = best * beam->score_ratio;
  if (f->count == beam->beam && worst > f->to_beat)
    f->to_beat = worst;
}

/* --- longer prefixes ---------------------------------------------------------------------------------------------- */

/* The lowest log-posterior of a symbol that could make a candidate good enough; the exact test comes later. */
static float lowest_symbol(const struct frame *f) {
  const struct linnet_beam *beam = f->beam;
  double reach = f->to_beat / (beam->now->score[0] * beam->fusion.most);
  float lowest = reach > 0 ? f->largest + (float)log(reach) : -INFINITY, pruned = f->largest - beam->symbol_threshold;
  float slack = 1e-3f + 1e-6f * fabsf(f->largest);
  return lowest - slack > pruned ? lowest - slack : pruned;
}

/* The symbols that are worth a try, most probable first, with their probabilities; returns their number. */
static size_t choose_symbols(const struct frame *f) {
  struct linnet_beam *beam = f->beam;
  size_t count = 0;
  float lowest = lowest_symbol(f);
  for (uint32_t symbol = 1; symbol < beam->symbols; symbol++) {
    float value = f->row[symbol];
    if (value >= lowest && value < INFINITY && value > -INFINITY)
      beam->appended[count++] = (struct linnet_candidate){(double)value, symbol, 0};
  }
  count = linnet_candidates_rank(beam->appended, count, beam->top_symbols);
  for (size_t i = 0; i < count; i++)
    beam->exponents[i] = beam->appended[i].score - (double)f->largest;
  linnet_exp_array(beam->exponents, beam->exponents, count);
  for (size_t i = 0; i < count; i++)
    beam->probability[beam->appended[i].symbol] = beam->exponents[i];
  return count;
}

static bool in_beam(const struct linnet_beam_side *now, uint32_t parent, uint32_t symbol) {
  uint32_t child = now->entries[parent].first_child;
  while (child != LINNET_NO_ENTRY && now->entries[child].symbol != symbol)
    child = now->entries[child].next_sibling;
  return child != LINNET_NO_ENTRY;
}

/* Score of an entry's alignments that a symbol may follow: where it repeats the last one, those that end in the blank.
 */
static double source_score(const struct linnet_beam_side *now, uint32_t parent, uint32_t symbol) {
  bool repeats = now->entries[parent].symbol == symbol;
  return repeats ? now->blank[parent] * now->weight[parent] : now->score[parent];
}

/* Keeps the best, of which there are more than enough. */
static void shrink(struct frame *f) {
  struct linnet_beam *beam = f->beam;
  f->count = linnet_candidates_rank(beam->candidates, f->count, beam->beam);
  double worst = beam->candidates[f->count - 1].score;
  f->to_beat = worst > f->to_beat ? worst : f->to_beat;
}

static void add_candidate(struct frame *f, double score, uint32_t symbol, uint32_t parent) {
  if (f->count == f->beam->max_candidates)
    shrink(f);
  f->beam->candidates[f->count++] = (struct linnet_candidate){score, symbol, parent};
}

/* Symbols and prefixes both come best first: where one pair is too bad, those after it are. */
static void append_symbol(struct frame *f, uint32_t symbol) {
  struct linnet_beam *beam = f->beam;
  const struct linnet_beam_side *now = beam->now;
  double probability = beam->probability[symbol], most = probability * beam->fusion.most;
  for (uint32_t i = 0; i < now->count && now->score[i] * most >= f->to_beat; i++) {
    double score = source_score(now, i, symbol);
    if (score * most < f->to_beat || in_beam(now, i, symbol))
      continue;
    score *= probability * linnet_fusion_factor(&beam->fusion, now->entries[i].slot, symbol);
    if (score >= f->to_beat && score > 0)
      add_candidate(f, score, symbol, i);
  }
}

static void append_symbols(struct frame *f) {
  size_t count = f->row ? choose_symbols(f) : 0;
  for (size_t i = 0; i < count; i++)
    append_symbol(f, f->beam->appended[i].symbol);
}

/* The best candidates in order, without those too far below the best and the impossible; returns their number. */
static size_t rank(struct frame *f) {
  struct linnet_beam *beam = f->beam;
  size_t count = linnet_candidates_rank(beam->candidates, f->count, beam->beam);
  double lowest = beam->candidates[0].score * beam->score_ratio;
  while (count > 0 && (beam->candidates[count - 1].score < lowest || !(beam->candidates[count - 1].score > 0)))
    count--;
  return count;
}

/* --- alignments --------------------------------------------------------------------------------------------------- */

/* The token of an entry's alignments that a symbol may follow, as in source_score. */
static struct linnet_token *source_token(struct linnet_beam_side *now, uint32_t parent, uint32_t symbol) {
  bool repeats = now->entries[parent].symbol == symbol;
  return repeats ? &now->tokens[parent].blank : linnet_token_best(&now->tokens[parent]);
}

static void set_probability(struct linnet_token *token, double probability) {
  token->probability = probability > NOTHING ? probability : 0.0;
}

/* Of a probability relative to the row's largest; what is above 1 counts as 1, as in greedy decoding. */
static double posterior(const struct frame *f, double probability) {
  double value = f->posterior_scale * probability;
  return value < 1 ? value : 1;
}

/* A token that comes from the parent's. `probability` is relative to the row's largest value, as all here. */
static void enter(const struct frame *f, uint32_t parent, struct linnet_token *source, double probability,
                  struct linnet_token *to) {
  struct linnet_beam *beam = f->beam;
  bool first = beam->now->entries[parent].node == LINNET_TRIE_ROOT;
  uint32_t before = first ? LINNET_TREE_NONE : linnet_token_record(source, &beam->records);
  *to = linnet_token_enter(posterior(f, probability), beam->frames, before);
  set_probability(to, source->probability * probability * f->token_scale);
}

/* The alignment that ends in the symbol goes on, or gives way to a better one that comes from the parent. */
static void move_symbol_token(const struct frame *f, uint32_t i, struct linnet_token *to) {
  struct linnet_beam_side *now = f->beam->now;
  const struct linnet_beam_entry *entry = &now->entries[i];
  const struct linnet_token *old = &now->tokens[i].symbol;
  double probability = f->beam->stay.symbol_factor[i];
  struct linnet_token *source =
      entry->parent == LINNET_NO_ENTRY ? NULL : source_token(now, entry->parent, entry->symbol);
  if (source && source->probability > old->probability) {
    enter(f, entry->parent, source, probability, to);
    return;
  }
  *to = *old;
  linnet_token_stay(to, posterior(f, probability), f->beam->frames);
  set_probability(to, old->probability * probability * f->token_scale);
}

/* After all symbols' tokens: the records that these made are shared. */
static void move_blank_token(const struct frame *f, uint32_t i, struct linnet_token *to) {
  *to = *linnet_token_best(&f->beam->now->tokens[i]);
  set_probability(to, to->probability * f->blank * f->token_scale);
}

/* --- the next beam ------------------------------------------------------------------------------------------------ */

/* The power of two that brings x near 1. */
static double scale_of(double x, int *exponent) {
  *exponent = 0;
  if (x > 0)
    frexp(x, exponent);
  return ldexp(1, -*exponent);
}

static void keep_entry(const struct frame *f, const struct linnet_candidate *c, size_t to) {
  struct linnet_beam *beam = f->beam;
  struct linnet_beam_side *now = beam->now, *next = beam->next;
  next->blank[to] = beam->stay.blank[c->parent];
  next->symbol[to] = beam->stay.symbol[c->parent];
  next->weight[to] = now->weight[c->parent];
  next->entries[to] = now->entries[c->parent];
  move_symbol_token(f, c->parent, &next->tokens[to].symbol);
}

static void make_entry(const struct frame *f, const struct linnet_candidate *c, size_t to) {
  struct linnet_beam *beam = f->beam;
  struct linnet_beam_side *now = beam->now, *next = beam->next;
  const struct linnet_beam_entry *parent = &now->entries[c->parent];
  double probability = beam->probability[c->symbol], language = parent->language;
  bool repeats = parent->symbol == c->symbol;
  next->blank[to] = 0;
  next->symbol[to] = probability * (now->blank[c->parent] + (repeats ? 0.0 : now->symbol[c->parent]));
  next->weight[to] = now->weight[c->parent] * linnet_fusion_factor(&beam->fusion, parent->slot, c->symbol);
  uint32_t slot = linnet_fusion_extend(&beam->fusion, parent->slot, c->symbol, &language);
  next->entries[to] = (struct linnet_beam_entry){.node = linnet_trie_child(&beam->trie, parent->node, c->symbol),
                                                 .symbol = c->symbol,
                                                 .slot = slot,
                                                 .language = language};
  enter(f, c->parent, source_token(now, c->parent, c->symbol), probability, &next->tokens[to].symbol);
}

/* The new prefix's alignments in the blank: none, with what a token must hold. */
static void blank_token(const struct frame *f, const struct linnet_candidate *c, size_t to) {
  struct linnet_token_pair *pair = &f->beam->next->tokens[to];
  if (c->symbol == 0) {
    move_blank_token(f, c->parent, &pair->blank);
    return;
  }
  pair->blank = pair->symbol;
  pair->blank.probability = 0;
}

/* Brings the numbers of the best prefix near 1, those of the others along. */
static void rescale(struct linnet_beam *beam) {
  struct linnet_beam_side *next = beam->next;
  int exponent, weight_exponent;
  double scale = scale_of(next->blank[0] + next->symbol[0], &exponent);
  double weight_scale = scale_of(next->weight[0], &weight_exponent);
  beam->exponent += exponent;
  for (size_t i = 0; i < next->count; i++) {
    next->blank[i] *= scale;
    next->symbol[i] *= scale;
    next->weight[i] *= weight_scale;
    next->score[i] = beam->candidates[i].score * (scale * weight_scale);
  }
}

/* Finds the entries' parents: each node knows its entry of this frame. */
static void link_entries(struct linnet_beam *beam) {
  struct linnet_beam_side *next = beam->next;
  for (uint32_t i = 0; i < next->count; i++) {
    struct linnet_trie_node *node = linnet_trie_at(&beam->trie, next->entries[i].node);
    node->entry = i;
    node->stamp = beam->frames + 1;
    next->entries[i].first_child = LINNET_NO_ENTRY;
  }
  for (uint32_t i = 0; i < next->count; i++) {
    struct linnet_beam_entry *entry = &next->entries[i];
    uint32_t parent = linnet_trie_at(&beam->trie, entry->node)->parent;
    const struct linnet_trie_node *node = parent == LINNET_TREE_NONE ? NULL : linnet_trie_at(&beam->trie, parent);
    entry->parent = node && node->stamp == beam->frames + 1 ? node->entry : LINNET_NO_ENTRY;
    if (entry->parent == LINNET_NO_ENTRY)
      continue;
    entry->next_sibling = next->entries[entry->parent].first_child;
    next->entries[entry->parent].first_child = i;
  }
}

/* Slots of prefixes that are no longer in the beam. */
static void release_slots(struct linnet_beam *beam) {
  const struct linnet_beam_side *now = beam->now;
  for (size_t i = 0; beam->fusion.model && i < now->count; i++)
    if (linnet_trie_at(&beam->trie, now->entries[i].node)->stamp != beam->frames + 1)
      linnet_fusion_release(&beam->fusion, now->entries[i].slot);
}

static void make_next(struct frame *f, size_t count) {
  struct linnet_beam *beam = f->beam;
  struct linnet_beam_side *now = beam->now;
  int exponent;
  f->token_scale = scale_of(linnet_token_best(&now->tokens[0])->probability, &exponent);
  f->posterior_scale = exp(fmin(f->largest, 700));
  beam->next->count = count;
  for (size_t i = 0; i < count; i++) {
    const struct linnet_candidate *c = &beam->candidates[i];
    (c->symbol == 0 ? keep_entry : make_entry)(f, c, i);
  }
  for (size_t i = 0; i < count; i++)
    blank_token(f, &beam->candidates[i], i);
  rescale(beam);
  link_entries(beam);
  release_slots(beam);
  beam->log_scale += (double)f->largest;
  beam->now = beam->next;
  beam->next = now;
  beam->frames++;
}

static size_t search(struct frame *f) {
  stay(f);
  keep_stays(f);
  append_symbols(f);
  return rank(f);
}

void linnet_beam_frame(struct linnet_beam *beam, const float *row) {
  struct frame f = start_frame(beam, row);
  size_t count = search(&f);
  if (count == 0) { /* everything that the frame allows is impossible for the model */
    f = start_frame(beam, NULL);
    count = search(&f);
  }
  make_next(&f, count);
}
