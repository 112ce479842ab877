/* Calibrations as settings of decoders. */
#ifndef LINNET_CALIBRATION_INTERNAL_H
#define LINNET_CALIBRATION_INTERNAL_H

#include <linnet/calibration.h>

#include "base/base.h"

/* Copies the calibrations that a setting points to. NULL gives calibrations that change nothing. LINNET_ERROR_ARGUMENT,
 * with the name of `caller` in the message, if a calibration is invalid. */
enum linnet_status linnet_calibrations_copy(struct linnet_context *context, const char *caller,
                                            const struct linnet_calibrations *from, struct linnet_calibrations *to);

#endif
