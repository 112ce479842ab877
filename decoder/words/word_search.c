/* The object of the word search: settings, memory, creation and release. */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "base/settings.h"
#include "decoder/words/word_beam.h"

enum { MAX_SYMBOLS = 1 << 24, SPARE_CANDIDATES = 64 };

void(linnet_word_search_settings_default)(struct linnet_word_search_settings *settings, size_t size) {
  const struct linnet_word_search_settings defaults = {.size = sizeof(struct linnet_word_search_settings),
                                                       .beam = 50,
                                                       .symbol_threshold = INFINITY,
                                                       .score_threshold = INFINITY,
                                                       .model_weight = 1,
                                                       .unknown_penalty = INFINITY,
                                                       .prior_scale = 0.5f,
                                                       .pronunciation_weight = 1,
                                                       .recombine = 1};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* --- memory of a fixed size --------------------------------------------------------------------------------------- */

static void lay_out_sources(struct linnet_word_sources *sources, struct linnet_arena *arena, size_t beam) {
  sources->capacity = 4 * beam;
  sources->mask = linnet_power_of_two(2 * beam) - 1;
  sources->all_states = linnet_arena_take(arena, sources->capacity + 1, sizeof *sources->all_states);
  sources->all_factors = linnet_arena_take(arena, sources->capacity + 1, sizeof *sources->all_factors);
  sources->lists = linnet_arena_take(arena, sources->mask + 1, sizeof *sources->lists);
}

static void lay_out(void *search, struct linnet_arena *arena) {
  struct linnet_word_search *s = search;
  for (size_t i = 0; i < 2; i++) {
    linnet_beam_side_lay_out(&s->sides[i], arena, s->beam);
    s->sides[i].states = linnet_arena_take(arena, s->beam, sizeof *s->sides[i].states);
  }
  s->unchanged.factor = linnet_arena_take(arena, s->beam, sizeof *s->unchanged.factor);
  s->unchanged.inflow = linnet_arena_take(arena, s->beam, sizeof *s->unchanged.inflow);
  s->unchanged.blank = linnet_arena_take(arena, s->beam, sizeof *s->unchanged.blank);
  s->unchanged.symbol = linnet_arena_take(arena, s->beam, sizeof *s->unchanged.symbol);
  s->candidates = linnet_arena_take(arena, s->max_candidates, sizeof *s->candidates);
  s->positions = linnet_arena_take(arena, s->max_candidates, sizeof *s->positions);
  s->spare = linnet_arena_take(arena, s->max_candidates, sizeof *s->spare);
  lay_out_sources(&s->sources, arena, s->beam);
  s->aheads = linnet_arena_take(arena, LINNET_WORD_AHEADS, sizeof *s->aheads);
  linnet_row_choice_lay_out(&s->choice, arena);
  linnet_pair_table_lay_out(&s->table, arena, s->beam + s->max_candidates);
  linnet_pair_table_lay_out(&s->recombined, arena, s->beam);
}

static enum linnet_status allocate(struct linnet_word_search *s) {
  if (linnet_beam_block_create(&s->block, s->context, lay_out, s) &&
      linnet_history_grow(&s->history, 4 * s->beam + 1) && linnet_tree_pool_grow(&s->records, 4 * s->beam))
    return LINNET_OK;
  return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for a search for words of %zu states", s->beam);
}

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static enum linnet_status check_weights(struct linnet_context *context, const struct linnet_word_search_settings *s) {
  LINNET_TRY(linnet_setting_check_range(context, "symbol_threshold", s->symbol_threshold, 0, INFINITY));
  LINNET_TRY(linnet_setting_check_range(context, "score_threshold", s->score_threshold, 0, INFINITY));
  LINNET_TRY(linnet_setting_check_range(context, "language_model_weight", s->model_weight, 0, 1000));
  LINNET_TRY(linnet_setting_check_range(context, "word_bonus", s->word_bonus, -100, 100));
  LINNET_TRY(linnet_setting_check_range(context, "unknown_penalty", s->unknown_penalty, 0, INFINITY));
  LINNET_TRY(linnet_setting_check_range(context, "unknown_bonus", s->unknown_bonus, -100, 100));
  return linnet_setting_check_range(context, "pronunciation_weight", s->pronunciation_weight, 0, 1000);
}

static enum linnet_status check(struct linnet_context *context, const struct linnet_lexicon *lexicon, size_t symbols,
                                const struct linnet_word_search_settings *s) {
  if (!context || !lexicon || symbols < 1 || symbols > MAX_SYMBOLS)
    return linnet_fail(
        context, LINNET_ERROR_ARGUMENT,
        "linnet_word_search_create: the lexicon is NULL, or there are %zu symbols; there must be 1 to %d", symbols,
        MAX_SYMBOLS);
  if (s->beam < 1 || s->beam > LINNET_WORD_SEARCH_MAX)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "beam is %zu; it must be 1 to %d", s->beam,
                       LINNET_WORD_SEARCH_MAX);
  for (size_t i = 0; i < s->num_silences; i++)
    if (s->silences[i] < 1 || (size_t)s->silences[i] >= symbols)
      return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                         "linnet_word_search_create: silence %d is out of range; there are %zu symbols", s->silences[i],
                         symbols);
  return check_weights(context, s);
}

/* Sets the members that depend on the settings. */
static void apply_settings(struct linnet_word_search *s, size_t symbols) {
  const struct linnet_word_search_settings *settings = &s->settings;
  s->beam = settings->beam;
  s->choice = (struct linnet_row_choice){.symbols = symbols,
                                         .top = settings->top_symbols > 0 ? settings->top_symbols : symbols,
                                         .threshold = settings->symbol_threshold};
  s->score_ratio = exp(-(double)settings->score_threshold);
  s->recombine = settings->recombine != 0;
  s->max_candidates = 2 * s->beam + SPARE_CANDIDATES;
}

