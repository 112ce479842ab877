/* Recognizers and their streams in tests. */
#ifndef LINNET_RECOGNIZER_STREAMS_H
#define LINNET_RECOGNIZER_STREAMS_H

#include <linnet/fbank.h>
#include <linnet/recognizer.h>

#include "test.h"

/* Bursts of tone, some in faint noise, with pauses of several lengths. */
static inline void make_bursts(float *samples, size_t count) {
  struct test_random random = {7};
  for (size_t i = 0; i < count; i++) {
    const double tone = 6000 * sin((double)i * (0.02 + 0.03 * (double)(i / 3000 % 5)));
    samples[i] = (float)((i / 4000 % 5 < 3 ? tone : 0) + 30 * test_uniform(&random));
  }
}

/* The features (frames, num_mel) that the model reads, before normalisation. Returns the number of frames. */
static inline size_t make_features(struct linnet_context *context, const struct linnet_model *model,
                                   const float *samples, size_t count, float **features) {
  struct linnet_feature_config config;
  struct linnet_fbank *fbank = NULL;
  size_t frames = 0;
  linnet_model_features(model, &config);
  REQUIRE(linnet_fbank_create(context, &config.fbank, &fbank) == LINNET_OK, "%s", linnet_context_error(context));
  const size_t capacity = linnet_fbank_num_pending(fbank, count);
  *features = malloc(capacity * config.fbank.num_mel * sizeof **features);
  REQUIRE(linnet_fbank_accept(fbank, samples, count, *features, capacity, &frames) == LINNET_OK, "%s",
          linnet_context_error(context));
  linnet_fbank_destroy(fbank);
  return frames;
}

static inline struct linnet_recognizer *load_recognizer(struct linnet_context *context, const char *path) {
  struct linnet_recognizer *recognizer = NULL;
  REQUIRE(linnet_recognizer_load(context, path, &recognizer) == LINNET_OK, "%s", linnet_context_error(context));
  return recognizer;
}

static inline struct linnet_recognizer_stream *open_stream(struct linnet_context *context,
                                                           const struct linnet_recognizer *recognizer) {
  struct linnet_recognizer_stream *stream = NULL;
  REQUIRE(linnet_recognizer_stream_create(context, recognizer, &stream) == LINNET_OK, "%s",
          linnet_context_error(context));
  return stream;
}

/* Gives the samples (count) to the stream, `chunk` at a time, and finishes it. */
static inline enum linnet_status feed_stream(struct linnet_recognizer_stream *stream, const float *samples,
                                             size_t count, size_t chunk) {
  enum linnet_status status = LINNET_OK;
  for (size_t done = 0; done < count && status == LINNET_OK; done += chunk)
    status = linnet_recognizer_stream_accept(stream, samples + done, count - done < chunk ? count - done : chunk);
  return status == LINNET_OK ? linnet_recognizer_stream_finish(stream) : status;
}

#endif
