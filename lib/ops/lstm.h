/* Long short-term memory (Hochreiter, Schmidhuber 1997; Gers 2000), one direction of a layer on packed sequences, as
 * torch.nn.LSTM defines it: the C reference, and the part that it shares with the kernels. */
#ifndef LINNET_LSTM_H
#define LINNET_LSTM_H

#include "ops/pack.h"

/* The use that recurrent weights are packed for. */
enum linnet_lstm_use { LINNET_LSTM_FORWARD, LINNET_LSTM_BACKWARD };

/* One direction of an LSTM layer with H units. The gates are side by side in PyTorch's order: i, f, g, o, H columns
 * each. Formulas: ops/lstm.c. */
struct linnet_lstm {
  size_t width; /* H */
  size_t ld;    /* leading dimension of h and dh: both directions of a layer are side by side */
  bool reverse; /* the steps go from the last frame of a sequence to the first */
  size_t sequences;
  const struct linnet_sequence_span *spans; /* (sequences), longest first */
  const real *weights;                      /* W_hh (4H, H), packed by lstm_pack for this use */
  const real *bias;                         /* b_hh (4H); not used by backward */
};

/* The offsets of the tensors of one direction of a layer in a buffer of weights or gradients, as in torch.nn.LSTM. H
 * units, I inputs. */
struct linnet_lstm_offsets {
  size_t weight_ih, weight_hh; /* (4H, I), (4H, H) */
  size_t bias_ih, bias_hh;     /* (4H) */
};

/* An LSTM layer of two directions, whose outputs are side by side. */
struct linnet_lstm_layer {
  size_t inputs, width;                         /* I, H */
  bool forward_only;                            /* no backward follows */
  const struct linnet_lstm_offsets *directions; /* (2): forward, reverse */
  const real *weights;                          /* the buffer */
};

/* Backward over such a layer: dx from dout, and the gradients of its tensors. */
struct linnet_lstm_layer_gradients {
  const void *x, *dout; /* (T, I), (T, 2H) */
  void *saved;          /* by forward */
  void *dx;             /* (T, I) or NULL */
  real *gradients_add;  /* the buffer */
};

size_t linnet_lstm_work(size_t width, size_t sequences);

/* The sequences of a batch as spans, the longest first. Sequences of equal length keep their order. */
void linnet_spans_longest_first(const struct linnet_pack *pack, struct linnet_sequence_span *spans);

/* forward: on entry `gates` (T, 4H) holds W_ih x + b_ih; forward replaces it by the activated gates, saves c in `cells`
 * (T, H) unless that is NULL, and writes h (T, H). `state` (2, sequences, H) is h, then c, before the first step of
 * each sequence; forward replaces it by the state after the last step, so that a sequence may be processed in parts.
 * backward: reads what a forward from zero state saved, and dh (T, H). It replaces the gates by the gradients of their
 * sums (T, 4H); the caller computes the gradients of weights, bias and inputs from these, as products over all frames.
 */
size_t linnet_lstm_pack_size_reference(size_t width, enum linnet_lstm_use use);
void linnet_lstm_pack_reference(size_t width, enum linnet_lstm_use use, const real *weights, real *packed);
void linnet_lstm_forward_reference(const struct linnet_lstm *l, real *gates, real *cells, real *state, real *h,
                                   real *work);
void linnet_lstm_backward_reference(const struct linnet_lstm *l, const real *cells, const real *dh, real *gates,
                                    real *work);

/* The row of the batch of a sequence at a step, which counts from 0 in the direction of the layer. */
static inline size_t linnet_lstm_row(const struct linnet_lstm *l, const struct linnet_sequence_span *span,
                                     size_t step) {
  return span->first + (l->reverse ? span->frames - 1 - step : step);
}

#endif
