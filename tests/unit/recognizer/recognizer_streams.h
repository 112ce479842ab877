/* Recognizers and their streams in tests. */
#ifndef LINNET_RECOGNIZER_STREAMS_H
#define LINNET_RECOGNIZER_STREAMS_H

#include <linnet/recognizer.h>

#include "test.h"

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
