/* Settings structures of older and newer programs. Each structure is truncated at each member, extended with zeros,
 * extended with other bytes, and not filled at all. Functions that give settings fill them for older and newer
 * programs, too. */
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linnet/align.h>
#include <linnet/audio.h>
#include <linnet/augment.h>
#include <linnet/beam.h>
#include <linnet/fbank.h>
#include <linnet/g2p.h>
#include <linnet/lattice.h>
#include <linnet/ngram.h>
#include <linnet/pronounced_text.h>
#include <linnet/recognizer.h>
#include <linnet/score.h>
#include <linnet/search.h>
#include <linnet/text_aligner.h>
#include <linnet/train.h>
#include <linnet/word_search.h>

#include "test.h"

static struct linnet_context *context;
static struct linnet_lexicon *lexicon;
static struct linnet_text_normalizer *normalizer;

enum { MAX_MEMBERS = 24, BYTES = 2048, SPARE = 24 };

/* --- a call that takes each structure ----------------------------------------------------------------------------- */

#define CALL(name, object, create, destroy)                                                                            \
  static enum linnet_status name(const void *settings) {                                                               \
    struct object *made = NULL;                                                                                        \
    enum linnet_status status = create;                                                                                \
    destroy(made);                                                                                                     \
    return status;                                                                                                     \
  }

static const float posteriors[4] = {-.1f, -3, -3, -.1f};
static const int label = 1;
static const unsigned char pcm[4];

CALL(call_align, linnet_alignment,
     linnet_alignment_create_labels(context, posteriors, 2, 2, &label, 1, settings, &made), linnet_alignment_destroy)
CALL(call_beam, linnet_beam, linnet_beam_create(context, 2, settings, &made), linnet_beam_destroy)
CALL(call_words, linnet_word_search, linnet_word_search_create(context, lexicon, 2, settings, &made),
     linnet_word_search_destroy)
static const char *const phones[] = {"<blk>", "a"};
CALL(call_search, linnet_search, linnet_search_create(context, phones, 2, settings, &made), linnet_search_destroy)
CALL(call_text_aligner, linnet_text_aligner, linnet_text_aligner_create(context, phones, 2, settings, &made),
     linnet_text_aligner_destroy)
CALL(call_scorer, linnet_scorer, linnet_scorer_create(context, settings, &made), linnet_scorer_destroy)
CALL(call_lexicon, linnet_lexicon, linnet_lexicon_load_memory(context, "A a\n", 4, "x", settings, NULL, &made),
     linnet_lexicon_destroy)
CALL(call_ngram, linnet_ngram_estimator, linnet_ngram_estimator_create(context, settings, &made),
     linnet_ngram_estimator_destroy)
CALL(call_g2p, linnet_g2p_trainer, linnet_g2p_trainer_create(context, settings, &made), linnet_g2p_trainer_destroy)
CALL(call_text, linnet_pronounced_text, linnet_pronounced_text_create(context, "a", "x", settings, &made),
     linnet_pronounced_text_destroy)
CALL(call_fbank, linnet_fbank, linnet_fbank_create(context, settings, &made), linnet_fbank_destroy)
CALL(call_audio, linnet_audio, linnet_audio_open_memory(context, pcm, sizeof pcm, settings, &made),
     linnet_audio_destroy)

CALL(call_recognizer, linnet_recognizer, linnet_recognizer_create(context, settings, &made), linnet_recognizer_destroy)

static char model_path[] = TEST_SOURCE_DIR "/tests/fuzz/corpus/model/conv_float16.safetensors";

static enum linnet_status call_endpoint(const void *endpoint) {
  struct linnet_recognizer_settings settings;
  linnet_recognizer_settings_default(&settings);
  settings.model.path = model_path;
  settings.endpoint = endpoint;
  return call_recognizer(&settings);
}

/* Language models reach a search through its settings. */
static enum linnet_status call_beam_model(const void *model) {
  struct linnet_beam_settings settings;
  linnet_beam_settings_default(&settings);
  settings.model = model;
  return call_beam(&settings);
}

static enum linnet_status call_word_model(const void *model) {
  struct linnet_word_search_settings settings;
  linnet_word_search_settings_default(&settings);
  settings.model = model;
  return call_words(&settings);
}

