/* A row of log-posteriors as the frames of a search take it: relative to its largest value, with the symbols that are
 * worth a try. */
#ifndef LINNET_BEAM_ROW_H
#define LINNET_BEAM_ROW_H

#include <math.h>

#include "base/arena.h"
#include "decoder/ctc/beam_rank.h"

/* Smaller numbers, relative to the best hypothesis's, are nothing: products of what stays never become denormal. */
#define LINNET_NOTHING 0x1p-900

struct linnet_row {
  const float *values; /* (symbols); NULL: a certain blank */
  float largest;
  double blank;           /* exp(values[0] - largest) */
  double posterior_scale; /* posterior = this * probability relative to the row's largest */
};

/* Which symbols a frame may append, and those it does. */
struct linnet_row_choice {
  size_t symbols, top;
  float threshold;
  size_t count;
  struct linnet_candidate *chosen; /* (symbols): most probable first; only `symbol` and `score` are used */
  double *exponents;               /* (symbols): work space */
  double *probability;             /* (symbols): of those chosen, by symbol, relative to the row's largest */
};

/* A log-posterior: NaN and +infinity are impossible. */
static inline float linnet_row_sane(float x) {
  return x < INFINITY ? x : -INFINITY;
}

static inline double linnet_row_floor(double probability) {
  return probability > LINNET_NOTHING ? probability : 0.0;
}

/* Of a probability relative to the row's largest; what is above 1 counts as 1, as in greedy decoding. */
static inline double linnet_row_posterior(const struct linnet_row *row, double probability) {
  double value = row->posterior_scale * probability;
  return value < 1 ? value : 1;
}

/* The power of two that brings x near 1. */
static inline double linnet_row_scale(double x, int *exponent) {
  *exponent = 0;
  if (x > 0)
    frexp(x, exponent);
  return ldexp(1, -*exponent);
}

/* NULL, and a row in which nothing is possible, is a certain blank. */
struct linnet_row linnet_row_read(const float *values, size_t symbols);

/* The logarithm of a symbol's probability, relative to the row's largest; the blank, 0, has none as a symbol. */
static inline double linnet_row_exponent(const struct linnet_row *row, uint32_t symbol) {
  return row->values && symbol > 0 ? (double)linnet_row_sane(row->values[symbol]) - (double)row->largest
                                   : -(double)INFINITY;
}

/* Memory for the arrays of a choice. */
void linnet_row_choice_lay_out(struct linnet_row_choice *choice, struct linnet_arena *arena);

/* Chooses the symbols that pass the pruning and whose probability, relative to the row's largest, is at least `least`
 * (within a rounding error: the exact test is the caller's). */
void linnet_row_choose(const struct linnet_row *row, struct linnet_row_choice *choice, double least);

#endif
