/* Hotwords of a stream: it gives what a recognizer with these hotwords gives, also with a second pass, in a batch, and
 * with guessed words; they count from the next utterance on and stay until others replace them; a list that is refused
 * changes nothing. */
#include <pthread.h>

#include <linnet/recognizer.h>

#include "recognizer_events.h"
#include "recognizer_models.h"
#include "recognizer_streams.h"
#include "small_g2p.h"
#include "test.h"

enum { SAMPLES = 48000 };

#define FOLDER TEST_BINARY_DIR "/stream_hotwords_files"
#define WORDS_OF(model, beam)                                                                                          \
  "\"model\": \"" model ".safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", \"beam\": " beam
#define WORDS(model) WORDS_OF(model, "20")
#define RULES "\"endpoint\": {\"rules\": [{\"length\": 0.9}]}"

static struct linnet_context *context;
static float samples[SAMPLES];
static const struct linnet_source names = {NULL, "DAB C 9\nCA 4\n", 13}, others = {NULL, "BA AB 7\n", 8};

/* The lexicon has neither ADB nor CDA; the second pass guesses them with the g2p of the first. The beam drops little,
 * because guessed words of a stream have states of their own, so that another one would be full earlier. */
static const struct linnet_source guessed = {NULL, "ADB 9\nCA AB 4\nADB CDA 6\n", 24};
#define GUESSING WORDS_OF("causal", "2000") ", " RULES ", \"g2p\": \"g2p\", \"language_model\": \"words.arpa\""

#define BONUS "\"unknown_bonus\": 2"

static void prepare_guesses(void) {
  write_small_g2p(context, FOLDER "/g2p");
  save_text(FOLDER, "guessed", guessed.data);
  save_text(FOLDER, "words.arpa",
            "\\data\\\nngram 1=10\n\n\\1-grams:\n-1 </s>\n-99 <s>\n-1.3 <unk>\n-1 AB\n-1 BA\n-0.9 C\n-1.1 CA\n"
            "-1 D\n-1.2 DAB\n-0.8 BD\n\n\\end\\\n");
  save_text(FOLDER, "late_guess.json", "{" WORDS_OF("model", "2000") "}");
  save_text(FOLDER, "guess.json", "{" GUESSING "}");
  save_text(FOLDER, "guess_whole.json", "{" WORDS("causal") ", \"g2p\": \"g2p\"}");
  save_text(FOLDER, "guess_grammar.json", "{" WORDS("causal") ", \"g2p\": \"g2p\", \"grammar\": \"grammar\"}");
  save_text(FOLDER, "grammar", "BA DAB\nCA AB C\n");
  save_text(FOLDER, "guess_named.json", "{" GUESSING ", \"hotwords\": \"guessed\"}");
  save_text(FOLDER, "bonus.json", "{" GUESSING ", " BONUS "}");
  save_text(FOLDER, "bonus_named.json", "{" GUESSING ", " BONUS ", \"hotwords\": \"guessed\"}");
  save_text(FOLDER, "guess_twice.json", "{" GUESSING ", \"second_pass\": \"late_guess.json\"}");
  save_text(FOLDER, "guess_twice_named.json",
            "{" GUESSING ", \"hotwords\": \"guessed\", \"second_pass\": \"late_guess.json\"}");
}

