/* A stream of a search: runs one of the three decoders and converts its hypotheses into a result. */
#include <math.h>

#include "base/settings.h"
#include "decoder/output/output.h"
#include "decoder/output/spans.h"
#include "decoder/search_parts.h"

struct linnet_search_stream {
  struct linnet_context *context;
  const struct linnet_search *search;
  struct linnet_greedy *greedy;            /* one of the three is not NULL */
  struct linnet_beam *beam;                /* */
  struct linnet_word_search *words;        /* */
  struct linnet_stream_hotwords *hotwords; /* NULL: those of the search */
  struct linnet_stream_hotwords *next_hotwords;
  bool changes_hotwords; /* to the next ones, at the next reset */
  uint64_t first;        /* frame of the recording at which the search began */
  size_t frames;         /* since then */
  bool finished;
  bool stopped;                /* a call failed or was cancelled, so frames may be missing */
  struct linnet_result result; /* of the last linnet_search_stream_result */
  struct linnet_span *spans;   /* of all alternatives, one after the other: first words, then phones */
  struct linnet_alternative *alternatives;
  size_t span_capacity, alternative_capacity;
  size_t num_spans;     /* so far, during the construction of a result */
  double frame_seconds; /* of `result` */
};

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static enum linnet_status create_decoder(struct linnet_search_stream *s) {
  const struct linnet_search *search = s->search;
  if (search->kind == LINNET_SEARCH_WORDS)
    return linnet_word_search_share(s->context, search->first, &s->words);
  if (search->kind == LINNET_SEARCH_SYMBOLS)
    return linnet_beam_create(s->context, search->num_symbols, &search->beam, &s->beam);
  LINNET_TRY(linnet_greedy_create(s->context, search->num_symbols, &s->greedy));
  LINNET_TRY(linnet_greedy_set_blank_penalty(s->greedy, search->blank_penalty));
  return linnet_greedy_set_calibrations(s->greedy, search->calibrated ? &search->calibrations : NULL);
}

enum linnet_status linnet_search_stream_create(struct linnet_context *context, const struct linnet_search *search,
                                               struct linnet_search_stream **stream) {
  if (stream)
    *stream = NULL;
  if (!context || !search || !stream)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_search_stream_create: an argument is NULL");
  struct linnet_search_stream *s = *stream = linnet_calloc(context, 1, sizeof *s);
  if (!s)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a stream of a search");
  s->context = context;
  s->search = search;
  enum linnet_status status = create_decoder(s);
  if (status != LINNET_OK) {
    linnet_search_stream_destroy(s);
    *stream = NULL;
  }
  return status;
}

static void change_hotwords(struct linnet_search_stream *s) {
  linnet_stream_hotwords_apply(s->next_hotwords, s->search->hotwords, s->words);
  linnet_stream_hotwords_destroy(s->hotwords);
  s->hotwords = s->next_hotwords;
  s->next_hotwords = NULL;
  s->changes_hotwords = false;
}

enum linnet_status linnet_search_stream_read_hotwords(const struct linnet_search_stream *s,
                                                      const struct linnet_source *source,
                                                      struct linnet_stream_hotwords **hotwords) {
  *hotwords = NULL;
  if (!s->words)
    return linnet_fail(s->context, LINNET_ERROR_UNSUPPORTED, "hotwords need a search for words");
  if (!source || !linnet_source_given(source))
    return LINNET_OK;
  return linnet_stream_hotwords_open(s->context, source, s->search->first, &s->search->words, s->search->g2p, hotwords);
}

void linnet_search_stream_take_hotwords(struct linnet_search_stream *s, struct linnet_stream_hotwords *hotwords,
                                        bool at_once) {
  linnet_stream_hotwords_destroy(s->next_hotwords);
  s->next_hotwords = hotwords;
  s->changes_hotwords = true;
  if (at_once)
    linnet_search_stream_reset_at(s, s->first);
}

enum linnet_status linnet_search_stream_set_hotwords(struct linnet_search_stream *s,
                                                     const struct linnet_source *source) {
  struct linnet_stream_hotwords *hotwords;
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(linnet_search_stream_read_hotwords(s, source, &hotwords));
  linnet_search_stream_take_hotwords(s, hotwords, s->frames == 0 && !s->finished && !s->stopped);
  return LINNET_OK;
}

void linnet_search_stream_reset(struct linnet_search_stream *s) {
  linnet_search_stream_reset_at(s, 0);
}

