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
 * If the model is causal (linnet_model_is_causal) and its features need no statistics of the utterance (CMVN "none",
 * "global" or "running"), the stream runs it while samples arrive: all output frames of a call in blocks of up to 32,
 * each of which reads the weights once, so that longer calls need less time. If its attention is linear, memory is then
 * constant.
 * linnet_stream_segments gives the segments so far. All of them except the last are final. The end and the confidence
 * of the last may change until another segment follows or linnet_stream_finish is called. With other models all
 * segments come from linnet_stream_finish. Posteriors and segments do not depend on how the samples are divided among
 * calls, to the last bit with all kernels except "cblas".
 *
 * linnet_stream_accept, linnet_stream_accept_features and linnet_stream_finish can be cancelled, and
 * linnet_stream_finish reports its progress (linnet_cancel_fn). After a call that was cancelled, or ran out of memory,
 * audio may be missing: these functions then fail with LINNET_ERROR_STATE until linnet_stream_reset.
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

/* Creates a stream for `model`. Model and context must outlive it. The stream uses the threads and the memory of the
 * context. */
LINNET_API enum linnet_status linnet_stream_create(struct linnet_context *context, const struct linnet_model *model,
                                                   struct linnet_stream **stream);

/* Sets the rate in Hz of the samples that the stream takes, LINNET_AUDIO_MIN_RATE to LINNET_AUDIO_MAX_RATE (audio.h),
 * in this utterance and all later ones. Default: the model's rate (fbank.sample_rate of linnet_model_features). The
 * stream resamples other rates. This delays posteriors by up to 0.04 s from 44.1 or 48 kHz to 16 kHz, by up to 0.12 s
 * from 8 kHz, and by up to 1 s from 1 kHz. LINNET_ERROR_STATE if the utterance already has samples,
 * LINNET_ERROR_UNSUPPORTED in a build without soxr. */
LINNET_API enum linnet_status linnet_stream_set_sample_rate(struct linnet_stream *stream, double rate);

/* Takes samples, mono, int16 scale.
 * LINNET_ERROR_STATE after features and after linnet_stream_finish, until linnet_stream_reset. LINNET_ERROR_ARGUMENT
 * if a sample is NaN or its absolute value above 1e13: then it takes none of them. */
LINNET_API enum linnet_status linnet_stream_accept(struct linnet_stream *stream, const float *samples, size_t n);

/* Takes features (frames, dim) instead, as linnet_fbank makes them: not yet normalised; `dim` must be the model's
 * num_mel. An utterance consists of samples or of features, not of both: LINNET_ERROR_STATE after samples and after
 * linnet_stream_finish, until linnet_stream_reset. LINNET_ERROR_ARGUMENT for NaN, and for absolute values above
 * 1e13, as for samples. */
LINNET_API enum linnet_status linnet_stream_accept_features(struct linnet_stream *stream, const float *features,
                                                            size_t frames, size_t dim);

/* Sets the statistics of the speaker, by which the stream of a model with CMVN "speaker" normalises all utterances that
 * follow. The stream copies them. NULL: it uses the statistics of each utterance. Models with other CMVN ignore them.
 * LINNET_ERROR_ARGUMENT if their dimension is not num_mel, if they have no frames, and for sums that are not finite or
 * sums of squares below 0. */
LINNET_API enum linnet_status linnet_stream_set_speaker(struct linnet_stream *stream, const struct linnet_cmvn *cmvn);

/* Sets the calibrations of the confidences of segments (calibration.h), which the stream copies. A new stream has those
 * of its model (linnet_model_calibrations). NULL: no calibration. Call it only between utterances: after the first
 * posteriors it fails with LINNET_ERROR_STATE, until linnet_stream_reset. */
LINNET_API enum linnet_status linnet_stream_set_calibrations(struct linnet_stream *stream,
                                                             const struct linnet_calibrations *calibrations);

/* Sets lengths of silence in seconds, 0 to 3600, which replace those of the model's features: max_silence and
 * edge_silence (features.h); 0 switches a rule off. NULL: as the model. They apply to utterances that end after the
 * call. A causal model that runs while samples arrive gets all frames whatever they are. LINNET_ERROR_LIMIT for other
 * values, which change nothing. */
LINNET_API enum linnet_status linnet_stream_set_silence(struct linnet_stream *stream, const double *max_silence,
                                                        const double *edge_silence);

/* Ends the utterance and decodes the rest of it. Call it once per utterance: a second call before linnet_stream_reset
 * fails with LINNET_ERROR_STATE, even if the first one failed. */
LINNET_API enum linnet_status linnet_stream_finish(struct linnet_stream *stream);

/* Also passes the log-posteriors (frames, num_symbols) of each utterance to `sink`, in order, as soon as the stream
 * computes them: for another decoder, or to store them; see encoder.h. If `sink` returns non-zero, the call that
 * computed the posteriors fails with LINNET_ERROR_CANCELLED. An error sentence that the sink left in the stream's
 * context stays there. NULL removes the sink. */
LINNET_API void linnet_stream_set_sink(struct linnet_stream *stream, linnet_posterior_fn sink, void *user);

/* The segments decoded so far (greedy). Their times are output frames, and their confidences are calibrated
 * (linnet_stream_set_calibrations). The array is valid until the next call on the stream. */
LINNET_API const struct linnet_segment *linnet_stream_segments(const struct linnet_stream *stream, size_t *count);

/* Removes the first `count` segments, which the caller no longer needs. The last segment must stay, because it may
 * still change: `count` is less than the number of segments, or 0. With a causal model of linear attention a stream can
 * so run for days in constant memory. Each segment that is not removed takes 32 bytes. Frame indices do not start again
 * at 0. */
LINNET_API enum linnet_status linnet_stream_drop_segments(struct linnet_stream *stream, size_t count);

/* Seconds per output frame. Multiply start and end of a segment by it to get its times in seconds. */
LINNET_API double linnet_stream_frame_seconds(const struct linnet_stream *stream);

/* Seconds of audio that the stream accepted since the last reset: the number of samples divided by their rate, although
 * a resampler may still keep the last of them. Of features: their number of frames times the frame shift. */
LINNET_API double linnet_stream_seconds(const struct linnet_stream *stream);

/* Discards the utterance, finished or not, and its segments. The stream is then ready for the next one. Speaker,
 * calibrations, lengths of silence, sample rate and sink stay. */
LINNET_API void linnet_stream_reset(struct linnet_stream *stream);

/* Destroys the stream; NULL is allowed. */
LINNET_API void linnet_stream_destroy(struct linnet_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
