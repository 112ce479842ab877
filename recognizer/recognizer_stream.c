/* A stream on a recognizer: passes the posteriors of the audio to a search as soon as they are computed, and new
 * results to a hook. */
#include <math.h>

#include "base/numbers.h"
#include "base/settings.h"
#include "decoder/search_parts.h"
#include "recognizer/recognizer_parts.h"
#include "recognizer/second_pass.h"

enum { READ_SAMPLES = 1 << 16 };

struct linnet_recognizer_stream {
  struct linnet_context *context;
  const struct linnet_recognizer *recognizer;
  struct linnet_stream *audio;
  struct linnet_search_stream *search;
  linnet_posterior_fn sink; /* may be NULL */
  void *sink_user;
  linnet_result_fn hook; /* may be NULL */
  void *hook_user;
  enum linnet_status searching; /* the status with which the search stopped the network */
  bool has_new_frames;          /* since the last report */
  bool has_final;               /* the segment had its final result */
  bool finished, listed;
  bool stopped; /* a call failed or was cancelled, so audio may be missing */
  bool running; /* a call that calls the program's functions; if it is set at the next call, they left that one by an
                   exception of C++ or longjmp, and audio may be missing */
  bool whole;   /* the utterance is a file: endpoint rules do not count until the reset */
  const struct linnet_recurrence_batch *batch; /* of the network, with others; NULL: it runs alone */
  struct linnet_endpoint *endpoint;            /* NULL: the recognizer has no rules */
  struct linnet_second_pass *second;           /* NULL: the first pass is the only one */
  bool skips_second;                           /* segments end without it */
  uint64_t partial_rows;                       /* rows between partial results; 0: they come after each call */
  uint64_t row;                                /* number of rows of posteriors since the reset */
  uint64_t network_row;                        /* the first row since the network started */
  size_t unsearched;                           /* number of rows before the first one that is searched */
  size_t segment;                              /* number of earlier segments with a final result */
  const char **shown;                          /* the texts of the best alternative that the hook saw last */
  size_t num_shown, shown_capacity;
  struct linnet_result result;
};

/* The endpoint rules that count; NULL: the utterance is one segment. */
static struct linnet_endpoint *endpoint_of(const struct linnet_recognizer_stream *s) {
  return s->whole ? NULL : s->endpoint;
}

/* --- the hook --------------------------------------------------------------------------------------------------- */

/* Whether results come at certain rows, so that they cover the audio up to that row, and not all that a call took. */
static bool is_by_row(const struct linnet_recognizer_stream *s) {
  return endpoint_of(s) || s->partial_rows > 0;
}

/* Equal texts of the best alternative have equal pointers, because each text is stored once. */
static bool is_shown(const struct linnet_recognizer_stream *s, const struct linnet_span *spans, size_t count) {
  if (count != s->num_shown)
    return false;
  for (size_t i = count; i-- > 0;)
    if (spans[i].text != s->shown[i])
      return false;
  return true;
}

static enum linnet_status remember(struct linnet_recognizer_stream *s, const struct linnet_span *spans, size_t count) {
  const char **grown = linnet_grow(s->context, s->shown, &s->shown_capacity, count, sizeof *grown);
  if (!grown)
    return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for a result of %zu words", count);
  s->shown = grown;
  s->num_shown = count;
  for (size_t i = 0; i < count; i++)
    grown[i] = spans[i].text;
  return LINNET_OK;
}

/* Whether the hook gets the result, which has `count` words. */
static bool is_news(const struct linnet_recognizer_stream *s, const struct linnet_result *result,
                    const struct linnet_span *spans, size_t count) {
  if (!result->is_final)
    return !is_shown(s, spans, count);
  return s->finished || count > 0 || s->num_shown > 0;
}

static enum linnet_status result_of(struct linnet_recognizer_stream *s, const struct linnet_result **result);

