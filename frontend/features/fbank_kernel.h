/* The parts of the filterbank: the arithmetic of a frame, which is compiled once per instruction set from
 * fbank_kernels.c and chosen at run time by fbank.c; the mel filters; the Fourier transform. A frame goes
 *
 *   samples (window) -> window -> time (fft) -> linnet_fft -> spectrum (fft / 2, complex) -> power -> power (fft / 2)
 *
 * and LANES frames continue side by side, one per lane:
 *
 *   power (LANES, stride) -> mel -> features (LANES, num_mel)
 *
 * Frame and lane never mix, so a frame has the same bytes whatever its neighbours are. */
#ifndef LINNET_FBANK_KERNEL_H
#define LINNET_FBANK_KERNEL_H

#include <stddef.h>

#include "base/base.h"

/* --- mel filters (mel.c) ------------------------------------------------------------------------------------------ */

/* Triangular filters, equally wide in mel, over the bins of a power spectrum. */

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

/* --- Fourier transform -------------------------------------------------------------------------------------------- */

/* The complex Fourier transform of the filterbank, by FFTW (fft_fftw.c); in a build without it running it fails
 * (fft_none.c). */

struct linnet_fft;

/* X[k] = sum of x[j] exp(-2 pi i j k / n) over j. x is `in`, X is `out`: n complex numbers each, interleaved, n a power
 * of two; the buffers stay the caller's and must outlive the object. */
enum linnet_status linnet_fft_create(struct linnet_context *context, size_t n, float *in, float *out,
                                     struct linnet_fft **fft);

/* Transforms `in`, which does not change. LINNET_ERROR_UNSUPPORTED without FFTW; else it does not fail. */
enum linnet_status linnet_fft_run(struct linnet_fft *fft);

/* Destroys the object; NULL is allowed. */
void linnet_fft_destroy(struct linnet_fft *fft);

/* --- kernels (fbank_kernels.c) ------------------------------------------------------------------------------------ */

enum { LINNET_FBANK_LANES = 16 };

struct linnet_fbank_kernels {
  const char *name; /* as linnet_context_kernels names them */

  /* out[i] = weights[i] * (d[i] - preemphasis * d[i - 1]) with d = samples - mean(samples), d[-1] = d[0]. */
  void (*window)(size_t window, const float *samples, float preemphasis, const float *weights, float *out);

  /* A real signal x of 2 * half samples was transformed as `half` complex numbers x[2i] + i x[2i + 1]; `spectrum` is
   * the result, interleaved. Writes |X[k]|^2 of the real signal's transform X, k = 0 ... half - 1 (without the bin of
   * the Nyquist frequency, which Kaldi's mel filters never use). `twiddle` holds cos and sin of pi k / half:
   * (half / 2 + 1) cosines, then as many sines; `split` has space for 2 * half + 1 floats, `power` for half + 1. */
  void (*power)(size_t half, const float *spectrum, const float *twiddle, float *split, float *power);

  /* log(max(FLT_EPSILON, filters * power)) of the first `frames` lanes; power (LANES, stride), of which up to three
   * floats after the last bin are read too. `lanes` is aligned to 64 bytes and has space for
   * LANES * (filters->end - filters->begin + 3) floats. */
  void (*mel)(const struct linnet_mel *filters, const float *power, size_t stride, float *lanes, size_t frames,
              float *features);
};

extern const struct linnet_fbank_kernels linnet_fbank_kernels_generic;
extern const struct linnet_fbank_kernels linnet_fbank_kernels_avx2;   /* exists where LINNET_HAVE_KERNELS_AVX2 */
extern const struct linnet_fbank_kernels linnet_fbank_kernels_avx512; /* exists where LINNET_HAVE_KERNELS_AVX512 */

#endif
