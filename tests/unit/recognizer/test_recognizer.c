/* The recognizer: JSON, code, memory and files give the same settings; results do not depend on chunks and threads;
 * the hook gets every new result; a stream is usable after a cancelled call; errors name file and key. */
#include <linnet/recognizer.h>

#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>

#include "cancelling.h"
#include "recognizer/recognizer_parts.h"
#include "recognizer_models.h"
#include "recognizer_streams.h"

enum { SAMPLES = 32000, THREADS = 4, TEXT_BYTES = 4096 };

#define FOLDER TEST_BINARY_DIR "/recognizer_files"
static struct linnet_context *context;
static float samples[SAMPLES];

static const char lexicon[] = "AB A B\nBA B A\nC C\nCA C A\nD D\nDAB D A B\nBD B D\n";
static const char hotwords[] = "DAB C 2\n", grammar[] = "AB C\nDAB\nD C BA\nC D\n";
static const char priors[] = "<blk> 0.5\nA 0.125\nB 0.25\nC 0.0625\nD 0.0625\n";
static const char arpa[] = "\\data\\\nngram 1=9\nngram 2=2\n\n\\1-grams:\n-99\t<s>\t-0.3\n-1\t</s>\n-0.5\tAB\t-0.2\n"
                           "-0.7\tBA\t-0.1\n-1\tC\n-0.8\tCA\n-1\tD\n-0.9\tDAB\n-1\tBD\n\n\\2-grams:\n-0.1\t<s> AB\n"
                           "-0.2\tAB BA\n\n\\end\\\n";

/* --- functions of the tests --------------------------------------------------------------------------------------- */

static void save(const char *name, const void *data, size_t bytes) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", FOLDER, name);
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0, "%s", path);
}

static void *read_whole(const char *path, size_t *bytes) {
  struct stat found;
  FILE *file = fopen(path, "rb");
  REQUIRE(file && stat(path, &found) == 0, "%s", path);
  void *data = malloc(*bytes = (size_t)found.st_size);
  REQUIRE(fread(data, 1, *bytes, file) == *bytes && fclose(file) == 0, "%s", path);
  return data;
}

/* Bursts of tone and noise, with integer values for raw files. */
static void make_samples(void) {
  struct test_random random = {7};
  for (size_t i = 0; i < SAMPLES; i++) {
    double tone = 6000 * sin((double)i * (0.02 + 0.03 * (double)(i / 3000 % 5)));
    samples[i] = (float)(int)(i / 2500 % 3 == 0 ? 300 * test_uniform(&random) : tone);
  }
}

static void prepare(void) {
  static int16_t raw[SAMPLES];
  REQUIRE(system("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'") == 0, "%s", FOLDER);
  make_samples();
  REQUIRE(write_recognizer_model(FOLDER "/model.safetensors", false), "no model");
  REQUIRE(write_recognizer_model(FOLDER "/causal.safetensors", true), "no causal model");
  REQUIRE(write_silence_model(FOLDER "/silences.safetensors"), "no model with rules of silence");
  save("lexicon", lexicon, sizeof lexicon - 1);
  save("hotwords", hotwords, sizeof hotwords - 1);
  save("grammar", grammar, sizeof grammar - 1);
  save("priors.txt", priors, sizeof priors - 1);
  save("words.arpa", arpa, sizeof arpa - 1);
  for (size_t i = 0; i < SAMPLES; i++)
    raw[i] = (int16_t)samples[i];
  save("speech.raw", raw, sizeof raw);
}

/* All of a result, exactly. */
static void describe(const struct linnet_result *result, char text[TEXT_BYTES]) {
  size_t n = (size_t)snprintf(text, TEXT_BYTES, "%g %d %zu", result->seconds, result->is_final, result->num_stable);
  for (size_t a = 0; a < result->num_alternatives && n < TEXT_BYTES; a++) {
    const struct linnet_alternative *x = &result->alternatives[a];
    n += (size_t)snprintf(text + n, TEXT_BYTES - n, "\n%a %a %a", x->score, x->acoustic, x->language);
    for (size_t i = 0; i < x->num_words + x->num_phones && n < TEXT_BYTES; i++) {
      const struct linnet_span *span = i < x->num_words ? &x->words[i] : &x->phones[i - x->num_words];
      n += (size_t)snprintf(text + n, TEXT_BYTES - n, " %s %g %g %a", span->text, span->start, span->end,
                            (double)span->confidence);
    }
  }
  REQUIRE(n < TEXT_BYTES, "%zu bytes of a result", n);
}

static struct linnet_recognizer *create(const struct linnet_recognizer_settings *settings) {
  struct linnet_recognizer *recognizer = NULL;
  REQUIRE(linnet_recognizer_create(context, settings, &recognizer) == LINNET_OK, "%s", linnet_context_error(context));
  return recognizer;
}

static enum linnet_status feed(struct linnet_recognizer_stream *stream, size_t chunk) {
  return feed_stream(stream, samples, SAMPLES, chunk);
}

