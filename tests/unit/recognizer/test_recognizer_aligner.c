/* Aligners with the pronunciations of a recognizer: those of the models that ship; lexicon, g2p model and rules that
 * the settings name or that lie in the folder; what is missing is refused. A recording that is aligned. */
#include <limits.h>
#include <math.h>

#include <linnet/recognizer.h>

#include "recognizer_events.h"
#include "recognizer_models.h"
#include "recognizer_streams.h"
#include "test.h"

#define FOLDER TEST_BINARY_DIR "/aligner_files"
#define MODELS TEST_SOURCE_DIR "/models"
static struct linnet_context *context;

/* A recognizer for phones: its search has nothing to do with the aligner. */
static struct linnet_recognizer *phone_recognizer(const char *model) {
  struct linnet_recognizer_settings settings;
  struct linnet_recognizer *recognizer = NULL;
  linnet_recognizer_settings_default(&settings);
  settings.model.path = model;
  REQUIRE(linnet_recognizer_create(context, &settings, &recognizer) == LINNET_OK, "%s", linnet_context_error(context));
  return recognizer;
}

/* Whether each word of the text is known, guessed or unknown, as letters k, g and u. */
static void check_words(const struct linnet_recognizer *recognizer, const char *path,
                        const struct linnet_text_aligner_settings *settings, const char *words, const char *expected) {
  struct linnet_text_aligner *aligner = NULL;
  struct linnet_aligned_text *text = NULL;
  char got[16] = "";
  size_t count = 0;
  REQUIRE(linnet_recognizer_load_aligner(context, recognizer, path, settings, &aligner) == LINNET_OK, "%s: %s", path,
          linnet_context_error(context));
  REQUIRE(linnet_aligned_text_create(context, aligner, words, "text", &text) == LINNET_OK, "%s: %s", path,
          linnet_context_error(context));
  const struct linnet_written_word *written = linnet_aligned_text_words(text, &count);
  for (size_t i = 0; i < count && i + 1 < sizeof got; i++)
    got[i] = "kgu"[written[i].source];
  CHECK(strcmp(got, expected) == 0, "%s: '%s' is %s, not %s", path ? path : "no path", words, got, expected);
  linnet_aligned_text_destroy(text);
  linnet_text_aligner_destroy(aligner);
}

static void check_refused(const struct linnet_recognizer *recognizer, const char *path, enum linnet_status wanted,
                          const char *message) {
  struct linnet_text_aligner *aligner = NULL;
  const enum linnet_status status = linnet_recognizer_load_aligner(context, recognizer, path, NULL, &aligner);
  CHECK(status == wanted && !aligner, "%s: status %d", path, (int)status);
  CHECK(strstr(linnet_context_error(context), message), "%s: '%s', expected '%s'", path, linnet_context_error(context),
        message);
}

/* Numbers are known by the rules, "zzyxq" is in no lexicon. */
static void test_shipped(void) {
  static const char words[] = "sun 25 zzyxq";
  struct linnet_recognizer *recognizer = phone_recognizer(MODELS "/english-live/phones.safetensors");
  check_words(recognizer, MODELS "/english", NULL, words, "kkg");
  check_words(recognizer, MODELS "/english-live", NULL, words, "kkg");
  check_words(recognizer, MODELS "/english-live/recognizer.json", NULL, words, "kkg");
  save_text(FOLDER, "recognizer.json", "{\"model\": \"m\", \"lexicon\": \"" MODELS "/english/lexicon.txt\"}");
  check_words(recognizer, FOLDER, NULL, words, "kkg"); /* with what is beside the lexicon */
  save_text(FOLDER, "recognizer.json", "{\"model\": \"m\", \"g2p\": \"" MODELS "/english/g2p.bin\"}");
  check_words(recognizer, FOLDER, NULL, "sun zzyxq", "gg");
  save_text(FOLDER, "lexicon.txt", "SUN S AH N\n");
  check_words(recognizer, FOLDER, NULL, "sun zzyxq", "kg");
  linnet_recognizer_destroy(recognizer);
}

