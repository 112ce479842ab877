/* A small object of every kind for test_null_arguments.c: the other arguments of a call. */
#ifndef LINNET_NULL_FIXTURE_H
#define LINNET_NULL_FIXTURE_H

#include <linnet/audio.h>
#include <linnet/augment.h>
#include <linnet/g2p.h>
#include <linnet/kaldi.h>
#include <linnet/linnet.h>
#include <linnet/ngram.h>
#include <linnet/pronounced_text.h>
#include <linnet/score.h>
#include <linnet/text_normalizer.h>

#include "small_training.h"

/* Memory for any result: a structure, or a pointer to an object. */
static union {
  max_align_t align;
  char bytes[1 << 16];
} scratch;
static void *out;
static float floats[512], *samples;
static int integers[4] = {1, 1, 1, 1};
static size_t number;
static const char *const names[] = {"x", "x"};
static struct linnet_corpus corpus;
static const struct linnet_train_model train_model = {.size = sizeof train_model,
                                                      .config = transformer,
                                                      .features = features,
                                                      .symbols = symbols,
                                                      .num_symbols = SYMBOLS};

static int sink(void *user, const float *log_posteriors, size_t first, size_t frames) {
  (void)user, (void)log_posteriors, (void)first, (void)frames;
  return 0;
}

static int write_nothing(void *user, const char *text, size_t bytes) {
  (void)user, (void)text, (void)bytes;
  return 0;
}

static struct {
  struct linnet_context *context;
  struct linnet_model *model, *causal_model;
  struct linnet_encoder *encoder;
  struct linnet_recurrence *recurrence;
  struct linnet_recurrence_batch *recurrence_batch;
  struct linnet_stream *stream;
  struct linnet_trainer *trainer;
  struct linnet_fbank *fbank;
  struct linnet_audio *audio;
  struct linnet_ark *ark;
  struct linnet_ark_writer *ark_writer;
  struct linnet_scp *scp;
  struct linnet_data_folder *data_folder;
  struct linnet_symbols *symbols;
  struct linnet_lexicon *lexicon;
  struct linnet_transcripts *transcripts;
  struct linnet_grammar *grammar;
  struct linnet_hotwords *hotwords;
  struct linnet_ngram *ngram;
  struct linnet_ngram_estimator *ngram_estimator;
  struct linnet_g2p_trainer *g2p_trainer;
  struct linnet_g2p *g2p;
  struct linnet_text_normalizer *normalizer;
  struct linnet_pronounced_text *pronounced_text;
  struct linnet_greedy *greedy;
  struct linnet_beam *beam;
  struct linnet_word_search *word_search;
  struct linnet_lattice *lattice;
  struct linnet_lattice_reader *lattice_reader;
  struct linnet_scorer *scorer;
  struct linnet_search *search;
  struct linnet_search_stream *search_stream;
  struct linnet_recognizer *recognizer, *causal_recognizer;
  struct linnet_recognizer_stream *recognizer_stream;
  struct linnet_recognizer_batch *recognizer_batch;
  struct linnet_text_aligner *aligner;
  struct linnet_aligned_text *aligned_text;
} f;

static const char *in_folder(const char *name) {
  static char path[4200];
  snprintf(path, sizeof path, "%s/null_arguments/%s", TEST_BINARY_DIR, name);
  return path;
}

static void save(const char *name, const char *text) {
  FILE *file = fopen(in_folder(name), "wb");
  REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", in_folder(name));
}

#define MAKE(call) REQUIRE((call) == LINNET_OK, "%s: %s", #call, linnet_context_error(f.context))

static void make_model(const char *config, struct linnet_model **model) {
  struct run run = make_run(config, 1, 1);
  char folder[64], path[128];
  make_folder(folder);
  train_with(f.context, &run, folder);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  MAKE(linnet_model_load(f.context, path, model));
  remove_folder(folder);
}

