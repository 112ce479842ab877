/* Failing allocations in whole uses of the library: each scenario runs with the first, second, third ... allocation
 * failing until none fails. A run with a failure must report it, or give the result of a run without one, and must free
 * its memory. First the context's hook fails, then every malloc of the process, those of libraries too
 * (failing_malloc.h).
 *
 *   test_allocations [SCENARIO]...        all of them, or those whose names begin with SCENARIO
 *
 * With LINNET_TORTURE_FULL in the environment, every allocation fails once; otherwise long scenarios skip some. */
#define _GNU_SOURCE
#include "failing_malloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include <linnet/kaldi.h>
#include <linnet/linnet.h>
#include <linnet/ngram.h>

#include "small_g2p.h"
#include "small_training.h"

/* --- functions of the scenarios ----------------------------------------------------------------------------------- */

enum { RATE = 8000, SAMPLES = RATE, ROWS = 40, ROW_SYMBOLS = 4 };

#define FOLDER TEST_BINARY_DIR "/allocations"
static const char model_path[] = FOLDER "/model.safetensors", causal_path[] = FOLDER "/causal.safetensors";
static const char wave_path[] = FOLDER "/tone.wav", ark_path[] = FOLDER "/rows.ark", scp_path[] = FOLDER "/rows.scp";
static const char out_path[] = FOLDER "/out";
static const char phones_path[] = FOLDER "/phones.json", words_path[] = FOLDER "/words.json",
                  live_path[] = FOLDER "/live.json", final_path[] = FOLDER "/final.json";
static float rows[ROWS][ROW_SYMBOLS];

/* Models of a small training, of features that are filterbanks of four bands. */
static void make_model(struct linnet_context *context, const char *config, const char *path) {
  struct run run = make_run(config, 1, 1);
  char folder[64], made[128];
  make_folder(folder);
  train_with(context, &run, folder);
  REQUIRE(run.status == LINNET_OK, "%s", linnet_context_error(context));
  snprintf(made, sizeof made, "%s/model.safetensors", folder);
  REQUIRE(linnet_model_average(context, (const char *const[]){made}, 1, 0, path) == LINNET_OK, "%s", path);
  remove_folder(folder);
}