static void prepare(void) {
  REQUIRE(system("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'") == 0, "%s", FOLDER);
  make_bursts(samples, SAMPLES);
  REQUIRE(write_recognizer_model(FOLDER "/causal.safetensors", true), "no causal model");
  REQUIRE(write_recognizer_model(FOLDER "/model.safetensors", false), "no model");
  save_text(FOLDER, "lexicon", "AB A B\nBA B A\nC C\nCA C A\nD D\nDAB D A B\nBD B D\n");
  save_text(FOLDER, "names", names.data);
  save_text(FOLDER, "phones.json", "{\"model\": \"causal.safetensors\"}");
  save_text(FOLDER, "plain.json", "{" WORDS("causal") ", " RULES "}");
  save_text(FOLDER, "named.json", "{" WORDS("causal") ", " RULES ", \"hotwords\": \"names\"}");
  save_text(FOLDER, "late.json", "{" WORDS("model") "}");
  save_text(FOLDER, "late_named.json", "{" WORDS("model") ", \"hotwords\": \"names\"}");
  save_text(FOLDER, "twice.json", "{" WORDS("causal") ", " RULES ", \"second_pass\": \"late.json\"}");
  save_text(FOLDER, "whole.json", "{" WORDS("causal") "}");
  save_text(FOLDER, "whole_named.json", "{" WORDS("causal") ", \"hotwords\": \"names\"}");
  save_text(FOLDER, "whole_twice.json", "{" WORDS("causal") ", \"second_pass\": \"late.json\"}");
  save_text(FOLDER, "whole_twice_named.json",
            "{" WORDS("causal") ", \"hotwords\": \"names\", \"second_pass\": \"late_named.json\"}");
  save_text(FOLDER, "other_lexicon", "AB A B\nBA B A\nC C\nCA C A\nD D\nDAB D A B\nDA D A\n"); /* DA, not BD */
  save_text(FOLDER, "late_other.json",
            "{\"model\": \"model.safetensors\", \"search\": \"words\", \"lexicon\": \"other_lexicon\"}");
  save_text(FOLDER, "two_lexicons.json", "{" WORDS("causal") ", \"second_pass\": \"late_other.json\"}");
  save_text(FOLDER, "twice_named.json",
            "{" WORDS("causal") ", " RULES ", \"hotwords\": \"names\", \"second_pass\": \"late_named.json\"}");
}

static struct linnet_recognizer *load(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", FOLDER, name);
  return load_recognizer(context, path);
}

