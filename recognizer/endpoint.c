/* Measures silence by posteriors and by level, and applies the rules. The level of speech is a running estimate. */
#include "recognizer/endpoint.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/settings.h"
#include "frontend/features/speech_level.h"

static const double rounding = 1e-6; /* seconds: a sum of frames this close below a minimum reaches it */

struct linnet_endpoint {
  struct linnet_context *context;
  const struct linnet_endpoint_rules *rules;
  struct linnet_endpoint_frames frames;
  int *silences; /* (num_silences) */
  size_t num_silences;
  struct linnet_speech_detector detector;
  unsigned char *loud;      /* (num_loud): frames of features that no row has seen yet, 1: level of speech */
  size_t num_loud, seen;    /* the first `seen` of them have been counted */
  size_t capacity;          /* of `loud` */
  uint64_t num_counted;     /* frames of features that were counted */
  uint64_t num_needed;      /* frames of features that the row depends on, without the look-ahead */
  uint64_t quiet;           /* frames of features since the last loud one, and since the start of the segment */
  uint64_t silence, length; /* rows since the last symbol, and since the start of the segment */
  bool speech;              /* the segment has symbols */
};

/* --- settings --------------------------------------------------------------------------------------------------- */

static const struct linnet_endpoint_rule default_rules[] = {{.silence = 2.4},
                                                            {.speech = 1, .word = 1, .silence = 0.2, .quiet = 0.35},
                                                            {.speech = 1, .silence = 1.2},
                                                            {.length = 20}};

void(linnet_endpoint_settings_default)(struct linnet_endpoint_settings *settings, size_t size) {
  static const struct linnet_endpoint_settings defaults = {.size = sizeof defaults,
                                                           .rules = default_rules,
                                                           .num_rules = sizeof default_rules / sizeof *default_rules,
                                                           .silence_probability = 0.5f,
                                                           .restart = 1};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* A rule without a minimum would end a segment at each frame. */
static bool is_possible(const struct linnet_endpoint_rule *rule) {
  const double all[] = {rule->silence, rule->quiet, rule->length};
  double largest = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!(all[i] >= 0))
      return false;
    largest = fmax(largest, all[i]);
  }
  return largest > 0;
}

enum linnet_status linnet_endpoint_read(struct linnet_context *context, const struct linnet_endpoint_settings *given,
                                        struct linnet_endpoint_rules *rules) {
  struct linnet_endpoint_settings *s = &rules->settings;
  LINNET_TRY(LINNET_READ_SETTINGS(context, endpoint, given, s));
  if (!s->rules && s->num_rules > 0)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "endpoint: num_rules is %zu, but rules is NULL", s->num_rules);
  if (s->num_rules > LINNET_ENDPOINT_MAX_RULES)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "endpoint: %zu rules, at most %d are possible", s->num_rules,
                       LINNET_ENDPOINT_MAX_RULES);
  if (!(s->silence_probability > 0 && s->silence_probability <= 1))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "endpoint: silence_probability is %g, it must be above 0 and at "
                       "most 1",
                       (double)s->silence_probability);
  if (!(s->restart_seconds >= 0 && s->restart_seconds < INFINITY))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "endpoint: restart_seconds is %g, it must be at least 0",
                       s->restart_seconds);
  for (size_t i = 0; i < s->num_rules; i++) {
    rules->rules[i] = s->rules[i];
    if (!is_possible(&rules->rules[i]))
      return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                         "endpoint: rule %zu needs a silence, quiet or length above 0, and none below 0", i + 1);
  }
  s->rules = rules->rules;
  return LINNET_OK;
}

/* --- creation and destruction ------------------------------------------------------------------------------------- */

enum linnet_status linnet_endpoint_create(struct linnet_context *context, const struct linnet_endpoint_rules *rules,
                                          const struct linnet_endpoint_frames *frames, const int *silences,
                                          size_t num_silences, struct linnet_endpoint **endpoint) {
  struct linnet_endpoint *e = *endpoint = linnet_calloc(context, 1, sizeof *e);
  int *copy = linnet_alloc(context, num_silences + 1, sizeof *copy);
  if (!e || !copy) {
    linnet_free(context, e);
    linnet_free(context, copy);
    *endpoint = NULL;
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for endpoints");
  }
  if (num_silences > 0)
    memcpy(copy, silences, num_silences * sizeof *copy);
  *e = (struct linnet_endpoint){
      .context = context, .rules = rules, .frames = *frames, .silences = copy, .num_silences = num_silences};
  return LINNET_OK;
}

void linnet_endpoint_destroy(struct linnet_endpoint *e) {
  if (!e)
    return;
  linnet_free(e->context, e->silences);
  linnet_free(e->context, e->loud);
  linnet_free(e->context, e);
}

void linnet_endpoint_start_segment(struct linnet_endpoint *e) {
  e->silence = e->length = e->quiet = 0;
  e->speech = false;
}

void linnet_endpoint_reset(struct linnet_endpoint *e) {
  e->detector = (struct linnet_speech_detector){.seconds = 0};
  e->num_loud = e->seen = 0;
  e->num_counted = e->num_needed = 0;
  linnet_endpoint_start_segment(e);
}