/* Gives the hook, if there is one, the result if it is new. */
static enum linnet_status report(struct linnet_recognizer_stream *s) {
  const struct linnet_result *result;
  if (!s->has_new_frames)
    return LINNET_OK;
  LINNET_TRY(result_of(s, &result));
  const struct linnet_alternative *best = result->alternatives;
  const struct linnet_span *spans = best->words ? best->words : best->phones;
  const size_t count = best->words ? best->num_words : best->num_phones;
  s->has_new_frames = false;
  if (!is_news(s, result, spans, count))
    return LINNET_OK;
  s->has_final = result->is_final;
  LINNET_TRY(remember(s, spans, count));
  if (s->hook && s->hook(s->hook_user, result) != 0)
    return linnet_fail(s->context, LINNET_ERROR_CANCELLED, "the receiver of the results asked to stop");
  return LINNET_OK;
}

static enum linnet_status report_partial(struct linnet_recognizer_stream *s) {
  return s->hook ? report(s) : LINNET_OK;
}

/* --- segments --------------------------------------------------------------------------------------------------- */

struct word_end {
  struct linnet_search_stream *search;
  enum linnet_status status;
};

/* A linnet_word_end_fn. */
static bool ends_word(void *user) {
  struct word_end *end = user;
  bool ends;
  end->status = linnet_search_stream_ends_word(end->search, &ends);
  return ends;
}

/* Whether the network restarts at an endpoint after the last row; one that needs whole utterances does not. */
static bool restarts(const struct linnet_recognizer_stream *s) {
  const struct linnet_endpoint_settings *settings = &s->recognizer->endpoints.settings;
  const double seconds = (double)(s->row - s->network_row) * linnet_stream_frame_seconds(s->audio);
  return settings->restart && linnet_recognizer_is_incremental(s->recognizer) && seconds >= settings->restart_seconds;
}

/* Ends the search and, if it has found something, runs the second pass up to row `end`. */
static enum linnet_status finish_search(struct linnet_recognizer_stream *s, uint64_t end) {
  const struct linnet_result *found;
  LINNET_TRY(linnet_search_stream_finish(s->search));
  if (!s->second || s->skips_second)
    return LINNET_OK;
  LINNET_TRY(linnet_recognizer_stream_result_by_row(s, &found));
  return found->alternatives[0].num_phones > 0 ? linnet_second_pass_run(s->second, end) : LINNET_OK;
}

/* Ends the segment with the last row, and begins one with the next row. */
static enum linnet_status end_segment(struct linnet_recognizer_stream *s) {
  LINNET_TRY(finish_search(s, s->row));
  LINNET_TRY(report(s));
  linnet_search_stream_reset_at(s->search, s->row);
  s->num_shown = 0;
  s->segment += s->has_final;
  s->has_new_frames = s->has_final = false;
  if (restarts(s)) {
    linnet_stream_restart_network(s->audio);
    s->network_row = s->row;
  }
  if (s->second)
    linnet_second_pass_begin(s->second, s->row, s->network_row);
  return LINNET_OK;
}

/* Whether the segment has words or phones, or the hook saw some that are gone. */
static enum linnet_status has_speech(struct linnet_recognizer_stream *s, bool *speech) {
  const struct linnet_result *found;
  LINNET_TRY(linnet_recognizer_stream_result_by_row(s, &found));
  *speech = s->num_shown > 0 || found->alternatives[0].num_phones > 0;
  return LINNET_OK;
}

/* Between two calls: what an endpoint after the last row would do. */
static enum linnet_status end_spoken_segment(struct linnet_recognizer_stream *s) {
  struct linnet_endpoint *endpoint = endpoint_of(s);
  bool speech;
  LINNET_TRY(has_speech(s, &speech));
  if (!speech)
    return LINNET_OK;
  if (endpoint)
    linnet_endpoint_start_segment(endpoint);
  s->has_new_frames = true;
  return end_segment(s);
}

/* --- posteriors ------------------------------------------------------------------------------------------------- */

static enum linnet_status search(struct linnet_recognizer_stream *s, const float *log_posteriors, size_t frames) {
  s->has_new_frames = true;
  s->row += frames;
  return linnet_search_stream_accept(s->search, log_posteriors, frames);
}