/* The result of the samples. */
static void recognise(const struct linnet_recognizer *recognizer, size_t chunk, char text[TEXT_BYTES]) {
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  const struct linnet_result *result = NULL;
  REQUIRE(feed(stream, chunk) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_recognizer_stream_result(stream, &result) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(result->is_final && result->num_alternatives > 0, "no final result");
  describe(result, text);
  linnet_recognizer_stream_destroy(stream);
}

/* Recognises and destroys. */
static void take(struct linnet_recognizer *recognizer, char text[TEXT_BYTES]) {
  recognise(recognizer, 4000, text);
  linnet_recognizer_destroy(recognizer);
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

#define SEARCH_KEYS                                                                                                    \
  "\"model\": \"causal.safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", \"num_alternatives\": 3, "      \
  "\"beam\": 20, \"word_bonus\": -0.5, \"unknown_penalty\": 9, \"score_threshold\": 50, \"silences\": [\"D\"], "       \
  "\"confidence\": {\"slope\": 0.5, \"offset\": 0.25}, "
static const char json_model[] = "{" SEARCH_KEYS "\"language_model\": \"words.arpa\", \"language_model_weight\": 0.75, "
                                 "\"hotwords\": \"hotwords\", \"priors\": \"priors.txt\", \"prior_scale\": 0.75}";
static const char json_grammar[] = "{" SEARCH_KEYS "\"grammar\": \"grammar\"}";

static const struct linnet_calibrations calibrations = {{0.5, 0.25}, {1, 0}};
static const char *const silences[] = {"D"};

/* The settings of the JSON, in code. */
static struct linnet_search_settings search_settings(bool closed) {
  struct linnet_search_settings search;
  linnet_search_settings_default(&search);
  search.kind = LINNET_SEARCH_WORDS;
  search.num_alternatives = 3;
  search.beam = 20;
  search.word_bonus = -0.5f;
  search.unknown_penalty = 9;
  search.score_threshold = 50;
  search.silences = silences;
  search.num_silences = 1;
  search.calibrations = &calibrations;
  search.language_model_weight = closed ? 1 : 0.75f;
  search.prior_scale = closed ? 0.5f : 0.75f;
  return search;
}

static void name_files(struct linnet_search_settings *search, bool closed) {
  search->lexicon.path = FOLDER "/lexicon";
  if (closed) {
    search->grammar.path = FOLDER "/grammar";
  } else {
    search->language_model.path = FOLDER "/words.arpa";
    search->hotwords.path = FOLDER "/hotwords";
    search->priors.path = FOLDER "/priors.txt";
  }
}

static void name_memory(struct linnet_search_settings *search, bool closed) {
  search->lexicon = (struct linnet_source){NULL, lexicon, sizeof lexicon - 1};
  if (closed) {
    search->grammar = (struct linnet_source){NULL, grammar, sizeof grammar - 1};
  } else {
    search->language_model = (struct linnet_source){"the model", arpa, sizeof arpa - 1};
    search->hotwords = (struct linnet_source){NULL, hotwords, sizeof hotwords - 1};
    search->priors = (struct linnet_source){NULL, priors, sizeof priors - 1};
  }
}

/* From a file, its folder, code with files, code with memory. */
static void test_same(const char *json, size_t bytes, bool closed) {
  char expected[TEXT_BYTES], got[TEXT_BYTES];
  struct linnet_search_settings search = search_settings(closed);
  struct linnet_recognizer_settings settings;
  size_t model_bytes;
  void *model = read_whole(FOLDER "/causal.safetensors", &model_bytes);
  save("recognizer.json", json, bytes);
  take(load_recognizer(context, FOLDER "/recognizer.json"), expected);
  CHECK(strchr(expected, 'A') != NULL, "nothing was recognised: %s", expected);
  take(load_recognizer(context, FOLDER), got);
  CHECK(strcmp(expected, got) == 0, "folder:\n%s\nfile:\n%s", got, expected);
  linnet_recognizer_settings_default(&settings);
  settings.search = &search;
  settings.model.path = FOLDER "/causal.safetensors";
  name_files(&search, closed);
  take(create(&settings), got);
  CHECK(strcmp(expected, got) == 0, "code:\n%s\nJSON:\n%s", got, expected);
  search = search_settings(closed);
  name_memory(&search, closed);
  settings.model = (struct linnet_source){NULL, model, model_bytes};
  struct linnet_recognizer *recognizer = create(&settings);
  memset(model, 0, model_bytes);
  free(model);
  take(recognizer, got);
  CHECK(strcmp(expected, got) == 0, "memory:\n%s\nJSON:\n%s", got, expected);
}

/* Every key gets to its member. */
static void test_members(void) {
  static const char json[] =
      "{\"model\": \"m\", \"search\": \"symbols\", \"lexicon\": \"l\", \"language_model\": \"/n\", \"grammar\": \"g\", "
      "\"hotwords\": \"h\", \"g2p\": \"q\", \"silences\": [\"X\", \"Y\"], \"num_alternatives\": 2, \"beam\": 3, "
      "\"top_symbols\": 4, "
      "\"symbol_threshold\": 5, \"score_threshold\": 6, \"language_model_weight\": 7, \"insertion_bonus\": 8, "
      "\"word_bonus\": 9, \"unknown_penalty\": 10, \"priors\": \"p\", \"prior_scale\": 11, \"max_silence\": 12, "
      "\"blank_penalty\": 13, \"emission_delay\": 14, \"edge_silence\": 0, \"word_confidence\": "
      "{\"slope\": 2, \"offset\": -3}}";
  struct linnet_recognizer_file file;
  REQUIRE(linnet_recognizer_file_read(&file, context, json, sizeof json - 1, "some/x.json") == LINNET_OK, "%s",
          linnet_context_error(context));
  const struct linnet_search_settings *s = file.settings.search;
  CHECK(strcmp(file.settings.model.path, "some/m") == 0 && strcmp(s->language_model.path, "/n") == 0, "paths");
  CHECK(strcmp(s->lexicon.path, "some/l") == 0 && strcmp(s->grammar.path, "some/g") == 0 &&
            strcmp(s->hotwords.path, "some/h") == 0 && strcmp(s->g2p.path, "some/q") == 0 &&
            strcmp(s->priors.path, "some/p") == 0,
        "paths");
  CHECK(s->kind == LINNET_SEARCH_SYMBOLS && s->num_alternatives == 2 && s->beam == 3 && s->top_symbols == 4, "counts");
  CHECK(s->symbol_threshold == 5 && s->score_threshold == 6 && s->language_model_weight == 7 && s->insertion_bonus == 8,
        "numbers");
  CHECK(s->word_bonus == 9 && s->prior_scale == 11 && s->blank_penalty == 13 && s->emission_delay == 14 &&
            s->unknown_penalty == 10 && s->num_silences == 2 && strcmp(s->silences[1], "Y") == 0,
        "words");
  CHECK(s->calibrations && s->calibrations->phones.slope == 1 && s->calibrations->words.slope == 2 &&
            s->calibrations->words.offset == -3,
        "calibrations");
  CHECK(file.settings.max_silence && *file.settings.max_silence == 12 && file.settings.edge_silence &&
            *file.settings.edge_silence == 0,
        "lengths of silence");
  linnet_recognizer_file_release(&file);
}

/* Settings of a program that was built with fewer members: the missing members have their defaults. */
static void test_size(void) {
  struct linnet_search_settings search, whole;
  struct {
    struct linnet_search_settings known;
    unsigned char unknown[8];
  } newer = {.unknown = {1}};
  struct linnet_recognizer_settings settings;
  struct linnet_recognizer *recognizer = NULL;
  char expected[TEXT_BYTES], got[TEXT_BYTES];
  linnet_search_settings_default(&whole);
  whole.kind = LINNET_SEARCH_SYMBOLS;
  linnet_recognizer_settings_default(&settings);
  settings.model.path = FOLDER "/model.safetensors";
  settings.search = &whole;
  take(create(&settings), expected);
  memset(&search, 0xFF, sizeof search);
  search.size = offsetof(struct linnet_search_settings, num_alternatives);
  search.kind = LINNET_SEARCH_SYMBOLS;
  settings.search = &search;
  take(create(&settings), got);
  CHECK(strcmp(expected, got) == 0, "smaller settings:\n%s\nwhole:\n%s", got, expected);
  linnet_search_settings_default(&newer.known);
  newer.known.size = sizeof newer;
  settings.search = &newer.known;
  CHECK(linnet_recognizer_create(context, &settings, &recognizer) == LINNET_ERROR_ARGUMENT, "larger search settings");
  settings.search = NULL;
  settings.size = 0;
  CHECK(linnet_recognizer_create(context, &settings, &recognizer) == LINNET_ERROR_ARGUMENT, "settings of no size");
  settings.size = offsetof(struct linnet_recognizer_settings, shared_model);
  linnet_recognizer_destroy(create(&settings));
}

/* --- lengths of silence ------------------------------------------------------------------------------------------- */

/* Rows are blank with probability 1 where recognition leaves frames out. */
static int count_removed(void *user, const float *log_posteriors, size_t first, size_t frames) {
  size_t *count = user;
  (void)first;
  for (size_t t = 0; t < frames; t++)
    *count += expf(log_posteriors[t * 5]) > 0.9999f;
  return 0;
}

/* The number of output frames that are left out of 1.5 s of silence around and 1 s within 2 s of speech. */
static size_t removed(struct linnet_recognizer *recognizer) {
  static const float quiet[24000];
  size_t count = 0;
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  const struct {
    const float *samples;
    size_t n;
  } parts[] = {{quiet, 24000}, {samples, 16000}, {quiet, 16000}, {samples, 16000}, {quiet, 24000}};
  linnet_recognizer_stream_set_sink(stream, count_removed, &count);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    REQUIRE(linnet_recognizer_stream_accept(stream, parts[i].samples, parts[i].n) == LINNET_OK, "%s",
            linnet_context_error(context));
  REQUIRE(linnet_recognizer_stream_finish(stream) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  return count;
}

static size_t removed_by(const struct linnet_model *model, const double *max_silence, const double *edge_silence) {
  struct linnet_recognizer_settings settings;
  linnet_recognizer_settings_default(&settings);
  settings.shared_model = model;
  settings.max_silence = max_silence;
  settings.edge_silence = edge_silence;
  return removed(create(&settings));
}

static size_t removed_by_file(const char *keys) {
  char json[256];
  int bytes = snprintf(json, sizeof json, "{\"model\": \"silences.safetensors\"%s}", keys);
  save("silences.json", json, (size_t)bytes);
  return removed(load_recognizer(context, FOLDER "/silences.json"));
}

/* The model keeps 0.5 s within speech, and 0.2 s at either end: 2.6 s of 3.1 s at the ends, and 0.5 s. */
static void test_lengths(void) {
  static const double off = 0, longer = 0.8, negative = -1;
  const double nan = (double)NAN, *const wrong[] = {&negative, &nan};
  struct linnet_model *model = NULL;
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_recognizer_settings settings;
  REQUIRE(linnet_model_load(context, FOLDER "/silences.safetensors", &model) == LINNET_OK, "%s",
          linnet_context_error(context));
  const size_t both = removed_by(model, NULL, NULL), edge = removed_by(model, &off, NULL),
               maximum = removed_by(model, NULL, &off), longest = removed_by(model, NULL, &longer);
  CHECK(edge > 0 && edge < both && maximum > 0 && maximum < both, "%zu by both rules, %zu by edge, %zu by maximum",
        both, edge, maximum);
  CHECK(removed_by(model, &off, &off) == 0, "rules that are switched off leave frames out");
  CHECK(longest < both && longest > 0, "0.8 s at the ends leave out %zu, 0.2 s %zu", longest, both);
  CHECK(removed_by_file("") == both && removed_by_file(", \"max_silence\": 0") == edge &&
            removed_by_file(", \"edge_silence\": 0") == maximum &&
            removed_by_file(", \"edge_silence\": 0.8") == longest &&
            removed_by_file(", \"max_silence\": 0, \"edge_silence\": 0") == 0,
        "the file differs from the settings");
  linnet_recognizer_settings_default(&settings);
  settings.shared_model = model;
  for (size_t i = 0; i < 2; i++) {
    settings.max_silence = i == 0 ? wrong[0] : NULL;
    settings.edge_silence = i == 0 ? NULL : wrong[1];
    CHECK(linnet_recognizer_create(context, &settings, &recognizer) == LINNET_ERROR_LIMIT && !recognizer &&
              strstr(linnet_context_error(context), i == 0 ? "\"max_silence\" is -1" : "\"edge_silence\" is"),
          "'%s'", linnet_context_error(context));
  }
  linnet_model_destroy(model);
}

static void test_refused(void) {
  static const struct {
    const char *json, *message;
  } cases[] = {
      {"", "malformed JSON"},
      {"[]", "recognizer is not a JSON object"},
      {"{}", "\"model\" is missing"},
      {"{\"model\": 1}", "\"model\" is not a string"},
      {"{\"model\": \"causal.safetensors\", \"lexikon\": \"lexicon\"}",
       "unknown key \"lexikon\"; do you mean \"lexicon\"? Known are: model, "},
      {"{\"model\": \"nowhere\"}", "nowhere: No such file"},
      {"{\"model\": \"lexicon\"}", "lexicon"},
      {"{\"model\": \"causal.safetensors\", \"search\": \"sounds\"}", "\"search\" is \"sounds\""},
      {"{\"model\": \"causal.safetensors\", \"search\": \"words\"}", "name a lexicon"},
      {"{\"model\": \"causal.safetensors\", \"lexicon\": \"lexicon\"}", "need a search for words"},
      {"{\"model\": \"causal.safetensors\", \"search\": \"symbols\", \"beam\": -1}", "\"beam\" is not a whole number"},
      {"{\"model\": \"causal.safetensors\", \"search\": \"symbols\", \"beam\": 99999}", "beam is 99999"},
      {"{\"model\": \"causal.safetensors\", \"num_alternatives\": 0}", "num_alternatives is 0"},
      {"{\"model\": \"causal.safetensors\", \"silences\": [1]}", "\"silences\" is not a list"},
      {"{\"model\": \"causal.safetensors\", \"max_silence\": \"model\"}", "\"max_silence\" is not a number"},
      {"{\"model\": \"causal.safetensors\", \"max_silence\": -1}", "bad.json: \"max_silence\" is -1"},
      {"{\"model\": \"causal.safetensors\", \"edge_silence\": 3601}", "\"edge_silence\" is 3601; it must be 0 to 3600"},
      {"{\"model\": \"causal.safetensors\", \"confidence\": {\"slope\": 0, \"offset\": 1}}", "confidence: \"slope\""},
      {"{\"model\": \"causal.safetensors\", \"confidence\": {\"slope\": 1}}", "confidence: key \"offset\" is missing"},
      {"{\"model\": \"causal.safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", \"silences\": [\"X\"]}",
       "silences: X"},
      {"{\"model\": \"causal.safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", \"grammar\": "
       "\"hotwords\"}",
       "grammar: " FOLDER "/hotwords"},
      {"{\"model\": \"causal.safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", \"grammar\": \"grammar\", "
       "\"language_model\": \"words.arpa\"}",
       "give only one of grammar and language_model"},
      {"{\"model\": \"causal.safetensors\", \"search\": \"symbols\", \"language_model\": \"lexicon\"}",
       "language_model: " FOLDER "/lexicon"},
      {"{\"model\": \"causal.safetensors\", \"search\": \"symbols\", \"priors\": \"lexicon\"}",
       "priors: " FOLDER "/lexicon:1: 'AB' where the symbol"},
      {"{\"model\": \"causal.safetensors\", \"search\": \"symbols\", \"priors\": \"priors.txt\", \"prior_scale\": 3}",
       FOLDER "/bad.json: prior_scale is 3; it must be 0 to 2"},
      {"{\"model\": \"causal.safetensors\", \"search\": \"symbols\", \"symbol_threshold\": -1, \"score_threshold\": 5}",
       FOLDER "/bad.json: symbol_threshold is -1; it must be at least 0"},
      {"{\"model\": \"causal.safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", \"word_bonus\": 200}",
       FOLDER "/bad.json: word_bonus is 200; it must be -100 to 100"},
      {"{\"model\": \"causal.safetensors\", \"emission_delay\": 11}", "emission_delay is 11;"},
      {"{\"model\": \"/nonexist/x\"}", FOLDER "/bad.json: model: /nonexist/x: No such file"},
      {"{\"model\": \"lexicon\"}", FOLDER "/bad.json: model: " FOLDER "/lexicon: "},
      {"{\"model\": \"\"}", FOLDER "/bad.json: recognizer: \"model\" is empty: name a file"},
      {"{\"model\": \"causal.safetensors\", \"second_pass\": \"\"}", "\"second_pass\" is empty"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct linnet_recognizer *recognizer = NULL;
    save("bad.json", cases[i].json, strlen(cases[i].json));
    CHECK(linnet_recognizer_load(context, FOLDER "/bad.json", &recognizer) != LINNET_OK && !recognizer, "%s loads",
          cases[i].json);
    const char *said = linnet_context_error(context);
    const char *expected = strstr(said, cases[i].message);
    CHECK(expected && strstr(said, "bad.json"), "%s: '%s', expected '%s'", cases[i].json, said, cases[i].message);
  }
}

static void test_silences_refused(void) {
  struct linnet_search_settings search;
  struct linnet_recognizer_settings settings;
  struct linnet_recognizer *recognizer = NULL;
  linnet_recognizer_settings_default(&settings);
  linnet_search_settings_default(&search);
  settings.model.path = FOLDER "/causal.safetensors";
  settings.search = &search;
  search.num_silences = 3;
  CHECK(linnet_recognizer_create(context, &settings, &recognizer) == LINNET_ERROR_ARGUMENT && !recognizer &&
            strcmp(linnet_context_error(context), "num_silences is 3, but silences is NULL") == 0,
        "%s", linnet_context_error(context));
}

/* Some editors put a mark in front of a text. */
static void test_marked(void) {
  struct linnet_recognizer *recognizer = NULL;
  static const char json[] = "\xEF\xBB\xBF{\"model\": \"causal.safetensors\"}";
  save("marked.json", json, sizeof json - 1);
  CHECK(linnet_recognizer_load(context, FOLDER "/marked.json", &recognizer) == LINNET_OK, "%s",
        linnet_context_error(context));
  linnet_recognizer_destroy(recognizer);
}

/* The list of known keys ends with a whole key, whatever the length of the path; a suggestion resembles the key. */
static void test_unknown_key(void) {
  char name[256], path[512];
  for (int length = 1; length < 200; length++) {
    struct linnet_recognizer *recognizer = NULL;
    static const char json[] = "{\"model\": \"m\", \"colour\": 1}";
    snprintf(name, sizeof name, "%0*d.json", length, 0);
    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    save(name, json, sizeof json - 1);
    CHECK(linnet_recognizer_load(context, path, &recognizer) == LINNET_ERROR_FORMAT, "%s", path);
    const char *said = linnet_context_error(context), *end = strrchr(said, ',');
    CHECK(strstr(said, "unknown key \"colour\"; known are: model, search") && !strstr(said, "do you mean"), "%s", said);
    CHECK(end && strcmp(end, ", ...") == 0, "%s", said);
    remove(path);
  }
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

struct listener {
  pthread_t thread;
  struct linnet_context *own;
  const struct linnet_recognizer *recognizer;
  size_t chunk;
  char text[TEXT_BYTES];
};

static void *listen(void *user) {
  struct listener *l = user;
  struct linnet_recognizer_stream *stream = NULL;
  const struct linnet_result *result = NULL;
  if (linnet_recognizer_stream_create(l->own, l->recognizer, &stream) == LINNET_OK)
    for (int round = 0; round < 3; round++) {
      linnet_recognizer_stream_reset(stream);
      if (feed(stream, l->chunk) == LINNET_OK && linnet_recognizer_stream_result(stream, &result) == LINNET_OK)
        describe(result, l->text);
    }
  linnet_recognizer_stream_destroy(stream);
  return NULL;
}

static void test_threads(const struct linnet_recognizer *recognizer) {
  static struct listener listeners[THREADS];
  char expected[TEXT_BYTES];
  recognise(recognizer, 4000, expected);
  for (unsigned i = 0; i < THREADS; i++) {
    listeners[i] = (struct listener){.recognizer = recognizer, .chunk = 700 + 3000 * i};
    REQUIRE(linnet_context_share(context, &listeners[i].own) == LINNET_OK, "share");
    REQUIRE(pthread_create(&listeners[i].thread, NULL, listen, &listeners[i]) == 0, "thread");
  }
  for (unsigned i = 0; i < THREADS; i++) {
    pthread_join(listeners[i].thread, NULL);
    CHECK(strcmp(listeners[i].text, expected) == 0, "stream %u:\n%s\nalone:\n%s", i, listeners[i].text, expected);
    linnet_context_destroy(listeners[i].own);
  }
}

/* Results that the hook got: stable text must not change. */
struct seen {
  size_t calls, finals, stop_at, num_stable;
  const char *stable[256];
  char text[TEXT_BYTES];
};

static int see(void *user, const struct linnet_result *result) {
  struct seen *seen = user;
  const struct linnet_alternative *best = result->alternatives;
  const struct linnet_span *spans = best->words ? best->words : best->phones;
  size_t count = best->words ? best->num_words : best->num_phones;
  for (size_t i = 0; i < seen->num_stable; i++)
    CHECK(i < count && strcmp(spans[i].text, seen->stable[i]) == 0, "stable text %zu changed", i);
  for (size_t i = seen->num_stable; i < result->num_stable && i < count && i < 256; i++)
    seen->stable[seen->num_stable++] = spans[i].text;
  seen->finals += result->is_final != 0;
  describe(result, seen->text);
  return ++seen->calls == seen->stop_at;
}

/* Not even a cancelled call at the start of the audio leaves a result of the rest. */
static void check_stopped(struct linnet_context *own, struct linnet_recognizer_stream *stream) {
  const struct linnet_result *result = NULL;
  struct {
    const char *name;
    enum linnet_status status;
  } calls[] = {{"accept", linnet_recognizer_stream_accept(stream, samples, 4000)},
               {"no samples", linnet_recognizer_stream_accept(stream, samples, 0)},
               {"features", linnet_recognizer_stream_accept_features(stream, samples, 0, 1)},
               {"result", linnet_recognizer_stream_result(stream, &result)},
               {"finish", linnet_recognizer_stream_finish(stream)},
               {"final result", linnet_recognizer_stream_result(stream, &result)}};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    CHECK(calls[i].status == LINNET_ERROR_STATE && !result, "%s after a cancelled call: status %d", calls[i].name,
          (int)calls[i].status);
  CHECK(strstr(linnet_context_error(own), "the call before was cancelled") &&
            strstr(linnet_context_error(own), "reset the stream first"),
        "%s", linnet_context_error(own));
}

static unsigned refused_calls;

/* A hook that calls the stream, which is refused with a sentence that says so. */
static int call_stream(void *user, const struct linnet_result *result) {
  struct linnet_recognizer_stream *stream = user;
  const struct linnet_result *other;
  (void)result;
  CHECK(linnet_recognizer_stream_accept(stream, samples, 400) == LINNET_ERROR_STATE &&
            linnet_recognizer_stream_result(stream, &other) == LINNET_ERROR_STATE &&
            strstr(linnet_context_error(context), "its hook or sink must not call functions of the stream"),
        "%s", linnet_context_error(context));
  refused_calls++;
  return 0;
}

static void test_calls_in_hook(const struct linnet_recognizer *recognizer) {
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  char expected[TEXT_BYTES], text[TEXT_BYTES];
  const struct linnet_result *result = NULL;
  recognise(recognizer, 4000, expected);
  CHECK(linnet_recognizer_stream_set_hook(stream, call_stream, stream) == LINNET_OK, "hook");
  CHECK(feed(stream, 4000) == LINNET_OK && linnet_recognizer_stream_result(stream, &result) == LINNET_OK,
        "refused calls in the hook stop the stream: %s", linnet_context_error(context));
  if (result)
    describe(result, text);
  CHECK(result && strcmp(text, expected) == 0, "refused calls in the hook change the result");
  CHECK(refused_calls > 0, "the hook was not called");
  linnet_recognizer_stream_destroy(stream);
}

static void test_hook(const struct linnet_recognizer *recognizer, bool incremental) {
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  struct seen seen = {0};
  char expected[TEXT_BYTES];
  recognise(recognizer, 4000, expected);
  CHECK((linnet_recognizer_is_incremental(recognizer) != 0) == incremental, "incremental");
  CHECK(linnet_recognizer_stream_set_hook(stream, see, &seen) == LINNET_OK, "hook");
  CHECK(feed(stream, 800) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(incremental ? seen.calls > 3 : seen.calls == 1, "%zu results", seen.calls);
  CHECK(seen.calls <= SAMPLES / 800 + 1 && seen.finals == 1, "%zu results, %zu final", seen.calls, seen.finals);
  CHECK(strcmp(seen.text, expected) == 0, "last result:\n%s\nexpected:\n%s", seen.text, expected);
  seen = (struct seen){.stop_at = 1};
  linnet_recognizer_stream_reset(stream);
  CHECK(feed(stream, 800) == LINNET_ERROR_CANCELLED && seen.calls == 1, "the hook did not stop the call");
  CHECK(strstr(linnet_context_error(context), "asked to stop"), "%s", linnet_context_error(context));
  check_stopped(context, stream);
  linnet_recognizer_stream_destroy(stream);
}

static void test_order(const struct linnet_recognizer *recognizer) {
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  const struct linnet_result *result = NULL;
  CHECK(linnet_recognizer_stream_result(stream, &result) == LINNET_OK && !result->is_final, "a result of nothing");
  CHECK(result->num_alternatives > 0 && result->alternatives[0].num_phones == 0, "phones of nothing");
  CHECK(linnet_recognizer_stream_accept(stream, NULL, 5) == LINNET_ERROR_ARGUMENT, "NULL samples");
  CHECK(strncmp(linnet_context_error(context), "linnet_recognizer_stream_accept: ", 33) == 0, "%s",
        linnet_context_error(context));
  CHECK(linnet_recognizer_stream_finish(stream) == LINNET_OK, "finish");
  CHECK(linnet_recognizer_stream_finish(stream) == LINNET_ERROR_STATE, "finished twice");
  CHECK(linnet_recognizer_stream_accept(stream, samples, 5) == LINNET_ERROR_STATE, "accepted after the end");
  CHECK(strcmp(linnet_context_error(context), "the utterance has ended: reset the stream first") == 0, "%s",
        linnet_context_error(context));
  linnet_recognizer_stream_reset(stream);
  CHECK(feed(stream, SAMPLES) == LINNET_OK, "after a reset: %s", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
}

/* A whole file, raw here; a smaller structure of its settings is enough. */
static void test_file(const struct linnet_recognizer *recognizer) {
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  const struct linnet_result *result = NULL;
  struct linnet_audio_settings audio;
  char expected[TEXT_BYTES], got[TEXT_BYTES] = "";
  recognise(recognizer, 4000, expected);
  linnet_audio_settings_default(&audio);
  audio.size = offsetof(struct linnet_audio_settings, max_seconds);
  audio.sample_rate = 1; /* is the model's in any case */
  audio.raw_format = LINNET_SAMPLE_S16LE;
  for (int round = 0; round < 2; round++) {
    REQUIRE(linnet_recognizer_stream_run_file(stream, FOLDER "/speech.raw", &audio, &result) == LINNET_OK, "%s",
            linnet_context_error(context));
    describe(result, got);
    CHECK(strcmp(expected, got) == 0, "file:\n%s\nsamples:\n%s", got, expected);
  }
  CHECK(linnet_recognizer_stream_run_file(stream, FOLDER "/nowhere", NULL, &result) == LINNET_ERROR_IO, "nowhere");
  for (int wrong = 0; wrong < 2; wrong++) {
    struct linnet_audio *open = NULL;
    audio.sample_rate = wrong ? 8000 : 16000;
    audio.raw_rate = 16000;
    REQUIRE(linnet_audio_open(context, FOLDER "/speech.raw", &audio, &open) == LINNET_OK, "%s",
            linnet_context_error(context));
    const enum linnet_status status = linnet_recognizer_stream_run(stream, open, &result);
    CHECK(wrong ? status == LINNET_ERROR_ARGUMENT && !result && strstr(linnet_context_error(context), "8000 samples")
                : status == LINNET_OK && (describe(result, got), strcmp(expected, got) == 0),
          "open audio: status %d: %s", (int)status, linnet_context_error(context));
    linnet_audio_destroy(open);
  }
  linnet_recognizer_stream_destroy(stream);
}

/* Greedy results are the segments of a plain stream; they have no lattice. */
static void test_greedy(const struct linnet_recognizer *recognizer) {
  const struct linnet_model *model = linnet_recognizer_model(recognizer);
  struct linnet_recognizer_stream *stream = open_stream(context, recognizer);
  struct linnet_stream *plain = NULL;
  struct linnet_lattice *lattice = NULL;
  const struct linnet_result *result = NULL;
  size_t count = 0;
  REQUIRE(linnet_stream_create(context, model, &plain) == LINNET_OK, "stream");
  CHECK(linnet_stream_accept(plain, samples, SAMPLES) == LINNET_OK && linnet_stream_finish(plain) == LINNET_OK, "run");
  const struct linnet_segment *segments = linnet_stream_segments(plain, &count);
  CHECK(feed(stream, 900) == LINNET_OK && linnet_recognizer_stream_result(stream, &result) == LINNET_OK, "run");
  const struct linnet_alternative *best = result->alternatives;
  REQUIRE(count > 3 && best->num_phones == count && !best->words, "%zu phones, %zu segments", best->num_phones, count);
  for (size_t i = 0; i < count; i++)
    CHECK(strcmp(best->phones[i].text, linnet_model_symbol(model, segments[i].symbol)) == 0 &&
              best->phones[i].end == (double)segments[i].end * linnet_model_frame_seconds(model) &&
              best->phones[i].confidence == segments[i].confidence,
          "phone %zu", i);
  REQUIRE(linnet_lattice_create(context, &lattice) == LINNET_OK, "lattice");
  CHECK(linnet_search_stream_lattice(linnet_recognizer_stream_search(stream), lattice) == LINNET_ERROR_STATE,
        "lattice");
  linnet_lattice_destroy(lattice);
  linnet_stream_destroy(plain);
  linnet_recognizer_stream_destroy(stream);
}

/* --- cancelling --------------------------------------------------------------------------------------------------- */

static enum linnet_status run_again(void *object, void *out) {
  const struct linnet_result *result = NULL;
  linnet_recognizer_stream_reset(object);
  enum linnet_status status = feed(object, 4000);
  if (status == LINNET_OK && (status = linnet_recognizer_stream_result(object, &result)) == LINNET_OK)
    describe(result, out);
  return status;
}

static void test_cancel(const char *path) {
  struct cancelling cancelling;
  struct linnet_context *own = cancelling_context(&cancelling, 1);
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_recognizer_stream *stream = NULL;
  char text[TEXT_BYTES] = "";
  REQUIRE(linnet_recognizer_load(own, path, &recognizer) == LINNET_OK, "%s", linnet_context_error(own));
  REQUIRE(linnet_recognizer_stream_create(own, recognizer, &stream) == LINNET_OK, "%s", linnet_context_error(own));
  cancelling_begin(&cancelling, SIZE_MAX);
  REQUIRE(run_again(stream, text) == LINNET_OK, "warm up");
  check_cancelling(path, &cancelling, own, run_again, stream, TEXT_BYTES);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(own);
}

static void test_cancelled_state(const char *path) {
  struct cancelling cancelling;
  struct linnet_context *own = cancelling_context(&cancelling, 1);
  struct linnet_recognizer *recognizer = load_recognizer(own, path);
  struct linnet_recognizer_stream *stream = open_stream(own, recognizer);
  char expected[TEXT_BYTES] = "", text[TEXT_BYTES] = "";
  REQUIRE(run_again(stream, expected) == LINNET_OK, "%s", linnet_context_error(own));
  linnet_recognizer_stream_reset(stream);
  cancelling_begin(&cancelling, 0);
  enum linnet_status status = LINNET_OK;
  for (size_t done = 0; done < SAMPLES && status == LINNET_OK; done += 4000)
    status = linnet_recognizer_stream_accept(stream, samples + done, 4000);
  status = status == LINNET_OK ? linnet_recognizer_stream_finish(stream) : status;
  CHECK(status == LINNET_ERROR_CANCELLED, "%s: status %d", path, (int)status);
  cancelling_begin(&cancelling, SIZE_MAX);
  check_stopped(own, stream);
  CHECK(run_again(stream, text) == LINNET_OK && strcmp(text, expected) == 0, "%s: after a reset:\n%s", path, text);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(own);
}

/* The same of the search alone. */
static void test_cancelled_search(const char *path) {
  struct cancelling cancelling;
  struct linnet_context *own = cancelling_context(&cancelling, 1);
  struct linnet_recognizer *recognizer = load_recognizer(own, path);
  struct linnet_search_stream *search = NULL;
  const struct linnet_result *result = NULL;
  float rows[8][5];
  for (int t = 0; t < 8; t++)
    for (int k = 0; k < 5; k++)
      rows[t][k] = k == t % 5 ? -0.01f : -6;
  REQUIRE(linnet_search_stream_create(own, linnet_recognizer_search(recognizer), &search) == LINNET_OK, "%s",
          linnet_context_error(own));
  cancelling_begin(&cancelling, 0);
  CHECK(linnet_search_stream_accept(search, rows[0], 8) == LINNET_ERROR_CANCELLED, "not cancelled");
  cancelling_begin(&cancelling, SIZE_MAX);
  CHECK(linnet_search_stream_accept(search, rows[0], 8) == LINNET_ERROR_STATE, "accept");
  CHECK(linnet_search_stream_result(search, 0.03, &result) == LINNET_ERROR_STATE && !result, "result");
  CHECK(linnet_search_stream_finish(search) == LINNET_ERROR_STATE, "finish");
  linnet_search_stream_reset(search);
  CHECK(linnet_search_stream_accept(search, rows[0], 8) == LINNET_OK &&
            linnet_search_stream_finish(search) == LINNET_OK &&
            linnet_search_stream_result(search, 0.03, &result) == LINNET_OK,
        "%s", linnet_context_error(own));
  linnet_search_stream_destroy(search);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(own);
}

/* --- the stack that docs/embedding.md promises to be enough ------------------------------------------------------- */

/* Sanitizers need more. */
#if TEST_SANITIZED
#define STACK_BYTES 0
#else
#define STACK_BYTES 131072
#endif

struct small {
  const char *path;
  char text[TEXT_BYTES];
};

/* In one thread: the caller's stack has the network, too. */
static struct linnet_context *single_context(void) {
  struct linnet_context_settings settings;
  struct linnet_context *single = NULL;
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  REQUIRE(linnet_context_create(&settings, &single) == LINNET_OK, "no context");
  return single;
}

static void feed_raw(struct linnet_context *single, struct linnet_recognizer_stream *stream) {
  static float chunk[4000];
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  size_t count;
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_S16LE;
  REQUIRE(linnet_audio_open(single, FOLDER "/speech.raw", &settings, &audio) == LINNET_OK, "%s",
          linnet_context_error(single));
  while (linnet_audio_read(audio, chunk, 4000, &count) == LINNET_OK)
    REQUIRE(linnet_recognizer_stream_accept(stream, chunk, count) == LINNET_OK, "%s", linnet_context_error(single));
  REQUIRE(linnet_recognizer_stream_finish(stream) == LINNET_OK, "%s", linnet_context_error(single));
  linnet_audio_destroy(audio);
}

/* All that a program does: from the settings to the result. */
static void *recognise_file(void *user) {
  struct small *small = user;
  struct linnet_context *single = single_context();
  struct linnet_recognizer *recognizer = load_recognizer(single, small->path);
  struct linnet_recognizer_stream *stream = open_stream(single, recognizer);
  const struct linnet_result *result = NULL;
  feed_raw(single, stream);
  REQUIRE(linnet_recognizer_stream_result(stream, &result) == LINNET_OK, "%s", linnet_context_error(single));
  describe(result, small->text);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(single);
  return NULL;
}

static void test_small_stack(const char *json) {
  static struct small small, large;
  pthread_attr_t attributes;
  pthread_t thread;
  if (STACK_BYTES == 0)
    return;
  save("stack.json", json, strlen(json));
  small.path = large.path = FOLDER "/stack.json";
  recognise_file(&large);
  REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0, "a stack");
  REQUIRE(pthread_create(&thread, &attributes, recognise_file, &small) == 0, "a thread");
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  CHECK(*small.text && strcmp(small.text, large.text) == 0, "%s:\n%s\nwith a large stack:\n%s", json, small.text,
        large.text);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void test_all_streams(const char *json, bool incremental) {
  save("stream.json", json, strlen(json));
  struct linnet_recognizer *recognizer = load_recognizer(context, FOLDER "/stream.json");
  test_threads(recognizer);
  test_hook(recognizer, incremental);
  test_calls_in_hook(recognizer);
  test_order(recognizer);
  test_file(recognizer);
  linnet_recognizer_destroy(recognizer);
}

int main(void) {
  static const char plain[] = "{\"model\": \"model.safetensors\"}", causal[] = "{\"model\": \"causal.safetensors\"}";
  context = test_context();
  prepare();
  test_members();
  test_same(json_model, sizeof json_model - 1, false);
  test_same(json_grammar, sizeof json_grammar - 1, true);
  test_size();
  test_refused();
  test_silences_refused();
  test_marked();
  test_unknown_key();
  test_lengths();
  test_all_streams(plain, false);
  test_all_streams(causal, true);
  test_all_streams("{\"model\": \"causal.safetensors\", \"search\": \"symbols\", \"num_alternatives\": 4}", true);
  test_all_streams(json_model, true);
  test_all_streams(json_grammar, true);
  test_small_stack(plain);
  test_small_stack(causal);
  test_small_stack(json_model);
  test_small_stack(json_grammar);
  save("stream.json", causal, sizeof causal - 1);
  test_cancel(FOLDER "/stream.json");
  test_cancel(FOLDER "/recognizer.json");
  save("whole.json", plain, sizeof plain - 1);
  test_cancelled_state(FOLDER "/stream.json");
  test_cancelled_state(FOLDER "/recognizer.json");
  test_cancelled_state(FOLDER "/whole.json");
  test_cancelled_search(FOLDER "/recognizer.json");
  struct linnet_recognizer *recognizer = load_recognizer(context, FOLDER "/stream.json");
  test_greedy(recognizer);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(context);
  return test_result();
}
