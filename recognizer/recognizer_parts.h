/* The parts of a recognizer, of its streams and of its settings file. */
#ifndef LINNET_RECOGNIZER_PARTS_H
#define LINNET_RECOGNIZER_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include <linnet/recognizer.h>
#include <linnet/stream.h>

#include "base/base.h"
#include "recognizer/endpoint.h"
#include "recognizer/ensemble.h"
#include "recognizer/silence.h"

struct linnet_recognizer {
  struct linnet_context *context;
  const struct linnet_model *model;
  struct linnet_model *own_model; /* NULL: the caller owns the model */
  struct linnet_ensemble ensemble;
  struct linnet_search *search;
  struct linnet_recognizer *second; /* of the second pass (second_pass.h); may be NULL */
  bool has_endpoints;
  struct linnet_endpoint_rules endpoints;
  double partial_interval; /* seconds; 0: after each call */
  struct linnet_silence_lengths lengths;
};

/* Whether a stream recognises frames as soon as they arrive: the network is causal, and the features need no statistics
 * of the utterance or speaker. */
static inline bool linnet_runs_along(const struct linnet_model *model) {
  struct linnet_feature_config features;
  linnet_model_features(model, &features);
  return linnet_model_is_causal(model) && features.cmvn != LINNET_CMVN_UTTERANCE &&
         features.cmvn != LINNET_CMVN_SPEAKER;
}

/* LINNET_ERROR_UNSUPPORTED if the model has no features of audio and no symbols (linnet_model_load_tokens). */
static inline enum linnet_status linnet_check_speech_model(struct linnet_context *context,
                                                           const struct linnet_model *model) {
  return linnet_model_symbol(model, 0)
             ? LINNET_OK
             : linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "the model reads tokens, so it cannot recognise speech");
}

/* For a stream that lacks audio, because a call took only some of it. */
static inline enum linnet_status linnet_fail_stopped(struct linnet_context *context) {
  return linnet_fail(context, LINNET_ERROR_STATE, "the call before was cancelled, or failed: reset the stream first");
}

/* linnet_recognizer_create with complete settings. `ensemble_model`: the second model of an ensemble, which must
 * outlive the recognizer, if it is in memory already; else NULL. */
enum linnet_status linnet_recognizer_create_with(struct linnet_context *context,
                                                 const struct linnet_recognizer_settings *settings,
                                                 const struct linnet_model *ensemble_model,
                                                 struct linnet_recognizer **recognizer);

/* Loads the model of a source. */
enum linnet_status linnet_model_load_source(struct linnet_context *context, const struct linnet_source *source,
                                            struct linnet_model **model);

/* LINNET_ERROR_UNSUPPORTED if rows of the two models are of other times or features of another filterbank. */
enum linnet_status linnet_check_same_rows(struct linnet_context *context, const struct linnet_model *first,
                                          const struct linnet_model *second);

/* --- posteriors (posterior_stream.c) ------------------------------------------------------------------------------ */

/* Internal functions of linnet_stream for recognizer streams. */

struct linnet_live_input;

enum { LINNET_STREAM_CHUNK = 16000 }; /* samples per call of the filterbank */

/* linnet_stream_create with a batch of networks that run together (live_network.h), or NULL. */
enum linnet_status linnet_stream_create_in(struct linnet_context *context, const struct linnet_model *model,
                                           struct linnet_recurrence_batch *batch, struct linnet_stream **stream);

/* Whether the stream can take all n samples now: the checks of linnet_stream_accept, which takes all or none. */
enum linnet_status linnet_stream_check(const struct linnet_stream *stream, const float *samples, size_t n);

/* *converted (*count): samples (n), which linnet_stream_check has found good, at the rate of the model: `samples`
 * itself, or memory of the stream that is valid until the next call. */
enum linnet_status linnet_stream_convert(struct linnet_stream *stream, const float *samples, size_t n,
                                         const float **converted, size_t *count);

/* Until the reset, samples have the rate of the model. */
void linnet_stream_expect_model_rate(struct linnet_stream *stream);

/* Whether the utterance has no audio, and can take some. */
bool linnet_stream_is_empty(const struct linnet_stream *stream);

/* Takes at most LINNET_STREAM_CHUNK samples at the rate of the model, which linnet_stream_check has found good, for a
 * causal network. *input then has the new frames, which the network must run before the next call; it has none after a
 * failure. */
enum linnet_status linnet_stream_take(struct linnet_stream *stream, const float *samples, size_t n,
                                      struct linnet_live_input *input);

/* Lets a second network take part (ensemble.h). The ensemble must outlive the stream, whose network must not run along.
 */
enum linnet_status linnet_stream_set_ensemble(struct linnet_stream *stream, const struct linnet_ensemble *ensemble);

/* Receives features (frames, num_mel) before their normalisation, each frame before the posteriors that depend on it.
 * Another status than LINNET_OK ends the call that took the audio. */
typedef enum linnet_status (*linnet_feature_fn)(void *user, const float *features, size_t frames);

/* NULL removes the listener. */
void linnet_stream_set_listener(struct linnet_stream *stream, linnet_feature_fn listener, void *user);

