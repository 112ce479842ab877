/* Generates sequences of values from a causal model that reads tokens and whose outputs are the parameters of a mixture
 * of logistics (ops/logistic_mixture.h): a value is drawn and becomes the next token. Many sequences step together as
 * a batch of recurrences, so that the weights are read once for all of them.
 *
 * The first embedding table has a row for each value, and one for the start. The others have rows for the digits of the
 * step in a number system with their sizes as bases, the last table for the last digit; so one table has a row for each
 * position, and tables of 32, 32 and 3 have rows for the row, column and colour. */
#ifndef LINNET_SAMPLE_H
#define LINNET_SAMPLE_H

#include "model/format/model.h"

struct linnet_sampling {
  size_t count;         /* sequences */
  size_t steps;         /* values of a sequence */
  size_t given;         /* the first values of each sequence that are there, and are not drawn */
  size_t batch;         /* sequences that step together, 1 to 4096; 0: about 32, 16 in bfloat16, 8 in int8 */
  uint64_t seed, first; /* a value depends on (seed, first + index of its sequence, step) and the values before it */
};

/* Writes the frame of a step: the token before it, then the digits of the step. */
void linnet_sample_frame(const struct linnet_config *config, size_t step, int before, float *frame);

/* Values of the model: the rows of its first table without the start, which is the last row. */
static inline size_t linnet_sample_levels(const struct linnet_config *config) {
  return config->tokens[0] - 1;
}

/* Fills values (count, steps), whose first `given` columns the caller has set. Batches run on the threads of the
 * context. The result depends neither on the batch nor on the number of threads, except with the kernels "cblas".
 * LINNET_ERROR_UNSUPPORTED if the model is not causal or not of this form, LINNET_ERROR_CANCELLED. */
enum linnet_status linnet_sample(struct linnet_context *context, const struct linnet_model *model,
                                 const struct linnet_sampling *sampling, int *values);

#endif
