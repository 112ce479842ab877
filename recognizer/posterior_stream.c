/* The pipeline: samples -> filterbank -> CMVN -> network -> greedy decoding. It uses front end, engine and decoder,
 * which do not depend on each other. A causal network runs along with the audio (live_network.c), any other as an
 * encoder on the whole utterance. */
#include <linnet/audio.h>
#include <linnet/stream.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/numbers.h"
#include "recognizer/ensemble.h"
#include "recognizer/input_rate.h"
#include "recognizer/live_network.h"
#include "recognizer/normalizer.h"
#include "recognizer/recognizer_parts.h"
#include "recognizer/silence.h"

struct linnet_stream {
  struct linnet_context *context;
  const struct linnet_model *model;
  struct linnet_fbank *fbank;
  struct linnet_encoder *encoder;     /* NULL for a causal network */
  struct linnet_live_network *live;   /* NULL for all others */
  struct linnet_companion *companion; /* beside the encoder; may be NULL */
  struct linnet_greedy *greedy;
  linnet_posterior_fn sink; /* may be NULL */
  void *sink_user;
  linnet_feature_fn listener; /* may be NULL */
  void *listener_user;
  uint64_t taken;                 /* number of frames that the encoder has taken */
  float *features;                /* (frames, num_mel), not yet recognised */
  size_t frames, capacity;        /* capacity in elements */
  uint64_t given, stored;         /* number of samples accepted, at their rate, and of frames accepted as features */
  struct linnet_input_rate *rate; /* of the samples; NULL: that of the model */
  bool at_model_rate;             /* the samples of this utterance, whatever `rate` is: those of an audio reader */
  struct {
    float peak;      /* magnitude of the largest sample */
    double sum;      /* of the magnitudes of samples that are not silence at full scale 1, */
    uint64_t heard;  /* and their number */
    bool fractional; /* some sample is no whole number */
    bool warned;     /* in this or an earlier utterance */
  } scale;
  struct linnet_normalizer normalizer;
  struct linnet_silence_lengths lengths;
  struct linnet_silence *silence; /* during a run of the encoder: the silences that it does not get, or NULL */
  bool finished;
  bool stopped;                /* a call failed or was cancelled, so audio may be missing */
  enum linnet_status decoding; /* the status and the sentence with which decode() stopped the network */
  char reason[LINNET_ERROR_BYTES];
};

static enum linnet_status decode_row(void *user, const float *log_posteriors, size_t index);

static enum linnet_status create_network(struct linnet_stream *s, struct linnet_recurrence_batch *batch) {
  return linnet_runs_along(s->model) ? linnet_live_network_create(s->context, s->model, batch, decode_row, s, &s->live)
                                     : linnet_encoder_create(s->context, s->model, &s->encoder);
}

enum linnet_status linnet_stream_create(struct linnet_context *context, const struct linnet_model *model,
                                        struct linnet_stream **stream) {
  if (stream)
    *stream = NULL;
  if (!context || !model || !stream)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_stream_create: an argument is NULL");
  return linnet_stream_create_in(context, model, NULL, stream);
}

enum linnet_status linnet_stream_create_in(struct linnet_context *context, const struct linnet_model *model,
                                           struct linnet_recurrence_batch *batch, struct linnet_stream **stream) {
  *stream = NULL;
  LINNET_TRY(linnet_check_speech_model(context, model));
  struct linnet_stream *s = *stream = linnet_calloc(context, 1, sizeof *s);
  if (!s)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a stream");
  s->context = context;
  s->model = model;
  linnet_normalizer_init(&s->normalizer, model);
  s->lengths = linnet_silence_lengths_of(&s->normalizer.config, NULL, NULL);
  enum linnet_status status = linnet_fbank_create(context, &s->normalizer.config.fbank, &s->fbank);
  if (status == LINNET_OK)
    status = create_network(s, batch);
  if (status == LINNET_OK)
    status = linnet_greedy_create(context, linnet_model_num_symbols(model), &s->greedy);
  if (status == LINNET_OK)
    status = linnet_stream_set_calibrations(s, linnet_model_calibrations(model));
  if (status != LINNET_OK) {
    linnet_stream_destroy(s);
    *stream = NULL;
  }
  return status;
}

