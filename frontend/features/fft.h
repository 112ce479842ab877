/* The complex Fourier transform of the filterbank, by FFTW (fft_fftw.c); in a build without it running it fails
 * (fft_none.c). */
#ifndef LINNET_FFT_H
#define LINNET_FFT_H

#include "base/base.h"

struct linnet_fft;

/* X[k] = sum of x[j] exp(-2 pi i j k / n) over j. x is `in`, X is `out`: n complex numbers each, interleaved, n a power
 * of two; the buffers stay the caller's and must outlive the object. */
enum linnet_status linnet_fft_create(struct linnet_context *context, size_t n, float *in, float *out,
                                     struct linnet_fft **fft);

/* Transforms what is in `in`, which it leaves alone. LINNET_ERROR_UNSUPPORTED without FFTW; else it does not fail. */
enum linnet_status linnet_fft_run(struct linnet_fft *fft);

/* Destroys the object; NULL is allowed. */
void linnet_fft_destroy(struct linnet_fft *fft);

#endif
