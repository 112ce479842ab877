/* The results of a word search: hypotheses with scores, words, phones and times. */
#include <math.h>
#include <stdlib.h>

#include "decoder/words/word_beam.h"

/* --- the hypotheses ----------------------------------------------------------------------------------------------- */

/* `factor` is the pronunciation factor of the word that ends in the state. */
static void add_result(struct linnet_word_search *s, uint32_t state, uint32_t history, bool complete, double factor) {
  const double sum = (s->now->blank[state] + s->now->symbol[state]) * factor;
  s->results[s->result_count] =
      (struct linnet_word_result){.history = history,
                                  .state = state,
                                  .serial = (uint32_t)s->result_count,
                                  .best = linnet_token_best(&s->now->tokens[state])->probability * factor,
                                  .sum = sum,
                                  .ahead = sum,
                                  .look = complete ? 1.0 : s->now->states[state].look,
                                  .complete = complete};
  s->result_count++;
}

/* Adds a result for each word that ends in the state and that the language model allows; if there is none, one result
 * with the words before. */
static void add_state(struct linnet_word_search *s, uint32_t state) {
  struct linnet_word_position position = s->now->states[state].position;
  const size_t before = s->result_count;
  size_t count;
  const uint32_t *tokens = linnet_word_ends(&s->tree, position.node, &count);
  for (size_t i = 0; i < count; i++) {
    const uint32_t history = linnet_history_child(&s->history, position.history, tokens[i]);
    if (linnet_history_is_possible(&s->history, history))
      add_result(s, state, history, true, linnet_pronunciation_factor(&s->tree, s->now->states[state].first_word + i));
  }
  if (s->result_count == before)
    add_result(s, state, position.history, linnet_word_is_between(&s->tree, position.node), 1);
}

/* Sorts equal word sequences next to each other. Their order among others does not matter: the number of a sequence
 * depends on when memory was reclaimed. */
static int compare(const void *left, const void *right) {
  const struct linnet_word_result *a = left, *b = right;
  if (a->history != b->history)
    return a->history < b->history ? -1 : 1;
  if (a->complete != b->complete)
    return a->complete ? -1 : 1;
  return (a->serial > b->serial) - (a->serial < b->serial);
}

/* Adds a result with the same words. The numbers are relative to the larger lookahead: those that then underflow are
 * far below what they are added to. */
static void add_to(struct linnet_word_result *to, const struct linnet_word_result *from) {
  const double look = fmax(to->look, from->look), old = to->look / look, added = from->look / look;
  const double best = from->best * added;
  to->best *= old;
  to->state = best > to->best ? from->state : to->state;
  to->best = fmax(best, to->best);
  to->sum += from->sum;
  to->ahead = to->ahead * old + from->ahead * added;
  to->look = look;
}

/* Merges results with the same words. If some of them are complete, incomplete ones do not add to the sum. */
static void merge_results(struct linnet_word_search *s) {
  size_t count = 0;
  qsort(s->results, s->result_count, sizeof *s->results, compare);
  for (size_t i = 0; i < s->result_count; i++) {
    const struct linnet_word_result *from = &s->results[i];
    struct linnet_word_result *to = count > 0 ? &s->results[count - 1] : NULL;
    if (!to || to->history != from->history)
      s->results[count++] = *from;
    else if (to->complete == from->complete)
      add_to(to, from);
  }
  s->result_count = count;
}

/* The logarithm of a probability that is relative to that of the best state. */
static double absolute(const struct linnet_word_search *s, double probability) {
  static const double ln2 = 0.69314718055994530942;
  return log(probability) + s->log_scale + (double)s->exponent * ln2;
}

static void score_result(const struct linnet_word_search *s, const struct linnet_word_result *result, bool ended,
                         struct linnet_word_hypothesis *h) {
  double score;
  linnet_history_score(&s->history, result->history, ended && result->complete, &h->language, &score);
  h->acoustic = absolute(s, result->sum);
  h->score = absolute(s, result->ahead) + score + log(result->look);
  h->complete = result->complete;
}

/* At the end of the utterance, a hypothesis is not complete if the model does not allow the sentence to end there. If
 * there are complete hypotheses, only these remain. */
static void drop_incomplete(struct linnet_word_search *s) {
  size_t complete = 0;
  for (size_t i = 0; i < s->result_count; i++) {
    struct linnet_word_hypothesis h;
    score_result(s, &s->results[i], true, &h);
    s->results[i].complete = s->results[i].complete && h.score > -(double)INFINITY;
  }
  for (size_t i = 0; i < s->result_count; i++)
    if (s->results[i].complete)
      s->results[complete++] = s->results[i];
  s->result_count = complete > 0 ? complete : s->result_count;
}