static void make_networks(void) {
  static struct corpus small;
  make_model(transformer, &f.model);
  make_model(causal, &f.causal_model);
  make_corpus(&small, 1);
  corpus = callbacks(&small);
  MAKE(linnet_encoder_create(f.context, f.model, &f.encoder));
  MAKE(linnet_recurrence_create(f.context, f.causal_model, &f.recurrence));
  MAKE(linnet_recurrence_batch_create(f.context, f.causal_model, 1, &f.recurrence_batch));
  MAKE(linnet_stream_create(f.context, f.model, &f.stream));
  MAKE(linnet_trainer_create(f.context, in_folder(""), NULL, &train_model, &corpus, &corpus, &f.trainer));
}

static void make_inputs(void) {
  static const struct linnet_audio_settings raw = {.size = sizeof raw,
                                                   .sample_rate = 16000,
                                                   .raw_format = LINNET_SAMPLE_S16LE,
                                                   .raw_rate = 16000,
                                                   .num_raw_channels = 1};
  MAKE(linnet_fbank_create(f.context, NULL, &f.fbank));
  MAKE(linnet_audio_open_memory(f.context, floats, sizeof floats, &raw, &f.audio));
  MAKE(linnet_ark_open_memory(f.context, "u [ 1 ]\n", 8, "ark", &f.ark));
  MAKE(linnet_ark_writer_create(f.context, in_folder("out.ark"), NULL, LINNET_KALDI_FLOAT, &f.ark_writer));
  save("feats.scp", "u nowhere.ark:2\n");
  MAKE(linnet_scp_open(f.context, in_folder("feats.scp"), &f.scp));
  MAKE(linnet_data_folder_open(f.context, in_folder(""), &f.data_folder));
}

static void make_texts(void) {
  static const char arpa[] = "\\data\\\nngram 1=3\n\n\\1-grams:\n-99\t<s>\n-1\t</s>\n-0.5\tA\n\n\\end\\\n";
  static const char *const phones[] = {"A", "B"};
  MAKE(linnet_symbols_create(f.context, phones, 2, &f.symbols));
  MAKE(linnet_lexicon_load_memory(f.context, "AB A B\n", 7, "lexicon", NULL, f.symbols, &f.lexicon));
  MAKE(linnet_transcripts_load_memory(f.context, "u A B\n", 6, "text", &f.transcripts));
  MAKE(linnet_grammar_load_memory(f.context, "AB\n", 3, "grammar", f.lexicon, &f.grammar));
  MAKE(linnet_hotwords_load_memory(f.context, "AB\n", 3, "hotwords", f.lexicon, &f.hotwords));
  MAKE(linnet_ngram_load_memory(f.context, arpa, sizeof arpa - 1, "arpa", &f.ngram));
  MAKE(linnet_ngram_estimator_create(f.context, NULL, &f.ngram_estimator));
}

static void make_pronunciations(void) {
  static const char *const phones[] = {"A", "B"};
  const struct linnet_g2p_settings settings = {.size = sizeof settings, .order = 2, .num_iterations = 1};
  MAKE(linnet_g2p_trainer_create(f.context, &settings, &f.g2p_trainer));
  MAKE(linnet_g2p_trainer_add(f.g2p_trainer, "ab", phones, 2));
  MAKE(linnet_g2p_trainer_finish(f.g2p_trainer, &f.g2p));
  MAKE(linnet_text_normalizer_load(f.context, NULL, &f.normalizer));
  const struct linnet_pronounced_text_settings known = {
      .size = sizeof known, .normalizer = f.normalizer, .lexicon = f.lexicon};
  MAKE(linnet_pronounced_text_create(f.context, "AB", "text", &known, &f.pronounced_text));
}

static void make_decoders(void) {
  MAKE(linnet_greedy_create(f.context, 3, &f.greedy));
  MAKE(linnet_beam_create(f.context, 3, NULL, &f.beam));
  MAKE(linnet_word_search_create(f.context, f.lexicon, 3, NULL, &f.word_search));
  MAKE(linnet_lattice_create(f.context, &f.lattice));
  MAKE(linnet_lattice_reader_open_memory(f.context, "u\n0 1 1 1,2,\n1\n", 15, "lattice", f.symbols, &f.lattice_reader));
  MAKE(linnet_scorer_create(f.context, NULL, &f.scorer));
}

