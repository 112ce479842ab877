#include "hypotheses.h"

#include <stdlib.h>

static bool reserve(struct hypotheses *hypotheses, size_t count, size_t spans) {
  *hypotheses = (struct hypotheses){.spans = malloc((spans + 1) * sizeof *hypotheses->spans),
                                    .alternatives = malloc((count + 1) * sizeof *hypotheses->alternatives)};
  return hypotheses->spans && hypotheses->alternatives;
}

static struct linnet_span span_of(const struct segment_rule *rule, const struct linnet_segment *segment) {
  struct linnet_span span = {.text = rule->name(rule->user, segment->symbol),
                             .start = (double)segment->start * rule->frame_seconds,
                             .end = (double)segment->end * rule->frame_seconds,
                             .confidence = segment->confidence};
  if (rule->calibration)
    span.confidence = linnet_calibrate(rule->calibration, span.confidence);
  return span;
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

void hypotheses_describe(const struct hypotheses *hypotheses, bool alternatives, struct linnet_output *output) {
  output->phones = hypotheses->alternatives[0].phones;
  output->phone_count = hypotheses->alternatives[0].phone_count;
  output->alternatives = hypotheses->alternatives;
  output->alternative_count = alternatives ? hypotheses->count : 0;
}

void hypotheses_release(struct hypotheses *hypotheses) {
  free(hypotheses->spans);
  free(hypotheses->alternatives);
}
