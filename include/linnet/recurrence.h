/* Runs a causal model frame by frame, as a recurrent network (Katharopoulos et al. 2020, section 3.4): each frame gives
 * one row of log-posteriors, and a state stands for all earlier frames. With causal linear attention the state has a
 * fixed size, and the cost of a frame does not depend on the number of earlier ones. With causal softmax attention the
 * state contains the keys and values of all frames, so that state and cost grow. A convolution module adds the rows
 * that its kernel reads; if it looks ahead, all outputs come that number of frames later (linnet_model_lookahead).
 * Posteriors equal those of linnet_encoder_run up to rounding.
 *
 *   struct linnet_recurrence *recurrence;
 *   linnet_recurrence_create(context, model, &recurrence);
 *   while (have_frames)
 *     if (linnet_recurrence_step(recurrence, frame, log_posteriors) == LINNET_OK) use(log_posteriors);
 *   while (linnet_recurrence_finish(recurrence, log_posteriors) == LINNET_OK) use(log_posteriors);
 *   linnet_recurrence_reset(recurrence);                             // ready for the next utterance
 *
 * Threads: a recurrence is used from one thread at a time. Any number of them share one model and run in parallel, each
 * created with its own context handle (linnet_context_share).
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_RECURRENCE_H
#define LINNET_RECURRENCE_H

#include <linnet/model.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_recurrence;

/* Creates a recurrence for `model`, which must outlive it. LINNET_ERROR_UNSUPPORTED, which names the first layer that
 * prevents it, if the model is not causal: if its attention uses later frames. */
LINNET_API enum linnet_status linnet_recurrence_create(struct linnet_context *context, const struct linnet_model *model,
                                                       struct linnet_recurrence **recurrence);

/* Takes one input frame: features (num_mel), normalised as the model expects. LINNET_OK: an output frame is complete,
 * and log_posteriors (num_symbols) contains it. LINNET_AGAIN: the output frame needs more input frames
 * (linnet_model_stride, linnet_model_lookahead), and log_posteriors is unchanged. The call allocates memory only if the
 * state grows. On LINNET_ERROR_MEMORY it has not taken the frame. */
LINNET_API enum linnet_status linnet_recurrence_step(struct linnet_recurrence *recurrence, const float *features,
                                                     float *log_posteriors);

/* Ends the utterance and computes the output frames that are still missing, one per call. LINNET_OK: log_posteriors
 * contains one; call again. LINNET_END: there are no more. If some input frames have not filled an output frame, the
 * last one is repeated. After the first call a step is an error, until a reset or a copy. */
LINNET_API enum linnet_status linnet_recurrence_finish(struct linnet_recurrence *recurrence, float *log_posteriors);

/* The number of output frames since the start, which is the index of the next one. */
LINNET_API size_t linnet_recurrence_num_frames(const struct linnet_recurrence *recurrence);

/* The current size of the state in bytes, which linnet_recurrence_copy copies. */
LINNET_API size_t linnet_recurrence_state_bytes(const struct linnet_recurrence *recurrence);

/* Copies the state of `from` to `to`, for example to try several continuations of the same audio. `from` is unchanged.
 * Both must have the same model. After LINNET_ERROR_MEMORY reset `to`. */
LINNET_API enum linnet_status linnet_recurrence_copy(struct linnet_recurrence *to,
                                                     const struct linnet_recurrence *from);

/* Starts again before the first frame. The recurrence keeps its memory. */
LINNET_API void linnet_recurrence_reset(struct linnet_recurrence *recurrence);

/* Destroys the recurrence; NULL is allowed. */
LINNET_API void linnet_recurrence_destroy(struct linnet_recurrence *recurrence);

#ifdef __cplusplus
}
#endif
#endif
