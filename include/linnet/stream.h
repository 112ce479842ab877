/* A stream recognises one utterance at a time: samples in, symbols with times out.
 *
 *   struct linnet_context *context;
 *   struct linnet_model *model;
 *   struct linnet_stream *stream;
 *   linnet_context_create(NULL, &context);
 *   linnet_model_load(context, "model.safetensors", &model);
 *   linnet_stream_create(context, model, &stream);
 *   while (have_audio) linnet_stream_accept(stream, samples, n);   // 16 kHz mono, int16 scale
 *   linnet_stream_finish(stream);
 *   const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
 *   for (size_t i = 0; i < count; i++) puts(linnet_model_symbol(model, segments[i].symbol));
 *   linnet_stream_reset(stream);                                   // ready for the next utterance
 *
 * A causal model (linnet_model_is_causal) whose features need no statistics of the utterance (CMVN "none" or
 * "global") is run while samples come, in constant memory if its attention is linear: linnet_stream_segments then gives
 * what was decoded so far. All segments but the last are final; the last may still grow, in its end and confidence,
 * until another follows or linnet_stream_finish is called. With other models segments come after linnet_stream_finish
 * alone.
 *
 * linnet_stream_accept, linnet_stream_accept_features and linnet_stream_finish can be cancelled, linnet_stream_finish
 * reports its progress (linnet_cancel_fn). A stream that was cancelled is reset before its next utterance.
 *
 * Threads: one stream, one thread at a time; any number of streams share one model and run in parallel, each made from
 * its own context handle (linnet_context_share).
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_STREAM_H
#define LINNET_STREAM_H

#include <linnet/cmvn.h>
#include <linnet/encoder.h>
#include <linnet/fbank.h>
#include <linnet/greedy.h>
#include <linnet/recurrence.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_stream;

/* Makes a stream over `model`. Model and context must outlive it; the context gives threads and memory. */
LINNET_API enum linnet_status linnet_stream_create(struct linnet_context *context, const struct linnet_model *model,
                                                   struct linnet_stream **stream);

/* Takes samples at the model's rate (linnet_model_features()->fbank.sample_rate), mono, int16 scale.
 * LINNET_ERROR_STATE after features and after linnet_stream_finish, until linnet_stream_reset. */
LINNET_API enum linnet_status linnet_stream_accept(struct linnet_stream *stream, const float *samples, size_t n);

/* Takes features (frames, dim) instead, as linnet_fbank makes them: not yet normalised; `dim` must be the model's
 * num_mel. An utterance is samples or features, not both: LINNET_ERROR_STATE after samples and after
 * linnet_stream_finish, until linnet_stream_reset. */
LINNET_API enum linnet_status linnet_stream_accept_features(struct linnet_stream *stream, const float *features,
                                                            size_t frames, size_t dim);

/* Gives the statistics of the speaker, from which a model with CMVN "speaker" then normalises until they are replaced;
 * without them (NULL) it uses those of each utterance. They are copied. Models with other CMVN do not look at them.
 * LINNET_ERROR_ARGUMENT unless their dimension is num_mel and they hold frames. */
LINNET_API enum linnet_status linnet_stream_set_speaker(struct linnet_stream *stream, const struct linnet_cmvn *cmvn);

/* How the confidences of segments are calibrated (calibration.h), copied; at first by linnet_model_calibrations. NULL:
 * not at all. Only between utterances: LINNET_ERROR_STATE once posteriors were computed, until linnet_stream_reset. */
LINNET_API enum linnet_status linnet_stream_set_calibrations(struct linnet_stream *stream,
                                                             const struct linnet_calibrations *calibrations);

/* Says that the utterance is complete and decodes what is left of it. Once in an utterance: until linnet_stream_reset,
 * finishing again is LINNET_ERROR_STATE, also after a failure. */
LINNET_API enum linnet_status linnet_stream_finish(struct linnet_stream *stream);

/* Also hands the log-posteriors (frames, num_symbols) of each utterance to `sink` in order, as they are computed, for a
 * decoder of the caller's or to keep them; see encoder.h. Its returning non-zero makes the call that computes them fail
 * with LINNET_ERROR_CANCELLED; the sentence that it left in the stream's context, such as a decoder's, stays. NULL ends
 * that. */
LINNET_API void linnet_stream_set_sink(struct linnet_stream *stream, linnet_posterior_fn sink, void *user);

/* The segments decoded so far (greedy), in output frames, their confidences calibrated
 * (linnet_stream_set_calibrations); valid until the next call on the stream. */
LINNET_API const struct linnet_segment *linnet_stream_segments(const struct linnet_stream *stream, size_t *count);

/* Drops the first `count` segments, which the caller has used: fewer than there are, as the last may still grow. A
 * causal model with linear attention then runs for days in constant memory; segments that are not dropped take 32 bytes
 * each. Frames go on counting. */
LINNET_API enum linnet_status linnet_stream_drop_segments(struct linnet_stream *stream, size_t count);

/* Seconds per output frame: segment times are start * this to end * this. */
LINNET_API double linnet_stream_frame_seconds(const struct linnet_stream *stream);

/* Seconds of audio accepted since the last reset; of features, their frames times the frame shift. */
LINNET_API double linnet_stream_seconds(const struct linnet_stream *stream);

/* Forgets the utterance and its segments, finished or not, and is ready for the next. Speaker, calibration and
 * sink stay. */
LINNET_API void linnet_stream_reset(struct linnet_stream *stream);

/* Destroys the stream; NULL is allowed. */
LINNET_API void linnet_stream_destroy(struct linnet_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
