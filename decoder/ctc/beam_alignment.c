/* The Viterbi tokens of a beam search: how they begin, close a segment, and keep the records that they need. */
#include "decoder/ctc/beam_alignment.h"

float linnet_token_confidence(const struct linnet_token *token) {
  return (float)(token->posteriors / (double)(token->end - token->start));
}

uint32_t linnet_token_record(struct linnet_token *token, struct linnet_tree_pool *records) {
  if (token->record == LINNET_TREE_NONE) {
    token->record = linnet_tree_pool_take(records);
    *linnet_record_at(records, token->record) =
        (struct linnet_alignment_record){token->before, token->start, token->end, linnet_token_confidence(token)};
  }
  return token->record;
}

void linnet_tokens_start(struct linnet_token_pair *pair) {
  pair->symbol = (struct linnet_token){.before = LINNET_TREE_NONE, .record = LINNET_TREE_NONE};
  pair->blank = pair->symbol;
  pair->blank.probability = 1;
}

void linnet_tokens_mark(const struct linnet_token_pair *pair, struct linnet_tree_pool *records) {
  linnet_tree_pool_mark(records, pair->symbol.before);
  linnet_tree_pool_mark(records, pair->symbol.record);
  linnet_tree_pool_mark(records, pair->blank.before);
  linnet_tree_pool_mark(records, pair->blank.record);
}
