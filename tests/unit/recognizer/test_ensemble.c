/* Recognizers with an ensemble of two models: posteriors are the averages of those of each model alone, with the delay
 * of the second; a model with itself gives its own posteriors, also where silences are removed and with statistics of
 * the speaker; chunks, further utterances and the level change nothing; models that do not fit are refused. */
#include <linnet/recognizer.h>
#include <linnet/stream.h>

#include "recognizer_events.h"
#include "recognizer_models.h"
#include "recognizer_streams.h"
#include "test.h"

enum { SAMPLES = 80000, SYMBOLS = 5, MAX_ROWS = 400 };

#define FOLDER TEST_BINARY_DIR "/ensemble_files"
static struct linnet_context *context;
static float samples[SAMPLES];

static void prepare(void) {
  REQUIRE(system("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'") == 0, "%s", FOLDER);
  make_bursts(samples, SAMPLES);
  memset(samples, 0, SAMPLES / 5 * sizeof *samples); /* a silence at the beginning */
  REQUIRE(write_recognizer_model(FOLDER "/causal.safetensors", true), "no causal model");
  REQUIRE(write_recognizer_model(FOLDER "/model.safetensors", false), "no model");
  REQUIRE(write_silence_model(FOLDER "/silence.safetensors"), "no model that removes silence");
  REQUIRE(write_running_model(FOLDER "/running.safetensors"), "no model with running statistics");
  REQUIRE(write_speaker_model(FOLDER "/speaker.safetensors"), "no model with statistics of speakers");
  REQUIRE(write_other_model(FOLDER "/stack.safetensors", 2, 0), "no model that stacks two frames");
  REQUIRE(write_other_model(FOLDER "/band.safetensors", 3, 4000), "no model with another filterbank");
  REQUIRE(system("cd '" FOLDER "' && sed 's/\\\\\"D\\\\\"/\\\\\"E\\\\\"/' model.safetensors > names.safetensors && "
                 "! cmp -s model.safetensors names.safetensors") == 0,
          "no model with other symbols");
}

/* --- posteriors --------------------------------------------------------------------------------------------------- */

struct rows {
  float values[MAX_ROWS * SYMBOLS];
  size_t count;
};

static int keep_rows(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct rows *rows = user;
  REQUIRE(first == rows->count && first + frames <= MAX_ROWS, "rows %zu to %zu", first, first + frames);
  memcpy(rows->values + first * SYMBOLS, log_posteriors, frames * SYMBOLS * sizeof *log_posteriors);
  rows->count += frames;
  return 0;
}

static struct linnet_recognizer *open_recognizer(const char *json) {
  save_text(FOLDER, "recognizer.json", json);
  return load_recognizer(context, FOLDER "/recognizer.json");
}