/* What happens after a row depends on the rows alone, not on how many came at once. */
static enum linnet_status search_row(struct linnet_recognizer_stream *s, const float *log_posteriors) {
  struct linnet_endpoint *endpoint = endpoint_of(s);
  struct word_end end = {s->search, LINNET_OK};
  LINNET_TRY(search(s, log_posteriors, 1));
  const bool ended =
      endpoint && linnet_endpoint_step(endpoint, log_posteriors, linnet_stream_num_taken(s->audio), ends_word, &end);
  LINNET_TRY(end.status);
  if (ended)
    return end_segment(s);
  return s->partial_rows > 0 && s->row % s->partial_rows == 0 ? report_partial(s) : LINNET_OK;
}

static enum linnet_status search_rows(struct linnet_recognizer_stream *s, const float *log_posteriors, size_t rows) {
  const size_t symbols = linnet_model_num_symbols(s->recognizer->model);
  if (!is_by_row(s))
    return search(s, log_posteriors, rows);
  for (size_t t = 0; t < rows; t++)
    LINNET_TRY(search_row(s, log_posteriors + t * symbols));
  return LINNET_OK;
}

/* A posterior function for the stream of audio, which fails with LINNET_ERROR_CANCELLED for every failure of this
 * function. */
static int search_frames(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct linnet_recognizer_stream *s = user;
  const size_t skipped = linnet_min_size(s->unsearched, frames);
  s->unsearched -= skipped;
  s->searching =
      search_rows(s, log_posteriors + skipped * linnet_model_num_symbols(s->recognizer->model), frames - skipped);
  if (s->searching != LINNET_OK)
    return 1;
  return s->sink ? s->sink(s->sink_user, log_posteriors, first, frames) : 0;
}

static enum linnet_status accept_features(void *user, const float *features, size_t frames) {
  const struct linnet_recognizer_stream *s = user;
  struct linnet_endpoint *endpoint = endpoint_of(s);
  if (s->second)
    LINNET_TRY(linnet_second_pass_accept(s->second, features, frames));
  return endpoint ? linnet_endpoint_accept_features(endpoint, features, frames) : LINNET_OK;
}

/* Returns the status of the search if the search stopped the call. Also drops the segments of greedy decoding, which
 * are not needed here. */
static enum linnet_status after_audio(struct linnet_recognizer_stream *s, enum linnet_status status) {
  size_t count;
  const enum linnet_status searching = s->searching;
  s->searching = LINNET_OK;
  if (searching != LINNET_OK)
    return searching;
  if (status != LINNET_OK)
    return status;
  linnet_stream_segments(s->audio, &count);
  return count > 1 ? linnet_stream_drop_segments(s->audio, count - 1) : LINNET_OK;
}

/* Ends a call: notes whether it, which ends with `status`, has lost audio; calls that are refused have not. */
static enum linnet_status note(struct linnet_recognizer_stream *s, enum linnet_status status) {
  s->running = false;
  if (status != LINNET_OK && status != LINNET_ERROR_ARGUMENT && status != LINNET_ERROR_STATE)
    s->stopped = true;
  return status;
}

static enum linnet_status check_usable(const struct linnet_recognizer_stream *s) {
  if (s->running)
    return linnet_fail(
        s->context, LINNET_ERROR_STATE,
        "the stream is in a call, and its hook or sink must not call functions of the stream; if an exception or "
        "longjmp has left that call, reset the stream first");
  return s->stopped ? linnet_fail_stopped(s->context) : LINNET_OK;
}

/* Begins a call that ends with note(). */
static enum linnet_status begin(struct linnet_recognizer_stream *s) {
  LINNET_TRY(check_usable(s));
  s->running = true;
  return LINNET_OK;
}

enum linnet_status linnet_recognizer_stream_begin_call(struct linnet_recognizer_stream *s, const float *samples,
                                                       size_t n, const float **converted, size_t *count) {
  s->stopped = s->stopped || s->running; /* linnet_recognizer_stream_end_call clears `running` */
  LINNET_TRY(check_usable(s));
  LINNET_TRY(linnet_stream_check(s->audio, samples, n));
  const enum linnet_status status = note(s, linnet_stream_convert(s->audio, samples, n, converted, count));
  s->running = status == LINNET_OK;
  return status;
}

