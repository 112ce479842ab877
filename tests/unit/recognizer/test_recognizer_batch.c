/* Recognizer streams that run together: each has the events that it has alone, whatever the others do, and a stream
 * that fails does not disturb them; what cannot run together is refused. */
#include <linnet/recognizer.h>

#include "recognizer_events.h"
#include "recognizer_models.h"
#include "recognizer_streams.h"
#include "test.h"

enum { SAMPLES = 64000, STREAMS = 5, STEPS = 40, MAX_CHUNK = 20000 };

#define FOLDER TEST_BINARY_DIR "/batch_files"
static struct linnet_context *context;
static float samples[STREAMS][SAMPLES];

/* Bursts of tone with pauses, differently for each stream. */
static void make_samples(void) {
  struct test_random random = {7};
  for (size_t s = 0; s < STREAMS; s++)
    for (size_t i = 0; i < SAMPLES; i++) {
      const double tone = 6000 * sin((double)i * (0.02 + 0.03 * (double)((i / 3000 + s) % 5)));
      samples[s][i] = (float)(((i + 3000 * s) / 4000 % 5 < 3 ? tone : 0) + 30 * test_uniform(&random));
    }
}

#define WORDS "{\"model\": \"causal.safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\", \"beam\": 20"
#define RULES                                                                                                          \
  "[{\"speech\": true, \"silence\": 0.12}, {\"speech\": true, \"word\": true, \"quiet\": 0.2}, {\"length\": 0.9}]"

static void prepare(void) {
  REQUIRE(system("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'") == 0, "%s", FOLDER);
  make_samples();
  REQUIRE(write_recognizer_model(FOLDER "/model.safetensors", false), "no model");
  REQUIRE(write_recognizer_model(FOLDER "/causal.safetensors", true), "no causal model");
  REQUIRE(write_whole_model(FOLDER "/whole.safetensors"), "no causal model of whole utterances");
  save_text(FOLDER, "lexicon", "AB A B\nBA B A\nC C\nCA C A\nD D\nDAB D A B\nBD B D\n");
  save_text(FOLDER, "plain.json", WORDS "}");
  save_text(FOLDER, "words.json", WORDS ", \"partial_interval\": 0.1, \"endpoint\": {\"rules\": " RULES "}}");
  save_text(FOLDER, "late.json", "{\"model\": \"model.safetensors\", \"search\": \"words\", \"lexicon\": \"lexicon\"}");
  save_text(FOLDER, "twice.json", WORDS ", \"second_pass\": \"late.json\", \"endpoint\": {\"rules\": " RULES "}}");
  save_text(FOLDER, "going_on.json", WORDS ", \"endpoint\": {\"restart\": false, \"rules\": " RULES "}}");
  save_text(FOLDER, "phones.json", "{\"model\": \"causal.safetensors\", \"endpoint\": {\"rules\": " RULES "}}");
  save_text(FOLDER, "not_causal.json", "{\"model\": \"model.safetensors\"}");
  save_text(FOLDER, "whole.json", "{\"model\": \"whole.safetensors\"}");
}

static struct linnet_recognizer *load(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", FOLDER, name);
  return load_recognizer(context, path);
}

/* --- together and alone ------------------------------------------------------------------------------------------- */

/* A stream of the batch and its twin, which gets the same calls alone. */
struct pair {
  struct linnet_recognizer_stream *together, *alone; /* NULL: closed */
  size_t taken;
  struct events *seen, *wanted;
};

static struct pair pairs[STREAMS];

static struct linnet_recognizer_batch *create_batch(const struct linnet_recognizer *recognizer, size_t max_rows) {
  struct linnet_recognizer_batch *batch = NULL;
  REQUIRE(linnet_recognizer_batch_create(context, recognizer, max_rows, &batch) == LINNET_OK, "%s",
          linnet_context_error(context));
  return batch;
}

