/* The calibration in a model file's metadata. */
#include <linnet/calibration.h>

#include <math.h>
#include <string.h>

#include "model/format/bounded_json.h"

static const struct linnet_json_limits limits = {.bytes = 1024, .depth = 1, .values = 16};

static enum linnet_status read(struct linnet_context *context, const char *name, const json_t *value,
                               struct linnet_calibration *calibration) {
  static const char *const keys[] = {"slope", "offset", NULL};
  struct linnet_calibration c = {1, 0};
  struct linnet_json_object object = linnet_json_object(context, name, "calibration", value, keys, 2);
  linnet_json_read_double(&object, "slope", &c.slope);
  linnet_json_read_double(&object, "offset", &c.offset);
  LINNET_TRY(object.status);
  if (!(c.slope > 0) || !isfinite(c.slope) || !isfinite(c.offset))
    return linnet_fail(context, LINNET_ERROR_FORMAT, "%s: calibration: \"slope\" is %g; it must be above 0", name,
                       c.slope);
  *calibration = c;
  return LINNET_OK;
}

enum linnet_status linnet_calibration_parse(struct linnet_context *context, const char *text, const char *name,
                                            struct linnet_calibration *calibration) {
  json_t *value = NULL;
  if (!context || !name || !calibration)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_calibration_parse: an argument is NULL");
  if (!text) {
    *calibration = (struct linnet_calibration){1, 0};
    return LINNET_OK;
  }
  LINNET_TRY(linnet_json_parse(context, text, strlen(text), name, limits, &value));
  enum linnet_status status = read(context, name, value, calibration);
  json_decref(value);
  return status;
}
