/* Long short-term memory (Hochreiter, Schmidhuber 1997; Gers 2000), one direction of a layer on packed sequences, as
 * torch.nn.LSTM defines it: the C reference, and what it shares with the kernels. */
#ifndef LINNET_LSTM_H
#define LINNET_LSTM_H

#include "backend/backend.h"

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
