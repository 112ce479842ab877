/* A model with what it says of its confidences (linnet/calibration.h). */
#ifndef LINNET_TOOL_CONFIDENCE_H
#define LINNET_TOOL_CONFIDENCE_H

#include <stdbool.h>

#include <linnet/linnet.h>

/* Maps of confidences; those that a model does not hold change nothing. */
struct confidence {
  struct linnet_calibration phones, words;
};

/* Loads a model and its maps. False after printing why; the caller owns *model, which may be NULL then. */
bool confidence_load(struct linnet_context *context, const char *path, struct linnet_model **model,
                     struct confidence *confidence);

#endif
