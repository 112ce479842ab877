/* What comes out of a prefix beam search: hypotheses with scores and times. */
#include <math.h>

#include "decoder/ctc/beam_search.h"

static void scores_of(const struct linnet_beam *beam, uint32_t index, struct linnet_hypothesis *h) {
  const struct linnet_beam_side *now = beam->now;
  const struct linnet_beam_entry *entry = &now->entries[index];
  static const double ln2 = 0.69314718055994530942;
  h->num_segments = linnet_trie_at(&beam->trie, entry->node)->depth;
  h->acoustic = log(now->blank[index] + now->symbol[index]) + beam->log_scale + (double)beam->exponent * ln2;
  h->language = entry->language + (beam->finished ? linnet_fusion_end(&beam->fusion, entry->slot) : 0.0);
  h->score = h->acoustic + linnet_fusion_score(&beam->fusion, h->language, h->num_segments);
}

/* Before the end the entries are in order; with the model's end of the sentence they may not be. */
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

/* From the last to the first: symbols from the trie, times from the best alignment. */
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
    return linnet_fail(beam ? beam->context : NULL, LINNET_ERROR_ARGUMENT, "linnet_beam_hypothesis: NULL argument");
  if (index >= beam->now->count)
    return linnet_fail(beam->context, LINNET_ERROR_ARGUMENT, "linnet_beam_hypothesis: index %zu of %zu hypotheses",
                       index, beam->now->count);
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