static size_t num_mel(const struct linnet_stream *s) {
  return s->normalizer.config.fbank.num_mel;
}

static double model_rate(const struct linnet_stream *s) {
  return s->normalizer.config.fbank.sample_rate;
}

/* Clears the error of the context first, so that a sentence afterwards is the sink's, and restores it if there is none.
 */
static enum linnet_status call_sink(struct linnet_stream *s, const float *log_posteriors, size_t first, size_t frames) {
  char earlier[LINNET_ERROR_BYTES];
  if (!s->sink)
    return LINNET_OK;
  snprintf(earlier, sizeof earlier, "%s", linnet_context_error(s->context));
  linnet_fail(s->context, LINNET_OK, "%s", "");
  if (s->sink(s->sink_user, log_posteriors, first, frames) == 0) {
    if (!*linnet_context_error(s->context))
      linnet_fail(s->context, LINNET_OK, "%s", earlier);
    return LINNET_OK;
  }
  if (!*linnet_context_error(s->context))
    linnet_fail(s->context, LINNET_ERROR_CANCELLED, "the receiver of the posteriors asked to stop");
  return LINNET_ERROR_CANCELLED;
}

/* What a posterior function returns to the encoder, which learns only that it failed, not why. */
static int note_decoding(struct linnet_stream *s, enum linnet_status status) {
  s->decoding = status;
  if (status != LINNET_OK)
    snprintf(s->reason, sizeof s->reason, "%s", linnet_context_error(s->context));
  return status != LINNET_OK;
}

static int decode(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct linnet_stream *s = user;
  enum linnet_status status = linnet_greedy_accept(s->greedy, log_posteriors, frames);
  if (status == LINNET_OK)
    status = call_sink(s, log_posteriors, first, frames);
  return note_decoding(s, status);
}

/* Returns the status of the decoding and restores its sentence, which the encoder has replaced by its own. */
static enum linnet_status decoding_status(struct linnet_stream *s) {
  return s->decoding == LINNET_OK ? LINNET_OK : linnet_fail(s->context, s->decoding, "%s", s->reason);
}

/* Decodes a row of a live network. */
static enum linnet_status decode_row(void *user, const float *log_posteriors, size_t index) {
  decode(user, log_posteriors, index, 1);
  return decoding_status(user);
}

static enum linnet_status call_listener(struct linnet_stream *s) {
  return s->listener ? s->listener(s->listener_user, s->features, s->frames) : LINNET_OK;
}

/* Makes the new frames the input of the live network, and stores none of them. */
static enum linnet_status pass_frames(struct linnet_stream *s, struct linnet_live_input *input) {
  LINNET_TRY(call_listener(s));
  linnet_normalizer_apply(&s->normalizer, s->features, s->frames);
  input->features = s->features;
  input->frames = s->frames;
  s->frames = 0;
  return LINNET_OK;
}

static enum linnet_status run_along(struct linnet_stream *s) {
  struct linnet_live_input input = {.network = s->live};
  struct linnet_recurrence_input block;
  struct linnet_live_failure failure = {.input = SIZE_MAX};
  LINNET_TRY(pass_frames(s, &input));
  linnet_live_networks_run(&input, &block, 1, &failure);
  return input.status;
}

/* Reserves memory for more frames. */
static enum linnet_status reserve(struct linnet_stream *s, size_t frames) {
  size_t elements = (s->frames + frames) * num_mel(s);
  float *grown = linnet_grow(s->context, s->features, &s->capacity, elements, sizeof *grown);
  if (!grown)
    return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory after %.0f s of audio",
                       linnet_stream_seconds(s));
  s->features = grown;
  return LINNET_OK;
}

/* --- the scale of samples ----------------------------------------------------------------------------------------- */