static enum linnet_status call_lattice(const void *settings) {
  struct linnet_lattice *lattice = NULL;
  REQUIRE(linnet_lattice_create(context, &lattice) == LINNET_OK, "lattice");
  enum linnet_status status = linnet_lattice_finish(lattice, settings);
  linnet_lattice_destroy(lattice);
  return status;
}

static char sentence[LINNET_ERROR_BYTES];

static enum linnet_status call_context(const void *settings) {
  struct linnet_context *made = NULL;
  enum linnet_status status = linnet_context_create(settings, &made);
  linnet_context_destroy(made);
  return status;
}

static enum linnet_status call_features(const void *features) {
  return linnet_feature_config_parse(context, "{\"num_mel\": 23}", "x", (void *)(uintptr_t)features);
}

static const struct linnet_augment_key key = {1, 1, 1};
static float values[8];

static enum linnet_status call_specaugment(const void *settings) {
  return linnet_specaugment(settings, key, values, 2, 4);
}

static enum linnet_status call_noise(const void *settings) {
  return linnet_augment_noise(settings, key, NULL, 0, values, 8);
}

static enum linnet_status call_level(const void *settings) {
  return linnet_augment_level(settings, key, values, 8);
}

static enum linnet_status call_band(const void *settings) {
  return linnet_augment_band(settings, key, 16000, values, 8);
}

static enum linnet_status call_padding(const void *settings) {
  return linnet_padding_check(settings);
}

static enum linnet_status call_room(const void *settings) {
  return linnet_room_check(settings);
}

/* --- the structures ----------------------------------------------------------------------------------------------- */

/* `fill` is ..._default with the caller's size; `ready` makes the defaults acceptable to the call. */
#define FILL(kind)                                                                                                     \
  static void fill_##kind(void *settings, size_t size) {                                                               \
    (linnet_##kind##_default)(settings, size);                                                                         \
  }
FILL(align_settings)
FILL(audio_settings)
FILL(band_settings)
FILL(beam_settings)
FILL(context_settings)
FILL(endpoint_settings)
FILL(fbank_settings)
FILL(feature_config)
FILL(g2p_settings)
FILL(lattice_settings)
FILL(level_settings)
FILL(lexicon_settings)
FILL(ngram_estimator_settings)
FILL(noise_settings)
FILL(padding_settings)
FILL(pronounced_text_settings)
FILL(recognizer_settings)
FILL(room_settings)
FILL(scorer_settings)
FILL(search_settings)
FILL(text_aligner_settings)
FILL(specaugment_settings)
FILL(word_search_settings)

static void begin_sentence(const void *user, void *state) {
  (void)user;
  *(unsigned char *)state = 0;
}

static float score_token(const void *user, const void *state, unsigned token, void *next) {
  (void)user;
  *(unsigned char *)next = (unsigned char)(*(const unsigned char *)state + token);
  return -1;
}

static float finish_sentence(const void *user, const void *state) {
  (void)user;
  (void)state;
  return -1;
}

/* A language model has no default; a program sets the size. */
static void fill_language_model(void *model, size_t size) {
  const struct linnet_language_model whole = {
      .size = size, .state_bytes = 1, .begin = begin_sentence, .score = score_token, .finish = finish_sentence};
  memset(model, 0, size);
  memcpy(model, &whole, size < sizeof whole ? size : sizeof whole);
}

static void ready_audio(void *settings) {
  ((struct linnet_audio_settings *)settings)->raw_format = LINNET_SAMPLE_S16LE;
}

static void ready_text(void *settings) {
  ((struct linnet_pronounced_text_settings *)settings)->normalizer = normalizer;
}

static void ready_recognizer(void *settings) {
  ((struct linnet_recognizer_settings *)settings)->model.path = model_path;
}

static void ready_context(void *settings) {
  struct linnet_context_settings *s = settings;
  s->num_threads = 1, s->error = sentence, s->error_bytes = sizeof sentence;
}

