/* Prints words while somebody speaks: arecord -f S16_LE -r 16000 -t raw | live RECOGNIZER
 * Standard input has raw samples: 16 kHz, 16 bits, least significant byte first. The words before "|" no longer change;
 * those after it may. Only causal models give results before the end; see <linnet/recognizer.h>. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <linnet/recognizer.h>

enum { SAMPLES = 1600 }; /* a tenth of a second */

static int show(void *user, const struct linnet_result *result) {
  const struct linnet_alternative *best = &result->alternatives[0];
  const struct linnet_span *spans = best->words ? best->words : best->phones;
  size_t count = best->words ? best->num_words : best->num_phones;
  (void)user;
  printf("%6.2f s%s", result->seconds, result->is_final ? " final:" : "");
  for (size_t i = 0; i < count; i++)
    printf("%s %s", !result->is_final && i == result->num_stable ? " |" : "", spans[i].text);
  putchar('\n');
  return fflush(stdout);
}

/* If the number of bytes is odd, the last byte is dropped. */
static enum linnet_status listen(struct linnet_recognizer_stream *stream) {
  unsigned char bytes[2 * SAMPLES];
  float samples[SAMPLES];
  size_t held = 0;
  for (ssize_t got; (got = read(STDIN_FILENO, bytes + held, sizeof bytes - held)) > 0;) {
    size_t n = (held + (size_t)got) / 2;
    for (size_t i = 0; i < n; i++)
      samples[i] = (int16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
    if ((held = (held + (size_t)got) % 2) == 1)
      bytes[0] = bytes[2 * n];
    enum linnet_status status = linnet_recognizer_stream_accept(stream, samples, n);
    if (status != LINNET_OK)
      return status;
  }
  return linnet_recognizer_stream_finish(stream);
}

int main(int argc, char **argv) {
  struct linnet_context *context = NULL;
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_recognizer_stream *stream = NULL;
  if (argc != 2 || linnet_context_create(NULL, &context) != LINNET_OK)
    return 2;
  enum linnet_status status = linnet_recognizer_load(context, argv[1], &recognizer);
  if (status == LINNET_OK && (status = linnet_recognizer_stream_create(context, recognizer, &stream)) == LINNET_OK &&
      (status = linnet_recognizer_stream_set_hook(stream, show, NULL)) == LINNET_OK)
    status = listen(stream);
  if (status != LINNET_OK)
    fprintf(stderr, "live: %s\n", linnet_context_error(context));
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(context);
  return status != LINNET_OK;
}