/* `tree` is that of another search, to be shared; NULL: the search builds its own. */
static enum linnet_status build(struct linnet_word_search *s, size_t symbols, const struct linnet_word_tree *tree) {
  linnet_tree_pool_create(&s->records, s->context, sizeof(struct linnet_word_record));
  apply_settings(s, symbols);
  LINNET_TRY(
      linnet_calibrations_copy(s->context, "linnet_word_search_create", s->settings.calibrations, &s->calibrations));
  s->settings.calibrations = &s->calibrations;
  LINNET_TRY(linnet_row_priors_create(&s->priors, s->context, "linnet_word_search_create", s->settings.priors, symbols,
                                      s->settings.prior_scale));
  s->settings.priors = s->priors.priors;
  if (tree)
    s->tree = linnet_word_tree_share(tree, s->context);
  else
    LINNET_TRY(linnet_word_tree_create(&s->tree, s->context, s->lexicon, (uint32_t)symbols, &s->settings));
  s->settings.lookahead = NULL;
  s->settings.silences = NULL;
  LINNET_TRY(linnet_history_create(&s->history, s->context, &s->settings, s->tree.unknown));
  s->settings.model = s->history.model;
  s->max_factor = linnet_history_max_factor(&s->history);
  return allocate(s);
}

static enum linnet_status open_search(struct linnet_context *context, const struct linnet_lexicon *lexicon,
                                      size_t symbols, const struct linnet_word_search_settings *settings,
                                      const struct linnet_word_tree *tree, struct linnet_word_search **search) {
  struct linnet_word_search *s = linnet_calloc(context, 1, sizeof *s);
  if (!s)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a search for words");
  s->context = context;
  s->lexicon = lexicon;
  s->settings = *settings;
  enum linnet_status status = build(s, symbols, tree);
  if (status != LINNET_OK) {
    linnet_word_search_destroy(s);
    return status;
  }
  linnet_word_search_reset(s);
  *search = s;
  return LINNET_OK;
}

enum linnet_status linnet_word_search_create(struct linnet_context *context, const struct linnet_lexicon *lexicon,
                                             size_t symbols, const struct linnet_word_search_settings *settings,
                                             struct linnet_word_search **search) {
  if (search)
    *search = NULL;
  if (!search)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_word_search_create: the pointer for the result is NULL");
  struct linnet_word_search_settings own;
  LINNET_TRY(LINNET_READ_SETTINGS(context, word_search, settings, &own));
  LINNET_TRY(check(context, lexicon, symbols, &own));
  return open_search(context, lexicon, symbols, &own, NULL, search);
}

enum linnet_status linnet_word_search_share(struct linnet_context *context, const struct linnet_word_search *first,
                                            struct linnet_word_search **search) {
  if (search)
    *search = NULL;
  if (!context || !first || !search)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_word_search_share: an argument is NULL");
  return open_search(context, first->lexicon, first->choice.symbols, &first->settings, &first->tree, search);
}

void linnet_word_search_set_hotwords(struct linnet_word_search *s, const struct linnet_hotwords *hotwords,
                                     const struct linnet_lexicon *own_lexicon, const struct linnet_word_tree *branch) {
  s->history.hotwords = hotwords;
  s->own_lexicon = own_lexicon;
  linnet_word_tree_set_branch(&s->tree, branch);
  s->max_factor = linnet_history_max_factor(&s->history);
  linnet_word_search_reset(s);
}

/* The beam then has one state: the empty word sequence at the root. */
void linnet_word_search_reset(struct linnet_word_search *s) {
  struct linnet_beam_side *now = s->now = &s->sides[0];
  s->next = &s->sides[1];
  linnet_history_clear(&s->history);
  linnet_tree_pool_clear(&s->records);
  now->count = 1;
  now->blank[0] = now->weight[0] = 1;
  now->score[0] = 1;
  now->symbol[0] = 0;
  now->states[0] = linnet_word_state_at(s, (struct linnet_word_position){LINNET_TRIE_ROOT, LINNET_WORD_ROOT});
  linnet_tokens_start(&now->tokens[0]);
  s->frames = 0;
  s->log_scale = 0;
  s->exponent = 0;
  s->finished = s->ranked = false;
  s->sources.frame = 0;
  memset(s->aheads, 0, LINNET_WORD_AHEADS * sizeof *s->aheads); /* the hotwords may be others */
  linnet_word_link(s);
}

void linnet_word_search_destroy(struct linnet_word_search *s) {
  if (!s)
    return;
  linnet_word_tree_destroy(&s->tree);
  linnet_history_destroy(&s->history);
  linnet_row_priors_destroy(&s->priors, s->context);
  linnet_tree_pool_destroy(&s->records);
  linnet_free(s->context, s->results);
  linnet_free(s->context, s->ranks);
  linnet_free(s->context, s->segments);
  linnet_free(s->context, s->words);
  linnet_free(s->context, s->block.memory);
  linnet_free(s->context, s);
}

size_t linnet_word_search_memory_bytes(const struct linnet_word_search *s) {
  return sizeof *s + s->block.bytes + linnet_word_tree_memory(&s->tree) + linnet_history_memory(&s->history) +
         linnet_row_priors_memory(&s->priors, s->choice.symbols) + linnet_tree_pool_memory(&s->records) +
         s->max_results * sizeof *s->results + s->max_ranks * sizeof *s->ranks + s->max_segments * sizeof *s->segments +
         s->max_words * sizeof *s->words;
}

size_t linnet_word_search_tree_memory_bytes(const struct linnet_word_search *s) {
  return linnet_word_tree_memory(&s->tree);
}