enum linnet_status linnet_recognizer_stream_end_call(struct linnet_recognizer_stream *s, enum linnet_status status) {
  status = after_audio(s, status);
  if (status == LINNET_OK && s->partial_rows == 0)
    status = report_partial(s);
  return note(s, status);
}

/* --- what the caller receives ----------------------------------------------------------------------------------- */

enum linnet_status linnet_recognizer_stream_set_hook(struct linnet_recognizer_stream *s, linnet_result_fn hook,
                                                     void *user) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  s->hook = hook;
  s->hook_user = user;
  return LINNET_OK;
}

enum linnet_status linnet_recognizer_stream_set_sink(struct linnet_recognizer_stream *s, linnet_posterior_fn sink,
                                                     void *user) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  s->sink = sink;
  s->sink_user = user;
  return LINNET_OK;
}

/* --- audio ------------------------------------------------------------------------------------------------------ */

enum linnet_status linnet_recognizer_stream_set_speaker(struct linnet_recognizer_stream *s,
                                                        const struct linnet_cmvn *cmvn) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(linnet_stream_set_speaker(s->audio, cmvn));
  return s->second ? linnet_second_pass_set_speaker(s->second, cmvn) : LINNET_OK;
}

enum linnet_status linnet_recognizer_stream_set_second_pass(struct linnet_recognizer_stream *s, int on) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  s->skips_second = !on;
  return LINNET_OK;
}

static enum linnet_status read_hotwords(struct linnet_recognizer_stream *s, const struct linnet_source *source,
                                        struct linnet_stream_hotwords **first, struct linnet_stream_hotwords **second) {
  struct linnet_source shared = source ? *source : (struct linnet_source){.path = NULL};
  void *data = NULL;
  enum linnet_status status = s->second ? linnet_source_share(s->context, "hotwords", &shared, &data) : LINNET_OK;
  if (status == LINNET_OK)
    status = linnet_search_stream_read_hotwords(s->search, &shared, first);
  if (status == LINNET_OK && s->second)
    status = linnet_second_pass_read_hotwords(s->second, &shared, second);
  linnet_free(s->context, data);
  return status;
}

/* Both lists are read before either pass takes its own. */
enum linnet_status linnet_recognizer_stream_set_hotwords(struct linnet_recognizer_stream *s,
                                                         const struct linnet_source *source) {
  struct linnet_stream_hotwords *first = NULL, *second = NULL;
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  const enum linnet_status status = read_hotwords(s, source, &first, &second);
  if (status != LINNET_OK) {
    linnet_stream_hotwords_destroy(first);
    return status;
  }
  const bool at_once = linnet_stream_is_empty(s->audio);
  linnet_search_stream_take_hotwords(s->search, first, at_once);
  if (s->second)
    linnet_second_pass_take_hotwords(s->second, second, at_once);
  return LINNET_OK;
}

struct linnet_search_stream *linnet_recognizer_stream_first_search(struct linnet_recognizer_stream *s) {
  return s->search;
}

enum linnet_status linnet_recognizer_stream_set_sample_rate(struct linnet_recognizer_stream *s, double rate) {
  return s ? linnet_stream_set_sample_rate(s->audio, rate) : LINNET_ERROR_ARGUMENT;
}

enum linnet_status linnet_recognizer_stream_accept(struct linnet_recognizer_stream *s, const float *samples, size_t n) {
  if (!s || (!samples && n > 0))
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recognizer_stream_accept: an argument is NULL");
  LINNET_TRY(begin(s));
  return linnet_recognizer_stream_end_call(s, linnet_stream_accept(s->audio, samples, n));
}

enum linnet_status linnet_recognizer_stream_accept_features(struct linnet_recognizer_stream *s, const float *features,
                                                            size_t frames, size_t dim) {
  if (!s || (!features && frames > 0))
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recognizer_stream_accept_features: an argument is NULL");
  LINNET_TRY(begin(s));
  return linnet_recognizer_stream_end_call(s, linnet_stream_accept_features(s->audio, features, frames, dim));
}

