/* The encoder computes log-posteriors over the symbols from features. With linear attention, time and memory are linear
 * in the length of the utterance (Katharopoulos et al. 2020, eq. 5-7).
 *
 * Threads: an encoder is used from one thread at a time and runs on the context's thread pool; results do not depend on
 * the number of threads.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_ENCODER_H
#define LINNET_ENCODER_H

#include <linnet/model.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_encoder;

/* Creates an encoder for `model`, which must outlive it. The encoder uses the threads and the memory of the context. If
 * it has a GPU, the model must be from linnet_model_load_whole, or from a context with a GPU; else
 * LINNET_ERROR_ARGUMENT. */
LINNET_API enum linnet_status linnet_encoder_create(struct linnet_context *context, const struct linnet_model *model,
                                                    struct linnet_encoder **encoder);

/* Receives log-posteriors (frames, num_symbols), row-major, in order, in the caller's thread; `first` is the index of
 * the first row. If it returns non-zero, the run stops with LINNET_ERROR_CANCELLED. */
typedef int (*linnet_posterior_fn)(void *user, const float *log_posteriors, size_t first, size_t frames);

/* Runs one utterance: features (frames, num_mel), row-major, normalised as the model expects. Memory grows by about
 * width * 4 bytes per output frame. The encoder passes the posteriors to `sink` in blocks and never holds all of them.
 * The call can be cancelled and reports its progress (linnet_cancel_fn): between blocks of rows, between layers, within
 * attention of quadratic time and within a Bi-LSTM. On a GPU it can be cancelled between layers and reports no
 * progress. After a cancelled run the encoder can run again. */
LINNET_API enum linnet_status linnet_encoder_run(struct linnet_encoder *encoder, const float *features, size_t frames,
                                                 linnet_posterior_fn sink, void *user);

/* The same, but writes into a matrix (linnet_model_num_output_frames, num_symbols) of the caller. */
LINNET_API enum linnet_status linnet_encoder_compute(struct linnet_encoder *encoder, const float *features,
                                                     size_t frames, float *log_posteriors);

/* Destroys the encoder; NULL is allowed. */
LINNET_API void linnet_encoder_destroy(struct linnet_encoder *encoder);

#ifdef __cplusplus
}
#endif
#endif
