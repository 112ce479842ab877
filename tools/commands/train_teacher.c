/* Loads the model that teaches another one. */
#include "train_parts.h"

struct linnet_model *train_teacher_load(struct linnet_context *context, const char *path) {
  struct linnet_model *model = NULL;
  struct linnet_feature_config features;
  if (linnet_model_load_whole(context, path, &model) != LINNET_OK) {
    tool_fail_context(context);
    return NULL;
  }
  linnet_model_features(model, &features);
  if (features.cmvn != LINNET_CMVN_SPEAKER)
    return model;
  tool_fail("%s: this model normalises by speaker, which training.teacher does not support: take one with another "
            "features.cmvn",
            path);
  linnet_model_destroy(model);
  return NULL;
}
