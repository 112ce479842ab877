/* Live samples at other rates than the model's: the results are those of a file of that rate, for any division of the
 * samples, alone and in a batch; after a reset, too. */
#include <linnet/recognizer.h>

#include "recognizer_events.h"
#include "recognizer_models.h"
#include "recognizer_streams.h"
#include "test.h"

enum { SECONDS = 2, MAX_SAMPLES = 48000 * SECONDS };

#define FOLDER TEST_BINARY_DIR "/input_rate_files"

static struct linnet_context *context;
static struct linnet_recognizer *recognizer;
static float samples[MAX_SAMPLES]; /* whole numbers */
static const double rates[] = {8000, 16000, 22050, 44100, 48000};
enum { RATES = sizeof rates / sizeof *rates };

static void prepare(void) {
  static int16_t raw[MAX_SAMPLES];
  REQUIRE(system("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'") == 0, "%s", FOLDER);
  make_bursts(samples, MAX_SAMPLES);
  for (size_t i = 0; i < MAX_SAMPLES; i++)
    samples[i] = raw[i] = (int16_t)samples[i];
  FILE *file = fopen(FOLDER "/speech.raw", "wb");
  REQUIRE(file && fwrite(raw, sizeof raw, 1, file) == 1 && fclose(file) == 0, "speech.raw");
  REQUIRE(write_recognizer_model(FOLDER "/causal.safetensors", true), "no causal model");
  save_text(FOLDER, "lexicon", "AB A B\nBA B A\nC C\nCA C A\nD D\nDAB D A B\nBD B D\n");
  save_text(FOLDER, "recognizer.json",
            "{\"model\": \"causal.safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", \"beam\": 20}");
  recognizer = load_recognizer(context, FOLDER);
}

static struct linnet_recognizer_stream *open_at(double rate) {
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  CHECK(linnet_recognizer_stream_set_sample_rate(stream, rate) == LINNET_OK, "%s", linnet_context_error(context));
  return stream;
}

