/* Aligners with the pronunciations of a recognizer: those of the models that ship; lexicon, g2p model and rules that
 * the settings name or that lie in the folder; what is missing is refused. */
#include <limits.h>

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

int main(void) {
  context = test_context();
  REQUIRE(system("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'") == 0, "%s", FOLDER);
  test_shipped();
  REQUIRE(write_recognizer_model(FOLDER "/../aligner_model.safetensors", true), "no model");
  struct linnet_recognizer *recognizer = phone_recognizer(FOLDER "/../aligner_model.safetensors");
  test_folder(recognizer);
  test_refused(recognizer);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(context);
  return test_result();
}
