/* Prints the words of a recording with their times: words RECOGNIZER AUDIO
 * RECOGNIZER is a folder with a recognizer.json, or such a file; see <linnet/recognizer.h>. */
#include <stdio.h>

#include <linnet/recognizer.h>

/* Prints words, or phones if the recognizer does not search for words. */
static void print(const struct linnet_alternative *best) {
  const struct linnet_span *spans = best->words ? best->words : best->phones;
  size_t count = best->words ? best->num_words : best->num_phones;
  for (size_t i = 0; i < count; i++)
    printf("%.2f %.2f %s %.2f\n", spans[i].start, spans[i].end, spans[i].text, (double)spans[i].confidence);
}

int main(int argc, char **argv) {
  struct linnet_context *context = NULL;
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_recognizer_stream *stream = NULL;
  const struct linnet_result *result;
  if (argc != 3 || linnet_context_create(NULL, &context) != LINNET_OK)
    return 2;
  enum linnet_status status = linnet_recognizer_load(context, argv[1], &recognizer);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_create(context, recognizer, &stream);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_run_file(stream, argv[2], NULL, &result);
  if (status == LINNET_OK)
    print(&result->alternatives[0]);
  else
    fprintf(stderr, "words: %s\n", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(context);
  return status != LINNET_OK;
}
