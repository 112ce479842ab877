#include "aligned_spans.h"

#include <stdlib.h>

static struct linnet_span span_of(const struct aligned_rule *rule, const char *text, size_t start, size_t end,
                                  float confidence, float gop) {
  struct linnet_span span = {.text = text,
                             .start = (double)start * rule->frame_seconds,
                             .end = (double)end * rule->frame_seconds,
                             .confidence = confidence,
                             .has_gop = 1,
                             .gop = gop};
  span.end = span.end > rule->seconds && span.start < rule->seconds ? rule->seconds : span.end;
  return span;
}

struct linnet_span *aligned_phones(const struct linnet_alignment *alignment, const struct aligned_rule *rule,
                                   size_t *count) {
  const struct linnet_aligned_phone *phones = linnet_alignment_phones(alignment, count);
  struct linnet_span *spans = malloc((*count + 1) * sizeof *spans);
  for (size_t i = 0; spans && i < *count; i++)
    spans[i] = span_of(rule, linnet_model_symbol(rule->model, phones[i].symbol), phones[i].start, phones[i].end,
                       phones[i].confidence, phones[i].gop);
  return spans;
}

struct linnet_span *aligned_words(const struct linnet_alignment *alignment, const struct aligned_rule *rule,
                                  size_t *count) {
  const struct linnet_aligned_word *words = linnet_alignment_words(alignment, count);
  struct linnet_span *spans = malloc((*count + 1) * sizeof *spans);
  for (size_t i = 0; spans && i < *count; i++) {
    spans[i] =
        span_of(rule, rule->tokens[words[i].word], words[i].start, words[i].end, words[i].confidence, words[i].gop);
    spans[i].doubtful = words[i].doubtful;
  }
  return spans;
}

struct linnet_output_jump *aligned_jumps(const struct linnet_alignment *alignment, const struct aligned_rule *rule,
                                         size_t *count) {
  static const char *const kinds[] = {
      [LINNET_JUMP_INSERTED] = "inserted", [LINNET_JUMP_SKIPPED] = "skipped", [LINNET_JUMP_REPEATED] = "repeated"};
  const struct linnet_align_jump *jumps = linnet_alignment_jumps(alignment, count);
  struct linnet_output_jump *found = malloc((*count + 1) * sizeof *found);
  for (size_t i = 0; found && i < *count; i++)
    found[i] = (struct linnet_output_jump){.kind = kinds[jumps[i].kind],
                                           .start = (double)jumps[i].start * rule->frame_seconds,
                                           .end = (double)jumps[i].end * rule->frame_seconds,
                                           .word = jumps[i].word,
                                           .count = jumps[i].kind == LINNET_JUMP_INSERTED ? 0 : jumps[i].count,
                                           .words = rule->tokens + jumps[i].word};
  return found;
}
