/* NULL for every pointer of every public function in turn. A function that returns a status refuses it with
 * LINNET_ERROR_ARGUMENT; arguments that may be NULL by their header have no row; functions that destroy accept NULL;
 * functions that return a value need their object, as context.h states.
 *
 *   test_null_arguments --list        the functions that have a row, for tests/check_null_arguments.sh */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>

#include "null_fixture.h"

/* --- rows --------------------------------------------------------------------------------------------------------- */

enum { CRASHED = -1 };
static bool listing;
static sigjmp_buf crash;

static void on_crash(int signal_number) {
  (void)signal_number;
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
      out = &out;                                                                                                      \
      const int status = sigsetjmp(crash, 1) == 0 ? (int)(call) : CRASHED;                                             \
      CHECK(status == LINNET_ERROR_ARGUMENT, "%s gives %d", #call, status);                                            \
      CHECK(!out || !strstr(#call, "&out"), "%s leaves its result unset", #call);                                      \
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
    "linnet_alignment_words\nlinnet_audio_num_input_channels\nlinnet_audio_input_rate\nlinnet_audio_sample_"
    "rate\nlinnet_audio_seconds\n"
    "linnet_audio_settings_default\nlinnet_augment_choose\nlinnet_band_settings_default\nlinnet_beam_num_hypotheses\n"
    "linnet_beam_memory_bytes\nlinnet_beam_reset\nlinnet_beam_settings_default\nlinnet_beam_num_stable_symbols\nlinnet_"
    "calibrate\n"
    "linnet_context_device\nlinnet_context_device_peak_bytes\nlinnet_context_error\nlinnet_context_kernels\n"
    "linnet_context_precision\nlinnet_context_settings_default\nlinnet_context_num_threads\n"
    "linnet_context_set_cancel\nlinnet_context_set_progress\nlinnet_data_folder_command\n"
    "linnet_data_folder_num_frames\nlinnet_data_folder_num_utterances\nlinnet_data_folder_find\nlinnet_data_folder_has_"
    "cmvn\n"
    "linnet_data_folder_has_features\nlinnet_data_folder_id\nlinnet_data_folder_path\nlinnet_data_folder_"
    "recording\nlinnet_data_folder_phones\n"
    "linnet_data_folder_scp\nlinnet_scp_location\n"
    "linnet_data_folder_segment\nlinnet_data_folder_speaker\nlinnet_data_folder_speaker_name\n"
    "linnet_data_folder_num_speakers\nlinnet_data_folder_text\nlinnet_fbank_dim\nlinnet_fbank_num_frames\n"
    "linnet_fbank_num_pending\nlinnet_fbank_reset\nlinnet_fbank_settings_default\nlinnet_fbank_settings_of\n"
    "linnet_fbank_shift\nlinnet_fbank_window\nlinnet_feature_config_default\nlinnet_g2p_num_ngrams\nlinnet_g2p_order\n"
    "linnet_g2p_phone\nlinnet_g2p_num_phones\nlinnet_g2p_result_num_pronunciations\nlinnet_g2p_result_num_ignored\n"
    "linnet_g2p_result_log_probability\nlinnet_g2p_result_phones\nlinnet_g2p_result_probability\n"
    "linnet_g2p_settings_default\nlinnet_g2p_trainer_num_pronunciations\nlinnet_g2p_trainer_num_omitted\nlinnet_g2p_"
    "num_units\n"
    "linnet_grammar_language_model\nlinnet_grammar_lookahead\nlinnet_grammar_num_states\nlinnet_greedy_reset\n"
    "linnet_greedy_segments\nlinnet_hotwords_num_phrases\nlinnet_lattice_arcs\nlinnet_lattice_format_at\n"
    "linnet_lattice_format_find\nlinnet_lattice_format_name\nlinnet_lattice_posterior\nlinnet_lattice_reset\n"
    "linnet_lattice_settings_default\nlinnet_lattice_states\nlinnet_level_settings_default\nlinnet_lexicon_num_words\n"
    "linnet_lexicon_find\nlinnet_lexicon_phones\nlinnet_lexicon_pronunciation\nlinnet_lexicon_settings_default\n"
    "linnet_lexicon_has_probabilities\nlinnet_lexicon_probability\n"
    "linnet_lexicon_tokens\nlinnet_lexicon_num_variants\nlinnet_lexicon_word\nlinnet_model_calibrations\n"
    "linnet_model_cmvn\nlinnet_model_features\nlinnet_model_frame_seconds\nlinnet_model_memory_bytes\n"
    "linnet_model_metadata\nlinnet_model_metadata_key\nlinnet_model_num_parameters\nlinnet_model_num_symbols\n"
    "linnet_model_num_output_frames\nlinnet_model_stride\nlinnet_model_symbol\nlinnet_model_symbols\nlinnet_ngram_"
    "begin\nlinnet_ngram_memory_"
    "bytes\n"
    "linnet_ngram_num_ngrams\nlinnet_ngram_estimator_settings_default\nlinnet_ngram_find\nlinnet_ngram_finish\n"
    "linnet_ngram_is_quantized\nlinnet_ngram_language_model\nlinnet_ngram_order\nlinnet_ngram_score\n"
    "linnet_ngram_unigrams\nlinnet_ngram_word\nlinnet_num_cuda_devices\nlinnet_noise_choose\nlinnet_noise_settings_"
    "default\nlinnet_output_"
    "format_at\n"
    "linnet_output_format_extension\nlinnet_output_format_find\nlinnet_output_format_has_alternatives\n"
    "linnet_output_format_has_times\nlinnet_output_format_is_single\nlinnet_output_format_name\nlinnet_padding_before\n"
    "linnet_padding_choose\nlinnet_padding_max\n"
    "linnet_padding_settings_default\nlinnet_pronounced_text_align_words\nlinnet_pronounced_text_index\n"
    "linnet_pronounced_text_settings_default\nlinnet_pronounced_text_spoken\nlinnet_pronounced_text_words\n"
    "linnet_recognizer_file_endpoint_settings\nlinnet_recognizer_file_search_settings\n"
    "linnet_recognizer_file_settings\nlinnet_recurrence_num_frames\nlinnet_model_is_causal\nlinnet_model_"
    "lookahead\nlinnet_recurrence_"
    "reset\nlinnet_recurrence_saved_bytes\nlinnet_recurrence_state_bytes\n"
    "linnet_room_settings_default\nlinnet_sample_format_find\nlinnet_sample_settings_default\nlinnet_score_"
    "line\nlinnet_score_percent\nlinnet_scorer_"
    "alignment\n"
    "linnet_scorer_settings_default\nlinnet_scorer_speaker\nlinnet_scorer_num_speakers\nlinnet_scorer_sum\n"
    "linnet_scorer_utterance\nlinnet_scorer_num_utterances\nlinnet_scp_num_entries\nlinnet_scp_find\nlinnet_scp_key\n"
    "linnet_specaugment_num_masks\nlinnet_specaugment_settings_default\nlinnet_spoken_num_ways\nlinnet_spoken_is_"
    "known\n"
    "linnet_spoken_words\nlinnet_status_string\nlinnet_stream_frame_seconds\nlinnet_stream_reset\n"
    "linnet_stream_seconds\nlinnet_stream_segments\nlinnet_stream_set_sink\nlinnet_symbols_num_symbols\n"
    "linnet_symbols_find\nlinnet_symbols_name\nlinnet_train_settings_default\nlinnet_trainer_exchange\nlinnet_trainer_"
    "num_epochs\n"
    "linnet_trainer_num_steps\nlinnet_transcripts_num_utterances\nlinnet_transcripts_find\nlinnet_transcripts_id\n"
    "linnet_transcripts_tokens\nlinnet_version\nlinnet_version_check\nlinnet_version_number\nlinnet_word_search_num_"
    "hypotheses\nlinnet_word_search_memory_bytes\n"
    "linnet_word_search_reset\nlinnet_word_search_settings_default\nlinnet_word_search_num_stable_words\n"
    "linnet_word_search_text\nlinnet_word_search_tree_memory_bytes\n"
    "linnet_aligned_text_alignment\nlinnet_aligned_text_index\nlinnet_aligned_text_num_aligned\n"
    "linnet_aligned_text_tokens\nlinnet_aligned_text_words\nlinnet_recognizer_is_incremental\n"
    "linnet_recognizer_model\nlinnet_recognizer_search\nlinnet_recognizer_ensemble_model\nlinnet_recognizer_second_"
    "pass\nlinnet_recognizer_settings_"
    "default\n"
    "linnet_recognizer_stream_reset\nlinnet_recognizer_stream_search\nlinnet_recognizer_stream_seconds\n"
    "linnet_search_num_tokens\nlinnet_search_settings_default\nlinnet_search_stream_reset\n"
    "linnet_search_stream_num_tokens\nlinnet_search_stream_search\nlinnet_search_stream_token\n"
    "linnet_search_stream_reset_at\nlinnet_endpoint_settings_default\n"
    "linnet_search_token\nlinnet_text_aligner_settings_default\n";

/* --- the table ---------------------------------------------------------------------------------------------------- */

static void refuse_networks(void) {
  REFUSES(linnet_recognizer_file_load(NULL, "x", (void *)&out));
  REFUSES(linnet_recognizer_file_load(f.context, NULL, (void *)&out));
  REFUSES(linnet_recognizer_file_load(f.context, "x", NULL));
  ALLOWS(linnet_recognizer_file_destroy(NULL));
  REFUSES(linnet_stream_set_calibrations(NULL, NULL));
  REFUSES(linnet_context_create(NULL, NULL));
  REFUSES(linnet_context_fail(NULL, LINNET_ERROR_IO, "x"));
  REFUSES(linnet_context_fail(f.context, LINNET_ERROR_IO, NULL));
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
  REFUSES(linnet_model_load(NULL, "x", (void *)&out));
  REFUSES(linnet_model_load(f.context, NULL, (void *)&out));
  REFUSES(linnet_model_load(f.context, "x", NULL));
  REFUSES(linnet_model_load_memory(NULL, "x", 1, NULL, (void *)&out));
  REFUSES(linnet_model_load_memory(f.context, NULL, 1, NULL, (void *)&out));
  REFUSES(linnet_model_load_memory(f.context, "x", 1, NULL, NULL));
  REFUSES(linnet_model_load_whole(NULL, "x", (void *)&out));
  REFUSES(linnet_model_load_whole(f.context, NULL, (void *)&out));
  REFUSES(linnet_model_load_whole(f.context, "x", NULL));
  REFUSES(linnet_model_load_tokens(NULL, "x", (void *)&out));
  REFUSES(linnet_model_load_tokens(f.context, NULL, (void *)&out));
  REFUSES(linnet_model_load_tokens(f.context, "x", NULL));
}

static void refuse_streams(void) {
  int one = 0;
  REFUSES(linnet_sample(NULL, f.causal_model, NULL, &one));
  REFUSES(linnet_sample(f.context, NULL, NULL, &one));
  REFUSES(linnet_sample(f.context, f.causal_model, NULL, NULL));
  REFUSES(linnet_recurrence_accept(NULL, floats, 1, floats, &number));
  REFUSES(linnet_recurrence_accept(f.recurrence, NULL, 1, floats, &number));
  REFUSES(linnet_recurrence_accept(f.recurrence, floats, 1, NULL, &number));
  REFUSES(linnet_recurrence_accept(f.recurrence, floats, 1, floats, NULL));
  REFUSES(linnet_recurrence_batch_create(NULL, f.causal_model, 1, (void *)&out));
  REFUSES(linnet_recurrence_batch_create(f.context, NULL, 1, (void *)&out));
  REFUSES(linnet_recurrence_batch_create(f.context, f.causal_model, 1, NULL));
  REFUSES(linnet_recurrence_batch_open(NULL, (void *)&out));
  REFUSES(linnet_recurrence_batch_open(f.recurrence_batch, NULL));
  REFUSES(linnet_recurrence_batch_step(NULL, (void *)&scratch, 1));
  REFUSES(linnet_recurrence_batch_step(f.recurrence_batch, NULL, 1));
  REFUSES(linnet_recurrence_copy(NULL, f.recurrence));
  REFUSES(linnet_recurrence_copy(f.recurrence, NULL));
  REFUSES(linnet_recurrence_create(NULL, f.model, (void *)&out));
  REFUSES(linnet_recurrence_create(f.context, NULL, (void *)&out));
  REFUSES(linnet_recurrence_create(f.context, f.model, NULL));
  REFUSES(linnet_recurrence_finish(NULL, floats));
  REFUSES(linnet_recurrence_finish(f.recurrence, NULL));
  REFUSES(linnet_recurrence_restore(NULL, floats, sizeof floats));
  REFUSES(linnet_recurrence_restore(f.recurrence, NULL, 1));
  REFUSES(linnet_recurrence_save(NULL, floats, sizeof floats));
  REFUSES(linnet_recurrence_save(f.recurrence, NULL, linnet_recurrence_saved_bytes(f.recurrence)));
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
  REFUSES(linnet_stream_set_silence(NULL, NULL, NULL));
  REFUSES(linnet_stream_set_speaker(NULL, NULL));
  REFUSES(linnet_stream_set_sample_rate(NULL, 48000));
}

static void refuse_training(void) {
  REFUSES(linnet_model_average(NULL, names, 1, 1, "x"));
  REFUSES(linnet_model_average(f.context, NULL, 1, 1, "x"));
  REFUSES(linnet_model_average(f.context, names, 1, 1, NULL));
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
  static const struct linnet_augment_key key;
  static const struct linnet_room_settings room = {sizeof room, 1, 0.1, 0.5};
  REFUSES(linnet_augment_level(NULL, key, floats, 1));
  REFUSES(linnet_augment_band(NULL, key, 16000, floats, 1));
  REFUSES(linnet_augment_padding(NULL, key, 16000, NULL, 0, floats, &number));
  REFUSES(linnet_padding_check(NULL));
  REFUSES(linnet_room_check(NULL));
  REFUSES(linnet_augment_room(NULL, &room, key, 16000, floats, 1));
  REFUSES(linnet_augment_room(f.context, NULL, key, 16000, floats, 1));
  REFUSES(linnet_cmvn_accumulate_frames(NULL, LINNET_CMVN_ALL_FRAMES, floats, 1));
  REFUSES(linnet_audio_check_end(NULL));
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
  REFUSES(linnet_ark_frame_shift(NULL, (void *)&scratch));
  REFUSES(linnet_ark_frame_shift(f.ark, NULL));
  REFUSES(linnet_ark_writer_set_frame_shift(NULL, 1));
  REFUSES(linnet_scp_frame_shift(NULL, f.context, 0, (void *)&scratch));
  REFUSES(linnet_scp_frame_shift(f.scp, NULL, 0, (void *)&scratch));
  REFUSES(linnet_scp_frame_shift(f.scp, f.context, 0, NULL));
  REFUSES(linnet_ark_next(NULL, (void *)&out, (void *)&scratch));
  REFUSES(linnet_ark_next(f.ark, NULL, (void *)&scratch));
  REFUSES(linnet_ark_next(f.ark, (void *)&out, NULL));
  REFUSES(linnet_ark_open(NULL, "x", (void *)&out));
  REFUSES(linnet_ark_open(f.context, NULL, (void *)&out));
  REFUSES(linnet_ark_open(f.context, "x", NULL));
  REFUSES(linnet_ark_open_memory(NULL, "x", 1, NULL, (void *)&out));
  REFUSES(linnet_ark_open_memory(f.context, NULL, 1, NULL, (void *)&out));
  REFUSES(linnet_ark_open_memory(f.context, "x", 1, NULL, NULL));
  REFUSES(linnet_ark_write(NULL, "x", floats, 1, 1));
  REFUSES(linnet_ark_write(f.ark_writer, NULL, floats, 1, 1));
  REFUSES(linnet_ark_write(f.ark_writer, "x", NULL, 1, 1));
  REFUSES(linnet_ark_writer_commit(NULL));
  REFUSES(linnet_ark_writer_create(NULL, "x", NULL, 0, (void *)&out));
  REFUSES(linnet_ark_writer_create(f.context, NULL, NULL, 0, (void *)&out));
  REFUSES(linnet_ark_writer_create(f.context, "x", NULL, 0, NULL));
  REFUSES(linnet_data_folder_audio(NULL, f.context, 1, NULL, &samples, &number));
  REFUSES(linnet_data_folder_audio(f.data_folder, NULL, 1, NULL, &samples, &number));
  REFUSES(linnet_data_folder_audio(f.data_folder, f.context, 1, NULL, NULL, &number));
  REFUSES(linnet_data_folder_audio(f.data_folder, f.context, 1, NULL, &samples, NULL));
  REFUSES(linnet_data_folder_features(NULL, f.context, 1, (void *)&scratch));
  REFUSES(linnet_data_folder_features(f.data_folder, NULL, 1, (void *)&scratch));
  REFUSES(linnet_data_folder_features(f.data_folder, f.context, 1, NULL));
  REFUSES(linnet_data_folder_open(NULL, "x", (void *)&out));
  REFUSES(linnet_data_folder_open(f.context, NULL, (void *)&out));
  REFUSES(linnet_data_folder_open(f.context, "x", NULL));
  REFUSES(linnet_data_folder_open_list(NULL, "x", (void *)&out));
  REFUSES(linnet_data_folder_open_list(f.context, NULL, (void *)&out));
  REFUSES(linnet_data_folder_open_list(f.context, "x", NULL));
  REFUSES(linnet_matrix_read(NULL, "x", (void *)&scratch));
  REFUSES(linnet_matrix_read(f.context, NULL, (void *)&scratch));
  REFUSES(linnet_matrix_read(f.context, "x", NULL));
  REFUSES(linnet_scp_open(NULL, "x", (void *)&out));
  REFUSES(linnet_scp_open(f.context, NULL, (void *)&out));
  REFUSES(linnet_scp_open(f.context, "x", NULL));
  REFUSES(linnet_scp_read(NULL, f.context, 1, (void *)&scratch));
  REFUSES(linnet_scp_read(f.scp, NULL, 1, (void *)&scratch));
  REFUSES(linnet_scp_read(f.scp, f.context, 1, NULL));
}

static void refuse_cmvn(void) {
  REFUSES(linnet_ark_next_cmvn(NULL, (void *)&out, (void *)&scratch));
  REFUSES(linnet_ark_next_cmvn(f.ark, NULL, (void *)&scratch));
  REFUSES(linnet_ark_next_cmvn(f.ark, (void *)&out, NULL));
  REFUSES(linnet_ark_write_cmvn(NULL, "x", (void *)&scratch));
  REFUSES(linnet_ark_write_cmvn(f.ark_writer, NULL, (void *)&scratch));
  REFUSES(linnet_ark_write_cmvn(f.ark_writer, "x", NULL));
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
  REFUSES(linnet_cmvn_run(NULL, LINNET_CMVN_ALL_FRAMES, 1, 0, floats, 1));
  REFUSES(linnet_cmvn_run((void *)&scratch, LINNET_CMVN_ALL_FRAMES, 1, 0, NULL, 1));
  REFUSES(linnet_cmvn_scale(NULL, 1));
  REFUSES(linnet_cmvn_write(NULL, "x", (void *)&scratch));
  REFUSES(linnet_cmvn_write(f.context, NULL, (void *)&scratch));
  REFUSES(linnet_cmvn_write(f.context, "x", NULL));
  REFUSES(linnet_data_folder_cmvn(NULL, f.context, 1, (void *)&scratch));
  REFUSES(linnet_data_folder_cmvn(f.data_folder, NULL, 1, (void *)&scratch));
  REFUSES(linnet_data_folder_cmvn(f.data_folder, f.context, 1, NULL));
  REFUSES(linnet_scp_size(NULL, f.context, 0, &number, &number));
  REFUSES(linnet_scp_size(f.scp, NULL, 0, &number, &number));
  REFUSES(linnet_scp_size(f.scp, f.context, 0, NULL, &number));
  REFUSES(linnet_scp_size(f.scp, f.context, 0, &number, NULL));
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
  REFUSES(linnet_lexicon_pronounce(NULL, names, 1, NULL, integers, 1, &number));
  REFUSES(linnet_lexicon_pronounce(f.lexicon, NULL, 1, NULL, integers, 1, &number));
  REFUSES(linnet_lexicon_pronounce(f.lexicon, names, 1, NULL, NULL, 1, &number));
  REFUSES(linnet_lexicon_pronounce(f.lexicon, names, 1, NULL, integers, 1, NULL));
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
  REFUSES(linnet_transcripts_symbols(NULL, f.transcripts, (void *)&out));
  REFUSES(linnet_transcripts_symbols(f.context, NULL, (void *)&out));
  REFUSES(linnet_transcripts_symbols(f.context, f.transcripts, NULL));
}

static void refuse_ngrams(void) {
  REFUSES(linnet_ngram_bind(NULL, f.ngram, names, 1, NULL, (void *)&out));
  REFUSES(linnet_ngram_bind(f.context, NULL, names, 1, NULL, (void *)&out));
  REFUSES(linnet_ngram_bind(f.context, f.ngram, NULL, 1, NULL, (void *)&out));
  REFUSES(linnet_ngram_bind(f.context, f.ngram, names, 1, NULL, NULL));
  REFUSES(linnet_ngram_bind_symbols(NULL, f.ngram, f.symbols, NULL, (void *)&out));
  REFUSES(linnet_ngram_bind_symbols(f.context, NULL, f.symbols, NULL, (void *)&out));
  REFUSES(linnet_ngram_bind_symbols(f.context, f.ngram, NULL, NULL, (void *)&out));
  REFUSES(linnet_ngram_bind_symbols(f.context, f.ngram, f.symbols, NULL, NULL));
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
  REFUSES(linnet_ngram_mix(NULL, f.ngram, f.ngram, 0.5, (void *)&out));
  REFUSES(linnet_ngram_mix(f.context, NULL, f.ngram, 0.5, (void *)&out));
  REFUSES(linnet_ngram_mix(f.context, f.ngram, NULL, 0.5, (void *)&out));
  REFUSES(linnet_ngram_mix(f.context, f.ngram, f.ngram, 0.5, NULL));
  REFUSES(linnet_ngram_prune(NULL, f.ngram, 0.1, (void *)&out));
  REFUSES(linnet_ngram_prune(f.context, NULL, 0.1, (void *)&out));
  REFUSES(linnet_ngram_prune(f.context, f.ngram, 0.1, NULL));
  REFUSES(linnet_ngram_quantize(NULL, f.ngram, (void *)&out));
  REFUSES(linnet_ngram_quantize(f.context, NULL, (void *)&out));
  REFUSES(linnet_ngram_quantize(f.context, f.ngram, NULL));
  REFUSES(linnet_ngram_save_arpa(NULL, f.ngram, "x"));
  REFUSES(linnet_ngram_save_arpa(f.context, NULL, "x"));
  REFUSES(linnet_ngram_save_arpa(f.context, f.ngram, NULL));
  REFUSES(linnet_ngram_save_binary(NULL, f.ngram, "x"));
  REFUSES(linnet_ngram_save_binary(f.context, NULL, "x"));
  REFUSES(linnet_ngram_save_binary(f.context, f.ngram, NULL));
}

static void refuse_pronunciations(void) {
  REFUSES(linnet_g2p_load(NULL, "x", (void *)&out));
  REFUSES(linnet_g2p_load(f.context, NULL, (void *)&out));
  REFUSES(linnet_g2p_load(f.context, "x", NULL));
  REFUSES(linnet_g2p_load_memory(NULL, "x", 1, "x", (void *)&out));
  REFUSES(linnet_g2p_load_memory(f.context, NULL, 1, "x", (void *)&out));
  REFUSES(linnet_g2p_load_memory(f.context, "x", 1, NULL, (void *)&out));
  REFUSES(linnet_g2p_load_memory(f.context, "x", 1, "x", NULL));
  REFUSES(linnet_g2p_save(NULL, f.g2p, "x"));
  REFUSES(linnet_g2p_save(f.context, NULL, "x"));
  REFUSES(linnet_g2p_save(f.context, f.g2p, NULL));
  REFUSES(linnet_g2p_pronounce(NULL, f.context, "ab", 1, (void *)&out));
  REFUSES(linnet_g2p_pronounce(f.g2p, NULL, "ab", 1, (void *)&out));
  REFUSES(linnet_g2p_pronounce(f.g2p, f.context, NULL, 1, (void *)&out));
  REFUSES(linnet_g2p_pronounce(f.g2p, f.context, "ab", 1, NULL));
  REFUSES(linnet_g2p_trainer_create(NULL, NULL, (void *)&out));
  REFUSES(linnet_g2p_trainer_create(f.context, NULL, NULL));
  REFUSES(linnet_g2p_trainer_add(NULL, "ab", names, 2));
  REFUSES(linnet_g2p_trainer_add(f.g2p_trainer, NULL, names, 2));
  REFUSES(linnet_g2p_trainer_add(f.g2p_trainer, "ab", NULL, 2));
  REFUSES(linnet_g2p_trainer_finish(NULL, (void *)&out));
  REFUSES(linnet_g2p_trainer_finish(f.g2p_trainer, NULL));
  REFUSES(linnet_text_normalizer_load(NULL, "x", (void *)&out));
  REFUSES(linnet_text_normalizer_load(f.context, "x", NULL));
  REFUSES(linnet_text_normalizer_load_memory(NULL, "x", 1, "x", (void *)&out));
  REFUSES(linnet_text_normalizer_load_memory(f.context, NULL, 1, "x", (void *)&out));
  REFUSES(linnet_text_normalizer_load_memory(f.context, "x", 1, NULL, (void *)&out));
  REFUSES(linnet_text_normalizer_load_memory(f.context, "x", 1, "x", NULL));
  REFUSES(linnet_spoken_create(NULL, f.context, "x", NULL, NULL, (void *)&out));
  REFUSES(linnet_spoken_create(f.normalizer, NULL, "x", NULL, NULL, (void *)&out));
  REFUSES(linnet_spoken_create(f.normalizer, f.context, NULL, NULL, NULL, (void *)&out));
  REFUSES(linnet_spoken_create(f.normalizer, f.context, "x", NULL, NULL, NULL));
  REFUSES(linnet_pronounced_text_create(NULL, "x", "x", NULL, (void *)&out));
  REFUSES(linnet_pronounced_text_create(f.context, NULL, "x", NULL, (void *)&out));
  REFUSES(linnet_pronounced_text_create(f.context, "x", NULL, NULL, (void *)&out));
  REFUSES(linnet_pronounced_text_create(f.context, "x", "x", NULL, NULL));
  REFUSES(linnet_pronounced_text_word_times(NULL, NULL, 1, NULL, 0, &number));
  REFUSES(linnet_pronounced_text_word_times(f.pronounced_text, NULL, 1, NULL, 0, &number));
}

static void refuse_decoding(void) {
  REFUSES(linnet_greedy_set_calibrations(NULL, NULL));
  REFUSES(linnet_greedy_set_blank_penalty(NULL, 0));

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

static void refuse_searches(void) {
  static const struct linnet_source source = {.path = "x"};
  REFUSES(linnet_result_describe(NULL, 1, (void *)&scratch));
  REFUSES(linnet_result_describe((void *)&scratch, 1, NULL));
  REFUSES(linnet_priors_load(NULL, &source, names, 2, floats));
  REFUSES(linnet_priors_load(f.context, NULL, names, 2, floats));
  REFUSES(linnet_priors_load(f.context, &source, NULL, 2, floats));
  REFUSES(linnet_priors_load(f.context, &source, names, 2, NULL));
  REFUSES(linnet_search_create(NULL, names, 2, NULL, (void *)&out));
  REFUSES(linnet_search_create(f.context, NULL, 2, NULL, (void *)&out));
  REFUSES(linnet_search_create(f.context, names, 2, NULL, NULL));
  REFUSES(linnet_search_stream_accept(NULL, floats, 1));
  REFUSES(linnet_search_stream_accept(f.search_stream, NULL, 1));
  REFUSES(linnet_search_stream_create(NULL, f.search, (void *)&out));
  REFUSES(linnet_search_stream_create(f.context, NULL, (void *)&out));
  REFUSES(linnet_search_stream_create(f.context, f.search, NULL));
  REFUSES(linnet_search_stream_finish(NULL));
  REFUSES(linnet_search_stream_set_hotwords(NULL, NULL));
  REFUSES(linnet_search_stream_lattice(NULL, f.lattice));
  REFUSES(linnet_search_stream_lattice(f.search_stream, NULL));
  REFUSES(linnet_search_stream_result(NULL, 1, (void *)&out));
  REFUSES(linnet_search_stream_result(f.search_stream, 1, NULL));
}

static void refuse_recognizers(void) {
  REFUSES(linnet_recognizer_create(NULL, (void *)&scratch, (void *)&out));
  REFUSES(linnet_recognizer_create(f.context, NULL, (void *)&out));
  REFUSES(linnet_recognizer_create(f.context, (void *)&scratch, NULL));
  REFUSES(linnet_recognizer_load(NULL, "x", (void *)&out));
  REFUSES(linnet_recognizer_load(f.context, NULL, (void *)&out));
  REFUSES(linnet_recognizer_load(f.context, "x", NULL));
  REFUSES(linnet_recognizer_align(NULL, f.recognizer, (void *)&scratch, NULL, (void *)&scratch, (void *)&scratch));
  REFUSES(linnet_recognizer_align(f.context, NULL, (void *)&scratch, NULL, (void *)&scratch, (void *)&scratch));
  REFUSES(linnet_recognizer_align(f.context, f.recognizer, NULL, NULL, (void *)&scratch, (void *)&scratch));
  REFUSES(linnet_recognizer_align(f.context, f.recognizer, (void *)&scratch, NULL, NULL, (void *)&scratch));
  REFUSES(linnet_recognizer_align(f.context, f.recognizer, (void *)&scratch, NULL, (void *)&scratch, NULL));
  REFUSES(linnet_recognizer_load_aligner(NULL, f.recognizer, "x", NULL, (void *)&out));
  REFUSES(linnet_recognizer_load_aligner(f.context, NULL, "x", NULL, (void *)&out));
  REFUSES(linnet_recognizer_load_aligner(f.context, f.recognizer, "x", NULL, NULL));
  REFUSES(linnet_recognizer_stream_accept(NULL, floats, 1));
  REFUSES(linnet_recognizer_stream_accept(f.recognizer_stream, NULL, 1));
  REFUSES(linnet_recognizer_stream_accept_features(NULL, floats, 1, 4));
  REFUSES(linnet_recognizer_stream_accept_features(f.recognizer_stream, NULL, 1, 4));
  REFUSES(linnet_recognizer_stream_create(NULL, f.recognizer, (void *)&out));
  REFUSES(linnet_recognizer_stream_create(f.context, NULL, (void *)&out));
  REFUSES(linnet_recognizer_stream_create(f.context, f.recognizer, NULL));
  REFUSES(linnet_recognizer_stream_end_segment(NULL));
  REFUSES(linnet_recognizer_stream_finish(NULL));
  REFUSES(linnet_recognizer_stream_result(NULL, (void *)&out));
  REFUSES(linnet_recognizer_stream_result(f.recognizer_stream, NULL));
  REFUSES(linnet_recognizer_stream_run(NULL, (void *)&scratch, (void *)&out));
  REFUSES(linnet_recognizer_stream_run(f.recognizer_stream, NULL, (void *)&out));
  REFUSES(linnet_recognizer_stream_run(f.recognizer_stream, (void *)&scratch, NULL));
  REFUSES(linnet_recognizer_stream_run_file(NULL, "x", NULL, (void *)&out));
  REFUSES(linnet_recognizer_stream_run_file(f.recognizer_stream, NULL, NULL, (void *)&out));
  REFUSES(linnet_recognizer_stream_run_file(f.recognizer_stream, "x", NULL, NULL));
  REFUSES(linnet_recognizer_stream_set_hook(NULL, NULL, NULL));
  REFUSES(linnet_recognizer_stream_set_sink(NULL, NULL, NULL));
  REFUSES(linnet_recognizer_stream_set_speaker(NULL, NULL));
  REFUSES(linnet_recognizer_stream_set_second_pass(NULL, 1));
  REFUSES(linnet_recognizer_stream_set_hotwords(NULL, NULL));
  REFUSES(linnet_recognizer_stream_set_sample_rate(NULL, 48000));
  REFUSES(linnet_recognizer_batch_create(NULL, f.recognizer, 1, (void *)&out));
  REFUSES(linnet_recognizer_batch_create(f.context, NULL, 1, (void *)&out));
  REFUSES(linnet_recognizer_batch_create(f.context, f.recognizer, 1, NULL));
  REFUSES(linnet_recognizer_batch_open(NULL, (void *)&out));
  REFUSES(linnet_recognizer_batch_open(f.recognizer_batch, NULL));
  REFUSES(linnet_recognizer_batch_step(NULL, (void *)&scratch, 1));
  REFUSES(linnet_recognizer_batch_step(f.recognizer_batch, NULL, 1));
}

static void refuse_aligners(void) {
  REFUSES(linnet_aligned_text_align(NULL, floats, 1, 1, 1, NULL));
  REFUSES(linnet_aligned_text_align(f.aligned_text, NULL, 1, 1, 1, NULL));
  REFUSES(linnet_aligned_text_create(NULL, f.aligner, "x", "x", (void *)&out));
  REFUSES(linnet_aligned_text_create(f.context, NULL, "x", "x", (void *)&out));
  REFUSES(linnet_aligned_text_create(f.context, f.aligner, NULL, "x", (void *)&out));
  REFUSES(linnet_aligned_text_create(f.context, f.aligner, "x", NULL, (void *)&out));
  REFUSES(linnet_aligned_text_create(f.context, f.aligner, "x", "x", NULL));
  REFUSES(linnet_aligned_text_create_phones(NULL, f.aligner, "x", "x", (void *)&out));
  REFUSES(linnet_aligned_text_create_phones(f.context, NULL, "x", "x", (void *)&out));
  REFUSES(linnet_aligned_text_create_phones(f.context, f.aligner, NULL, "x", (void *)&out));
  REFUSES(linnet_aligned_text_create_phones(f.context, f.aligner, "x", NULL, (void *)&out));
  REFUSES(linnet_aligned_text_create_phones(f.context, f.aligner, "x", "x", NULL));
  REFUSES(linnet_aligned_text_describe(NULL, (void *)&scratch));
  REFUSES(linnet_aligned_text_describe(f.aligned_text, NULL));
  REFUSES(linnet_text_aligner_create(NULL, names, 2, NULL, (void *)&out));
  REFUSES(linnet_text_aligner_create(f.context, NULL, 2, NULL, (void *)&out));
  REFUSES(linnet_text_aligner_create(f.context, names, 2, NULL, NULL));
}

static void refuse_lattices(void) {
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
  REFUSES(linnet_scorer_add_missing(NULL, "x", NULL, names, 1));
  REFUSES(linnet_scorer_add_missing(f.scorer, NULL, NULL, names, 1));
  REFUSES(linnet_scorer_add_missing(f.scorer, "x", NULL, NULL, 1));
  REFUSES(linnet_scorer_add_nbest(NULL, f.transcripts, f.transcripts, NULL));
  REFUSES(linnet_scorer_add_nbest(f.scorer, NULL, f.transcripts, NULL));
  REFUSES(linnet_scorer_add_nbest(f.scorer, f.transcripts, NULL, NULL));
  REFUSES(linnet_scorer_add_transcripts(NULL, f.transcripts, f.transcripts, NULL));
  REFUSES(linnet_scorer_add_transcripts(f.scorer, NULL, f.transcripts, NULL));
  REFUSES(linnet_scorer_add_transcripts(f.scorer, f.transcripts, NULL, NULL));
  REFUSES(linnet_scorer_bootstrap(NULL, 0, 1, 1, (void *)&scratch));
  REFUSES(linnet_scorer_bootstrap(f.scorer, 0, 1, 1, NULL));
  REFUSES(linnet_scorer_compare(NULL, f.scorer, 0, 1, 1, (void *)&scratch));
  REFUSES(linnet_scorer_compare(f.scorer, NULL, 0, 1, 1, (void *)&scratch));
  REFUSES(linnet_scorer_compare(f.scorer, f.scorer, 0, 1, 1, NULL));
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
  ALLOWS(linnet_aligned_text_destroy(NULL));
  ALLOWS(linnet_lexicon_capitals(NULL));
  ALLOWS(linnet_recognizer_destroy(NULL));
  ALLOWS(linnet_recognizer_stream_destroy(NULL));
  ALLOWS(linnet_recognizer_batch_destroy(NULL));
  ALLOWS(linnet_search_destroy(NULL));
  ALLOWS(linnet_search_stream_destroy(NULL));
  ALLOWS(linnet_text_aligner_destroy(NULL));
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
  ALLOWS(linnet_g2p_destroy(NULL));
  ALLOWS(linnet_g2p_result_destroy(NULL));
  ALLOWS(linnet_g2p_trainer_destroy(NULL));
  ALLOWS(linnet_pronounced_text_destroy(NULL));
  ALLOWS(linnet_spoken_destroy(NULL));
  ALLOWS(linnet_text_normalizer_destroy(NULL));
  ALLOWS(linnet_ngram_binding_destroy(NULL));
  ALLOWS(linnet_ngram_destroy(NULL));
  ALLOWS(linnet_ngram_estimator_destroy(NULL));
  ALLOWS(linnet_recurrence_batch_destroy(NULL));
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
  void (*const groups[])(void) = {refuse_networks, refuse_streams,     refuse_training, refuse_audio,
                                  refuse_kaldi,    refuse_cmvn,        refuse_text,     refuse_pronunciations,
                                  refuse_ngrams,   refuse_decoding,    refuse_lattices, refuse_scoring,
                                  refuse_searches, refuse_recognizers, refuse_aligners, destroy_nothing};
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
