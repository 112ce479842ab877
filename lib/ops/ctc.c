/* States s = 0 ... 2 * labels: blanks at even s, label (s - 1) / 2 at odd s. In log space, with p_t the log-softmax of
 * the logits at frame t and l_s the symbol of state s (Graves et al. 2006, eq. 6-11, 14-16):
 *
 *   alpha_t(s) = p_t(l_s) + logsum(alpha_{t-1}(s), alpha_{t-1}(s-1) [, alpha_{t-1}(s-2)])
 *   beta_t(s)  = logsum over successors s' of p_{t+1}(l_s') + beta_{t+1}(s')
 *   d(-log P) / d logit_t(k) = softmax_t(k) - sum over s with l_s = k of exp(alpha_t(s) + beta_t(s) - log P)
 *
 * The skip s-2 is allowed for a label that differs from the label before. A sequence that the labels do not fit into,
 * or whose every path has probability 0, is infeasible: infinity, gradient zero. Logits of -infinity are impossible
 * symbols; a row that holds NaN or +infinity, or only -infinity, makes the loss NaN and the gradient zero. */
#include "ops/ctc.h"

#include <string.h>

#include "base/log_add.h"
#include "ops/log_softmax.h"

struct lattice {
  size_t frames, states;
  const struct linnet_ctc *c;
  double *alpha;       /* (frames, states) */
  double *beta, *next; /* (states) each */
  double *log_p;       /* (symbols): log-softmax of one frame */
};

size_t linnet_ctc_work_bytes(size_t frames, size_t symbols, size_t labels) {
  return (frames * (2 * labels + 32) + 8 * (2 * labels + 64) + 4 * symbols + 1024) * sizeof(double);
}

size_t linnet_ctc_min_frames(const int *label, size_t labels) {
  size_t frames = labels;
  for (size_t i = 1; i < labels; i++)
    frames += label[i] == label[i - 1];
  return frames;
}

static int symbol_of(const struct linnet_ctc *c, size_t state) {
  return state % 2 ? c->label[state / 2] : 0;
}

static bool may_skip(const struct linnet_ctc *c, size_t state) {
  return state % 2 && state >= 3 && c->label[state / 2] != c->label[state / 2 - 1];
}

static bool forward(struct lattice *l) {
  for (size_t t = 0; t < l->frames; t++) {
    double *row = l->alpha + t * l->states;
    const double *before = row - l->states;
    if (!linnet_log_distribution(l->c->symbols, l->c->logits + t * l->c->symbols, l->log_p))
      return false;
    for (size_t s = 0; s < l->states; s++) {
      double sum = -INFINITY;
      if (t == 0)
        sum = s < 2 ? 0 : -INFINITY;
      else {
        sum = before[s];
        if (s >= 1)
          sum = linnet_log_add(sum, before[s - 1]);
        if (may_skip(l->c, s))
          sum = linnet_log_add(sum, before[s - 2]);
      }
      row[s] = sum + l->log_p[symbol_of(l->c, s)];
    }
  }
  return true;
}

static double log_likelihood(const struct lattice *l) {
  if (l->frames == 0)
    return l->states == 1 ? 0 : -INFINITY;
  const double *last = l->alpha + (l->frames - 1) * l->states;
  double sum = last[l->states - 1];
  return l->states > 1 ? linnet_log_add(sum, last[l->states - 2]) : sum;
}

/* Computes beta of the previous frame from beta and log_p of this frame. */
static void beta_step(struct lattice *l) {
  for (size_t s = 0; s < l->states; s++)
    l->next[s] = l->beta[s] + l->log_p[symbol_of(l->c, s)];
  for (size_t s = 0; s < l->states; s++) {
    double sum = l->next[s];
    if (s + 1 < l->states)
      sum = linnet_log_add(sum, l->next[s + 1]);
    if (s + 2 < l->states && may_skip(l->c, s + 2))
      sum = linnet_log_add(sum, l->next[s + 2]);
    l->beta[s] = sum;
  }
}

static void backward(struct lattice *l, double log_total) {
  const struct linnet_ctc *c = l->c;
  for (size_t s = 0; s < l->states; s++)
    l->beta[s] = s + 2 >= l->states ? 0 : -INFINITY;
  for (size_t t = l->frames; t-- > 0;) {
    real *gradient = c->gradient + t * c->symbols;
    linnet_log_distribution(c->symbols, c->logits + t * c->symbols, l->log_p);
    for (size_t k = 0; k < c->symbols; k++)
      gradient[k] = c->scale * (real)exp(l->log_p[k]);
    for (size_t s = 0; s < l->states; s++)
      gradient[symbol_of(c, s)] -= c->scale * (real)exp(l->alpha[t * l->states + s] + l->beta[s] - log_total);
    beta_step(l);
  }
}

double linnet_ctc_reference(const struct linnet_ctc *c, void *work) {
  struct lattice l = {.frames = c->frames, .states = 2 * c->labels + 1, .c = c, .alpha = work};
  l.beta = l.alpha + l.frames * l.states;
  l.next = l.beta + l.states;
  l.log_p = l.next + l.states;
  double log_total = forward(&l) ? log_likelihood(&l) : NAN;
  if (c->gradient && (isnan(log_total) || log_total == -INFINITY))
    memset(c->gradient, 0, c->frames * c->symbols * sizeof *c->gradient);
  else if (c->gradient)
    backward(&l, log_total);
  return -log_total;
}
