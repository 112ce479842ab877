/* From audio to words or phones with times: a recognizer holds the model and all that a search needs, a stream on it
 * recognises one utterance at a time. Start here.
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
 * Live audio goes in piece by piece, and a hook gets each new result:
 *
 *   linnet_recognizer_stream_set_hook(stream, show, user);
 *   while (have_audio) linnet_recognizer_stream_accept(stream, samples, n);      // 16 kHz mono, int16 scale
 *   linnet_recognizer_stream_finish(stream);
 *   linnet_recognizer_stream_reset(stream);                                      // ready for the next utterance
 *
 * Results come while audio does if the model is causal and its features need no statistics of the utterance, as
 * linnet_recognizer_is_incremental says; with other models they come with linnet_recognizer_stream_finish.
 *
 * Long calls can be cancelled, and report their progress, by the hooks of the stream's context (linnet_cancel_fn); a
 * stream that was cancelled is reset before its next utterance.
 *
 * Threads: a recognizer is immutable. A stream is used from one thread at a time; any number of streams share one
 * recognizer and run in parallel, each made from its own context handle (linnet_context_share).
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_RECOGNIZER_H
#define LINNET_RECOGNIZER_H

#include <linnet/audio.h>
#include <linnet/model.h>
#include <linnet/search.h>
#include <linnet/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- the recognizer --------------------------------------------------------------------------------------------- */

struct linnet_recognizer;

/* Nothing that the settings name is needed once the recognizer is made, but for `shared_model`. */
struct linnet_recognizer_settings {
  size_t size;                                 /* set by ..._default */
  struct linnet_source model;                  /* required unless there is a `shared_model` */
  const struct linnet_model *shared_model;     /* a model of the caller's, which must outlive the recognizer; or NULL */
  const struct linnet_search_settings *search; /* NULL: greedy decoding to phones (default). Where it names no
                                                  calibrations, the model's are used */
};

LINNET_API void linnet_recognizer_settings_default(struct linnet_recognizer_settings *settings, size_t size);
#define linnet_recognizer_settings_default(settings) linnet_recognizer_settings_default(settings, sizeof *(settings))

/* Loads what the settings name. The context must outlive the recognizer. */
LINNET_API enum linnet_status linnet_recognizer_create(struct linnet_context *context,
                                                       const struct linnet_recognizer_settings *settings,
                                                       struct linnet_recognizer **recognizer);

/* The same with settings from a JSON file, or from "recognizer.json" in a folder. Paths in it are relative to its
 * folder. A key that is absent leaves the default of the settings; an unknown key is an error that names file and key.
 *
 *   {"model": "english.safetensors",                    required; the others may be absent
 *    "search": "words",                                 "greedy", "symbols" or "words"
 *    "lexicon": "cmudict.dict", "language_model": "words.bin", "grammar": "commands.jsgf", "hotwords": "names.txt",
 *    "silences": ["SIL"], "num_alternatives": 5, "beam": 50, "top_symbols": 0, "symbol_threshold": 8,
 *    "score_threshold": 20, "language_model_weight": 0.8, "insertion_bonus": 0, "word_bonus": 0.5,
 *    "unknown_penalty": 5,
 *    "confidence": {"slope": 0.8, "offset": -0.3}, "word_confidence": {"slope": 1, "offset": 0}}
 *
 * The last two are calibrations (calibration.h) instead of the model's. At most 64 KiB. */
LINNET_API enum linnet_status linnet_recognizer_load(struct linnet_context *context, const char *path,
                                                     struct linnet_recognizer **recognizer);

/* Its model, which lives as long as the recognizer; what it searches for; and whether results come while audio does. */
LINNET_API const struct linnet_model *linnet_recognizer_model(const struct linnet_recognizer *recognizer);
LINNET_API const struct linnet_search *linnet_recognizer_search(const struct linnet_recognizer *recognizer);
LINNET_API int linnet_recognizer_is_incremental(const struct linnet_recognizer *recognizer);

/* Destroys the recognizer, after its streams; NULL is allowed. */
LINNET_API void linnet_recognizer_destroy(struct linnet_recognizer *recognizer);

/* --- settings from a file ---------------------------------------------------------------------------------------- */

/* The settings of a file as linnet_recognizer_load reads it, for programs that change some of them before they create a
 * recognizer. */
struct linnet_recognizer_file;