/* Files of a folder without settings, and the settings of the call before those of the folder. */
static void test_folder(const struct linnet_recognizer *recognizer) {
  struct linnet_text_aligner_settings settings;
  static const char lexicon[] = "CA C A\n";
  REQUIRE(system("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "/empty'") == 0, "%s", FOLDER);
  save_text(FOLDER, "lexicon.txt", "AB A B\n");
  check_words(recognizer, FOLDER, NULL, "ab ca", "ku");
  linnet_text_aligner_settings_default(&settings);
  settings.lexicon.data = lexicon;
  settings.lexicon.bytes = sizeof lexicon - 1;
  check_words(recognizer, FOLDER, &settings, "ab ca", "uk");
  check_words(recognizer, FOLDER "/empty", &settings, "ab ca", "uk");
  check_words(recognizer, NULL, &settings, "ab ca", "uk");
  check_words(recognizer, NULL, NULL, "ab", "u");
}

static void test_refused(const struct linnet_recognizer *recognizer) {
  char longer[PATH_MAX + 64] = "";
  check_refused(recognizer, FOLDER "/nowhere", LINNET_ERROR_IO, "nowhere: No such file or directory");
  check_refused(recognizer, FOLDER "/empty", LINNET_ERROR_ARGUMENT, "name a lexicon or a g2p in the settings");
  save_text(FOLDER "/empty", "recognizer.json", "{\"model\": \"m\"}");
  check_refused(recognizer, FOLDER "/empty", LINNET_ERROR_ARGUMENT, "no lexicon.txt and no g2p.bin");
  save_text(FOLDER "/empty", "recognizer.json", "{\"model\": \"m\", \"lexicon\": \"nothing\"}");
  check_refused(recognizer, FOLDER "/empty", LINNET_ERROR_IO, "empty/nothing");
  save_text(FOLDER "/empty", "recognizer.json", "{\"model\"");
  check_refused(recognizer, FOLDER "/empty", LINNET_ERROR_FORMAT, "recognizer.json: malformed JSON");
  snprintf(longer, sizeof longer, "{\"model\": \"m\", \"lexicon\": \"%0*d\"}", PATH_MAX, 0);
  save_text(FOLDER "/empty", "recognizer.json", longer);
  check_refused(recognizer, FOLDER "/empty", LINNET_ERROR_IO, "the path of its lexicon is too long");
}

/* --- a recording -------------------------------------------------------------------------------------------------- */

enum { LENGTH = 24000, MAX_FRAMES = 400, MAX_SYMBOLS = 16 };

static struct {
  float values[MAX_FRAMES][MAX_SYMBOLS];
  size_t frames;
} rows;

static int keep_rows(void *user, const float *log_posteriors, size_t first, size_t frames) {
  const size_t symbols = *(const size_t *)user;
  REQUIRE(first + frames <= MAX_FRAMES && symbols <= MAX_SYMBOLS, "%zu frames of %zu symbols", first + frames, symbols);
  memcpy((float *)rows.values + first * symbols, log_posteriors, frames * symbols * sizeof *log_posteriors);
  rows.frames = first + frames;
  return 0;
}

static struct linnet_audio *open_audio(const int16_t *samples, double rate) {
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_S16LE;
  settings.raw_rate = 16000;
  settings.sample_rate = rate;
  REQUIRE(linnet_audio_open_memory(context, samples, LENGTH * sizeof *samples, &settings, &audio) == LINNET_OK, "%s",
          linnet_context_error(context));
  return audio;
}

/* The same by the posteriors of a stream of the recognizer. */
static double align_by_rows(const struct linnet_recognizer *recognizer, struct linnet_audio *audio,
                            struct linnet_aligned_text *text) {
  const struct linnet_model *model = linnet_recognizer_model(recognizer);
  size_t symbols = linnet_model_num_symbols(model);
  struct linnet_recognizer_stream *stream = NULL;
  const struct linnet_result *result = NULL;
  REQUIRE(linnet_recognizer_stream_create(context, recognizer, &stream) == LINNET_OK &&
              linnet_recognizer_stream_set_sink(stream, keep_rows, &symbols) == LINNET_OK &&
              linnet_recognizer_stream_run(stream, audio, &result) == LINNET_OK,
          "%s", linnet_context_error(context));
  const double seconds = result->seconds;
  CHECK(linnet_aligned_text_align(text, (float *)rows.values, rows.frames, linnet_model_frame_seconds(model), seconds,
                                  NULL) == LINNET_OK,
        "%s", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
  return seconds;
}

static void describe_words(const struct linnet_aligned_text *text, double seconds, char described[256]) {
  struct linnet_output output = {.size = sizeof output};
  REQUIRE(linnet_aligned_text_describe(text, &output) == LINNET_OK, "%s", linnet_context_error(context));
  int at = snprintf(described, 256, "%.6f s:", seconds);
  for (size_t i = 0; i < output.num_words; i++)
    at += snprintf(described + at, 256 - (size_t)at, " %s %.6f %.6f %.6f", output.words[i].text, output.words[i].start,
                   output.words[i].end, (double)output.words[i].confidence);
}

/* linnet_recognizer_align gives what the posteriors of a stream give. */
static void test_recording(const struct linnet_recognizer *recognizer) {
  static int16_t samples[LENGTH];
  struct linnet_text_aligner *aligner = NULL;
  struct linnet_aligned_text *text = NULL;
  char expected[256], got[256];
  double seconds = 0;
  for (int i = 0; i < LENGTH; i++)
    samples[i] = (int16_t)(6000 * sin(i * (0.05 + 0.03 * (i / 4000))));
  REQUIRE(linnet_recognizer_load_aligner(context, recognizer, FOLDER, NULL, &aligner) == LINNET_OK &&
              linnet_aligned_text_create(context, aligner, "ab ab", "text", &text) == LINNET_OK,
          "%s", linnet_context_error(context));
  struct linnet_audio *audio = open_audio(samples, 16000);
  describe_words(text, align_by_rows(recognizer, audio, text), expected);
  linnet_audio_destroy(audio);
  audio = open_audio(samples, 16000);
  CHECK(linnet_recognizer_align(context, recognizer, audio, NULL, text, &seconds) == LINNET_OK, "%s",
        linnet_context_error(context));
  linnet_audio_destroy(audio);
  describe_words(text, seconds, got);
  CHECK(strcmp(expected, got) == 0, "%s, by the posteriors %s", got, expected);
  audio = open_audio(samples, 8000);
  CHECK(linnet_recognizer_align(context, recognizer, audio, NULL, text, &seconds) == LINNET_ERROR_ARGUMENT &&
            strstr(linnet_context_error(context), "8000 samples a second"),
        "%s", linnet_context_error(context));
  linnet_aligned_text_destroy(text);
  linnet_text_aligner_destroy(aligner);
  static const char *const others[] = {"<blank>", "X", "Y"};
  REQUIRE(linnet_text_aligner_create(context, others, 3, NULL, &aligner) == LINNET_OK &&
              linnet_aligned_text_create_phones(context, aligner, "X Y", "text", &text) == LINNET_OK,
          "%s", linnet_context_error(context));
  linnet_audio_destroy(audio);
  audio = open_audio(samples, 16000);
  CHECK(linnet_recognizer_align(context, recognizer, audio, NULL, text, &seconds) == LINNET_ERROR_ARGUMENT &&
            strstr(linnet_context_error(context), "other symbols"),
        "%s", linnet_context_error(context));
  linnet_audio_destroy(audio);
  linnet_aligned_text_destroy(text);
  linnet_text_aligner_destroy(aligner);
}

/* A word of the first frames keeps a length, however late the recognizer has symbols. */
static void test_delay(void) {
  float values[8][5];
  static const int best[] = {1, 2, 0, 1, 2, 0, 0, 0};
  struct linnet_recognizer *late = NULL;
  struct linnet_text_aligner *aligner = NULL;
  struct linnet_aligned_text *text = NULL;
  struct linnet_output output = {.size = sizeof output};
  for (int t = 0; t < 8; t++)
    for (int k = 0; k < 5; k++)
      values[t][k] = best[t] == k ? -0.01f : -6;
  save_text(FOLDER, "recognizer.json", "{\"model\": \"../aligner_model.safetensors\", \"emission_delay\": 0.07}");
  REQUIRE(linnet_recognizer_load(context, FOLDER, &late) == LINNET_OK &&
              linnet_recognizer_load_aligner(context, late, FOLDER, NULL, &aligner) == LINNET_OK &&
              linnet_aligned_text_create(context, aligner, "ab ab", "text", &text) == LINNET_OK &&
              linnet_aligned_text_align(text, values[0], 8, 0.03, 0.24, NULL) == LINNET_OK &&
              linnet_aligned_text_describe(text, &output) == LINNET_OK,
          "%s", linnet_context_error(context));
  REQUIRE(output.num_words == 2 && output.num_phones == 4, "%zu words", output.num_words);
  for (size_t i = 0; i < 4; i++)
    CHECK(output.phones[i].end > output.phones[i].start + 0.029 &&
              (i == 0 || output.phones[i].start >= output.phones[i - 1].end),
          "phone %zu: %g to %g", i, output.phones[i].start, output.phones[i].end);
  CHECK(output.words[0].start == 0 && output.words[0].end == output.phones[1].end &&
            output.words[1].start == output.phones[2].start && output.words[1].end == output.phones[3].end,
        "words: %g to %g, %g to %g", output.words[0].start, output.words[0].end, output.words[1].start,
        output.words[1].end);
  linnet_aligned_text_destroy(text);
  linnet_text_aligner_destroy(aligner);
  linnet_recognizer_destroy(late);
}

int main(void) {
  context = test_context();
  REQUIRE(system("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'") == 0, "%s", FOLDER);
  test_shipped();
  REQUIRE(write_recognizer_model(FOLDER "/../aligner_model.safetensors", true), "no model");
  struct linnet_recognizer *recognizer = phone_recognizer(FOLDER "/../aligner_model.safetensors");
  test_folder(recognizer);
  test_recording(recognizer);
  test_delay();
  test_refused(recognizer);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(context);
  return test_result();
}