/* From a sink: the number of frames of features that the network had taken, since the reset, when it could compute the
 * last of the rows that the sink receives. */
uint64_t linnet_stream_num_taken(const struct linnet_stream *stream);

/* Needed once before linnet_stream_restart_network. */
enum linnet_status linnet_stream_allow_restarts(struct linnet_stream *stream);

/* Restarts a causal network: from a sink, after the row that the sink receives; between two calls, after the last row.
 * The posteriors still pending for earlier audio come first, so that each frame has its row. Other networks ignore the
 * call. */
void linnet_stream_restart_network(struct linnet_stream *stream);

/* --- results (recognizer_stream.c) -------------------------------------------------------------------------------- */

/* linnet_recognizer_stream_create with a batch of networks that run together, or NULL. */
enum linnet_status linnet_recognizer_stream_create_in(struct linnet_context *context,
                                                      const struct linnet_recognizer *recognizer,
                                                      struct linnet_recurrence_batch *batch,
                                                      struct linnet_recognizer_stream **stream);

/* A stream of the posteriors that the search of the recognizer reads. */
enum linnet_status linnet_recognizer_create_posteriors(struct linnet_context *context,
                                                       const struct linnet_recognizer *recognizer,
                                                       struct linnet_recurrence_batch *batch,
                                                       struct linnet_stream **stream);

/* LINNET_ERROR_ARGUMENT if the audio does not have the sample rate of the model. */
enum linnet_status linnet_recognizer_check_rate(struct linnet_context *context,
                                                const struct linnet_recognizer *recognizer,
                                                const struct linnet_audio *audio);

/* Passes all samples of the audio to accept(user, ...), whose failure ends the call. */
typedef enum linnet_status (*linnet_accept_samples_fn)(void *user, const float *samples, size_t n);
enum linnet_status linnet_feed_audio(struct linnet_context *context, struct linnet_audio *audio,
                                     linnet_accept_samples_fn accept, void *user);

/* The batch that the stream was created with. */
const struct linnet_recurrence_batch *linnet_recognizer_stream_batch(const struct linnet_recognizer_stream *stream);

/* Whether the stream is part of the running step of its batch. */
bool *linnet_recognizer_stream_listed(struct linnet_recognizer_stream *stream);

struct linnet_stream *linnet_recognizer_stream_audio(struct linnet_recognizer_stream *stream);

/* The search of the first pass. */
struct linnet_search_stream *linnet_recognizer_stream_first_search(struct linnet_recognizer_stream *stream);

/* For the second pass (second_pass.h): resets the stream, whose first `context` rows are not searched, and the next one
 * has the number `row`; and its result, with the times of the rows. */
void linnet_recognizer_stream_reset_at(struct linnet_recognizer_stream *stream, uint64_t row, size_t context);
enum linnet_status linnet_recognizer_stream_result_by_row(struct linnet_recognizer_stream *stream,
                                                          const struct linnet_result **result);

/* Ends the spans of the last result at `seconds`. */
void linnet_recognizer_stream_clip(struct linnet_recognizer_stream *stream, double seconds);

/* Begins a call that takes samples (n) all or not at all: checks them all (linnet_stream_check), and then converts them
 * (linnet_stream_convert). If it succeeds, linnet_recognizer_stream_end_call must follow. */
enum linnet_status linnet_recognizer_stream_begin_call(struct linnet_recognizer_stream *stream, const float *samples,
                                                       size_t n, const float **converted, size_t *count);

/* Ends a call that took audio with the status `status` of the network: returns that of the search if it failed, and
 * calls the hook. */
enum linnet_status linnet_recognizer_stream_end_call(struct linnet_recognizer_stream *stream,
                                                     enum linnet_status status);

/* --- settings (recognizer_file.c) --------------------------------------------------------------------------------- */

/* The settings of a recognizer in a JSON file (recognizer.h). */

enum { LINNET_RECOGNIZER_PATHS = 9, LINNET_RECOGNIZER_SILENCES = 64 };

struct linnet_recognizer_file {
  struct linnet_context *context;
  char *name;                                 /* the path of the file, for messages */
  struct linnet_recognizer_settings settings; /* its pointers point to the members below */
  struct linnet_search_settings search;
  struct linnet_calibrations calibrations;
  struct linnet_endpoint_settings endpoint;
  struct linnet_endpoint_rule rules[LINNET_ENDPOINT_MAX_RULES];
  double max_silence, edge_silence;
  const char *silences[LINNET_RECOGNIZER_SILENCES];
  char *paths[LINNET_RECOGNIZER_PATHS]; /* including the folder */
  void *root;                           /* the JSON document, which owns the strings */
};

/* Reads JSON text (bytes). `name` is the path of the file, for messages; paths in the file are relative to its folder.
 * Release the structure even after a failure. It must not be moved. */
enum linnet_status linnet_recognizer_file_read(struct linnet_recognizer_file *file, struct linnet_context *context,
                                               const char *text, size_t bytes, const char *name);
void linnet_recognizer_file_release(struct linnet_recognizer_file *file);

#endif