void linnet_search_stream_reset_at(struct linnet_search_stream *s, uint64_t first) {
  if (s->changes_hotwords)
    change_hotwords(s);
  else if (s->words)
    linnet_word_search_reset(s->words);
  else if (s->beam)
    linnet_beam_reset(s->beam);
  else
    linnet_greedy_reset(s->greedy);
  s->first = first;
  s->frames = 0;
  s->finished = s->stopped = false;
}

void linnet_search_stream_destroy(struct linnet_search_stream *s) {
  if (!s)
    return;
  linnet_word_search_destroy(s->words);
  linnet_stream_hotwords_destroy(s->hotwords);
  linnet_stream_hotwords_destroy(s->next_hotwords);
  linnet_beam_destroy(s->beam);
  linnet_greedy_destroy(s->greedy);
  linnet_free(s->context, s->spans);
  linnet_free(s->context, s->alternatives);
  linnet_free(s->context, s);
}

/* --- frames ----------------------------------------------------------------------------------------------------- */

static enum linnet_status note(struct linnet_search_stream *s, enum linnet_status status) {
  s->stopped = status != LINNET_OK;
  return status;
}

static enum linnet_status check_usable(const struct linnet_search_stream *s) {
  return s->stopped ? linnet_fail(s->context, LINNET_ERROR_STATE,
                                  "the call before was cancelled, or failed: call linnet_search_stream_reset first")
                    : LINNET_OK;
}

enum linnet_status linnet_search_stream_accept(struct linnet_search_stream *s, const float *log_posteriors,
                                               size_t frames) {
  if (!s || (!log_posteriors && frames > 0))
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_search_stream_accept: an argument is NULL");
  LINNET_TRY(check_usable(s));
  if (s->finished)
    return linnet_fail(s->context, LINNET_ERROR_STATE,
                       "the search was finished: call linnet_search_stream_reset first");
  s->frames += frames;
  return note(s, s->words  ? linnet_word_search_accept(s->words, log_posteriors, frames)
                 : s->beam ? linnet_beam_accept(s->beam, log_posteriors, frames)
                           : linnet_greedy_accept(s->greedy, log_posteriors, frames));
}

enum linnet_status linnet_search_stream_finish(struct linnet_search_stream *s) {
  if (!s)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(check_usable(s));
  s->finished = true;
  return note(s, s->words ? linnet_word_search_finish(s->words) : s->beam ? linnet_beam_finish(s->beam) : LINNET_OK);
}

/* The number of hypotheses, at least 1. */
static enum linnet_status rank(struct linnet_search_stream *s, size_t *count) {
  *count = linnet_word_search_num_hypotheses(s->words);
  return *count > 0 ? LINNET_OK : linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for ranking hypotheses");
}

enum linnet_status linnet_search_stream_ends_word(struct linnet_search_stream *s, bool *ends) {
  struct linnet_word_hypothesis h;
  size_t count;
  *ends = !s->words;
  if (*ends)
    return LINNET_OK;
  LINNET_TRY(note(s, rank(s, &count)));
  LINNET_TRY(note(s, linnet_word_search_hypothesis(s->words, 0, &h)));
  *ends = h.complete && h.num_words > 0;
  return LINNET_OK;
}

enum linnet_status linnet_search_stream_lattice(const struct linnet_search_stream *s, struct linnet_lattice *lattice) {
  if (!s || !lattice)
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_search_stream_lattice: an argument is NULL");
  if (s->greedy)
    return linnet_fail(s->context, LINNET_ERROR_STATE, "greedy decoding has no lattice: choose another search");
  LINNET_TRY(check_usable(s));
  if (!s->finished)
    return linnet_fail(s->context, LINNET_ERROR_STATE,
                       "linnet_search_stream_lattice: call linnet_search_stream_finish first");
  size_t states;
  linnet_lattice_states(lattice, &states);
  if (states > 0)
    return linnet_fail(s->context, LINNET_ERROR_STATE,
                       "linnet_search_stream_lattice: the lattice is not empty: call linnet_lattice_reset first");
  return s->words ? linnet_lattice_add_words(lattice, s->words) : linnet_lattice_add_beam(lattice, s->beam);
}

/* --- results ---------------------------------------------------------------------------------------------------- */