static struct linnet_recognizer_stream *open_in(struct linnet_recognizer_batch *batch) {
  struct linnet_recognizer_stream *stream = NULL;
  REQUIRE(linnet_recognizer_batch_open(batch, &stream) == LINNET_OK, "%s", linnet_context_error(context));
  return stream;
}

static void open_pair(struct pair *p, struct linnet_recognizer_batch *batch,
                      const struct linnet_recognizer *recognizer) {
  p->together = open_in(batch);
  p->alone = open_stream(context, recognizer);
  p->taken = 0;
  *p->seen = *p->wanted = (struct events){.partials = 0};
  CHECK(linnet_recognizer_stream_set_hook(p->together, see, p->seen) == LINNET_OK, "hook");
  CHECK(linnet_recognizer_stream_set_hook(p->alone, see, p->wanted) == LINNET_OK, "hook");
}

static void close_pair(struct pair *p) {
  CHECK(strcmp(p->seen->text, p->wanted->text) == 0, "stream %td after %zu samples:%s\nalone:%s", p - pairs, p->taken,
        p->seen->text, p->wanted->text);
  linnet_recognizer_stream_destroy(p->together);
  linnet_recognizer_stream_destroy(p->alone);
  p->together = p->alone = NULL;
}

static enum linnet_status run_alone(const struct pair *p, const struct linnet_recognizer_input *input) {
  const enum linnet_status status = linnet_recognizer_stream_accept(p->alone, input->samples, input->num_samples);
  return status == LINNET_OK && input->finish ? linnet_recognizer_stream_finish(p->alone) : status;
}

/* The next samples of a stream: none, some, or more than a second. */
static struct linnet_recognizer_input next_input(struct test_random *r, struct pair *p) {
  const size_t left = SAMPLES - p->taken, kind = test_below(r, 4);
  const size_t wanted = kind == 0 ? 0 : 1 + test_below(r, kind == 1 ? MAX_CHUNK : 3000);
  const size_t n = wanted < left ? wanted : left;
  const struct linnet_recognizer_input input = {.stream = p->together,
                                                .samples = samples[p - pairs] + p->taken,
                                                .num_samples = n,
                                                .finish = n == left || test_below(r, 60) == 0};
  p->taken += n;
  return input;
}

/* One step of the streams that are open, some of which are not in it. */
static void step(struct test_random *r, struct linnet_recognizer_batch *batch) {
  struct linnet_recognizer_input inputs[STREAMS];
  struct pair *of[STREAMS];
  size_t count = 0;
  for (size_t i = 0; i < STREAMS; i++)
    if (pairs[i].together && test_below(r, 5) > 0) {
      of[count] = &pairs[i];
      inputs[count++] = next_input(r, &pairs[i]);
    }
  CHECK(linnet_recognizer_batch_step(batch, inputs, count) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t i = 0; i < count; i++) {
    CHECK(inputs[i].status == LINNET_OK && run_alone(of[i], &inputs[i]) == LINNET_OK, "%s",
          linnet_context_error(context));
    if (inputs[i].finish)
      close_pair(of[i]);
  }
}

