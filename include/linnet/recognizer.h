/* From audio to words or phones with times. A recognizer holds the model and everything that a search needs. A stream
 * on it recognises one utterance at a time. Start here.
 *
 *   struct linnet_context *context;
 *   struct linnet_recognizer *recognizer;
 *   struct linnet_recognizer_stream *stream;
 *   const struct linnet_result *result;
 *   linnet_context_create(NULL, &context);
 *   linnet_recognizer_load(context, "recognizer.json", &recognizer);
 *   linnet_recognizer_stream_create(context, recognizer, &stream);
 *   linnet_recognizer_stream_run_file(stream, "talk.flac", NULL, &result);
 *   for (size_t i = 0; i < result->alternatives[0].num_words; i++)
 *     puts(result->alternatives[0].words[i].text);
 *
 * A program passes live audio in pieces, and a hook receives each new result:
 *
 *   linnet_recognizer_stream_set_hook(stream, show, user);
 *   while (have_audio) linnet_recognizer_stream_accept(stream, samples, n);      // 16 kHz mono, int16 scale
 *   linnet_recognizer_stream_finish(stream);
 *   linnet_recognizer_stream_reset(stream);                                      // ready for the next utterance
 *
 * With endpoints (endpoint.h) a stream can run for days: each pause of the speaker ends a segment, whose final result
 * the hook receives, and all times count from the start of the stream.
 *
 * If the model is causal and its features need no statistics of the whole utterance, results come while audio arrives
 * (linnet_recognizer_is_incremental). With other models the result comes from linnet_recognizer_stream_finish.
 *
 * The hooks of the stream's context can cancel long calls and receive their progress (linnet_cancel_fn). After a call
 * that was cancelled, by them or by the hook of the stream, or that ran out of memory, audio may be missing: then
 * accepting, finishing and the result fail with LINNET_ERROR_STATE until linnet_recognizer_stream_reset.
 *
 * Threads: a recognizer is immutable. A stream is used from one thread at a time; any number of streams share one
 * recognizer and run in parallel, each made from its own context handle (linnet_context_share).
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_RECOGNIZER_H
#define LINNET_RECOGNIZER_H

#include <linnet/audio.h>
#include <linnet/endpoint.h>
#include <linnet/model.h>
#include <linnet/search.h>
#include <linnet/stream.h>
#include <linnet/text_aligner.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- the recognizer --------------------------------------------------------------------------------------------- */

struct linnet_recognizer;

/* The caller may release everything that the settings point to once the recognizer is created, except
 * `shared_model`. */
struct linnet_recognizer_settings {
  size_t size;                                 /* set by ..._default */
  struct linnet_source model;                  /* required unless there is a `shared_model` */
  const struct linnet_model *shared_model;     /* or a model that the caller owns, which must outlive the recognizer;
                                                  then `model` does not count. With a GPU it must fit
                                                  linnet_encoder_create. NULL: none */
  const struct linnet_search_settings *search; /* NULL: greedy decoding to phones (default). If it has no calibrations,
                                                  those of the model apply */
  /* Seconds; they replace the rules of the model's features with the same names (features.h), which training does not
   * use. 0: without the rule; NULL: as the model (default). */
  const double *max_silence, *edge_silence;
  const struct linnet_endpoint_settings *endpoint; /* NULL: an utterance is one segment (default) */
  double partial_interval; /* seconds of audio between partial results for the hook. So they do not depend on how the
                              audio is divided among calls. 0 (default): after each call that takes audio; infinity:
                              no partial results */
  /* Path of another recognizer, as linnet_recognizer_load takes it, or NULL (default). When a segment or an utterance
   * has ended and has words or phones, it recognises it again as a whole, and its result is the final one (Sainath et
   * al. 2019, "Two-pass end-to-end speech recognition"). So a causal model gives results while audio arrives, and a
   * better one the last word. The network of the other recognizer gets the segment and, before it, the audio since this
   * recognizer's network last started (linnet_endpoint_settings.restart), at most 10 s of it; only the segment is
   * searched. The number of alternatives, whether there is a lattice, and the hotwords and the grammar, if there are
   * any, are those of this recognizer's search settings; so is `g2p`, for the words of both, if the other recognizer
   * has none. All other search settings are those of the other recognizer. If this recognizer searches for phones, so
   * does the second pass, greedily or with the beam of this recognizer; then only priors, calibrations, blank penalty
   * and emission delay are those of the other. The models must have the same filterbank and stack as many frames; the
   * endpoints of the other recognizer and its second pass do not count. */
  const char *second_pass;
  /* A second model beside the first: their log-posteriors are averaged (log-linear combination of an ensemble; Deng and
   * Platt 2014, "Ensemble deep learning for speech recognition"). Models that were trained in different ways make
   * different errors, and together fewer. The models must have the same symbols, the same filterbank, and stack as many
   * frames. The first must not be incremental, because each model gets the whole utterance; the second may be causal.
   * The progress of a call (linnet_progress_fn) covers one model after the other. No source: one model (default). */
  struct linnet_source ensemble_model;
  double ensemble_weight; /* of the log-posteriors of the second model, 0 to less than 1; the first has the rest. 0.5 is
                             the default; 0: neither this recognizer nor its second pass loads its second model */
  double ensemble_delay;  /* seconds by which the second model has symbols later than the first, 0 (default) to 10 */
};