/* Reserves memory for `spans` more spans; the spans of earlier alternatives may move. */
static enum linnet_status reserve(struct linnet_search_stream *s, size_t spans) {
  struct linnet_span *more_spans =
      linnet_grow(s->context, s->spans, &s->span_capacity, s->num_spans + spans + 1, sizeof *more_spans);
  s->spans = more_spans ? more_spans : s->spans;
  struct linnet_alternative *more =
      linnet_grow(s->context, s->alternatives, &s->alternative_capacity, s->result.num_alternatives + 1, sizeof *more);
  s->alternatives = more ? more : s->alternatives;
  if (!more_spans || !more)
    return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for the result");
  return LINNET_OK;
}

/* The time of a row of the search. `phones` is the number of phones that end at or before it. */
static double seconds_of(const struct linnet_search_stream *s, size_t row, size_t phones) {
  return (double)s->first * s->frame_seconds +
         linnet_spans_time((double)row, phones, s->frame_seconds, s->search->emission_delay);
}

static void append_phones(struct linnet_search_stream *s, const struct linnet_segment *segments, size_t count) {
  for (size_t i = 0; i < count; i++)
    s->spans[s->num_spans++] = (struct linnet_span){.text = s->search->names[segments[i].symbol],
                                                    .start = seconds_of(s, segments[i].start, i),
                                                    .end = seconds_of(s, segments[i].end, i + 1),
                                                    .confidence = segments[i].confidence};
}

/* The boundaries of the last words and phones of s->spans. */
static void set_boundaries(struct linnet_search_stream *s, size_t num_words, size_t num_phones) {
  struct linnet_span *phones = s->spans + s->num_spans - num_phones;
  linnet_spans_widen(phones, num_phones, phones - num_words, num_words, (double)s->first * s->frame_seconds,
                     (double)(s->first + s->frames) * s->frame_seconds);
}

/* Guessed words have higher tokens than those of the lexicon's file: first those of the search, then, above the unknown
 * word, those of this stream. */
static bool is_guessed(const struct linnet_search *search, unsigned token) {
  return token > search->num_read_words && token != linnet_lexicon_num_words(search->vocabulary.lexicon) + 1;
}

static void append_words(struct linnet_search_stream *s, const struct linnet_recognised_word *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    s->spans[s->num_spans++] =
        (struct linnet_span){.text = linnet_word_search_text(s->words, words[i].token),
                             .start = seconds_of(s, words[i].start, words[i].first),
                             .end = seconds_of(s, words[i].end, words[i].first + words[i].num_phones),
                             .confidence = words[i].confidence,
                             .guessed = is_guessed(s->search, (unsigned)words[i].token)};
}

/* Pointers to spans are set later, when all spans are there. */
static enum linnet_status add_phones(struct linnet_search_stream *s, const struct linnet_hypothesis *h) {
  LINNET_TRY(reserve(s, h->num_segments));
  append_phones(s, h->segments, h->num_segments);
  set_boundaries(s, 0, h->num_segments);
  s->alternatives[s->result.num_alternatives++] = (struct linnet_alternative){
      .score = h->score, .acoustic = h->acoustic, .language = h->language, .num_phones = h->num_segments};
  return LINNET_OK;
}

static enum linnet_status add_words(struct linnet_search_stream *s, const struct linnet_word_hypothesis *h) {
  LINNET_TRY(reserve(s, h->num_words + h->num_segments));
  append_words(s, h->words, h->num_words);
  append_phones(s, h->segments, h->num_segments);
  set_boundaries(s, h->num_words, h->num_segments);
  s->alternatives[s->result.num_alternatives++] =
      (struct linnet_alternative){.score = h->score,
                                  .acoustic = h->acoustic,
                                  .language = h->language,
                                  .num_words = h->num_words,
                                  .num_phones = h->num_segments,
                                  .incomplete = !h->complete && h->num_words > 0};
  return LINNET_OK;
}

static enum linnet_status collect_greedy(struct linnet_search_stream *s) {
  struct linnet_hypothesis h = {.score = 0};
  h.segments = linnet_greedy_segments(s->greedy, &h.num_segments);
  s->result.num_stable = h.num_segments;
  return add_phones(s, &h);
}

