/* The structure of the model of <linnet/model.h>, and a function that writes a model file. */
#ifndef LINNET_MODEL_INTERNAL_H
#define LINNET_MODEL_INTERNAL_H

#include <linnet/model.h>

#include "model/config.h"
#include "model/format/safetensors.h"
#include "model/parameters.h"

#define LINNET_MODEL_FORMAT "linnet-1"

enum {
  LINNET_MAX_SYMBOL_BYTES = 255, /* of one symbol */
  LINNET_MAX_MODEL_GIBIBYTES = 4 /* of a model file */
};

/* Immutable once loaded. */
struct linnet_model {
  struct linnet_context *context;
  struct linnet_config config;
  bool whole;                                 /* has all weights, not only those outside `linear_layers` */
  struct linnet_parameters *parameters;       /* the table of config, without matrices unless `whole` */
  real *weights;                              /* (parameters->size), all finite */
  struct linnet_linear_layers *linear_layers; /* weights laid out for the context's kernels */
  struct linnet_feature_config features;
  struct linnet_cmvn *cmvn; /* if linnet_cmvn_is_stored, else NULL */
  struct linnet_calibrations calibrations;
  const char **symbols;             /* (config.outputs); [0] is "<blk>"; one block with its text. NULL with embedding
                                       tables; then `features` are zeros */
  struct linnet_metadata *metadata; /* (num_metadata), in the order of the file; one block with its text */
  size_t num_metadata;
  size_t memory;        /* bytes held, for information */
  uint64_t fingerprint; /* see linnet_model_fingerprint; 0 if the model is neither causal nor whole */
};

/* What a model is loaded for. */
struct linnet_model_use {
  bool tokens; /* see linnet_model_load_tokens */
  bool whole;  /* see linnet_model_load_whole */
};

/* Loads a model from memory; arguments are not NULL. */
enum linnet_status linnet_model_load_bytes(struct linnet_context *context, const void *data, size_t bytes,
                                           const char *name, struct linnet_model_use use, struct linnet_model **model);

/* A number for the configuration, features, symbols and weights of a model, which almost surely differs from that of
 * another model. The model has its metadata and the whole table of parameters, the file their tensors. */
uint64_t linnet_model_fingerprint(const struct linnet_model *model, const struct linnet_safetensors *file);

/* The contents of a file. The caller owns all pointers; the writer only reads them. */
struct linnet_model_contents {
  const struct linnet_config *config;
  const struct linnet_parameters *parameters; /* the table of config */
  const real *weights;                        /* (parameters->size) */
  const char *const *symbols;                 /* (config->outputs); NULL with embedding tables, as the next two */
  const struct linnet_feature_config *features;
  const struct linnet_cmvn *cmvn;         /* statistics if linnet_cmvn_is_stored(features->cmvn), otherwise NULL */
  const struct linnet_metadata *metadata; /* (num_metadata): more entries, such as "licence", "provenance", "name" */
  size_t num_metadata;
  enum linnet_dtype dtype; /* LINNET_F32 or LINNET_F16 */
};

/* Writes a model file atomically: `path` is either unchanged or the complete new file. The function first checks
 * everything that the loader checks. LINNET_ERROR_NUMERIC, naming the tensor, if a weight is not finite or does not fit
 * into float16. The metadata keys "format", "config", "symbols" and "features" are written from the other fields and
 * skipped in `metadata`, so that the caller may pass all entries of a loaded model. */
enum linnet_status linnet_model_save(struct linnet_context *context, const char *path,
                                     const struct linnet_model_contents *contents);

/* LINNET_ERROR_ARGUMENT if `key` is one of these four. */
enum linnet_status linnet_model_check_key(struct linnet_context *context, const char *key);

/* Whether `symbols` (count) may be the outputs of a model: "<blk>" first; each unique, not empty, at most 255 bytes,
 * without blanks or control characters. `name` is for messages. */
enum linnet_status linnet_symbols_validate(struct linnet_context *context, const char *name, const char *const *symbols,
                                           size_t count);

#endif