LINNET_API void linnet_recognizer_settings_default(struct linnet_recognizer_settings *settings, size_t size);
#define linnet_recognizer_settings_default(settings) linnet_recognizer_settings_default(settings, sizeof *(settings))

/* Loads the files that the settings name and creates the recognizer. The context must outlive it. */
LINNET_API enum linnet_status linnet_recognizer_create(struct linnet_context *context,
                                                       const struct linnet_recognizer_settings *settings,
                                                       struct linnet_recognizer **recognizer);

/* The same with settings from a JSON file, or from "recognizer.json" in a folder. Paths in the file are relative to its
 * folder. A missing key means the default of the setting. An unknown key is an error that names file and key.
 *
 *   {"model": "english.safetensors",                    required; the others may be absent
 *    "search": "words",                                 "greedy", "symbols" or "words"
 *    "lexicon": "cmudict.dict", "language_model": "words.bin", "grammar": "commands.jsgf", "hotwords": "names.txt",
 *    "g2p": "g2p.bin", "silences": ["SIL"], "num_alternatives": 5, "beam": 50, "top_symbols": 0, "symbol_threshold": 8,
 *    "score_threshold": 20, "language_model_weight": 0.8, "insertion_bonus": 0, "word_bonus": 0.5,
 *    "unknown_penalty": 5, "unknown_bonus": 2, "pronunciation_weight": 1, "priors": "priors.txt", "prior_scale": 0.5,
 *    "blank_penalty": 0.5, "emission_delay": 0.03, "max_silence": 0.6, "edge_silence": 0.3,
 *    "confidence": {"slope": 0.8, "offset": -0.3}, "word_confidence": {"slope": 1, "offset": 0},
 *    "partial_interval": 0.1, "second_pass": "../english",
 *    "ensemble_model": "second.safetensors", "ensemble_weight": 0.4, "ensemble_delay": 0.06,
 *    "endpoint": {"rules": [{"speech": true, "word": true, "silence": 0.2, "quiet": 0.35}, {"length": 20}],
 *                 "silence_probability": 0.5, "restart": true, "restart_seconds": 6}}
 *
 * Lengths of silence replace those of the model's features. "confidence" and "word_confidence" are calibrations
 * (calibration.h) that replace those of the model; if only one of them is there, the other is the identity. "endpoint"
 * may be empty: {} asks for endpoints with the default rules. The file has at most 64 KiB. */
LINNET_API enum linnet_status linnet_recognizer_load(struct linnet_context *context, const char *path,
                                                     struct linnet_recognizer **recognizer);

/* The model and the search of the recognizer, which live as long as it does; and whether results come while audio
 * arrives (1) or only at the end of the utterance (0). */
LINNET_API const struct linnet_model *linnet_recognizer_model(const struct linnet_recognizer *recognizer);
LINNET_API const struct linnet_search *linnet_recognizer_search(const struct linnet_recognizer *recognizer);
LINNET_API int linnet_recognizer_is_incremental(const struct linnet_recognizer *recognizer);