static enum linnet_status collect_beam(struct linnet_search_stream *s) {
  struct linnet_hypothesis h;
  size_t count = linnet_beam_num_hypotheses(s->beam), maximum = s->search->num_alternatives;
  for (size_t i = 0; i < count && i < maximum; i++) {
    LINNET_TRY(linnet_beam_hypothesis(s->beam, i, &h));
    LINNET_TRY(add_phones(s, &h));
  }
  s->result.num_stable = s->finished ? s->alternatives[0].num_phones : linnet_beam_num_stable_symbols(s->beam);
  return LINNET_OK;
}

/* Hypothesis `first` comes before the others. */
static enum linnet_status collect_words(struct linnet_search_stream *s) {
  struct linnet_word_hypothesis h;
  size_t count, maximum = s->search->num_alternatives;
  LINNET_TRY(rank(s, &count));
  const size_t first = s->finished ? 0 : linnet_word_search_partial(s->words);
  for (size_t i = 0; i < count && i < maximum; i++) {
    LINNET_TRY(linnet_word_search_hypothesis(s->words, i == 0 ? first : i <= first ? i - 1 : i, &h));
    LINNET_TRY(add_words(s, &h));
  }
  s->result.num_stable = s->finished ? s->alternatives[0].num_words : linnet_word_search_num_stable_words(s->words);
  return LINNET_OK;
}

static void point_to_spans(struct linnet_search_stream *s) {
  const struct linnet_span *span = s->spans;
  for (size_t i = 0; i < s->result.num_alternatives; i++) {
    struct linnet_alternative *a = &s->alternatives[i];
    a->words = s->words ? span : NULL;
    a->phones = span + a->num_words;
    span += a->num_words + a->num_phones;
  }
}

size_t linnet_search_stream_num_tokens(const struct linnet_search_stream *s) {
  const struct linnet_lexicon *own = s->hotwords ? s->hotwords->lexicon : NULL;
  return linnet_search_num_tokens(s->search) + (own ? linnet_lexicon_num_words(own) : 0);
}

const char *linnet_search_stream_token(const struct linnet_search_stream *s, size_t token) {
  if (token < linnet_search_num_tokens(s->search))
    return linnet_search_token(s->search, token);
  return token < linnet_search_stream_num_tokens(s) ? linnet_word_search_text(s->words, (unsigned)token) : NULL;
}

const struct linnet_search *linnet_search_stream_search(const struct linnet_search_stream *stream) {
  return stream->search;
}

enum linnet_status linnet_search_stream_result(struct linnet_search_stream *s, double frame_seconds,
                                               const struct linnet_result **result) {
  if (result)
    *result = NULL;
  if (!s || !result)
    return linnet_fail(s ? s->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_search_stream_result: an argument is NULL");
  LINNET_TRY(check_usable(s));
  if (!(frame_seconds >= 0 && frame_seconds < INFINITY))
    return linnet_fail(s->context, LINNET_ERROR_ARGUMENT,
                       "linnet_search_stream_result: frame_seconds is %g, it must be at least 0", frame_seconds);
  s->result = (struct linnet_result){.seconds = (double)(s->first + s->frames) * frame_seconds,
                                     .is_final = s->finished,
                                     .start = (double)s->first * frame_seconds};
  s->frame_seconds = frame_seconds;
  s->num_spans = 0;
  LINNET_TRY(s->words ? collect_words(s) : s->beam ? collect_beam(s) : collect_greedy(s));
  point_to_spans(s);
  s->result.alternatives = s->alternatives;
  *result = &s->result;
  return LINNET_OK;
}

void linnet_search_stream_clip(struct linnet_search_stream *s, double seconds) {
  for (size_t i = 0; i < s->num_spans; i++) {
    s->spans[i].start = fmin(s->spans[i].start, seconds);
    s->spans[i].end = fmin(s->spans[i].end, seconds);
  }
}

enum linnet_status linnet_result_describe(const struct linnet_result *result, int alternatives,
                                          struct linnet_output *output) {
  if (!result || !output)
    return LINNET_ERROR_ARGUMENT;
  struct linnet_output full;
  LINNET_TRY(linnet_output_read(NULL, output, &full));
  full.words = result->alternatives[0].words;
  full.num_words = result->alternatives[0].num_words;
  full.phones = result->alternatives[0].phones;
  full.num_phones = result->alternatives[0].num_phones;
  full.alternatives = result->alternatives;
  full.num_alternatives = alternatives ? result->num_alternatives : 0;
  full.seconds = result->seconds;
  full.incomplete = result->alternatives[0].incomplete;
  linnet_output_fill(output, &full);
  return LINNET_OK;
}
