/* Endpoints: each minimum of each rule, by hand; silence symbols; the level of speech in clean audio and in noise; the
 * way in which frames are divided into calls changes nothing; what cannot be is refused. */
#include "recognizer/endpoint.h"

#include "test.h"

enum { SYMBOLS = 4, STRIDE = 3, DIM = 2, MAX_ROWS = 4000 };

static struct linnet_context *context;

/* Audio as letters, one per row of 0.03 s: "s" speech, "v" a vowel without symbols, "n" a symbol without level, "_"
 * silence, "=" a silence symbol. Numbers repeat: "10s". */
static size_t expand(const char *text, char rows[MAX_ROWS]) {
  size_t n = 0;
  while (*text) {
    char *letter;
    unsigned long count = strtoul(text, &letter, 10);
    for (count = letter == text ? 1 : count; count > 0 && n < MAX_ROWS; count--)
      rows[n++] = *letter;
    text = letter + 1;
  }
  return n;
}

static void make_row(char letter, float row[SYMBOLS]) {
  const int best = letter == 's' || letter == 'n' ? 1 : letter == '=' ? 3 : 0;
  for (int k = 0; k < SYMBOLS; k++)
    row[k] = k == best ? -0.1f : -4;
}

static void make_features(char letter, float frame[DIM]) {
  frame[0] = -1;
  frame[1] = letter == 's' || letter == 'v' ? 12 : 2; /* 43 dB apart */
}

/* A word is complete once `complete` rows were asked for. */
struct word {
  size_t asked, complete;
};

static bool ends_word(void *user) {
  struct word *word = user;
  return ++word->asked > word->complete;
}

static struct linnet_endpoint *create_with(const struct linnet_endpoint_rules *rules, size_t lookahead,
                                           double feature_seconds) {
  static const int silences[] = {3};
  const struct linnet_endpoint_frames frames = {DIM, STRIDE, lookahead, feature_seconds};
  struct linnet_endpoint *endpoint = NULL;
  REQUIRE(linnet_endpoint_create(context, rules, &frames, silences, 1, &endpoint) == LINNET_OK, "%s",
          linnet_context_error(context));
  return endpoint;
}

static struct linnet_endpoint *create(const struct linnet_endpoint_rules *rules, size_t lookahead) {
  return create_with(rules, lookahead, 0.01);
}

static struct linnet_endpoint_rules read_rules(const struct linnet_endpoint_rule *rules, size_t count) {
  struct linnet_endpoint_rules read;
  struct linnet_endpoint_settings settings;
  linnet_endpoint_settings_default(&settings);
  settings.rules = rules;
  settings.num_rules = count;
  REQUIRE(linnet_endpoint_read(context, &settings, &read) == LINNET_OK, "%s", linnet_context_error(context));
  return read;
}

static void hear(struct linnet_endpoint *endpoint, const char *rows, size_t first, size_t count, size_t num_rows) {
  static float features[MAX_ROWS * STRIDE * DIM];
  size_t n = 0;
  for (size_t t = first; t < first + count && t / STRIDE < num_rows; t++)
    make_features(rows[t / STRIDE], features + n++ * DIM);
  CHECK(linnet_endpoint_accept_features(endpoint, features, n) == LINNET_OK, "hear");
}

/* The rows after which there are endpoints, as "12 40 ". Features come `chunk` frames at a time, each chunk before the
 * rows that need it. */
static void find(const struct linnet_endpoint_rules *rules, const char *text, struct word *word, size_t lookahead,
                 size_t chunk, char found[256]) {
  static char rows[MAX_ROWS];
  /* The copy has its own address, which the pointer in it must follow. */
  struct linnet_endpoint_rules own = *rules;
  own.settings.rules = own.rules;
  struct linnet_endpoint *endpoint = create(&own, lookahead);
  const size_t num_rows = expand(text, rows);
  size_t heard = 0, n = 0;
  found[0] = '\0';
  for (size_t t = 0; t < num_rows; t++) {
    float row[SYMBOLS];
    for (; heard < (t + 1) * STRIDE + lookahead && heard < num_rows * STRIDE; heard += chunk)
      hear(endpoint, rows, heard, chunk, num_rows);
    make_row(rows[t], row);
    if (linnet_endpoint_step(endpoint, row, UINT64_MAX, ends_word, word))
      n += (size_t)snprintf(found + n, 256 - n, "%zu ", t + 1);
  }
  linnet_endpoint_destroy(endpoint);
}

