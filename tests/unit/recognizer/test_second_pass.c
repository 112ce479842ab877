/* Recognizers with a second pass: the final result of a segment is what the other recognizer gives for its features,
 * and for those before it that the network of the first pass knows; partial results are those of the first pass; also
 * without endpoints, for phones, and with a lattice; hotwords and grammar of the first pass count in the second; pairs
 * that do not fit are refused. */
#include <linnet/fbank.h>
#include <linnet/lattice.h>
#include <linnet/recognizer.h>
#include <linnet/stream.h>

#include <stddef.h>

#include "allocators.h"
#include "recognizer_events.h"
#include "recognizer_models.h"
#include "recognizer_streams.h"
#include "test.h"

enum { SAMPLES = 96000, LONG = 240000 };

#define FOLDER TEST_BINARY_DIR "/second_pass_files"
static struct linnet_context *context;
static float samples[LONG];
static size_t num_samples = SAMPLES; /* that a stream hears */

#define WORDS(model)                                                                                                   \
  "\"model\": \"" model ".safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", \"beam\": 20"
#define RULES_AFTER(seconds)                                                                                           \
  "\"endpoint\": {\"restart_seconds\": " seconds ", \"rules\": [{\"speech\": true, \"silence\": 0.12}, "               \
  "{\"speech\": true, \"word\": true, \"quiet\": 0.2}, {\"length\": 0.9}]}"
#define RULES RULES_AFTER("0")
#define SYMBOLS "\"search\": \"symbols\", \"beam\": 7, \"insertion_bonus\": 0.5"
#define LIVE WORDS("causal") ", \"partial_interval\": 0.1, " RULES
#define CALIBRATED                                                                                                     \
  "\"confidence\": {\"slope\": 2, \"offset\": 1}, \"word_confidence\": {\"slope\": 0.5, \"offset\": -1}"
#define ADAPTED CALIBRATED ", \"blank_penalty\": 0.7, \"emission_delay\": 0.05"

static void prepare_more(void) {
  save_text(FOLDER, "late_adapted.json", "{" WORDS("model") ", " ADAPTED "}");
  save_text(FOLDER, "late_adapted_phones.json", "{\"model\": \"model.safetensors\", " ADAPTED "}");
  save_text(FOLDER, "adapted.json",
            "{\"model\": \"causal.safetensors\", " RULES ", \"second_pass\": \"late_adapted.json\"}");
  save_text(FOLDER, "long.json", "{" WORDS("causal") ", \"second_pass\": \"late.json\", " RULES_AFTER("100") "}");
  save_text(FOLDER, "late_speaker.json", "{" WORDS("speaker") "}");
  save_text(FOLDER, "speaker.json", "{" WORDS("causal") ", \"second_pass\": \"late_speaker.json\"}");
  save_text(FOLDER, "steady.json", "{" WORDS("causal") ", \"partial_interval\": 0.1}");
  save_text(FOLDER, "steady_twice.json",
            "{" WORDS("causal") ", \"partial_interval\": 0.1, \"second_pass\": \"late.json\"}");
}

