/* Turns greedy segments, beam and word hypotheses into spans for the output formats. */
#include "hypotheses.h"

#include <stdlib.h>

static bool reserve(struct hypotheses *hypotheses, size_t count, size_t spans) {
  *hypotheses = (struct hypotheses){.spans = malloc((spans + 1) * sizeof *hypotheses->spans),
                                    .alternatives = malloc((count + 1) * sizeof *hypotheses->alternatives)};
  return hypotheses->spans && hypotheses->alternatives;
}

static struct linnet_span span(const struct segment_rule *rule, const char *text, size_t start, size_t end,
                               float confidence) {
  return (struct linnet_span){.text = text,
                              .start = (double)start * rule->frame_seconds,
                              .end = (double)end * rule->frame_seconds,
                              .confidence = confidence};
}

static struct linnet_span span_of(const struct segment_rule *rule, const struct linnet_segment *s) {
  return span(rule, rule->name(rule->user, s->symbol), s->start, s->end, s->confidence);
}

/* The next hypothesis behind those that are there, at `spans`; returns the end of its spans. */
static struct linnet_span *append(struct hypotheses *hypotheses, const struct segment_rule *rule,
                                  const struct linnet_hypothesis *h, struct linnet_span *spans) {
  hypotheses->alternatives[hypotheses->count++] = (struct linnet_alternative){
      .score = h->score, .acoustic = h->acoustic, .language = h->language, .phones = spans, .phone_count = h->count};
  for (size_t i = 0; i < h->count; i++)
    spans[i] = span_of(rule, &h->segments[i]);
  return spans + h->count;
}

bool hypotheses_of_greedy(struct hypotheses *hypotheses, const struct segment_rule *rule,
                          const struct linnet_segment *segments, size_t count) {
  const struct linnet_hypothesis h = {.segments = segments, .count = count};
  if (!reserve(hypotheses, 1, count))
    return false;
  append(hypotheses, rule, &h, hypotheses->spans);
  return true;
}

bool hypotheses_of_beam(struct hypotheses *hypotheses, const struct segment_rule *rule, struct linnet_beam *beam,
                        size_t most) {
  struct linnet_hypothesis h;
  size_t count = linnet_beam_count(beam), spans = 0;
  count = count < most ? count : most;
  for (size_t i = 0; i < count && linnet_beam_hypothesis(beam, i, &h) == LINNET_OK; i++)
    spans += h.count;
  if (!reserve(hypotheses, count, spans))
    return false;
  struct linnet_span *end = hypotheses->spans;
  for (size_t i = 0; i < count && linnet_beam_hypothesis(beam, i, &h) == LINNET_OK; i++)
    end = append(hypotheses, rule, &h, end);
  return hypotheses->count == count;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* Words first, then phones. */
static struct linnet_span *append_words(struct hypotheses *hypotheses, const struct segment_rule *rule,
                                        const struct linnet_word_search *search, const struct linnet_word_hypothesis *h,
                                        struct linnet_span *spans) {
  for (size_t i = 0; i < h->word_count; i++)
    spans[i] = span(rule, linnet_word_search_text(search, h->words[i].token), h->words[i].start, h->words[i].end,
                    h->words[i].confidence);
  for (size_t i = 0; i < h->segment_count; i++)
    spans[h->word_count + i] = span_of(rule, &h->segments[i]);
  hypotheses->alternatives[hypotheses->count++] = (struct linnet_alternative){.score = h->score,
                                                                              .acoustic = h->acoustic,
                                                                              .language = h->language,
                                                                              .words = spans,
                                                                              .word_count = h->word_count,
                                                                              .phones = spans + h->word_count,
                                                                              .phone_count = h->segment_count};
  return spans + h->word_count + h->segment_count;
}

bool hypotheses_of_words(struct hypotheses *hypotheses, const struct segment_rule *rule,
                         struct linnet_word_search *search, size_t most) {
  struct linnet_word_hypothesis h;
  size_t count = linnet_word_search_count(search), spans = 0;
  count = count < most ? count : most;
  for (size_t i = 0; i < count && linnet_word_search_hypothesis(search, i, &h) == LINNET_OK; i++)
    spans += h.word_count + h.segment_count;
  if (!reserve(hypotheses, count, spans))
    return false;
  struct linnet_span *end = hypotheses->spans;
  for (size_t i = 0; i < count && linnet_word_search_hypothesis(search, i, &h) == LINNET_OK; i++)
    end = append_words(hypotheses, rule, search, &h, end);
  return count > 0 && hypotheses->count == count;
}

/* ------------------------------------------------------------------------------------------------------------------ */

void hypotheses_describe(const struct hypotheses *hypotheses, bool alternatives, struct linnet_output *output) {
  output->words = hypotheses->alternatives[0].words;
  output->word_count = hypotheses->alternatives[0].word_count;
  output->phones = hypotheses->alternatives[0].phones;
  output->phone_count = hypotheses->alternatives[0].phone_count;
  output->alternatives = hypotheses->alternatives;
  output->alternative_count = alternatives ? hypotheses->count : 0;
}

void hypotheses_release(struct hypotheses *hypotheses) {
  free(hypotheses->spans);
  free(hypotheses->alternatives);
}