static void expect(const struct linnet_endpoint_rule *rules, size_t count, const char *text, size_t complete,
                   size_t lookahead, const char *expected) {
  static const size_t chunks[] = {1, 2, 3, 7, 100, MAX_ROWS * STRIDE};
  const struct linnet_endpoint_rules read = read_rules(rules, count);
  for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
    struct word word = {.complete = complete};
    char found[256];
    find(&read, text, &word, lookahead, chunks[i], found);
    CHECK(strcmp(found, expected) == 0, "%s, chunks of %zu: '%s', expected '%s'", text, chunks[i], found, expected);
  }
}

static void test_rules(void) {
  const struct linnet_endpoint_rule silence = {.silence = 0.3}, spoken = {.speech = 1, .silence = 0.3};
  const struct linnet_endpoint_rule length = {.length = 0.6}, quiet = {.speech = 1, .silence = 0.09, .quiet = 0.3};
  const struct linnet_endpoint_rule word = {.speech = 1, .word = 1, .silence = 0.3}, pause = {.quiet = 0.3};
  const struct linnet_endpoint_rule both[] = {{.silence = 0.6}, {.speech = 1, .silence = 0.3}};
  expect(&silence, 1, "25_", 0, 0, "10 20 ");
  expect(&silence, 1, "5s9_s10_", 0, 0, "25 ");
  expect(&silence, 1, "5s10=5s4_6=", 0, 0, "15 30 "); /* silence symbols are silence */
  expect(&spoken, 1, "50_", 0, 0, "");
  expect(&spoken, 1, "50_s30_", 0, 0, "61 "); /* once: the next segment has no speech */
  expect(&spoken, 1, "s30v", 0, 0, "11 ");
  expect(&length, 1, "50s", 0, 0, "20 40 ");
  expect(&quiet, 1, "s30v_", 0, 0, "");
  expect(&quiet, 1, "s30v30_", 0, 0, "41 ");
  expect(&quiet, 1, "s12n30_", 0, 0, "16 ");
  expect(&pause, 1, "5s42_", 0, 0, "15 25 35 45 "); /* a segment is as long */
  expect(&word, 1, "s30_", 5, 0, "16 ");
  expect(both, 2, "40_s25_", 0, 0, "20 40 51 ");
  expect(NULL, 0, "s500_", 0, 0, "");
}

/* In binary numbers, 9 frames of 0.009 s are a little shorter than 0.081 s, and so are 3 rows of 0.027 s. */
static void test_rounding(void) {
  static const struct linnet_endpoint_rule rules[] = {{.quiet = 0.081}, {.silence = 0.081}, {.length = 0.081}};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    const struct linnet_endpoint_rules read = read_rules(&rules[i], 1);
    struct linnet_endpoint_rules own = read;
    own.settings.rules = own.rules;
    struct linnet_endpoint *endpoint = create_with(&own, 0, 0.009);
    float row[SYMBOLS];
    hear(endpoint, "s___", 0, 4 * STRIDE, 4);
    for (size_t t = 0; t < 4; t++) {
      make_row(t == 0 ? 's' : '_', row);
      CHECK(linnet_endpoint_step(endpoint, row, UINT64_MAX, ends_word, NULL) == (t == (i < 2 ? 3 : 2)),
            "rule %zu, row %zu", i, t);
    }
    linnet_endpoint_destroy(endpoint);
  }
}