static enum linnet_status finish(struct linnet_recognizer_stream *s) {
  LINNET_TRY(after_audio(s, linnet_stream_finish(s->audio)));
  LINNET_TRY(finish_search(s, UINT64_MAX));
  s->has_new_frames = s->finished = true;
  return report(s);
}

enum linnet_status linnet_recognizer_stream_finish(struct linnet_recognizer_stream *s) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(begin(s));
  return note(s, finish(s));
}

enum linnet_status linnet_recognizer_stream_end_segment(struct linnet_recognizer_stream *s) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  if (!linnet_recognizer_is_incremental(s->recognizer))
    return linnet_fail(s->context, LINNET_ERROR_UNSUPPORTED,
                       "a segment cannot end before the utterance, because the model needs the whole of it: call "
                       "linnet_recognizer_stream_finish");
  LINNET_TRY(check_usable(s));
  if (s->finished)
    return linnet_fail(s->context, LINNET_ERROR_STATE, "the utterance has ended: reset the stream first");
  s->running = true;
  return note(s, end_spoken_segment(s));
}

static double rate_of(const struct linnet_recognizer *recognizer) {
  struct linnet_feature_config features;
  linnet_model_features(recognizer->model, &features);
  return features.fbank.sample_rate;
}

enum linnet_status linnet_recognizer_check_rate(struct linnet_context *context,
                                                const struct linnet_recognizer *recognizer,
                                                const struct linnet_audio *audio) {
  if (linnet_audio_sample_rate(audio) == rate_of(recognizer))
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                     "the audio has %g samples a second, but the model expects %g: set sample_rate when you open it",
                     linnet_audio_sample_rate(audio), rate_of(recognizer));
}

enum linnet_status linnet_feed_audio(struct linnet_context *context, struct linnet_audio *audio,
                                     linnet_accept_samples_fn accept, void *user) {
  float *samples = linnet_alloc(context, READ_SAMPLES, sizeof *samples);
  enum linnet_status reading = LINNET_OK, accepting = LINNET_OK;
  if (!samples)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %d samples", (int)READ_SAMPLES);
  while (reading == LINNET_OK && accepting == LINNET_OK) {
    size_t count = 0;
    reading = linnet_audio_read(audio, samples, READ_SAMPLES, &count);
    if (reading == LINNET_OK || reading == LINNET_END)
      accepting = accept(user, samples, count);
  }
  linnet_free(context, samples);
  return accepting == LINNET_OK && reading != LINNET_END ? reading : accepting;
}

static enum linnet_status accept_samples(void *user, const float *samples, size_t n) {
  return linnet_recognizer_stream_accept(user, samples, n);
}

/* The audio from where it is to its end, as one segment. */
static enum linnet_status run(struct linnet_recognizer_stream *s, struct linnet_audio *audio,
                              const struct linnet_result **result) {
  s->whole = true;
  linnet_stream_expect_model_rate(s->audio);
  LINNET_TRY(note(s, linnet_feed_audio(s->context, audio, accept_samples, s)));
  LINNET_TRY(linnet_recognizer_stream_finish(s));
  return linnet_recognizer_stream_result(s, result);
}

enum linnet_status linnet_recognizer_stream_run(struct linnet_recognizer_stream *s, struct linnet_audio *audio,
                                                const struct linnet_result **result) {
  if (result)
    *result = NULL;
  if (!s || !audio || !result)
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recognizer_stream_run: an argument is NULL");
  linnet_recognizer_stream_reset(s);
  LINNET_TRY(linnet_recognizer_check_rate(s->context, s->recognizer, audio));
  return run(s, audio, result);
}

enum linnet_status linnet_recognizer_stream_run_file(struct linnet_recognizer_stream *s, const char *path,
                                                     const struct linnet_audio_settings *given,
                                                     const struct linnet_result **result) {
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  if (result)
    *result = NULL;
  if (!s || !path || !result)
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recognizer_stream_run_file: an argument is NULL");
  linnet_recognizer_stream_reset(s);
  LINNET_TRY(LINNET_READ_SETTINGS(s->context, audio, given, &settings));
  settings.sample_rate = rate_of(s->recognizer);
  LINNET_TRY(linnet_audio_open(s->context, path, &settings, &audio));
  enum linnet_status status = run(s, audio, result);
  linnet_audio_destroy(audio);
  return status;
}

