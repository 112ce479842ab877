/* The prefix beam search: creation, memory, and access to hypotheses. */
#include <math.h>

#include "base/settings.h"
#include "decoder/ctc/beam_search.h"

enum { MAX_SYMBOLS = 1 << 24, SPARE_CANDIDATES = 64 };

void(linnet_beam_settings_default)(struct linnet_beam_settings *settings, size_t size) {
  const struct linnet_beam_settings defaults = {.size = sizeof(struct linnet_beam_settings),
                                                .beam = 50,
                                                .symbol_threshold = INFINITY,
                                                .score_threshold = INFINITY,
                                                .model_weight = 1,
                                                .prior_scale = 0.5f};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* --- memory of a fixed size --------------------------------------------------------------------------------------- */

static void lay_out(void *search, struct linnet_arena *arena) {
  struct linnet_beam *b = search;
  for (size_t i = 0; i < 2; i++) {
    linnet_beam_side_lay_out(&b->sides[i], arena, b->beam);
    b->sides[i].entries = linnet_arena_take(arena, b->beam, sizeof *b->sides[i].entries);
  }
  b->unchanged.symbol_factor = linnet_arena_take(arena, b->beam, sizeof *b->unchanged.symbol_factor);
  b->unchanged.blank = linnet_arena_take(arena, b->beam, sizeof *b->unchanged.blank);
  b->unchanged.symbol = linnet_arena_take(arena, b->beam, sizeof *b->unchanged.symbol);
  b->unchanged.score = linnet_arena_take(arena, b->beam, sizeof *b->unchanged.score);
  b->candidates = linnet_arena_take(arena, b->max_candidates, sizeof *b->candidates);
  linnet_row_choice_lay_out(&b->choice, arena);
}

static enum linnet_status allocate(struct linnet_beam *b) {
  if (linnet_beam_block_create(&b->block, b->context, lay_out, b) &&
      linnet_tree_pool_grow(&b->trie.pool, 4 * b->beam + 1) && linnet_tree_pool_grow(&b->records, 4 * b->beam))
    return LINNET_OK;
  return linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for a beam of %zu prefixes", b->beam);
}

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static enum linnet_status check(struct linnet_context *context, size_t symbols, const struct linnet_beam_settings *s) {
  if (!context || symbols < 1 || symbols > MAX_SYMBOLS)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_beam_create: %zu symbols; there must be 1 to %d",
                       symbols, MAX_SYMBOLS);
  if (s->beam < 1 || s->beam > LINNET_BEAM_MAX)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "beam is %zu; it must be 1 to %d", s->beam, LINNET_BEAM_MAX);
  LINNET_TRY(linnet_setting_check_range(context, "symbol_threshold", s->symbol_threshold, 0, INFINITY));
  LINNET_TRY(linnet_setting_check_range(context, "score_threshold", s->score_threshold, 0, INFINITY));
  LINNET_TRY(linnet_setting_check_range(context, "language_model_weight", s->model_weight, 0, 1000));
  return linnet_setting_check_range(context, "insertion_bonus", s->insertion_bonus, -100, 100);
}

enum linnet_status linnet_beam_create(struct linnet_context *context, size_t symbols,
                                      const struct linnet_beam_settings *settings, struct linnet_beam **beam) {
  if (beam)
    *beam = NULL;
  if (!beam)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_beam_create: the pointer for the result is NULL");
  struct linnet_beam_settings own;
  LINNET_TRY(LINNET_READ_SETTINGS(context, beam, settings, &own));
  settings = &own;
  LINNET_TRY(check(context, symbols, settings));
  struct linnet_beam *b = linnet_calloc(context, 1, sizeof *b);
  if (!b)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a beam search");
  b->context = context;
  b->beam = settings->beam;
  b->choice = (struct linnet_row_choice){.symbols = symbols,
                                         .top = settings->top_symbols > 0 ? settings->top_symbols : symbols,
                                         .threshold = settings->symbol_threshold};
  b->score_ratio = exp(-(double)settings->score_threshold);
  b->max_candidates = 2 * b->beam + SPARE_CANDIDATES;
  linnet_tree_pool_create(&b->trie.pool, context, sizeof(struct linnet_trie_node));
  linnet_tree_pool_create(&b->records, context, sizeof(struct linnet_alignment_record));
  enum linnet_status status =
      linnet_calibrations_copy(context, "linnet_beam_create", settings->calibrations, &b->calibrations);
  if (status == LINNET_OK)
    status = linnet_row_priors_create(&b->priors, context, "linnet_beam_create", settings->priors, symbols,
                                      settings->prior_scale);
  if (status == LINNET_OK)
    status = allocate(b);
  if (status == LINNET_OK) /* a slot for each prefix of this frame and of the next */
    status = linnet_fusion_create(&b->fusion, context, settings, b->choice.symbols, 2 * b->beam);
  if (status != LINNET_OK) {
    linnet_beam_destroy(b);
    return status;
  }
  linnet_beam_reset(b);
  *beam = b;
  return LINNET_OK;
}

