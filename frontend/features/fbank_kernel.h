/* The arithmetic of a filterbank frame, compiled once per instruction set from fbank_body.h; fbank.c chooses at run
 * time. A frame goes
 *
 *   samples (window) -> window -> time (fft) -> fft.h -> spectrum (fft / 2, complex) -> power -> power (fft / 2)
 *
 * and LANES frames go on side by side, one per lane:
 *
 *   power (LANES, stride) -> mel -> features (LANES, num_mel)
 *
 * Frame and lane never mix, so a frame has the same bytes whatever its neighbours are. */
#ifndef LINNET_FBANK_KERNEL_H
#define LINNET_FBANK_KERNEL_H

#include <stddef.h>

#include "frontend/features/mel.h"

enum { LINNET_FBANK_LANES = 16 };

struct linnet_fbank_kernels {
  const char *name; /* as linnet_context_kernels names them */

  /* out[i] = weights[i] * (d[i] - preemphasis * d[i - 1]) with d = samples - mean(samples), d[-1] = d[0]. */
  void (*window)(size_t window, const float *samples, float preemphasis, const float *weights, float *out);

  /* A real signal x of 2 * half samples was transformed as `half` complex numbers x[2i] + i x[2i + 1]; `spectrum` is
   * the result, interleaved. Writes |X[k]|^2 of the real signal's transform X, k = 0 ... half - 1 (without the bin of
   * the Nyquist frequency, which Kaldi's mel filters never use). `twiddle` holds cos and sin of pi k / half:
   * (half / 2 + 1) cosines, then as many sines; `split` has room for 2 * half + 1 floats, `power` for half + 1. */
  void (*power)(size_t half, const float *spectrum, const float *twiddle, float *split, float *power);

  /* log(max(FLT_EPSILON, filters * power)) of the first `frames` lanes; power (LANES, stride), of which up to three
   * floats after the last bin are read too. `lanes` is aligned to 64 bytes and has room for
   * LANES * (filters->end - filters->begin + 3) floats. */
  void (*mel)(const struct linnet_mel *filters, const float *power, size_t stride, float *lanes, size_t frames,
              float *features);
};

extern const struct linnet_fbank_kernels linnet_fbank_kernels_generic;
extern const struct linnet_fbank_kernels linnet_fbank_kernels_avx2;   /* exists where LINNET_HAVE_KERNELS_AVX2 */
extern const struct linnet_fbank_kernels linnet_fbank_kernels_avx512; /* exists where LINNET_HAVE_KERNELS_AVX512 */

#endif
