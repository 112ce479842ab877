/* The calibration recovers a known function, is monotone, and refuses unusable data. A model stores its calibration.
 * A decoder with a calibration reports the calibrated values of its confidences without one. */
#include <linnet/align.h>
#include <linnet/beam.h>
#include <linnet/greedy.h>

#include "random_model.h"
#include "unit/decoder/words/word_cases.h"

enum { COUNT = 200000 };

static double logit(double p) {
  return log(p / (1 - p));
}

/* Results that are right with probability sigmoid(slope * logit(confidence) + offset). */
static void test_recovery(double slope, double offset) {
  static float confidence[COUNT];
  static unsigned char correct[COUNT];
  struct linnet_context *context = test_context();
  struct test_random r = {17};
  for (size_t i = 0; i < COUNT; i++) {
    confidence[i] = (float)(0.5 + 0.49 * test_uniform(&r));
    double p = 1 / (1 + exp(-slope * logit((double)confidence[i]) - offset));
    correct[i] = 0.5 + 0.5 * test_uniform(&r) < p;
  }
  struct linnet_calibration c;
  REQUIRE(linnet_calibration_fit(context, confidence, correct, COUNT, &c) == LINNET_OK, "fit");
  CHECK(fabs(c.slope - slope) <= 0.03 && fabs(c.offset - offset) <= 0.03,
        "slope %g, expected %g; offset %g, expected %g", c.slope, slope, c.offset, offset);
  float last = -1;
  for (int i = 0; i <= 100; i++) {
    float value = linnet_calibrate(&c, (float)i / 100);
    CHECK(value >= last && value >= 0 && value <= 1, "%g after %g", (double)value, (double)last);
    last = value;
  }
  linnet_context_destroy(context);
}