/* The beam then has one prefix: the empty one. */
void linnet_beam_reset(struct linnet_beam *beam) {
  struct linnet_beam_side *now = beam->now = &beam->sides[0];
  beam->next = &beam->sides[1];
  linnet_trie_clear(&beam->trie);
  linnet_tree_pool_clear(&beam->records);
  now->count = 1;
  now->blank[0] = now->weight[0] = now->score[0] = 1;
  now->symbol[0] = 0;
  now->entries[0] = (struct linnet_beam_entry){.node = LINNET_TRIE_ROOT,
                                               .slot = linnet_fusion_start(&beam->fusion),
                                               .parent = LINNET_NO_ENTRY,
                                               .first_child = LINNET_NO_ENTRY};
  linnet_tokens_start(&now->tokens[0]);
  beam->frames = 0;
  beam->log_scale = 0;
  beam->exponent = 0;
  beam->finished = false;
}

void linnet_beam_destroy(struct linnet_beam *beam) {
  if (!beam)
    return;
  linnet_fusion_destroy(&beam->fusion);
  linnet_row_priors_destroy(&beam->priors, beam->context);
  linnet_tree_pool_destroy(&beam->trie.pool);
  linnet_tree_pool_destroy(&beam->records);
  linnet_free(beam->context, beam->segments);
  linnet_free(beam->context, beam->block.memory);
  linnet_free(beam->context, beam);
}

