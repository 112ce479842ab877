/* A model file with another metadata entry. */
#include <linnet/train.h>

#include <string.h>

#include "model/format/model.h"

static enum linnet_status save(struct linnet_context *context, const struct linnet_model *model,
                               const struct linnet_metadata *metadata, size_t count, int half, const char *output) {
  struct linnet_model_contents contents = {.config = &model->config,
                                           .parameters = model->parameters,
                                           .weights = model->weights,
                                           .symbols = (const char *const *)model->symbols,
                                           .features = &model->features,
                                           .cmvn = model->cmvn,
                                           .metadata = metadata,
                                           .num_metadata = count,
                                           .dtype = half ? LINNET_F16 : LINNET_F32};
  return linnet_model_save(context, output, &contents);
}

enum linnet_status linnet_model_annotate(struct linnet_context *context, const char *path, const char *key,
                                         const char *value, int half, const char *output) {
  if (!context || !path || !key || !value || !output)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_model_annotate: NULL argument");
  struct linnet_model *model = NULL;
  LINNET_TRY(linnet_model_load(context, path, &model));
  struct linnet_metadata *metadata = linnet_alloc(context, model->num_metadata + 1, sizeof *metadata);
  enum linnet_status status =
      metadata ? LINNET_OK : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the entries of %s", path);
  if (status == LINNET_OK) {
    size_t count = 0;
    for (size_t i = 0; i < model->num_metadata; i++)
      if (strcmp(model->metadata[i].key, key) != 0)
        metadata[count++] = model->metadata[i];
    metadata[count++] = (struct linnet_metadata){.key = key, .value = value};
    status = save(context, model, metadata, count, half, output);
  }
  linnet_free(context, metadata);
  linnet_model_destroy(model);
  return status;
}
