/* The resampler behind resample.h, by soxr. */
#include "frontend/audio/resample.h"

#include <soxr.h>

#include "base/base.h"

/* soxr does not check the result of malloc. A resampler needs up to 0.8 MB (1 to 1000 kHz); the rest is a margin for
 * other threads. */
enum { NEEDED_MEMORY = 8 << 20 };

struct linnet_resampler {
  struct linnet_context *context;
  soxr_t soxr;
};

enum linnet_status linnet_resampler_create(struct linnet_context *context, double from, double to,
                                           struct linnet_resampler **result) {
  *result = NULL;
  struct linnet_resampler *resampler = linnet_calloc(context, 1, sizeof *resampler);
  if (!resampler)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a resampler");
  resampler->context = context;
  if (!linnet_memory_available(NEEDED_MEMORY)) {
    linnet_free(context, resampler);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for resampling from %g to %g Hz", from, to);
  }
  soxr_io_spec_t samples = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
  soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
  soxr_runtime_spec_t one_thread = soxr_runtime_spec(1);
  soxr_error_t error = NULL;
  resampler->soxr = soxr_create(from, to, 1, &error, &samples, &quality, &one_thread);
  if (error || !resampler->soxr) {
    linnet_resampler_destroy(resampler);
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "cannot resample from %g to %g Hz: %s", from, to,
                       error ? error : "out of memory");
  }
  *result = resampler;
  return LINNET_OK;
}

enum linnet_status linnet_resampler_run(struct linnet_resampler *resampler, const float *in, size_t n, size_t *used,
                                        float *out, size_t capacity, size_t *got) {
  *used = *got = 0;
  if (!linnet_memory_available(NEEDED_MEMORY))
    return linnet_fail(resampler->context, LINNET_ERROR_MEMORY, "out of memory for resampling");
  soxr_error_t error = soxr_process(resampler->soxr, in, n, used, out, capacity, got);
  if (error)
    return linnet_fail(resampler->context, LINNET_ERROR_MEMORY, "resampling failed: %s", error);
  return LINNET_OK;
}

void linnet_resampler_destroy(struct linnet_resampler *resampler) {
  if (!resampler)
    return;
  if (resampler->soxr)
    soxr_delete(resampler->soxr);
  linnet_free(resampler->context, resampler);
}
