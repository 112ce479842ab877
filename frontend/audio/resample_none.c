/* Replaces resample_soxr.c in a build without soxr. */
#include "frontend/audio/resample.h"

enum linnet_status linnet_resampler_create(struct linnet_context *context, double from, double to,
                                           struct linnet_resampler **resampler) {
  *resampler = NULL;
  return linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                     "cannot resample from %g to %g Hz: this build has no soxr: install it (Debian: libsoxr-dev) and "
                     "build with -DLINNET_AUDIO=ON",
                     from, to);
}

enum linnet_status linnet_resampler_run(struct linnet_resampler *resampler, const float *in, size_t n, size_t *used,
                                        float *out, size_t capacity, size_t *got) {
  (void)resampler, (void)in, (void)n, (void)out, (void)capacity;
  *used = *got = 0;
  return LINNET_ERROR_UNSUPPORTED;
}

void linnet_resampler_destroy(struct linnet_resampler *resampler) {
  (void)resampler;
}