static const float silent_level = 1.0F / 1024; /* full scale is 1 */
static const double judged_seconds = 2;        /* of samples above it */
static const double speech_crest = 8; /* noise of one level has less than 7, speech nearly always more than 8 */

static double input_rate(const struct linnet_stream *s) {
  return s->rate && !s->at_model_rate ? linnet_input_rate_from(s->rate) : model_rate(s);
}

/* Many programs have samples of full scale 1, which are silence on the int16 scale. Whole numbers up to 1 are the noise
 * of a converter. */
static void judge_scale(struct linnet_stream *s) {
  if (s->scale.warned || !(s->scale.peak > 0 && s->scale.peak <= 1 && s->scale.fractional))
    return;
  linnet_log(s->context, LINNET_LOG_WARNING,
             "all samples so far are between -1 and 1, but full scale is 32768: multiply them by 32768");
  s->scale.warned = true;
}

/* Judges as soon as there is speech of full scale 1. What is quiet on the int16 scale may be noise before speech; it
 * stays at one level. */
static void note_scale(struct linnet_stream *s, const float *samples, size_t n) {
  for (size_t i = 0; i < n && s->scale.peak <= 1; i++) {
    const float magnitude = fabsf(samples[i]);
    s->scale.peak = fmaxf(s->scale.peak, magnitude);
    s->scale.fractional = s->scale.fractional || samples[i] != truncf(samples[i]);
    s->scale.sum += magnitude > silent_level ? (double)magnitude : 0;
    s->scale.heard += magnitude > silent_level;
  }
  if ((double)s->scale.heard >= judged_seconds * input_rate(s) &&
      (double)s->scale.peak * (double)s->scale.heard >= speech_crest * s->scale.sum)
    judge_scale(s);
}

static enum linnet_status add_features(struct linnet_stream *s, const float *samples, size_t n) {
  size_t mel = num_mel(s), pending = linnet_fbank_num_pending(s->fbank, n), got = 0;
  LINNET_TRY(reserve(s, pending));
  LINNET_TRY(linnet_fbank_accept(s->fbank, samples, n, s->features + s->frames * mel, pending, &got));
  s->frames += got;
  return LINNET_OK;
}

static enum linnet_status accept_chunk(struct linnet_stream *s, const float *samples, size_t n) {
  LINNET_TRY(add_features(s, samples, n));
  return s->live ? run_along(s) : LINNET_OK;
}

/* `mixed`: the utterance already has the other kind of input. */
static enum linnet_status check_open(const struct linnet_stream *s, bool mixed) {
  if (s->stopped)
    return linnet_fail_stopped(s->context);
  if (s->finished)
    return linnet_fail(s->context, LINNET_ERROR_STATE, "the utterance has ended: reset the stream first");
  if (mixed)
    return linnet_fail(s->context, LINNET_ERROR_STATE, "an utterance consists of samples or of features, not of both");
  return LINNET_OK;
}

/* One NaN or infinity would spread to all features of the utterance, by its mean. */
static enum linnet_status check_values(const struct linnet_stream *s, const char *what, const float *values, size_t n) {
  const float limit = 1e13f; /* linnet_audio_read refuses samples above 1e12; resampling adds a little */
  for (size_t i = 0; i < n; i++)
    if (!(fabsf(values[i]) <= limit))
      return linnet_fail(s->context, LINNET_ERROR_ARGUMENT, "%s %zu of %zu is %g: not audio", what, i, n,
                         (double)values[i]);
  return LINNET_OK;
}

enum linnet_status linnet_stream_check(const struct linnet_stream *s, const float *samples, size_t n) {
  LINNET_TRY(check_open(s, s->stored > 0));
  return check_values(s, "sample", samples, n);
}

static enum linnet_status accept_all(struct linnet_stream *s, const float *samples, size_t n) {
  for (size_t done = 0; done < n; done += LINNET_STREAM_CHUNK)
    LINNET_TRY(accept_chunk(s, samples + done, linnet_min_size(n - done, LINNET_STREAM_CHUNK)));
  return LINNET_OK;
}

