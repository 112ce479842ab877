/* Calibrated confidence: a monotone map from the posterior of a phone or word to the probability that it is right
 * (Platt 1999), fitted on a development set and stored in the model file's entries "confidence", of phones, and
 * "word_confidence":
 *
 *   {"slope": 0.8, "offset": -0.3}          calibrated = sigmoid(slope * logit(posterior) + offset)
 *
 * Threads: nothing is shared; any number at once. */
#ifndef LINNET_CALIBRATION_H
#define LINNET_CALIBRATION_H

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* slope 1, offset 0 leaves confidences as they are. */
struct linnet_calibration {
  double slope, offset;
};

/* The keys of the entries in a model file's metadata. */
#define LINNET_CALIBRATION_KEY "confidence"
#define LINNET_WORD_CALIBRATION_KEY "word_confidence"

/* The calibrated value, 0 to 1, of a confidence. */
LINNET_API float linnet_calibrate(const struct linnet_calibration *calibration, float confidence);

/* The map of greatest likelihood for `count` confidences, of which those with correct[i] != 0 were right; 0 < slope.
 * LINNET_ERROR_ARGUMENT unless there are both right and wrong ones. */
LINNET_API enum linnet_status linnet_calibration_fit(struct linnet_context *context, const float *confidence,
                                                     const unsigned char *correct, size_t count,
                                                     struct linnet_calibration *calibration);

/* Reads the JSON above; NULL, for a model without the entry, gives the map that changes nothing. `name` is for
 * messages; `context` may be NULL. */
LINNET_API enum linnet_status linnet_calibration_parse(struct linnet_context *context, const char *text,
                                                       const char *name, struct linnet_calibration *calibration);

#ifdef __cplusplus
}
#endif
#endif