/* The samples as a file of this rate, which the reader of audio resamples. */
static void expect(double rate, char text[8192]) {
  struct linnet_audio_settings settings;
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  const struct linnet_result *result = NULL;
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_S16LE;
  settings.raw_rate = rate;
  REQUIRE(linnet_recognizer_stream_run_file(stream, FOLDER "/speech.raw", &settings, &result) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(fabs(result->seconds - MAX_SAMPLES / rate) < 1e-3, "%g s at %g Hz", result->seconds, rate);
  describe(result, 0, text, 8192);
  linnet_recognizer_stream_destroy(stream);
}

static void check_result(struct linnet_recognizer_stream *stream, double rate, const char *what, const char *expected) {
  const struct linnet_result *result = NULL;
  char text[8192];
  REQUIRE(linnet_recognizer_stream_result(stream, &result) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(result->is_final && fabs(result->seconds - MAX_SAMPLES / rate) < 1e-3, "%g s at %g Hz", result->seconds, rate);
  struct linnet_output output = {.size = sizeof output, .seconds = 9};
  CHECK(linnet_result_describe(result, 0, &output) == LINNET_OK && output.seconds == result->seconds,
        "%g s are described as %g", result->seconds, output.seconds);
  describe(result, 0, text, sizeof text);
  CHECK(strcmp(text, expected) == 0, "%g Hz, %s: %s\nfile: %s", rate, what, text, expected);
}

static int count_rows(void *user, const float *log_posteriors, size_t first, size_t frames) {
  (void)log_posteriors;
  *(size_t *)user = first + frames;
  return 0;
}

/* The audio that a stream has accepted counts, also what its resampler still keeps, which is little: stream.h has the
 * times. Returns the longest time by which the rows of posteriors are late. */
static double latest_row(struct linnet_recognizer_stream *stream, double rate) {
  const size_t chunk = (size_t)(rate / 100);
  const double row = linnet_model_frame_seconds(linnet_recognizer_model(recognizer));
  const struct linnet_result *result = NULL;
  size_t rows = 0;
  double latest = 0;
  CHECK(linnet_recognizer_stream_set_sink(stream, count_rows, &rows) == LINNET_OK, "sink");
  for (size_t done = 0; done + chunk <= MAX_SAMPLES; done += chunk) {
    const double seconds = (double)(done + chunk) / rate;
    CHECK(linnet_recognizer_stream_accept(stream, samples + done, chunk) == LINNET_OK, "a part");
    CHECK(fabs(linnet_recognizer_stream_seconds(stream) - seconds) < 1e-9, "%g of %g s",
          linnet_recognizer_stream_seconds(stream), seconds);
    CHECK(linnet_recognizer_stream_result(stream, &result) == LINNET_OK && fabs(result->seconds - seconds) < 1e-9,
          "a result of %g of %g s", result->seconds, seconds);
    latest = fmax(latest, seconds - (double)rows * row);
  }
  CHECK(linnet_recognizer_stream_set_sink(stream, NULL, NULL) == LINNET_OK, "no sink");
  return latest;
}

static void check_delay(struct linnet_recognizer_stream *stream, double rate) {
  struct linnet_recognizer_stream *at_model_rate = open_at(16000);
  const double late = latest_row(stream, rate) - latest_row(at_model_rate, 16000);
  CHECK(late <= (rate >= 44100 ? 0.041 : 0.12) + 0.01, "%g Hz: %g s late", rate, late);
  linnet_recognizer_stream_destroy(at_model_rate);
}

static void test_rate(double rate) {
  static const size_t chunks[] = {160, 4801, MAX_SAMPLES};
  char expected[8192];
  expect(rate, expected);
  struct linnet_recognizer_stream *stream = open_at(rate);
  for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
    CHECK(feed_stream(stream, samples, MAX_SAMPLES, chunks[i]) == LINNET_OK, "%s", linnet_context_error(context));
    check_result(stream, rate, "chunks", expected);
    linnet_recognizer_stream_reset(stream);
  }
  check_delay(stream, rate);
  linnet_recognizer_stream_reset(stream);
  CHECK(feed_stream(stream, samples, MAX_SAMPLES, 1000) == LINNET_OK, "%s", linnet_context_error(context));
  check_result(stream, rate, "after a part that was dropped", expected);
  linnet_recognizer_stream_destroy(stream);
}

/* Streams of all rates in one batch. */
static void test_batch(void) {
  struct linnet_recognizer_batch *batch = NULL;
  struct linnet_recognizer_input inputs[RATES] = {{.stream = NULL}};
  char expected[8192];
  REQUIRE(linnet_recognizer_batch_create(context, recognizer, 0, &batch) == LINNET_OK, "%s",
          linnet_context_error(context));
  for (size_t i = 0; i < RATES; i++) {
    REQUIRE(linnet_recognizer_batch_open(batch, &inputs[i].stream) == LINNET_OK, "%s", linnet_context_error(context));
    linnet_recognizer_stream_set_sample_rate(inputs[i].stream, rates[i]);
  }
  for (size_t done = 0; done < MAX_SAMPLES; done += 6000) {
    for (size_t i = 0; i < RATES; i++) {
      inputs[i].samples = samples + done;
      inputs[i].num_samples = 6000;
      inputs[i].finish = done + 6000 == MAX_SAMPLES;
    }
    CHECK(linnet_recognizer_batch_step(batch, inputs, RATES) == LINNET_OK, "%s", linnet_context_error(context));
  }
  for (size_t i = 0; i < RATES; i++) {
    expect(rates[i], expected);
    check_result(inputs[i].stream, rates[i], "in a batch", expected);
    linnet_recognizer_stream_destroy(inputs[i].stream);
  }
  linnet_recognizer_batch_destroy(batch);
}

static void test_errors(void) {
  static const double bad[] = {0, -16000, 999, 400000, NAN, INFINITY};
  const float wrong[3] = {1, NAN, 2};
  struct linnet_recognizer_stream *stream = open_at(48000);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(linnet_recognizer_stream_set_sample_rate(stream, bad[i]) == LINNET_ERROR_ARGUMENT, "%g Hz", bad[i]);
  CHECK(linnet_recognizer_stream_accept(stream, wrong, 3) == LINNET_ERROR_ARGUMENT, "a sample that is NaN");
  CHECK(linnet_recognizer_stream_set_sample_rate(stream, 44100) == LINNET_OK, "nothing was taken");
  CHECK(linnet_recognizer_stream_accept(stream, samples, 10) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_recognizer_stream_set_sample_rate(stream, 48000) == LINNET_ERROR_STATE, "within an utterance");
  linnet_recognizer_stream_reset(stream);
  CHECK(linnet_recognizer_stream_set_sample_rate(stream, 48000) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
}

/* Features and samples do not mix, and an utterance may be empty. */
static void test_others(void) {
  static const float features[80];
  struct linnet_recognizer_stream *stream = open_at(48000);
  const struct linnet_result *result = NULL;
  struct linnet_feature_config config;
  linnet_model_features(linnet_recognizer_model(recognizer), &config);
  const size_t dim = config.fbank.num_mel;
  CHECK(linnet_recognizer_stream_accept(stream, samples, 10) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_recognizer_stream_accept_features(stream, features, 1, dim) == LINNET_ERROR_STATE, "features");
  CHECK(linnet_recognizer_stream_finish(stream) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_recognizer_stream_reset(stream);
  CHECK(linnet_recognizer_stream_accept_features(stream, features, 1, dim) == LINNET_OK, "features");
  CHECK(linnet_recognizer_stream_accept(stream, samples, 10) == LINNET_ERROR_STATE, "samples after features");
  linnet_recognizer_stream_reset(stream);
  CHECK(linnet_recognizer_stream_finish(stream) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_recognizer_stream_result(stream, &result) == LINNET_OK && result->is_final && result->seconds == 0,
        "an empty utterance");
  linnet_recognizer_stream_destroy(stream);
}

/* Files have the rate that their settings say. */
static void test_file(void) {
  struct linnet_recognizer_stream *stream = open_at(8000);
  struct linnet_audio_settings settings;
  const struct linnet_result *result = NULL;
  char expected[8192];
  expect(48000, expected);
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_S16LE;
  settings.raw_rate = 48000;
  CHECK(linnet_recognizer_stream_run_file(stream, FOLDER "/speech.raw", &settings, &result) == LINNET_OK, "%s",
        linnet_context_error(context));
  check_result(stream, 48000, "a file on a stream of 8 kHz", expected);
  linnet_recognizer_stream_reset(stream);
  expect(8000, expected);
  CHECK(feed_stream(stream, samples, MAX_SAMPLES, 1000) == LINNET_OK, "%s", linnet_context_error(context));
  check_result(stream, 8000, "after the file", expected);
  linnet_recognizer_stream_destroy(stream);
}

int main(void) {
  REQUIRE(linnet_context_create(NULL, &context) == LINNET_OK, "no context");
  prepare();
  for (size_t i = 0; i < RATES; i++)
    test_rate(rates[i]);
  test_batch();
  test_errors();
  test_others();
  test_file();
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(context);
  return test_result();
}