/* A sink may leave the call by an exception of C++ or longjmp: then audio is missing, too. */
static void begin_call(struct linnet_stream *s) {
  s->stopped = true;
}

static enum linnet_status end_call(struct linnet_stream *s, enum linnet_status status) {
  s->stopped = status != LINNET_OK;
  return status;
}

enum linnet_status linnet_stream_set_sample_rate(struct linnet_stream *s, double rate) {
  struct linnet_input_rate *other = NULL;
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  if (!(rate >= LINNET_AUDIO_MIN_RATE && rate <= LINNET_AUDIO_MAX_RATE))
    return linnet_fail(s->context, LINNET_ERROR_ARGUMENT, "%g samples a second: must be %g to %g", rate,
                       LINNET_AUDIO_MIN_RATE, LINNET_AUDIO_MAX_RATE);
  if (s->given > 0)
    return linnet_fail(s->context, LINNET_ERROR_STATE, "the utterance already has samples: reset the stream first");
  if (rate != model_rate(s))
    LINNET_TRY(linnet_input_rate_create(s->context, rate, model_rate(s), &other));
  linnet_input_rate_destroy(s->rate);
  s->rate = other;
  return LINNET_OK;
}

void linnet_stream_expect_model_rate(struct linnet_stream *s) {
  s->at_model_rate = true;
}

bool linnet_stream_is_empty(const struct linnet_stream *s) {
  return s->given == 0 && s->stored == 0 && !s->finished && !s->stopped;
}

enum linnet_status linnet_stream_convert(struct linnet_stream *s, const float *samples, size_t n,
                                         const float **converted, size_t *count) {
  *converted = samples;
  *count = n;
  s->given += n;
  if (!s->at_model_rate)
    note_scale(s, samples, n);
  if (!s->rate || s->at_model_rate || n == 0)
    return LINNET_OK;
  return end_call(s, linnet_input_rate_convert(s->rate, samples, n, converted, count));
}

/* The samples that the resampler has kept. */
static enum linnet_status accept_rest(struct linnet_stream *s) {
  const float *rest;
  size_t count;
  if (!s->rate || s->at_model_rate || s->given == 0)
    return LINNET_OK;
  LINNET_TRY(linnet_input_rate_convert(s->rate, NULL, 0, &rest, &count));
  return accept_all(s, rest, count);
}

enum linnet_status linnet_stream_accept(struct linnet_stream *s, const float *samples, size_t n) {
  if (!s || (!samples && n > 0))
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT, "linnet_stream_accept: an argument is NULL");
  LINNET_TRY(linnet_stream_check(s, samples, n));
  LINNET_TRY(linnet_stream_convert(s, samples, n, &samples, &n));
  begin_call(s);
  return end_call(s, accept_all(s, samples, n));
}

enum linnet_status linnet_stream_take(struct linnet_stream *s, const float *samples, size_t n,
                                      struct linnet_live_input *input) {
  *input = (struct linnet_live_input){.network = s->live};
  if (n == 0)
    return LINNET_OK;
  LINNET_TRY(add_features(s, samples, n));
  return pass_frames(s, input);
}

enum linnet_status linnet_stream_accept_features(struct linnet_stream *s, const float *features, size_t frames,
                                                 size_t dim) {
  if (!s || (!features && frames > 0))
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_stream_accept_features: an argument is NULL");
  LINNET_TRY(check_open(s, s->given > 0));
  if (frames == 0)
    return LINNET_OK;
  if (dim != num_mel(s))
    return linnet_fail(s->context, LINNET_ERROR_ARGUMENT, "the features have %zu values, but the model expects %zu",
                       dim, num_mel(s));
  LINNET_TRY(check_values(s, "feature", features, frames * dim));
  LINNET_TRY(reserve(s, frames));
  memcpy(s->features + s->frames * dim, features, frames * dim * sizeof *features);
  s->frames += frames;
  s->stored += frames;
  begin_call(s);
  return end_call(s, s->live ? run_along(s) : LINNET_OK);
}

