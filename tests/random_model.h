/* Models with random weights, written to a file and read back as any other. */
#ifndef LINNET_RANDOM_MODEL_H
#define LINNET_RANDOM_MODEL_H

#include <unistd.h>

#include "model/format/feature_config.h"
#include "model/format/model.h"
#include "test.h"

/* A small network: 8 features, 2 layers, 7 symbols; `text` on top. */
static inline struct linnet_config small_config(struct linnet_context *context, const char *text) {
  struct linnet_config config;
  linnet_config_default(&config);
  config.input_dim = 8;
  config.width = 32;
  config.heads = 2;
  config.layers = 2;
  config.feed_forward = 48;
  config.outputs = 7;
  REQUIRE(linnet_config_parse(context, text, "test", &config) == LINNET_OK, "%s", linnet_context_error(context));
  return config;
}

/* Statistics about as those of speech: log-mel energies of mean 13 and variance 9. */
static inline struct linnet_cmvn random_model_cmvn(size_t dim) {
  struct linnet_cmvn cmvn = {.dim = (int)dim, .count = 1};
  for (size_t d = 0; d < dim; d++) {
    cmvn.sum[d] = 13;
    cmvn.square[d] = 178;
  }
  return cmvn;
}

/* Writes a model: initial weights times `scale`; at most 8 symbols; features with `input_dim` mel bands; additional
 * metadata, up to a NULL key (NULL: none). */
static inline void random_model_write(struct linnet_context *context, const char *path,
                                      const struct linnet_config *config, uint64_t seed, float scale,
                                      struct linnet_feature_config features, const struct linnet_metadata *metadata) {
  static const char *const symbols[] = {"<blk>", "A", "B", "C", "D", "E", "F", "G"};
  struct linnet_parameters *parameters = NULL;
  REQUIRE(config->outputs <= sizeof symbols / sizeof *symbols, "%zu symbols", config->outputs);
  REQUIRE(linnet_parameters_create(context, config, &parameters) == LINNET_OK, "%s", linnet_context_error(context));
  float *weights = malloc(parameters->size * sizeof *weights);
  linnet_parameters_initialise(parameters, seed, weights);
  for (size_t i = 0; i < parameters->size; i++)
    weights[i] *= scale;
  features.fbank.num_mel = config->input_dim;
  const struct linnet_cmvn statistics = random_model_cmvn(config->input_dim);
  struct linnet_model_contents contents = {.config = config,
                                           .parameters = parameters,
                                           .weights = weights,
                                           .symbols = symbols,
                                           .features = &features,
                                           .cmvn = linnet_cmvn_is_stored(features.cmvn) ? &statistics : NULL,
                                           .metadata = metadata,
                                           .dtype = LINNET_F32};
  while (metadata && metadata[contents.num_metadata].key)
    contents.num_metadata++;
  REQUIRE(linnet_model_save(context, path, &contents) == LINNET_OK, "%s", linnet_context_error(context));
  free(weights);
  linnet_parameters_destroy(parameters);
}

typedef enum linnet_status (*load_model_fn)(struct linnet_context *context, const char *path,
                                            struct linnet_model **model);

static inline struct linnet_model *random_model_by(load_model_fn load, struct linnet_context *context,
                                                   const struct linnet_config *config, uint64_t seed, float scale,
                                                   enum linnet_cmvn_kind cmvn, const struct linnet_metadata *metadata) {
  struct linnet_model *model = NULL;
  struct linnet_feature_config features;
  char path[] = "/tmp/linnet-model-XXXXXX";
  int descriptor = mkstemp(path);
  REQUIRE(descriptor >= 0, "mkstemp");
  close(descriptor);
  linnet_feature_config_default(&features);
  features.cmvn = cmvn;
  random_model_write(context, path, config, seed, scale, features, metadata);
  REQUIRE(load(context, path, &model) == LINNET_OK, "%s", linnet_context_error(context));
  unlink(path);
  return model;
}

static inline struct linnet_model *random_model_with(struct linnet_context *context, const struct linnet_config *config,
                                                     uint64_t seed, float scale, enum linnet_cmvn_kind cmvn,
                                                     const struct linnet_metadata *metadata) {
  return random_model_by(linnet_model_load, context, config, seed, scale, cmvn, metadata);
}

/* The same model as random_model, with all weights. */
static inline struct linnet_model *random_whole_model(struct linnet_context *context,
                                                      const struct linnet_config *config, uint64_t seed, float scale,
                                                      enum linnet_cmvn_kind cmvn) {
  return random_model_by(linnet_model_load_whole, context, config, seed, scale, cmvn, NULL);
}

static inline struct linnet_model *random_model(struct linnet_context *context, const struct linnet_config *config,
                                                uint64_t seed, float scale, enum linnet_cmvn_kind cmvn) {
  return random_model_with(context, config, seed, scale, cmvn, NULL);
}

#endif