/* What was heard, but not taken by the network, does not count. */
static void test_taken(void) {
  const struct linnet_endpoint_rule quiet = {.quiet = 0.3};
  const struct linnet_endpoint_rules read = read_rules(&quiet, 1);
  struct linnet_endpoint_rules own = read;
  struct linnet_endpoint *endpoint = create(&own, 60 * STRIDE);
  char rows[MAX_ROWS];
  float row[SYMBOLS];
  own.settings.rules = own.rules;
  hear(endpoint, rows, 0, 100, expand("5s40_", rows));
  make_row('_', row);
  CHECK(!linnet_endpoint_step(endpoint, row, 5 * STRIDE + 29, ends_word, NULL), "a frame that was not taken");
  CHECK(linnet_endpoint_step(endpoint, row, 5 * STRIDE + 30, ends_word, NULL), "0.3 s that were taken");
  linnet_endpoint_destroy(endpoint);
}

/* Frames of features are known before the posteriors that they belong to. */
static void test_lookahead(void) {
  const struct linnet_endpoint_rule quiet = {.speech = 1, .quiet = 0.3};
  expect(&quiet, 1, "5s30_", 0, 0, "15 ");
  expect(&quiet, 1, "5s30_", 0, 2 * STRIDE, "13 ");
  expect(&quiet, 1, "5s12_", 0, 8 * STRIDE, "7 ");
}

static void test_defaults(void) {
  struct linnet_endpoint_rules read;
  struct linnet_endpoint_settings settings;
  char found[256];
  linnet_endpoint_settings_default(&settings);
  REQUIRE(linnet_endpoint_read(context, &settings, &read) == LINNET_OK, "%s", linnet_context_error(context));
  struct word never = {.complete = SIZE_MAX}, always = {.complete = 0};
  find(&read, "170_", &never, 0, 1, found);
  CHECK(strcmp(found, "80 160 ") == 0, "silence of 2.4 s: %s", found);
  find(&read, "20s60_", &never, 0, 1, found);
  CHECK(strcmp(found, "60 ") == 0, "1.2 s after speech: %s", found);
  find(&read, "20s60_", &always, 0, 1, found);
  CHECK(strcmp(found, "32 ") == 0, "0.35 s after a word: %s", found);
  find(&read, "1400s", &never, 0, 1, found);
  CHECK(strcmp(found, "667 1334 ") == 0, "20 s of speech: %s", found);
}

/* The same object on a second stream. */
static void test_reset(void) {
  const struct linnet_endpoint_rule rule = {.speech = 1, .silence = 0.3};
  const struct linnet_endpoint_rules read = read_rules(&rule, 1);
  struct linnet_endpoint_rules own = read;
  struct linnet_endpoint *endpoint = create(&own, 0);
  struct word word = {0};
  float row[SYMBOLS];
  for (int round = 0; round < 2; round++) {
    hear(endpoint, "ssss", 0, 9, 4);
    make_row('s', row);
    CHECK(!linnet_endpoint_step(endpoint, row, UINT64_MAX, ends_word, &word), "an endpoint in speech");
    make_row('_', row);
    for (int t = 0; t < 10; t++)
      CHECK(linnet_endpoint_step(endpoint, row, UINT64_MAX, ends_word, &word) == (t == 9), "round %d, row %d", round,
            t);
    make_row('s', row);
    linnet_endpoint_step(endpoint, row, UINT64_MAX, ends_word, &word);
    linnet_endpoint_reset(endpoint);
  }
  linnet_endpoint_destroy(endpoint);
  linnet_endpoint_destroy(NULL);
}

/* A second stream that begins with soft speech: its level is not compared with that of the first. */
static void test_reset_of_level(void) {
  const struct linnet_endpoint_rule rule = {.quiet = 0.3};
  const struct linnet_endpoint_rules read = read_rules(&rule, 1);
  struct linnet_endpoint_rules own = read;
  struct linnet_endpoint *endpoint = create(&own, 0);
  char rows[MAX_ROWS];
  float row[SYMBOLS];
  own.settings.rules = own.rules;
  hear(endpoint, rows, 0, 40 * STRIDE, expand("10_30s", rows));
  linnet_endpoint_reset(endpoint);
  hear(endpoint, rows, 0, 15 * STRIDE, expand("15_", rows));
  make_row('s', row);
  for (size_t t = 0; t < 15; t++)
    CHECK(!linnet_endpoint_step(endpoint, row, UINT64_MAX, ends_word, NULL), "row %zu of soft speech is quiet", t);
  linnet_endpoint_destroy(endpoint);
}