static void prepare(void) {
  REQUIRE(system("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'") == 0, "%s", FOLDER);
  make_bursts(samples, LONG);
  REQUIRE(write_recognizer_model(FOLDER "/causal.safetensors", true), "no causal model");
  REQUIRE(write_recognizer_model(FOLDER "/model.safetensors", false), "no model");
  REQUIRE(write_speaker_model(FOLDER "/speaker.safetensors"), "no model with statistics of speakers");
  REQUIRE(write_other_model(FOLDER "/stack.safetensors", 2, 0), "no model that stacks two frames");
  REQUIRE(write_other_model(FOLDER "/band.safetensors", 3, 4000), "no model with another filterbank");
  REQUIRE(write_other_model(FOLDER "/same.safetensors", 3, 8000), "no model with the whole band");
  save_text(FOLDER, "lexicon", "AB A B\nBA B A\nC C\nCA C A\nD D\nDAB D A B\nBD B D\n");
  save_text(FOLDER, "late.json", "{" WORDS("model") "}");
  save_text(FOLDER, "late_phones.json", "{\"model\": \"model.safetensors\"}");
  save_text(FOLDER, "live.json", "{" LIVE "}");
  save_text(FOLDER, "twice.json", "{" LIVE ", \"second_pass\": \"late.json\"}");
  save_text(FOLDER, "context.json", "{" WORDS("causal") ", \"second_pass\": \"late.json\", " RULES_AFTER("2") "}");
  save_text(FOLDER, "whole.json", "{" WORDS("causal") ", \"second_pass\": \"late.json\"}");
  save_text(FOLDER, "names", "DAB C 9\nCA 4\n");
  save_text(FOLDER, "commands", "CA DAB\nAB AB AB\nD C\nBA\n");
  save_text(FOLDER, "late_names.json", "{" WORDS("model") ", \"hotwords\": \"names\"}");
  save_text(FOLDER, "late_commands.json", "{" WORDS("model") ", \"grammar\": \"commands\"}");
  save_text(FOLDER, "names.json", "{" LIVE ", \"hotwords\": \"names\", \"second_pass\": \"late.json\"}");
  save_text(FOLDER, "names_twice.json", "{" LIVE ", \"hotwords\": \"names\", \"second_pass\": \"late_names.json\"}");
  save_text(FOLDER, "piped.json", "{" LIVE ", \"hotwords\": \"pipe\", \"second_pass\": \"late.json\"}");
  save_text(FOLDER, "commands.json", "{" LIVE ", \"grammar\": \"commands\", \"second_pass\": \"late.json\"}");
  save_text(FOLDER, "commands_twice.json",
            "{" LIVE ", \"grammar\": \"commands\", \"second_pass\": \"late_commands.json\"}");
  save_text(FOLDER, "phones.json", "{\"model\": \"causal.safetensors\", " RULES ", \"second_pass\": \"late.json\"}");
  save_text(FOLDER, "not_causal.json", "{" WORDS("model") ", \"second_pass\": \"late.json\", " RULES "}");
  save_text(FOLDER, "first_priors", "<blk> 0.5\nA 0.01\nB 0.25\nC 0.14\nD 0.1\n");
  save_text(FOLDER, "late_priors", "<blk> 0.2\nA 0.4\nB 0.1\nC 0.1\nD 0.2\n");
  save_text(FOLDER, "late_symbols.json",
            "{\"model\": \"model.safetensors\", \"priors\": \"late_priors\", \"prior_scale\": 0.8, " SYMBOLS "}");
  save_text(FOLDER, "late_weighed.json", "{" WORDS("model") ", \"priors\": \"late_priors\", \"prior_scale\": 0.8}");
  save_text(FOLDER, "symbols.json",
            "{\"model\": \"causal.safetensors\", \"priors\": \"first_priors\", \"prior_scale\": 2, " SYMBOLS ", " RULES
            ", \"second_pass\": \"late_weighed.json\"}");
  prepare_more();
}

static struct linnet_recognizer *load(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", FOLDER, name);
  return load_recognizer(context, path);
}