static void make_recognizers(void) {
  static const char *const phones[] = {"<blk>", "A", "B"};
  const struct linnet_recognizer_settings settings = {.size = sizeof settings, .shared_model = f.model};
  const struct linnet_recognizer_settings with_causal = {.size = sizeof with_causal, .shared_model = f.causal_model};
  MAKE(linnet_search_create(f.context, phones, 3, NULL, &f.search));
  MAKE(linnet_search_stream_create(f.context, f.search, &f.search_stream));
  MAKE(linnet_recognizer_create(f.context, &settings, &f.recognizer));
  MAKE(linnet_recognizer_stream_create(f.context, f.recognizer, &f.recognizer_stream));
  MAKE(linnet_recognizer_create(f.context, &with_causal, &f.causal_recognizer));
  MAKE(linnet_recognizer_batch_create(f.context, f.causal_recognizer, 1, &f.recognizer_batch));
  MAKE(linnet_text_aligner_create(f.context, phones, 3, NULL, &f.aligner));
  MAKE(linnet_aligned_text_create_phones(f.context, f.aligner, "A B", "text", &f.aligned_text));
}

static void make_fixture(void) {
  REQUIRE(system("rm -rf '" TEST_BINARY_DIR "/null_arguments' && mkdir '" TEST_BINARY_DIR "/null_arguments'") == 0,
          "folder");
  f.context = test_context();
  make_networks();
  make_inputs();
  make_texts();
  make_pronunciations();
  make_decoders();
  make_recognizers();
}

static void destroy_fixture(void) {
  linnet_aligned_text_destroy(f.aligned_text);
  linnet_text_aligner_destroy(f.aligner);
  linnet_recognizer_batch_destroy(f.recognizer_batch);
  linnet_recognizer_destroy(f.causal_recognizer);
  linnet_recognizer_stream_destroy(f.recognizer_stream);
  linnet_recognizer_destroy(f.recognizer);
  linnet_search_stream_destroy(f.search_stream);
  linnet_search_destroy(f.search);
  linnet_scorer_destroy(f.scorer);
  linnet_lattice_reader_destroy(f.lattice_reader);
  linnet_lattice_destroy(f.lattice);
  linnet_word_search_destroy(f.word_search);
  linnet_beam_destroy(f.beam);
  linnet_greedy_destroy(f.greedy);
  linnet_pronounced_text_destroy(f.pronounced_text);
  linnet_text_normalizer_destroy(f.normalizer);
  linnet_g2p_destroy(f.g2p);
  linnet_g2p_trainer_destroy(f.g2p_trainer);
  linnet_ngram_estimator_destroy(f.ngram_estimator);
  linnet_ngram_destroy(f.ngram);
  linnet_hotwords_destroy(f.hotwords);
  linnet_grammar_destroy(f.grammar);
  linnet_transcripts_destroy(f.transcripts);
  linnet_lexicon_destroy(f.lexicon);
  linnet_symbols_destroy(f.symbols);
  linnet_data_folder_destroy(f.data_folder);
  linnet_scp_destroy(f.scp);
  linnet_ark_writer_destroy(f.ark_writer);
  linnet_ark_destroy(f.ark);
  linnet_audio_destroy(f.audio);
  linnet_fbank_destroy(f.fbank);
  linnet_trainer_destroy(f.trainer);
  linnet_stream_destroy(f.stream);
  linnet_recurrence_destroy(f.recurrence);
  linnet_recurrence_batch_destroy(f.recurrence_batch);
  linnet_encoder_destroy(f.encoder);
  linnet_model_destroy(f.causal_model);
  linnet_model_destroy(f.model);
  linnet_context_destroy(f.context);
}

#endif