static void test_together(const char *name, size_t max_rows) {
  struct test_random random = {max_rows + 3};
  struct linnet_recognizer *recognizer = load(name);
  struct linnet_recognizer_batch *batch = create_batch(recognizer, max_rows);
  size_t finals = 0;
  for (size_t i = 0; i < STEPS; i++) {
    struct pair *p = &pairs[test_below(&random, STREAMS)];
    if (!p->together)
      open_pair(p, batch, recognizer);
    step(&random, batch);
  }
  for (size_t i = 0; i < STREAMS; i++) {
    finals += pairs[i].seen->finals;
    if (pairs[i].together)
      close_pair(&pairs[i]);
  }
  CHECK(finals > 0, "%s: no result", name);
  linnet_recognizer_batch_destroy(batch);
  linnet_recognizer_destroy(recognizer);
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* A stream whose hook stops it, and one that was finished, beside one that has its results as alone. */
static void test_one_fails(void) {
  struct linnet_recognizer *recognizer = load("words.json");
  struct linnet_recognizer_batch *batch = create_batch(recognizer, 0);
  struct linnet_recognizer_input inputs[3];
  for (size_t i = 0; i < 3; i++) {
    open_pair(&pairs[i], batch, recognizer);
    inputs[i] = (struct linnet_recognizer_input){pairs[i].together, samples[i], SAMPLES, 1, LINNET_OK};
  }
  pairs[0].seen->stop_at = 2;
  CHECK(linnet_recognizer_stream_finish(pairs[1].together) == LINNET_OK, "finish");
  CHECK(linnet_recognizer_batch_step(batch, inputs, 3) == LINNET_ERROR_STATE, "%s", linnet_context_error(context));
  CHECK(inputs[0].status == LINNET_ERROR_CANCELLED && inputs[1].status == LINNET_ERROR_STATE, "status %d, %d",
        (int)inputs[0].status, (int)inputs[1].status);
  CHECK(strstr(linnet_context_error(context), "has ended"), "the first failure is not '%s'",
        linnet_context_error(context));
  CHECK(inputs[2].status == LINNET_OK && run_alone(&pairs[2], &inputs[2]) == LINNET_OK, "the third");
  CHECK(linnet_recognizer_batch_step(batch, inputs, 1) == LINNET_ERROR_STATE && inputs[0].status == LINNET_ERROR_STATE,
        "a cancelled stream goes on: status %d", (int)inputs[0].status);
  CHECK(strstr(linnet_context_error(context), "the call before was cancelled"), "%s", linnet_context_error(context));
  linnet_recognizer_stream_reset(pairs[0].together);
  *pairs[0].seen = (struct events){.partials = 0};
  CHECK(linnet_recognizer_batch_step(batch, inputs, 1) == LINNET_OK && run_alone(&pairs[0], inputs) == LINNET_OK,
        "after a reset: %s", linnet_context_error(context));
  *pairs[1].seen = (struct events){.partials = 0};
  for (size_t i = 0; i < 3; i++)
    close_pair(&pairs[i]);
  linnet_recognizer_batch_destroy(batch);
  linnet_recognizer_destroy(recognizer);
}

/* Samples that are no audio, after more than a second of good ones: their stream takes none, the other one all. */
static void test_bad_samples(void) {
  enum { BAD = 20000, COUNT = 32000 };
  struct linnet_recognizer *recognizer = load("words.json");
  struct linnet_recognizer_batch *batch = create_batch(recognizer, 0);
  struct linnet_recognizer_stream *stream = open_in(batch), *other = open_in(batch);
  struct linnet_recognizer_input inputs[] = {{stream, samples[0], COUNT, 0, LINNET_OK},
                                             {other, samples[1], COUNT, 0, LINNET_OK}};
  const float good = samples[0][BAD];
  samples[0][BAD] = (float)NAN;
  CHECK(linnet_recognizer_batch_step(batch, inputs, 2) == LINNET_ERROR_ARGUMENT, "a NaN is accepted");
  CHECK(strstr(linnet_context_error(context), "sample 20000 of 32000"), "%s", linnet_context_error(context));
  CHECK(inputs[0].status == LINNET_ERROR_ARGUMENT && inputs[1].status == LINNET_OK, "status %d, %d",
        (int)inputs[0].status, (int)inputs[1].status);
  CHECK(linnet_recognizer_stream_seconds(stream) == 0, "the stream has taken %g s of refused samples",
        linnet_recognizer_stream_seconds(stream));
  CHECK(linnet_recognizer_stream_seconds(other) == 2, "the other stream has taken %g s",
        linnet_recognizer_stream_seconds(other));
  samples[0][BAD] = good;
  CHECK(linnet_recognizer_batch_step(batch, inputs, 1) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_recognizer_stream_seconds(stream) == 2, "without the NaN it has taken %g s",
        linnet_recognizer_stream_seconds(stream));
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_stream_destroy(other);
  linnet_recognizer_batch_destroy(batch);
  linnet_recognizer_destroy(recognizer);
}

static void check_refused(struct linnet_recognizer_batch *batch, struct linnet_recognizer_input *inputs, size_t count,
                          const char *message) {
  CHECK(linnet_recognizer_batch_step(batch, inputs, count) == LINNET_ERROR_ARGUMENT, "%s: accepted", message);
  CHECK(strstr(linnet_context_error(context), message), "%s: %s", message, linnet_context_error(context));
  for (size_t i = 0; i < count; i++)
    CHECK(inputs[i].status == LINNET_ERROR_ARGUMENT, "input %zu: %d", i, (int)inputs[i].status);
}

/* A refused step takes nothing from any stream. */
static void test_refused_inputs(void) {
  struct linnet_recognizer *recognizer = load("words.json");
  struct linnet_recognizer_batch *batch = create_batch(recognizer, 0);
  struct linnet_recognizer_stream *alone = open_stream(context, recognizer), *stream = open_in(batch);
  const struct linnet_recognizer_input good = {stream, samples[0], 1600, 0, LINNET_OK};
  struct linnet_recognizer_input foreign[] = {good, good}, twice[] = {good, good}, null[] = {good, good};
  foreign[1].stream = alone;
  null[1].stream = NULL;
  check_refused(batch, foreign, 2, "input 1: its stream is not of this batch");
  check_refused(batch, twice, 2, "input 1: its stream is there twice");
  check_refused(batch, null, 2, "input 1 of the batch: an argument is NULL");
  null[0].samples = NULL;
  check_refused(batch, null, 1, "input 0 of the batch: an argument is NULL");
  CHECK(linnet_recognizer_stream_seconds(stream) == 0, "a refused step takes %g s",
        linnet_recognizer_stream_seconds(stream));
  CHECK(linnet_recognizer_batch_step(batch, twice, 1) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_recognizer_batch_step(batch, NULL, 0) == LINNET_OK, "no streams");
  linnet_recognizer_stream_destroy(alone);
  linnet_recognizer_stream_destroy(stream);
  linnet_recognizer_batch_destroy(batch);
  linnet_recognizer_destroy(recognizer);
}

static void check_unsupported(const char *name, size_t max_rows, enum linnet_status wanted, const char *message) {
  struct linnet_recognizer *recognizer = load(name);
  struct linnet_recognizer_batch *batch = NULL;
  const enum linnet_status status = linnet_recognizer_batch_create(context, recognizer, max_rows, &batch);
  CHECK(status == wanted && !batch, "%s: status %d", name, (int)status);
  CHECK(strstr(linnet_context_error(context), message), "%s: %s", name, linnet_context_error(context));
  linnet_recognizer_destroy(recognizer);
}

int main(void) {
  context = test_context();
  for (size_t i = 0; i < STREAMS; i++) {
    pairs[i] = (struct pair){.seen = malloc(sizeof(struct events)), .wanted = malloc(sizeof(struct events))};
    REQUIRE(pairs[i].seen && pairs[i].wanted, "out of memory");
  }
  prepare();
  test_together("words.json", 0);
  test_together("words.json", 1);
  test_together("plain.json", 7);
  test_together("going_on.json", 0);
  test_together("phones.json", 3);
  test_together("twice.json", 0);
  test_one_fails();
  test_bad_samples();
  test_refused_inputs();
  check_unsupported("not_causal.json", 0, LINNET_ERROR_UNSUPPORTED, "sees later frames");
  check_unsupported("whole.json", 0, LINNET_ERROR_UNSUPPORTED, "statistics of the whole utterance");
  check_unsupported("words.json", 5000, LINNET_ERROR_LIMIT, "5000 rows");
  for (size_t i = 0; i < STREAMS; i++)
    free(pairs[i].seen), free(pairs[i].wanted);
  linnet_context_destroy(context);
  return test_result();
}
