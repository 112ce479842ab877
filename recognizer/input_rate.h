/* Live samples at another rate than the model's. */
#ifndef LINNET_RECOGNIZER_INPUT_RATE_H
#define LINNET_RECOGNIZER_INPUT_RATE_H

#include <stddef.h>

#include "base/base.h"

struct linnet_input_rate;

/* Rates in Hz. */
enum linnet_status linnet_input_rate_create(struct linnet_context *context, double from, double to,
                                            struct linnet_input_rate **rate);
void linnet_input_rate_destroy(struct linnet_input_rate *rate); /* NULL is allowed */

/* The rate of the samples that come in. */
double linnet_input_rate_from(const struct linnet_input_rate *rate);

/* *converted (*count): what the next n samples give, valid until the next call. `samples` NULL ends the input. */
enum linnet_status linnet_input_rate_convert(struct linnet_input_rate *rate, const float *samples, size_t n,
                                             const float **converted, size_t *count);

/* Forgets all samples. */
void linnet_input_rate_reset(struct linnet_input_rate *rate);

#endif
