/* How decoders take calibrations. */
#ifndef LINNET_CALIBRATION_INTERNAL_H
#define LINNET_CALIBRATION_INTERNAL_H

#include <linnet/calibration.h>

#include "base/base.h"

/* Copies what a setting names; NULL gives maps that change nothing. LINNET_ERROR_ARGUMENT in the name of `caller` if a
 * map is not one. */
enum linnet_status linnet_calibrations_copy(struct linnet_context *context, const char *caller,
                                            const struct linnet_calibrations *from, struct linnet_calibrations *to);

#endif