/* --- results ---------------------------------------------------------------------------------------------------- */

void linnet_recognizer_stream_clip(struct linnet_recognizer_stream *s, double seconds) {
  linnet_search_stream_clip(s->search, seconds);
  if (s->second)
    linnet_second_pass_clip(s->second, seconds);
}

/* The last row may reach beyond the audio, and a segment may begin after it. A segment ends with its last row. */
static void end_with_audio(struct linnet_recognizer_stream *s) {
  const double seconds = linnet_stream_seconds(s->audio);
  const bool by_row = !s->finished && (is_by_row(s) || s->result.is_final);
  s->result.seconds = by_row ? fmin(s->result.seconds, seconds) : seconds;
  s->result.start = fmin(s->result.start, s->result.seconds);
  linnet_recognizer_stream_clip(s, s->result.seconds);
}

static enum linnet_status result_of(struct linnet_recognizer_stream *s, const struct linnet_result **result) {
  const struct linnet_result *found;
  LINNET_TRY(linnet_recognizer_stream_result_by_row(s, &found));
  const struct linnet_result *second = s->second ? linnet_second_pass_result(s->second) : NULL;
  s->result = second ? *second : *found;
  end_with_audio(s);
  if (s->second && !s->result.is_final)
    s->result.num_stable = 0;
  s->result.segment = s->segment;
  *result = &s->result;
  return LINNET_OK;
}

enum linnet_status linnet_recognizer_stream_result(struct linnet_recognizer_stream *s,
                                                   const struct linnet_result **result) {
  if (result)
    *result = NULL;
  if (!s || !result)
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recognizer_stream_result: an argument is NULL");
  LINNET_TRY(check_usable(s));
  return result_of(s, result);
}

const struct linnet_recurrence_batch *linnet_recognizer_stream_batch(const struct linnet_recognizer_stream *s) {
  return s->batch;
}

bool *linnet_recognizer_stream_listed(struct linnet_recognizer_stream *s) {
  return &s->listed;
}

struct linnet_stream *linnet_recognizer_stream_audio(struct linnet_recognizer_stream *s) {
  return s->audio;
}

const struct linnet_search_stream *linnet_recognizer_stream_search(const struct linnet_recognizer_stream *s) {
  const struct linnet_search_stream *second = s->second ? linnet_second_pass_search(s->second) : NULL;
  return second ? second : s->search;
}

enum linnet_status linnet_recognizer_stream_result_by_row(struct linnet_recognizer_stream *s,
                                                          const struct linnet_result **result) {
  return linnet_search_stream_result(s->search, linnet_stream_frame_seconds(s->audio), result);
}

double linnet_recognizer_stream_seconds(const struct linnet_recognizer_stream *s) {
  return linnet_stream_seconds(s->audio);
}

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static enum linnet_status create_endpoint(struct linnet_recognizer_stream *s) {
  const struct linnet_recognizer *r = s->recognizer;
  if (!r->has_endpoints)
    return LINNET_OK;
  const size_t stride = linnet_model_stride(r->model);
  struct linnet_feature_config features;
  linnet_model_features(r->model, &features);
  const struct linnet_endpoint_frames frames = {.dim = features.fbank.num_mel,
                                                .stride = stride,
                                                .lookahead = stride * linnet_model_lookahead(r->model),
                                                .feature_seconds =
                                                    linnet_model_frame_seconds(r->model) / (double)stride};
  LINNET_TRY(linnet_endpoint_create(s->context, &r->endpoints, &frames, r->search->words.silences,
                                    r->search->words.num_silences, &s->endpoint));
  return r->endpoints.settings.restart ? linnet_stream_allow_restarts(s->audio) : LINNET_OK;
}

/* The rows between partial results, at least one. There are none if the interval is longer than any audio, or if the
 * model needs the whole utterance, whose rows all come at the end. */
