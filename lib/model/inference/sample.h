/* How models read the values of a sequence as tokens; linnet/sample.h says what the tables are. */
#ifndef LINNET_SAMPLE_H
#define LINNET_SAMPLE_H

#include <linnet/sample.h>

#include "model/format/model.h"

/* Writes the frame of a step: the token before it, then the digits of the step. */
void linnet_sample_frame(const struct linnet_config *config, size_t step, int before, float *frame);

/* Values of the model: the rows of its first table without the start, which is the last row. */
static inline size_t linnet_sample_levels(const struct linnet_config *config) {
  return config->tokens[0] - 1;
}

#endif
