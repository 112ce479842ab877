#include "confidence.h"

#include "tool.h"

static enum linnet_status load(struct linnet_context *context, const char *path, struct linnet_model **model,
                               struct confidence *confidence) {
  enum linnet_status status = linnet_model_load(context, path, model);
  if (status == LINNET_OK)
    status = linnet_calibration_parse(context, linnet_model_metadata(*model, LINNET_CALIBRATION_KEY), path,
                                      &confidence->phones);
  if (status == LINNET_OK)
    status = linnet_calibration_parse(context, linnet_model_metadata(*model, LINNET_WORD_CALIBRATION_KEY), path,
                                      &confidence->words);
  return status;
}

bool confidence_load(struct linnet_context *context, const char *path, struct linnet_model **model,
                     struct confidence *confidence) {
  *model = NULL;
  if (load(context, path, model, confidence) == LINNET_OK)
    return true;
  tool_fail_context(context);
  return false;
}
