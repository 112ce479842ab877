/* Turns the phones, words and jumps of an alignment into spans for the output formats. */
#include "aligned_spans.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static bool holds(const char *text, const char *part) {
  for (size_t length = strlen(part); *text; text++)
    if (strncasecmp(text, part, length) == 0)
      return true;
  return false;
}

/* The words by which a written word was aligned, NULL if it has them within. */
static const char *spoken_words(const struct align_text *text, const struct linnet_aligned_word *word) {
  const char *spoken = linnet_pronounced_text_spoken(text->spoken, word->word, word->variant);
  return spoken && !holds(text->tokens[align_text_index(text, word->word)], spoken) ? spoken : NULL;
}

/* The times are those of the placed word: an aligned word may have given frames to its neighbours. */
static struct linnet_span word_span(const struct aligned_rule *rule, const struct linnet_aligned_word *words,
                                    const struct linnet_placed_word *placed) {
  size_t count;
  const struct linnet_written_word *written = linnet_pronounced_text_words(rule->text->spoken, &count);
  const char *text = rule->text->tokens[placed->word];
  struct linnet_span span = {.text = text, .interpolated = 1};
  if (placed->aligned != LINNET_NOT_FOUND) {
    const struct linnet_aligned_word *word = &words[placed->aligned];
    span = span_of(rule, text, word->start, word->end, word->confidence, word->gop);
    span.doubtful = word->doubtful;
    span.spoken = spoken_words(rule->text, word);
    span.guessed = written[placed->word].source == LINNET_WORD_GUESSED;
  }
  span.start = placed->start * rule->frame_seconds;
  span.end = placed->end * rule->frame_seconds;
  span.end = span.end > rule->seconds && span.start < rule->seconds ? rule->seconds : span.end;
  return span;
}

struct linnet_span *aligned_words(const struct linnet_alignment *alignment, const struct aligned_rule *rule,
                                  size_t frames, size_t *count) {
  size_t word_count;
  const struct linnet_aligned_word *words = linnet_alignment_words(alignment, &word_count);
  linnet_pronounced_text_place(rule->text->spoken, alignment, frames, NULL, 0, count);
  struct linnet_placed_word *placed = malloc((*count + 1) * sizeof *placed);
  struct linnet_span *spans = malloc((*count + 1) * sizeof *spans);
  if (placed && spans)
    linnet_pronounced_text_place(rule->text->spoken, alignment, frames, placed, *count, count);
  for (size_t i = 0; placed && spans && i < *count; i++)
    spans[i] = word_span(rule, words, &placed[i]);
  if (!placed) {
    free(spans);
    spans = NULL;
  }
  free(placed);
  return spans;
}

/* The index in the text of a word to align, or of what follows the last. */
static size_t index_of(const struct align_text *text, size_t word) {
  return word < text->count ? align_text_index(text, word) : word > 0 ? align_text_index(text, word - 1) + 1 : 0;
}

struct linnet_output_jump *aligned_jumps(const struct linnet_alignment *alignment, const struct aligned_rule *rule,
                                         size_t *count) {
  static const char *const kinds[] = {
      [LINNET_JUMP_INSERTED] = "inserted", [LINNET_JUMP_SKIPPED] = "skipped", [LINNET_JUMP_REPEATED] = "repeated"};
  const struct linnet_align_jump *jumps = linnet_alignment_jumps(alignment, count);
  struct linnet_output_jump *found = malloc((*count + 1) * sizeof *found);
  for (size_t i = 0; found && i < *count; i++) {
    size_t first = index_of(rule->text, jumps[i].word), end = index_of(rule->text, jumps[i].word + jumps[i].count);
    bool inserted = jumps[i].kind == LINNET_JUMP_INSERTED;
    found[i] = (struct linnet_output_jump){.kind = kinds[jumps[i].kind],
                                           .start = (double)jumps[i].start * rule->frame_seconds,
                                           .end = (double)jumps[i].end * rule->frame_seconds,
                                           .word = first,
                                           .count = inserted ? 0 : end - first,
                                           .words = rule->text->tokens + first};
  }
  return found;
}
