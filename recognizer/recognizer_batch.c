/* Recognizer streams that run together: features and searches stream by stream, the networks of all streams in one pass
 * over the weights. */
#include "base/base.h"
#include "base/numbers.h"
#include "recognizer/live_network.h"
#include "recognizer/recognizer_parts.h"

/* The samples of an input at the rate of the model. */
struct given {
  const float *samples;
  size_t count;
};

struct linnet_recognizer_batch {
  struct linnet_context *context;
  const struct linnet_recognizer *recognizer;
  struct linnet_recurrence_batch *networks;
  struct linnet_live_input *live;         /* of a step, by input */
  struct linnet_recurrence_input *blocks; /* the same */
  struct given *given;                    /* the same */
  size_t live_capacity, block_capacity, given_capacity;
  struct linnet_live_failure failure; /* of a step */
};

/* --- creation and destruction ------------------------------------------------------------------------------------- */

enum linnet_status linnet_recognizer_batch_create(struct linnet_context *context,
                                                  const struct linnet_recognizer *recognizer, size_t max_rows,
                                                  struct linnet_recognizer_batch **batch) {
  if (batch)
    *batch = NULL;
  if (!context || !recognizer || !batch)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recognizer_batch_create: an argument is NULL");
  struct linnet_recognizer_batch *b = linnet_calloc(context, 1, sizeof *b);
  if (!b)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a batch");
  b->context = context;
  b->recognizer = recognizer;
  enum linnet_status status = linnet_recurrence_batch_create(context, recognizer->model, max_rows, &b->networks);
  if (status == LINNET_OK && !linnet_runs_along(recognizer->model))
    status = linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                         "a batch needs features without statistics of the whole utterance: a model whose cmvn is "
                         "none, global or running");
  if (status == LINNET_OK)
    *batch = b;
  else
    linnet_recognizer_batch_destroy(b);
  return status;
}