/* --- level ------------------------------------------------------------------------------------------------------ */

enum linnet_status linnet_endpoint_accept_features(struct linnet_endpoint *e, const float *features, size_t frames) {
  static const double decibels = 4.342944819032518; /* 10 / ln 10 */
  const size_t left = e->num_loud - e->seen;
  if (left > 0)
    memmove(e->loud, e->loud + e->seen, left);
  e->num_loud = left;
  e->seen = 0;
  unsigned char *grown = linnet_grow(e->context, e->loud, &e->capacity, left + frames, 1);
  if (!grown && left + frames > 0)
    return linnet_fail(e->context, LINNET_ERROR_MEMORY, "out of memory for the levels of %zu frames", frames);
  e->loud = grown;
  for (size_t t = 0; t < frames; t++) {
    const double level = decibels * (double)linnet_frame_level(features + t * e->frames.dim, e->frames.dim);
    e->loud[e->num_loud++] = linnet_speech_detect(&e->detector, level, e->frames.feature_seconds);
  }
  return LINNET_OK;
}

/* Counts the frames of features that the next row depends on, up to those that the network has taken. */
static void count_quiet(struct linnet_endpoint *e, uint64_t taken) {
  e->num_needed += e->frames.stride;
  const uint64_t end = e->num_needed + e->frames.lookahead < taken ? e->num_needed + e->frames.lookahead : taken;
  for (; e->num_counted < end && e->seen < e->num_loud; e->num_counted++)
    e->quiet = e->loud[e->seen++] ? 0 : e->quiet + 1;
}

/* --- rules ------------------------------------------------------------------------------------------------------ */

static bool is_silence(const struct linnet_endpoint *e, const float *log_posteriors) {
  double sum = exp((double)log_posteriors[0]);
  for (size_t i = 0; i < e->num_silences; i++)
    sum += exp((double)log_posteriors[e->silences[i]]);
  return !(sum < (double)e->rules->settings.silence_probability); /* NaN counts as silence, as in the searches */
}

static bool holds(const struct linnet_endpoint *e, const struct linnet_endpoint_rule *rule) {
  const double row = e->frames.feature_seconds * (double)e->frames.stride;
  return (!rule->speech || e->speech) && (double)e->silence * row >= rule->silence - rounding &&
         (double)e->quiet * e->frames.feature_seconds >= rule->quiet - rounding &&
         (double)e->length * row >= rule->length - rounding;
}

static bool is_end(const struct linnet_endpoint *e, linnet_word_end_fn ends_word, void *user) {
  for (size_t i = 0; i < e->rules->settings.num_rules; i++) {
    const struct linnet_endpoint_rule *rule = &e->rules->rules[i];
    if (holds(e, rule) && (!rule->word || ends_word(user)))
      return true;
  }
  return false;
}

bool linnet_endpoint_step(struct linnet_endpoint *e, const float *log_posteriors, uint64_t taken,
                          linnet_word_end_fn ends_word, void *user) {
  const bool silence = is_silence(e, log_posteriors);
  count_quiet(e, taken);
  e->length++;
  e->silence = silence ? e->silence + 1 : 0;
  e->speech = e->speech || !silence;
  if (!is_end(e, ends_word, user))
    return false;
  linnet_endpoint_start_segment(e);
  return true;
}

/* --- speech ------------------------------------------------------------------------------------------------------- */

/* Changes of the estimates: towards a level beyond them within frames, otherwise so slowly that a long word does not
 * become noise, and a pause does not make the noise speech. */
static const double noise_fall = 0.2, speech_rise = 0.5; /* of the difference, per frame */
static const double noise_rise = 1, speech_fall = 1;     /* dB per second */

/* A stream may begin with speech: the noise is first assumed to be lower by `unknown`, and the estimate soon rises if
 * it is not. */
static const double unknown = 20, early_rise = 10, early = 2; /* dB, dB per second, seconds */

/* The threshold lies between noise and speech, nearer to the noise; at most `range` below speech, where there is no
 * noise to speak of, and well above steady noise. */
static const double share = 0.2, range = 35, margin = 3; /* dB */

static void follow(struct linnet_speech_detector *d, double level, double seconds) {
  const double rise = d->seconds < early ? early_rise : noise_rise;
  if (d->seconds == 0)
    *d = (struct linnet_speech_detector){.noise = level - unknown, .speech = level};
  d->seconds += seconds;
  d->noise += level < d->noise ? noise_fall * (level - d->noise) : fmin(rise * seconds, level - d->noise);
  d->speech += level > d->speech ? speech_rise * (level - d->speech) : fmax(-speech_fall * seconds, level - d->speech);
}

bool linnet_speech_detect(struct linnet_speech_detector *d, double level, double seconds) {
  if (!isfinite(level)) /* would stay in the estimates */
    return false;
  follow(d, level, seconds);
  return level > fmax(d->noise + fmax(share * (d->speech - d->noise), margin), d->speech - range);
}
