/* Finds the times of the words of a known text in a recording: align MODEL LEXICON AUDIO TEXT
 * Prints a TextGrid for Praat. For another format of <linnet/output.h>, such as "json", change the name of the format.
 */
#include <stdio.h>

#include <linnet/linnet.h>

static int write_piece(void *user, const char *text, size_t bytes) {
  return fwrite(text, 1, bytes, user) != bytes;
}

static enum linnet_status make_aligner(struct linnet_context *context, const struct linnet_model *model,
                                       const char *lexicon, struct linnet_text_aligner **aligner) {
  struct linnet_text_aligner_settings settings;
  linnet_text_aligner_settings_default(&settings);
  settings.lexicon.path = lexicon;
  return linnet_text_aligner_create(context, linnet_model_symbols(model), linnet_model_num_symbols(model), &settings,
                                    aligner);
}

static enum linnet_status align(struct linnet_context *context, const struct linnet_recognizer *recognizer,
                                const struct linnet_text_aligner *aligner, char **argv) {
  const struct linnet_output_format *format = linnet_output_format_find("textgrid");
  struct linnet_audio *audio = NULL;
  struct linnet_aligned_text *text = NULL;
  struct linnet_output output = {.size = sizeof output, .id = "recording"};
  enum linnet_status status = linnet_aligned_text_create(context, aligner, argv[4], "TEXT", &text);
  if (status == LINNET_OK && (status = linnet_audio_open(context, argv[3], NULL, &audio)) == LINNET_OK)
    status = linnet_recognizer_align(context, recognizer, audio, NULL, text, &output.seconds);
  if (status == LINNET_OK && (status = linnet_aligned_text_describe(text, &output)) == LINNET_OK &&
      (status = linnet_output_begin(format, write_piece, stdout)) == LINNET_OK)
    status = linnet_output_write(format, &output, write_piece, stdout);
  linnet_aligned_text_destroy(text);
  linnet_audio_destroy(audio);
  return status;
}

int main(int argc, char **argv) {
  struct linnet_recognizer_settings settings;
  struct linnet_context *context = NULL;
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_text_aligner *aligner = NULL;
  if (argc != 5 || linnet_context_create(NULL, &context) != LINNET_OK)
    return 2;
  linnet_recognizer_settings_default(&settings);
  settings.model.path = argv[1];
  enum linnet_status status = linnet_recognizer_create(context, &settings, &recognizer);
  if (status == LINNET_OK)
    status = make_aligner(context, linnet_recognizer_model(recognizer), argv[2], &aligner);
  if (status == LINNET_OK)
    status = align(context, recognizer, aligner, argv);
  if (status != LINNET_OK)
    fprintf(stderr, "align: %s\n", linnet_context_error(context));
  linnet_text_aligner_destroy(aligner);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(context);
  return status != LINNET_OK;
}