#define AT(member) offsetof(struct S, member)
static const struct structure {
  const char *name;    /* NULL: the call has no context and leaves no sentence */
  size_t bytes, first; /* of the structure; the smallest size that the call can do with */
  void (*fill)(void *settings, size_t size);
  enum linnet_status (*call)(const void *settings);
  void (*ready)(void *settings);
  size_t members[MAX_MEMBERS]; /* offset of each, 0 after the last */
} structures[] = {
#define S linnet_align_settings
    {"linnet_align_settings",
     sizeof(struct S),
     0,
     fill_align_settings,
     call_align,
     NULL,
     {AT(band), AT(jumps), AT(jump_cost), AT(frame_cost), AT(doubt), AT(calibrations)}},
#undef S
#define S linnet_audio_settings
    {"linnet_audio_settings",
     sizeof(struct S),
     AT(raw_rate),
     fill_audio_settings,
     call_audio,
     ready_audio,
     {AT(sample_rate), AT(channel), AT(raw_format), AT(raw_rate), AT(num_raw_channels), AT(max_seconds)}},
#undef S
#define S linnet_band_settings
    {NULL,
     sizeof(struct S),
     0,
     fill_band_settings,
     call_band,
     NULL,
     {AT(probability), AT(max_low), AT(min_high), AT(max_high)}},
#undef S
#define S linnet_beam_settings
    {"linnet_beam_settings",
     sizeof(struct S),
     0,
     fill_beam_settings,
     call_beam,
     NULL,
     {AT(beam), AT(top_symbols), AT(symbol_threshold), AT(score_threshold), AT(model), AT(tokens), AT(model_weight),
      AT(insertion_bonus), AT(calibrations)}},
#undef S
#define S linnet_context_settings
    {"linnet_context_settings",
     sizeof(struct S),
     0,
     fill_context_settings,
     call_context,
     ready_context,
     {AT(num_threads), AT(kernels), AT(precision), AT(device), AT(reallocate), AT(reallocate_user), AT(log),
      AT(log_user), AT(cancel), AT(cancel_user), AT(progress), AT(progress_user), AT(error), AT(error_bytes)}},
#undef S
#define S linnet_endpoint_settings
    {"linnet_endpoint_settings",
     sizeof(struct S),
     0,
     fill_endpoint_settings,
     call_endpoint,
     NULL,
     {AT(rules), AT(num_rules), AT(silence_probability), AT(restart), AT(restart_seconds)}},
#undef S
#define S linnet_fbank_settings
    {"linnet_fbank_settings",
     sizeof(struct S),
     0,
     fill_fbank_settings,
     call_fbank,
     NULL,
     {AT(sample_rate), AT(frame_length), AT(frame_shift), AT(num_mel), AT(low_frequency), AT(high_frequency),
      AT(preemphasis), AT(dither), AT(dither_seed), AT(reserved)}},
#undef S
#define S linnet_feature_config
    {"linnet_feature_config",
     sizeof(struct S),
     0,
     fill_feature_config,
     call_features,
     NULL,
     {AT(fbank), AT(cmvn), AT(cmvn_variance), AT(cmvn_frames), AT(max_silence), AT(edge_silence), AT(cmvn_prior),
      AT(cmvn_memory)}},
#undef S
#define S linnet_g2p_settings
    {"linnet_g2p_settings",
     sizeof(struct S),
     0,
     fill_g2p_settings,
     call_g2p,
     NULL,
     {AT(order), AT(num_iterations), AT(prune)}},
#undef S
#define S linnet_language_model
    {"linnet_language_model", sizeof(struct S), sizeof(struct S), fill_language_model, call_beam_model, NULL, {0}},
    {"linnet_language_model", sizeof(struct S), sizeof(struct S), fill_language_model, call_word_model, NULL, {0}},
#undef S
#define S linnet_lattice_settings
    {"linnet_lattice_settings", sizeof(struct S), 0, fill_lattice_settings, call_lattice, NULL, {AT(tolerance)}},
#undef S
#define S linnet_level_settings
    {NULL, sizeof(struct S), 0, fill_level_settings, call_level, NULL, {AT(probability), AT(gain_low), AT(gain_high)}},
#undef S
#define S linnet_lexicon_settings
    {"linnet_lexicon_settings",
     sizeof(struct S),
     0,
     fill_lexicon_settings,
     call_lexicon,
     NULL,
     {AT(fold_case), AT(strip_stress), AT(refuse_duplicates)}},
#undef S
#define S linnet_ngram_estimator_settings
    {"linnet_ngram_estimator_settings",
     sizeof(struct S),
     0,
     fill_ngram_estimator_settings,
     call_ngram,
     NULL,
     {AT(order), AT(discount_fallback)}},
#undef S
#define S linnet_noise_settings
    {NULL, sizeof(struct S), 0, fill_noise_settings, call_noise, NULL, {AT(probability), AT(snr_low), AT(snr_high)}},
#undef S
#define S linnet_padding_settings
    {NULL,
     sizeof(struct S),
     0,
     fill_padding_settings,
     call_padding,
     NULL,
     {AT(probability), AT(max_seconds), AT(level_low), AT(level_high)}},
#undef S
#define S linnet_pronounced_text_settings
    {"linnet_pronounced_text_settings",
     sizeof(struct S),
     AT(lexicon),
     fill_pronounced_text_settings,
     call_text,
     ready_text,
     {AT(normalizer), AT(lexicon), AT(g2p), AT(phones)}},
#undef S
#define S linnet_recognizer_settings
    {"linnet_recognizer_settings",
     sizeof(struct S),
     AT(shared_model),
     fill_recognizer_settings,
     call_recognizer,
     ready_recognizer,
     {AT(model), AT(shared_model), AT(search), AT(max_silence), AT(edge_silence), AT(endpoint), AT(partial_interval),
      AT(second_pass), AT(ensemble_model), AT(ensemble_weight), AT(ensemble_delay)}},
#undef S
#define S linnet_room_settings
    {NULL, sizeof(struct S), 0, fill_room_settings, call_room, NULL, {AT(probability), AT(time_low), AT(time_high)}},
#undef S
#define S linnet_scorer_settings
    {"linnet_scorer_settings",
     sizeof(struct S),
     0,
     fill_scorer_settings,
     call_scorer,
     NULL,
     {AT(strip_stress), AT(allow_extra), AT(fold_case)}},
#undef S
#define S linnet_search_settings
    {NULL,
     sizeof(struct S),
     0,
     fill_search_settings,
     call_search,
     NULL,
     {AT(kind),
      AT(num_alternatives),
      AT(beam),
      AT(top_symbols),
      AT(symbol_threshold),
      AT(score_threshold),
      AT(language_model_weight),
      AT(insertion_bonus),
      AT(word_bonus),
      AT(unknown_penalty),
      AT(lattice),
      AT(lexicon),
      AT(language_model),
      AT(grammar),
      AT(hotwords),
      AT(silences),
      AT(num_silences),
      AT(calibrations),
      AT(priors),
      AT(prior_scale),
      AT(pronunciation_weight),
      AT(blank_penalty),
      AT(emission_delay),
      AT(g2p)}},
#undef S
#define S linnet_text_aligner_settings
    {NULL,
     sizeof(struct S),
     0,
     fill_text_aligner_settings,
     call_text_aligner,
     NULL,
     {AT(lexicon), AT(g2p), AT(rules), AT(emission_delay)}},
#undef S
#define S linnet_specaugment_settings
    {NULL,
     sizeof(struct S),
     0,
     fill_specaugment_settings,
     call_specaugment,
     NULL,
     {AT(num_frequency_masks), AT(max_frequency), AT(num_time_masks), AT(max_time), AT(max_time_part), AT(max_warp),
      AT(fill_mean)}},
#undef S
#define S linnet_word_search_settings
    {"linnet_word_search_settings",
     sizeof(struct S),
     0,
     fill_word_search_settings,
     call_words,
     NULL,
     {AT(beam), AT(top_symbols), AT(symbol_threshold), AT(score_threshold), AT(model), AT(lookahead), AT(model_weight),
      AT(word_bonus), AT(hotwords), AT(silences), AT(num_silences), AT(unknown_penalty), AT(recombine),
      AT(calibrations)}},
#undef S
};

