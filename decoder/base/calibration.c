/* Logistic regression by Newton's method: the probability of being right, as a function of the logit of the
 * confidence. */
#include "decoder/base/calibration.h"

#include <math.h>
#include <string.h>

enum { MAX_STEPS = 100 };
static const double min_confidence = 1e-4; /* confidences are limited to [min_confidence, 1 - min_confidence] */
static const double ridge =
    1e-3; /* keeps the parameters finite if the confidence separates right from wrong completely */
static const double min_slope = 1e-3;
static const float max_confidence = 1.001f; /* a mean of rounded posteriors may be a little above 1 */

static double logit(double p) {
  p = fmin(fmax(p, min_confidence), 1 - min_confidence);
  return log(p / (1 - p));
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

float linnet_calibrate(const struct linnet_calibration *calibration, float confidence) {
  if (calibration->slope == 1 && calibration->offset == 0)
    return confidence;
  return (float)sigmoid(calibration->slope * logit((double)confidence) + calibration->offset);
}

/* One step of Newton's method on the negative log-likelihood + ridge / 2 * ((slope - 1)^2 + offset^2); returns its
 * size. */
static double newton_step(const float *confidence, const unsigned char *correct, size_t count,
                          struct linnet_calibration *c) {
  double gs = ridge * (c->slope - 1), go = ridge * c->offset, ss = ridge, so = 0, oo = ridge;
  for (size_t i = 0; i < count; i++) {
    double x = logit((double)confidence[i]), p = sigmoid(c->slope * x + c->offset);
    double error = p - (correct[i] ? 1 : 0), weight = p * (1 - p);
    gs += error * x;
    go += error;
    ss += weight * x * x;
    so += weight * x;
    oo += weight;
  }
  double determinant = ss * oo - so * so;
  double slope = (oo * gs - so * go) / determinant, offset = (ss * go - so * gs) / determinant;
  double size = fmax(fabs(slope), fabs(offset)), scale = size > 1 ? 1 / size : 1;
  c->slope -= scale * slope;
  c->offset -= scale * offset;
  return size;
}

enum linnet_status linnet_calibration_fit(struct linnet_context *context, const float *confidence,
                                          const unsigned char *correct, size_t count,
                                          struct linnet_calibration *calibration) {
  size_t right = 0;
  if (!calibration || (count > 0 && (!confidence || !correct)))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_calibration_fit: an argument is NULL");
  for (size_t i = 0; i < count; i++) {
    if (!(confidence[i] >= 0 && confidence[i] <= max_confidence))
      return linnet_fail(context, LINNET_ERROR_ARGUMENT, "calibration: confidence %zu of %zu is %g, it must be 0 to 1",
                         i, count, (double)confidence[i]);
    right += correct[i] != 0;
  }
  if (right == 0 || right == count)
    return linnet_fail(
        context, LINNET_ERROR_ARGUMENT,
        "calibration needs both right and wrong results: %zu of %zu are right; are the references of the same "
        "units, words or phones?",
        right, count);
  struct linnet_calibration c = {1, 0};
  for (int step = 0; step < MAX_STEPS && newton_step(confidence, correct, count, &c) > 1e-9;)
    step++;
  if (!isfinite(c.slope) || !isfinite(c.offset))
    return linnet_fail(context, LINNET_ERROR_NUMERIC, "calibration of %zu results did not converge", count);
  calibration->slope = fmax(c.slope, min_slope);
  calibration->offset = c.offset;
  return LINNET_OK;
}

/* The comparisons are false for NaN. */
static bool is_valid(const struct linnet_calibration *c) {
  return c->slope > 0 && isfinite(c->slope) && isfinite(c->offset);
}

enum linnet_status linnet_calibrations_copy(struct linnet_context *context, const char *caller,
                                            const struct linnet_calibrations *from, struct linnet_calibrations *to) {
  static const struct linnet_calibrations unchanged = {{1, 0}, {1, 0}};
  if (!from)
    from = &unchanged;
  if (!is_valid(&from->phones) || !is_valid(&from->words))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "%s: the calibrations have slope %g and offset %g, slope %g and offset %g: slopes must be above "
                       "0, and all values finite",
                       caller, from->phones.slope, from->phones.offset, from->words.slope, from->words.offset);
  *to = *from;
  return LINNET_OK;
}
