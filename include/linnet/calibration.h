/* Calibrated confidence: a monotone function from the posterior of a phone or word to the probability that it is right
 * (Platt 1999). It is fitted on a development set and stored in the model file, for phones in the entry "confidence",
 * for words in "word_confidence":
 *
 *   {"slope": 0.8, "offset": -0.3}          calibrated = sigmoid(slope * logit(posterior) + offset)
 *
 * Every object that reports confidences applies a pair of calibrations. A stream takes the pair of its model. The
 * objects of linnet_beam_create, linnet_word_search_create and linnet_alignment_create know only posteriors, so that
 * the caller passes the pair in their settings:
 *
 *   settings.calibrations = linnet_model_calibrations(model);
 *
 * Without a pair, confidences are mean posteriors; linnet_calibration_fit needs these. Goodness of pronunciation
 * (align.h) and the posteriors of a lattice's arcs are other measures and are never calibrated.
 *
 * Threads: no shared state; the functions may run in any number of threads at once.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_CALIBRATION_H
#define LINNET_CALIBRATION_H

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both are finite, slope is above 0. Slope 1 and offset 0 change nothing. */
struct linnet_calibration {
  double slope, offset;
};

/* The calibrations of a model (linnet_model_calibrations), which decoders apply. */
struct linnet_calibrations {
  struct linnet_calibration phones; /* of the symbols, even if they are no phones */
  struct linnet_calibration words;
};

/* The keys of the entries in a model file's metadata. */
#define LINNET_CALIBRATION_KEY "confidence"
#define LINNET_WORD_CALIBRATION_KEY "word_confidence"

/* Returns the calibrated value, 0 to 1, of a confidence. */
LINNET_API float linnet_calibrate(const struct linnet_calibration *calibration, float confidence);

/* Finds the calibration with the maximum likelihood, with slope > 0, for `count` confidences; correct[i] is non-zero
 * where the symbol or word was right. LINNET_ERROR_ARGUMENT unless there are both right and wrong ones, and for a
 * confidence that is not 0 to 1; up to 1.001 counts as a rounding error. */
LINNET_API enum linnet_status linnet_calibration_fit(struct linnet_context *context, const float *confidence,
                                                     const unsigned char *correct, size_t count,
                                                     struct linnet_calibration *calibration);

/* Reads the JSON above. `text` NULL, for a model without the entry, gives the calibration that changes nothing. `name`
 * is the source of the text, for messages. LINNET_ERROR_FORMAT or LINNET_ERROR_LIMIT for any other text.
 * linnet_model_load does this for the entries of its file. */
LINNET_API enum linnet_status linnet_calibration_parse(struct linnet_context *context, const char *text,
                                                       const char *name, struct linnet_calibration *calibration);

#ifdef __cplusplus
}
#endif
#endif
