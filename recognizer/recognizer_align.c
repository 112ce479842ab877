/* Aligns a text to a recording: by the posteriors of a recognizer's networks, without its search. */
#include <string.h>

#include "decoder/align/aligned_text.h"
#include "recognizer/recognizer_parts.h"

/* The posteriors of a recording. */
struct rows {
  struct linnet_context *context;
  float *values; /* (frames, symbols) */
  size_t frames, symbols, capacity;
  bool lacks_memory;
};

/* A linnet_posterior_fn. */
static int keep(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct rows *rows = user;
  const size_t count = (first + frames) * rows->symbols;
  float *grown = linnet_grow(rows->context, rows->values, &rows->capacity, count, sizeof *grown);
  rows->lacks_memory = !grown;
  if (!grown)
    return 1;
  rows->values = grown;
  memcpy(grown + first * rows->symbols, log_posteriors, frames * rows->symbols * sizeof *grown);
  rows->frames = first + frames;
  return 0;
}

static enum linnet_status accept_samples(void *user, const float *samples, size_t n) {
  return linnet_stream_accept(user, samples, n);
}

static enum linnet_status hear(struct linnet_stream *stream, struct linnet_audio *audio, struct rows *rows) {
  linnet_stream_set_sink(stream, keep, rows);
  enum linnet_status status = linnet_feed_audio(rows->context, audio, accept_samples, stream);
  if (status == LINNET_OK)
    status = linnet_stream_finish(stream);
  return rows->lacks_memory
             ? linnet_fail(rows->context, LINNET_ERROR_MEMORY, "out of memory for the posteriors of %.0f seconds",
                           linnet_stream_seconds(stream))
             : status;
}

/* The labels of the text are columns of the posteriors. */
static enum linnet_status check_symbols(struct linnet_context *context, const struct linnet_model *model,
                                        const struct linnet_aligned_text *text) {
  const struct linnet_symbols *symbols = text->aligner->vocabulary.symbols;
  const size_t count = linnet_model_num_symbols(model);
  bool same = linnet_symbols_num_symbols(symbols) == count;
  for (size_t i = 1; same && i < count; i++)
    same = strcmp(linnet_symbols_name(symbols, (int)i), linnet_model_symbol(model, (int)i)) == 0;
  return same ? LINNET_OK
              : linnet_fail(
                    context, LINNET_ERROR_ARGUMENT,
                    "linnet_recognizer_align: the text is for other symbols than those of the recognizer's model: "
                    "make its aligner with linnet_recognizer_load_aligner");
}

enum linnet_status linnet_recognizer_align(struct linnet_context *context, const struct linnet_recognizer *recognizer,
                                           struct linnet_audio *audio, const struct linnet_align_settings *settings,
                                           struct linnet_aligned_text *text, double *seconds) {
  if (!context || !recognizer || !audio || !text || !seconds)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recognizer_align: an argument is NULL");
  struct rows rows = {.context = context, .symbols = linnet_model_num_symbols(recognizer->model)};
  struct linnet_stream *stream = NULL;
  LINNET_TRY(linnet_recognizer_check_rate(context, recognizer, audio));
  LINNET_TRY(check_symbols(context, recognizer->model, text));
  LINNET_TRY(linnet_recognizer_create_posteriors(context, recognizer, NULL, &stream));
  enum linnet_status status = hear(stream, audio, &rows);
  *seconds = linnet_stream_seconds(stream);
  if (status == LINNET_OK)
    status = linnet_aligned_text_align(text, rows.values, rows.frames, linnet_model_frame_seconds(recognizer->model),
                                       *seconds, settings);
  linnet_stream_destroy(stream);
  linnet_free(context, rows.values);
  return status;
}