/* The second model of an ensemble, NULL: there is none, or its weight is 0. It lives as long as the recognizer. */
LINNET_API const struct linnet_model *linnet_recognizer_ensemble_model(const struct linnet_recognizer *recognizer);

/* The recognizer of the second pass, NULL: there is none. It lives as long as this one. */
LINNET_API const struct linnet_recognizer *linnet_recognizer_second_pass(const struct linnet_recognizer *recognizer);

/* Destroys the recognizer; NULL is allowed. Destroy its streams first. */
LINNET_API void linnet_recognizer_destroy(struct linnet_recognizer *recognizer);

/* --- alignment of known texts ------------------------------------------------------------------------------------- */

/* Creates an aligner of texts (text_aligner.h) for the symbols of the recognizer's model, with the pronunciations of
 * the recognizer at `path`, such as models/english: a settings file or a folder, as linnet_recognizer_load takes it;
 * but the folder needs no recognizer.json. They are the lexicon and the g2p that the settings name, and for each that
 * they do not name, "lexicon.txt" and "g2p.bin", if they exist. The rules are "text.rules", if it exists. These files
 * are looked for beside the lexicon that the settings name, or else in the folder of the recognizer.
 *
 * A lexicon or a g2p in `settings` (may be NULL) replaces both lexicon and g2p, rules replace the rules. `path` NULL:
 * only what `settings` names, as for texts of phones. The emission delay is always that of `recognizer`. The context
 * must outlive the aligner.
 *
 * LINNET_ERROR_IO if there is nothing at `path`; LINNET_ERROR_ARGUMENT if `path` is not NULL and there is neither a
 * lexicon nor a g2p. */
LINNET_API enum linnet_status linnet_recognizer_load_aligner(struct linnet_context *context,
                                                             const struct linnet_recognizer *recognizer,
                                                             const char *path,
                                                             const struct linnet_text_aligner_settings *settings,
                                                             struct linnet_text_aligner **aligner);

/* Aligns `text`, made by such an aligner, to the rest of open audio (audio.h): computes the posteriors of the
 * recognizer, without its search, and calls linnet_aligned_text_align with `settings` (may be NULL).
 * LINNET_ERROR_ARGUMENT if the sample rate is not the model's, or the text is for other symbols. *seconds becomes the
 * length of the audio. Memory grows with it, by about 4 bytes for each symbol of each row of posteriors. */
LINNET_API enum linnet_status linnet_recognizer_align(struct linnet_context *context,
                                                      const struct linnet_recognizer *recognizer,
                                                      struct linnet_audio *audio,
                                                      const struct linnet_align_settings *settings,
                                                      struct linnet_aligned_text *text, double *seconds);

/* --- settings from a file ---------------------------------------------------------------------------------------- */

/* The settings of a file in the form that linnet_recognizer_load reads, for programs that change some of them before
 * they create a recognizer. */
struct linnet_recognizer_file;

/* Reads the file at `path`, or "recognizer.json" in a folder. */
LINNET_API enum linnet_status linnet_recognizer_file_load(struct linnet_context *context, const char *path,
                                                          struct linnet_recognizer_file **file);

/* Fill *settings, like ..._default, with what the file says; members that the file does not name have their defaults.
 * The search and endpoint settings that the recognizer's settings point to belong to `file`, like all strings, arrays
 * and numbers. Do not copy those structures by assignment, because the library that the program runs with may have a
 * larger or smaller one: to change them, fill structures of your own with the other two functions and let the
 * recognizer's settings point to these. Whether the file has endpoints is what `endpoint` in the recognizer's settings
 * says: NULL means that it has none, and then the last function gives the defaults. */
LINNET_API void linnet_recognizer_file_settings(const struct linnet_recognizer_file *file,
                                                struct linnet_recognizer_settings *settings, size_t size);
#define linnet_recognizer_file_settings(file, settings)                                                                \
  linnet_recognizer_file_settings(file, settings, sizeof *(settings))
LINNET_API void linnet_recognizer_file_search_settings(const struct linnet_recognizer_file *file,
                                                       struct linnet_search_settings *settings, size_t size);