static void set_partial_rows(struct linnet_recognizer_stream *s) {
  const double interval = linnet_recognizer_is_incremental(s->recognizer) ? s->recognizer->partial_interval : INFINITY;
  const double rows = interval / linnet_model_frame_seconds(s->recognizer->model);
  s->partial_rows = rows > 1e15 ? (uint64_t)1e15 : rows > 0 ? (uint64_t)fmax(round(rows), 1) : 0;
}

enum linnet_status linnet_recognizer_stream_create(struct linnet_context *context,
                                                   const struct linnet_recognizer *recognizer,
                                                   struct linnet_recognizer_stream **stream) {
  if (stream)
    *stream = NULL;
  if (!context || !recognizer || !stream)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recognizer_stream_create: an argument is NULL");
  return linnet_recognizer_stream_create_in(context, recognizer, NULL, stream);
}

enum linnet_status linnet_recognizer_create_posteriors(struct linnet_context *context,
                                                       const struct linnet_recognizer *recognizer,
                                                       struct linnet_recurrence_batch *batch,
                                                       struct linnet_stream **stream) {
  LINNET_TRY(linnet_stream_create_in(context, recognizer->model, batch, stream));
  enum linnet_status status =
      linnet_stream_set_silence(*stream, &recognizer->lengths.max_silence, &recognizer->lengths.edge_silence);
  if (status == LINNET_OK && recognizer->ensemble.model)
    status = linnet_stream_set_ensemble(*stream, &recognizer->ensemble);
  if (status == LINNET_OK)
    return LINNET_OK;
  linnet_stream_destroy(*stream);
  *stream = NULL;
  return status;
}

enum linnet_status linnet_recognizer_stream_create_in(struct linnet_context *context,
                                                      const struct linnet_recognizer *recognizer,
                                                      struct linnet_recurrence_batch *batch,
                                                      struct linnet_recognizer_stream **stream) {
  struct linnet_recognizer_stream *s = *stream = linnet_calloc(context, 1, sizeof *s);
  if (!s)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a stream");
  s->context = context;
  s->recognizer = recognizer;
  s->batch = batch;
  enum linnet_status status = linnet_recognizer_create_posteriors(context, recognizer, batch, &s->audio);
  if (status == LINNET_OK)
    status = linnet_search_stream_create(context, recognizer->search, &s->search);
  if (status == LINNET_OK)
    status = create_endpoint(s);
  if (status == LINNET_OK && recognizer->second)
    status = linnet_second_pass_create(context, recognizer->second, &s->second);
  if (status == LINNET_OK) {
    set_partial_rows(s);
    if (s->endpoint || s->second)
      linnet_stream_set_listener(s->audio, accept_features, s);
    linnet_stream_set_sink(s->audio, search_frames, s);
    return LINNET_OK;
  }
  linnet_recognizer_stream_destroy(s);
  *stream = NULL;
  return status;
}

void linnet_recognizer_stream_reset(struct linnet_recognizer_stream *s) {
  linnet_stream_reset(s->audio);
  linnet_search_stream_reset(s->search);
  if (s->endpoint)
    linnet_endpoint_reset(s->endpoint);
  if (s->second)
    linnet_second_pass_reset(s->second);
  s->searching = LINNET_OK;
  s->has_new_frames = s->finished = s->stopped = s->running = s->whole = false;
  s->num_shown = s->segment = 0;
  s->has_final = false;
  s->row = s->network_row = 0;
  s->unsearched = 0;
}

void linnet_recognizer_stream_reset_at(struct linnet_recognizer_stream *s, uint64_t row, size_t context) {
  linnet_recognizer_stream_reset(s);
  s->unsearched = context;
  linnet_search_stream_reset_at(s->search, row);
}

void linnet_recognizer_stream_destroy(struct linnet_recognizer_stream *s) {
  if (!s)
    return;
  linnet_search_stream_destroy(s->search);
  linnet_stream_destroy(s->audio);
  linnet_endpoint_destroy(s->endpoint);
  linnet_second_pass_destroy(s->second);
  linnet_free(s->context, s->shown);
  linnet_free(s->context, s);
}
