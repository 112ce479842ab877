/* Streams with endpoints: events do not depend on how the audio is divided; a program can end segments as rules do;
 * each segment is what its part of the audio gives alone; a file is one segment; times count from the start of the
 * stream, also after a day; settings from JSON; what is wrong is refused.
 */
#include <linnet/recognizer.h>

#include <setjmp.h>

#include "recognizer/recognizer_parts.h"
#include "recognizer_events.h"
#include "recognizer_models.h"
#include "recognizer_streams.h"
#include "test.h"

enum { SAMPLES = 96000 };

#define FOLDER TEST_BINARY_DIR "/segment_files"
static struct linnet_context *context;
static float samples[SAMPLES];

#define WORDS_OF(model)                                                                                                \
  "\"model\": \"" model ".safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", \"beam\": 20"
#define WORDS WORDS_OF("causal")
#define RULES                                                                                                          \
  "[{\"speech\": true, \"silence\": 0.12}, {\"speech\": true, \"word\": true, \"quiet\": 0.2}, {\"length\": 0.9}]"

static void prepare(void) {
  REQUIRE(system("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'") == 0, "%s", FOLDER);
  make_bursts(samples, SAMPLES);
  REQUIRE(write_recognizer_model(FOLDER "/model.safetensors", false), "no model");
  REQUIRE(write_recognizer_model(FOLDER "/causal.safetensors", true), "no causal model");
  REQUIRE(write_prompt_model(FOLDER "/prompt.safetensors"), "no causal model without look-ahead");
  save_text(FOLDER, "lexicon", "AB A B\nBA B A\nC C\nCA C A\nD D\nDAB D A B\nBD B D\n");
  save_text(FOLDER, "plain.json", "{" WORDS "}");
  save_text(FOLDER, "prompt.json", "{" WORDS_OF("prompt") "}");
  save_text(FOLDER, "prompt_words.json", "{" WORDS_OF("prompt") ", \"endpoint\": {\"rules\": " RULES "}}");
  save_text(FOLDER, "prompt_going_on.json",
            "{" WORDS_OF("prompt") ", \"endpoint\": {\"restart\": false, \"rules\": " RULES "}}");
  save_text(FOLDER, "words.json", "{" WORDS ", \"partial_interval\": 0.1, \"endpoint\": {\"rules\": " RULES "}}");
  save_text(FOLDER, "going_on.json",
            "{" WORDS ", \"partial_interval\": 0.1, \"endpoint\": {\"restart\": false, \"rules\": " RULES "}}");
  save_text(FOLDER, "phones.json",
            "{\"model\": \"causal.safetensors\", \"partial_interval\": 0.03, \"endpoint\": {\"rules\": " RULES "}}");
  save_text(FOLDER, "words_whole.json", "{" WORDS ", \"partial_interval\": 0.1}");
  save_text(FOLDER, "whole_plain.json", "{\"model\": \"model.safetensors\"}");
  save_text(FOLDER, "whole.json", "{\"model\": \"model.safetensors\", \"endpoint\": {\"rules\": " RULES "}}");
}

