/* How sure an alignment is: posteriors, and goodness of pronunciation. */
#include <math.h>

#include "decoder/align/alignment.h"
#include "decoder/align/gop.h"

/* The frames between the neighbours of phone i: they end where the phone before ends, or a jump, and likewise after. */
static struct linnet_gop_window window_of(const struct linnet_align_maker *m, size_t i) {
  const struct linnet_alignment *a = m->result;
  const struct linnet_aligned_phone *phone = &a->phones[i];
  struct linnet_gop_window window = {.symbols = m->symbols, .symbol = phone->symbol};
  size_t first = phone->start, end = phone->end;
  size_t least = i > 0 ? phone[-1].end : 0, most = i + 1 < a->num_phones ? phone[1].start : m->frames;
  while (first > least && m->path.state[first - 1] != LINNET_ALIGN_OUTSIDE)
    first--;
  while (end < most && m->path.state[end] != LINNET_ALIGN_OUTSIDE)
    end++;
  window.before = i > 0 && first == least ? phone[-1].symbol : 0;
  window.after = i + 1 < a->num_phones && end == most ? phone[1].symbol : 0;
  window.log_posteriors = m->log_posteriors + first * m->symbols;
  window.frames = end - first;
  return window;
}

static void measure_phone(const struct linnet_align_maker *m, size_t i) {
  struct linnet_aligned_phone *phone = &m->result->phones[i];
  double posterior = 0, log_posterior = 0, frames = (double)(phone->end - phone->start);
  for (size_t t = phone->start; t < phone->end; t++) {
    double x = (double)m->log_posteriors[t * m->symbols + (size_t)phone->symbol];
    posterior += fmin(exp(x), 1.0);
    log_posterior += x;
  }
  struct linnet_gop_window window = window_of(m, i);
  phone->confidence = (float)(posterior / frames);
  phone->log_posterior = (float)(log_posterior / frames);
  phone->gop = (float)linnet_gop(&window);
}

static void measure_word(const struct linnet_align_maker *m, struct linnet_aligned_word *word) {
  double posterior = 0, frames = 0, gop = 0;
  for (size_t i = word->phone; i < word->phone + word->num_phones; i++) {
    const struct linnet_aligned_phone *phone = &m->result->phones[i];
    posterior += (double)phone->confidence * (double)(phone->end - phone->start);
    frames += (double)(phone->end - phone->start);
    gop += (double)phone->gop;
  }
  word->confidence = linnet_calibrate(&m->calibrations.words, (float)(posterior / frames));
  word->gop = (float)(gop / (double)word->num_phones);
  word->doubtful = word->gop < m->settings.doubt;
}

/* After the words, which are means of posteriors. */
static void calibrate_phones(const struct linnet_align_maker *m) {
  for (size_t i = 0; i < m->result->num_phones; i++) {
    struct linnet_aligned_phone *phone = &m->result->phones[i];
    phone->confidence = linnet_calibrate(&m->calibrations.phones, phone->confidence);
  }
}

enum linnet_status linnet_align_measure(const struct linnet_align_maker *m) {
  for (size_t i = 0; i < m->result->num_phones; i++) {
    LINNET_TRY(linnet_poll_check(m->context));
    measure_phone(m, i);
  }
  for (size_t i = 0; i < m->result->num_words; i++)
    measure_word(m, &m->result->words[i]);
  calibrate_phones(m);
  return LINNET_OK;
}
