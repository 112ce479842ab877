/* The model behind <linnet/model.h>, and how one is written. */
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
  struct linnet_parameters *parameters;       /* the table of config */
  real *weights;                              /* (parameters->size), all finite */
  struct linnet_linear_layers *linear_layers; /* weights laid out for the context's kernels */
  struct linnet_feature_config features;
  struct linnet_cmvn *cmvn; /* for LINNET_CMVN_GLOBAL, else NULL */
  struct linnet_calibrations calibrations;
  const char **symbols;             /* (config.outputs); [0] is "<blk>"; the text lies in the same block */
  struct linnet_metadata *metadata; /* (num_metadata), in the order of the file; the same */
  size_t num_metadata;
  size_t memory; /* bytes held, for information */
};

/* What goes into a file. All pointers are the caller's and are only read. */
struct linnet_model_contents {
  const struct linnet_config *config;
  const struct linnet_parameters *parameters; /* the table of config */
  const real *weights;                        /* (parameters->size) */
  const char *const *symbols;                 /* (config->outputs) */
  const struct linnet_feature_config *features;
  const struct linnet_cmvn *cmvn;         /* statistics; needed exactly when features->cmvn is LINNET_CMVN_GLOBAL */
  const struct linnet_metadata *metadata; /* (num_metadata): more entries, such as "licence", "provenance", "name" */
  size_t num_metadata;
  enum linnet_dtype dtype; /* LINNET_F32 or LINNET_F16 */
};

/* Writes a model file, atomically: `path` holds either what it held before or the complete new file. Everything that
 * the loader checks is checked first. LINNET_ERROR_NUMERIC, naming the tensor, if a weight is not finite or does not
 * fit into float16. The metadata keys "format", "config", "symbols" and "features" are written from the other fields
 * and skipped in `metadata`, so that a loaded model's entries may be passed on as they are. */
enum linnet_status linnet_model_save(struct linnet_context *context, const char *path,
                                     const struct linnet_model_contents *contents);

/* Whether `symbols` (count) may be the outputs of a model: "<blk>" first; each unique, not empty, at most 255 bytes,
 * without blanks or control characters. `name` is for messages. */
enum linnet_status linnet_symbols_validate(struct linnet_context *context, const char *name, const char *const *symbols,
                                           size_t count);

#endif
