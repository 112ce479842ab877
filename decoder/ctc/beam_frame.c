/* One frame of the prefix beam search. */
#include "decoder/ctc/beam_search.h"

#include "decoder/ctc/beam_parts.h"

struct frame {
  struct linnet_beam *beam;
  struct linnet_row row;
  double to_beat;     /* a candidate below this score cannot enter the next beam */
  size_t count;       /* candidates */
  double token_scale; /* brings the probability of the best token near 1 */
};

static struct frame start_frame(struct linnet_beam *beam, const float *row) {
  return (struct frame){.beam = beam, .row = linnet_row_read(row, beam->choice.symbols, &beam->priors)};
}

/* --- the prefixes of the beam as they are ------------------------------------------------------------------------- */

/* P(last symbol) at this frame, relative to the row's largest. */
static void find_symbol_factors(const struct frame *f) {
  const struct linnet_beam_side *now = f->beam->now;
  double *factor = f->beam->unchanged.symbol_factor;
  for (size_t i = 0; i < now->count; i++)
    factor[i] = linnet_row_exponent(&f->row, now->entries[i].symbol);
  linnet_exp_array(factor, factor, now->count);
}

/* The probability of the parent's alignments that can be followed by the entry's symbol: all of them, or, if the parent
 * ends in the same symbol, those that end in the blank. */
static double from_parent(const struct linnet_beam_side *now, size_t i) {
  const struct linnet_beam_entry *entry = &now->entries[i];
  if (entry->parent == LINNET_NO_ENTRY)
    return 0;
  bool repeats = now->entries[entry->parent].symbol == entry->symbol;
  return now->blank[entry->parent] + (repeats ? 0.0 : now->symbol[entry->parent]);
}

static void score_unchanged(const struct frame *f) {
  const struct linnet_beam_side *now = f->beam->now;
  struct linnet_beam_unchanged *unchanged = &f->beam->unchanged;
  find_symbol_factors(f);
  for (size_t i = 0; i < now->count; i++)
    unchanged->symbol[i] = now->symbol[i] + from_parent(now, i);
  for (size_t i = 0; i < now->count; i++) {
    unchanged->blank[i] = linnet_row_floor((now->blank[i] + now->symbol[i]) * f->row.blank);
    unchanged->symbol[i] = linnet_row_floor(unchanged->symbol[i] * unchanged->symbol_factor[i]);
    unchanged->score[i] = (unchanged->blank[i] + unchanged->symbol[i]) * now->weight[i];
  }
}

