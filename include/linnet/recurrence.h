/* Runs a causal model frame by frame, as a recurrent network (Katharopoulos et al. 2020, section 3.4): each frame gives
 * one row of log-posteriors, and a state stands for all earlier frames. With causal linear attention the state has a
 * fixed size, and the cost of a frame does not depend on the number of earlier ones. With causal softmax attention the
 * state contains the keys and values of all frames, so that state and cost grow. A convolution module adds the rows
 * that its kernel reads; if it looks ahead, all outputs come that number of frames later (linnet_model_lookahead).
 * Posteriors equal those of linnet_encoder_run up to rounding. The precision of products is that of the model's context
 * (linnet_context_settings), as for the encoder.
 *
 *   struct linnet_recurrence *recurrence;
 *   linnet_recurrence_create(context, model, &recurrence);
 *   while (have_frames)
 *     if (linnet_recurrence_step(recurrence, frame, log_posteriors) == LINNET_OK) use(log_posteriors);
 *   while (linnet_recurrence_finish(recurrence, log_posteriors) == LINNET_OK) use(log_posteriors);
 *   linnet_recurrence_reset(recurrence);                             // ready for the next utterance
 *
 * Each step reads all weights. If several frames are there, linnet_recurrence_accept runs them together, and a batch
 * (below) runs those of several streams together: the weights are then read once for all of them, which is several
 * times faster. A stream that waits for more frames gains speed and loses time.
 *
 * Results: the rows of a stream have the same bits however its frames are divided among calls, whatever streams are in
 * the batch beside it, and after it was saved and restored, on the same processor with the same kernels. This holds for
 * all kernels except "cblas", whose library may round differently for each number of rows.
 *
 * Threads: a recurrence is used from one thread at a time, and so is a batch with all its recurrences. Any number of
 * them share one model and run in parallel, each created with its own context handle (linnet_context_share). A call
 * runs on the caller's thread alone.
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

/* Takes input frames: features (num_frames, num_mel). Writes the output frames that they complete, *num_rows rows, to
 * log_posteriors (num_rows, num_symbols), which must have memory for linnet_model_num_output_frames(model, num_frames)
 * rows. With 0 frames both arrays may be NULL. Otherwise like linnet_recurrence_step. */
LINNET_API enum linnet_status linnet_recurrence_accept(struct linnet_recurrence *recurrence, const float *features,
                                                       size_t num_frames, float *log_posteriors, size_t *num_rows);

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

/* --- several streams that step together

   struct linnet_recurrence_batch *batch;
   linnet_recurrence_batch_create(context, model, 0, &batch);
   linnet_recurrence_batch_open(batch, &streams[i]);                // any number of them, at any time
   ...
   for (each stream with new frames)
     inputs[n++] = (struct linnet_recurrence_input){.recurrence = streams[i],
                                                    .features = frames,
                                                    .num_frames = num_frames,
                                                    .log_posteriors = log_posteriors,
                                                    .finish = last_frames};
   linnet_recurrence_batch_step(batch, inputs, n);                  // inputs[i].num_rows rows each
   ...
   linnet_recurrence_destroy(streams[i]);
   linnet_recurrence_batch_destroy(batch); */

struct linnet_recurrence_batch;

/* The part of a stream in a step of its batch. */
struct linnet_recurrence_input {
  struct linnet_recurrence *recurrence;
  const float *features; /* (num_frames, num_mel), normalised as the model expects */
  size_t num_frames;     /* may be 0, and differ from stream to stream */
  float *log_posteriors; /* the result (num_rows, num_symbols); memory for linnet_model_num_output_frames(model,
                            num_frames) rows, and if `finish` is not 0 for 1 + linnet_model_lookahead(model) more */
  int finish;            /* not 0: these frames end the utterance, and all output frames that are still missing come;
                            see linnet_recurrence_finish */
  size_t num_rows;       /* result: number of output frames */
};

/* Creates a batch for `model`, which must outlive it. `max_rows` is the number of output frames of all streams that run
 * through the network together, 1 to 4096; 0 means 96. More rows in a step take several passes. The memory of the batch
 * grows with max_rows, not with the number of streams. LINNET_ERROR_LIMIT if there are too many rows,
 * LINNET_ERROR_UNSUPPORTED as linnet_recurrence_create. */
LINNET_API enum linnet_status linnet_recurrence_batch_create(struct linnet_context *context,
                                                             const struct linnet_model *model, size_t max_rows,
                                                             struct linnet_recurrence_batch **batch);

/* Creates a recurrence of the batch, which must outlive it. It holds only its state (linnet_recurrence_state_bytes);
 * all functions above run it with the memory of the batch. */
LINNET_API enum linnet_status linnet_recurrence_batch_open(struct linnet_recurrence_batch *batch,
                                                           struct linnet_recurrence **recurrence);

/* Steps the streams of `count` inputs and sets their num_rows. Streams of the batch that have no frames may be missing;
 * each may be there once. LINNET_ERROR_ARGUMENT for a stream of another batch or one that is there twice,
 * LINNET_ERROR_STATE for frames of a finished one, LINNET_ERROR_MEMORY: then no stream has taken a frame. */
LINNET_API enum linnet_status linnet_recurrence_batch_step(struct linnet_recurrence_batch *batch,
                                                           struct linnet_recurrence_input *inputs, size_t count);

/* Destroys the batch; NULL is allowed. Destroy its recurrences first. */
LINNET_API void linnet_recurrence_batch_destroy(struct linnet_recurrence_batch *batch);

/* --- streams that are parked: the state as bytes

 * docs/live.md describes the bytes. They are the same on all machines. The state continues with every kernel set and
 * precision, but the same bits follow only with those that it was saved under. */

/* The number of bytes that linnet_recurrence_save writes now. */
LINNET_API size_t linnet_recurrence_saved_bytes(const struct linnet_recurrence *recurrence);

/* Writes the state to `data`, whose size in bytes must be linnet_recurrence_saved_bytes. */
LINNET_API enum linnet_status linnet_recurrence_save(const struct linnet_recurrence *recurrence, void *data,
                                                     size_t bytes);

/* Replaces the state of any recurrence over the same model by a saved one, from any source: sizes, counters and a
 * checksum are checked, and no input reads or writes other memory. LINNET_ERROR_FORMAT for damaged or other bytes,
 * LINNET_ERROR_UNSUPPORTED for bytes of another version, LINNET_ERROR_STATE if they belong to another model: then the
 * recurrence is unchanged, or reset. After LINNET_ERROR_MEMORY it is reset. */
LINNET_API enum linnet_status linnet_recurrence_restore(struct linnet_recurrence *recurrence, const void *data,
                                                        size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