#define linnet_recognizer_file_search_settings(file, settings)                                                         \
  linnet_recognizer_file_search_settings(file, settings, sizeof *(settings))
LINNET_API void linnet_recognizer_file_endpoint_settings(const struct linnet_recognizer_file *file,
                                                         struct linnet_endpoint_settings *settings, size_t size);
#define linnet_recognizer_file_endpoint_settings(file, settings)                                                       \
  linnet_recognizer_file_endpoint_settings(file, settings, sizeof *(settings))

/* Destroys the settings; NULL is allowed. */
LINNET_API void linnet_recognizer_file_destroy(struct linnet_recognizer_file *file);

/* --- streams ---------------------------------------------------------------------------------------------------- */

struct linnet_recognizer_stream;

/* Creates a stream on a recognizer, which must outlive it. The stream uses the threads, the memory and the hooks of the
 * context. */
LINNET_API enum linnet_status linnet_recognizer_stream_create(struct linnet_context *context,
                                                              const struct linnet_recognizer *recognizer,
                                                              struct linnet_recognizer_stream **stream);

/* Receives results. It is called by linnet_recognizer_stream_accept, ..._accept_features, ..._end_segment, ..._finish,
 * ..._run and ..._run_file, and by linnet_recognizer_batch_step, in the thread that called them: whenever the words of
 * the best alternative change (its phones, if there are no words), and once when the result is final. Each segment in
 * which something was recognised has a final result; another has one only if the last partial result that the hook got
 * of it had words (phones), or if linnet_recognizer_stream_finish ends it. `result` is valid during the call; the texts
 * of its words and phones live as long as the recognizer, but those of words that were guessed for hotwords of the
 * stream only until it gets others or is destroyed. If the hook returns non-zero, the function that called it fails
 * with LINNET_ERROR_CANCELLED. The hook must not call functions of the stream. */
typedef int (*linnet_result_fn)(void *user, const struct linnet_result *result);

/* Sets the hook; NULL removes it. */
LINNET_API enum linnet_status linnet_recognizer_stream_set_hook(struct linnet_recognizer_stream *stream,
                                                                linnet_result_fn hook, void *user);

/* Also passes the log-posteriors of each utterance, those of the first pass, to `sink` (linnet_stream_set_sink). NULL
 * removes the sink. */
LINNET_API enum linnet_status linnet_recognizer_stream_set_sink(struct linnet_recognizer_stream *stream,
                                                                linnet_posterior_fn sink, void *user);

/* Sets the statistics of the speaker, for models with CMVN "speaker" (linnet_stream_set_speaker). NULL: the stream uses
 * the statistics of each utterance. */
LINNET_API enum linnet_status linnet_recognizer_stream_set_speaker(struct linnet_recognizer_stream *stream,
                                                                   const struct linnet_cmvn *cmvn);

/* Whether segments that end from now on get the second pass of the recognizer, if it has one (default: 1). Without it
 * they end with the result of the first pass. For streams that would not keep up with speech. */
LINNET_API enum linnet_status linnet_recognizer_stream_set_second_pass(struct linnet_recognizer_stream *stream, int on);

/* Gives the stream hotwords of its own, such as the names that one caller may say. They replace those of the recognizer
 * and, if there is a second pass, of its recognizer; NULL: those of the recognizers again. They count from the next
 * utterance or segment on, or at once if the utterance has no audio yet, and stay. Each pass guesses words that its
 * lexicon lacks, with the `g2p` of its recognizer or, if that of the second pass has none, of the first. A failure
 * changes nothing. See linnet_search_stream_set_hotwords. */
LINNET_API enum linnet_status linnet_recognizer_stream_set_hotwords(struct linnet_recognizer_stream *stream,
                                                                    const struct linnet_source *source);

/* Sets the rate of the samples that the stream takes (linnet_stream_set_sample_rate). Default: the rate of the model,
 * 16000 Hz for those that ship. linnet_recognizer_stream_run and ..._run_file do not use it. */
LINNET_API enum linnet_status linnet_recognizer_stream_set_sample_rate(struct linnet_recognizer_stream *stream,
                                                                       double rate);