static enum linnet_status check_speaker(const struct linnet_stream *s, const struct linnet_cmvn *cmvn) {
  if (cmvn->dim != num_mel(s) || !(cmvn->count > 0 && cmvn->count < INFINITY))
    return linnet_fail(s->context, LINNET_ERROR_ARGUMENT, "the CMVN statistics have %zu dimensions and %g frames",
                       cmvn->dim, cmvn->count);
  for (size_t i = 0; i < cmvn->dim; i++)
    if (!isfinite(cmvn->sum[i]) || !(cmvn->square[i] >= 0 && cmvn->square[i] < INFINITY))
      return linnet_fail(s->context, LINNET_ERROR_ARGUMENT,
                         "the CMVN statistics of dimension %zu are a sum of %g and a sum of squares of %g", i,
                         cmvn->sum[i], cmvn->square[i]);
  return LINNET_OK;
}

enum linnet_status linnet_stream_set_speaker(struct linnet_stream *s, const struct linnet_cmvn *cmvn) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  if (cmvn)
    LINNET_TRY(check_speaker(s, cmvn));
  s->normalizer.speaker = cmvn ? *cmvn : (struct linnet_cmvn){.count = 0};
  if (s->companion)
    linnet_companion_set_speaker(s->companion, cmvn);
  return LINNET_OK;
}

enum linnet_status linnet_stream_set_calibrations(struct linnet_stream *s,
                                                  const struct linnet_calibrations *calibrations) {
  return s ? linnet_greedy_set_calibrations(s->greedy, calibrations) : LINNET_ERROR_ARGUMENT;
}

enum linnet_status linnet_stream_set_silence(struct linnet_stream *s, const double *max_silence,
                                             const double *edge_silence) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(linnet_silence_lengths_check(s->context, "linnet_stream_set_silence", max_silence, edge_silence));
  s->lengths = linnet_silence_lengths_of(&s->normalizer.config, max_silence, edge_silence);
  return LINNET_OK;
}

void linnet_stream_set_sink(struct linnet_stream *s, linnet_posterior_fn sink, void *user) {
  s->sink = sink;
  s->sink_user = user;
}

void linnet_stream_set_listener(struct linnet_stream *s, linnet_feature_fn listener, void *user) {
  s->listener = listener;
  s->listener_user = user;
}

uint64_t linnet_stream_num_taken(const struct linnet_stream *s) {
  return s->live ? linnet_live_network_num_taken(s->live) : s->taken;
}

enum linnet_status linnet_stream_allow_restarts(struct linnet_stream *s) {
  return s->live ? linnet_live_network_allow_restarts(s->live) : LINNET_OK;
}

void linnet_stream_restart_network(struct linnet_stream *s) {
  if (s->live)
    linnet_live_network_restart(s->live);
}

enum linnet_status linnet_stream_set_ensemble(struct linnet_stream *s, const struct linnet_ensemble *ensemble) {
  return linnet_companion_create(s->context, ensemble, &s->companion);
}

