/* NULL for every pointer of every public function in turn. A function that returns a status refuses it with
 * LINNET_ERROR_ARGUMENT; arguments that may be NULL by their header have no row; what destroys takes NULL; what returns
 * a value needs its object, which context.h says.
 *
 *   test_null_arguments --list        the functions that have a row, for tests/check_null_arguments.sh
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>

#include <linnet/audio.h>
#include <linnet/augment.h>
#include <linnet/kaldi.h>
#include <linnet/linnet.h>
#include <linnet/ngram.h>
#include <linnet/score.h>

#include "small_training.h"

/* --- rows --------------------------------------------------------------------------------------------------------- */

enum { CRASHED = -1 };
static bool listing;
static sigjmp_buf crash;

static void on_crash(int number) {
  (void)number;
  siglongjmp(crash, 1);
}

/* Whether the call that is written in `text` is to be made. */
static bool begin(const char *text) {
  if (listing)
    printf("%.*s\n", (int)strcspn(text, "("), text);
  return !listing;
}

#define REFUSES(call)                                                                                                  \
  do {                                                                                                                 \
    if (begin(#call)) {                                                                                                \
      const int status = sigsetjmp(crash, 1) == 0 ? (int)(call) : CRASHED;                                             \
      CHECK(status == LINNET_ERROR_ARGUMENT, "%s gives %d", #call, status);                                            \
    }                                                                                                                  \
  } while (0)

#define ALLOWS(call)                                                                                                   \
  do {                                                                                                                 \
    if (begin(#call)) {                                                                                                \
      const bool good = sigsetjmp(crash, 1) == 0 ? ((call), true) : false;                                             \
      CHECK(good, "%s crashes", #call);                                                                                \
    }                                                                                                                  \
  } while (0)

/* Functions that return no status and destroy nothing. */
static const char needing[] =
    "linnet_align_settings_default\nlinnet_alignment_jumps\nlinnet_alignment_phones\nlinnet_alignment_score\n"
    "linnet_alignment_words\nlinnet_audio_input_channels\nlinnet_audio_input_rate\nlinnet_audio_seconds\n"
    "linnet_audio_settings_default\nlinnet_augment_choose\nlinnet_beam_count\nlinnet_beam_memory\nlinnet_beam_reset\n"
    "linnet_beam_settings_default\nlinnet_beam_stable\nlinnet_calibrate\nlinnet_context_device\n"
    "linnet_context_device_peak\nlinnet_context_error\nlinnet_context_kernels\nlinnet_context_precision\n"
    "linnet_context_settings_default\nlinnet_context_threads\nlinnet_data_folder_command\nlinnet_data_folder_count\n"
    "linnet_data_folder_find\nlinnet_data_folder_has_cmvn\nlinnet_data_folder_has_features\nlinnet_data_folder_id\n"
    "linnet_data_folder_path\nlinnet_data_folder_phones\nlinnet_data_folder_segment\nlinnet_data_folder_speaker\n"
    "linnet_data_folder_speaker_name\nlinnet_data_folder_speakers\nlinnet_data_folder_text\nlinnet_fbank_dim\n"
    "linnet_fbank_frames\nlinnet_fbank_pending\nlinnet_fbank_reset\nlinnet_fbank_settings_default\n"
    "linnet_fbank_settings_of\nlinnet_fbank_shift\nlinnet_fbank_window\nlinnet_feature_config_default\n"
    "linnet_grammar_language_model\nlinnet_grammar_lookahead\nlinnet_grammar_states\nlinnet_greedy_reset\n"
    "linnet_greedy_segments\nlinnet_hotwords_count\nlinnet_lattice_arcs\nlinnet_lattice_format_at\n"
    "linnet_lattice_format_find\nlinnet_lattice_format_name\nlinnet_lattice_posterior\nlinnet_lattice_reset\n"
    "linnet_lattice_settings_default\nlinnet_lattice_states\nlinnet_lexicon_count\nlinnet_lexicon_find\n"
    "linnet_lexicon_phones\nlinnet_lexicon_pronunciation\nlinnet_lexicon_settings_default\nlinnet_lexicon_tokens\n"
    "linnet_lexicon_variants\nlinnet_lexicon_word\nlinnet_model_cmvn\nlinnet_model_features\nlinnet_model_memory\n"
    "linnet_model_metadata\nlinnet_model_metadata_key\nlinnet_model_num_parameters\nlinnet_model_num_symbols\n"
    "linnet_model_output_frames\nlinnet_model_stride\nlinnet_model_symbol\nlinnet_ngram_begin\nlinnet_ngram_bytes\n"
    "linnet_ngram_count\nlinnet_ngram_estimator_settings_default\nlinnet_ngram_find\nlinnet_ngram_finish\n"
    "linnet_ngram_is_quantized\nlinnet_ngram_language_model\nlinnet_ngram_order\nlinnet_ngram_score\n"
    "linnet_ngram_unigrams\nlinnet_ngram_word\nlinnet_noise_settings_default\nlinnet_output_format_at\n"
    "linnet_output_format_extension\nlinnet_output_format_find\nlinnet_output_format_has_alternatives\n"
    "linnet_output_format_is_single\nlinnet_output_format_name\nlinnet_recurrence_frames\nlinnet_recurrence_possible\n"
    "linnet_recurrence_reset\nlinnet_recurrence_state_bytes\nlinnet_sample_format_find\nlinnet_score_line\n"
    "linnet_score_percent\nlinnet_scorer_alignment\nlinnet_scorer_settings_default\nlinnet_scorer_speaker\n"
    "linnet_scorer_speakers\nlinnet_scorer_sum\nlinnet_scorer_utterance\nlinnet_scorer_utterances\nlinnet_scp_count\n"
    "linnet_scp_find\nlinnet_scp_key\nlinnet_specaugment_count\nlinnet_specaugment_settings_default\n"
    "linnet_status_string\nlinnet_stream_frame_seconds\nlinnet_stream_reset\nlinnet_stream_seconds\n"
    "linnet_stream_segments\nlinnet_stream_set_sink\nlinnet_symbols_count\nlinnet_symbols_find\nlinnet_symbols_name\n"
    "linnet_train_settings_default\nlinnet_trainer_epoch\nlinnet_transcripts_count\nlinnet_transcripts_find\n"
    "linnet_transcripts_id\nlinnet_transcripts_tokens\nlinnet_version\nlinnet_word_search_count\n"
    "linnet_word_search_memory\nlinnet_word_search_reset\nlinnet_word_search_settings_default\n"
    "linnet_word_search_stable\nlinnet_word_search_text\nlinnet_word_search_tree_memory\n";

/* --- what is not NULL --------------------------------------------------------------------------------------------- */

/* Room for any result: a structure, or a pointer to an object. */
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
static const struct linnet_train_model train_model = {
    .config = transformer, .features = features, .symbols = symbols, .num_symbols = SYMBOLS};

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
  struct linnet_greedy *greedy;
  struct linnet_beam *beam;
  struct linnet_word_search *word_search;
  struct linnet_lattice *lattice;
  struct linnet_lattice_reader *lattice_reader;
  struct linnet_scorer *scorer;
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
  MAKE(linnet_stream_create(f.context, f.model, &f.stream));
  MAKE(linnet_trainer_create(f.context, in_folder(""), NULL, &train_model, &corpus, &corpus, &f.trainer));
}

static void make_inputs(void) {
  static const struct linnet_audio_settings raw = {.size = sizeof raw,
                                                   .sample_rate = 16000,
                                                   .raw_format = LINNET_SAMPLE_S16LE,
                                                   .raw_rate = 16000,
                                                   .raw_channels = 1};
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

static void make_decoders(void) {
  MAKE(linnet_greedy_create(f.context, 3, &f.greedy));
  MAKE(linnet_beam_create(f.context, 3, NULL, &f.beam));
  MAKE(linnet_word_search_create(f.context, f.lexicon, 3, NULL, &f.word_search));
  MAKE(linnet_lattice_create(f.context, &f.lattice));
  MAKE(linnet_lattice_reader_open_memory(f.context, "u\n0 1 1 1,2,\n1\n", 15, "lattice", f.symbols, &f.lattice_reader));
  MAKE(linnet_scorer_create(f.context, NULL, &f.scorer));
}

static void make_fixture(void) {
  REQUIRE(system("rm -rf '" TEST_BINARY_DIR "/null_arguments' && mkdir '" TEST_BINARY_DIR "/null_arguments'") == 0,
          "folder");
  f.context = test_context();
  make_networks();
  make_inputs();
  make_texts();
  make_decoders();
}

static void destroy_fixture(void) {
  linnet_scorer_destroy(f.scorer);
  linnet_lattice_reader_destroy(f.lattice_reader);
  linnet_lattice_destroy(f.lattice);
  linnet_word_search_destroy(f.word_search);
  linnet_beam_destroy(f.beam);
  linnet_greedy_destroy(f.greedy);
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
  linnet_encoder_destroy(f.encoder);
  linnet_model_destroy(f.causal_model);
  linnet_model_destroy(f.model);
  linnet_context_destroy(f.context);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static void refuse_networks(void) {
  REFUSES(linnet_context_create(NULL, NULL));
  REFUSES(linnet_context_share(NULL, (void *)&out));
  REFUSES(linnet_context_share(f.context, NULL));
  REFUSES(linnet_encoder_compute(NULL, floats, 1, floats));
  REFUSES(linnet_encoder_compute(f.encoder, NULL, 1, floats));
  REFUSES(linnet_encoder_compute(f.encoder, floats, 1, NULL));
  REFUSES(linnet_encoder_create(NULL, f.model, (void *)&out));
  REFUSES(linnet_encoder_create(f.context, NULL, (void *)&out));
  REFUSES(linnet_encoder_create(f.context, f.model, NULL));
  REFUSES(linnet_encoder_run(NULL, floats, 1, sink, NULL));
  REFUSES(linnet_encoder_run(f.encoder, NULL, 1, sink, NULL));
  REFUSES(linnet_encoder_run(f.encoder, floats, 1, NULL, NULL));
  REFUSES(linnet_model_annotate(NULL, "x", "x", "x", 1, "x"));
  REFUSES(linnet_model_annotate(f.context, NULL, "x", "x", 1, "x"));
  REFUSES(linnet_model_annotate(f.context, "x", NULL, "x", 1, "x"));
  REFUSES(linnet_model_annotate(f.context, "x", "x", NULL, 1, "x"));
  REFUSES(linnet_model_annotate(f.context, "x", "x", "x", 1, NULL));
  REFUSES(linnet_model_average(NULL, names, 1, 1, "x"));
  REFUSES(linnet_model_average(f.context, NULL, 1, 1, "x"));
  REFUSES(linnet_model_average(f.context, names, 1, 1, NULL));
  REFUSES(linnet_model_load(NULL, "x", (void *)&out));
  REFUSES(linnet_model_load(f.context, NULL, (void *)&out));
  REFUSES(linnet_model_load(f.context, "x", NULL));
  REFUSES(linnet_model_load_memory(NULL, "x", 1, NULL, (void *)&out));
  REFUSES(linnet_model_load_memory(f.context, NULL, 1, NULL, (void *)&out));
  REFUSES(linnet_model_load_memory(f.context, "x", 1, NULL, NULL));
  REFUSES(linnet_recurrence_copy(NULL, f.recurrence));
  REFUSES(linnet_recurrence_copy(f.recurrence, NULL));
  REFUSES(linnet_recurrence_create(NULL, f.model, (void *)&out));
  REFUSES(linnet_recurrence_create(f.context, NULL, (void *)&out));
  REFUSES(linnet_recurrence_create(f.context, f.model, NULL));
  REFUSES(linnet_recurrence_finish(NULL, floats));
  REFUSES(linnet_recurrence_finish(f.recurrence, NULL));
  REFUSES(linnet_recurrence_step(NULL, floats, floats));
  REFUSES(linnet_recurrence_step(f.recurrence, NULL, floats));
  REFUSES(linnet_recurrence_step(f.recurrence, floats, NULL));
  REFUSES(linnet_stream_accept(NULL, floats, 1));
  REFUSES(linnet_stream_accept(f.stream, NULL, 1));
  REFUSES(linnet_stream_accept_features(NULL, floats, 1, 1));
  REFUSES(linnet_stream_accept_features(f.stream, NULL, 1, 1));
  REFUSES(linnet_stream_create(NULL, f.model, (void *)&out));
  REFUSES(linnet_stream_create(f.context, NULL, (void *)&out));
  REFUSES(linnet_stream_create(f.context, f.model, NULL));
  REFUSES(linnet_stream_drop_segments(NULL, 1));
  REFUSES(linnet_stream_finish(NULL));
  REFUSES(linnet_stream_set_speaker(NULL, NULL));
  REFUSES(linnet_train_measure_chunk(NULL, causal, &number));
  REFUSES(linnet_train_measure_chunk(f.context, NULL, &number));
  REFUSES(linnet_train_measure_chunk(f.context, causal, NULL));
  REFUSES(linnet_trainer_create(NULL, "x", NULL, &train_model, &corpus, &corpus, (void *)&out));
  REFUSES(linnet_trainer_create(f.context, NULL, NULL, &train_model, &corpus, &corpus, (void *)&out));
  REFUSES(linnet_trainer_create(f.context, "x", NULL, NULL, &corpus, &corpus, (void *)&out));
  REFUSES(linnet_trainer_create(f.context, "x", NULL, &train_model, NULL, &corpus, (void *)&out));
  REFUSES(linnet_trainer_create(f.context, "x", NULL, &train_model, &corpus, NULL, (void *)&out));
  REFUSES(linnet_trainer_create(f.context, "x", NULL, &train_model, &corpus, &corpus, NULL));
  REFUSES(linnet_trainer_run(NULL, NULL));
}

static void refuse_audio(void) {
  REFUSES(linnet_audio_open(NULL, "x", NULL, (void *)&out));
  REFUSES(linnet_audio_open(f.context, NULL, NULL, (void *)&out));
  REFUSES(linnet_audio_open(f.context, "x", NULL, NULL));
  REFUSES(linnet_audio_open_fd(NULL, 1, NULL, NULL, (void *)&out));
  REFUSES(linnet_audio_open_fd(f.context, 1, NULL, NULL, NULL));
  REFUSES(linnet_audio_open_memory(NULL, "x", 1, NULL, (void *)&out));
  REFUSES(linnet_audio_open_memory(f.context, NULL, 1, NULL, (void *)&out));
  REFUSES(linnet_audio_open_memory(f.context, "x", 1, NULL, NULL));
  REFUSES(linnet_audio_read(NULL, floats, 1, &number));
  REFUSES(linnet_audio_read(f.audio, NULL, 1, &number));
  REFUSES(linnet_audio_read(f.audio, floats, 1, NULL));
  REFUSES(linnet_audio_read_all(NULL, (void *)&out, &number));
  REFUSES(linnet_audio_read_all(f.audio, NULL, &number));
  REFUSES(linnet_audio_read_all(f.audio, (void *)&out, NULL));
  REFUSES(linnet_audio_select(NULL, 1, 1));
  REFUSES(linnet_augment_noise(NULL, (struct linnet_augment_key){1, 1, 1}, NULL, 1, floats, 1));
  REFUSES(linnet_augment_noise((void *)&scratch, (struct linnet_augment_key){1, 1, 1}, NULL, 1, NULL, 1));
  REFUSES(linnet_augment_speed(NULL, floats, 1, 1, (void *)&out, &number));
  REFUSES(linnet_augment_speed(f.context, NULL, 1, 1, (void *)&out, &number));
  REFUSES(linnet_augment_speed(f.context, floats, 1, 1, NULL, &number));
  REFUSES(linnet_augment_speed(f.context, floats, 1, 1, (void *)&out, NULL));
  REFUSES(linnet_fbank_accept(NULL, floats, 1, floats, 1, &number));
  REFUSES(linnet_fbank_accept(f.fbank, NULL, 1, floats, 1, &number));
  REFUSES(linnet_fbank_accept(f.fbank, floats, 1, NULL, 1, &number));
  REFUSES(linnet_fbank_accept(f.fbank, floats, 1, floats, 1, NULL));
  REFUSES(linnet_fbank_compute(NULL, floats, 512, floats));
  REFUSES(linnet_fbank_compute(f.fbank, NULL, 512, floats));
  REFUSES(linnet_fbank_compute(f.fbank, floats, 512, NULL));
  REFUSES(linnet_fbank_create(NULL, NULL, (void *)&out));
  REFUSES(linnet_fbank_create(f.context, NULL, NULL));
  REFUSES(linnet_feature_config_parse(NULL, NULL, "x", (void *)&scratch));
  REFUSES(linnet_feature_config_parse(NULL, "x", NULL, (void *)&scratch));
  REFUSES(linnet_feature_config_parse(NULL, "x", "x", NULL));
  REFUSES(linnet_specaugment(NULL, (struct linnet_augment_key){1, 1, 1}, floats, 1, 1));
  REFUSES(linnet_specaugment((void *)&scratch, (struct linnet_augment_key){1, 1, 1}, NULL, 1, 1));
  REFUSES(linnet_specaugment_masks(NULL, (struct linnet_augment_key){1, 1, 1}, 1, 1, (void *)&scratch));
  REFUSES(linnet_specaugment_masks((void *)&scratch, (struct linnet_augment_key){1, 1, 1}, 1, 1, NULL));
}

static void refuse_kaldi(void) {
  REFUSES(linnet_ark_next(NULL, (void *)&out, (void *)&scratch));
  REFUSES(linnet_ark_next(f.ark, NULL, (void *)&scratch));
  REFUSES(linnet_ark_next(f.ark, (void *)&out, NULL));
  REFUSES(linnet_ark_next_cmvn(NULL, (void *)&out, (void *)&scratch));
  REFUSES(linnet_ark_next_cmvn(f.ark, NULL, (void *)&scratch));
  REFUSES(linnet_ark_next_cmvn(f.ark, (void *)&out, NULL));
  REFUSES(linnet_ark_open(NULL, "x", (void *)&out));
  REFUSES(linnet_ark_open(f.context, NULL, (void *)&out));
  REFUSES(linnet_ark_open(f.context, "x", NULL));
  REFUSES(linnet_ark_open_memory(NULL, "x", 1, NULL, (void *)&out));
  REFUSES(linnet_ark_open_memory(f.context, NULL, 1, NULL, (void *)&out));
  REFUSES(linnet_ark_open_memory(f.context, "x", 1, NULL, NULL));
  REFUSES(linnet_ark_write(NULL, "x", floats, 1, 1));
  REFUSES(linnet_ark_write(f.ark_writer, NULL, floats, 1, 1));
  REFUSES(linnet_ark_write(f.ark_writer, "x", NULL, 1, 1));
  REFUSES(linnet_ark_write_cmvn(NULL, "x", (void *)&scratch));
  REFUSES(linnet_ark_write_cmvn(f.ark_writer, NULL, (void *)&scratch));
  REFUSES(linnet_ark_write_cmvn(f.ark_writer, "x", NULL));
  REFUSES(linnet_ark_writer_commit(NULL));
  REFUSES(linnet_ark_writer_create(NULL, "x", NULL, 0, (void *)&out));
  REFUSES(linnet_ark_writer_create(f.context, NULL, NULL, 0, (void *)&out));
  REFUSES(linnet_ark_writer_create(f.context, "x", NULL, 0, NULL));
  REFUSES(linnet_cmvn_accumulate(NULL, floats, 1));
  REFUSES(linnet_cmvn_accumulate((void *)&scratch, NULL, 1));
  REFUSES(linnet_cmvn_add(NULL, (void *)&scratch));
  REFUSES(linnet_cmvn_add((void *)&scratch, NULL));
  REFUSES(linnet_cmvn_apply(NULL, 1, floats, 1));
  REFUSES(linnet_cmvn_apply((void *)&scratch, 1, NULL, 1));
  REFUSES(linnet_cmvn_read(NULL, "x", (void *)&scratch));
  REFUSES(linnet_cmvn_read(f.context, NULL, (void *)&scratch));
  REFUSES(linnet_cmvn_read(f.context, "x", NULL));
  REFUSES(linnet_cmvn_reset(NULL, 1));
  REFUSES(linnet_cmvn_write(NULL, "x", (void *)&scratch));
  REFUSES(linnet_cmvn_write(f.context, NULL, (void *)&scratch));
  REFUSES(linnet_cmvn_write(f.context, "x", NULL));
  REFUSES(linnet_data_folder_audio(NULL, f.context, 1, NULL, &samples, &number));
  REFUSES(linnet_data_folder_audio(f.data_folder, NULL, 1, NULL, &samples, &number));
  REFUSES(linnet_data_folder_audio(f.data_folder, f.context, 1, NULL, NULL, &number));
  REFUSES(linnet_data_folder_audio(f.data_folder, f.context, 1, NULL, &samples, NULL));
  REFUSES(linnet_data_folder_cmvn(NULL, f.context, 1, (void *)&scratch));
  REFUSES(linnet_data_folder_cmvn(f.data_folder, NULL, 1, (void *)&scratch));
  REFUSES(linnet_data_folder_cmvn(f.data_folder, f.context, 1, NULL));
  REFUSES(linnet_data_folder_features(NULL, f.context, 1, (void *)&scratch));
  REFUSES(linnet_data_folder_features(f.data_folder, NULL, 1, (void *)&scratch));
  REFUSES(linnet_data_folder_features(f.data_folder, f.context, 1, NULL));
  REFUSES(linnet_data_folder_open(NULL, "x", (void *)&out));
  REFUSES(linnet_data_folder_open(f.context, NULL, (void *)&out));
  REFUSES(linnet_data_folder_open(f.context, "x", NULL));
  REFUSES(linnet_matrix_read(NULL, "x", (void *)&scratch));
  REFUSES(linnet_matrix_read(f.context, NULL, (void *)&scratch));
  REFUSES(linnet_matrix_read(f.context, "x", NULL));
  REFUSES(linnet_scp_open(NULL, "x", (void *)&out));
  REFUSES(linnet_scp_open(f.context, NULL, (void *)&out));
  REFUSES(linnet_scp_open(f.context, "x", NULL));
  REFUSES(linnet_scp_read(NULL, f.context, 1, (void *)&scratch));
  REFUSES(linnet_scp_read(f.scp, NULL, 1, (void *)&scratch));
  REFUSES(linnet_scp_read(f.scp, f.context, 1, NULL));
  REFUSES(linnet_scp_read_cmvn(NULL, f.context, 1, (void *)&scratch));
  REFUSES(linnet_scp_read_cmvn(f.scp, NULL, 1, (void *)&scratch));
  REFUSES(linnet_scp_read_cmvn(f.scp, f.context, 1, NULL));
}

static void refuse_text(void) {
  REFUSES(linnet_grammar_load(NULL, "x", f.lexicon, (void *)&out));
  REFUSES(linnet_grammar_load(f.context, NULL, f.lexicon, (void *)&out));
  REFUSES(linnet_grammar_load(f.context, "x", NULL, (void *)&out));
  REFUSES(linnet_grammar_load(f.context, "x", f.lexicon, NULL));
  REFUSES(linnet_grammar_load_memory(NULL, "x", 1, "x", f.lexicon, (void *)&out));
  REFUSES(linnet_grammar_load_memory(f.context, NULL, 1, "x", f.lexicon, (void *)&out));
  REFUSES(linnet_grammar_load_memory(f.context, "x", 1, NULL, f.lexicon, (void *)&out));
  REFUSES(linnet_grammar_load_memory(f.context, "x", 1, "x", NULL, (void *)&out));
  REFUSES(linnet_grammar_load_memory(f.context, "x", 1, "x", f.lexicon, NULL));
  REFUSES(linnet_hotwords_load(NULL, "x", f.lexicon, (void *)&out));
  REFUSES(linnet_hotwords_load(f.context, NULL, f.lexicon, (void *)&out));
  REFUSES(linnet_hotwords_load(f.context, "x", NULL, (void *)&out));
  REFUSES(linnet_hotwords_load(f.context, "x", f.lexicon, NULL));
  REFUSES(linnet_hotwords_load_memory(NULL, "x", 1, "x", f.lexicon, (void *)&out));
  REFUSES(linnet_hotwords_load_memory(f.context, NULL, 1, "x", f.lexicon, (void *)&out));
  REFUSES(linnet_hotwords_load_memory(f.context, "x", 1, NULL, f.lexicon, (void *)&out));
  REFUSES(linnet_hotwords_load_memory(f.context, "x", 1, "x", NULL, (void *)&out));
  REFUSES(linnet_hotwords_load_memory(f.context, "x", 1, "x", f.lexicon, NULL));
  REFUSES(linnet_lexicon_load(NULL, "x", NULL, NULL, (void *)&out));
  REFUSES(linnet_lexicon_load(f.context, NULL, NULL, NULL, (void *)&out));
  REFUSES(linnet_lexicon_load(f.context, "x", NULL, NULL, NULL));
  REFUSES(linnet_lexicon_load_memory(NULL, "x", 1, "x", NULL, NULL, (void *)&out));
  REFUSES(linnet_lexicon_load_memory(f.context, NULL, 1, "x", NULL, NULL, (void *)&out));
  REFUSES(linnet_lexicon_load_memory(f.context, "x", 1, NULL, NULL, NULL, (void *)&out));
  REFUSES(linnet_lexicon_load_memory(f.context, "x", 1, "x", NULL, NULL, NULL));
  REFUSES(linnet_lexicon_pronounce(NULL, names, 1, 1, NULL, NULL, integers, 1, &number));
  REFUSES(linnet_lexicon_pronounce(f.lexicon, NULL, 1, 1, NULL, NULL, integers, 1, &number));
  REFUSES(linnet_lexicon_pronounce(f.lexicon, names, 1, 1, NULL, NULL, NULL, 1, &number));
  REFUSES(linnet_lexicon_pronounce(f.lexicon, names, 1, 1, NULL, NULL, integers, 1, NULL));
  REFUSES(linnet_symbols_add(NULL, "x", NULL));
  REFUSES(linnet_symbols_add(f.symbols, NULL, NULL));
  REFUSES(linnet_symbols_create(NULL, names, 1, (void *)&out));
  REFUSES(linnet_symbols_create(f.context, NULL, 1, (void *)&out));
  REFUSES(linnet_symbols_create(f.context, names, 1, NULL));
  REFUSES(linnet_symbols_load(NULL, "x", (void *)&out));
  REFUSES(linnet_symbols_load(f.context, NULL, (void *)&out));
  REFUSES(linnet_symbols_load(f.context, "x", NULL));
  REFUSES(linnet_transcripts_load(NULL, "x", (void *)&out));
  REFUSES(linnet_transcripts_load(f.context, NULL, (void *)&out));
  REFUSES(linnet_transcripts_load(f.context, "x", NULL));
  REFUSES(linnet_transcripts_load_memory(NULL, "x", 1, "x", (void *)&out));
  REFUSES(linnet_transcripts_load_memory(f.context, NULL, 1, "x", (void *)&out));
  REFUSES(linnet_transcripts_load_memory(f.context, "x", 1, NULL, (void *)&out));
  REFUSES(linnet_transcripts_load_memory(f.context, "x", 1, "x", NULL));
  REFUSES(linnet_transcripts_load_text_phone(NULL, "x", 1, (void *)&out));
  REFUSES(linnet_transcripts_load_text_phone(f.context, NULL, 1, (void *)&out));
  REFUSES(linnet_transcripts_load_text_phone(f.context, "x", 1, NULL));
  REFUSES(linnet_transcripts_symbols(NULL, (void *)&out));
  REFUSES(linnet_transcripts_symbols(f.transcripts, NULL));
}

static void refuse_ngrams(void) {
  REFUSES(linnet_ngram_bind(NULL, names, 1, NULL, (void *)&out));
  REFUSES(linnet_ngram_bind(f.ngram, NULL, 1, NULL, (void *)&out));
  REFUSES(linnet_ngram_bind(f.ngram, names, 1, NULL, NULL));
  REFUSES(linnet_ngram_bind_symbols(NULL, f.symbols, NULL, (void *)&out));
  REFUSES(linnet_ngram_bind_symbols(f.ngram, NULL, NULL, (void *)&out));
  REFUSES(linnet_ngram_bind_symbols(f.ngram, f.symbols, NULL, NULL));
  REFUSES(linnet_ngram_estimator_add(NULL, names, 1));
  REFUSES(linnet_ngram_estimator_add(f.ngram_estimator, NULL, 1));
  REFUSES(linnet_ngram_estimator_create(NULL, NULL, (void *)&out));
  REFUSES(linnet_ngram_estimator_create(f.context, NULL, NULL));
  REFUSES(linnet_ngram_estimator_finish(NULL, (void *)&out));
  REFUSES(linnet_ngram_estimator_finish(f.ngram_estimator, NULL));
  REFUSES(linnet_ngram_load(NULL, "x", (void *)&out));
  REFUSES(linnet_ngram_load(f.context, NULL, (void *)&out));
  REFUSES(linnet_ngram_load(f.context, "x", NULL));
  REFUSES(linnet_ngram_load_memory(NULL, "x", 1, "x", (void *)&out));
  REFUSES(linnet_ngram_load_memory(f.context, NULL, 1, "x", (void *)&out));
  REFUSES(linnet_ngram_load_memory(f.context, "x", 1, NULL, (void *)&out));
  REFUSES(linnet_ngram_load_memory(f.context, "x", 1, "x", NULL));
  REFUSES(linnet_ngram_quantize(NULL, (void *)&out));
  REFUSES(linnet_ngram_quantize(f.ngram, NULL));
  REFUSES(linnet_ngram_save_arpa(NULL, "x"));
  REFUSES(linnet_ngram_save_arpa(f.ngram, NULL));
  REFUSES(linnet_ngram_save_binary(NULL, "x"));
  REFUSES(linnet_ngram_save_binary(f.ngram, NULL));
}

static void refuse_decoding(void) {
  REFUSES(linnet_alignment_create(NULL, floats, 1, 1, (void *)&scratch, 1, NULL, (void *)&out));
  REFUSES(linnet_alignment_create(f.context, NULL, 1, 1, (void *)&scratch, 1, NULL, (void *)&out));
  REFUSES(linnet_alignment_create(f.context, floats, 1, 1, NULL, 1, NULL, (void *)&out));
  REFUSES(linnet_alignment_create(f.context, floats, 1, 1, (void *)&scratch, 1, NULL, NULL));
  REFUSES(linnet_alignment_create_labels(NULL, floats, 1, 1, integers, 1, NULL, (void *)&out));
  REFUSES(linnet_alignment_create_labels(f.context, NULL, 1, 1, integers, 1, NULL, (void *)&out));
  REFUSES(linnet_alignment_create_labels(f.context, floats, 1, 1, NULL, 1, NULL, (void *)&out));
  REFUSES(linnet_alignment_create_labels(f.context, floats, 1, 1, integers, 1, NULL, NULL));
  REFUSES(linnet_beam_accept(NULL, floats, 1));
  REFUSES(linnet_beam_accept(f.beam, NULL, 1));
  REFUSES(linnet_beam_create(NULL, 1, NULL, (void *)&out));
  REFUSES(linnet_beam_create(f.context, 1, NULL, NULL));
  REFUSES(linnet_beam_finish(NULL));
  REFUSES(linnet_beam_hypothesis(NULL, 1, (void *)&scratch));
  REFUSES(linnet_beam_hypothesis(f.beam, 1, NULL));
  REFUSES(linnet_calibration_fit(NULL, floats, (const void *)"x", 1, (void *)&scratch));
  REFUSES(linnet_calibration_fit(f.context, NULL, (const void *)"x", 1, (void *)&scratch));
  REFUSES(linnet_calibration_fit(f.context, floats, NULL, 1, (void *)&scratch));
  REFUSES(linnet_calibration_fit(f.context, floats, (const void *)"x", 1, NULL));
  REFUSES(linnet_calibration_parse(NULL, NULL, NULL, (void *)&scratch));
  REFUSES(linnet_calibration_parse(NULL, NULL, "x", NULL));
  REFUSES(linnet_greedy_accept(NULL, floats, 1));
  REFUSES(linnet_greedy_accept(f.greedy, NULL, 1));
  REFUSES(linnet_greedy_create(NULL, 1, (void *)&out));
  REFUSES(linnet_greedy_create(f.context, 1, NULL));
  REFUSES(linnet_greedy_drop(NULL, 1));
  REFUSES(linnet_lattice_add_arc(NULL, 1, 1, 1, 1, 1));
  REFUSES(linnet_lattice_add_beam(NULL, f.beam));
  REFUSES(linnet_lattice_add_beam(f.lattice, NULL));
  REFUSES(linnet_lattice_add_final(NULL, 1, 1, 1));
  REFUSES(linnet_lattice_add_path(NULL, (void *)&scratch, 1, 1, 1));
  REFUSES(linnet_lattice_add_path(f.lattice, NULL, 1, 1, 1));
  REFUSES(linnet_lattice_add_state(NULL, 1, NULL));
  REFUSES(linnet_lattice_add_words(NULL, f.word_search));
  REFUSES(linnet_lattice_add_words(f.lattice, NULL));
  REFUSES(linnet_lattice_create(NULL, (void *)&out));
  REFUSES(linnet_lattice_create(f.context, NULL));
  REFUSES(linnet_lattice_finish(NULL, NULL));
  REFUSES(linnet_lattice_nbest(NULL, 1, (void *)&out, &number));
  REFUSES(linnet_lattice_nbest(f.lattice, 1, NULL, &number));
  REFUSES(linnet_lattice_nbest(f.lattice, 1, (void *)&out, NULL));
  REFUSES(linnet_lattice_oracle(NULL, NULL, integers, 1, (void *)&scratch));
  REFUSES(linnet_lattice_oracle(f.lattice, NULL, NULL, 1, (void *)&scratch));
  REFUSES(linnet_lattice_oracle(f.lattice, NULL, integers, 1, NULL));
  REFUSES(linnet_lattice_reader_next(NULL, (void *)&out, f.lattice));
  REFUSES(linnet_lattice_reader_next(f.lattice_reader, NULL, f.lattice));
  REFUSES(linnet_lattice_reader_next(f.lattice_reader, (void *)&out, NULL));
  REFUSES(linnet_lattice_reader_open(NULL, "x", NULL, (void *)&out));
  REFUSES(linnet_lattice_reader_open(f.context, NULL, NULL, (void *)&out));
  REFUSES(linnet_lattice_reader_open(f.context, "x", NULL, NULL));
  REFUSES(linnet_lattice_reader_open_memory(NULL, "x", 1, "x", NULL, (void *)&out));
  REFUSES(linnet_lattice_reader_open_memory(f.context, NULL, 1, "x", NULL, (void *)&out));
  REFUSES(linnet_lattice_reader_open_memory(f.context, "x", 1, NULL, NULL, (void *)&out));
  REFUSES(linnet_lattice_reader_open_memory(f.context, "x", 1, "x", NULL, NULL));
  REFUSES(linnet_lattice_write(NULL, (void *)&scratch, "x", NULL, write_nothing, NULL));
  REFUSES(linnet_lattice_write(f.lattice, NULL, "x", NULL, write_nothing, NULL));
  REFUSES(linnet_lattice_write(f.lattice, (void *)&scratch, NULL, NULL, write_nothing, NULL));
  REFUSES(linnet_lattice_write(f.lattice, (void *)&scratch, "x", NULL, NULL, NULL));
  REFUSES(linnet_word_search_accept(NULL, floats, 1));
  REFUSES(linnet_word_search_accept(f.word_search, NULL, 1));
  REFUSES(linnet_word_search_create(NULL, f.lexicon, 1, NULL, (void *)&out));
  REFUSES(linnet_word_search_create(f.context, NULL, 1, NULL, (void *)&out));
  REFUSES(linnet_word_search_create(f.context, f.lexicon, 1, NULL, NULL));
  REFUSES(linnet_word_search_finish(NULL));
  REFUSES(linnet_word_search_hypothesis(NULL, 1, (void *)&scratch));
  REFUSES(linnet_word_search_hypothesis(f.word_search, 1, NULL));
  REFUSES(linnet_word_search_share(NULL, f.word_search, (void *)&out));
  REFUSES(linnet_word_search_share(f.context, NULL, (void *)&out));
  REFUSES(linnet_word_search_share(f.context, f.word_search, NULL));
}

static void refuse_scoring(void) {
  REFUSES(linnet_output_begin(NULL, write_nothing, NULL));
  REFUSES(linnet_output_begin((void *)&scratch, NULL, NULL));
  REFUSES(linnet_output_json_string(NULL, write_nothing, NULL));
  REFUSES(linnet_output_json_string("x", NULL, NULL));
  REFUSES(linnet_output_write(NULL, (void *)&scratch, write_nothing, NULL));
  REFUSES(linnet_output_write((void *)&scratch, NULL, write_nothing, NULL));
  REFUSES(linnet_output_write((void *)&scratch, (void *)&scratch, NULL, NULL));
  REFUSES(linnet_score_add(NULL, integers, 1, integers, 1, (void *)&scratch));
  REFUSES(linnet_score_add(f.context, NULL, 1, integers, 1, (void *)&scratch));
  REFUSES(linnet_score_add(f.context, integers, 1, NULL, 1, (void *)&scratch));
  REFUSES(linnet_score_add(f.context, integers, 1, integers, 1, NULL));
  REFUSES(linnet_scorer_add(NULL, "x", NULL, names, 1, names, 1));
  REFUSES(linnet_scorer_add(f.scorer, NULL, NULL, names, 1, names, 1));
  REFUSES(linnet_scorer_add(f.scorer, "x", NULL, NULL, 1, names, 1));
  REFUSES(linnet_scorer_add(f.scorer, "x", NULL, names, 1, NULL, 1));
  REFUSES(linnet_scorer_add_lattices(NULL, f.transcripts, f.lattice_reader, f.symbols, NULL));
  REFUSES(linnet_scorer_add_lattices(f.scorer, NULL, f.lattice_reader, f.symbols, NULL));
  REFUSES(linnet_scorer_add_lattices(f.scorer, f.transcripts, NULL, f.symbols, NULL));
  REFUSES(linnet_scorer_add_lattices(f.scorer, f.transcripts, f.lattice_reader, NULL, NULL));
  REFUSES(linnet_scorer_add_lost(NULL, "x", NULL, names, 1));
  REFUSES(linnet_scorer_add_lost(f.scorer, NULL, NULL, names, 1));
  REFUSES(linnet_scorer_add_lost(f.scorer, "x", NULL, NULL, 1));
  REFUSES(linnet_scorer_add_nbest(NULL, f.transcripts, f.transcripts, NULL));
  REFUSES(linnet_scorer_add_nbest(f.scorer, NULL, f.transcripts, NULL));
  REFUSES(linnet_scorer_add_nbest(f.scorer, f.transcripts, NULL, NULL));
  REFUSES(linnet_scorer_add_transcripts(NULL, f.transcripts, f.transcripts, NULL));
  REFUSES(linnet_scorer_add_transcripts(f.scorer, NULL, f.transcripts, NULL));
  REFUSES(linnet_scorer_add_transcripts(f.scorer, f.transcripts, NULL, NULL));
  REFUSES(linnet_scorer_bootstrap(NULL, 0, 1, 1, (void *)&scratch));
  REFUSES(linnet_scorer_bootstrap(f.scorer, 0, 1, 1, NULL));
  REFUSES(linnet_scorer_confusions(NULL, (void *)&out, &number));
  REFUSES(linnet_scorer_confusions(f.scorer, NULL, &number));
  REFUSES(linnet_scorer_confusions(f.scorer, (void *)&out, NULL));
  REFUSES(linnet_scorer_create(NULL, NULL, (void *)&out));
  REFUSES(linnet_scorer_create(f.context, NULL, NULL));
  REFUSES(linnet_scorer_ignore(NULL, "x"));
  REFUSES(linnet_scorer_ignore(f.scorer, NULL));
  REFUSES(linnet_scorer_load_map(NULL, "x"));
  REFUSES(linnet_scorer_load_map(f.scorer, NULL));
  REFUSES(linnet_scorer_map(NULL, "x", NULL));
  REFUSES(linnet_scorer_map(f.scorer, NULL, NULL));
}

static void destroy_nothing(void) {
  ALLOWS(linnet_alignment_destroy(NULL));
  ALLOWS(linnet_ark_destroy(NULL));
  ALLOWS(linnet_ark_writer_destroy(NULL));
  ALLOWS(linnet_audio_destroy(NULL));
  ALLOWS(linnet_audio_release(f.context, NULL));
  ALLOWS(linnet_beam_destroy(NULL));
  ALLOWS(linnet_context_destroy(NULL));
  ALLOWS(linnet_data_folder_destroy(NULL));
  ALLOWS(linnet_encoder_destroy(NULL));
  ALLOWS(linnet_fbank_destroy(NULL));
  ALLOWS(linnet_grammar_destroy(NULL));
  ALLOWS(linnet_greedy_destroy(NULL));
  ALLOWS(linnet_hotwords_destroy(NULL));
  ALLOWS(linnet_lattice_destroy(NULL));
  ALLOWS(linnet_lattice_reader_destroy(NULL));
  ALLOWS(linnet_lexicon_destroy(NULL));
  ALLOWS(linnet_matrix_release(f.context, NULL));
  ALLOWS(linnet_model_destroy(NULL));
  ALLOWS(linnet_ngram_binding_destroy(NULL));
  ALLOWS(linnet_ngram_destroy(NULL));
  ALLOWS(linnet_ngram_estimator_destroy(NULL));
  ALLOWS(linnet_recurrence_destroy(NULL));
  ALLOWS(linnet_scorer_destroy(NULL));
  ALLOWS(linnet_scp_destroy(NULL));
  ALLOWS(linnet_stream_destroy(NULL));
  ALLOWS(linnet_symbols_destroy(NULL));
  ALLOWS(linnet_trainer_destroy(NULL));
  ALLOWS(linnet_transcripts_destroy(NULL));
  ALLOWS(linnet_word_search_destroy(NULL));
}

int main(int argc, char **argv) {
  void (*const groups[])(void) = {refuse_networks, refuse_audio,    refuse_kaldi,   refuse_text,
                                  refuse_ngrams,   refuse_decoding, refuse_scoring, destroy_nothing};
  listing = argc > 1 && strcmp(argv[1], "--list") == 0;
  signal(SIGSEGV, on_crash);
  if (!listing)
    make_fixture();
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    groups[i]();
  if (listing) {
    fputs(needing, stdout);
    return 0;
  }
  destroy_fixture();
  return test_result();
}
