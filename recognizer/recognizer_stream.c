/* A stream on a recognizer: passes the posteriors of the audio to a search as soon as they are computed, and new
 * results to a hook. */
#include "base/settings.h"
#include "recognizer/recognizer_parts.h"

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
  bool heard;                   /* frames came since the hook saw a result */
  const char **shown;           /* the texts of the best alternative that the hook saw last */
  size_t num_shown, shown_capacity;
  struct linnet_result result;
};

/* --- posteriors ------------------------------------------------------------------------------------------------- */

/* A posterior function for the stream of audio, which fails with LINNET_ERROR_CANCELLED for every failure of this
 * function. */
static int search_frames(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct linnet_recognizer_stream *s = user;
  s->heard = true;
  s->searching = linnet_search_stream_accept(s->search, log_posteriors, frames);
  if (s->searching != LINNET_OK)
    return 1;
  return s->sink ? s->sink(s->sink_user, log_posteriors, first, frames) : 0;
}

/* Returns the status of the search if the search stopped the call. Also drops the segments of greedy decoding, which
 * are not needed here. */
static enum linnet_status after_audio(struct linnet_recognizer_stream *s, enum linnet_status status) {
  size_t count;
  if (s->searching != LINNET_OK)
    return s->searching;
  if (status != LINNET_OK)
    return status;
  linnet_stream_segments(s->audio, &count);
  return count > 1 ? linnet_stream_drop_segments(s->audio, count - 1) : LINNET_OK;
}

/* --- the hook --------------------------------------------------------------------------------------------------- */

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

static enum linnet_status call_hook(struct linnet_recognizer_stream *s) {
  const struct linnet_result *result;
  if (!s->hook || !s->heard)
    return LINNET_OK;
  LINNET_TRY(linnet_recognizer_stream_result(s, &result));
  const struct linnet_alternative *best = result->alternatives;
  const struct linnet_span *spans = best->words ? best->words : best->phones;
  const size_t count = best->words ? best->num_words : best->num_phones;
  s->heard = false;
  if (!result->is_final && is_shown(s, spans, count))
    return LINNET_OK;
  LINNET_TRY(remember(s, spans, count));
  if (s->hook(s->hook_user, result) != 0)
    return linnet_fail(s->context, LINNET_ERROR_CANCELLED, "the receiver of the results asked to stop");
  return LINNET_OK;
}

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
  return s ? linnet_stream_set_speaker(s->audio, cmvn) : LINNET_ERROR_ARGUMENT;
}

enum linnet_status linnet_recognizer_stream_accept(struct linnet_recognizer_stream *s, const float *samples, size_t n) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(after_audio(s, linnet_stream_accept(s->audio, samples, n)));
  return call_hook(s);
}

enum linnet_status linnet_recognizer_stream_accept_features(struct linnet_recognizer_stream *s, const float *features,
                                                            size_t frames, size_t dim) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(after_audio(s, linnet_stream_accept_features(s->audio, features, frames, dim)));
  return call_hook(s);
}

enum linnet_status linnet_recognizer_stream_finish(struct linnet_recognizer_stream *s) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(after_audio(s, linnet_stream_finish(s->audio)));
  LINNET_TRY(linnet_search_stream_finish(s->search));
  s->heard = true;
  return call_hook(s);
}

static enum linnet_status feed(struct linnet_recognizer_stream *s, struct linnet_audio *audio, float *samples) {
  for (;;) {
    size_t count = 0;
    enum linnet_status status = linnet_audio_read(audio, samples, READ_SAMPLES, &count);
    if (status == LINNET_OK || status == LINNET_END)
      LINNET_TRY(linnet_recognizer_stream_accept(s, samples, count));
    if (status == LINNET_END)
      return linnet_recognizer_stream_finish(s);
    LINNET_TRY(status);
  }
}

static enum linnet_status feed_file(struct linnet_recognizer_stream *s, const char *path,
                                    const struct linnet_audio_settings *given) {
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  LINNET_TRY(LINNET_READ_SETTINGS(s->context, audio, given, &settings));
  settings.sample_rate = linnet_model_features(s->recognizer->model)->fbank.sample_rate;
  LINNET_TRY(linnet_audio_open(s->context, path, &settings, &audio));
  float *samples = linnet_alloc(s->context, READ_SAMPLES, sizeof *samples);
  enum linnet_status status =
      samples ? feed(s, audio, samples) : linnet_fail(s->context, LINNET_ERROR_MEMORY, "%s: out of memory", path);
  linnet_free(s->context, samples);
  linnet_audio_destroy(audio);
  return status;
}

enum linnet_status linnet_recognizer_stream_run_file(struct linnet_recognizer_stream *s, const char *path,
                                                     const struct linnet_audio_settings *audio,
                                                     const struct linnet_result **result) {
  if (!s || !path || !result)
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recognizer_stream_run_file: an argument is NULL");
  linnet_recognizer_stream_reset(s);
  LINNET_TRY(feed_file(s, path, audio));
  return linnet_recognizer_stream_result(s, result);
}

/* --- results ---------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_recognizer_stream_result(struct linnet_recognizer_stream *s,
                                                   const struct linnet_result **result) {
  const struct linnet_result *found;
  if (!s || !result)
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recognizer_stream_result: an argument is NULL");
  LINNET_TRY(linnet_search_stream_result(s->search, linnet_stream_frame_seconds(s->audio), &found));
  s->result = *found;
  s->result.seconds = linnet_stream_seconds(s->audio);
  *result = &s->result;
  return LINNET_OK;
}

const struct linnet_search_stream *linnet_recognizer_stream_search(const struct linnet_recognizer_stream *s) {
  return s->search;
}

double linnet_recognizer_stream_seconds(const struct linnet_recognizer_stream *s) {
  return linnet_stream_seconds(s->audio);
}

/* --- life ------------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_recognizer_stream_create(struct linnet_context *context,
                                                   const struct linnet_recognizer *recognizer,
                                                   struct linnet_recognizer_stream **stream) {
  if (!context || !recognizer || !stream)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recognizer_stream_create: an argument is NULL");
  struct linnet_recognizer_stream *s = *stream = linnet_calloc(context, 1, sizeof *s);
  if (!s)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a stream");
  s->context = context;
  s->recognizer = recognizer;
  enum linnet_status status = linnet_stream_create(context, recognizer->model, &s->audio);
  if (status == LINNET_OK)
    status = linnet_stream_set_silence(s->audio, &recognizer->lengths.max_silence, &recognizer->lengths.edge_silence);
  if (status == LINNET_OK)
    status = linnet_search_stream_create(context, recognizer->search, &s->search);
  if (status == LINNET_OK) {
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
  s->searching = LINNET_OK;
  s->heard = false;
  s->num_shown = 0;
}

void linnet_recognizer_stream_destroy(struct linnet_recognizer_stream *s) {
  if (!s)
    return;
  linnet_search_stream_destroy(s->search);
  linnet_stream_destroy(s->audio);
  linnet_free(s->context, s->shown);
  linnet_free(s->context, s);
}