static int decode_selected(struct linnet_stream *s, const float *log_posteriors, size_t frames) {
  int stop = linnet_silence_restore(s->silence, log_posteriors, frames, linnet_model_num_symbols(s->model), decode, s);
  if (stop != 0 && s->decoding == LINNET_OK)
    return note_decoding(s, linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for blanks"));
  return stop;
}

/* A posterior function for the encoder: rows of the frames that remain without long silences, from row `first` on. */
static int receive(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct linnet_stream *s = user;
  if (s->companion)
    log_posteriors = linnet_companion_average(s->companion, log_posteriors, first, frames);
  if (!log_posteriors)
    return note_decoding(s, LINNET_ERROR_MEMORY);
  return s->silence ? decode_selected(s, log_posteriors, frames) : decode(s, log_posteriors, first, frames);
}

static size_t frames_of(const struct linnet_stream *s, double seconds) {
  return (size_t)llround(seconds * 1000 / s->normalizer.config.fbank.frame_shift);
}

static enum linnet_status run_networks(struct linnet_stream *s) {
  if (s->companion)
    LINNET_TRY(linnet_companion_run(s->companion, s->features, s->frames, s->silence));
  s->taken = s->frames;
  const size_t left = s->silence ? linnet_silence_remove(s->silence, s->features, s->frames, num_mel(s)) : s->frames;
  linnet_normalizer_apply(&s->normalizer, s->features, left);
  LINNET_TRY(linnet_encoder_run(s->encoder, s->features, left, receive, s));
  if (s->silence)
    decode_selected(s, NULL, 0);
  return LINNET_OK;
}

/* Silence must be found before normalisation. */
static enum linnet_status run_encoder(struct linnet_stream *s) {
  LINNET_TRY(call_listener(s));
  const struct linnet_silence_rule rule = {.keep = frames_of(s, s->lengths.max_silence),
                                           .edges = s->lengths.edge_silence > 0,
                                           .edge = frames_of(s, s->lengths.edge_silence),
                                           .stride = linnet_model_stride(s->model)};
  if (rule.keep > 0 || rule.edges)
    LINNET_TRY(linnet_silence_find(s->context, s->features, s->frames, num_mel(s), rule, &s->silence));
  enum linnet_status status = run_networks(s);
  linnet_silence_destroy(s->silence);
  s->silence = NULL;
  return status;
}

static enum linnet_status finish(struct linnet_stream *s) {
  LINNET_TRY(accept_rest(s));
  if (s->live)
    return linnet_live_network_finish(s->live);
  if (s->frames == 0)
    return LINNET_OK;
  s->decoding = LINNET_OK;
  enum linnet_status status = run_encoder(s);
  return s->decoding == LINNET_OK ? status : decoding_status(s);
}

enum linnet_status linnet_stream_finish(struct linnet_stream *s) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(check_open(s, false));
  s->finished = true;
  if (linnet_stream_seconds(s) >= 1)
    judge_scale(s);
  begin_call(s);
  return end_call(s, finish(s));
}

const struct linnet_segment *linnet_stream_segments(const struct linnet_stream *s, size_t *count) {
  return linnet_greedy_segments(s->greedy, count);
}

enum linnet_status linnet_stream_drop_segments(struct linnet_stream *s, size_t count) {
  return s ? linnet_greedy_drop(s->greedy, count) : LINNET_ERROR_ARGUMENT;
}

double linnet_stream_frame_seconds(const struct linnet_stream *s) {
  return linnet_model_frame_seconds(s->model);
}

double linnet_stream_seconds(const struct linnet_stream *s) {
  double frame = linnet_model_frame_seconds(s->model) / (double)linnet_model_stride(s->model);
  return (double)s->given / input_rate(s) + (double)s->stored * frame;
}

void linnet_stream_reset(struct linnet_stream *s) {
  linnet_fbank_reset(s->fbank);
  linnet_greedy_reset(s->greedy);
  if (s->live)
    linnet_live_network_reset(s->live);
  s->taken = 0;
  linnet_normalizer_reset(&s->normalizer);
  s->frames = 0;
  s->given = s->stored = 0;
  if (s->rate)
    linnet_input_rate_reset(s->rate);
  s->scale.peak = 0;
  s->scale.sum = 0;
  s->scale.heard = 0;
  s->scale.fractional = false;
  s->at_model_rate = s->finished = s->stopped = false;
}

void linnet_stream_destroy(struct linnet_stream *s) {
  if (!s)
    return;
  linnet_greedy_destroy(s->greedy);
  linnet_encoder_destroy(s->encoder);
  linnet_companion_destroy(s->companion);
  linnet_live_network_destroy(s->live);
  linnet_fbank_destroy(s->fbank);
  linnet_input_rate_destroy(s->rate);
  linnet_free(s->context, s->features);
  linnet_free(s->context, s);
}
