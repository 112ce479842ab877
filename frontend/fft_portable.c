/* Cooley and Tukey's transform of radix two: numbers in bit-reversed order, then log2(n) passes of butterflies. */
#include "frontend/fft.h"

#include <math.h>

struct linnet_fft {
  struct linnet_context *context;
  size_t n;
  const float *in; /* (n, 2) */
  float *out;      /* (n, 2) */
  float *twiddle;  /* (n / 2, 2): exp(-2 pi i k / n) */
};

static const double pi = 3.14159265358979323846;

enum linnet_status linnet_fft_create(struct linnet_context *context, size_t n, float *in, float *out,
                                     struct linnet_fft **result) {
  *result = NULL;
  struct linnet_fft *fft = linnet_calloc(context, 1, sizeof *fft);
  float *twiddle = linnet_alloc(context, n, sizeof *twiddle);
  if (!fft || !twiddle) {
    linnet_free(context, fft);
    linnet_free(context, twiddle);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for an FFT of %zu", n);
  }
  for (size_t k = 0; k < n / 2; k++) {
    twiddle[2 * k] = (float)cos(2 * pi * (double)k / (double)n);
    twiddle[2 * k + 1] = (float)-sin(2 * pi * (double)k / (double)n);
  }
  *fft = (struct linnet_fft){.context = context, .n = n, .in = in, .out = out, .twiddle = twiddle};
  *result = fft;
  return LINNET_OK;
}

/* out[reversed(j)] = in[j]; `reversed` counts with its bits in the other order. */
static void reorder(const struct linnet_fft *fft) {
  for (size_t j = 0, reversed = 0; j < fft->n; j++) {
    fft->out[2 * reversed] = fft->in[2 * j];
    fft->out[2 * reversed + 1] = fft->in[2 * j + 1];
    size_t bit = fft->n / 2;
    for (; bit > 0 && (reversed & bit); bit /= 2)
      reversed ^= bit;
    reversed |= bit;
  }
}

/* (a, b) becomes (a + w b, a - w b). */
static void butterfly(float *a, float *b, const float *w) {
  float real = w[0] * b[0] - w[1] * b[1], imaginary = w[0] * b[1] + w[1] * b[0];
  b[0] = a[0] - real;
  b[1] = a[1] - imaginary;
  a[0] += real;
  a[1] += imaginary;
}

void linnet_fft_run(struct linnet_fft *fft) {
  reorder(fft);
  for (size_t half = 1; half < fft->n; half *= 2) /* two transforms of `half` make one of twice as many */
    for (size_t first = 0; first < fft->n; first += 2 * half)
      for (size_t k = 0; k < half; k++)
        butterfly(fft->out + 2 * (first + k), fft->out + 2 * (first + k + half), fft->twiddle + k * (fft->n / half));
}

void linnet_fft_destroy(struct linnet_fft *fft) {
  if (!fft)
    return;
  linnet_free(fft->context, fft->twiddle);
  linnet_free(fft->context, fft);
}