/* A tone of changing height, in a WAV file of 8 kHz, so that it is resampled. */
static void write_wave(void) {
  const uint32_t bytes = 2 * SAMPLES;
  const struct {
    char riff[4];
    uint32_t size;
    char wave[8];
    uint32_t format_size;
    uint16_t format, channels;
    uint32_t rate, byte_rate;
    uint16_t align, bits;
    char data[4];
    uint32_t data_size;
  } header = {"RIFF", 36 + bytes, "WAVEfmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16, "data", bytes};
  FILE *file = fopen(wave_path, "wb");
  REQUIRE(file && fwrite(&header, 44, 1, file) == 1, "%s", wave_path);
  for (int i = 0; i < SAMPLES; i++) {
    const int16_t sample = (int16_t)(8000 * sin(6.2831853 * i * (200 + 100 * (i / 1000)) / RATE));
    fwrite(&sample, sizeof sample, 1, file);
  }
  REQUIRE(fclose(file) == 0, "%s", wave_path);
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

static void write_recognizers(void) {
  write_text(phones_path, "{\"model\": \"causal.safetensors\"}");
  write_text(words_path,
             "{\"model\": \"model.safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", "
             "\"hotwords\": \"hotwords\", \"g2p\": \"g2p\", \"grammar\": \"grammar\", \"num_alternatives\": 3, "
             "\"ensemble_model\": \"causal.safetensors\"}");
  write_text(
      live_path,
      "{\"model\": \"causal.safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", "
      "\"g2p\": \"g2p\", \"partial_interval\": 0.05, \"endpoint\": {\"rules\": [{\"speech\": true, \"word\": true, "
      "\"silence\": 0.05}, {\"length\": 0.2}]}}");
  write_text(final_path, "{\"model\": \"causal.safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", "
                         "\"g2p\": \"g2p\", \"endpoint\": {\"rules\": [{\"word\": true, \"length\": 0.05}]}}");
  write_text(FOLDER "/lexicon", "AB A B\nC C\nDA D A\n");
  write_text(FOLDER "/hotwords", "C AB 3\nCAB\n");
  write_text(FOLDER "/grammar", "AB C\nDA\nC AB\n");
}

static void prepare(void) {
  struct linnet_context *context = test_context();
  REQUIRE(system("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'") == 0, "%s", FOLDER);
  make_model(context, transformer, model_path);
  make_model(context, causal, causal_path);
  write_wave();
  write_recognizers();
  write_small_g2p(context, FOLDER "/g2p");
  for (size_t t = 0; t < ROWS; t++)
    for (size_t k = 0; k < ROW_SYMBOLS; k++)
      rows[t][k] = t / 2 % 4 == k ? -0.2f : -2.5f;
  linnet_context_destroy(context);
}

/* FNV-1a over the results of a run. */
static void digest(uint64_t *sum, const void *data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    *sum = (*sum ^ ((const unsigned char *)data)[i]) * 0x100000001B3u;
}

/* To be called when the work is done: reading allocates. */
static void digest_file(uint64_t *sum, const char *path) {
  failing_malloc_disarm();
  char bytes[4096];
  FILE *file = fopen(path, "rb");
  size_t n = 0;
  while (file && (n = fread(bytes, 1, sizeof bytes, file)) > 0)
    digest(sum, bytes, n);
  if (file)
    fclose(file);
}

static void digest_segments(uint64_t *sum, const struct linnet_segment *segments, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const size_t fields[] = {(size_t)segments[i].symbol, segments[i].start, segments[i].end};
    digest(sum, fields, sizeof fields);
  }
}

/* --- scenarios -------------------------------------------------------------------------------------------------- */

static enum linnet_status load(struct linnet_context *context, uint64_t *sum) {
  struct linnet_model *model = NULL;
  enum linnet_status status = linnet_model_load(context, model_path, &model);
  if (status == LINNET_OK) {
    const size_t parameters = linnet_model_num_parameters(model);
    digest(sum, &parameters, sizeof parameters);
  }
  linnet_model_destroy(model);
  return status;
}

static enum linnet_status feed(struct linnet_context *context, struct linnet_stream *stream) {
  struct linnet_audio *audio = NULL;
  float samples[1000];
  size_t count = 0;
  enum linnet_status status = linnet_audio_open(context, wave_path, NULL, &audio);
  while (status == LINNET_OK && (status = linnet_audio_read(audio, samples, 1000, &count)) == LINNET_OK)
    status = linnet_stream_accept(stream, samples, count);
  linnet_audio_destroy(audio);
  return status == LINNET_END ? linnet_stream_finish(stream) : status;
}

static enum linnet_status transcribe_with(struct linnet_context *context, const char *path, uint64_t *sum) {
  struct linnet_model *model = NULL;
  struct linnet_stream *stream = NULL;
  enum linnet_status status = linnet_model_load(context, path, &model);
  if (status == LINNET_OK)
    status = linnet_stream_create(context, model, &stream);
  if (status == LINNET_OK)
    status = feed(context, stream);
  if (status == LINNET_OK) {
    size_t count = 0;
    const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
    digest_segments(sum, segments, count);
  }
  linnet_stream_destroy(stream);
  linnet_model_destroy(model);
  return status;
}

static enum linnet_status transcribe(struct linnet_context *context, uint64_t *sum) {
  return transcribe_with(context, model_path, sum);
}

static enum linnet_status transcribe_causal(struct linnet_context *context, uint64_t *sum) {
  return transcribe_with(context, causal_path, sum);
}

static const char *const phone_names[] = {"A", "B", "C"};

static enum linnet_status bind_phones(struct linnet_context *context, struct linnet_ngram **ngram,
                                      struct linnet_ngram_binding **binding) {
  static const char arpa[] = "\\data\\\nngram 1=5\nngram 2=2\n\n\\1-grams:\n-99\t<s>\t-0.3\n-1\t</s>\n-0.5\tA\t-0.2\n"
                             "-0.7\tB\t-0.1\n-1\tC\n\n\\2-grams:\n-0.1\t<s> A\n-0.2\tA B\n\n\\end\\\n";
  static const char *const tokens[] = {NULL, "A", "B", "C"};
  enum linnet_status status = linnet_ngram_load_memory(context, arpa, sizeof arpa - 1, "arpa", ngram);
  return status == LINNET_OK ? linnet_ngram_bind(context, *ngram, tokens, 4, NULL, binding) : status;
}

static enum linnet_status search_lattice(struct linnet_context *context, struct linnet_beam *beam, uint64_t *sum) {
  struct linnet_lattice *lattice = NULL;
  const struct linnet_lattice_path *paths = NULL;
  size_t count = 0;
  enum linnet_status status = linnet_lattice_create(context, &lattice);
  if (status == LINNET_OK)
    status = linnet_lattice_add_beam(lattice, beam);
  if (status == LINNET_OK)
    status = linnet_lattice_finish(lattice, NULL);
  if (status == LINNET_OK)
    status = linnet_lattice_nbest(lattice, 5, &paths, &count);
  digest(sum, &count, sizeof count);
  for (size_t i = 0; i < count; i++)
    digest(sum, &paths[i].score, sizeof paths[i].score);
  linnet_lattice_destroy(lattice);
  return status;
}

static enum linnet_status beam_with(struct linnet_context *context, bool lattice, uint64_t *sum) {
  struct linnet_ngram *ngram = NULL;
  struct linnet_ngram_binding *binding = NULL;
  struct linnet_beam *beam = NULL;
  struct linnet_beam_settings settings;
  struct linnet_hypothesis best;
  linnet_beam_settings_default(&settings);
  settings.beam = 8;
  enum linnet_status status = bind_phones(context, &ngram, &binding);
  if (status == LINNET_OK) {
    settings.model = linnet_ngram_language_model(binding);
    status = linnet_beam_create(context, ROW_SYMBOLS, &settings, &beam);
  }
  if (status == LINNET_OK)
    status = linnet_beam_accept(beam, rows[0], ROWS);
  if (status == LINNET_OK)
    status = linnet_beam_finish(beam);
  if (status == LINNET_OK && (status = linnet_beam_hypothesis(beam, 0, &best)) == LINNET_OK)
    digest_segments(sum, best.segments, best.num_segments);
  if (status == LINNET_OK && lattice)
    status = search_lattice(context, beam, sum);
  linnet_beam_destroy(beam);
  linnet_ngram_binding_destroy(binding);
  linnet_ngram_destroy(ngram);
  return status;
}

static enum linnet_status beam(struct linnet_context *context, uint64_t *sum) {
  return beam_with(context, false, sum);
}

static enum linnet_status lattice(struct linnet_context *context, uint64_t *sum) {
  return beam_with(context, true, sum);
}

static enum linnet_status search_words(struct linnet_context *context, const struct linnet_lexicon *lexicon,
                                       const struct linnet_grammar *grammar, const struct linnet_hotwords *hotwords,
                                       uint64_t *sum) {
  struct linnet_word_search_settings settings;
  struct linnet_word_search *search = NULL;
  struct linnet_word_hypothesis best;
  linnet_word_search_settings_default(&settings);
  settings.model = linnet_grammar_language_model(grammar);
  settings.hotwords = hotwords;
  enum linnet_status status = linnet_word_search_create(context, lexicon, ROW_SYMBOLS, &settings, &search);
  if (status == LINNET_OK)
    status = linnet_word_search_accept(search, rows[0], ROWS);
  if (status == LINNET_OK)
    status = linnet_word_search_finish(search);
  if (status == LINNET_OK && (status = linnet_word_search_hypothesis(search, 0, &best)) == LINNET_OK)
    digest_segments(sum, best.segments, best.num_segments);
  linnet_word_search_destroy(search);
  return status;
}

static enum linnet_status words(struct linnet_context *context, uint64_t *sum) {
  static const char text[] = "AB A B\nC C\nCA C A\n", grammar_text[] = "#JSGF V1.0;\npublic <x> = (AB | C | CA)+;\n";
  struct linnet_symbols *table = NULL;
  struct linnet_lexicon *lexicon = NULL;
  struct linnet_grammar *grammar = NULL;
  struct linnet_hotwords *hotwords = NULL;
  enum linnet_status status = linnet_symbols_create(context, phone_names, 3, &table);
  if (status == LINNET_OK)
    status = linnet_lexicon_load_memory(context, text, sizeof text - 1, "lexicon", NULL, table, &lexicon);
  if (status == LINNET_OK)
    status = linnet_grammar_load_memory(context, grammar_text, sizeof grammar_text - 1, "grammar", lexicon, &grammar);
  if (status == LINNET_OK)
    status = linnet_hotwords_load_memory(context, "C AB 3\n", 7, "hotwords", lexicon, &hotwords);
  if (status == LINNET_OK)
    status = search_words(context, lexicon, grammar, hotwords, sum);
  linnet_hotwords_destroy(hotwords);
  linnet_grammar_destroy(grammar);
  linnet_lexicon_destroy(lexicon);
  linnet_symbols_destroy(table);
  return status;
}

static void digest_result(uint64_t *sum, const struct linnet_result *result) {
  for (size_t a = 0; a < result->num_alternatives; a++) {
    const struct linnet_alternative *x = &result->alternatives[a];
    digest(sum, &x->score, sizeof x->score);
    for (size_t i = 0; i < x->num_phones; i++)
      digest(sum, x->phones[i].text, strlen(x->phones[i].text));
  }
}

static int on_result(void *user, const struct linnet_result *result) {
  digest_result(user, result);
  return 0;
}

/* From the JSON file to the result of the audio file, with a hook. */
static enum linnet_status recognise(struct linnet_context *context, const char *json, uint64_t *sum) {
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_recognizer_stream *stream = NULL;
  const struct linnet_result *result = NULL;
  enum linnet_status status = linnet_recognizer_load(context, json, &recognizer);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_create(context, recognizer, &stream);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_set_hook(stream, on_result, sum);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_run_file(stream, wave_path, NULL, &result);
  if (status == LINNET_OK)
    digest_result(sum, result);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  return status;
}

static enum linnet_status recognise_words(struct linnet_context *context, uint64_t *sum) {
  return recognise(context, words_path, sum);
}

static enum linnet_status recognise_phones(struct linnet_context *context, uint64_t *sum) {
  return recognise(context, phones_path, sum);
}

/* With endpoints, which a whole file does not have. */
static enum linnet_status hear(struct linnet_context *context, const char *json, uint64_t *sum) {
  static float samples[9000];
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_recognizer_stream *stream = NULL;
  for (size_t i = 0; i < 9000; i++)
    samples[i] = i < 5000 ? (float)(i * i % 4001) : 0;
  enum linnet_status status = linnet_recognizer_load(context, json, &recognizer);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_create(context, recognizer, &stream);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_set_hook(stream, on_result, sum);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_set_sample_rate(stream, 8000);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_set_hotwords(stream, &(struct linnet_source){NULL, "C AB 3\nBAC\n", 11});
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_accept(stream, samples, 9000);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_set_hotwords(stream, &(struct linnet_source){NULL, "DA 3\n", 5});
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_finish(stream);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  return status;
}

static enum linnet_status recognise_live(struct linnet_context *context, uint64_t *sum) {
  return hear(context, live_path, sum);
}

/* Without partial results nothing else ranks the hypotheses before the rules of endpoints do. */
static enum linnet_status recognise_segments(struct linnet_context *context, uint64_t *sum) {
  return hear(context, final_path, sum);
}

/* An aligner with the lexicon and the g2p of a settings file, and a text that it aligns to a recording. */
static enum linnet_status align_audio(struct linnet_context *context, uint64_t *sum) {
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_text_aligner *aligner = NULL;
  struct linnet_aligned_text *text = NULL;
  struct linnet_audio *audio = NULL;
  double seconds = 0;
  enum linnet_status status = linnet_recognizer_load(context, phones_path, &recognizer);
  if (status == LINNET_OK)
    status = linnet_recognizer_load_aligner(context, recognizer, words_path, NULL, &aligner);
  if (status == LINNET_OK)
    status = linnet_aligned_text_create(context, aligner, "AB", "text", &text);
  if (status == LINNET_OK)
    status = linnet_audio_open(context, wave_path, NULL, &audio);
  if (status == LINNET_OK)
    status = linnet_recognizer_align(context, recognizer, audio, NULL, text, &seconds);
  digest(sum, &status, sizeof status);
  digest(sum, &seconds, sizeof seconds);
  linnet_audio_destroy(audio);
  linnet_aligned_text_destroy(text);
  linnet_text_aligner_destroy(aligner);
  linnet_recognizer_destroy(recognizer);
  return status;
}

/* Two streams of a batch, one of which restarts its network within a step. */
static enum linnet_status step_batch(struct linnet_recognizer_batch *batch, uint64_t *sum) {
  static float samples[9000];
  struct linnet_recognizer_input inputs[2] = {{.samples = samples, .num_samples = 9000, .finish = 1},
                                              {.samples = samples, .num_samples = 5000}};
  enum linnet_status status = LINNET_OK;
  for (size_t i = 0; i < 9000; i++)
    samples[i] = i < 5000 ? (float)(i * i % 4001) : 0;
  for (size_t i = 0; i < 2 && status == LINNET_OK; i++) {
    status = linnet_recognizer_batch_open(batch, &inputs[i].stream);
    if (status == LINNET_OK)
      status = linnet_recognizer_stream_set_hook(inputs[i].stream, on_result, sum);
  }
  if (status == LINNET_OK)
    status = linnet_recognizer_batch_step(batch, inputs, 2);
  for (size_t i = 0; i < 2; i++)
    linnet_recognizer_stream_destroy(inputs[i].stream);
  return status;
}

static enum linnet_status recognise_batch(struct linnet_context *context, uint64_t *sum) {
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_recognizer_batch *batch = NULL;
  enum linnet_status status = linnet_recognizer_load(context, live_path, &recognizer);
  if (status == LINNET_OK)
    status = linnet_recognizer_batch_create(context, recognizer, 3, &batch);
  if (status == LINNET_OK)
    status = step_batch(batch, sum);
  linnet_recognizer_batch_destroy(batch);
  linnet_recognizer_destroy(recognizer);
  return status;
}

static enum linnet_status align_text(struct linnet_context *context, uint64_t *sum) {
  static const char *const names[] = {"<blk>", "A", "B", "C"};
  const struct linnet_align_settings jumps = {.size = sizeof jumps, .jumps = 1, .jump_cost = 60, .frame_cost = 2};
  struct linnet_text_aligner_settings settings;
  struct linnet_text_aligner *aligner = NULL;
  struct linnet_aligned_text *text = NULL;
  struct linnet_output output = {.size = sizeof output, .id = "u"};
  linnet_text_aligner_settings_default(&settings);
  settings.lexicon = (struct linnet_source){NULL, "AB A B\nC C\n", 11};
  enum linnet_status status = linnet_text_aligner_create(context, names, ROW_SYMBOLS, &settings, &aligner);
  if (status == LINNET_OK)
    status = linnet_aligned_text_create(context, aligner, "AB unknown C", "text", &text);
  if (status == LINNET_OK)
    status = linnet_aligned_text_align(text, rows[0], ROWS, 0.01, 0.4, &jumps);
  if (text && status != LINNET_OK)
    CHECK(linnet_aligned_text_describe(text, &output) == LINNET_ERROR_STATE, "a text whose alignment failed");
  if (status == LINNET_OK && (status = linnet_aligned_text_describe(text, &output)) == LINNET_OK)
    for (size_t i = 0; i < output.num_words; i++)
      digest(sum, &output.words[i].start, sizeof output.words[i].start);
  linnet_aligned_text_destroy(text);
  linnet_text_aligner_destroy(aligner);
  return status;
}

static enum linnet_status align(struct linnet_context *context, uint64_t *sum) {
  const int labels[] = {1, 2, 3, 1, 2, 3};
  struct linnet_alignment *alignment = NULL;
  enum linnet_status status =
      linnet_alignment_create_labels(context, rows[0], ROWS, ROW_SYMBOLS, labels, 6, NULL, &alignment);
  if (status == LINNET_OK) {
    size_t count = 0;
    const struct linnet_aligned_phone *phones = linnet_alignment_phones(alignment, &count);
    for (size_t i = 0; i < count; i++)
      digest(sum, &phones[i].start, sizeof phones[i].start);
  }
  linnet_alignment_destroy(alignment);
  return status;
}

static enum linnet_status archive(struct linnet_context *context, uint64_t *sum) {
  struct linnet_ark_writer *writer = NULL;
  struct linnet_scp *scp = NULL;
  struct linnet_matrix matrix = {0};
  enum linnet_status status = linnet_ark_writer_create(context, ark_path, scp_path, LINNET_KALDI_CM, &writer);
  if (status == LINNET_OK)
    status = linnet_ark_write(writer, "u", rows[0], ROWS, ROW_SYMBOLS);
  if (status == LINNET_OK)
    status = linnet_ark_writer_commit(writer);
  linnet_ark_writer_destroy(writer);
  if (status == LINNET_OK)
    status = linnet_scp_open(context, scp_path, &scp);
  if (status == LINNET_OK)
    status = linnet_scp_read(scp, context, 0, &matrix);
  if (status == LINNET_OK)
    digest(sum, matrix.values, matrix.rows * matrix.cols * sizeof *matrix.values);
  linnet_matrix_release(context, &matrix);
  linnet_scp_destroy(scp);
  unlink(ark_path);
  unlink(scp_path);
  return status;
}

static enum linnet_status average(struct linnet_context *context, uint64_t *sum) {
  const char *const paths[] = {model_path, model_path};
  unlink(out_path);
  enum linnet_status status = linnet_model_average(context, paths, 2, 1, out_path);
  CHECK((access(out_path, F_OK) == 0) == (status == LINNET_OK), "%s: status %d", out_path, status);
  digest_file(sum, out_path);
  return status;
}

static enum linnet_status training(struct linnet_context *context, uint64_t *sum) {
  static const char *const metadata[] = {"licence", "none", NULL};
  struct run run = make_run(transformer, 0, 2);
  char folder[64], path[128];
  run.metadata = metadata;
  make_folder(folder);
  train_with(context, &run, folder);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  if (run.status == LINNET_OK)
    digest_file(sum, path);
  remove_folder(folder);
  return run.status;
}

/* --- torture ---------------------------------------------------------------------------------------------------- */

static const struct scenario {
  const char *name;
  unsigned threads;
  size_t step; /* of the allocations that fail; 1: every one */
  enum linnet_status (*run)(struct linnet_context *context, uint64_t *sum);
} scenarios[] = {
    {"load", 1, 1, load},
    {"transcribe", 1, 1, transcribe},
    {"transcribe, two threads", 2, 1, transcribe},
    {"transcribe, causal", 1, 1, transcribe_causal},
    {"beam", 1, 1, beam},
    {"words", 1, 1, words},
    {"lattice", 1, 1, lattice},
    {"align", 1, 1, align},
    {"align text", 1, 1, align_text},
    {"recognise phones", 1, 1, recognise_phones},
    {"recognise words", 1, 1, recognise_words},
    {"recognise live", 1, 1, recognise_live},
    {"recognise segments", 1, 1, recognise_segments},
    {"recognise batch", 1, 1, recognise_batch},
    {"load aligner", 1, 1, align_audio},
    {"archive", 1, 1, archive},
    {"average", 1, 1, average},
    {"training", 1, 7, training},
    {"training, two threads", 2, 7, training},
};

static struct {
  const struct scenario *scenario;
  size_t number;
} current;

/* Only calls that are safe in a signal handler, nearly: snprintf of numbers does not allocate. */
static void on_crash(int number) {
  char line[160];
  int n = snprintf(line, sizeof line, "crashed: %s, allocation %zu of %s\n", current.scenario->name, current.number,
                   failing_malloc.everything ? "the process" : "the context");
  ssize_t written = write(STDERR_FILENO, line, (size_t)n);
  (void)written;
  signal(number, SIG_DFL);
  raise(number);
}

struct outcome {
  enum linnet_status status;
  bool failed; /* an allocation */
  uint64_t sum;
  char error[512];
};

static struct outcome run_once(const struct scenario *s, size_t fail_at, bool everything) {
  struct outcome o = {.sum = 0xCBF29CE484222325u};
  struct linnet_context_settings settings;
  struct linnet_context *context = NULL;
  size_t live = 0;
  current.scenario = s;
  current.number = fail_at;
  linnet_context_settings_default(&settings);
  settings.num_threads = s->threads;
  settings.reallocate = failing_hook;
  settings.reallocate_user = &live;
  failing_malloc_arm(fail_at, everything);
  o.status = linnet_context_create(&settings, &context);
  const bool created = o.status == LINNET_OK;
  if (created)
    o.status = s->run(context, &o.sum);
  failing_malloc_disarm();
  o.failed = failing_malloc.failed;
  snprintf(o.error, sizeof o.error, "%s", created ? linnet_context_error(context) : "no context");
  linnet_context_destroy(context);
  CHECK(live == 0, "%s: %zu blocks left after failure of allocation %zu", s->name, live, fail_at);
  return o;
}

/* A failure of the process's malloc may come from a system call's wrapper, such as fopen. */
static bool reported(const struct outcome *o, bool everything) {
  return (o->status == LINNET_ERROR_MEMORY && *o->error) ||
         (everything && o->status == LINNET_ERROR_IO && strstr(o->error, strerror(ENOMEM)));
}

static void torture(const struct scenario *s, bool everything) {
  const struct outcome good = run_once(s, SIZE_MAX, everything);
  const size_t step = getenv("LINNET_TORTURE_FULL") ? 1 : s->step;
  size_t n = 0, survived = 0;
  REQUIRE(good.status == LINNET_OK, "%s: %s", s->name, good.error);
  for (bool failed = true; failed; n += step) {
    const size_t live = __atomic_load_n(&failing_malloc.live, __ATOMIC_SEQ_CST);
    const struct outcome o = run_once(s, n, everything);
    failed = o.failed;
    survived += failed && o.status == LINNET_OK;
    CHECK(o.status == LINNET_OK ? o.sum == good.sum : reported(&o, everything),
          "%s: allocation %zu of %s failed, and the status is %d: %s", s->name, n,
          everything ? "the process" : "the context", (int)o.status, o.error);
    const size_t left = __atomic_load_n(&failing_malloc.live, __ATOMIC_SEQ_CST) - live;
    CHECK(left == 0, "%s: %zu blocks of the process left after failure of allocation %zu", s->name, left, n);
  }
  CHECK(n > step, "%s: nothing was allocated", s->name);
  printf("%-24s %5zu allocations of the %s failed in turn, %zu made no difference\n", s->name, n / step - 1,
         everything ? "process" : "context", survived);
}

static bool wanted(const char *name, int count, char **names) {
  for (int i = 1; i < count; i++)
    if (strncmp(name, names[i], strlen(names[i])) == 0)
      return true;
  return count < 2;
}

int main(int argc, char **argv) {
  signal(SIGSEGV, on_crash);
  signal(SIGABRT, on_crash);
  setvbuf(stdout, NULL, _IOLBF, 0);
  prepare();
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
    for (int everything = 0; everything <= MALLOC_REPLACED; everything++)
      if (wanted(scenarios[i].name, argc, argv))
        torture(&scenarios[i], everything);
  return test_result();
}