/* --- checks ------------------------------------------------------------------------------------------------------- */

static union {
  max_align_t align;
  unsigned char bytes[BYTES];
} memory;

/* The defaults for a program whose structure has `size` bytes; neither function may touch the bytes after them. */
static void prepare(const struct structure *s, size_t size) {
  memset(memory.bytes, 0xa5, sizeof memory.bytes);
  if (s->ready && size >= s->bytes) {
    s->fill(memory.bytes, size);
    s->ready(memory.bytes);
  } else if (s->ready) { /* filled completely, then truncated */
    s->fill(memory.bytes, s->bytes);
    s->ready(memory.bytes);
    memset(memory.bytes + size, 0xa5, sizeof memory.bytes - size);
    memcpy(memory.bytes, &size, sizeof size);
  } else {
    s->fill(memory.bytes, size);
  }
  for (size_t i = size; i < sizeof memory.bytes; i++)
    if (memory.bytes[i] != 0xa5) {
      CHECK(false, "%s: size %zu: byte %zu was written", s->name ? s->name : "augment", size, i);
      break;
    }
}

static void expect_fine(const struct structure *s, size_t size) {
  prepare(s, size);
  enum linnet_status status = s->call(memory.bytes);
  CHECK(status == LINNET_OK, "%s of %zu bytes, here %zu: %s (%s)", s->name ? s->name : "augment", size, s->bytes,
        linnet_status_string(status), linnet_context_error(context));
}

