/* A causal model as a recurrent network (Katharopoulos et al. 2020, section 3.4): one frame in, one row of
 * log-posteriors out, the past in a state. With causal linear attention the state has a fixed size and a frame costs
 * the same however many came before; causal softmax attention keeps the keys and values of all frames, so state and
 * cost grow. Posteriors equal those of linnet_encoder_run, which sees the whole utterance, up to rounding.
 *
 *   struct linnet_recurrence *recurrence;
 *   linnet_recurrence_create(context, model, &recurrence);
 *   while (have_frames)
 *     if (linnet_recurrence_step(recurrence, frame, log_posteriors) == LINNET_OK) use(log_posteriors);
 *   if (linnet_recurrence_finish(recurrence, log_posteriors) == LINNET_OK) use(log_posteriors);
 *   linnet_recurrence_reset(recurrence);                             // ready for the next utterance
 *
 * Threads: one recurrence, one thread at a time; any number of them share one model and run in parallel, each made from
 * its own context handle (linnet_context_share).
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_RECURRENCE_H
#define LINNET_RECURRENCE_H

#include <linnet/model.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_recurrence;

/* Makes a recurrence over `model`, which must outlive it. LINNET_ERROR_UNSUPPORTED, naming the first layer, if the
 * model is not causal: attention of a kind that sees later frames, or a convolution module, whose kernel does. */
LINNET_API enum linnet_status linnet_recurrence_create(struct linnet_context *context, const struct linnet_model *model,
                                                       struct linnet_recurrence **recurrence);

/* Takes one input frame: features (num_mel), normalised as the model expects. LINNET_OK: an output frame is complete,
 * log_posteriors (num_symbols) holds it. LINNET_AGAIN: the model joins more frames (linnet_model_stride) into one, and
 * log_posteriors is as it was. Memory is allocated only where the state grows; on LINNET_ERROR_MEMORY the frame was not
 * taken. */
LINNET_API enum linnet_status linnet_recurrence_step(struct linnet_recurrence *recurrence, const float *features,
                                                     float *log_posteriors);

/* Says that no frame follows. LINNET_OK: frames were left that did not fill an output frame; the last was repeated, and
 * log_posteriors holds it. LINNET_END: none were left. Until a reset or copy, a step is then an error. */
LINNET_API enum linnet_status linnet_recurrence_finish(struct linnet_recurrence *recurrence, float *log_posteriors);

/* Output frames since the start: the index of the next. */
LINNET_API size_t linnet_recurrence_num_frames(const struct linnet_recurrence *recurrence);

/* Bytes of the state as it is: what linnet_recurrence_copy copies. */
LINNET_API size_t linnet_recurrence_state_bytes(const struct linnet_recurrence *recurrence);

/* Makes `to` continue where `from` is, leaving `from` as it is: to try several futures of one past. Both must be over
 * the same model. On LINNET_ERROR_MEMORY `to` must be reset. */
LINNET_API enum linnet_status linnet_recurrence_copy(struct linnet_recurrence *to,
                                                     const struct linnet_recurrence *from);

/* Starts over before the first frame, keeping the memory. */
LINNET_API void linnet_recurrence_reset(struct linnet_recurrence *recurrence);

/* Destroys the recurrence; NULL is allowed. */
LINNET_API void linnet_recurrence_destroy(struct linnet_recurrence *recurrence);

#ifdef __cplusplus
}
#endif
#endif
