/* Long short-term memory (Hochreiter, Schmidhuber 1997; Gers 2000), one direction of a layer on packed sequences, as
 * torch.nn.LSTM defines it: the C reference, and what it shares with the kernels. */
#ifndef LINNET_LSTM_H
#define LINNET_LSTM_H

#include "ops/pack.h"

/* What recurrent weights are laid out for. */
enum linnet_lstm_use { LINNET_LSTM_FORWARD, LINNET_LSTM_BACKWARD };

/* One direction of an LSTM layer with H units; gates lie side by side in PyTorch's order: i, f, g, o, H columns each.
 * Formulas: ops/lstm.c. */
struct linnet_lstm {
  size_t width; /* H */
  size_t ld;    /* of h and dh: the directions of a layer lie side by side */
  bool reverse; /* sequences are walked from their last frame to their first */
  size_t sequences;
  const struct linnet_span *spans; /* (sequences), longest first */
  const real *weights;             /* W_hh (4H, H) as lstm_pack laid it out for this use */
  const real *bias;                /* b_hh (4H); not for backward */
};

/* Where the tensors of one direction of a layer lie in a buffer of weights or gradients, as torch.nn.LSTM has them. H
 * units, I inputs. */
struct linnet_lstm_offsets {
  size_t weight_ih, weight_hh; /* (4H, I), (4H, H) */
  size_t bias_ih, bias_hh;     /* (4H) */
};

/* An LSTM layer of two directions, whose outputs lie side by side. */
struct linnet_lstm_layer {
  size_t inputs, width;                         /* I, H */
  bool forward_only;                            /* no backward will follow */
  const struct linnet_lstm_offsets *directions; /* (2): forward, reverse */
  const real *weights;                          /* the buffer */
};

size_t linnet_lstm_work(size_t width, size_t sequences);

/* The sequences of a batch as spans, longest first; equally long ones in their order. */
void linnet_spans_longest_first(const struct linnet_pack *pack, struct linnet_span *spans);

/* W_ih x + b_ih comes in `gates` (T, 4H); forward replaces them by the activated gates, saves c in `cells` (T, H)
 * (NULL: it does not) and writes h (T, H). `state` (2, sequences, H) is h, then c, before each sequence's first step,
 * and is replaced by that after its last, so that a sequence may be run in pieces. backward takes what a forward from
 * zero state saved, and dh (T, H), and replaces the gates by the gradients of their sums (T, 4H), from which those of
 * weights, bias and inputs are products over all frames. */
size_t linnet_lstm_pack_size_reference(size_t width, enum linnet_lstm_use use);
void linnet_lstm_pack_reference(size_t width, enum linnet_lstm_use use, const real *weights, real *packed);
void linnet_lstm_forward_reference(const struct linnet_lstm *l, real *gates, real *cells, real *state, real *h,
                                   real *work);
void linnet_lstm_backward_reference(const struct linnet_lstm *l, const real *cells, const real *dh, real *gates,
                                    real *work);

/* The row of the batch that a sequence is at in a step, counted from 0 in the direction of the walk. */
static inline size_t linnet_lstm_row(const struct linnet_lstm *l, const struct linnet_span *span, size_t step) {
  return span->first + (l->reverse ? span->frames - 1 - step : step);
}

#endif