enum linnet_status linnet_recognizer_batch_open(struct linnet_recognizer_batch *b,
                                                struct linnet_recognizer_stream **stream) {
  if (stream)
    *stream = NULL;
  if (!b || !stream)
    return linnet_fail(b ? b->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recognizer_batch_open: an argument is NULL");
  return linnet_recognizer_stream_create_in(b->context, b->recognizer, b->networks, stream);
}

void linnet_recognizer_batch_destroy(struct linnet_recognizer_batch *b) {
  if (!b)
    return;
  linnet_recurrence_batch_destroy(b->networks);
  linnet_free(b->context, b->live);
  linnet_free(b->context, b->blocks);
  linnet_free(b->context, b->given);
  linnet_free(b->context, b);
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static enum linnet_status check_input(const struct linnet_recognizer_batch *b,
                                      const struct linnet_recognizer_input *input, size_t index) {
  if (!input->stream || (!input->samples && input->num_samples > 0))
    return linnet_fail(b->context, LINNET_ERROR_ARGUMENT, "input %zu of the batch: an argument is NULL", index);
  if (linnet_recognizer_stream_batch(input->stream) != b->networks)
    return linnet_fail(b->context, LINNET_ERROR_ARGUMENT,
                       "input %zu: its stream is not of this batch: open it with linnet_recognizer_batch_open", index);
  bool *listed = linnet_recognizer_stream_listed(input->stream);
  if (*listed)
    return linnet_fail(b->context, LINNET_ERROR_ARGUMENT, "input %zu: its stream is there twice", index);
  *listed = true;
  return LINNET_OK;
}

static enum linnet_status check_inputs(const struct linnet_recognizer_batch *b,
                                       const struct linnet_recognizer_input *inputs, size_t count) {
  enum linnet_status status = LINNET_OK;
  size_t good = 0;
  while (good < count && (status = check_input(b, &inputs[good], good)) == LINNET_OK)
    good++;
  for (size_t i = 0; i < good; i++)
    *linnet_recognizer_stream_listed(inputs[i].stream) = false;
  return status;
}

static enum linnet_status reserve(struct linnet_recognizer_batch *b, size_t count) {
  struct linnet_live_input *live = linnet_grow(b->context, b->live, &b->live_capacity, count, sizeof *live);
  b->live = live ? live : b->live;
  struct linnet_recurrence_input *blocks =
      linnet_grow(b->context, b->blocks, &b->block_capacity, count, sizeof *blocks);
  b->blocks = blocks ? blocks : b->blocks;
  struct given *given = linnet_grow(b->context, b->given, &b->given_capacity, count, sizeof *given);
  b->given = given ? given : b->given;
  return live && blocks && given ? LINNET_OK
                                 : linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for %zu streams", count);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static void note(struct linnet_recognizer_batch *b, struct linnet_recognizer_input *inputs, size_t i,
                 enum linnet_status status) {
  inputs[i].status = status;
  if (status != LINNET_OK)
    linnet_live_failure_note(&b->failure, b->context, i);
}

/* Checks all samples of an input before any of them is taken, so that a stream takes all of them or none. */
static enum linnet_status prepare_samples(const struct linnet_recognizer_input *input, struct given *given) {
  *given = (struct given){NULL, 0};
  return linnet_recognizer_stream_begin_call(input->stream, input->samples, input->num_samples, &given->samples,
                                             &given->count);
}

/* A stream that failed takes nothing more. */
static void take(struct linnet_recognizer_batch *b, struct linnet_recognizer_input *inputs, size_t i, size_t done) {
  const struct linnet_recognizer_input *input = &inputs[i];
  struct linnet_stream *audio = linnet_recognizer_stream_audio(input->stream);
  const struct given *given = &b->given[i];
  const size_t left = given->count - linnet_min_size(done, given->count);
  const size_t n = input->status == LINNET_OK ? linnet_min_size(left, LINNET_STREAM_CHUNK) : 0;
  const enum linnet_status status = linnet_stream_take(audio, n > 0 ? given->samples + done : NULL, n, &b->live[i]);
  if (input->status == LINNET_OK)
    note(b, inputs, i, status);
}

/* Runs the samples of all streams from `done` on, at most LINNET_STREAM_CHUNK of each. */
static void step_chunk(struct linnet_recognizer_batch *b, struct linnet_recognizer_input *inputs, size_t count,
                       size_t done) {
  for (size_t i = 0; i < count; i++)
    take(b, inputs, i, done);
  linnet_live_networks_run(b->live, b->blocks, count, &b->failure);
  for (size_t i = 0; i < count; i++)
    if (inputs[i].status == LINNET_OK)
      inputs[i].status = b->live[i].status;
}

/* A search that stopped the network reports why only here. */
static void end_input(struct linnet_recognizer_batch *b, struct linnet_recognizer_input *inputs, size_t i) {
  struct linnet_recognizer_stream *stream = inputs[i].stream;
  note(b, inputs, i, linnet_recognizer_stream_end_call(stream, inputs[i].status));
  if (inputs[i].status == LINNET_OK && inputs[i].finish)
    note(b, inputs, i, linnet_recognizer_stream_finish(stream));
}

/* What must hold before the first sample. */
static enum linnet_status prepare(struct linnet_recognizer_batch *b, const struct linnet_recognizer_input *inputs,
                                  size_t count) {
  LINNET_TRY(check_inputs(b, inputs, count));
  return reserve(b, count);
}

static void run(struct linnet_recognizer_batch *b, struct linnet_recognizer_input *inputs, size_t count) {
  size_t longest = 0, done = 0;
  b->failure.input = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    note(b, inputs, i, prepare_samples(&inputs[i], &b->given[i]));
    longest = linnet_max_size(longest, b->given[i].count);
  }
  do
    step_chunk(b, inputs, count, done);
  while ((done += LINNET_STREAM_CHUNK) < longest);
  for (size_t i = 0; i < count; i++)
    end_input(b, inputs, i);
}

enum linnet_status linnet_recognizer_batch_step(struct linnet_recognizer_batch *b,
                                                struct linnet_recognizer_input *inputs, size_t count) {
  if (!b || (!inputs && count > 0))
    return linnet_fail(b ? b->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recognizer_batch_step: an argument is NULL");
  enum linnet_status status = prepare(b, inputs, count);
  for (size_t i = 0; i < count; i++)
    inputs[i].status = status;
  if (status != LINNET_OK)
    return status;
  run(b, inputs, count);
  return b->failure.input == SIZE_MAX
             ? LINNET_OK
             : linnet_fail(b->context, inputs[b->failure.input].status, "%s", b->failure.reason);
}