static bool reserve(struct linnet_word_search *s, size_t count) {
  struct linnet_word_result *results = linnet_grow(s->context, s->results, &s->max_results, count, sizeof *results);
  s->results = results ? results : s->results;
  struct linnet_candidate *ranks = linnet_grow(s->context, s->ranks, &s->max_ranks, count, sizeof *ranks);
  s->ranks = ranks ? ranks : s->ranks;
  return results && ranks;
}

/* The capacity counts a result for each word that ends, and one for each state, because a state where no word ends is a
 * result, too. */
static enum linnet_status rank_results(struct linnet_word_search *s) {
  size_t words = linnet_word_max_new(s);
  if (s->ranked)
    return LINNET_OK;
  if (!linnet_word_reserve(s, words) || !reserve(s, words + s->now->count))
    return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for the hypotheses");
  s->result_count = 0;
  for (uint32_t i = 0; i < s->now->count; i++)
    add_state(s, i);
  merge_results(s);
  if (s->finished)
    drop_incomplete(s);
  for (uint32_t i = 0; i < s->result_count; i++) {
    struct linnet_word_hypothesis h;
    score_result(s, &s->results[i], s->finished, &h);
    s->ranks[i] = (struct linnet_candidate){h.score, s->results[i].serial, i};
  }
  s->result_count = linnet_candidates_rank(s->ranks, s->result_count, s->beam);
  s->ranked = true;
  return LINNET_OK;
}

enum linnet_status linnet_word_search_finish(struct linnet_word_search *search) {
  if (!search)
    return LINNET_ERROR_ARGUMENT;
  search->ranked = search->ranked && search->finished;
  search->finished = true;
  return rank_results(search);
}

size_t linnet_word_search_num_hypotheses(struct linnet_word_search *search) {
  return rank_results(search) == LINNET_OK ? search->result_count : 0;
}

/* Natural logarithm. Where a word can still be longer, scores of the hypotheses with and without it often differ by
 * less than this; larger margins show no more right words in time, and more that are withdrawn (docs/live.md). */
static const double partial_margin = 5;

size_t linnet_word_search_partial(const struct linnet_word_search *s) {
  for (size_t i = 0; i < s->result_count && s->ranks[i].score >= s->ranks[0].score - partial_margin; i++)
    if (s->results[s->ranks[i].parent].complete)
      return i;
  return 0;
}

size_t linnet_word_search_num_stable_words(const struct linnet_word_search *s) {
  uint32_t common = s->now->states[0].position.history;
  for (size_t i = 1; i < s->now->count; i++)
    common = linnet_trie_common(&s->history.trie, common, s->now->states[i].position.history);
  return linnet_history_at(&s->history, common)->depth;
}

/* --- one hypothesis ----------------------------------------------------------------------------------------------- */

/* The last segment of a state's best alignment; its symbol is 0 if there is none. */
static struct linnet_word_record last_segment(const struct linnet_word_search *s, uint32_t index) {
  const struct linnet_word_state *state = &s->now->states[index];
  const struct linnet_token *token = linnet_token_best(&s->now->tokens[index]);
  struct linnet_word_record record = {.symbol = state->symbol, .word = linnet_word_of(s, state)};
  if (state->symbol > 0)
    record.segment =
        (struct linnet_alignment_record){token->before, token->start, token->end, linnet_token_confidence(token)};
  return record;
}

/* Replaces a record by the previous segment's; false if there is none. */
static bool go_back(const struct linnet_word_search *s, struct linnet_word_record *record) {
  if (record->symbol == 0 || record->segment.previous == LINNET_TREE_NONE)
    return false;
  *record = *(const struct linnet_word_record *)linnet_tree_pool_at(&s->records, record->segment.previous);
  return true;
}

/* True for a segment of the hypothesis's words or between them; false for one of an incomplete word. */
static bool belongs(const struct linnet_word_record *record, size_t words) {
  return record->symbol > 0 && (record->word == LINNET_NO_WORD || record->word < words);
}

static size_t count_segments(const struct linnet_word_search *s, uint32_t state, size_t words) {
  struct linnet_word_record record = last_segment(s, state);
  size_t count = 0;
  do
    count += belongs(&record, words);
  while (go_back(s, &record));
  return count;
}

