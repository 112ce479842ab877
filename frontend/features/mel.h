/* Triangular filters, equally wide in mel, over the bins of a power spectrum. */
#ifndef LINNET_MEL_H
#define LINNET_MEL_H

#include "base/base.h"

struct linnet_mel {
  size_t bands;
  size_t begin, end; /* bins that any filter uses: [begin, end) */
  size_t *first;     /* (bands): first bin of each filter */
  size_t *offsets;   /* (bands + 1): weights of filter b are weights[offsets[b]] ... weights[offsets[b + 1] - 1] */
  float *weights;
};

/* Filters for a spectrum of `bins` bins, bin k at k * rate / (2 * bins) Hz; low < high in Hz. A filter without a bin is
 * an error that says how to avoid it. On failure nothing needs releasing. */
enum linnet_status linnet_mel_create(struct linnet_context *context, size_t bands, size_t bins, double rate, double low,
                                     double high, struct linnet_mel *mel);

/* Harmless on a struct of zeros. */
void linnet_mel_release(struct linnet_context *context, struct linnet_mel *mel);

#endif
