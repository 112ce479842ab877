/* Calibrated confidence: a monotone map from the posterior of a phone or word to the probability that it is right
 * (Platt 1999), fitted on a development set and stored in the model file's entries "confidence", of phones, and
 * "word_confidence":
 *
 *   {"slope": 0.8, "offset": -0.3}          calibrated = sigmoid(slope * logit(posterior) + offset)
 *
 * Whatever reports a confidence applies a pair of these maps. A stream takes the pair of its model; the settings of
 * linnet_beam_create, linnet_word_search_create and linnet_alignment_create name one, for they know posteriors alone:
 *
 *   settings.calibrations = linnet_model_calibrations(model);
 *
 * Without a pair confidences are mean posteriors; linnet_calibration_fit wants these. Goodness of pronunciation
 * (align.h) and the posteriors of a lattice's arcs are other measures and are never calibrated.
 *
 * Threads: nothing is shared; any number at once.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_CALIBRATION_H
#define LINNET_CALIBRATION_H

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both are finite, slope is above 0; slope 1, offset 0 leaves confidences as they are. */
struct linnet_calibration {
  double slope, offset;
};

/* What a model says of its confidences (linnet_model_calibrations), and what decoders apply. */
struct linnet_calibrations {
  struct linnet_calibration phones; /* of symbols, whatever they stand for */
  struct linnet_calibration words;
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

/* Reads the JSON above; NULL, for a model without the entry, gives the map that changes nothing. `name` says where the
 * text stands, for messages. LINNET_ERROR_FORMAT, LINNET_ERROR_LIMIT if it is anything else. Loading a model
 * reads its own. */
LINNET_API enum linnet_status linnet_calibration_parse(struct linnet_context *context, const char *text,
                                                       const char *name, struct linnet_calibration *calibration);

#ifdef __cplusplus
}
#endif
#endif
