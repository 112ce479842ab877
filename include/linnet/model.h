/* A model: one safetensors file with tensors (float32 or float16) and metadata: configuration, symbols, features,
 * provenance, licence. See docs/model-file.md.
 *
 * Threads: a model is immutable; any number of encoders and streams may use it at once.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_MODEL_H
#define LINNET_MODEL_H

#include <linnet/calibration.h>
#include <linnet/context.h>
#include <linnet/features.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_model;

/* Loads a model for recognition. The whole file is validated before memory of the model's size is allocated. The
 * context must outlive the model. Each weight is in memory once, in the form that the kernels of the context read. If
 * the context has a GPU, this does what linnet_model_load_whole does. */
LINNET_API enum linnet_status linnet_model_load(struct linnet_context *context, const char *path,
                                                struct linnet_model **model);

/* The same from memory, which may be released afterwards; `name` is for messages and may be NULL. */
LINNET_API enum linnet_status linnet_model_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                       const char *name, struct linnet_model **model);

/* The same, but a whole model: it also has its weights as they are in the file, which takes twice the memory. The
 * teacher of a training (linnet_train_settings) and an encoder on a GPU need them. */
LINNET_API enum linnet_status linnet_model_load_whole(struct linnet_context *context, const char *path,
                                                      struct linnet_model **model);

/* Loads a model whose input are tokens: each frame is an index into each of its embedding tables, instead of features
 * of audio (docs/model-file.md). Encoders and recurrences run it, and take the indices as floats. Such a model has no
 * features and no symbols, so it is not for recognition: linnet_model_load refuses it with LINNET_ERROR_UNSUPPORTED, as
 * this function refuses all others. Stability: experimental. */
LINNET_API enum linnet_status linnet_model_load_tokens(struct linnet_context *context, const char *path,
                                                       struct linnet_model **model);

/* Destroys the model; NULL is allowed. Destroy its encoders and streams first. */
LINNET_API void linnet_model_destroy(struct linnet_model *model);

/* Fills *features, like linnet_feature_config_default, with the features that the model expects as input. */
LINNET_API void linnet_model_features(const struct linnet_model *model, struct linnet_feature_config *features,
                                      size_t size);
#define linnet_model_features(model, features) linnet_model_features(model, features, sizeof *(features))

/* The statistics of the training data, for LINNET_CMVN_GLOBAL and LINNET_CMVN_RUNNING; otherwise NULL. */
LINNET_API const struct linnet_cmvn *linnet_model_cmvn(const struct linnet_model *model);

/* The calibrations of the file; those that are missing change nothing. They live as long as the model. */
LINNET_API const struct linnet_calibrations *linnet_model_calibrations(const struct linnet_model *model);

/* Output symbols; index 0 is the CTC blank. Strings live as long as the model. linnet_model_symbols gives all of them
 * (num_symbols), as linnet_search_create takes them; NULL for a model of tokens. */
LINNET_API size_t linnet_model_num_symbols(const struct linnet_model *model);
LINNET_API const char *linnet_model_symbol(const struct linnet_model *model, int index);
LINNET_API const char *const *linnet_model_symbols(const struct linnet_model *model);

/* Input frames per output frame (the stacking factor, 1 to 4), and the number of output frames of `frames`. */
LINNET_API size_t linnet_model_stride(const struct linnet_model *model);
LINNET_API size_t linnet_model_num_output_frames(const struct linnet_model *model, size_t frames);

/* Seconds from one output frame to the next: the frame shift of the features, in whole samples, times the stride. */
LINNET_API double linnet_model_frame_seconds(const struct linnet_model *model);

/* Whether the model is causal, so that linnet_recurrence_create takes it: 1 or 0. */
LINNET_API int linnet_model_is_causal(const struct linnet_model *model);

/* Of a causal model: the number of later output frames that an output frame depends on, which is the look-ahead of all
 * convolution modules together. Otherwise 0. */
LINNET_API size_t linnet_model_lookahead(const struct linnet_model *model);

/* Number of trained parameters. */
LINNET_API size_t linnet_model_num_parameters(const struct linnet_model *model);

/* Bytes of memory that the model holds. */
LINNET_API size_t linnet_model_memory_bytes(const struct linnet_model *model);

/* A metadata entry by key ("config", "licence", "provenance", ...), NULL if absent. UTF-8 text from the file: escape
 * it before it reaches a terminal. */
LINNET_API const char *linnet_model_metadata(const struct linnet_model *model, const char *key);

/* The key of an entry, in the order of the file; NULL if `index` is not less than their number. */
LINNET_API const char *linnet_model_metadata_key(const struct linnet_model *model, size_t index);

#ifdef __cplusplus
}
#endif
#endif