/* The prefixes as they are become the first candidates. Sets the score that further candidates must reach. */
static void add_unchanged(struct frame *f) {
  const struct linnet_beam *beam = f->beam;
  double best = 0, worst = INFINITY;
  for (size_t i = 0; i < beam->now->count; i++) {
    double score = beam->unchanged.score[i];
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

static bool in_beam(const struct linnet_beam_side *now, uint32_t parent, uint32_t symbol) {
  uint32_t child = now->entries[parent].first_child;
  while (child != LINNET_NO_ENTRY && now->entries[child].symbol != symbol)
    child = now->entries[child].next_sibling;
  return child != LINNET_NO_ENTRY;
}

/* Score of an entry's alignments that a symbol may follow: if it repeats the last symbol, only those that end in the
 * blank. */
static double source_score(const struct linnet_beam_side *now, uint32_t parent, uint32_t symbol) {
  bool repeats = now->entries[parent].symbol == symbol;
  return repeats ? now->blank[parent] * now->weight[parent] : now->score[parent];
}

/* The list of candidates is full: keeps the best `beam` of them. */
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

/* Symbols and prefixes are both sorted, best first. So if a pair scores too low, all later pairs do, too. */
static void append_symbol(struct frame *f, uint32_t symbol) {
  struct linnet_beam *beam = f->beam;
  const struct linnet_beam_side *now = beam->now;
  double probability = beam->choice.probability[symbol], max_factor = probability * beam->fusion.max_factor;
  for (uint32_t i = 0; i < now->count && now->score[i] * max_factor >= f->to_beat; i++) {
    double score = source_score(now, i, symbol);
    if (score * max_factor < f->to_beat || in_beam(now, i, symbol))
      continue;
    score *= probability * linnet_fusion_factor(&beam->fusion, now->entries[i].slot, symbol);
    if (score >= f->to_beat && score > 0)
      add_candidate(f, score, symbol, i);
  }
}

/* Tries only symbols that are probable enough for a candidate of the next beam. */
static void append_symbols(struct frame *f) {
  struct linnet_beam *beam = f->beam;
  linnet_row_choose(&f->row, &beam->choice, f->to_beat / (beam->now->score[0] * beam->fusion.max_factor));
  for (size_t i = 0; i < beam->choice.count; i++)
    append_symbol(f, beam->choice.chosen[i].symbol);
}

/* Sorts the best candidates, without those that are impossible or too far below the best; returns their number. */
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

/* A token that comes from the parent's. `probability`, of the symbol, is relative to the largest of the row, as all
 * probabilities here. */
static void enter(const struct frame *f, uint32_t parent, struct linnet_token *source, uint32_t symbol,
                  double probability, struct linnet_token *to) {
  struct linnet_beam *beam = f->beam;
  bool first = beam->now->entries[parent].node == LINNET_TRIE_ROOT;
  uint32_t before = first ? LINNET_TREE_NONE : linnet_token_record(source, &beam->records);
  *to = linnet_token_enter(linnet_row_posterior(&f->row, symbol, probability), beam->frames, before);
  to->probability = linnet_row_floor(source->probability * probability * f->token_scale);
}

/* The alignment that ends in the symbol continues, or a better one from the parent replaces it. */
static void move_symbol_token(const struct frame *f, uint32_t i, struct linnet_token *to) {
  struct linnet_beam_side *now = f->beam->now;
  const struct linnet_beam_entry *entry = &now->entries[i];
  const struct linnet_token *old = &now->tokens[i].symbol;
  double probability = f->beam->unchanged.symbol_factor[i];
  if (entry->parent != LINNET_NO_ENTRY) {
    struct linnet_token *source = source_token(now, entry->parent, entry->symbol);
    if (source->probability > old->probability) {
      enter(f, entry->parent, source, entry->symbol, probability, to);
      return;
    }
  }
  *to = *old;
  linnet_token_stay(to, linnet_row_posterior(&f->row, entry->symbol, probability), f->beam->frames);
  to->probability = linnet_row_floor(old->probability * probability * f->token_scale);
}

/* Must be called after the tokens of all symbols are set: they create the records that this token shares. */
static void move_blank_token(const struct frame *f, uint32_t i, struct linnet_token *to) {
  *to = *linnet_token_best(&f->beam->now->tokens[i]);
  to->probability = linnet_row_floor(to->probability * f->row.blank * f->token_scale);
}

/* --- the next beam ------------------------------------------------------------------------------------------------ */

static void keep_entry(const struct frame *f, const struct linnet_candidate *c, size_t to) {
  struct linnet_beam *beam = f->beam;
  struct linnet_beam_side *now = beam->now, *next = beam->next;
  next->blank[to] = beam->unchanged.blank[c->parent];
  next->symbol[to] = beam->unchanged.symbol[c->parent];
  next->weight[to] = now->weight[c->parent];
  next->entries[to] = now->entries[c->parent];
  move_symbol_token(f, c->parent, &next->tokens[to].symbol);
}

static void make_entry(const struct frame *f, const struct linnet_candidate *c, size_t to) {
  struct linnet_beam *beam = f->beam;
  struct linnet_beam_side *now = beam->now, *next = beam->next;
  const struct linnet_beam_entry *parent = &now->entries[c->parent];
  double probability = beam->choice.probability[c->symbol], language = parent->language;
  bool repeats = parent->symbol == c->symbol;
  next->blank[to] = 0;
  next->symbol[to] = probability * (now->blank[c->parent] + (repeats ? 0.0 : now->symbol[c->parent]));
  next->weight[to] = fmax(now->weight[c->parent] * linnet_fusion_factor(&beam->fusion, parent->slot, c->symbol),
                          LINNET_NOTHING); /* a candidate of low weight and high probability must not vanish */
  uint32_t slot = linnet_fusion_extend(&beam->fusion, parent->slot, c->symbol, &language);
  next->entries[to] = (struct linnet_beam_entry){.node = linnet_trie_child(&beam->trie, parent->node, c->symbol),
                                                 .symbol = c->symbol,
                                                 .slot = slot,
                                                 .language = language};
  enter(f, c->parent, source_token(now, c->parent, c->symbol), c->symbol, probability, &next->tokens[to].symbol);
}

/* A new prefix has no alignments that end in the blank yet; its token holds valid values. */
static void blank_token(const struct frame *f, const struct linnet_candidate *c, size_t to) {
  struct linnet_token_pair *pair = &f->beam->next->tokens[to];
  if (c->symbol == 0) {
    move_blank_token(f, c->parent, &pair->blank);
    return;
  }
  pair->blank = pair->symbol;
  pair->blank.probability = 0;
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
  f->token_scale = linnet_row_scale(linnet_token_best(&now->tokens[0])->probability, &exponent);
  beam->next->count = count;
  for (size_t i = 0; i < count; i++) {
    const struct linnet_candidate *c = &beam->candidates[i];
    (c->symbol == 0 ? keep_entry : make_entry)(f, c, i);
  }
  for (size_t i = 0; i < count; i++)
    blank_token(f, &beam->candidates[i], i);
  linnet_beam_side_rescale(beam->next, beam->candidates, &beam->exponent);
  link_entries(beam);
  release_slots(beam);
  beam->log_scale += (double)f->row.largest;
  beam->now = beam->next;
  beam->next = now;
  beam->frames++;
}

static size_t search(struct frame *f) {
  score_unchanged(f);
  add_unchanged(f);
  append_symbols(f);
  return rank(f);
}

void linnet_beam_frame(struct linnet_beam *beam, const float *row) {
  struct frame f = start_frame(beam, row);
  size_t count = search(&f);
  if (count == 0) { /* the language model gives probability 0 to all that the frame allows */
    f = start_frame(beam, NULL);
    count = search(&f);
  }
  make_next(&f, count);
}
