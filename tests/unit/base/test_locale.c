/* Files do not depend on the program's locale: numbers and letters of all formats. */
#include <linnet/calibration.h>
#include <linnet/ngram.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "decoder/base/characters.h"
#include "locales.h"
#include "model/config.h"
#include "model/format/feature_config.h"
#include "small_training.h"

/* --- results that must not depend on the locale ------------------------------------------------------------------- */

static struct linnet_context *context;

/* Everything that the library writes as text, one after the other. */
struct texts {
  char text[1 << 16];
  size_t used;
};

static void add(struct texts *t, const char *text) {
  size_t length = strlen(text);
  REQUIRE(length < sizeof t->text - t->used, "too much text");
  memcpy(t->text + t->used, text, length + 1);
  t->used += length;
}

static void add_json(struct texts *t) {
  struct linnet_feature_config defaults;
  struct linnet_config config;
  char *text = NULL;
  linnet_feature_config_default(&defaults);
  CHECK(linnet_feature_config_parse(context, "{\"preemphasis\": 0.125, \"frame_shift\": 7.5}", "J", &defaults) ==
                LINNET_OK &&
            defaults.fbank.preemphasis == 0.125 && defaults.fbank.frame_shift == 7.5,
        "preemphasis %g: %s", defaults.fbank.preemphasis, linnet_context_error(context));
  defaults.fbank.preemphasis = 0.1 + 0.2; /* 17 digits */
  REQUIRE(linnet_feature_config_format(context, &defaults, &text) == LINNET_OK, "%s", linnet_context_error(context));
  add(t, text);
  linnet_free(context, text);
  linnet_config_default(&config);
  config.outputs = SYMBOLS;
  REQUIRE(linnet_config_format(context, &config, &text) == LINNET_OK, "%s", linnet_context_error(context));
  add(t, text);
  linnet_free(context, text);
  struct linnet_calibration c;
  CHECK(linnet_calibration_parse(context, "{\"slope\": 0.5, \"offset\": -1.25}", "C", &c) == LINNET_OK &&
            c.slope == 0.5 && c.offset == -1.25,
        "%s", linnet_context_error(context));
}

static void add_file(struct texts *t, const char *path) {
  void *data;
  size_t bytes;
  REQUIRE(linnet_file_read(context, path, 1 << 15, &data, &bytes) == LINNET_OK, "%s", linnet_context_error(context));
  char *text = calloc(bytes + 1, 1);
  memcpy(text, data, bytes);
  add(t, text);
  free(text);
  linnet_free(context, data);
}

static void add_ngrams(struct texts *t) {
  static const char path[] = TEST_BINARY_DIR "/test_locale.arpa";
  static const char text[] = "\\data\\\nngram 1=4\n\n\\1-grams:\n-99\t<s>\n-0.5\t</s>\n-1.25\tI\n-INF\tb\n\n\\end\\\n";
  struct linnet_ngram *ngram = NULL;
  REQUIRE(linnet_ngram_load_memory(context, text, sizeof text - 1, "A", &ngram) == LINNET_OK, "%s",
          linnet_context_error(context));
  REQUIRE(linnet_ngram_save_arpa(context, ngram, path) == LINNET_OK, "%s", linnet_context_error(context));
  add_file(t, path);
  linnet_ngram_destroy(ngram);
  remove(path);
}

/* Numbers that are read and written again. */
static void add_numbers(struct texts *t) {
  static const char *const numbers[] = {"-1.25", "1.5e-3", "INF", "-Infinity", "1,25"};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    double value = 0, scanned = 0;
    char line[128];
    bool good = linnet_parse_number(numbers[i], &value);
    linnet_scan("0x1.8p-3", "%la", &scanned);
    linnet_format(line, sizeof line, "%s: %d %a %g\n", numbers[i], good, value, scanned);
    add(t, line);
  }
}

static const char *all_texts(void) {
  static struct texts t;
  t.used = 0;
  add_json(&t);
  add_ngrams(&t);
  add_numbers(&t);
  return t.text;
}

/* A training that is interrupted and continued in another locale gives the same bytes as an uninterrupted one. */
static void check_training(const char *whole, const char *first, const char *second) {
  char parts[64];
  struct run run = make_run(transformer, 1, 2);
  run.stop_after = 3;
  setlocale(LC_ALL, first);
  train(&run, make_folder(parts));
  CHECK(run.status == LINNET_ERROR_CANCELLED, "%s: %s", first, run.error);
  run.stop_after = 0;
  setlocale(LC_ALL, second);
  train(&run, parts);
  CHECK(run.status == LINNET_OK, "begun in %s, continued in %s: %s", first, second, run.error);
  CHECK(same_model(whole, parts), "begun in %s, continued in %s: another model", first, second);
  remove_folder(parts);
}

int main(void) {
  char whole[64];
  context = test_context();
  char *wanted = strdup(all_texts());
  CHECK(strstr(wanted, "0.30000000000000004") && strstr(wanted, "INF: 1 inf 0.1875"), "%s", wanted);
  struct run run = make_run(transformer, 1, 2);
  train(&run, make_folder(whole));
  for (size_t i = 0; i < TEST_LOCALES; i++) {
    if (!test_set_locale(test_locales[i]))
      continue;
    const char *found = all_texts();
    CHECK(strcmp(found, wanted) == 0, "%s:\n%s\nexpected:\n%s", test_locales[i], found, wanted);
    CHECK(strcmp(setlocale(LC_ALL, NULL), test_locales[i]) == 0, "the program's locale is now %s",
          setlocale(LC_ALL, NULL));
    check_training(whole, "C", test_locales[i]);
    check_training(whole, test_locales[i], "C");
    setlocale(LC_ALL, "C");
  }
  remove_folder(whole);
  free(wanted);
  linnet_context_destroy(context);
  return test_result();
}
