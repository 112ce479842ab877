/* Makes model files from model files: one with another metadata entry, or one with the mean of the weights of
 * several. */
#include <string.h>

#include <linnet/train.h>

#include "model/format/feature_config.h"
#include "model/format/model.h"
#include "train/trainer.h"

/* --- another entry ------------------------------------------------------------------------------------------------ */

/* A model file with another metadata entry. */

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

/* The loader reads some entries, and would refuse the file. */
static enum linnet_status check_entry(struct linnet_context *context, const char *key, const char *value) {
  struct linnet_calibration ignored;
  LINNET_TRY(linnet_model_check_key(context, key));
  return strcmp(key, LINNET_CALIBRATION_KEY) == 0 || strcmp(key, LINNET_WORD_CALIBRATION_KEY) == 0
             ? linnet_calibration_parse(context, value, key, &ignored)
             : LINNET_OK;
}

enum linnet_status linnet_model_annotate(struct linnet_context *context, const char *path, const char *key,
                                         const char *value, int half, const char *output) {
  if (!context || !path || !key || !value || !output)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_model_annotate: an argument is NULL");
  struct linnet_model *model = NULL;
  LINNET_TRY(check_entry(context, key, value));
  LINNET_TRY(linnet_model_load_whole(context, path, &model));
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

/* --- the mean of several ------------------------------------------------------------------------------------------ */

/* The mean of several models' weights. */

/* What the outputs mean. */
static enum linnet_status check_symbols(struct linnet_context *context, const struct linnet_model *first,
                                        const struct linnet_model *model, const char *path) {
  for (size_t i = 0; i < first->config.outputs; i++)
    if (strcmp(first->symbols[i], model->symbols[i]) != 0)
      return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                         "%s: its symbol %zu is %.60s, but %.60s in the first model: average models of one training",
                         path, i, model->symbols[i], first->symbols[i]);
  return LINNET_OK;
}

/* What the network reads. */
static enum linnet_status check_features(struct linnet_context *context, const struct linnet_model *first,
                                         const struct linnet_model *model, const char *path) {
  char *theirs = NULL, *own = NULL;
  enum linnet_status status = linnet_feature_config_format(context, &first->features, &theirs);
  if (status == LINNET_OK)
    status = linnet_feature_config_format(context, &model->features, &own);
  const char *difference = status == LINNET_OK && strcmp(own, theirs) != 0 ? "features differ" : NULL;
  if (first->cmvn && model->cmvn && linnet_hash_cmvn(first->cmvn) != linnet_hash_cmvn(model->cmvn))
    difference = "statistics for CMVN differ";
  if (status == LINNET_OK && difference)
    status = linnet_fail(context, LINNET_ERROR_ARGUMENT,
                         "%s: its %s from those of the first model: average models of one training", path, difference);
  linnet_free(context, theirs);
  linnet_free(context, own);
  return status;
}

/* Weights that were trained with different random features cannot be averaged. */
static enum linnet_status check_fixed(struct linnet_context *context, const struct linnet_model *first,
                                      const struct linnet_model *model, const char *path) {
  for (size_t i = 0; i < first->parameters->count; i++) {
    const struct linnet_parameter *p = &first->parameters->list[i];
    if (p->fixed && memcmp(first->weights + p->offset, model->weights + p->offset, p->count * sizeof(real)) != 0)
      return linnet_fail(
          context, LINNET_ERROR_ARGUMENT,
          "%s: its random features (%s) are not those of the first model: average models of one training", path,
          p->name);
  }
  return LINNET_OK;
}

/* Adds a model's weights to the sums, in double. */
static enum linnet_status add_model(struct linnet_context *context, const struct linnet_model *first, const char *path,
                                    double *sums) {
  struct linnet_model *model = NULL;
  LINNET_TRY(linnet_model_load_whole(context, path, &model));
  enum linnet_status status = LINNET_OK;
  if (!linnet_config_same_network(&model->config, &first->config))
    status = linnet_fail(context, LINNET_ERROR_ARGUMENT, "%s: its config differs from that of the first model", path);
  else
    status = check_symbols(context, first, model, path);
  if (status == LINNET_OK)
    status = check_features(context, first, model, path);
  if (status == LINNET_OK)
    status = check_fixed(context, first, model, path);
  for (size_t i = 0; status == LINNET_OK && i < model->parameters->size; i++)
    sums[i] += model->weights[i];
  linnet_model_destroy(model);
  return status;
}

/* Copies the entries that hold for a mean of `count` models: not calibrations, which are of the first model. */
static size_t copy_metadata(const struct linnet_model *first, size_t count, struct linnet_metadata *metadata) {
  size_t kept = 0;
  for (size_t i = 0; i < first->num_metadata; i++) {
    const char *key = first->metadata[i].key;
    if (count == 1 || (strcmp(key, LINNET_CALIBRATION_KEY) != 0 && strcmp(key, LINNET_WORD_CALIBRATION_KEY) != 0))
      metadata[kept++] = first->metadata[i];
    else
      linnet_log(first->context, LINNET_LOG_WARNING,
                 "the mean has no \"%s\": the calibration is that of one model only", key);
  }
  return kept;
}

static enum linnet_status save_mean(struct linnet_context *context, const struct linnet_model *first, double *sums,
                                    size_t count, int half, const char *output) {
  size_t size = first->parameters->size;
  real *mean = linnet_alloc(context, size, sizeof *mean);
  struct linnet_metadata *metadata = linnet_alloc(context, first->num_metadata + 1, sizeof *metadata);
  if (!mean || !metadata) {
    linnet_free(context, mean);
    linnet_free(context, metadata);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the mean of models");
  }
  for (size_t i = 0; i < size; i++)
    mean[i] = (real)(sums[i] / (double)count);
  struct linnet_model_contents contents = {.config = &first->config,
                                           .parameters = first->parameters,
                                           .weights = mean,
                                           .symbols = (const char *const *)first->symbols,
                                           .features = &first->features,
                                           .cmvn = first->cmvn,
                                           .metadata = metadata,
                                           .num_metadata = copy_metadata(first, count, metadata),
                                           .dtype = half ? LINNET_F16 : LINNET_F32};
  enum linnet_status status = linnet_model_save(context, output, &contents);
  linnet_free(context, metadata);
  linnet_free(context, mean);
  return status;
}

enum linnet_status linnet_model_average(struct linnet_context *context, const char *const *paths, size_t count,
                                        int half, const char *output) {
  if (!context || !paths || count == 0 || !output)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_model_average: there are no models, or an argument is NULL");
  struct linnet_model *first = NULL;
  LINNET_TRY(linnet_model_load_whole(context, paths[0], &first));
  double *sums = linnet_calloc(context, first->parameters->size, sizeof *sums);
  enum linnet_status status =
      sums ? LINNET_OK : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the mean of models");
  for (size_t i = 0; i < count && status == LINNET_OK; i++)
    status = add_model(context, first, paths[i], sums);
  if (status == LINNET_OK)
    status = save_mean(context, first, sums, count, half, output);
  linnet_free(context, sums);
  linnet_model_destroy(first);
  return status;
}