/* All results of one utterance. */
static void watch(struct linnet_recognizer_stream *stream, struct events *e) {
  *e = (struct events){.partials = 0};
  CHECK(linnet_recognizer_stream_set_hook(stream, see, e) == LINNET_OK, "hook");
  CHECK(feed_stream(stream, samples, SAMPLES, 1600) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_recognizer_stream_reset(stream);
}

static void watch_recognizer(const char *name, struct events *e) {
  struct linnet_recognizer *recognizer = load(name);
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  watch(stream, e);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

static void set(struct linnet_recognizer_stream *stream, const struct linnet_source *source) {
  CHECK(linnet_recognizer_stream_set_hotwords(stream, source) == LINNET_OK, "%s", linnet_context_error(context));
}

/* `got` has the results of the recognizer. */
static void expect(const char *recognizer, const struct events *got, const char *what) {
  static struct events expected;
  watch_recognizer(recognizer, &expected);
  CHECK(strcmp(expected.text, got->text) == 0, "%s:%s\n%s:%s", what, got->text, recognizer, expected.text);
}

static void test_stream(const char *plain, const char *named, const struct linnet_source *list) {
  static struct events e, without;
  struct linnet_recognizer *recognizer = load(plain);
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  watch(stream, &without);
  set(stream, list);
  watch(stream, &e);
  CHECK(strcmp(e.text, without.text) != 0, "%s: the hotwords change nothing:%s", plain, e.text);
  expect(named, &e, "set before the audio");
  watch(stream, &e);
  expect(named, &e, "after a reset");
  set(stream, &others);
  set(stream, NULL);
  watch(stream, &e);
  expect(plain, &e, "removed");
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* Both passes have the list of a pipe. */
static void test_pipe(const char *plain, const char *named) {
  static struct events e;
  static const struct linnet_source pipe = {.path = FOLDER "/pipe"};
  struct linnet_recognizer *recognizer = load(plain);
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  REQUIRE(system("cd '" FOLDER "' && rm -f pipe && mkfifo pipe && (cat names > pipe &)") == 0, "no pipe");
  set(stream, &pipe);
  watch(stream, &e);
  expect(named, &e, "from a pipe");
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* NULL: those of the recognizer. */
static void test_replaced(void) {
  static struct events e;
  struct linnet_recognizer *recognizer = load("named.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  set(stream, &others);
  watch(stream, &e);
  set(stream, NULL);
  watch(stream, &e);
  expect("named.json", &e, "those of the recognizer again");
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* Hotwords that come within an utterance wait for its end, in both passes. */
static void test_next_utterance(const char *plain, const char *named) {
  static struct events e;
  struct linnet_recognizer *recognizer = load(plain);
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  e = (struct events){.partials = 0};
  CHECK(linnet_recognizer_stream_set_hook(stream, see, &e) == LINNET_OK, "hook");
  CHECK(linnet_recognizer_stream_accept(stream, samples, 1600) == LINNET_OK, "%s", linnet_context_error(context));
  set(stream, &names);
  for (size_t done = 1600; done < SAMPLES; done += 1600)
    CHECK(linnet_recognizer_stream_accept(stream, samples + done, 1600) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_recognizer_stream_finish(stream) == LINNET_OK, "%s", linnet_context_error(context));
  expect(plain, &e, "set within the utterance");
  linnet_recognizer_stream_reset(stream);
  watch(stream, &e);
  expect(named, &e, "the next utterance");
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* They count from the next segment on. */
static void test_later(void) {
  static struct events e;
  struct linnet_recognizer *recognizer = load("plain.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  const struct linnet_result *result;
  char before[64] = "", after[64] = "";
  const size_t part = 8000; /* ends before the first segment */
  CHECK(linnet_recognizer_stream_accept(stream, samples, part) == LINNET_OK &&
            linnet_recognizer_stream_result(stream, &result) == LINNET_OK,
        "%s", linnet_context_error(context));
  CHECK(result->segment == 0, "%zu segments", result->segment);
  snprintf(before, sizeof before, "%a", result->alternatives[0].score);
  set(stream, &names);
  CHECK(linnet_recognizer_stream_result(stream, &result) == LINNET_OK, "%s", linnet_context_error(context));
  snprintf(after, sizeof after, "%a", result->alternatives[0].score);
  CHECK(strcmp(before, after) == 0, "the score was %s and is %s", before, after);
  CHECK(linnet_recognizer_stream_accept(stream, samples + part, SAMPLES - part) == LINNET_OK, "%s",
        linnet_context_error(context));
  linnet_recognizer_stream_reset(stream);
  watch(stream, &e);
  expect("named.json", &e, "set within the utterance before");
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* An utterance without audio that has ended stays so. */
static void test_ended(void) {
  struct linnet_recognizer *recognizer = load("plain.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  const struct linnet_result *result = NULL;
  CHECK(linnet_recognizer_stream_finish(stream) == LINNET_OK, "%s", linnet_context_error(context));
  set(stream, &names);
  CHECK(linnet_recognizer_stream_result(stream, &result) == LINNET_OK && result->is_final, "not final");
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* A word that only the lexicon of the first pass, or of the second, lacks. */
static void test_one_lexicon(const char *name, const char *word) {
  static struct events before, after;
  const struct linnet_source source = {NULL, word, strlen(word)};
  struct linnet_recognizer *recognizer = load(name);
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  watch(stream, &before);
  CHECK(linnet_recognizer_stream_set_hotwords(stream, &source) == LINNET_ERROR_FORMAT, "%s: %s", name, word);
  watch(stream, &after);
  CHECK(strcmp(before.text, after.text) == 0, "%s: %s\n%s", name, before.text, after.text);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

static void test_refused(void) {
  static struct events e;
  static const struct linnet_source unknown = {"names of today", "AB\nZEBRA 3\n", 11};
  struct linnet_recognizer *recognizer = load("plain.json"), *phones = load("phones.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer), *other = open_stream(context, phones);
  set(stream, &names);
  CHECK(linnet_recognizer_stream_set_hotwords(stream, &unknown) == LINNET_ERROR_FORMAT, "an unknown word");
  CHECK(strstr(linnet_context_error(context), "names of today:2: 'ZEBRA'"), "%s", linnet_context_error(context));
  watch(stream, &e);
  expect("named.json", &e, "after the failure");
  CHECK(linnet_recognizer_stream_set_hotwords(other, &names) == LINNET_ERROR_UNSUPPORTED, "phones");
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_stream_destroy(other);
  linnet_recognizer_destroy(recognizer);
  linnet_recognizer_destroy(phones);
}

/* The names of the tokens of two streams of a search, one of which has words of its own. */
static void test_tokens(void) {
  static struct events e;
  struct linnet_recognizer *recognizer = load("guess.json");
  struct linnet_recognizer_stream *streams[2] = {open_stream(context, recognizer), open_stream(context, recognizer)};
  set(streams[0], &guessed);
  for (size_t i = 0; i < 2; i++) {
    watch(streams[i], &e);
    CHECK((strstr(e.text, " CDA ") != NULL) == (i == 0), "stream %zu: %s", i, e.text);
    const struct linnet_search_stream *search = linnet_recognizer_stream_search(streams[i]);
    const size_t words = linnet_search_num_tokens(linnet_search_stream_search(search));
    CHECK(words == 9 && linnet_search_stream_num_tokens(search) == words + (i == 0 ? 2 : 0), "%zu tokens", words);
    CHECK(strcmp(linnet_search_stream_token(search, 1), "AB") == 0, "the first word");
    CHECK(strcmp(linnet_search_stream_token(search, words - 1), LINNET_UNKNOWN_WORD) == 0, "the unknown word");
    const char *own = linnet_search_stream_token(search, words), *last = linnet_search_stream_token(search, words + 1);
    CHECK(i == 0 ? own && last && strcmp(own, "ADB") == 0 && strcmp(last, "CDA") == 0 : !own && !last, "own words");
    CHECK(!linnet_search_stream_token(search, 0) && !linnet_search_stream_token(search, words + 2), "out of range");
  }
  for (size_t i = 0; i < 2; i++)
    linnet_recognizer_stream_destroy(streams[i]);
  linnet_recognizer_destroy(recognizer);
}

/* A stream of a thread of its own. */
struct caller {
  pthread_t thread;
  const struct linnet_recognizer *recognizer;
  enum linnet_status status;
  bool heard; /* a guessed word */
};

static void *call(void *user) {
  struct caller *caller = user;
  struct linnet_context *own = NULL;
  struct linnet_recognizer_stream *stream = NULL;
  const struct linnet_result *result = NULL;
  caller->status = linnet_context_share(context, &own);
  if (caller->status == LINNET_OK)
    caller->status = linnet_recognizer_stream_create(own, caller->recognizer, &stream);
  if (caller->status == LINNET_OK)
    caller->status = linnet_recognizer_stream_set_hotwords(stream, &(struct linnet_source){NULL, "CDA 40\n", 7});
  if (caller->status == LINNET_OK)
    caller->status = feed_stream(stream, samples, SAMPLES / 2, 1600);
  if (caller->status == LINNET_OK)
    caller->status = linnet_recognizer_stream_result(stream, &result);
  for (size_t i = 0; caller->status == LINNET_OK && i < result->alternatives[0].num_words; i++)
    caller->heard = caller->heard || result->alternatives[0].words[i].guessed;
  linnet_recognizer_stream_destroy(stream);
  linnet_context_destroy(own);
  return NULL;
}

/* Streams of several threads need the model of pronunciations at the same time, which none has loaded yet. */
static void test_threads(void) {
  struct linnet_recognizer *recognizer = load("guess_whole.json");
  struct caller callers[4];
  for (size_t i = 0; i < 4; i++) {
    callers[i] = (struct caller){.recognizer = recognizer};
    REQUIRE(pthread_create(&callers[i].thread, NULL, call, &callers[i]) == 0, "thread");
  }
  for (size_t i = 0; i < 4; i++) {
    pthread_join(callers[i].thread, NULL);
    CHECK(callers[i].status == LINNET_OK && callers[i].heard, "thread %zu: status %d", i, (int)callers[i].status);
  }
  linnet_recognizer_destroy(recognizer);
}

/* A grammar has no guessed words, and they change nothing. */
static void test_grammar(void) {
  static struct events before, after;
  struct linnet_recognizer *recognizer = load("guess_grammar.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  watch(stream, &before);
  set(stream, &(struct linnet_source){NULL, "ADB 90\nCDA 90\n", 14});
  watch(stream, &after);
  CHECK(before.finals > 0 && strcmp(before.text, after.text) == 0, "%s\n%s", before.text, after.text);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* A word with a letter that the model of pronunciations lacks. */
static void test_not_guessed(void) {
  struct linnet_recognizer *recognizer = load("guess.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  const struct linnet_source list = {"contacts", "ADB\nAD7\n", 8};
  CHECK(linnet_recognizer_stream_set_hotwords(stream, &list) == LINNET_ERROR_FORMAT, "a digit");
  CHECK(strstr(linnet_context_error(context), "contacts:2: 'AD7'"), "%s", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* One of two streams of a batch. */
static void test_batch(void) {
  static struct events e[2];
  struct linnet_recognizer *recognizer = load("plain.json");
  struct linnet_recognizer_batch *batch = NULL;
  struct linnet_recognizer_input inputs[2] = {{.samples = samples, .num_samples = SAMPLES, .finish = 1}};
  REQUIRE(linnet_recognizer_batch_create(context, recognizer, 0, &batch) == LINNET_OK, "%s",
          linnet_context_error(context));
  inputs[1] = inputs[0];
  for (size_t i = 0; i < 2; i++) {
    REQUIRE(linnet_recognizer_batch_open(batch, &inputs[i].stream) == LINNET_OK, "%s", linnet_context_error(context));
    linnet_recognizer_stream_set_hook(inputs[i].stream, see, &e[i]);
  }
  set(inputs[1].stream, &names);
  CHECK(linnet_recognizer_batch_step(batch, inputs, 2) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(e[0].finals > 1 && e[1].finals > 1 && strcmp(e[0].text, e[1].text) != 0, "%zu and %zu segments", e[0].finals,
        e[1].finals);
  for (size_t i = 0; i < 2; i++)
    linnet_recognizer_stream_destroy(inputs[i].stream);
  linnet_recognizer_batch_destroy(batch);
  linnet_recognizer_destroy(recognizer);
}

/* --- the log ------------------------------------------------------------------------------------------------------ */

static char logged[LINNET_LOG_ERROR + 1][1024]; /* the last message of each level */

static void keep_message(void *user, enum linnet_log_level level, const char *message) {
  (void)user;
  snprintf(logged[level], sizeof logged[level], "%s", message);
}

/* Guessed words of the settings are a warning; those of a stream may be names of callers, and are none. */
static void test_log(void) {
  struct linnet_context *earlier = context;
  struct linnet_context_settings settings;
  linnet_context_settings_default(&settings);
  settings.log = keep_message;
  REQUIRE(linnet_context_create(&settings, &context) == LINNET_OK, "no context");
  struct linnet_recognizer *recognizer = load("guess_twice_named.json");
  CHECK(strstr(logged[LINNET_LOG_WARNING], "'ADB'"), "a warning: %s", logged[LINNET_LOG_WARNING]);
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  memset(logged, 0, sizeof logged);
  set(stream, &guessed);
  CHECK(!*logged[LINNET_LOG_WARNING], "a warning: %s", logged[LINNET_LOG_WARNING]);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  recognizer = load("guess_twice.json");
  stream = open_stream(context, recognizer);
  set(stream, &guessed);
  CHECK(!*logged[LINNET_LOG_WARNING], "a warning: %s", logged[LINNET_LOG_WARNING]);
  CHECK(strstr(logged[LINNET_LOG_INFO], "guessed") && strstr(logged[LINNET_LOG_INFO], "'ADB'"), "no message: %s",
        logged[LINNET_LOG_INFO]);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(context);
  context = earlier;
}

int main(void) {
  REQUIRE(linnet_context_create(NULL, &context) == LINNET_OK, "no context");
  prepare();
  test_stream("plain.json", "named.json", &names);
  test_stream("twice.json", "twice_named.json", &names);
  test_pipe("plain.json", "named.json");
  test_pipe("twice.json", "twice_named.json");
  prepare_guesses();
  test_stream("guess.json", "guess_named.json", &guessed);
  test_stream("guess_twice.json", "guess_twice_named.json", &guessed);
  test_stream("bonus.json", "bonus_named.json", &guessed); /* guessed words are known */
  test_tokens();
  test_threads();
  test_grammar();
  test_not_guessed();
  test_replaced();
  test_next_utterance("whole.json", "whole_named.json");
  test_next_utterance("whole_twice.json", "whole_twice_named.json");
  test_later();
  test_ended();
  test_one_lexicon("two_lexicons.json", "BD 90\n");
  test_one_lexicon("two_lexicons.json", "DA 90\n");
  test_refused();
  test_batch();
  test_log();
  linnet_context_destroy(context);
  return test_result();
}
