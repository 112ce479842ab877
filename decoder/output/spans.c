/* CTC learns to output a symbol in one or two frames, somewhere in the middle of the phone, and blanks around it. A
 * phone therefore reaches beyond its frames, by about as much on both sides. */
#include "decoder/output/spans.h"

#include <math.h>

/* Seconds. Among margins from 0 to 0.2 s, this one had the smallest mean error of starts and ends on synthetic speech
 * (recipes/english/local/measure_boundaries.py; docs/alignment.md). */
static const double spike_margin = 0.06;

/* A word that begins or ends at the times `from` of a phone takes the new times `to`, as far as it does not overlap the
 * words beside it. An interpolated word keeps its times. */
static void follow(struct linnet_span *words, size_t num_words, size_t word, const struct linnet_span *from,
                   const struct linnet_span *to) {
  const struct linnet_span *next = word + 1 < num_words ? &words[word + 1] : NULL;
  if (words[word].start == from->start)
    words[word].start = word > 0 ? fmax(to->start, words[word - 1].end) : to->start;
  if (words[word].end == from->end && !(next && next->interpolated))
    words[word].end = next ? fmin(to->end, next->start) : to->end;
}

void linnet_spans_widen(struct linnet_span *phones, size_t num_phones, struct linnet_span *words, size_t num_words,
                        double start, double end) {
  double low = num_phones > 0 ? fmin(start, phones[0].start) : start;
  size_t word = 0;
  for (size_t i = 0; i < num_phones; i++) {
    const struct linnet_span old = phones[i];
    const double high = i + 1 < num_phones ? (old.end + phones[i + 1].start) / 2 : fmax(end, old.end);
    phones[i].start = fmax(low, old.start - spike_margin);
    phones[i].end = fmin(high, old.end + spike_margin);
    low = high;
    while (word < num_words && words[word].end <= old.start)
      word++;
    if (word < num_words)
      follow(words, num_words, word, &old, &phones[i]);
  }
}

double linnet_spans_time(double row, size_t phones, double row_seconds, double delay) {
  return fmax((double)phones * row_seconds, row * row_seconds - delay);
}

enum linnet_status linnet_emission_delay_check(struct linnet_context *context, float seconds) {
  if (seconds >= 0 && seconds <= 10)
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_ARGUMENT, "emission_delay is %g; it must be 0 to 10 seconds",
                     (double)seconds);
}