/* Takes n samples at the rate of the stream, mono, int16 scale (full scale is 32768); or features (frames, dim), as
 * linnet_stream_accept_features does. An utterance consists of samples or of features, not of both.
 * LINNET_ERROR_ARGUMENT for values that are no audio: see linnet_stream_accept. */
LINNET_API enum linnet_status linnet_recognizer_stream_accept(struct linnet_recognizer_stream *stream,
                                                              const float *samples, size_t n);
LINNET_API enum linnet_status linnet_recognizer_stream_accept_features(struct linnet_recognizer_stream *stream,
                                                                       const float *features, size_t frames,
                                                                       size_t dim);

/* Ends the current segment as an endpoint (endpoint.h) after the last recognised frame would: for push-to-talk, and for
 * programs that detect pauses themselves. The hook receives the final result, that of the second pass if there is one.
 * The next segment begins; its times in seconds go on from the start of the stream, and so does its number. The
 * recognizer needs no rules for it. If it has endpoints with `restart`, the network restarts as at an endpoint; for a
 * restart without rules set `endpoint` with `num_rules` 0. If no words or phones of the segment have been recognised so
 * far, the call does nothing and the segment goes on.
 *
 * The last frames of the audio are recognised only when what follows them is known: linnet_model_lookahead + 2 frames
 * of linnet_model_frame_seconds. They belong to the next segment. If a word may end with the audio, record that much
 * more before the call. Add 0.1 s, because causal models give symbols late, and the delay of the resampler at other
 * rates (linnet_stream_set_sample_rate). docs/embedding.md has figures.
 *
 * Call it between two calls that take audio, in the thread that uses the stream, also for streams of a batch. It can be
 * cancelled like these calls. LINNET_ERROR_UNSUPPORTED if results do not come while audio arrives
 * (linnet_recognizer_is_incremental): end the utterance instead. LINNET_ERROR_STATE after
 * linnet_recognizer_stream_finish, until linnet_recognizer_stream_reset. */
LINNET_API enum linnet_status linnet_recognizer_stream_end_segment(struct linnet_recognizer_stream *stream);

/* Ends the utterance and recognises the rest of it. Call it once per utterance; linnet_recognizer_stream_reset starts
 * the next one. */
LINNET_API enum linnet_status linnet_recognizer_stream_finish(struct linnet_recognizer_stream *stream);

/* The partial result, or the final one after linnet_recognizer_stream_finish. The best alternative is the first. With
 * endpoints it is the result of the segment that the last audio belongs to: take the others with a hook. The result is
 * valid until the next call on the stream. */
LINNET_API enum linnet_status linnet_recognizer_stream_result(struct linnet_recognizer_stream *stream,
                                                              const struct linnet_result **result);

/* Recognises a whole file: resets the stream, reads the file ("-": standard input) and finishes the utterance. The file
 * is one segment, also if the recognizer has endpoints: for segments, pass the samples to
 * linnet_recognizer_stream_accept. `audio` has the settings for reading; its sample rate is ignored, because the model
 * determines the rate. NULL: the default settings of linnet_audio_open. */
LINNET_API enum linnet_status linnet_recognizer_stream_run_file(struct linnet_recognizer_stream *stream,
                                                                const char *path,
                                                                const struct linnet_audio_settings *audio,
                                                                const struct linnet_result **result);

/* The same for audio that is open: memory, a descriptor, a part of a file (audio.h). Its sample rate must be that of
 * the model: LINNET_ERROR_ARGUMENT otherwise. The audio is read to its end and remains the caller's. */
LINNET_API enum linnet_status linnet_recognizer_stream_run(struct linnet_recognizer_stream *stream,
                                                           struct linnet_audio *audio,
                                                           const struct linnet_result **result);

/* The search stream, for example to get the lattice of a finished utterance (linnet_search_stream_lattice). After a
 * second pass it is the search stream of this pass. linnet_search_stream_token names the tokens of either. */
LINNET_API const struct linnet_search_stream *
linnet_recognizer_stream_search(const struct linnet_recognizer_stream *stream);

/* Seconds of audio that the stream accepted since the last reset (linnet_stream_seconds). No result ends later. */
LINNET_API double linnet_recognizer_stream_seconds(const struct linnet_recognizer_stream *stream);

