/* What is measured on an alignment: confidences, and the goodness of pronunciation. */
#include <math.h>

#include "base/log_add.h"
#include "decoder/align/alignment.h"

/* --- goodness of pronunciation ------------------------------------------------------------------------------------ */

static double log_posterior(const struct linnet_gop_window *w, size_t t, int symbol) {
  float x = w->log_posteriors[t * w->symbols + (size_t)symbol];
  return isfinite(x) ? (double)x : -INFINITY;
}

/* log P(symbol): the sum over all paths blank* symbol+ blank* by the forward algorithm. A blank must keep the symbol
 * apart from an equal neighbour. */
static double log_probability(const struct linnet_gop_window *w, int symbol) {
  double lead = 0, within = -INFINITY,
         trail = -INFINITY; /* paths that end in a blank before the symbol, in the symbol, in a blank after it */
  for (size_t t = 0; t < w->frames; t++) {
    double blank = log_posterior(w, t, 0), own = log_posterior(w, t, symbol);
    double entered = t == 0 && symbol == w->before ? -INFINITY : lead;
    trail = blank + linnet_log_add(trail, within);
    within = own + linnet_log_add(within, entered);
    lead += blank;
  }
  return symbol == w->after ? trail : linnet_log_add(within, trail);
}

static double log_silence(const struct linnet_gop_window *w) {
  double sum = 0;
  for (size_t t = 0; t < w->frames; t++)
    sum += log_posterior(w, t, 0);
  return sum;
}

double linnet_gop(const struct linnet_gop_window *w) {
  double own = -INFINITY, total = log_silence(w);
  for (int q = 1; (size_t)q < w->symbols; q++) {
    double p = log_probability(w, q);
    own = q == w->symbol ? p : own;
    total = linnet_log_add(total, p);
  }
  return own == -INFINITY ? -INFINITY : fmin(own - total, 0);
}

/* --- an alignment's phones ---------------------------------------------------------------------------------------- */

/* Measures of an alignment: posteriors, and goodness of pronunciation. */

/* The frames between the neighbours of phone i. They begin where the previous phone or a jump ends, and end where the
 * next phone or a jump begins. */
static struct linnet_gop_window window_of(const struct linnet_align_maker *m, size_t i) {
  const struct linnet_alignment *a = m->result;
  const struct linnet_aligned_phone *phone = &a->phones[i];
  struct linnet_gop_window window = {.symbols = m->symbols, .symbol = phone->symbol};
  size_t first = phone->start, end = phone->end;
  size_t min_first = i > 0 ? phone[-1].end : 0, max_end = i + 1 < a->num_phones ? phone[1].start : m->frames;
  while (first > min_first && m->path.state[first - 1] != LINNET_ALIGN_OUTSIDE)
    first--;
  while (end < max_end && m->path.state[end] != LINNET_ALIGN_OUTSIDE)
    end++;
  window.before = i > 0 && first == min_first ? phone[-1].symbol : 0;
  window.after = i + 1 < a->num_phones && end == max_end ? phone[1].symbol : 0;
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

/* Called after the confidences of words are set, which are means of uncalibrated posteriors. */
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