/* Phones of a word are added from the last to the first. */
static void add_phone(struct linnet_recognised_word *word, const struct linnet_segment *segment, size_t index) {
  if (word->num_phones++ == 0)
    word->end = segment->end;
  word->first = index;
  word->start = segment->start;
}

static void fill_segments(struct linnet_word_search *s, uint32_t state, struct linnet_word_hypothesis *h) {
  struct linnet_word_record record = last_segment(s, state);
  size_t at = h->num_segments;
  do {
    if (!belongs(&record, h->num_words))
      continue;
    s->segments[--at] = (struct linnet_segment){(int)record.symbol, record.segment.start, record.segment.end,
                                                record.segment.confidence};
    if (record.word != LINNET_NO_WORD)
      add_phone(&s->words[record.word], &s->segments[at], at);
  } while (go_back(s, &record));
}

static void fill_words(struct linnet_word_search *s, uint32_t history, size_t count) {
  for (size_t i = count; i-- > 0;) {
    const struct linnet_trie_node *node = linnet_history_at(&s->history, history);
    s->words[i] = (struct linnet_recognised_word){.token = node->symbol};
    history = node->parent;
  }
}

/* The mean over the frames of a word's phones, whose confidences are still posteriors. */
static void set_confidence(const struct linnet_calibration *calibration, const struct linnet_segment *segments,
                           struct linnet_recognised_word *word) {
  double sum = 0;
  size_t frames = 0;
  for (size_t i = word->first; i < word->first + word->num_phones; i++) {
    sum += (double)segments[i].confidence * (double)(segments[i].end - segments[i].start);
    frames += segments[i].end - segments[i].start;
  }
  word->confidence = linnet_calibrate(calibration, frames > 0 ? (float)(sum / (double)frames) : 0);
}

static enum linnet_status fill(struct linnet_word_search *s, const struct linnet_word_result *result,
                               struct linnet_word_hypothesis *h) {
  h->num_words = linnet_history_at(&s->history, result->history)->depth;
  h->num_segments = count_segments(s, result->state, h->num_words);
  struct linnet_segment *segments =
      linnet_grow(s->context, s->segments, &s->max_segments, h->num_segments, sizeof *segments);
  s->segments = segments ? segments : s->segments;
  struct linnet_recognised_word *words = linnet_grow(s->context, s->words, &s->max_words, h->num_words, sizeof *words);
  s->words = words ? words : s->words;
  if (!segments || !words)
    return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for %zu words", h->num_words);
  fill_words(s, result->history, h->num_words);
  fill_segments(s, result->state, h);
  for (size_t i = 0; i < h->num_words; i++)
    set_confidence(&s->calibrations.words, segments, &words[i]);
  for (size_t i = 0; i < h->num_segments; i++)
    segments[i].confidence = linnet_calibrate(&s->calibrations.phones, segments[i].confidence);
  h->segments = segments;
  h->words = words;
  return LINNET_OK;
}

enum linnet_status linnet_word_search_hypothesis(struct linnet_word_search *search, size_t index,
                                                 struct linnet_word_hypothesis *hypothesis) {
  if (!search || !hypothesis)
    return linnet_fail(search ? search->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_word_search_hypothesis: an argument is NULL");
  LINNET_TRY(rank_results(search));
  if (index >= search->result_count)
    return linnet_fail(search->context, LINNET_ERROR_ARGUMENT,
                       "linnet_word_search_hypothesis: index %zu is out of range; there are %zu hypotheses", index,
                       search->result_count);
  const struct linnet_word_result *result = &search->results[search->ranks[index].parent];
  score_result(search, result, search->finished, hypothesis);
  return fill(search, result, hypothesis);
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

const char *linnet_word_search_text(const struct linnet_word_search *search, unsigned token) {
  if (token == search->tree.unknown)
    return LINNET_UNKNOWN_WORD;
  size_t word;
  const struct linnet_lexicon *lexicon = linnet_word_lexicon(search, token, &word);
  return token > 0 && lexicon ? linnet_lexicon_word(lexicon, word) : NULL;
}

void linnet_lexicon_tokens(const struct linnet_lexicon *lexicon, const char **names) {
  size_t count = linnet_lexicon_num_words(lexicon);
  names[0] = NULL;
  for (size_t i = 0; i < count; i++)
    names[i + 1] = linnet_lexicon_word(lexicon, i);
  names[count + 1] = LINNET_UNKNOWN_WORD;
}
