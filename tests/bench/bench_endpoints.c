/* The endpoints of a recording, one per line, in seconds: for measure_endpoints.py.
 *
 *   bench_endpoints RECOGNIZER RAW      a model, or the settings of a recognizer; 16-bit samples at the model's rate
 *
 * The default rules apply, unless the recognizer has rules of its own. */
#include <linnet/recognizer.h>

#include <stdio.h>
#include <string.h>

static int fail(struct linnet_context *context) {
  fprintf(stderr, "bench_endpoints: %s\n", context ? linnet_context_error(context) : "no context");
  return 1;
}

/* Prints where segments end and begin, in order. Segments in which nothing was recognised have no result; of several in
 * a row the last endpoint is known. The end of the recording is printed, too. */
static int put_ends(void *user, const struct linnet_result *result) {
  double *last = user;
  const double times[] = {result->start, result->is_final ? result->seconds : 0};
  for (int i = 0; i < 2; i++)
    if (times[i] > *last) {
      printf("%.3f\n", times[i]);
      *last = times[i];
    }
  return 0;
}

static enum linnet_status create(struct linnet_context *context, const char *path,
                                 struct linnet_recognizer **recognizer) {
  struct linnet_recognizer_file *file = NULL;
  struct linnet_recognizer_settings settings;
  struct linnet_endpoint_settings endpoint;
  linnet_recognizer_settings_default(&settings);
  linnet_endpoint_settings_default(&endpoint);
  settings.model.path = path;
  if (!strstr(path, ".safetensors")) {
    const enum linnet_status status = linnet_recognizer_file_load(context, path, &file);
    if (status != LINNET_OK)
      return status;
    linnet_recognizer_file_settings(file, &settings);
  }
  settings.endpoint = settings.endpoint ? settings.endpoint : &endpoint;
  const enum linnet_status status = linnet_recognizer_create(context, &settings, recognizer);
  linnet_recognizer_file_destroy(file);
  return status;
}

/* In pieces, because linnet_recognizer_stream_run_file has no endpoints. */
static enum linnet_status feed(struct linnet_recognizer_stream *stream, struct linnet_audio *audio) {
  static float samples[16000];
  for (;;) {
    size_t count = 0;
    const enum linnet_status read = linnet_audio_read(audio, samples, sizeof samples / sizeof *samples, &count);
    if (read == LINNET_END)
      return linnet_recognizer_stream_finish(stream);
    const enum linnet_status status =
        read == LINNET_OK ? linnet_recognizer_stream_accept(stream, samples, count) : read;
    if (status != LINNET_OK)
      return status;
  }
}

static enum linnet_status feed_file(struct linnet_context *context, const struct linnet_recognizer *recognizer,
                                    struct linnet_recognizer_stream *stream, const char *raw) {
  struct linnet_feature_config features;
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  linnet_model_features(linnet_recognizer_model(recognizer), &features);
  linnet_audio_settings_default(&settings);
  settings.raw_format = LINNET_SAMPLE_S16LE;
  settings.sample_rate = features.fbank.sample_rate;
  enum linnet_status status = linnet_audio_open(context, raw, &settings, &audio);
  if (status == LINNET_OK)
    status = feed(stream, audio);
  linnet_audio_destroy(audio);
  return status;
}

static enum linnet_status run(struct linnet_context *context, const char *model, const char *raw) {
  struct linnet_recognizer *recognizer = NULL;
  struct linnet_recognizer_stream *stream = NULL;
  double last = 0;
  enum linnet_status status = create(context, model, &recognizer);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_create(context, recognizer, &stream);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_set_hook(stream, put_ends, &last);
  if (status == LINNET_OK)
    status = feed_file(context, recognizer, stream, raw);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_destroy(recognizer);
  return status;
}

int main(int argc, char **argv) {
  struct linnet_context *context = NULL;
  if (argc != 3) {
    fprintf(stderr, "usage: bench_endpoints RECOGNIZER RAW\n");
    return 2;
  }
  if (linnet_context_create(NULL, &context) != LINNET_OK)
    return fail(NULL);
  const int code = run(context, argv[1], argv[2]) == LINNET_OK ? 0 : fail(context);
  linnet_context_destroy(context);
  return code;
}
