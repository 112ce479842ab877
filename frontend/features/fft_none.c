/* Replaces fft_fftw.c in a build without FFTW: a filterbank can be created and can count frames, but cannot compute
 * them. */
#include "frontend/features/fbank_kernel.h"

struct linnet_fft {
  struct linnet_context *context;
};

enum linnet_status linnet_fft_create(struct linnet_context *context, size_t n, float *in, float *out,
                                     struct linnet_fft **fft) {
  (void)n, (void)in, (void)out;
  *fft = linnet_alloc(context, 1, sizeof **fft);
  if (!*fft)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for an FFT");
  (*fft)->context = context;
  return LINNET_OK;
}

enum linnet_status linnet_fft_run(struct linnet_fft *fft) {
  return linnet_fail(
      fft->context, LINNET_ERROR_UNSUPPORTED,
      "this build has no FFTW and cannot compute filterbank features: use stored features, or install FFTW (Debian: "
      "libfftw3-dev) and build with -DLINNET_FFTW=ON");
}

void linnet_fft_destroy(struct linnet_fft *fft) {
  if (fft)
    linnet_free(fft->context, fft);
}