/* The posteriors of a recognizer with these settings for the samples from `begin` on. */
static void recognise(const char *json, size_t begin, size_t chunk, const struct linnet_cmvn *speaker,
                      struct rows *rows) {
  struct linnet_recognizer *recognizer = open_recognizer(json);
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  rows->count = 0;
  CHECK(linnet_recognizer_stream_set_sink(stream, keep_rows, rows) == LINNET_OK &&
            linnet_recognizer_stream_set_speaker(stream, speaker) == LINNET_OK &&
            feed_stream(stream, samples + begin, SAMPLES - begin, chunk) == LINNET_OK,
        "%s: %s", json, linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

static void compare(const struct rows *wanted, const struct rows *found, double tolerance, const char *what) {
  double worst = 0;
  CHECK(wanted->count == found->count && found->count > 100, "%s: %zu rows, expected %zu", what, found->count,
        wanted->count);
  for (size_t i = 0; i < wanted->count * SYMBOLS; i++)
    worst = fmax(worst, fabs((double)wanted->values[i] - (double)found->values[i]));
  CHECK(worst <= tolerance, "%s: posteriors differ by %g", what, worst);
}

static struct rows first, second, both, wanted;

/* Averages in double. */
static void average(double weight, size_t delay) {
  wanted.count = first.count;
  for (size_t t = 0; t < first.count; t++) {
    const bool reached = t + delay < second.count;
    double row[SYMBOLS], sum = 0;
    for (size_t i = 0; i < SYMBOLS; i++) {
      const double a = first.values[t * SYMBOLS + i];
      row[i] = reached ? (1 - weight) * a + weight * (double)second.values[(t + delay) * SYMBOLS + i] : a;
      sum += exp(row[i]);
    }
    for (size_t i = 0; i < SYMBOLS; i++)
      wanted.values[t * SYMBOLS + i] = (float)(row[i] - (reached ? log(sum) : 0));
  }
}

#define PAIR(second, weight, delay)                                                                                    \
  "{\"model\": \"model.safetensors\", \"ensemble_model\": \"" second ".safetensors\", \"ensemble_weight\": " weight    \
  ", \"ensemble_delay\": " delay "}"

static void test_averages(void) {
  recognise("{\"model\": \"model.safetensors\"}", 0, SAMPLES, NULL, &first);
  recognise("{\"model\": \"causal.safetensors\"}", 0, SAMPLES, NULL, &second);
  recognise(PAIR("causal", "0.3", "0"), 0, SAMPLES, NULL, &both);
  average(0.3, 0);
  compare(&wanted, &both, 1e-4, "weight 0.3");
  recognise(PAIR("causal", "0.8", "0.06"), 0, 997, NULL, &both);
  average(0.8, 2);
  compare(&wanted, &both, 1e-4, "weight 0.8, delay 0.06 s, chunks");
  recognise(PAIR("causal", "0.3", "0.05"), 0, SAMPLES, NULL, &both);
  average(0.3, 2);
  compare(&wanted, &both, 1e-4, "weight 0.3, a delay of almost two rows");
  recognise(PAIR("causal", "0.5", "10"), 0, SAMPLES, NULL, &both);
  compare(&first, &both, 0, "a delay longer than the utterance");
  recognise(PAIR("missing", "0", "0"), 0, SAMPLES, NULL, &both);
  compare(&first, &both, 0, "weight 0");
}

/* A model with itself. */
static void test_itself(void) {
  static const char *const names[] = {"model", "silence", "speaker"};
  struct linnet_cmvn speaker = {.dim = 40, .count = 1};
  for (size_t d = 0; d < 40; d++)
    speaker.sum[d] = 9, speaker.square[d] = 100;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char alone[512], pair[512];
    snprintf(alone, sizeof alone, "{\"model\": \"%s.safetensors\"}", names[i]);
    snprintf(pair, sizeof pair, "{\"model\": \"%s.safetensors\", \"ensemble_model\": \"%s.safetensors\"}", names[i],
             names[i]);
    recognise(alone, 0, SAMPLES, &speaker, &first);
    recognise(pair, 0, 1600, &speaker, &both);
    compare(&first, &both, 1e-5, names[i]);
  }
  recognise("{\"model\": \"speaker.safetensors\"}", 0, SAMPLES, NULL, &both);
  CHECK(memcmp(first.values, both.values, sizeof *first.values * SYMBOLS * first.count) != 0, "no speaker was set");
}

/* The running statistics of the second model begin at the level of a recording that is soft: still softer samples
 * change nothing. */
static void test_level(void) {
  const size_t begin = SAMPLES / 5; /* without digital silence, which has no level */
  for (size_t i = 0; i < SAMPLES; i++)
    samples[i] /= 256;
  recognise(PAIR("running", "0.5", "0"), begin, SAMPLES, NULL, &wanted);
  for (size_t i = 0; i < SAMPLES; i++)
    samples[i] /= 16;
  recognise(PAIR("running", "0.5", "0"), begin, SAMPLES, NULL, &both);
  compare(&wanted, &both, 1e-3, "24 dB softer");
  recognise("{\"model\": \"model.safetensors\"}", begin, SAMPLES, NULL, &first);
  recognise(PAIR("running", "0.5", "0"), begin, 997, NULL, &wanted);
  compare(&wanted, &both, 0, "24 dB softer, chunks");
  CHECK(memcmp(first.values, both.values, sizeof *first.values * SYMBOLS * first.count) != 0, "no second model");
  for (size_t i = 0; i < SAMPLES; i++)
    samples[i] *= 4096;
}

/* Recordings of a usual level: the running statistics begin with those of the model. */
static void test_usual_level(void) {
  recognise("{\"model\": \"model.safetensors\"}", 0, SAMPLES, NULL, &first);
  recognise("{\"model\": \"running.safetensors\"}", 0, SAMPLES, NULL, &second);
  recognise(PAIR("running", "0.5", "0"), 0, SAMPLES, NULL, &both);
  average(0.5, 0);
  compare(&wanted, &both, 1e-4, "a usual level");
}

/* A stream forgets an utterance. */
static void test_reset(const char *pair) {
  struct linnet_recognizer *recognizer = open_recognizer(pair);
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  CHECK(feed_stream(stream, samples, SAMPLES, SAMPLES) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_recognizer_stream_reset(stream);
  both.count = 0;
  CHECK(linnet_recognizer_stream_set_sink(stream, keep_rows, &both) == LINNET_OK &&
            feed_stream(stream, samples + 20000, SAMPLES - 20000, 5000) == LINNET_OK,
        "%s", linnet_context_error(context));
  recognise(pair, 20000, SAMPLES, NULL, &wanted);
  compare(&wanted, &both, 0, "after another utterance");
  linnet_recognizer_stream_reset(stream);
  CHECK(feed_stream(stream, samples, 0, 1) == LINNET_OK, "nothing: %s", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

static void test_refused(void) {
  static const struct {
    const char *json, *message;
  } cases[] = {
      {PAIR("stack", "0.5", "0"), "ensemble_model: its model stacks 2 frames"},
      {PAIR("band", "0.5", "0"), "ensemble_model: its model has another filterbank"},
      {PAIR("names", "0.5", "0"), "its symbol 4 is \"E\", but that of the first model \"D\""},
      {PAIR("missing", "0.5", "0"), "missing.safetensors: No such file or directory; set ensemble_weight to 0"},
      {PAIR("causal", "1", "0"), "ensemble_weight is 1"},
      {PAIR("causal", "-0.1", "0"), "ensemble_weight is -0.1"},
      {PAIR("causal", "0.5", "-1"), "ensemble_delay is -1"},
      {PAIR("causal", "0.5", "11"), "ensemble_delay is 11"},
      {PAIR("causal", "\"half\"", "0"), "ensemble_weight"},
      {"{\"model\": \"causal.safetensors\", \"ensemble_model\": \"model.safetensors\"}", "while it arrives"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct linnet_recognizer *recognizer = NULL;
    save_text(FOLDER, "refused.json", cases[i].json);
    CHECK(linnet_recognizer_load(context, FOLDER "/refused.json", &recognizer) != LINNET_OK && !recognizer, "%s loads",
          cases[i].json);
    const char *error = linnet_context_error(context);
    CHECK(strstr(error, cases[i].message) && strstr(error, "refused.json"), "'%s', expected '%s'", error,
          cases[i].message);
  }
}

static void check_range(double weight, double delay, const char *message) {
  struct linnet_recognizer_settings settings;
  struct linnet_recognizer *recognizer = NULL;
  linnet_recognizer_settings_default(&settings);
  settings.model.path = FOLDER "/model.safetensors";
  settings.ensemble_weight = weight;
  settings.ensemble_delay = delay;
  CHECK(linnet_recognizer_create(context, &settings, &recognizer) == LINNET_ERROR_ARGUMENT && !recognizer &&
            strstr(linnet_context_error(context), message),
        "%s: %s", message, linnet_context_error(context));
}

static void test_ranges(void) {
  check_range(-1, 0, "ensemble_weight is -1;");
  check_range(NAN, 0, "ensemble_weight is nan;");
  check_range(0.5, 10.5, "ensemble_delay is 10.5;");
  check_range(0.5, NAN, "ensemble_delay is nan;");
}

int main(void) {
  context = test_context();
  prepare();
  test_averages();
  test_itself();
  test_level();
  test_usual_level();
  test_reset(PAIR("causal", "0.5", "0.06"));
  test_reset(PAIR("running", "0.5", "0"));
  test_refused();
  test_ranges();
  linnet_context_destroy(context);
  return test_result();
}