static void expect_refused(const struct structure *s, const char *what) {
  sentence[0] = '\0';
  enum linnet_status status = s->call(memory.bytes);
  const char *error = s->call == call_context ? sentence : linnet_context_error(context);
  CHECK(status == LINNET_ERROR_ARGUMENT, "%s, %s: %s", s->name ? s->name : "augment", what,
        linnet_status_string(status));
  CHECK(!s->name || strstr(error, s->name), "%s, %s: \"%s\"", s->name, what, error);
}

static void check_structure(const struct structure *s) {
  REQUIRE(s->bytes + SPARE + 8 < BYTES, "a larger buffer is needed");
  for (size_t m = 0; m < MAX_MEMBERS && s->members[m] > 0; m++)
    if (s->members[m] >= s->first)
      expect_fine(s, s->members[m]);
  expect_fine(s, s->bytes);
  expect_fine(s, s->bytes + SPARE); /* with zeros after them */
  for (size_t byte = s->bytes; byte < s->bytes + SPARE; byte += SPARE - 1) {
    prepare(s, s->bytes + SPARE);
    memory.bytes[byte] = 1;
    expect_refused(s, "unknown members");
  }
  const size_t wrong[] = {0, sizeof(size_t) - 1, (size_t)1 << 20, (size_t)-1};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong && s->call != call_context; i++) {
    prepare(s, s->bytes);
    memcpy(memory.bytes, &wrong[i], sizeof *wrong);
    expect_refused(s, "not filled");
  }
}

/* --- settings that functions give --------------------------------------------------------------------------------- */

static struct {
  struct linnet_recognizer_file *file;
  struct linnet_model *model;
  struct linnet_fbank *fbank;
} objects;

#define GIVE(kind, function, object)                                                                                   \
  static void give_##kind(void *settings, size_t size) {                                                               \
    (function)(object, settings, size);                                                                                \
  }
GIVE(recognizer, linnet_recognizer_file_settings, objects.file)
GIVE(search, linnet_recognizer_file_search_settings, objects.file)
GIVE(endpoint, linnet_recognizer_file_endpoint_settings, objects.file)
GIVE(features, linnet_model_features, objects.model)
GIVE(fbank, linnet_fbank_settings_of, objects.fbank)

/* The call takes what the function gave. A page that nobody may touch follows the program's structure. */
static const struct given {
  const char *name;
  void (*give)(void *settings, size_t size);
  enum linnet_status (*call)(const void *settings);
  size_t bytes, first; /* of the structure; the smallest size that the call can do with */
} given[] = {
    {"recognizer", give_recognizer, call_recognizer, sizeof(struct linnet_recognizer_settings),
     offsetof(struct linnet_recognizer_settings, search)},
    {"search", give_search, call_search, sizeof(struct linnet_search_settings), sizeof(size_t)},
    {"endpoint", give_endpoint, call_endpoint, sizeof(struct linnet_endpoint_settings), sizeof(size_t)},
    {"features", give_features, call_features, sizeof(struct linnet_feature_config), sizeof(size_t)},
    {"fbank", give_fbank, call_fbank, sizeof(struct linnet_fbank_settings), sizeof(size_t)},
};