/* Reads the file at `path`, or "recognizer.json" in a folder. */
LINNET_API enum linnet_status linnet_recognizer_file_load(struct linnet_context *context, const char *path,
                                                          struct linnet_recognizer_file **file);

/* Its settings, to be copied together with the settings of the search that they point to. All that they point to
 * belongs to the file. */
LINNET_API const struct linnet_recognizer_settings *
linnet_recognizer_file_settings(const struct linnet_recognizer_file *file);

/* Destroys the settings; NULL is allowed. */
LINNET_API void linnet_recognizer_file_destroy(struct linnet_recognizer_file *file);

/* --- streams ---------------------------------------------------------------------------------------------------- */

struct linnet_recognizer_stream;

/* Makes a stream on a recognizer, which must outlive it; the context gives threads, memory and hooks. */
LINNET_API enum linnet_status linnet_recognizer_stream_create(struct linnet_context *context,
                                                              const struct linnet_recognizer *recognizer,
                                                              struct linnet_recognizer_stream **stream);

/* Called from within linnet_recognizer_stream_accept, ..._accept_features and ..._finish, in their thread, when the
 * best alternative has other words (phones, where there are no words) than before, and once when the result is final.
 * `result` is valid during the call. Returning non-zero makes the call that called it fail with LINNET_ERROR_CANCELLED.
 * The hook must not call the stream. */
typedef int (*linnet_result_fn)(void *user, const struct linnet_result *result);

/* `hook` NULL: none. */
LINNET_API enum linnet_status linnet_recognizer_stream_set_hook(struct linnet_recognizer_stream *stream,
                                                                linnet_result_fn hook, void *user);

/* Also hands the log-posteriors of each utterance to `sink` (linnet_stream_set_sink); NULL ends that. */
LINNET_API enum linnet_status linnet_recognizer_stream_set_sink(struct linnet_recognizer_stream *stream,
                                                                linnet_posterior_fn sink, void *user);

/* Statistics of the speaker, for models with CMVN "speaker" (linnet_stream_set_speaker); NULL: those of each utterance.
 */
LINNET_API enum linnet_status linnet_recognizer_stream_set_speaker(struct linnet_recognizer_stream *stream,
                                                                   const struct linnet_cmvn *cmvn);

/* Takes n samples at the model's rate, mono, int16 scale; or features (frames, dim), as linnet_stream_accept_features
 * does. An utterance is samples or features, not both. */
LINNET_API enum linnet_status linnet_recognizer_stream_accept(struct linnet_recognizer_stream *stream,
                                                              const float *samples, size_t n);
LINNET_API enum linnet_status linnet_recognizer_stream_accept_features(struct linnet_recognizer_stream *stream,
                                                                       const float *features, size_t frames,
                                                                       size_t dim);

/* Says that the utterance is complete and recognises what is left of it. Once in an utterance, until
 * linnet_recognizer_stream_reset. */
LINNET_API enum linnet_status linnet_recognizer_stream_finish(struct linnet_recognizer_stream *stream);

/* The result so far, or once finished the final one, in which the best alternative comes first. Valid until the next
 * call on the stream. */
LINNET_API enum linnet_status linnet_recognizer_stream_result(struct linnet_recognizer_stream *stream,
                                                              const struct linnet_result **result);

/* Recognises a whole file: resets the stream, reads the file ("-": standard input) and finishes. `audio` says how the
 * file is read, but for the sample rate, which is the model's; NULL: as any file that linnet_audio_open takes. */
LINNET_API enum linnet_status linnet_recognizer_stream_run_file(struct linnet_recognizer_stream *stream,
                                                                const char *path,
                                                                const struct linnet_audio_settings *audio,
                                                                const struct linnet_result **result);

/* The stream's search, such as for the lattice of a finished utterance (linnet_search_stream_lattice). */
LINNET_API const struct linnet_search_stream *
linnet_recognizer_stream_search(const struct linnet_recognizer_stream *stream);

/* Seconds of audio since the last reset. */
LINNET_API double linnet_recognizer_stream_seconds(const struct linnet_recognizer_stream *stream);

/* Forgets the utterance, finished or not, and is ready for the next. Hook, sink and speaker stay. */
LINNET_API void linnet_recognizer_stream_reset(struct linnet_recognizer_stream *stream);

/* Destroys the stream; NULL is allowed. */
LINNET_API void linnet_recognizer_stream_destroy(struct linnet_recognizer_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
