/* Resampling of one channel by soxr; a build without it resamples nothing (resample_none.c). */
#ifndef LINNET_RESAMPLE_H
#define LINNET_RESAMPLE_H

#include "base/base.h"

struct linnet_resampler;

/* Rates in Hz. soxr takes its memory from malloc. */
enum linnet_status linnet_resampler_create(struct linnet_context *context, double from, double to,
                                           struct linnet_resampler **resampler);

/* Takes up to n samples (*used of them) and gives up to `capacity` (*got). `in` NULL says that the input has ended:
 * then *got 0 is the end. The output does not depend on how the input is divided
 * among calls. */
enum linnet_status linnet_resampler_run(struct linnet_resampler *resampler, const float *in, size_t n, size_t *used,
                                        float *out, size_t capacity, size_t *got);

void linnet_resampler_destroy(struct linnet_resampler *resampler);

#endif
