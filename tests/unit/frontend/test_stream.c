/* The stream: any chunking of the samples gives the same segments, streams over one model run in parallel, order of
 * calls is checked, nothing to hear gives nothing. */
#include "test.h"

#include <pthread.h>
#include <unistd.h>

#include <linnet/stream.h>

#include "model/model.h"

enum { SAMPLES = 48000, THREADS = 4 };

static struct linnet_model *make_model(struct linnet_context *context) {
  static const char *const symbols[] = {"<blk>", "A", "B", "C", "D"};
  struct linnet_config config;
  struct linnet_parameters *parameters = NULL;
  struct linnet_feature_config features;
  struct linnet_model *model = NULL;
  char path[] = "/tmp/linnet-stream-XXXXXX";
  linnet_config_default(&config);
  config.width = 32;
  config.heads = 2;
  config.layers = 2;
  config.outputs = 5;
  config.convolution = 5;
  REQUIRE(linnet_parameters_create(context, &config, &parameters) == LINNET_OK, "%s", linnet_context_error(context));
  float *weights = malloc(parameters->size * sizeof *weights);
  linnet_parameters_initialise(parameters, 5, weights);
  for (size_t i = 0; i < parameters->size; i++)
    weights[i] *= 3; /* so that symbols change now and then */
  linnet_feature_config_default(&features);
  struct linnet_model_contents contents = {.config = &config,
                                           .parameters = parameters,
                                           .weights = weights,
                                           .symbols = symbols,
                                           .features = &features,
                                           .dtype = LINNET_F32};
  int descriptor = mkstemp(path);
  REQUIRE(descriptor >= 0, "mkstemp");
  close(descriptor);
  REQUIRE(linnet_model_save(context, path, &contents) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_model_load(context, path, &model) == LINNET_OK, "%s", linnet_context_error(context));
  unlink(path);
  free(weights);
  linnet_parameters_destroy(parameters);
  return model;
}

/* Bursts of tone and noise. */
static void make_samples(float *samples) {
  struct test_random random = {7};
  for (size_t i = 0; i < SAMPLES; i++) {
    size_t part = i / 4000;
    double tone = sin(6.283185307 * (double)i * (200 + 150 * (double)part) / 16000);
    samples[i] = (float)(part % 3 == 2 ? 300 * test_uniform(&random) : 5000 * tone + 50 * test_uniform(&random));
  }
}

static void feed(struct linnet_stream *stream, const float *samples, size_t count, struct test_random *chunks) {
  for (size_t done = 0; done < count;) {
    size_t chunk = chunks ? test_below(chunks, 3000) : count;
    if (chunk > count - done)
      chunk = count - done;
    CHECK(linnet_stream_accept(stream, samples + done, chunk) == LINNET_OK, "accept");
    done += chunk;
  }
  CHECK(linnet_stream_finish(stream) == LINNET_OK, "finish");
}

static bool same_segments(const struct linnet_segment *a, size_t a_count, const struct linnet_segment *b,
                          size_t b_count) {
  bool same = a_count == b_count;
  for (size_t i = 0; same && i < a_count; i++)
    same = a[i].symbol == b[i].symbol && a[i].start == b[i].start && a[i].end == b[i].end &&
           a[i].confidence == b[i].confidence;
  return same;
}

struct listener {
  struct linnet_context *context;
  const struct linnet_model *model;
  const float *samples;
  const struct linnet_segment *expected;
  size_t expected_count;
  unsigned seed;
  bool good;
};

static void *listen(void *user) {
  struct listener *l = user;
  struct linnet_stream *stream = NULL;
  struct test_random chunks = {l->seed};
  size_t count = 0;
  if (linnet_stream_create(l->context, l->model, &stream) != LINNET_OK)
    return NULL;
  l->good = true;
  for (int round = 0; round < 5; round++) {
    linnet_stream_reset(stream);
    for (size_t done = 0; done < SAMPLES;) {
      size_t left = SAMPLES - done, chunk = 1 + test_below(&chunks, 5000);
      linnet_stream_accept(stream, l->samples + done, chunk < left ? chunk : left);
      done += chunk < left ? chunk : left;
    }
    l->good = l->good && linnet_stream_finish(stream) == LINNET_OK;
    const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
    l->good = l->good && same_segments(segments, count, l->expected, l->expected_count);
  }
  linnet_stream_destroy(stream);
  return NULL;
}

static void test_parallel(struct linnet_context *context, const struct linnet_model *model, const float *samples,
                          const struct linnet_segment *expected, size_t count) {
  struct listener listeners[THREADS];
  pthread_t threads[THREADS];
  for (unsigned i = 0; i < THREADS; i++) {
    listeners[i] =
        (struct listener){.model = model, .samples = samples, .expected = expected, .expected_count = count, .seed = i};
    REQUIRE(linnet_context_share(context, &listeners[i].context) == LINNET_OK, "share");
    REQUIRE(pthread_create(&threads[i], NULL, listen, &listeners[i]) == 0, "thread");
  }
  for (unsigned i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    CHECK(listeners[i].good, "stream %u of %d in parallel differs", i, THREADS);
    linnet_context_destroy(listeners[i].context);
  }
}

static void test_order(struct linnet_stream *stream, const float *samples) {
  size_t count = 1;
  linnet_stream_reset(stream);
  CHECK(linnet_stream_accept(stream, samples, 399) == LINNET_OK, "less than a frame");
  CHECK(linnet_stream_finish(stream) == LINNET_OK, "finish");
  linnet_stream_segments(stream, &count);
  CHECK(count == 0, "%zu segments of less than a frame", count);
  CHECK(linnet_stream_accept(stream, samples, 10) == LINNET_ERROR_STATE, "accepted after the end");
  CHECK(linnet_stream_finish(stream) == LINNET_ERROR_STATE, "finished twice");
  linnet_stream_reset(stream);
  CHECK(linnet_stream_accept(stream, NULL, 10) == LINNET_ERROR_ARGUMENT, "NULL samples");
  CHECK(linnet_stream_finish(stream) == LINNET_OK, "finish without samples");
}

int main(void) {
  struct linnet_context *context = test_context();
  struct linnet_model *model = make_model(context);
  struct linnet_stream *stream = NULL, *other = NULL;
  static float samples[SAMPLES];
  size_t count = 0, other_count = 0;
  make_samples(samples);
  REQUIRE(linnet_stream_create(context, model, &stream) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_stream_create(context, model, &other) == LINNET_OK, "%s", linnet_context_error(context));
  feed(stream, samples, SAMPLES, NULL);
  const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
  CHECK(count >= 3, "only %zu segments: the test says nothing", count);
  CHECK(linnet_stream_seconds(stream) == 3, "%g s of 3", linnet_stream_seconds(stream));
  for (uint64_t seed = 1; seed <= 10; seed++) {
    linnet_stream_reset(other);
    feed(other, samples, SAMPLES, &(struct test_random){seed});
    const struct linnet_segment *again = linnet_stream_segments(other, &other_count);
    CHECK(same_segments(segments, count, again, other_count), "chunks of seed %d give other segments", (int)seed);
  }
  test_parallel(context, model, samples, segments, count);
  test_order(other, samples);
  linnet_stream_destroy(stream);
  linnet_stream_destroy(other);
  linnet_model_destroy(model);
  linnet_context_destroy(context);
  return test_result();
}