static void test_refusals(void) {
  struct linnet_context *context = test_context();
  struct linnet_calibration c = {2, 3};
  const float confidence[4] = {0, 0.2f, 0.9f, 1};
  const unsigned char right[4] = {1, 1, 1, 1}, apart[4] = {0, 0, 1, 1}, against[4] = {1, 1, 0, 0};
  CHECK(linnet_calibration_fit(context, confidence, right, 4, &c) == LINNET_ERROR_ARGUMENT, "all right");
  CHECK(linnet_calibration_fit(context, confidence, right, 0, &c) == LINNET_ERROR_ARGUMENT, "nothing");
  const float bad_values[] = {NAN, 7, -0.1f, INFINITY};
  for (size_t i = 0; i < sizeof bad_values / sizeof *bad_values; i++) {
    const float wrong[4] = {0, 0.2f, bad_values[i], 1};
    CHECK(linnet_calibration_fit(context, wrong, apart, 4, &c) == LINNET_ERROR_ARGUMENT &&
              strstr(linnet_context_error(context), "confidence 2 of 4"),
          "confidence %g: %s", (double)bad_values[i], linnet_context_error(context));
  }
  CHECK(c.slope == 2 && c.offset == 3, "changed by a failure");
  CHECK(linnet_calibration_fit(context, confidence, apart, 4, &c) == LINNET_OK && isfinite(c.slope), "separable");
  CHECK(linnet_calibration_fit(context, confidence, against, 4, &c) == LINNET_OK && c.slope > 0, "never falling");
  static const char *const bad[] = {"",
                                    "{}",
                                    "{\"slope\": 1}",
                                    "{\"slope\": 0, \"offset\": 1}",
                                    "[1, 2]",
                                    "{\"slope\": \"1\", \"offset\": 1}",
                                    "{\"slope\": 1, \"offset\": 1, \"more\": 1}"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(linnet_calibration_parse(context, bad[i], "m", &c) == LINNET_ERROR_FORMAT, "accepted %s", bad[i]);
  CHECK(linnet_calibration_parse(context, NULL, "m", &c) == LINNET_OK && linnet_calibrate(&c, 0.3f) == 0.3f, "none");
  CHECK(linnet_calibration_parse(context, "{\"slope\": 0.5, \"offset\": -1}", "m", &c) == LINNET_OK && c.slope == 0.5 &&
            c.offset == -1,
        "a good one");
  CHECK(linnet_calibration_parse(context, "{}", NULL, &c) == LINNET_ERROR_ARGUMENT &&
            linnet_calibration_parse(context, "{}", "m", NULL) == LINNET_ERROR_ARGUMENT &&
            linnet_calibration_parse(NULL, "{}", "m", &c) == LINNET_ERROR_ARGUMENT,
        "NULL arguments of parse");
  CHECK(linnet_calibration_fit(context, NULL, apart, 4, &c) == LINNET_ERROR_ARGUMENT &&
            linnet_calibration_fit(context, confidence, NULL, 4, &c) == LINNET_ERROR_ARGUMENT &&
            linnet_calibration_fit(context, confidence, apart, 4, NULL) == LINNET_ERROR_ARGUMENT,
        "NULL arguments of fit");
  linnet_context_destroy(context);
}

/* --- models ------------------------------------------------------------------------------------------------------- */

#define MAP(slope, offset) "{\"slope\": " #slope ", \"offset\": " #offset "}"

static void check_maps(struct linnet_context *context, const struct linnet_metadata *metadata,
                       struct linnet_calibrations wanted) {
  struct linnet_config config = small_config(context, "{}");
  struct linnet_model *model = random_model_with(context, &config, 1, 1, LINNET_CMVN_NONE, metadata);
  const struct linnet_calibrations *got = linnet_model_calibrations(model);
  CHECK(got->phones.slope == wanted.phones.slope && got->phones.offset == wanted.phones.offset, "phones: %g, %g",
        got->phones.slope, got->phones.offset);
  CHECK(got->words.slope == wanted.words.slope && got->words.offset == wanted.words.offset, "words: %g, %g",
        got->words.slope, got->words.offset);
  linnet_model_destroy(model);
}

/* Makes the slope 0, or calls it something else. */
static void damage(char *slope, const char *end, bool rename) {
  if (rename) {
    memcpy(slope, "shape", 5);
    return;
  }
  for (slope = memchr(slope, ':', (size_t)(end - slope)); slope && slope < end && *slope != ','; slope++)
    *slope = *slope >= '1' && *slope <= '9' ? '0' : *slope;
}

/* The model that ships with a damaged fit, which is the value of `key` in its header. */
static void check_refusal(struct linnet_context *context, const char *key, bool rename, const char *message) {
  static const char path[] = TEST_SOURCE_DIR "/models/english/phones.safetensors";
  struct linnet_model *model = NULL;
  FILE *file = fopen(path, "rb");
  size_t bytes = (size_t)1 << 24;
  char *data = calloc(bytes, 1);
  REQUIRE(file && data, "%s: cannot read", path);
  bytes = fread(data, 1, bytes - 1, file);
  fclose(file);
  char *fit = bytes > 8 ? strstr(data + 8, key) : NULL,
       *slope = fit ? strstr(fit, "slope") : NULL; /* JSON from byte 8 */
  REQUIRE(slope, "%s: no slope after %s", path, key);
  damage(slope, slope + 40, rename);
  CHECK(linnet_model_load_memory(context, data, bytes, "m", &model) == LINNET_ERROR_FORMAT && !model, "%s: loaded",
        key);
  CHECK(strstr(linnet_context_error(context), message), "\"%s\" without \"%s\"", linnet_context_error(context),
        message);
  free(data);
}

static void test_models(void) {
  struct linnet_context *context = test_context();
  static const struct linnet_metadata both[] = {
      {LINNET_WORD_CALIBRATION_KEY, MAP(3, 0.25)}, {LINNET_CALIBRATION_KEY, MAP(0.5, -1)}, {NULL, NULL}};
  check_maps(context, NULL, (struct linnet_calibrations){{1, 0}, {1, 0}});
  check_maps(context, both, (struct linnet_calibrations){{0.5, -1}, {3, 0.25}});
  check_maps(context, &both[1], (struct linnet_calibrations){{0.5, -1}, {1, 0}});
  check_refusal(context, "\"confidence\"", false, "m: confidence: ");
  check_refusal(context, "\"word_confidence\"", true, "m: word_confidence: ");
  linnet_context_destroy(context);
}

/* --- decoders ----------------------------------------------------------------------------------------------------- */

enum { FRAMES = 40, MAX_SEGMENTS = 100 };
static const struct linnet_calibrations maps = {{0.7, -0.4}, {1.5, 0.3}};

/* The confidences that a decoder reports. */
struct report {
  float phones[MAX_SEGMENTS], words[MAX_SEGMENTS];
  size_t num_phones, num_words;
};

/* The results of a decoder for log-posteriors (FRAMES, CASE_SYMBOLS). */
typedef void (*decode_fn)(struct linnet_context *context, const float *rows, const struct linnet_calibrations *given,
                          struct report *report);

static void take_segments(const struct linnet_segment *segments, size_t count, struct report *report) {
  REQUIRE(report->num_phones + count <= MAX_SEGMENTS, "%zu segments more", count);
  for (size_t i = 0; i < count; i++)
    report->phones[report->num_phones++] = segments[i].confidence;
}

static void decode_greedily(struct linnet_context *context, const float *rows, const struct linnet_calibrations *given,
                            struct report *report) {
  struct linnet_greedy *greedy = NULL;
  size_t count = 0;
  REQUIRE(linnet_greedy_create(context, CASE_SYMBOLS, &greedy) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_greedy_set_calibrations(greedy, given) == LINNET_OK, "set");
  CHECK(linnet_greedy_accept(greedy, rows, FRAMES) == LINNET_OK, "accept");
  CHECK(linnet_greedy_set_calibrations(greedy, given) == LINNET_ERROR_STATE, "set within an utterance");
  const struct linnet_segment *segments = linnet_greedy_segments(greedy, &count);
  take_segments(segments, count, report);
  linnet_greedy_destroy(greedy);
}

static void decode_by_beam(struct linnet_context *context, const float *rows, const struct linnet_calibrations *given,
                           struct report *report) {
  struct linnet_beam_settings settings;
  struct linnet_beam *beam = NULL;
  struct linnet_hypothesis h;
  linnet_beam_settings_default(&settings);
  settings.calibrations = given;
  REQUIRE(linnet_beam_create(context, CASE_SYMBOLS, &settings, &beam) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_beam_accept(beam, rows, FRAMES) == LINNET_OK && linnet_beam_finish(beam) == LINNET_OK, "beam");
  for (size_t i = 0; i < 3 && linnet_beam_hypothesis(beam, i, &h) == LINNET_OK; i++)
    take_segments(h.segments, h.num_segments, report);
  linnet_beam_destroy(beam);
}

/* By a search that shares another's tree and settings. */
static void decode_words(struct linnet_context *context, const float *rows, const struct linnet_calibrations *given,
                         struct report *report) {
  struct linnet_calibrations copy = given ? *given : maps;
  struct linnet_word_search_settings settings;
  struct linnet_word_search *first = NULL, *search = NULL;
  struct linnet_word_hypothesis h;
  struct word_case words = {.probable = false};
  struct test_random r = {3};
  make_word_case(&words, context, &r, 3);
  linnet_word_search_settings_default(&settings);
  settings.unknown_penalty = 1;
  settings.calibrations = given ? &copy : NULL;
  REQUIRE(linnet_word_search_create(context, words.lexicon, CASE_SYMBOLS, &settings, &first) == LINNET_OK, "%s",
          linnet_context_error(context));
  copy.phones.slope = -1; /* the settings were copied */
  REQUIRE(linnet_word_search_share(context, first, &search) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_word_search_accept(search, rows, FRAMES) == LINNET_OK, "accept");
  CHECK(linnet_word_search_finish(search) == LINNET_OK, "finish");
  for (size_t again = 0; again < 2 && linnet_word_search_hypothesis(search, 0, &h) == LINNET_OK; again++) {
    take_segments(h.segments, h.num_segments, report);
    for (size_t i = 0; i < h.num_words; i++)
      report->words[report->num_words++] = h.words[i].confidence;
  }
  linnet_word_search_destroy(search);
  linnet_word_search_destroy(first);
  release_word_case(&words);
}

static void decode_by_alignment(struct linnet_context *context, const float *rows,
                                const struct linnet_calibrations *given, struct report *report) {
  static const int labels[] = {1, 2, 3, 1};
  static const struct linnet_pronunciation variants[] = {{labels, 3}, {labels + 3, 1}};
  static const struct linnet_align_word words[] = {{&variants[0], 1}, {&variants[1], 1}};
  struct linnet_align_settings settings;
  struct linnet_alignment *alignment = NULL;
  linnet_align_settings_default(&settings);
  settings.calibrations = given;
  REQUIRE(linnet_alignment_create(context, rows, FRAMES, CASE_SYMBOLS, words, 2, &settings, &alignment) == LINNET_OK,
          "%s", linnet_context_error(context));
  const struct linnet_aligned_phone *phones = linnet_alignment_phones(alignment, &report->num_phones);
  const struct linnet_aligned_word *aligned = linnet_alignment_words(alignment, &report->num_words);
  for (size_t i = 0; i < report->num_phones; i++)
    report->phones[i] = phones[i].confidence;
  for (size_t i = 0; i < report->num_words; i++)
    report->words[i] = aligned[i].confidence;
  linnet_alignment_destroy(alignment);
}

static const struct {
  const char *name;
  decode_fn decode;
  bool words;
} decoders[] = {{"greedy", decode_greedily, false},
                {"beam", decode_by_beam, false},
                {"words", decode_words, true},
                {"alignment", decode_by_alignment, true}};

static void compare(const char *name, const struct linnet_calibration *map, const float *raw, const float *got,
                    size_t count) {
  for (size_t i = 0; i < count; i++)
    CHECK(got[i] == linnet_calibrate(map, raw[i]) && got[i] != raw[i], "%s: %g of %g", name, (double)got[i],
          (double)raw[i]);
}

static void test_decoders(void) {
  struct linnet_context *context = test_context();
  float rows[FRAMES * CASE_SYMBOLS];
  fill_posteriors(&(struct test_random){5}, rows, FRAMES, CASE_SYMBOLS, 4);
  for (size_t d = 0; d < sizeof decoders / sizeof *decoders; d++) {
    struct report raw = {.num_phones = 0}, got = raw;
    decoders[d].decode(context, rows, NULL, &raw);
    decoders[d].decode(context, rows, &maps, &got);
    REQUIRE(raw.num_phones > 0 && raw.num_phones == got.num_phones && raw.num_words == got.num_words &&
                (raw.num_words > 0) == decoders[d].words,
            "%s: %zu and %zu phones, %zu and %zu words", decoders[d].name, raw.num_phones, got.num_phones,
            raw.num_words, got.num_words);
    compare(decoders[d].name, &maps.phones, raw.phones, got.phones, raw.num_phones);
    compare(decoders[d].name, &maps.words, raw.words, got.words, raw.num_words);
  }
  linnet_context_destroy(context);
}

/* Invalid calibrations. */
static void test_bad_maps(void) {
  static const struct linnet_calibrations bad[] = {
      {{0, 0}, {1, 0}}, {{1, 0}, {-1, 0}}, {{NAN, 0}, {1, 0}}, {{1, INFINITY}, {1, 0}}, {{1, 0}, {INFINITY, 0}}};
  struct linnet_context *context = test_context();
  struct linnet_greedy *greedy = NULL;
  struct word_case words = {.probable = false};
  make_word_case(&words, context, &(struct test_random){3}, 3);
  REQUIRE(linnet_greedy_create(context, 3, &greedy) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct linnet_beam_settings beam;
    struct linnet_word_search_settings search;
    struct linnet_align_settings align;
    struct linnet_beam *b;
    struct linnet_word_search *s;
    struct linnet_alignment *a;
    linnet_beam_settings_default(&beam);
    linnet_word_search_settings_default(&search);
    linnet_align_settings_default(&align);
    beam.calibrations = search.calibrations = align.calibrations = &bad[i];
    CHECK(linnet_greedy_set_calibrations(greedy, &bad[i]) == LINNET_ERROR_ARGUMENT, "greedy took map %zu", i);
    CHECK(linnet_beam_create(context, 3, &beam, &b) == LINNET_ERROR_ARGUMENT && !b, "beam took map %zu", i);
    CHECK(linnet_word_search_create(context, words.lexicon, CASE_SYMBOLS, &search, &s) == LINNET_ERROR_ARGUMENT && !s,
          "words took map %zu", i);
    CHECK(linnet_alignment_create(context, NULL, 0, 3, NULL, 0, &align, &a) == LINNET_ERROR_ARGUMENT && !a,
          "alignment took map %zu", i);
    CHECK(strstr(linnet_context_error(context), "slopes must be above 0"), "%s", linnet_context_error(context));
  }
  release_word_case(&words);
  linnet_greedy_destroy(greedy);
  linnet_context_destroy(context);
}

int main(void) {
  test_models();
  test_decoders();
  test_bad_maps();
  test_recovery(1, 0);
  test_recovery(0.5, -0.7);
  test_recovery(2, 1);
  test_refusals();
  return test_result();
}
