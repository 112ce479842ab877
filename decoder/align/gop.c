/* Goodness of pronunciation of one phone: its probability within the window against those of all symbols and of
 * silence. */
#include "decoder/align/gop.h"

#include <math.h>

static double log_add(double a, double b) {
  double high = a > b ? a : b, low = a > b ? b : a;
  return low == -INFINITY ? high : high + log1p(exp(low - high));
}

static double log_posterior(const struct linnet_gop_window *w, size_t t, int symbol) {
  float x = w->log_posteriors[t * w->symbols + (size_t)symbol];
  return isfinite(x) ? (double)x : -INFINITY;
}

/* log P(symbol): the sum over all paths blank* symbol+ blank* by the forward algorithm. A blank must keep the symbol
 * apart from an equal neighbour. */
static double log_probability(const struct linnet_gop_window *w, int symbol) {
  double lead = 0, within = -INFINITY, trail = -INFINITY; /* paths that end in the blanks before, in it, after it */
  for (size_t t = 0; t < w->frames; t++) {
    double blank = log_posterior(w, t, 0), own = log_posterior(w, t, symbol);
    double entered = t == 0 && symbol == w->before ? -INFINITY : lead;
    trail = blank + log_add(trail, within);
    within = own + log_add(within, entered);
    lead += blank;
  }
  return symbol == w->after ? trail : log_add(within, trail);
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
    total = log_add(total, p);
  }
  return own == -INFINITY ? -INFINITY : fmin(own - total, 0);
}