/* Discards the utterance, finished or not. The stream is then ready for the next one. Hook, sink, speaker,
 * hotwords, sample rate and what linnet_recognizer_stream_set_second_pass has set stay. */
LINNET_API void linnet_recognizer_stream_reset(struct linnet_recognizer_stream *stream);

/* Destroys the stream; NULL is allowed. */
LINNET_API void linnet_recognizer_stream_destroy(struct linnet_recognizer_stream *stream);

/* --- streams that run together ------------------------------------------------------------------------------------

   A server runs many streams with one pass over the weights of the network for all of them, which takes less time than
   stream by stream. Features and search stay those of each stream:

   struct linnet_recognizer_batch *batch;
   linnet_recognizer_batch_create(context, recognizer, 0, &batch);
   linnet_recognizer_batch_open(batch, &streams[i]);                // any number of them, at any time
   linnet_recognizer_stream_set_hook(streams[i], show, user);
   ...
   for (each stream with new audio)
     inputs[n++] = (struct linnet_recognizer_input){
         .stream = streams[i], .samples = samples, .num_samples = num_samples, .finish = last_samples};
   linnet_recognizer_batch_step(batch, inputs, n);                  // calls the hooks
   ...
   linnet_recognizer_stream_destroy(streams[i]);
   linnet_recognizer_batch_destroy(batch);

   Each stream has the results that it has alone, to the last bit with all kernels except "cblas". A batch and its
   streams are used from one thread at a time: a server has a batch for each of its threads, each made from its own
   context handle. */

struct linnet_recognizer_batch;

/* The part of a stream in a step of its batch. */
struct linnet_recognizer_input {
  struct linnet_recognizer_stream *stream;
  const float *samples;      /* (num_samples), as for linnet_recognizer_stream_accept */
  size_t num_samples;        /* may be 0, and differ from stream to stream */
  int finish;                /* not 0: these samples end the utterance, as with linnet_recognizer_stream_finish */
  enum linnet_status status; /* result: what these two functions return for this stream alone. LINNET_ERROR_ARGUMENT
                                for samples that are no audio: then the stream has taken none of them */
};

/* Creates a batch on `recognizer`, which must outlive it. At most `max_rows` output frames of all streams run through
 * the network together, 1 to 4096; 0 means 96 (linnet_recurrence_batch_create). LINNET_ERROR_LIMIT if there are too
 * many rows, LINNET_ERROR_UNSUPPORTED if results do not come while audio arrives (linnet_recognizer_is_incremental). */
LINNET_API enum linnet_status linnet_recognizer_batch_create(struct linnet_context *context,
                                                             const struct linnet_recognizer *recognizer,
                                                             size_t max_rows, struct linnet_recognizer_batch **batch);

/* Creates a stream of the batch, which must outlive it. It uses the context of the batch. All functions above take it,
 * too, and then run it alone. */
LINNET_API enum linnet_status linnet_recognizer_batch_open(struct linnet_recognizer_batch *batch,
                                                           struct linnet_recognizer_stream **stream);

/* Gives the samples of `count` inputs to their streams and sets their status. Streams of the batch that have no audio
 * may be missing; each may be there once. A stream that fails does not keep the others from their audio: the result is
 * LINNET_OK, or the status of the input that failed first, whose error sentence the context then has. A stream
 * that failed for a reason other than its input has LINNET_ERROR_STATE in later steps until it is reset.
 * LINNET_ERROR_ARGUMENT for NULL, for a stream of another batch and for one that is there twice: then no stream has
 * taken samples, and all inputs have this status.
 *
 * A second pass runs within the step, so that the step in which a segment of one stream ends takes longer for all of
 * them (docs/live.md has figures). For streams whose steps must not take long, switch the second pass off
 * (linnet_recognizer_stream_set_second_pass) or open them in a batch of their own. */
LINNET_API enum linnet_status linnet_recognizer_batch_step(struct linnet_recognizer_batch *batch,
                                                           struct linnet_recognizer_input *inputs, size_t count);

/* Destroys the batch; NULL is allowed. Destroy its streams first. */
LINNET_API void linnet_recognizer_batch_destroy(struct linnet_recognizer_batch *batch);

#ifdef __cplusplus
}
#endif
#endif