static void watch(const char *name, size_t chunk, struct events *e) {
  struct linnet_recognizer *recognizer = load(name);
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  *e = (struct events){.partials = 0};
  CHECK(linnet_recognizer_stream_set_hook(stream, see, e) == LINNET_OK, "hook");
  CHECK(feed_stream(stream, samples, num_samples, chunk) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

static struct events first, other;

static void test_chunks(void) {
  static const size_t chunks[] = {37, 1600, 16001, SAMPLES};
  watch("twice.json", 800, &first);
  CHECK(first.finals >= 5 && first.partials >= 5, "%zu segments, %zu partial results", first.finals, first.partials);
  for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
    watch("twice.json", chunks[i], &other);
    CHECK(strcmp(first.text, other.text) == 0, "chunks of %zu:%s\n800:%s", chunks[i], other.text, first.text);
  }
}

/* What the second pass takes from the first is as if it had it itself, and changes the final results. */
static void test_phrases(const char *name, const char *with_both) {
  watch("twice.json", 1600, &first);
  watch(name, 1600, &other);
  CHECK(strcmp(first.finals_text[0], other.finals_text[0]) != 0, "%s: no change: %s", name, first.finals_text[0]);
  watch(with_both, 1600, &first);
  CHECK(strcmp(first.text, other.text) == 0, "%s:%s\n%s:%s", name, other.text, with_both, first.text);
}

/* Settings of a program that was built when they had fewer members: what is behind them is not read. */
static void test_older_settings(void) {
  struct linnet_recognizer_settings settings;
  struct linnet_search_settings search;
  struct linnet_recognizer *recognizer = NULL;
  linnet_recognizer_settings_default(&settings);
  linnet_search_settings_default(&search);
  search.kind = LINNET_SEARCH_WORDS;
  search.lexicon.path = FOLDER "/lexicon";
  search.size = offsetof(struct linnet_search_settings, language_model);
  memset((char *)&search + search.size, 0xa5, sizeof search - search.size);
  settings.model.path = FOLDER "/causal.safetensors";
  settings.search = &search;
  settings.second_pass = FOLDER "/late.json";
  CHECK(linnet_recognizer_create(context, &settings, &recognizer) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_recognizer_destroy(recognizer);
}

/* --- the segments of the first pass, each with the result of another recognizer for its features -------------------
 */

/* Appends rows of posteriors. */
struct rows {
  float values[SAMPLES];
  size_t count, symbols;
};

static struct rows rows;

static int keep_rows(void *user, const float *log_posteriors, size_t index, size_t frames) {
  (void)user;
  REQUIRE((index + frames) * rows.symbols <= SAMPLES, "%zu rows", index + frames);
  memcpy(rows.values + index * rows.symbols, log_posteriors, frames * rows.symbols * sizeof *log_posteriors);
  rows.count = index + frames;
  return 0;
}

/* What a search of the posteriors of features (frames, dim) finds, without the first `skipped` rows. */
static void search_alone(const struct linnet_recognizer *late, const float *features, size_t frames, size_t dim,
                         size_t skipped, char *text, size_t bytes) {
  const struct linnet_model *model = linnet_recognizer_model(late);
  struct linnet_stream *stream = NULL;
  struct linnet_search_stream *search = NULL;
  const struct linnet_result *result = NULL;
  rows.symbols = linnet_model_num_symbols(model);
  REQUIRE(linnet_stream_create(context, model, &stream) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_stream_set_sink(stream, keep_rows, NULL);
  REQUIRE(linnet_stream_accept_features(stream, features, frames, dim) == LINNET_OK &&
              linnet_stream_finish(stream) == LINNET_OK &&
              linnet_search_stream_create(context, linnet_recognizer_search(late), &search) == LINNET_OK &&
              linnet_search_stream_accept(search, rows.values + skipped * rows.symbols, rows.count - skipped) ==
                  LINNET_OK &&
              linnet_search_stream_finish(search) == LINNET_OK &&
              linnet_search_stream_result(search, linnet_model_frame_seconds(model), &result) == LINNET_OK,
          "%s", linnet_context_error(context));
  describe(result, 0, text, bytes);
  linnet_search_stream_destroy(search);
  linnet_stream_destroy(stream);
}

/* The network of the first pass restarts `restart` seconds or more after its last start; the second pass knows the
 * same features, but at most those of 10 seconds before a segment. */
static void test_alone(const char *name, const char *late_name, double restart) {
  struct linnet_recognizer *late = load(late_name);
  const struct linnet_model *model = linnet_recognizer_model(late);
  const size_t stride = linnet_model_stride(model);
  const double seconds = linnet_model_frame_seconds(model);
  struct linnet_feature_config config;
  float *features;
  const size_t frames = make_features(context, model, samples, num_samples, &features);
  const size_t most = (size_t)(10 / seconds);
  size_t known = 0, num_known = 0;
  linnet_model_features(model, &config);
  watch(name, SAMPLES, &first);
  CHECK(first.finals >= 5, "%s: %zu segments", name, first.finals);
  for (size_t i = 0; i < first.finals; i++) {
    const size_t from = (size_t)lround(first.starts[i] / seconds), end = (size_t)lround(first.ends[i] / seconds);
    const size_t to = end * stride < frames ? end * stride : frames, dim = config.fbank.num_mel;
    const size_t begin = from - known > most ? from - most : known;
    char alone[2048];
    num_known += from > begin;
    if (from * stride >= to)
      continue;
    search_alone(late, features + begin * stride * dim, to - begin * stride, dim, from - begin, alone, sizeof alone);
    CHECK(strcmp(alone, first.finals_text[i]) == 0, "%s, segment %zu alone:\n%s\nin the stream:\n%s", name, i, alone,
          first.finals_text[i]);
    if ((double)(end - known) * seconds >= restart)
      known = end;
  }
  CHECK(restart == 0 || num_known >= 2, "%s: %zu segments have a context", name, num_known);
  free(features);
  linnet_recognizer_destroy(late);
}

/* The network of the first pass does not restart within 15 seconds. */
static void test_long_context(void) {
  num_samples = LONG;
  test_alone("long.json", "late.json", 100);
  CHECK(first.starts[first.finals - 1] > 11, "the last segment begins at %g s", first.starts[first.finals - 1]);
  num_samples = SAMPLES;
}

/* --- the first pass, results -------------------------------------------------------------------------------------- */

/* Counts the final results that differ, and checks that partial results do not, but for the stable words. Those of `a`
 * have none; counts those of `b` that have some. */
static size_t compare_events(const char *a, const char *b, size_t *num_stable) {
  size_t finals = 0;
  *num_stable = 0;
  for (; *a && *b; a += strcspn(a, "\n"), b += strcspn(b, "\n")) {
    const size_t length = strcspn(++a, "\n");
    const bool same = length == strcspn(++b, "\n") && memcmp(a, b, length) == 0;
    double start, seconds, score[2];
    size_t stable[2];
    int final;
    REQUIRE(sscanf(a, "%d %lf %lf %lf %zu", &final, &start, &seconds, &score[0], &stable[0]) == 5 &&
                sscanf(b, "%*d %*f %*f %lf %zu", &score[1], &stable[1]) == 2,
            "an event");
    finals += final && !same;
    *num_stable += !final && stable[1] > 0;
    CHECK(final || (score[0] == score[1] && stable[0] == 0), "a partial result at %g: %g and %g", seconds, score[0],
          score[1]);
  }
  CHECK(!*a && !*b, "more events");
  return finals;
}

static void test_first_pass(void) {
  watch("twice.json", SAMPLES, &first);
  watch("live.json", SAMPLES, &other);
  CHECK(first.partials == other.partials && first.finals == other.finals, "%zu and %zu partial, %zu and %zu final",
        first.partials, other.partials, first.finals, other.finals);
  size_t num_stable;
  const size_t differ = compare_events(first.text, other.text, &num_stable);
  CHECK(differ > first.finals / 2, "only %zu of %zu final results are others", differ, first.finals);
  watch("steady_twice.json", SAMPLES, &first);
  watch("steady.json", SAMPLES, &other);
  compare_events(first.text, other.text, &num_stable);
  CHECK(num_stable > 0, "no partial result of %zu has stable words", other.partials);
}

/* Feeds the first part of the samples without a second pass, and the rest with it. */
static void watch_both(size_t without, struct events *e) {
  struct linnet_recognizer *recognizer = load("twice.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  *e = (struct events){.partials = 0};
  CHECK(linnet_recognizer_stream_set_hook(stream, see, e) == LINNET_OK &&
            linnet_recognizer_stream_set_second_pass(stream, 0) == LINNET_OK &&
            linnet_recognizer_stream_accept(stream, samples, without) == LINNET_OK &&
            linnet_recognizer_stream_set_second_pass(stream, 1) == LINNET_OK &&
            linnet_recognizer_stream_accept(stream, samples + without, SAMPLES - without) == LINNET_OK &&
            linnet_recognizer_stream_finish(stream) == LINNET_OK,
        "%s", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* Segments that end while the second pass is off have the result of the first pass; the others that of the second. */
static void test_off(void) {
  static struct events once, both, twice;
  watch("live.json", SAMPLES, &once);
  watch("twice.json", SAMPLES, &twice);
  watch_both(SAMPLES / 2, &both);
  size_t finals[2] = {0};
  REQUIRE(both.finals == once.finals && both.finals == twice.finals, "%zu segments", both.finals);
  for (size_t i = 0; i < both.finals; i++) {
    const bool first_pass = strcmp(both.finals_text[i], once.finals_text[i]) == 0;
    const bool second_pass = strcmp(both.finals_text[i], twice.finals_text[i]) == 0;
    CHECK(first_pass || second_pass, "segment %zu: %s", i, both.finals_text[i]);
    CHECK(second_pass || finals[1] == 0, "segment %zu has the first pass again", i);
    if (first_pass != second_pass)
      finals[second_pass]++;
  }
  CHECK(finals[0] > 0 && finals[1] > 0, "%zu segments of the first pass alone, %zu of the second", finals[0],
        finals[1]);
}

/* Without endpoints the second pass sees the whole utterance; a reset stream starts anew. Statistics of a speaker are
 * those of both passes. */
static void test_whole(const char *name, const char *late_name, const struct linnet_cmvn *speaker) {
  struct linnet_recognizer *twice = load(name), *late = load(late_name);
  struct linnet_recognizer_stream *streams[2] = {open_stream(context, twice), open_stream(context, late)};
  const struct linnet_result *result = NULL;
  char text[2][8192];
  for (int repeat = 0; repeat < 2; repeat++)
    for (int i = 0; i < 2; i++) {
      linnet_recognizer_stream_reset(streams[i]);
      CHECK(linnet_recognizer_stream_set_speaker(streams[i], repeat > 0 ? speaker : NULL) == LINNET_OK &&
                feed_stream(streams[i], samples, SAMPLES / 2, 1000) == LINNET_OK &&
                linnet_recognizer_stream_result(streams[i], &result) == LINNET_OK,
            "%s", linnet_context_error(context));
      describe(result, 0, text[i], sizeof text[i]);
      CHECK(result->is_final && fabs(result->seconds - SAMPLES / 2 / 16000.0) < 1e-9, "%g s", result->seconds);
      CHECK(i == 0 || strcmp(text[0], text[1]) == 0, "two passes: %s\nthe second alone: %s", text[0], text[1]);
    }
  linnet_recognizer_stream_destroy(streams[0]);
  linnet_recognizer_stream_destroy(streams[1]);
  linnet_recognizer_destroy(twice);
  linnet_recognizer_destroy(late);
}

static void test_speaker(void) {
  struct linnet_cmvn speaker = {.dim = 40, .count = 1};
  for (size_t d = 0; d < 40; d++)
    speaker.sum[d] = 9, speaker.square[d] = 100;
  test_whole("speaker.json", "late_speaker.json", &speaker);
}

/* Audio that ends within its last row: no word or phone reaches beyond it. */
static void test_clipped(void) {
  struct linnet_recognizer *recognizer = load("whole.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  const struct linnet_result *result = NULL;
  size_t phones = 0;
  for (size_t count = 8000; count < 32000; count += 470) {
    linnet_recognizer_stream_reset(stream);
    CHECK(feed_stream(stream, samples, count, count) == LINNET_OK &&
              linnet_recognizer_stream_result(stream, &result) == LINNET_OK,
          "%s", linnet_context_error(context));
    const struct linnet_alternative *best = result->alternatives;
    for (size_t i = 0; i < best->num_words; i++)
      CHECK(best->words[i].end <= result->seconds, "%zu samples: '%s' ends at %.17g, the audio at %.17g", count,
            best->words[i].text, best->words[i].end, result->seconds);
    for (size_t i = 0; i < best->num_phones; i++)
      CHECK(best->phones[i].end <= result->seconds, "%zu samples: '%s' ends at %.17g, the audio at %.17g", count,
            best->phones[i].text, best->phones[i].end, result->seconds);
    phones += best->num_phones;
  }
  CHECK(phones > 0, "nothing is recognised");
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
}

/* Alternatives and lattices come from the second pass, in the number that the first is asked for. */
static void test_lattice(void) {
  struct linnet_recognizer_file *file = NULL;
  struct linnet_recognizer_settings settings;
  struct linnet_search_settings search;
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_lattice *lattice = NULL;
  const struct linnet_result *result = NULL;
  REQUIRE(linnet_recognizer_file_load(context, FOLDER "/whole.json", &file) == LINNET_OK, "%s",
          linnet_context_error(context));
  linnet_recognizer_file_settings(file, &settings);
  linnet_recognizer_file_search_settings(file, &search);
  search.lattice = 1;
  search.num_alternatives = 3;
  settings.search = &search;
  REQUIRE(linnet_recognizer_create(context, &settings, &recognizer) == LINNET_OK, "%s", linnet_context_error(context));
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  CHECK(feed_stream(stream, samples, SAMPLES / 4, 1000) == LINNET_OK &&
            linnet_recognizer_stream_result(stream, &result) == LINNET_OK && result->num_alternatives == 3,
        "%s", linnet_context_error(context));
  CHECK(linnet_lattice_create(context, &lattice) == LINNET_OK &&
            linnet_search_stream_lattice(linnet_recognizer_stream_search(stream), lattice) == LINNET_OK,
        "%s", linnet_context_error(context));
  linnet_lattice_destroy(lattice);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  linnet_recognizer_file_destroy(file);
}

/* Nobody speaks: nothing to recognise again. A hook can stop the call. A recognizer can be its own second pass. */
static void test_edges(void) {
  static float nothing[SAMPLES];
  struct linnet_recognizer *recognizer = load("twice.json");
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  CHECK(feed_stream(stream, nothing, 100, 100) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_recognizer_stream_reset(stream);
  other = (struct events){.stop_at = 6};
  CHECK(linnet_recognizer_stream_set_hook(stream, see, &other) == LINNET_OK, "hook");
  CHECK(feed_stream(stream, samples, SAMPLES, SAMPLES) == LINNET_ERROR_CANCELLED, "not cancelled");
  linnet_recognizer_stream_reset(stream);
  other = (struct events){.stop_at = 0};
  watch("twice.json", SAMPLES, &first);
  CHECK(feed_stream(stream, samples, SAMPLES, 5000) == LINNET_OK && strcmp(first.text, other.text) == 0,
        "after a cancelled call");
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  save_text(FOLDER, "self.json", "{" LIVE ", \"second_pass\": \"self.json\"}");
  watch("self.json", 800, &first);
  CHECK(first.finals >= 5, "%zu segments", first.finals);
}

/* The second pass has an ensemble whose second model is missing. Its calibrations are those of the ensemble: the second
 * pass without it has none. */
static void test_ensemble_left_out(void) {
  struct linnet_recognizer *recognizer = NULL;
  save_text(FOLDER, "ensemble.json",
            "{" WORDS("model") ", \"ensemble_model\": \"missing.safetensors\", " CALIBRATED "}");
  save_text(FOLDER, "both.json", "{" LIVE ", \"second_pass\": \"ensemble.json\"}");
  CHECK(linnet_recognizer_load(context, FOLDER "/both.json", &recognizer) != LINNET_OK && !recognizer, "it loads");
  save_text(FOLDER, "both.json", "{" LIVE ", \"second_pass\": \"ensemble.json\", \"ensemble_weight\": 0}");
  watch("both.json", SAMPLES, &other);
  watch("twice.json", SAMPLES, &first);
  CHECK(strcmp(first.text, other.text) == 0, "the second pass without its ensemble: %s, not %s", other.text,
        first.text);
}

/* The bytes that a recognizer keeps in memory. */
static size_t count_bytes(const char *path) {
  struct usage usage;
  struct linnet_context *counted = counting_context(&usage);
  const size_t before = usage.bytes;
  struct linnet_recognizer *recognizer = load_recognizer(counted, path);
  const size_t bytes = usage.bytes - before;
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(counted);
  return bytes;
}

/* The second model of the ensemble is the model of the first pass, or a copy of its file: with the same results, the
 * first needs less memory. */
static void test_shared_model(void) {
  REQUIRE(system("cp '" FOLDER "/causal.safetensors' '" FOLDER "/copy.safetensors'") == 0, "no copy");
  save_text(FOLDER, "with_same.json",
            "{" WORDS("model") ", \"ensemble_model\": \"../second_pass_files/causal.safetensors\"}");
  save_text(FOLDER, "with_copy.json", "{" WORDS("model") ", \"ensemble_model\": \"copy.safetensors\"}");
  save_text(FOLDER, "same.json", "{" LIVE ", \"second_pass\": \"with_same.json\"}");
  save_text(FOLDER, "copy.json", "{" LIVE ", \"second_pass\": \"with_copy.json\"}");
  watch("same.json", SAMPLES, &first);
  watch("copy.json", SAMPLES, &other);
  CHECK(strcmp(first.text, other.text) == 0, "with one model: %s, with its copy: %s", first.text, other.text);
  const size_t same = count_bytes(FOLDER "/same.json"), copy = count_bytes(FOLDER "/copy.json");
  CHECK(same + 1000 < copy, "%zu bytes with one model, %zu with its copy", same, copy);
}

/* A filterbank to 8 kHz is one to half of 16 kHz. */
static void test_same_band(void) {
  save_text(FOLDER, "same_band.json", "{" WORDS("same") "}");
  save_text(FOLDER, "same.json", "{" LIVE ", \"second_pass\": \"same_band.json\"}");
  linnet_recognizer_destroy(load("same.json"));
}

static void refuse_filterbank(const char *what, const struct linnet_fbank_settings *fbank) {
  struct linnet_recognizer *recognizer = NULL;
  REQUIRE(write_filterbank_model(FOLDER "/bank.safetensors", fbank), "no model with another %s", what);
  CHECK(linnet_recognizer_load(context, FOLDER "/bank.json", &recognizer) != LINNET_OK && !recognizer &&
            strstr(linnet_context_error(context), "another filterbank"),
        "another %s: %s", what, linnet_context_error(context));
}

/* Each setting of the filterbank counts. */
static void test_filterbanks(void) {
  struct linnet_fbank_settings same, other_rate, length, shift, bands, low, high, preemphasis;
  save_text(FOLDER, "late_bank.json", "{" WORDS("bank") "}");
  save_text(FOLDER, "bank.json", "{" LIVE ", \"second_pass\": \"late_bank.json\"}");
  linnet_fbank_settings_default(&same);
  REQUIRE(write_filterbank_model(FOLDER "/bank.safetensors", &same), "no model with the same filterbank");
  linnet_recognizer_destroy(load("bank.json"));
  other_rate = length = shift = bands = low = high = preemphasis = same;
  other_rate.sample_rate = 22050;
  other_rate.high_frequency = 8000;
  refuse_filterbank("sample rate", &other_rate);
  length.frame_length = 20;
  refuse_filterbank("length of frames", &length);
  shift.frame_shift = 12;
  refuse_filterbank("shift of frames", &shift);
  bands.num_mel = 36;
  refuse_filterbank("number of bands", &bands);
  low.low_frequency = 60;
  refuse_filterbank("low frequency", &low);
  high.high_frequency = -400;
  refuse_filterbank("high frequency", &high);
  preemphasis.preemphasis = 0.9;
  refuse_filterbank("pre-emphasis", &preemphasis);
}

static void test_refused(void) {
  static const struct {
    const char *late, *message;
  } cases[] = {{"{" WORDS("stack") "}", "stacks 2 frames"},
               {"{" WORDS("band") "}", "another filterbank"},
               {"{\"model\": \"model.safetensors\"}", "recognises phones"},
               {"{\"model\": \"missing.safetensors\"}", "missing.safetensors"},
               {"{", "bad.json"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct linnet_recognizer *recognizer = NULL;
    save_text(FOLDER, "bad.json", cases[i].late);
    save_text(FOLDER, "refused.json", "{" LIVE ", \"second_pass\": \"bad.json\"}");
    CHECK(linnet_recognizer_load(context, FOLDER "/refused.json", &recognizer) != LINNET_OK && !recognizer, "%s loads",
          cases[i].late);
    const char *error = linnet_context_error(context);
    CHECK(strstr(error, cases[i].message) && strstr(error, "second_pass: " FOLDER "/bad.json: ") &&
              strstr(error, "refused.json"),
          "'%s', expected '%s'", error, cases[i].message);
  }
}

int main(void) {
  context = test_context();
  prepare();
  test_chunks();
  test_older_settings();
  test_phrases("names.json", "names_twice.json");
  test_phrases("commands.json", "commands_twice.json");
  REQUIRE(system("cd '" FOLDER "' && mkfifo pipe && (cat names > pipe &)") == 0, "no pipe");
  test_phrases("piped.json", "names_twice.json"); /* both passes read it */
  test_alone("twice.json", "late.json", 0);
  test_alone("phones.json", "late_phones.json", 0);
  test_alone("context.json", "late.json", 2);
  test_alone("not_causal.json", "late.json", INFINITY);
  test_alone("symbols.json", "late_symbols.json", 0);
  test_alone("adapted.json", "late_adapted_phones.json", 0);
  test_long_context();
  test_same_band();
  test_first_pass();
  test_off();
  test_whole("whole.json", "late.json", NULL);
  test_speaker();
  test_clipped();
  test_lattice();
  test_edges();
  test_ensemble_left_out();
  test_shared_model();
  test_filterbanks();
  test_refused();
  linnet_context_destroy(context);
  return test_result();
}