/* Fills a structure of `size` bytes, a multiple of 8, that ends where the page begins. */
static void check_size(const struct given *g, size_t size, unsigned char *page) {
  unsigned char *settings = page - size;
  size_t filled;
  memset(page - BYTES, 0xa5, BYTES);
  g->give(settings, size);
  memcpy(&filled, settings, sizeof filled);
  CHECK(filled == size && settings[-1] == 0xa5, "%s of %zu bytes: size is %zu", g->name, size, filled);
  g->give(memory.bytes, g->bytes);
  const size_t known = size < g->bytes ? size : g->bytes;
  CHECK(memcmp(settings + sizeof size, memory.bytes + sizeof size, known - sizeof size) == 0, "%s of %zu bytes: values",
        g->name, size);
  enum linnet_status status = g->call(settings);
  CHECK(status == LINNET_OK, "%s of %zu bytes, here %zu: %s (%s)", g->name, size, g->bytes,
        linnet_status_string(status), linnet_context_error(context));
}

static void open_givers(void) {
  static const char path[] = TEST_BINARY_DIR "/settings_recognizer.json";
  FILE *json = fopen(path, "w");
  REQUIRE(json &&
              fprintf(json, "{\"model\": \"%s\", \"search\": \"symbols\", \"beam\": 7, \"prior_scale\": 1, ",
                      model_path) > 0 &&
              fputs("\"endpoint\": {\"restart\": false}, \"partial_interval\": 0.5}", json) >= 0 && fclose(json) == 0,
          "%s", path);
  REQUIRE(linnet_recognizer_file_load(context, path, &objects.file) == LINNET_OK &&
              linnet_model_load(context, model_path, &objects.model) == LINNET_OK &&
              linnet_fbank_create(context, NULL, &objects.fbank) == LINNET_OK,
          "%s", linnet_context_error(context));
}

/* The values of the file; without endpoints in the file, their defaults. */
static void check_values(void) {
  static const char path[] = TEST_BINARY_DIR "/settings_plain.json";
  struct linnet_recognizer_settings settings;
  struct linnet_search_settings search;
  struct linnet_endpoint_settings endpoint;
  struct linnet_recognizer_file *plain = NULL;
  linnet_recognizer_file_settings(objects.file, &settings);
  linnet_recognizer_file_search_settings(objects.file, &search);
  linnet_recognizer_file_endpoint_settings(objects.file, &endpoint);
  CHECK(strcmp(settings.model.path, model_path) == 0 && settings.partial_interval == 0.5 && settings.endpoint,
        "settings of the recognizer");
  CHECK(search.kind == LINNET_SEARCH_SYMBOLS && search.beam == 7 && search.prior_scale == 1, "settings of the search");
  CHECK(endpoint.restart == 0 && endpoint.num_rules == 4, "settings of endpoints");
  FILE *json = fopen(path, "w");
  REQUIRE(json && fputs("{\"model\": \"m\"}", json) >= 0 && fclose(json) == 0, "%s", path);
  REQUIRE(linnet_recognizer_file_load(context, path, &plain) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_recognizer_file_settings(plain, &settings);
  linnet_recognizer_file_endpoint_settings(plain, &endpoint);
  CHECK(!settings.endpoint && endpoint.restart == 1 && endpoint.num_rules == 4, "no endpoints");
  linnet_recognizer_file_destroy(plain);
}

static void check_given(void) {
  const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), bytes = (BYTES / page_bytes + 2) * page_bytes;
  unsigned char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED, "pages");
  unsigned char *last = pages + bytes - page_bytes;
  REQUIRE(mprotect(last, page_bytes, PROT_NONE) == 0, "a page that nobody may touch");
  open_givers();
  check_values();
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    for (size_t size = (given[i].first + 7) / 8 * 8; size <= given[i].bytes + SPARE; size += 8)
      check_size(&given[i], size, last);
  linnet_fbank_destroy(objects.fbank);
  linnet_model_destroy(objects.model);
  linnet_recognizer_file_destroy(objects.file);
  munmap(pages, bytes);
}

/* --- what missing members mean ------------------------------------------------------------------------------------ */

