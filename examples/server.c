/* Recognises many calls at once, as a server does: server RECOGNIZER FILE...
 * Each file is a call, and gets a tenth of a second of audio in each step. All calls run through the network together,
 * which takes less time than one after the other; see <linnet/recognizer.h>. Needs a causal model. */
#include <stdio.h>
#include <stdlib.h>

#include <linnet/recognizer.h>

enum { SAMPLES = 1600 };

struct call {
  const char *name;
  struct linnet_audio *audio;
  struct linnet_recognizer_stream *stream;
  float samples[SAMPLES];
  int has_ended;
};

static int show(void *user, const struct linnet_result *result) {
  const struct call *call = user;
  const struct linnet_alternative *best = &result->alternatives[0];
  const struct linnet_span *spans = best->words ? best->words : best->phones;
  const size_t count = best->words ? best->num_words : best->num_phones;
  if (!result->is_final)
    return 0;
  printf("%s", call->name);
  for (size_t i = 0; i < count; i++)
    printf(" %s", spans[i].text);
  putchar('\n');
  return fflush(stdout);
}

static enum linnet_status open_call(struct linnet_context *context, struct linnet_recognizer_batch *batch,
                                    const char *name, struct call *call) {
  enum linnet_status status = linnet_audio_open(context, call->name = name, NULL, &call->audio);
  if (status == LINNET_OK && (status = linnet_recognizer_batch_open(batch, &call->stream)) == LINNET_OK)
    status = linnet_recognizer_stream_set_hook(call->stream, show, call);
  return status;
}

/* Gives the next audio of each call that goes on to its stream. */
static enum linnet_status step(struct linnet_recognizer_batch *batch, struct call *calls, size_t count,
                               struct linnet_recognizer_input *inputs, size_t *active) {
  *active = 0;
  for (struct call *call = calls; call < calls + count; call++) {
    struct linnet_recognizer_input *input = &inputs[*active];
    if (call->has_ended)
      continue;
    *input = (struct linnet_recognizer_input){.stream = call->stream, .samples = call->samples};
    enum linnet_status status = linnet_audio_read(call->audio, call->samples, SAMPLES, &input->num_samples);
    if (status != LINNET_OK && status != LINNET_END)
      return status;
    input->finish = call->has_ended = status == LINNET_END;
    ++*active;
  }
  return linnet_recognizer_batch_step(batch, inputs, *active);
}

int main(int argc, char **argv) {
  struct linnet_context *context = NULL;
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_recognizer_batch *batch = NULL;
  const size_t count = argc > 2 ? (size_t)argc - 2 : 0;
  struct call *calls = calloc(count, sizeof *calls);
  struct linnet_recognizer_input *inputs = calloc(count, sizeof *inputs);
  if (count == 0 || !calls || !inputs || linnet_context_create(NULL, &context) != LINNET_OK)
    return 2;
  enum linnet_status status = linnet_recognizer_load(context, argv[1], &recognizer);
  if (status == LINNET_OK)
    status = linnet_recognizer_batch_create(context, recognizer, 0, &batch);
  for (size_t i = 0; i < count && status == LINNET_OK; i++)
    status = open_call(context, batch, argv[i + 2], &calls[i]);
  for (size_t active = 1; active > 0 && status == LINNET_OK;)
    status = step(batch, calls, count, inputs, &active);
  if (status != LINNET_OK)
    fprintf(stderr, "server: %s\n", linnet_context_error(context));
  for (size_t i = 0; i < count; i++) {
    linnet_recognizer_stream_destroy(calls[i].stream);
    linnet_audio_destroy(calls[i].audio);
  }
  linnet_recognizer_batch_destroy(batch);
  linnet_recognizer_destroy(recognizer);
  linnet_context_destroy(context);
  free(calls), free(inputs);
  return status != LINNET_OK;
}