size_t linnet_beam_memory_bytes(const struct linnet_beam *beam) {
  return sizeof *beam + beam->block.bytes + linnet_fusion_memory(&beam->fusion) +
         linnet_row_priors_memory(&beam->priors, beam->choice.symbols) + linnet_tree_pool_memory(&beam->trie.pool) +
         linnet_tree_pool_memory(&beam->records) + beam->max_segments * sizeof *beam->segments;
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

/* Makes capacity for more nodes; first frees those that are no longer needed. False without memory. */
static bool reserve_nodes(struct linnet_beam *beam, size_t nodes) {
  struct linnet_tree_pool *pool = &beam->trie.pool;
  if (linnet_tree_pool_left(pool) >= nodes)
    return true;
  for (size_t i = 0; i < beam->now->count; i++)
    linnet_tree_pool_mark(pool, beam->now->entries[i].node);
  linnet_trie_sweep(&beam->trie);
  return linnet_beam_pool_suffices(pool, nodes) || linnet_tree_pool_grow(pool, linnet_beam_pool_larger(pool, nodes));
}

enum linnet_status linnet_beam_accept(struct linnet_beam *beam, const float *log_posteriors, size_t frames) {
  if (!beam)
    return LINNET_ERROR_ARGUMENT;
  if (!log_posteriors && frames > 0)
    return linnet_fail(beam->context, LINNET_ERROR_ARGUMENT, "linnet_beam_accept: the posteriors are NULL");
  if (beam->finished)
    return linnet_fail(beam->context, LINNET_ERROR_STATE, "the search was finished: call linnet_beam_reset first");
  if (frames > UINT32_MAX - 1 - beam->frames)
    return linnet_fail(beam->context, LINNET_ERROR_LIMIT, "linnet_beam_accept: more than 2^32 - 2 frames");
  linnet_poll_begin(beam->context);
  for (size_t t = 0; t < frames; t++) {
    LINNET_TRY(linnet_poll_check(beam->context));
    if (!reserve_nodes(beam, beam->beam) || !linnet_beam_reserve_records(&beam->records, beam->now, 2 * beam->beam))
      return linnet_fail(beam->context, LINNET_ERROR_MEMORY, "out of memory after %u frames", beam->frames);
    linnet_beam_frame(beam, log_posteriors + t * beam->choice.symbols);
  }
  return LINNET_OK;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

/* The results of a prefix beam search: hypotheses with scores and times. */

static void scores_of(const struct linnet_beam *beam, uint32_t index, struct linnet_hypothesis *h) {
  const struct linnet_beam_side *now = beam->now;
  const struct linnet_beam_entry *entry = &now->entries[index];
  static const double ln2 = 0.69314718055994530942;
  h->num_segments = linnet_trie_at(&beam->trie, entry->node)->depth;
  h->acoustic = log(now->blank[index] + now->symbol[index]) + beam->log_scale + (double)beam->exponent * ln2;
  h->language = entry->language + (beam->finished ? linnet_fusion_end(&beam->fusion, entry->slot) : 0.0);
  h->score = h->acoustic + linnet_fusion_score(&beam->fusion, h->language, h->num_segments);
}

/* Before the end of the utterance, entries are sorted. The language model's score of the end of the sentence may change
 * their order. */
enum linnet_status linnet_beam_finish(struct linnet_beam *beam) {
  if (!beam)
    return LINNET_ERROR_ARGUMENT;
  beam->finished = true;
  for (uint32_t i = 0; i < beam->now->count; i++) {
    struct linnet_hypothesis h;
    scores_of(beam, i, &h);
    beam->candidates[i] = (struct linnet_candidate){h.score, 0, i};
  }
  linnet_candidates_rank(beam->candidates, beam->now->count, beam->now->count);
  return LINNET_OK;
}

size_t linnet_beam_num_hypotheses(const struct linnet_beam *beam) {
  return beam->now->count;
}

/* Fills the segments from the last to the first: symbols from the trie, times from the best alignment. */
static void fill_segments(const struct linnet_beam *beam, uint32_t index, struct linnet_segment *segments) {
  const struct linnet_token *token = linnet_token_best(&beam->now->tokens[index]);
  const struct linnet_trie_node *node = linnet_trie_at(&beam->trie, beam->now->entries[index].node);
  struct linnet_alignment_record record = {token->before, token->start, token->end,
                                           node->depth > 0 ? linnet_token_confidence(token) : 0};
  while (node->depth > 0) {
    segments[node->depth - 1] = (struct linnet_segment){
        (int)node->symbol, record.start, record.end, linnet_calibrate(&beam->calibrations.phones, record.confidence)};
    node = linnet_trie_at(&beam->trie, node->parent);
    if (node->depth > 0)
      record = *linnet_record_at(&beam->records, record.previous);
  }
}

enum linnet_status linnet_beam_hypothesis(struct linnet_beam *beam, size_t index,
                                          struct linnet_hypothesis *hypothesis) {
  if (!beam || !hypothesis)
    return linnet_fail(beam ? beam->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_beam_hypothesis: an argument is NULL");
  if (index >= beam->now->count)
    return linnet_fail(beam->context, LINNET_ERROR_ARGUMENT,
                       "linnet_beam_hypothesis: index %zu is out of range; there are %zu hypotheses", index,
                       beam->now->count);
  uint32_t entry = beam->finished ? beam->candidates[index].parent : (uint32_t)index;
  scores_of(beam, entry, hypothesis);
  struct linnet_segment *grown =
      linnet_grow(beam->context, beam->segments, &beam->max_segments, hypothesis->num_segments, sizeof *grown);
  if (!grown)
    return linnet_fail(beam->context, LINNET_ERROR_MEMORY, "out of memory for %zu segments", hypothesis->num_segments);
  hypothesis->segments = beam->segments = grown;
  fill_segments(beam, entry, grown);
  return LINNET_OK;
}

size_t linnet_beam_num_stable_symbols(const struct linnet_beam *beam) {
  const struct linnet_beam_side *now = beam->now;
  uint32_t common = now->entries[0].node;
  for (size_t i = 1; i < now->count; i++)
    common = linnet_trie_common(&beam->trie, common, now->entries[i].node);
  return linnet_trie_at(&beam->trie, common)->depth;
}