/* Members that an older program lacks really have their defaults. */
static void check_defaults(void) {
  struct linnet_fbank_settings settings;
  struct linnet_fbank *fbank = NULL;
  linnet_fbank_settings_default(&settings);
  settings.sample_rate = 8000, settings.preemphasis = 0.5, settings.dither = 2;
  settings.size = offsetof(struct linnet_fbank_settings, preemphasis);
  REQUIRE(linnet_fbank_create(context, &settings, &fbank) == LINNET_OK, "%s", linnet_context_error(context));
  struct linnet_fbank_settings used;
  linnet_fbank_settings_of(fbank, &used);
  CHECK(used.sample_rate == 8000 && used.preemphasis == 0.97 && used.dither == 0 && used.size == sizeof used,
        "%g Hz, pre-emphasis %g, dither %g", used.sample_rate, used.preemphasis, used.dither);
  linnet_fbank_destroy(fbank);
  linnet_fbank_settings_default(&settings);
  settings.reserved[3] = 1;
  CHECK(linnet_fbank_create(context, &settings, &fbank) == LINNET_ERROR_ARGUMENT &&
            strstr(linnet_context_error(context), "reserved[3]"),
        "\"%s\"", linnet_context_error(context));
}

/* A function that an older language model lacks counts as NULL. A search copies the structure. */
static void check_language_model(void) {
  struct linnet_language_model model;
  struct linnet_beam_settings settings;
  struct linnet_beam *beam = NULL;
  struct linnet_hypothesis best = {.score = 0};
  linnet_beam_settings_default(&settings);
  settings.model = &model;
  fill_language_model(&model, sizeof model);
  model.size = offsetof(struct linnet_language_model, finish);
  CHECK(linnet_beam_create(context, 2, &settings, &beam) == LINNET_ERROR_ARGUMENT &&
            strstr(linnet_context_error(context), "function of the language model is NULL"),
        "\"%s\"", linnet_context_error(context));
  fill_language_model(&model, sizeof model);
  REQUIRE(linnet_beam_create(context, 2, &settings, &beam) == LINNET_OK, "%s", linnet_context_error(context));
  memset(&model, 0xa5, sizeof model);
  CHECK(linnet_beam_accept(beam, posteriors, 2) == LINNET_OK && linnet_beam_finish(beam) == LINNET_OK &&
            linnet_beam_hypothesis(beam, 0, &best) == LINNET_OK && best.language == -1 - (double)best.num_segments,
        "language score %g of %zu symbols", best.language, best.num_segments);
  linnet_beam_destroy(beam);
}

/* The structures of a trainer: the message names the first refused one. */
static void check_trainer(void) {
  struct {
    struct linnet_train_settings known;
    size_t more;
  } settings;
  struct {
    struct linnet_train_model known;
    size_t more;
  } model = {.known = {.size = sizeof model}, .more = 1};
  struct {
    struct linnet_corpus known;
    size_t more;
  } corpus = {.known = {.size = sizeof corpus}, .more = 1};
  struct linnet_trainer *trainer;
  (linnet_train_settings_default)(&settings.known, sizeof settings);
  CHECK(settings.known.size == sizeof settings && settings.known.num_epochs == 100 && settings.more == 0, "defaults");
  settings.more = 1;
  const char *const refused[] = {"struct linnet_train_settings", "struct linnet_train_model", "struct linnet_corpus",
                                 "in a structure is NULL"};
  size_t *const more[] = {&settings.more, &model.more, &corpus.more};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    enum linnet_status status =
        linnet_trainer_create(context, "x", &settings.known, &model.known, &corpus.known, &corpus.known, &trainer);
    CHECK(status == LINNET_ERROR_ARGUMENT && strstr(linnet_context_error(context), refused[i]), "%s: \"%s\"",
          refused[i], linnet_context_error(context));
    if (i < sizeof more / sizeof *more)
      *more[i] = 0;
  }
}

int main(void) {
  struct linnet_context_settings settings;
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  REQUIRE(linnet_context_create(&settings, &context) == LINNET_OK, "context");
  REQUIRE(linnet_lexicon_load_memory(context, "A a\n", 4, "lexicon", NULL, NULL, &lexicon) == LINNET_OK, "lexicon");
  REQUIRE(linnet_text_normalizer_load(context, NULL, &normalizer) == LINNET_OK, "normalizer");
  for (size_t i = 0; i < sizeof structures / sizeof *structures; i++)
    check_structure(&structures[i]);
  check_given();
  check_defaults();
  check_language_model();
  check_trainer();
  linnet_text_normalizer_destroy(normalizer);
  linnet_lexicon_destroy(lexicon);
  linnet_context_destroy(context);
  return test_result();
}
