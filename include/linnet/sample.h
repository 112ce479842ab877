/* Draws sequences of values from a causal model that reads tokens and whose outputs are the parameters of a discretised
 * mixture of logistic distributions (PixelCNN++, Salimans et al. 2017): images pixel by pixel (Katharopoulos et al.
 * 2020, section 4.2), or other quantised signals. A value is drawn from the outputs and becomes the next token. Many
 * sequences step together, so that the weights are read once for all of them (linnet/recurrence.h).
 *
 *   linnet_model_load_tokens(context, "digits.model", &model);
 *   linnet_sample_settings_default(&settings);
 *   settings.count = 16, settings.steps = 28 * 28;
 *   linnet_sample(context, model, &settings, values);                // values (16, 784), 0 to 255
 *
 * The first embedding table of the model has a row for each value, and one for the start. The others have rows for the
 * digits of the step in a number system with their sizes as bases, the last table for the last digit: one table has a
 * row for each position, and tables of 32, 32 and 3 have rows for row, column and colour.
 *
 * Results: a value depends on the seed, the index of its sequence, the step and the values before it, on the same
 * processor with the same kernels. It depends neither on the batch nor on the number of threads, except with the
 * kernels "cblas".
 *
 * Threads: batches run on the threads of the context; the call is like any other of that context handle. The model may
 * be in use elsewhere.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_PUBLIC_SAMPLE_H
#define LINNET_PUBLIC_SAMPLE_H

#include <stdint.h>

#include <linnet/model.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_sample_settings {
  size_t size;    /* sizeof(struct linnet_sample_settings), set by ..._default */
  size_t count;   /* sequences (default 1) */
  size_t steps;   /* values of a sequence (default 0) */
  size_t given;   /* the first values of each sequence that the caller gives (default 0) */
  size_t batch;   /* sequences that step together, up to 4096; 0: about 32, 16 in bfloat16, 8 in int8, for each MiB of
                     a core's second cache (default) */
  uint64_t seed;  /* of the random numbers (default 0) */
  uint64_t first; /* index of the first sequence, so that calls can continue (default 0) */
};

LINNET_API void linnet_sample_settings_default(struct linnet_sample_settings *settings, size_t size);
#define linnet_sample_settings_default(settings) linnet_sample_settings_default(settings, sizeof *(settings))

/* Fills values (count, steps), whose first `given` columns the caller has set; other columns need not be. `settings`
 * NULL means the defaults. LINNET_ERROR_UNSUPPORTED: the model is not causal, looks ahead (linnet_model_lookahead) or
 * is not of this form. LINNET_ERROR_LIMIT: the batch is too large. LINNET_ERROR_ARGUMENT: a setting or a given value is
 * not possible, such as more steps than the model has positions. LINNET_ERROR_CANCELLED, as for linnet_encoder_run.
 * After a failure the values are undefined. */
LINNET_API enum linnet_status linnet_sample(struct linnet_context *context, const struct linnet_model *model,
                                            const struct linnet_sample_settings *settings, int *values);

#ifdef __cplusplus
}
#endif

#endif