/* --- level -------------------------------------------------------------------------------------------------------- */

/* The share of frames with the level of speech in seconds [from, to) of a signal: noise of a level, within 1 dB, and
 * words of 0.3 s with pauses of 0.2 s from second 5 on. */
static double loud_share(double noise, double speech, double from, double to, bool in_words) {
  struct linnet_speech_detector detector = {.seconds = 0};
  struct test_random random = {3};
  size_t loud = 0, all = 0;
  for (size_t t = 0; t < 3000; t++) {
    const double seconds = (double)t * 0.01, within = fmod(seconds, 0.5);
    const bool word = seconds >= 5 && within < 0.3;
    const double level = (word ? speech : noise) + test_uniform(&random);
    const bool found = linnet_speech_detect(&detector, level, 0.01);
    const bool edge = within < 0.03 || (within >= 0.3 && within < 0.33);
    if (seconds >= from && seconds < to && word == in_words && !edge) {
      all++;
      loud += found;
    }
  }
  return (double)loud / (double)all;
}

/* Levels that are not finite have no effect on later ones. */
static void test_level_not_finite(void) {
  static const double odd[] = {NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    struct linnet_speech_detector detector = {.seconds = 0};
    for (int t = 0; t < 300; t++) {
      const bool loud = t % 100 >= 50, skipped = t % 7 == 0;
      const bool found = linnet_speech_detect(&detector, skipped ? odd[i] : loud ? 60 : 20, 0.01);
      CHECK(skipped ? !found : t < 50 || found == loud, "%g among levels: frame %d", odd[i], t);
    }
  }
}

static void test_level(void) {
  struct linnet_speech_detector detector = {.seconds = 0};
  for (int t = 0; t < 60; t++)
    CHECK(linnet_speech_detect(&detector, 60, 0.01), "speech at the start of a stream: frame %d", t);
  static const double noises[] = {-69, 10, 40, 58};
  for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
    CHECK(loud_share(noises[i], 70, 3, 5, false) < 0.02, "steady noise of %g dB is speech", noises[i]);
    CHECK(loud_share(noises[i], 70, 6, 30, true) > 0.95, "words above noise of %g dB are not speech", noises[i]);
    CHECK(loud_share(noises[i], 70, 6, 30, false) < 0.05, "pauses above noise of %g dB are speech", noises[i]);
  }
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

static void refuse(const struct linnet_endpoint_settings *settings, const char *sentence) {
  struct linnet_endpoint_rules read;
  CHECK(linnet_endpoint_read(context, settings, &read) == LINNET_ERROR_ARGUMENT, "not refused: %s", sentence);
  CHECK(strstr(linnet_context_error(context), sentence), "'%s', expected '%s'", linnet_context_error(context),
        sentence);
}

static void test_refused(void) {
  static const struct linnet_endpoint_rule rules[] = {
      {.speech = 1}, {.silence = -1}, {.quiet = NAN}, {.length = -0.1, .silence = 1}};
  struct linnet_endpoint_settings settings;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    linnet_endpoint_settings_default(&settings);
    settings.rules = &rules[i];
    settings.num_rules = 1;
    refuse(&settings, "rule 1 needs a silence, quiet or length above 0");
  }
  linnet_endpoint_settings_default(&settings);
  settings.num_rules = 17;
  refuse(&settings, "17 rules, at most 16");
  settings.num_rules = 1;
  settings.rules = NULL;
  refuse(&settings, "num_rules is 1, but rules is NULL");
  linnet_endpoint_settings_default(&settings);
  settings.silence_probability = 0;
  refuse(&settings, "silence_probability is 0");
  settings.silence_probability = 1.5f;
  refuse(&settings, "silence_probability is 1.5");
}

int main(void) {
  context = test_context();
  test_rules();
  test_lookahead();
  test_rounding();
  test_taken();
  test_defaults();
  test_reset();
  test_reset_of_level();
  test_level();
  test_level_not_finite();
  test_refused();
  linnet_context_destroy(context);
  return test_result();
}