static struct linnet_recognizer *load(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", FOLDER, name);
  return load_recognizer(context, path);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static enum linnet_status feed(struct linnet_recognizer_stream *stream, size_t chunk) {
  return feed_stream(stream, samples, SAMPLES, chunk);
}

/* The last result has the number that the hook saw, and the same without a hook. */
static void check_last(struct linnet_recognizer_stream *stream, const struct events *e) {
  const struct linnet_result *result;
  REQUIRE(linnet_recognizer_stream_result(stream, &result) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(result->segment == e->finals - 1, "the last result is of segment %zu of %zu", result->segment, e->finals);
  const struct linnet_alternative *best = result->alternatives;
  for (size_t i = 0; i < best->num_words; i++)
    CHECK(best->words[i].end <= result->seconds, "'%s' ends at %g of %g", best->words[i].text, best->words[i].end,
          result->seconds);
}

static void watch(const struct linnet_recognizer *recognizer, size_t chunk, struct events *e) {
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  *e = (struct events){.partials = 0};
  CHECK(linnet_recognizer_stream_set_hook(stream, see, e) == LINNET_OK, "hook");
  CHECK(feed(stream, chunk) == LINNET_OK, "%s", linnet_context_error(context));
  check_last(stream, e);
  linnet_recognizer_stream_reset(stream);
  linnet_recognizer_stream_set_hook(stream, NULL, NULL);
  CHECK(feed(stream, chunk) == LINNET_OK, "%s", linnet_context_error(context));
  check_last(stream, e);
  linnet_recognizer_stream_destroy(stream);
}

static struct events first, other;

static void test_chunks(const char *name) {
  static const size_t chunks[] = {37, 160, 1600, 5000, 16001, SAMPLES};
  struct linnet_recognizer *recognizer = load(name);
  const bool incremental = linnet_recognizer_is_incremental(recognizer);
  watch(recognizer, 800, &first);
  printf("%s: %zu segments, %zu partial results\n", name, first.finals, first.partials);
  CHECK(first.finals >= 5, "%s: %zu segments", name, first.finals);
  CHECK(!incremental || first.partials >= 5, "%s: %zu partial results", name, first.partials);
  CHECK(fabs(first.end - SAMPLES / 16000.0) < 1e-9, "%s: the last result ends at %g", name, first.end);
  for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
    watch(recognizer, chunks[i], &other);
    CHECK(strcmp(first.text, other.text) == 0, "%s: chunks of %zu:%s\n800:%s", name, chunks[i], other.text, first.text);
  }
  linnet_recognizer_destroy(recognizer);
}

/* --- segments that the program ends ------------------------------------------------------------------------------- */

enum { SEGMENT_ROWS = 30 }; /* 0.9 s */

#define LENGTH_RULE ", \"rules\": [{\"length\": 0.9}]}"

/* A stream that ends each segment after SEGMENT_ROWS rows, alone or in a batch. */
struct ender {
  struct linnet_recognizer_stream *stream;
  struct linnet_recognizer_batch *batch; /* NULL: alone */
  size_t rows, segments;
};

static int count_rows(void *user, const float *log_posteriors, size_t index, size_t frames) {
  struct ender *e = user;
  (void)log_posteriors;
  e->rows = index + frames;
  return 0;
}

static void give(struct ender *e, size_t from, size_t count) {
  struct linnet_recognizer_input input = {.stream = e->stream, .samples = samples + from, .num_samples = count};
  CHECK((e->batch ? linnet_recognizer_batch_step(e->batch, &input, 1)
                  : linnet_recognizer_stream_accept(e->stream, samples + from, count)) == LINNET_OK,
        "%s", linnet_context_error(context));
}

/* The segments end `late` samples after the last row, before the next one. */
static void end_segments(struct ender *e, size_t late) {
  const size_t chunk = 37;
  for (size_t done = 0, wait = 0; done < SAMPLES; done += chunk) {
    give(e, done, SAMPLES - done < chunk ? SAMPLES - done : chunk);
    wait = e->rows == (e->segments + 1) * SEGMENT_ROWS ? wait + chunk : 0;
    if (wait <= late)
      continue;
    CHECK(linnet_recognizer_stream_end_segment(e->stream) == LINNET_OK, "%s", linnet_context_error(context));
    CHECK(linnet_recognizer_stream_end_segment(e->stream) == LINNET_OK, "a segment without rows: %s",
          linnet_context_error(context));
    e->segments++;
    wait = 0;
  }
  CHECK(linnet_recognizer_stream_finish(e->stream) == LINNET_OK, "%s", linnet_context_error(context));
}

/* `json`: the settings without `endpoint`; `endpoint`: its members besides `rules`; `manual_endpoint`: the end of the
 * settings of the recognizer whose segments the program ends. */
static void test_ended(const char *json, const char *endpoint, const char *manual_endpoint) {
  char text[1024];
  snprintf(text, sizeof text, "{%s, \"endpoint\": {%s%s}", json, endpoint, LENGTH_RULE);
  save_text(FOLDER, "by_rule.json", text);
  snprintf(text, sizeof text, "{%s%s}", json, manual_endpoint);
  save_text(FOLDER, "by_hand.json", text);
  struct linnet_recognizer *by_rule = load("by_rule.json"), *by_hand = load("by_hand.json");
  watch(by_rule, 800, &first);
  CHECK(first.finals >= 6 && first.partials >= 5, "%zu segments, %zu partial results", first.finals, first.partials);
  for (size_t late = 0; late <= 300; late += 60)
    for (int batched = 0; batched < 2; batched++) {
      struct ender e = {.rows = 0};
      other = (struct events){.partials = 0};
      if (batched)
        REQUIRE(linnet_recognizer_batch_create(context, by_hand, 0, &e.batch) == LINNET_OK &&
                    linnet_recognizer_batch_open(e.batch, &e.stream) == LINNET_OK,
                "%s", linnet_context_error(context));
      else
        e.stream = open_stream(context, by_hand);
      linnet_recognizer_stream_set_hook(e.stream, see, &other);
      linnet_recognizer_stream_set_sink(e.stream, count_rows, &e);
      end_segments(&e, late);
      CHECK(e.segments == first.finals - 1, "%zu of %zu segments ended", e.segments, first.finals);
      CHECK(strcmp(first.text, other.text) == 0, "%s, %zu samples late:%s\nby a rule:%s", text, late, other.text,
            first.text);
      linnet_recognizer_stream_destroy(e.stream);
      linnet_recognizer_batch_destroy(e.batch);
    }
  linnet_recognizer_destroy(by_rule);
  linnet_recognizer_destroy(by_hand);
}

/* The partial intervals do not end on the last row of a segment. There a rule would end the segment before the partial
 * result, and the program after it. */
static void test_ends(void) {
  save_text(FOLDER, "late.json", "{" WORDS_OF("model") "}");
  static const char words[] = WORDS ", \"partial_interval\": 0.21";
  test_ended(words, "\"restart\": true", ", \"endpoint\": {\"rules\": []}");
  test_ended(words, "\"restart\": false", "");
  test_ended(WORDS ", \"partial_interval\": 0.21, \"second_pass\": \"late.json\"", "\"restart_seconds\": 1",
             ", \"endpoint\": {\"restart_seconds\": 1, \"rules\": []}");
  test_ended("\"model\": \"causal.safetensors\", \"partial_interval\": 0.21", "\"restart\": true",
             ", \"endpoint\": {\"rules\": []}");
}

/* Without a partial interval the final result still ends with its last row, and the next segment begins there. */
static void test_end_between(void) {
  struct linnet_recognizer *recognizer = load("plain.json"), *whole = load("whole.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer),
                                  *other_stream = open_stream(context, whole);
  const struct linnet_result *result = NULL;
  first = (struct events){.partials = 0};
  linnet_recognizer_stream_set_hook(stream, see, &first);
  CHECK(linnet_recognizer_stream_end_segment(stream) == LINNET_OK && first.finals == 0, "a segment of nothing");
  CHECK(linnet_recognizer_stream_accept(stream, samples, SAMPLES / 2) == LINNET_OK &&
            linnet_recognizer_stream_end_segment(stream) == LINNET_OK,
        "%s", linnet_context_error(context));
  REQUIRE(first.finals == 1, "%zu final results", first.finals);
  CHECK(first.ends[0] < SAMPLES / 2 / 16000.0 && first.ends[0] > SAMPLES / 2 / 16000.0 - 0.3, "it ends at %g",
        first.ends[0]);
  CHECK(linnet_recognizer_stream_result(stream, &result) == LINNET_OK && result->segment == 1 && !result->is_final &&
            fabs(result->start - first.ends[0]) < 1e-9,
        "segment %zu from %g", result->segment, result->start);
  CHECK(linnet_recognizer_stream_accept(stream, samples, SAMPLES / 2) == LINNET_OK &&
            linnet_recognizer_stream_finish(stream) == LINNET_OK && first.finals == 2 && first.ends[1] == 6,
        "%zu final results", first.finals);
  CHECK(linnet_recognizer_stream_end_segment(stream) == LINNET_ERROR_STATE, "after the end");
  CHECK(linnet_recognizer_stream_end_segment(other_stream) == LINNET_ERROR_UNSUPPORTED &&
            strstr(linnet_context_error(context), "linnet_recognizer_stream_finish"),
        "%s", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_stream_destroy(other_stream);
  linnet_recognizer_destroy(recognizer);
  linnet_recognizer_destroy(whole);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void save_samples(const char *path) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file, "%s", path);
  for (size_t i = 0; i < SAMPLES; i++) {
    const int16_t sample = (int16_t)lrintf(samples[i]);
    REQUIRE(fwrite(&sample, sizeof sample, 1, file) == 1, "%s", path);
  }
  REQUIRE(fclose(file) == 0, "%s", path);
}

/* Recognises the file at `path` and describes its result, of the whole file, and what the hook saw. */
static void run_file(struct linnet_recognizer_stream *stream, const char *path, struct events *e, char text[8192]) {
  struct linnet_audio_settings audio;
  const struct linnet_result *result = NULL;
  linnet_audio_settings_default(&audio);
  audio.raw_format = LINNET_SAMPLE_S16LE;
  *e = (struct events){.partials = 0};
  CHECK(linnet_recognizer_stream_set_hook(stream, see, e) == LINNET_OK, "hook");
  REQUIRE(linnet_recognizer_stream_run_file(stream, path, &audio, &result) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(result->is_final && result->start == 0 && result->segment == 0 &&
            fabs(result->seconds - SAMPLES / 16000.0) < 1e-9,
        "from %g to %g", result->start, result->seconds);
  CHECK(e->finals == 1, "%zu final results of a file", e->finals);
  describe(result, 0, text, 8192);
}

/* A file is one segment, as without endpoints; what is then fed to the stream has them. */
static void test_file(const char *name, const char *without) {
  static char whole[8192], expected[8192];
  struct linnet_recognizer *recognizer = load(name), *plain = load(without);
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer),
                                  *other_stream = open_stream(context, plain);
  const struct linnet_result *result = NULL;
  save_samples(FOLDER "/speech.raw");
  run_file(other_stream, FOLDER "/speech.raw", &other, expected);
  run_file(stream, FOLDER "/speech.raw", &first, whole);
  CHECK(strcmp(whole, expected) == 0, "%s:\n%s\n%s:\n%s", name, whole, without, expected);
  CHECK(strcmp(first.text, other.text) == 0, "%s: events:%s\n%s:%s", name, first.text, without, other.text);
  watch(recognizer, 800, &first);
  for (int failed = 0; failed < 2; failed++) {
    linnet_recognizer_stream_reset(stream);
    CHECK(!failed || linnet_recognizer_stream_run_file(stream, FOLDER "/nowhere", NULL, &result) == LINNET_ERROR_IO,
          "nowhere");
    other = (struct events){.partials = 0};
    CHECK(linnet_recognizer_stream_set_hook(stream, see, &other) == LINNET_OK && feed(stream, 800) == LINNET_OK, "%s",
          linnet_context_error(context));
    CHECK(strcmp(first.text, other.text) == 0, "%s: after a file:%s\nbefore:%s", name, other.text, first.text);
  }
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_stream_destroy(other_stream);
  linnet_recognizer_destroy(recognizer);
  linnet_recognizer_destroy(plain);
}

/* --- segments alone ----------------------------------------------------------------------------------------------- */

static struct linnet_span last_word(const struct linnet_result *result) {
  const struct linnet_alternative *best = result->alternatives;
  return best->num_words > 0 ? best->words[best->num_words - 1] : (struct linnet_span){.text = ""};
}

/* Without look-ahead: if the network also restarts, a segment is the result of its features alone; if it
 * continues, the first one is. */
static void test_alone(const char *name, size_t count) {
  struct linnet_recognizer *plain = load("prompt.json"), *recognizer = load(name);
  const struct linnet_model *model = linnet_recognizer_model(plain);
  struct linnet_feature_config config;
  linnet_model_features(model, &config);
  const size_t dim = config.fbank.num_mel;
  const double shift = linnet_model_frame_seconds(model) / (double)linnet_model_stride(model);
  const struct linnet_result *result = NULL;
  float *features;
  size_t frames = make_features(context, model, samples, SAMPLES, &features);
  struct linnet_recognizer_stream *stream = open_stream(context, plain);
  watch(recognizer, SAMPLES, &first);
  REQUIRE(first.finals > 5, "%zu segments", first.finals);
  for (size_t i = 0; i < (count > 0 ? count : first.finals); i++) {
    const size_t from = (size_t)lround(first.starts[i] / shift);
    const size_t end = (size_t)lround(first.ends[i] / shift), to = end < frames ? end : frames;
    char alone[2048];
    if (from >= to || (to - from) % linnet_model_stride(model) != 0) /* the end of features cuts its last row short */
      continue;
    linnet_recognizer_stream_reset(stream);
    CHECK(linnet_recognizer_stream_accept_features(stream, features + from * dim, to - from, dim) == LINNET_OK &&
              linnet_recognizer_stream_finish(stream) == LINNET_OK &&
              linnet_recognizer_stream_result(stream, &result) == LINNET_OK,
          "%s", linnet_context_error(context));
    describe(result, 0, alone, sizeof alone);
    CHECK(strcmp(alone, first.finals_text[i]) == 0, "%s, segment %zu alone:\n%s\nin the stream:\n%s", name, i, alone,
          first.finals_text[i]);
  }
  free(features);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  linnet_recognizer_destroy(plain);
}

/* A network restarts at endpoints that are restart_seconds after its last start: at all of them, at none, at some. */
static void test_restart_seconds(void) {
  static const struct {
    const char *seconds, *same, *other;
  } cases[] = {{"0.001", "words.json", "going_on.json"},
               {"1e6", "going_on.json", "words.json"},
               {"1", NULL, "words.json"},
               {"1", NULL, "going_on.json"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char json[512];
    snprintf(json, sizeof json,
             "{" WORDS ", \"partial_interval\": 0.1, \"endpoint\": {\"restart_seconds\": %s, \"rules\": " RULES "}}",
             cases[i].seconds);
    save_text(FOLDER, "later.json", json);
    test_chunks("later.json");
    struct linnet_recognizer *recognizer = load(cases[i].other);
    watch(recognizer, 800, &other);
    CHECK(strcmp(first.text, other.text) != 0, "restart_seconds %s: as %s", cases[i].seconds, cases[i].other);
    linnet_recognizer_destroy(recognizer);
    if (!cases[i].same)
      continue;
    recognizer = load(cases[i].same);
    watch(recognizer, 800, &other);
    CHECK(strcmp(first.text, other.text) == 0, "restart_seconds %s: not as %s", cases[i].seconds, cases[i].same);
    linnet_recognizer_destroy(recognizer);
  }
}

/* --- a day -------------------------------------------------------------------------------------------------------- */

static const double row = 0.03;

/* Searches rows of two words that begin at row `first` of a recording. */
static const struct linnet_result *search_two_words(struct linnet_search_stream *search, uint64_t first_row) {
  const struct linnet_result *result = NULL;
  const int best[] = {0, 1, 0, 2, 0, 3, 0, 0};
  float rows[8][5];
  for (int t = 0; t < 8; t++)
    for (int k = 0; k < 5; k++)
      rows[t][k] = best[t] == k ? -0.01f : -6;
  linnet_search_stream_reset_at(search, first_row);
  REQUIRE(linnet_search_stream_accept(search, rows[0], 8) == LINNET_OK &&
              linnet_search_stream_finish(search) == LINNET_OK &&
              linnet_search_stream_result(search, row, &result) == LINNET_OK,
          "%s", linnet_context_error(context));
  CHECK(strcmp(last_word(result).text, "C") == 0 && result->alternatives->num_words == 2, "words: %s",
        last_word(result).text);
  return result;
}

/* The words are the same at every time of a recording; times are exact to a microsecond. */
static void test_day(void) {
  struct linnet_recognizer *plain = load("plain.json");
  struct linnet_search_stream *search = NULL;
  const struct linnet_result *result = NULL;
  const uint64_t firsts[] = {0, 2880000, (uint64_t)1 << 33}; /* of 0.03 s: 24 hours, eight years */
  REQUIRE(linnet_search_stream_create(context, linnet_recognizer_search(plain), &search) == LINNET_OK, "search");
  for (size_t i = 0; i < 3; i++) {
    const double start = (double)firsts[i] * row;
    result = search_two_words(search, firsts[i]);
    const struct linnet_span word = last_word(result);
    CHECK(fabs(word.start - start - 4.5 * row) < 1e-6 && fabs(word.end - start - 8 * row) < 1e-6, "%.9f to %.9f",
          word.start, word.end);
    CHECK(result->start == start && fabs(result->seconds - start - 8 * row) < 1e-6, "%.9f to %.9f", result->start,
          result->seconds);
  }
  linnet_search_stream_reset(search);
  CHECK(linnet_search_stream_result(search, row, &result) == LINNET_OK && result->start == 0, "reset");
  linnet_search_stream_destroy(search);
  linnet_recognizer_destroy(plain);
}

/* Times are earlier by the delay, but not before the segment. */
static void test_emission_delay(void) {
  save_text(FOLDER, "late.json", "{" WORDS ", \"emission_delay\": 0.05}");
  struct linnet_recognizer *late = load("late.json");
  struct linnet_search_stream *search = NULL;
  REQUIRE(linnet_search_stream_create(context, linnet_recognizer_search(late), &search) == LINNET_OK, "search");
  const double start = 100 * row;
  const struct linnet_result *result = search_two_words(search, 100);
  const struct linnet_span *words = result->alternatives->words;
  CHECK(words[0].start == start && words[0].end > start, "%.9f to %.9f", words[0].start, words[0].end);
  CHECK(fabs(words[1].start - start - 4.5 * row + 0.05) < 1e-6 && fabs(words[1].end - start - 8 * row + 0.05) < 1e-6,
        "%.9f to %.9f", words[1].start, words[1].end);
  linnet_search_stream_destroy(search);
  linnet_recognizer_destroy(late);
}

/* With a delay that would move all of them to before the segment, phones follow each other, one row each. */
static void test_long_delay(void) {
  static const double ends[] = {1, 2, 5}; /* the last one reaches 2 rows beyond its own */
  save_text(FOLDER, "later.json", "{" WORDS ", \"emission_delay\": 0.5}");
  struct linnet_recognizer *later = load("later.json");
  struct linnet_search_stream *search = NULL;
  REQUIRE(linnet_search_stream_create(context, linnet_recognizer_search(later), &search) == LINNET_OK, "search");
  const double start = 100 * row;
  const struct linnet_alternative *best = search_two_words(search, 100)->alternatives;
  REQUIRE(best->num_phones == 3, "%zu phones", best->num_phones);
  for (size_t i = 0; i < 3; i++)
    CHECK(fabs(best->phones[i].start - start - (double)i * row) < 1e-6 &&
              fabs(best->phones[i].end - start - ends[i] * row) < 1e-6,
          "phone %zu: %.9f to %.9f", i, best->phones[i].start, best->phones[i].end);
  CHECK(best->words[0].start == best->phones[0].start && best->words[0].end == best->phones[1].end &&
            best->words[1].start == best->phones[2].start && best->words[1].end == best->phones[2].end,
        "words: %.9f to %.9f, %.9f to %.9f", best->words[0].start, best->words[0].end, best->words[1].start,
        best->words[1].end);
  linnet_search_stream_destroy(search);
  linnet_recognizer_destroy(later);
}

/* --- the hook, settings ------------------------------------------------------------------------------------------- */

/* The hook can stop the call at each result, also at one in the middle of the audio of a call; the stream then works.
 */
static void test_stopped(void) {
  struct linnet_recognizer *recognizer = load("words.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  watch(recognizer, SAMPLES, &first);
  for (size_t stop = 1; stop < first.partials + first.finals; stop += 3) {
    other = (struct events){.stop_at = stop};
    CHECK(linnet_recognizer_stream_set_hook(stream, see, &other) == LINNET_OK, "hook");
    CHECK(feed(stream, SAMPLES) == LINNET_ERROR_CANCELLED, "result %zu does not stop the call", stop);
    CHECK(strstr(linnet_context_error(context), "asked to stop"), "%s", linnet_context_error(context));
    linnet_recognizer_stream_reset(stream);
  }
  other = (struct events){.stop_at = 0};
  CHECK(feed(stream, 5000) == LINNET_OK && strcmp(first.text, other.text) == 0, "after cancelled calls");
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* --- a hook that does not return ---------------------------------------------------------------------------------- */

static jmp_buf left;

static int leave(void *user, const struct linnet_result *result) {
  (void)user;
  (void)result;
  longjmp(left, 1);
}

static int leave_rows(void *user, const float *log_posteriors, size_t index, size_t frames) {
  (void)user;
  (void)log_posteriors;
  (void)index;
  (void)frames;
  longjmp(left, 1);
}

enum call { ACCEPT, STEP, END_SEGMENT, FINISH };

static enum linnet_status call_stream(struct linnet_recognizer_stream *stream, struct linnet_recognizer_batch *batch,
                                      enum call call) {
  struct linnet_recognizer_input input = {.stream = stream, .samples = samples, .num_samples = SAMPLES / 2};
  switch (call) {
  case STEP:
    return linnet_recognizer_batch_step(batch, &input, 1);
  case END_SEGMENT:
    return linnet_recognizer_stream_end_segment(stream);
  case FINISH:
    return linnet_recognizer_stream_finish(stream);
  default:
    return linnet_recognizer_stream_accept(stream, samples, SAMPLES / 2);
  }
}

/* As by an exception of C++: a stream that may lack audio refuses all calls until it is reset. */
static void test_left(enum call call) {
  struct linnet_recognizer *recognizer = load(call < END_SEGMENT ? "words.json" : "plain.json");
  struct linnet_recognizer_batch *batch = NULL;
  struct linnet_recognizer_stream *stream = NULL;
  const struct linnet_result *result = NULL;
  REQUIRE(linnet_recognizer_batch_create(context, recognizer, 0, &batch) == LINNET_OK &&
              linnet_recognizer_batch_open(batch, &stream) == LINNET_OK,
          "%s", linnet_context_error(context));
  CHECK(call < END_SEGMENT || linnet_recognizer_stream_accept(stream, samples, SAMPLES / 2) == LINNET_OK, "accept");
  linnet_recognizer_stream_set_hook(stream, leave, NULL);
  if (!setjmp(left)) {
    call_stream(stream, batch, call);
    CHECK(false, "call %d: the hook was not called", (int)call);
  }
  linnet_recognizer_stream_set_hook(stream, NULL, NULL);
  for (int repeat = 0; repeat < 2; repeat++)
    for (int next = ACCEPT; next <= FINISH; next++)
      CHECK(call_stream(stream, batch, (enum call)next) == LINNET_ERROR_STATE, "call %d goes on after call %d", next,
            (int)call);
  CHECK(linnet_recognizer_stream_result(stream, &result) == LINNET_ERROR_STATE, "a result after call %d", (int)call);
  linnet_recognizer_stream_reset(stream);
  CHECK(feed(stream, 5000) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_batch_destroy(batch);
  linnet_recognizer_destroy(recognizer);
}

static void test_left_posteriors(void) {
  struct linnet_recognizer *recognizer = load("plain.json");
  struct linnet_stream *stream = NULL;
  REQUIRE(linnet_stream_create(context, linnet_recognizer_model(recognizer), &stream) == LINNET_OK, "%s",
          linnet_context_error(context));
  linnet_stream_set_sink(stream, leave_rows, NULL);
  if (!setjmp(left)) {
    linnet_stream_accept(stream, samples, SAMPLES);
    CHECK(false, "the sink was not called");
  }
  linnet_stream_set_sink(stream, NULL, NULL);
  CHECK(linnet_stream_accept(stream, samples, SAMPLES) == LINNET_ERROR_STATE, "it goes on");
  linnet_stream_reset(stream);
  CHECK(linnet_stream_accept(stream, samples, SAMPLES) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

static void test_silence(void) {
  static float nothing[SAMPLES];
  struct linnet_recognizer *recognizer = load("phones.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  struct events *e = &first;
  *e = (struct events){.partials = 0};
  CHECK(linnet_recognizer_stream_set_hook(stream, see, e) == LINNET_OK, "hook");
  CHECK(linnet_recognizer_stream_accept(stream, nothing, 0) == LINNET_OK, "no samples");
  CHECK(linnet_recognizer_stream_finish(stream) == LINNET_OK && e->finals == 1 && e->partials == 0,
        "%zu results of nothing", e->finals);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* The last row reaches 5 ms beyond the audio and ends a segment: no result ends, and none begins, after the audio. */
static void test_last_row(void) {
  enum { LENGTH = 14320 };
  save_text(FOLDER, "length.json",
            "{\"model\": \"causal.safetensors\", \"endpoint\": {\"rules\": [{\"length\": 0.9}]}}");
  struct linnet_recognizer *recognizer = load("length.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  first = (struct events){.partials = 0};
  CHECK(linnet_recognizer_stream_set_hook(stream, see, &first) == LINNET_OK, "hook");
  CHECK(feed_stream(stream, samples, LENGTH, 1000) == LINNET_OK, "%s", linnet_context_error(context));
  const double seconds = linnet_recognizer_stream_seconds(stream);
  REQUIRE(first.finals == 2, "%zu segments", first.finals);
  for (size_t i = 0; i < first.finals; i++)
    CHECK(first.starts[i] <= first.ends[i] && first.ends[i] <= seconds, "segment %zu: %g to %g of %g", i,
          first.starts[i], first.ends[i], seconds);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

static void test_settings(void) {
  struct linnet_recognizer *recognizer = load("words.json");
  const struct linnet_endpoint_settings *s = &recognizer->endpoints.settings;
  CHECK(recognizer->has_endpoints && s->num_rules == 3 && s->restart == 1 && recognizer->partial_interval == 0.1,
        "words");
  CHECK(s->rules[0].speech && !s->rules[0].word && s->rules[0].silence == 0.12 && s->rules[0].quiet == 0, "rule 1");
  CHECK(s->rules[1].word && s->rules[1].quiet == 0.2 && s->rules[2].length == 0.9, "rules 2, 3");
  linnet_recognizer_destroy(recognizer);
  save_text(FOLDER, "defaults.json", "{" WORDS ", \"endpoint\": {\"silence_probability\": 0.25}}");
  recognizer = load("defaults.json");
  s = &recognizer->endpoints.settings;
  CHECK(s->num_rules == 4 && s->silence_probability == 0.25f && s->rules[3].length == 20, "defaults");
  CHECK(recognizer->partial_interval == 0, "an interval");
  linnet_recognizer_destroy(recognizer);
  recognizer = load("plain.json");
  CHECK(!recognizer->has_endpoints, "endpoints that nobody asked for");
  linnet_recognizer_destroy(recognizer);
}

static void test_refused(void) {
  static const struct {
    const char *json, *message;
  } cases[] = {{"\"partial_interval\": -1", "partial_interval is -1"},
               {"\"partial_interval\": \"x\"", "partial_interval"},
               {"\"endpoint\": 1", "endpoint is not a JSON object"},
               {"\"endpoint\": {\"rule\": []}", "unknown key \"rule\""},
               {"\"endpoint\": {\"rules\": {}}", "\"rules\" is not a list"},
               {"\"endpoint\": {\"rules\": [1]}", "a rule of endpoint is not a JSON object"},
               {"\"endpoint\": {\"rules\": [{\"noise\": 1}]}", "unknown key \"noise\""},
               {"\"endpoint\": {\"rules\": [{\"speech\": 1}]}", "speech"},
               {"\"endpoint\": {\"rules\": [{\"length\": 1}, {\"speech\": true}]}", "rule 2 needs"},
               {"\"endpoint\": {\"restart\": 2}", "restart"},
               {"\"endpoint\": {\"restart_seconds\": -1}", "restart_seconds is -1"},
               {"\"endpoint\": {\"silence_probability\": 2}", "silence_probability is 2"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct linnet_recognizer *recognizer = NULL;
    char json[512];
    snprintf(json, sizeof json, "{" WORDS ", %s}", cases[i].json);
    save_text(FOLDER, "bad.json", json);
    CHECK(linnet_recognizer_load(context, FOLDER "/bad.json", &recognizer) != LINNET_OK && !recognizer, "%s loads",
          json);
    CHECK(strstr(linnet_context_error(context), cases[i].message), "%s: '%s', expected '%s'", json,
          linnet_context_error(context), cases[i].message);
    CHECK(strstr(linnet_context_error(context), "bad.json"), "%s: %s", json, linnet_context_error(context));
  }
}

int main(void) {
  context = test_context();
  prepare();
  test_chunks("words.json");
  test_chunks("going_on.json");
  test_chunks("phones.json");
  test_chunks("whole.json");
  test_ends();
  test_end_between();
  test_file("words.json", "words_whole.json");
  test_file("whole.json", "whole_plain.json");
  test_alone("prompt_words.json", 0);
  test_alone("prompt_going_on.json", 1);
  test_restart_seconds();
  test_day();
  test_emission_delay();
  test_long_delay();
  test_stopped();
  for (int call = ACCEPT; call <= FINISH; call++)
    test_left((enum call)call);
  test_left_posteriors();
  test_silence();
  test_last_row();
  test_settings();
  test_refused();
  linnet_context_destroy(context);
  return test_result();
}
